"""Observations and the facts behind them, for tests."""

import random

import numba
import numpy as np
import pytest

from bombay_env.state import state_to_dict
from helpers.game_states import pick
from helpers.variants import random_game

SLOW = bool(numba.config.DISABLE_JIT)
KINDS = ("client", "city", "rupees", "bale")
HILLS = ("start_hill", "hill")
HIDDEN = ("rupees", "clients", "city_tokens", "city_palace_tokens", "empire", "fame")
COMPARED = ("empire_rank", "majority", "margin")  # depend on the other seats, even for the viewer's own entry
each_mode = pytest.mark.parametrize("screened", [False, True], ids=["perfect_recall", "screened"])


def passed_through(n, games, lanes=3, every=28 if SLOW else 7):
    """Games and states of random variants on random boards: after the deal, running and over."""
    rng, dice = random.Random(n), np.random.default_rng(n)
    for _ in range(games):
        game = random_game(rng, n)
        states, step = game.new_states([rng.randrange(2**64) for _ in range(lanes)]), 0
        while True:
            over = game.is_terminal(states).all()
            if over or step % every == 0:
                yield game, states.copy()
            if over:
                break
            game.step(states, pick(game, states, dice))
            step += 1


def seen(game, states, seat=None, screened=False):
    """The pieces of the first state's observation, by name."""
    pieces = game.feature_layout.split(game.observe(states[:1], seats=seat, screened=screened)[0])
    return {name: piece.tolist() for name, piece in pieces.items()}


def facts_of(game, states):
    return state_to_dict(states[0], game.rules, game.board)


def one_hot(index, length):
    return [float(place == index) for place in range(length)]


def close(found, wanted):
    return np.allclose(found, wanted, rtol=0, atol=1e-6)
