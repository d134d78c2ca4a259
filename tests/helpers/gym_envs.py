"""Gymnasium environments of short games, and agents whose actions tests can predict."""

import numba
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from bombay_env import Rules
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv

SLOW = bool(numba.config.DISABLE_JIT)
ID = "bombay/Bombay-v0"
MODES = ("perfect_recall", "screened")
SHORT = {"sets": 2, "turns_per_set": 1}  # a short game with one restock during the game
LANES = 3 if SLOW else 5
STEPS = 12 if SLOW else 60
each_count = pytest.mark.parametrize("n", [2, 5] if SLOW else [2, 3, 4, 5])
each_autoreset = pytest.mark.parametrize("autoreset", AutoresetMode)


class Keyed:
    """An agent whose action depends only on the seed of the copy that it gets: pseudo-random, and equal in any batch."""

    def __init__(self, name="keyed"):
        self.name = name
        self.calls = []

    def act(self, game, states, rng):
        self.calls.append(states.copy())
        masks = game.legal_actions(states)
        chosen = (states["seed"] % masks.sum(axis=1).astype(np.uint64)).astype(np.int64)
        return (masks.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)


class Stubborn:
    """An agent that always gives the same answer."""

    name = "stubborn"

    def __init__(self, answer):
        self.answer = answer

    def act(self, game, states, rng):
        return self.answer(game, states) if callable(self.answer) else np.full(len(states), self.answer)


def arguments(n=4, short=True, **more):
    return {"rules": Rules(n, **SHORT) if short else Rules.official(n), "opponents": Keyed()} | more


def single(n=4, **more):
    return BombaySingleEnv(**arguments(n, **more))


def vector(n=4, lanes=LANES, **more):
    return BombayVectorEnv(lanes, **arguments(n, **more))


def pick(mask, rng):
    """A random legal action for each row of a mask; 0 if there is none."""
    mask = np.asarray(mask, bool)
    return (rng.random(mask.shape) * mask).argmax(axis=-1)


def play(env, seed=0, steps=10**6):
    """Play random legal actions of one game until it ends. Returns what the last step returned."""
    rng = np.random.default_rng(seed)
    done = None
    for _ in range(steps):
        done = env.step(int(pick(env.unwrapped.action_masks(), rng)))
        if done[2]:
            break
    return done


def same(one, other):
    """Whether two values that environments returned have equal types, shapes and contents."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        return all(map(same, one, other)) if one.dtype == object else one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other
