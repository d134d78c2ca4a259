"""What sees the games of a chunk while they are played, and keeps something of them: records, accounts.

An observer changes no result. `matches/play.py` calls it. `replay` shows it recorded games in the same way.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bombay_env import Game
from bombay_env.record import RESTOCK, History, Record
from bombay_training.matches.table import LostGame


class Observer(Protocol):
    """Sees the games of a chunk. A game is named by its index in the chunk."""

    def before_step(self, games: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
        """These games (batch,), in these states, are about to take these actions."""

    def after_end(self, games: np.ndarray, states: np.ndarray, results: np.ndarray) -> None:
        """These games are over, with these results of `Game.results`."""

    def after_fault(self, game: int, states: np.ndarray, lost: LostGame) -> None:
        """A game ended in a state (1,) by a fault."""


class Recorder:
    """Keeps the record of every game.

    Args:
        game: the variant and board.
        states: (G,) of the games, just dealt.
        deals: (G,) their seeds.
        names: the agents' names by seat, of each game.
        numbers: (G,) of the games.
        records: receives the record of each game that is over, by its number.
    """

    def __init__(
        self,
        game: Game,
        states: np.ndarray,
        deals: np.ndarray,
        names: list[list[str]],
        numbers: np.ndarray,
        records: dict[int, Record],
    ) -> None:
        self.names, self.numbers, self.records = names, numbers.tolist(), records
        self.histories = [
            History(game, states[index : index + 1], deal) for index, deal in enumerate(map(int, deals.tolist()))
        ]

    def before_step(self, games: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
        """Add the actions."""
        for game, action in zip(games.tolist(), actions.tolist(), strict=True):
            self.histories[game].add(action)

    def after_end(self, games: np.ndarray, states: np.ndarray, results: np.ndarray) -> None:
        """Make the records."""
        for lane, game in enumerate(games.tolist()):
            self._finish(game, states[lane : lane + 1], None)

    def after_fault(self, game: int, states: np.ndarray, lost: LostGame) -> None:
        """Make the record."""
        self._finish(game, states, {"seat": lost.seat, "action": lost.action, "reason": lost.reason})

    def _finish(self, game: int, states: np.ndarray, fault: dict[str, Any] | None) -> None:
        self.records[self.numbers[game]] = self.histories[game].record(states, self.names[game], fault)


# --- recorded games ---


def replay(records: Sequence[Record], *observers: Observer) -> None:
    """Show recorded games to observers, all games together. A game's index is that of its record.

    Args:
        records: at least one, of one variant and board; of games played to their ends whose chance follows from their seeds, as
            that of a cell with records does.
        observers: see every decision and every end, as if the games were played now.
    """
    game = records[0].game
    actions = [
        iter([game.action_index(event.partition(" ")[2]) for event in record.events if not event.startswith(RESTOCK)])
        for record in records
    ]
    running, states = np.arange(len(records)), game.new_states([record.seed for record in records])
    while running.size:
        chosen = np.array([next(actions[index]) for index in running])
        for observer in observers:
            observer.before_step(running, states, chosen)
        game.step(states, chosen)
        over = game.is_terminal(states)
        if over.any():
            results = game.results(states[over])
            for observer in observers:
                observer.after_end(running[over], states[over], results)
            running, states = running[~over], states[~over]
