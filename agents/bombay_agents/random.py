"""The floor of every comparison: `RandomAgent`, the smallest agent to copy from, and `RandomTurnAgent`."""

from typing import Any

import numpy as np

from bombay_agents import turns
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game


class RandomAgent:
    """Any legal action, each equally likely."""

    name = "random"

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a legal action for each state, (batch,) int64."""
        masks = game.legal_actions(states)
        chosen = rng.integers(masks.sum(axis=1))  # the how-manieth legal action
        return (masks.cumsum(axis=1) > chosen[:, None]).argmax(axis=1).astype(np.int64)


class RandomTurnAgent(TurnAgent):
    """Any outcome of the turn, each equally likely: a fairer floor, as many ways through a turn come to the same."""

    name = "random-turn"

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Memory for one turn."""
        self.workspace = turns.new_workspace(game)
        return self.workspace

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Draw an outcome."""
        count = turns.check_count(turns.enumerate_turn(state, game.tables[0], self.workspace))
        outcomes = np.flatnonzero(self.workspace.due[:count])
        return int(outcomes[int(key) * len(outcomes) >> 64])
