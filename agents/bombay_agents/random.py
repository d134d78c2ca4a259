"""The weakest players: `RandomAgent`, the smallest agent to copy from, and `RandomTurnAgent`."""

from typing import Any

import numpy as np

from bombay_agents import turns
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game
from bombay_env.agent import lane_keys
from bombay_env.registry import described


@described("none")
class RandomAgent:
    """A legal action, each equally likely."""

    name = "random"

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw for each state, (batch,) int64."""
        masks = game.legal_actions(states)
        chosen = lane_keys(rng, len(masks)) % masks.sum(axis=1, dtype=np.uint64)  # index among the legal actions
        return np.asarray((masks.cumsum(axis=1) > chosen[:, None]).argmax(axis=1), np.int64)


@described("none")
class RandomTurnAgent(TurnAgent):
    """An outcome of the turn, each equally likely. `random` favours outcomes that many paths lead to."""

    name = "random-turn"
    memory = (*TurnAgent.memory, "workspace")

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the memory for a turn."""
        self.workspace = turns.new_workspace(game)
        return self.workspace

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Draw an outcome."""
        count = turns.check_count(turns.enumerate_turn(state, game.tables[0], self.workspace))
        outcomes = np.flatnonzero(self.workspace.due[:count])
        return int(outcomes[int(key) * len(outcomes) >> 64])
