"""States of games for tests: in progress, over, and both in one batch."""

import numba
import numpy as np

from bombay_env.state import new_records, state_dtype
from helpers.position import official

SLOW = bool(numba.config.DISABLE_JIT)
GAME = official(4)
ENDS = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]  # smallest, middle and largest seeds
RESULT = ("rupees", "clients", "empire", "majority", "city_tokens", "fame", "final", "winners", "win_share")


def pick(game, states, rng):
    """A random legal action in each lane; 0 if the game is over."""
    return (rng.random((len(states), game.num_actions)) * game.legal_actions(states)).argmax(axis=1)


def played(game=GAME, lanes=5, steps=40, seed=0):
    """Games after some steps; some may be over."""
    rng = np.random.default_rng(seed)
    states = game.new_states(range(seed, seed + lanes))
    for _ in range(steps):
        game.step(states, pick(game, states, rng))
    return states


def finished(game=GAME, lanes=3, seed=0):
    """Games that are over."""
    rng = np.random.default_rng(seed)
    states = game.new_states(range(seed, seed + lanes))
    while not game.is_terminal(states).all():
        game.step(states, pick(game, states, rng))
    return states


def part_over(seed=0):
    """Three lanes; the game of the second one is over."""
    states = played(lanes=3, seed=seed)
    states[1] = finished(lanes=1)[0]
    return states


def plain(states):
    """The same memory as a plain structured array."""
    return states.view(np.ndarray).view(np.dtype(states.dtype.descr))


def foreign():
    """Values that are not arrays of this game's states."""
    states = GAME.new_states([1, 2])
    fields = [field for field in states.dtype.descr if field[0] != "buys"]
    return {
        "list": states.tolist(),
        "none": None,
        "floats": np.zeros(2),
        "bytes": states.view(np.uint8),
        "record": states[0],
        "matrix": states.reshape(2, 1),
        "nought": states[:1].reshape(()),
        "swapped": states.astype(states.dtype.newbyteorder()),
        "fewer fields": np.zeros(2, fields),
        "three players": official(3).new_states([1, 2]),
        "one of three": np.concatenate([states[:1], official(3).new_states([1])]),
        "larger board": new_records(2, state_dtype(GAME.board.num_sites + 1)),
        "results": GAME.results(states),
    }
