"""`RandomAgent`: the floor of every comparison, and the smallest agent to copy from."""

import numpy as np

from bombay_env import Game


class RandomAgent:
    """Any legal action, each equally likely."""

    name = "random"

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a legal action for each state, (batch,) int64."""
        masks = game.legal_actions(states)
        chosen = rng.integers(masks.sum(axis=1))  # the how-manieth legal action
        return (masks.cumsum(axis=1) > chosen[:, None]).argmax(axis=1).astype(np.int64)
