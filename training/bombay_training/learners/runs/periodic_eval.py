"""Evaluates the agent of a running training at intervals, in quick matches against fixed references on the same few deals.

The win shares show the run's progress and are no precise measurement: the table at the end of a run is from many more deals
(`matches/statistics.py`). Matches share no random generator with the learner and do not change it, so a run is the same with or
without them. They are rare enough to take a small part of the run's time. This module does not know how agents learn:
`learners/runs/run.py` is next to read.
"""

import time
from collections.abc import Sequence
from typing import Final

import numpy as np

from bombay_agents import Agent
from bombay_env import Game
from bombay_training.evaluation import arena
from bombay_training.matches.results import Match

REFERENCES: Final = ("greedy", "planner-v1")
BLOCKS: Final = 32
DEALS: Final = 2**63 + 5  # seed of the deals, unlikely to be used in the arena
TIME_SHARE: Final = 0.04  # of a run's time that evaluation may take
FIRST: Final = 15.0  # seconds before the first evaluation


class PeriodicEvaluator:
    """Plays an agent against copies of each reference on a few fixed deals.

    Args:
        games: one for each number of players.
        references: specs of the references.
        blocks: deals for each reference, divided evenly among the games, at least one each; None for `BLOCKS`.
        time_share: the part of the passing time that evaluation may take (`due`).
    """

    def __init__(
        self,
        games: Sequence[Game],
        references: Sequence[str] = REFERENCES,
        blocks: int | None = None,
        time_share: float = TIME_SHARE,
    ) -> None:
        self.games, self.references = games, references
        self.blocks = max(1, round((BLOCKS if blocks is None else blocks) / len(games)))
        self.time_share = time_share
        self._next = time.monotonic() + FIRST  # when the next evaluation is due

    def evaluate(self, player: Agent | str) -> dict[str, float]:
        """The player's win share against copies of each reference, by spec: the mean over the games. Par is the mean of 1/n."""
        start = time.monotonic()
        shares = {
            spec: float(np.mean([self._share(game, player, spec) for game in self.games])) for spec in self.references
        }
        end = time.monotonic()
        self._next = end + (end - start) * (1 / self.time_share - 1)
        return shares

    def due(self) -> bool:
        """Whether it is time for the next evaluation."""
        return time.monotonic() >= self._next

    def warm_up(self, player: Agent | str) -> None:
        """Play one block of each match, which compiles the code it needs, and restart the wait.

        Raises:
            AgentFault: the player or a reference failed. Its lost games would look like a result.
        """
        for game in self.games:
            for spec in self.references:
                faults = self._match(game, player, spec, 1).faults
                if faults:
                    raise faults[0].as_error(game.num_players)
        self._next = time.monotonic() + FIRST

    def _share(self, game: Game, player: Agent | str, spec: str) -> float:
        match = self._match(game, player, spec, self.blocks)
        return float(match.of_agent(match.win_share).mean())

    def _match(self, game: Game, player: Agent | str, spec: str, blocks: int) -> Match:
        return arena.one_vs_rest(game, player, spec, blocks, seed=DEALS)
