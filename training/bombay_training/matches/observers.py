"""What sees the games of a chunk while they are played, and keeps something of them: records, accounts.

An observer changes no result. `matches/play.py` calls it. `replay` shows it recorded games in the same way.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bombay_env import Game
from bombay_env.record import RESTOCK, History, Record
from bombay_env.rules import NUM_COLOURS
from bombay_training.matches.results import LostGame


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

    Attributes:
        records: by game; None while it runs.
    """

    def __init__(self, game: Game, states: np.ndarray, deals: np.ndarray, names: list[list[str]]) -> None:
        self.names = names
        self.histories = [
            History(game, states[index : index + 1], deal) for index, deal in enumerate(map(int, deals.tolist()))
        ]
        self.records: list[Record | None] = [None] * len(deals)

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
        self.records[game] = self.histories[game].record(states, self.names[game], fault)


# --- recorded games ---


def replay(records: Sequence[Record], *observers: Observer) -> None:
    """Show recorded games to observers, all games together. A game's index is that of its record.

    Args:
        records: of one variant and board, all played to their ends.
        observers: see every decision and every end, as if the games were played now.

    Raises:
        ValueError: there are no records, they are of several variants or boards, or a game has no result.
        RecordError: a record breaks the rules. That its seed draws its chance is not checked.
    """
    if len({record.game for record in records}) != 1:
        raise ValueError("the records must be of one variant and board, and at least one")
    if any(record.result is None or record.fault is not None for record in records):
        raise ValueError("a record has no result, because its game is not over or ended by a fault")
    try:
        _replay(records, observers)
    except ValueError:
        for record in records:
            record.verify()  # its error names the event
        raise


def _replay(records: Sequence[Record], observers: Sequence[Observer]) -> None:
    """`replay` of records of one game. Raises ValueError if one of them breaks the rules."""
    game, parsed = records[0].game, [_parse(record) for record in records]
    counts = np.array([len(actions) for _, actions, _ in parsed])
    movers, actions = np.full((2, len(records), counts.max()), -1)
    restocks = np.zeros((len(records), counts.max() + 1, NUM_COLOURS), np.int64)  # before each decision
    given = np.zeros((len(records), counts.max() + 1), np.bool_)
    for index, (seats, names, drawn) in enumerate(parsed):
        movers[index, : len(seats)], actions[index, : len(names)] = seats, names
        restocks[index, list(drawn)], given[index, list(drawn)] = list(drawn.values()), True
    setups = [record.setup for record in records]
    running, states = np.arange(len(records)), game.new_states([0] * len(records), setups, restocks[:, 0])
    for number in range(counts.max()):
        chosen, sets = actions[running, number], states["set"].copy()
        for observer in observers:
            observer.before_step(running, states, chosen)
        wrong = states["current_player"] != movers[running, number]
        game.step(states, chosen, restocks[running, number + 1])
        over = game.is_terminal(states)
        wrong |= over != (counts[running] == number + 1)
        wrong |= given[running, number + 1] != ((states["set"] != sets) & ~over)
        if wrong.any():
            raise ValueError("a record breaks the rules")
        if over.any():
            results = game.results(states[over])
            for index, final in zip(running[over].tolist(), results["final"].tolist(), strict=True):
                if (records[index].result or {}).get("final") != final:
                    raise ValueError("a record has another result")
            for observer in observers:
                observer.after_end(running[over], states[over], results)
            running, states = running[~over], states[~over]


def _parse(record: Record) -> tuple[list[int], list[int], dict[int, list[int]]]:
    """The seats and actions of a record by number of the decision, and the restocks before them."""
    seats: list[int] = []
    actions: list[int] = []
    restocks: dict[int, list[int]] = {}
    for event in record.events:
        if event.startswith(RESTOCK):
            if len(actions) in restocks:
                raise ValueError("a restock follows another")
            restocks[len(actions)] = [int(number) for number in event.removeprefix(RESTOCK).split(",")]
        else:
            seat, _, name = event.partition(" ")
            seats.append(int(seat))
            actions.append(record.game.action_index(name))
    return seats, actions, restocks
