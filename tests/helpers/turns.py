"""Helpers for tests of a player's turn."""

import numpy as np
import pytest

from bombay_env import IllegalActionError
from helpers.position import COLOURS, GAME, legal

each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])
each_colour = pytest.mark.parametrize("colour", COLOURS)

BOARD = GAME.board
SITES = [site.name for site in BOARD.sites]
EMPTY = [0, 0, 0, 0]
HILLS = ("A", "B")
OPEN_SITES = ("A", "B", "H1", "H2", *(f"G{i}" for i in range(1, 9)))
E_SITES = ("E1", "E2", "E3", "E4")
POSTS = list(zip(E_SITES, COLOURS, strict=True))
F_SITES = ("F1", "F2", "F3", "F4")


def neighbours(site):
    return {b if a == site else a for a, b in BOARD.trails if site in (a, b)}


def kinds_of(names):
    """The kinds of these actions: move, buy, sell, build, take, consolidate, end_turn."""
    return {name.partition(":")[0] for name in names}


def mover(states):
    """The seat to act and its actions left."""
    return int(states.current_player[0]), int(states.actions_left[0])


def refused(game, states, action):
    """Whether the action is not legal, and playing it raises and changes nothing."""
    before = states.copy()
    with pytest.raises(IllegalActionError):
        game.step(states, np.array([game.action_index(action)]))
    return action not in legal(game, states) and (states == before).all()
