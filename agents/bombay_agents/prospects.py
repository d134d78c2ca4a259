"""The margin each seat is heading for while a game runs: what shaped rewards pay as it changes.

A guess, and only a matter of how soon a decision is paid: what has been counted is settled against the true result when the game
ends. Learning pays by it (`bombay_training.vec_env`); who plays by what was learned so has to add it back (`net_outcomes.py`).
"""

from typing import Final

import numpy as np

from bombay_env import Game
from bombay_env.rewards import MARGIN_SCALE

# Rupees that are counted for what a seat holds.
BALE_WORTH: Final = 3.0  # about a middling sale
CITY_TOKEN_WORTH: Final = 2.0  # four earn 8
CITY_TOKENS_COUNTED: Final = 4  # more earn no more
EMPIRE_WORTH: Final = 1.0  # a palace or a Client, by what the ranks' awards come to a head


def prospects(game: Game, states: np.ndarray) -> np.ndarray:
    """(k, num_players) float32: a guess at the final margin each seat is heading for; of ended games, that margin."""
    standing = game.provisional_results(states)
    wealth = (
        standing["rupees"]
        + BALE_WORTH * states["basket"].sum(axis=2)[:, : game.num_players]
        + CITY_TOKEN_WORTH * np.minimum(standing["city_tokens"], CITY_TOKENS_COUNTED)
        + EMPIRE_WORTH * standing["empire"]
    )
    ended = game.is_terminal(states)
    wealth[ended] = standing["final"][ended]
    return ((wealth - wealth.mean(axis=1, keepdims=True)) / MARGIN_SCALE).astype(np.float32)
