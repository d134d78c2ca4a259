"""The decisions of a recorded game as arrays: what each seat saw, could do, did and was paid."""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bombay_env.record import RESTOCK, Record
from bombay_env.rewards import seat_rewards


@dataclasses.dataclass(frozen=True)
class View:
    """What a dataset shows of a game.

    Args:
        observation_mode: `perfect_recall` or `screened` (RULES 6).
        reward: `win`, `rank` or `margin`; see `bombay_env.rewards`.
    """

    observation_mode: str = "perfect_recall"
    reward: str = "win"

    @property
    def screened(self) -> bool:
        """Whether opponents' rupees and tokens are hidden."""
        return self.observation_mode == "screened"


@dataclasses.dataclass(frozen=True)
class Decisions:
    """All T decisions of one game in order. n seats, F features, A actions.

    Args:
        number: the number of the game among all records.
        record: the game.
        seats: (T,) int8, who decided.
        observations: (T, F) float32, as that seat saw it.
        masks: (T, A) bool, what was legal.
        actions: (T,) int64.
        rewards: (T,) float32, what the seat was paid from this decision to its next one. Only its last is not zero.
        last: (T,) bool, whether it is the seat's last decision.
        final: (n, F) float32, what each seat sees after the end.
    """

    number: int
    record: Record
    seats: np.ndarray
    observations: np.ndarray
    masks: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    last: np.ndarray
    final: np.ndarray


def decisions(record: Record, view: View, number: int = 0) -> Decisions:
    """The decisions of a game that was played to its end.

    Args:
        record: the game.
        view: what to show of it.
        number: of the game, for the result.

    Raises:
        ValueError: the game has no result, because it is not over or ended by a fault.
        RecordError: the record breaks the rules.
    """
    if record.result is None or record.fault is not None:
        raise ValueError("the game has no result, so nobody was paid")
    game, seats, actions = record.game, [], []
    before: list[Any] = []
    state: Any = None
    for event, (_, after) in zip(record.events, record.replay(), strict=True):
        if not event.startswith(RESTOCK):
            seat, name = event.split(" ", 1)
            before.append(state)
            seats.append(int(seat))
            actions.append(game.action_index(name))
        state = after
    states, seat_of = np.concatenate(before), np.array(seats, np.int8)
    finals = np.repeat(state, game.num_players)
    last = np.zeros(len(seat_of), np.bool_)
    last[[np.flatnonzero(seat_of == seat)[-1] for seat in range(game.num_players)]] = True
    paid = seat_rewards(game.results(finals[:1]), view.reward)[0]
    return Decisions(
        number,
        record,
        seat_of,
        game.observe(states, screened=view.screened),
        game.legal_actions(states),
        np.array(actions, np.int64),
        np.where(last, paid[seat_of], 0).astype(np.float32),
        last,
        game.observe(finals, seats=np.arange(game.num_players), screened=view.screened),
    )


def all_decisions(records: Iterable[Record], view: View) -> Iterator[Decisions]:
    """The decisions of each game that has a result; others are left out."""
    for number, record in enumerate(records):
        if record.result is not None and record.fault is None:
            yield decisions(record, view, number)
