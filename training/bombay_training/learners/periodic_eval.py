"""How the agent of a run under way fares against references that never change: a figure to follow the run by, no measurement.

A quick match against each reference, always on the same deals. It draws from nothing that learning draws from and changes nothing
of it, so that a run is the same whether it is watched or not; and it is played seldom enough to cost little of the run's time.
The table at the end of a run, on many more deals, is `matches/statistics.py`'s.
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
DEALS: Final = 2**63 + 5  # seed of the deals, far from those that people give to the arena
PART: Final = 0.04  # of a run's time that watching it may take
FIRST: Final = 15.0  # seconds before the first judgement


class CannotPlayError(ValueError):
    """A player or a reference lost by a fault what was to be judged."""


class PeriodicEvaluator:
    """A few fixed deals on which agents meet references, one against the rest.

    Args:
        games: one for each number of players.
        references: specs of the others.
        blocks: deals for a reference, shared out evenly among the games, at least one each.
        part: of the time that passes, how much judging may take (`due`).
    """

    def __init__(
        self, games: Sequence[Game], references: Sequence[str] = REFERENCES, blocks: int = BLOCKS, part: float = PART
    ) -> None:
        self.games, self.references = games, references
        self.blocks = max(1, round(blocks / len(games)))
        self.part = part
        self._next = time.monotonic() + FIRST  # when another judgement is due

    def judge(self, player: Agent | str) -> dict[str, float]:
        """The player's win share against copies of each reference, by spec: the mean over the games, so par is that of 1/n."""
        start = time.monotonic()
        shares = {
            spec: float(np.mean([self._share(game, player, spec) for game in self.games])) for spec in self.references
        }
        end = time.monotonic()
        self._next = end + (end - start) * (1 / self.part - 1)
        return shares

    def due(self) -> bool:
        """Whether to judge again."""
        return time.monotonic() >= self._next

    def warm_up(self, player: Agent | str) -> None:
        """Have all that judging such a player calls compiled, and begin to wait.

        Raises:
            CannotPlayError: the player or a reference cannot play one of the games; its lost games would look like a figure.
        """
        for game in self.games:
            for spec in self.references:
                faults = self._match(game, player, spec, 1).faults
                if faults:
                    raise CannotPlayError(
                        f"{faults[0].name} cannot play with {game.num_players} players: {faults[0].reason}"
                    )
        self._next = time.monotonic() + FIRST

    def _share(self, game: Game, player: Agent | str, spec: str) -> float:
        match = self._match(game, player, spec, self.blocks)
        return float(match.of_agent(match.win_share).mean())

    def _match(self, game: Game, player: Agent | str, spec: str, blocks: int) -> Match:
        return arena.one_vs_rest(game, player, spec, blocks, seed=DEALS)
