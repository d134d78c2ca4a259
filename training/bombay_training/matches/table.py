"""The table of games: a row is a game and a seat. Playing fills it, a store keeps it, and statistics read it.

    line-up → `play` → Table → store → Match → estimates

`COLUMNS` are declared here once: an array in memory and a Parquet file have the same. This module does not know how games are
played (`matches/play.py`) nor what their results show (`matches/statistics.py`).
"""

import dataclasses
from collections.abc import Sequence
from typing import Final, Self

import numpy as np

from bombay_env.agent import AgentFault
from bombay_env.record import Record

COLUMNS: Final = {  # type and meaning of each
    "game": ("int32", "number of the game in its cell, from 0"),
    "block": ("int32", "number of the deal, from 0"),
    "deal": ("uint64", "seed of the game: all its chance follows from it (RULES 8), except for what its cell redraws"),
    "seating": ("int8", "number of the seating: by how many seats the circular order drawn for the deal is rotated"),
    "seat": ("int8", "seat, from 0 in the order of play of the first set"),
    "agent": ("int8", "index of the agent in this seat, among those of the line-up"),
    "final": ("int32", "rupees with awards (RULES 5); 0 after a fault"),
    "place": ("int8", "1 is the best, by rupees and then Clients; tied seats share the better place; 0 after a fault"),
    "win_share": ("float64", "1 over the number of winners; after a fault 0 for the offender, the rest shared equally"),
    "clients": ("int16", "Client tokens (RULES 5), which break ties; 0 after a fault"),
}
RESULTS: Final = ("final", "place", "win_share", "clients")  # all others are known before a game is played
BINS_PER_DECADE: Final = 20  # a bin is 12 % wide
EDGES: Final = np.geomspace(1e-7, 1e4, 11 * BINS_PER_DECADE + 1)  # of the bins of turn times, in seconds
ROW: Final = np.dtype([(name, kind) for name, (kind, _) in COLUMNS.items()])


@dataclasses.dataclass(frozen=True)
class LostGame:
    """A game that ended by an agent's fault.

    Args:
        agent: index of the agent in the match.
        name: its name.
        seat: its seat.
        game: number of the game in the match.
        block, seating: number of the game's deal and of its seating.
        action: what it answered, as a record tells it (RULES 8): an action's name or number, a type's name, or `none`.
        reason: what was wrong, in one line.
    """

    agent: int
    name: str
    seat: int
    game: int
    block: int
    seating: int
    action: str
    reason: str

    def __str__(self) -> str:
        where = f"seat {self.seat} of block {self.block}, seating {self.seating}"
        return f"agent {self.name!r} in {where}: {self.reason}"

    def as_error(self, num_players: int) -> AgentFault:
        """An error to raise where lost games would look like a result."""
        return AgentFault(f"agent {self.name!r} with {num_players} players", self.reason, action=self.action)


class DecisionTimes:
    """The times of an agent's decisions, without its first call in a process, which may compile code.

    The time of a call for several games is divided evenly among them.

    Attributes:
        decisions: actions chosen.
        turns: turns begun.
        seconds: time of all calls.
        histogram: (bins,) int64 numbers of complete turns by their time, between `EDGES`.
    """

    def __init__(self) -> None:
        self.decisions, self.turns, self.seconds = 0, 0, 0.0
        self.histogram = np.zeros(len(EDGES) - 1, np.int64)

    def add(self, other: "DecisionTimes") -> None:
        """Add the times of other decisions of the same agent."""
        self.decisions += other.decisions
        self.turns += other.turns
        self.seconds += other.seconds
        self.histogram += other.histogram

    def add_turns(self, seconds: np.ndarray) -> None:
        """Add the times (k,) of complete turns; NaN for a turn that is not to count."""
        places = np.searchsorted(EDGES, seconds[~np.isnan(seconds)], side="right") - 1
        np.add.at(self.histogram, np.clip(places, 0, len(self.histogram) - 1), 1)

    @property
    def ms_per_turn(self) -> float | None:
        """Milliseconds per turn; None if no turn was timed."""
        return 1000 * self.seconds / self.turns if self.turns else None

    @property
    def p99_ms(self) -> float | None:
        """The 99th percentile of the milliseconds of a turn, to about 5 %; None if no turn was timed."""
        total, part = self.histogram.sum(), 0.99
        if not total:
            return None
        below = np.concatenate([[0], np.cumsum(self.histogram)])
        place = int(np.searchsorted(below, part * total, side="left")) - 1
        inside = (part * total - below[place]) / self.histogram[place]
        return float(1000 * EDGES[place] * (EDGES[place + 1] / EDGES[place]) ** inside)


@dataclasses.dataclass
class Table:
    """Games of one line-up. G games, n seats.

    Args:
        rows: (G, n) records of `ROW`.
        times: by agent, of all games.
        faults: the games that ended by a fault, by their numbers.
        accounts: (G, n) records of `ACCOUNTS` (`matches/accounts.py`) if they are kept, else None.
        records: of the games by their numbers, if they are kept.
    """

    rows: np.ndarray
    times: list[DecisionTimes]
    faults: dict[int, LostGame] = dataclasses.field(default_factory=dict)
    accounts: np.ndarray | None = None
    records: dict[int, Record] = dataclasses.field(default_factory=dict)

    @property
    def games(self) -> np.ndarray:
        """(G,) int32 their numbers."""
        return np.asarray(self.rows["game"][:, 0])

    def take(self, index: np.ndarray | slice) -> "Table":
        """Some games, by an index of the first axis of `rows`; the times stay those of all."""
        rows = self.rows[index]
        kept = set(rows["game"][:, 0].tolist())
        return Table(
            rows,
            self.times,
            {game: lost for game, lost in self.faults.items() if game in kept},
            None if self.accounts is None else self.accounts[index],
            {game: record for game, record in self.records.items() if game in kept},
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The games of all parts in the order of their numbers. Of a game that has been played twice, the first part counts."""
        faults: dict[int, LostGame] = {}
        records: dict[int, Record] = {}
        times = [DecisionTimes() for _ in parts[0].times]
        played = set[int]()
        for part in parts:
            faults |= {game: lost for game, lost in part.faults.items() if game not in played}
            played.update(part.games.tolist())
            records |= part.records
            for total, more in zip(times, part.times, strict=True):
                total.add(more)
        rows = np.concatenate([part.rows for part in parts])
        _, kept = np.unique(rows["game"][:, 0], return_index=True)
        accounts = [part.accounts for part in parts if part.accounts is not None]
        books = np.concatenate(accounts)[kept] if accounts else None
        return cls(rows[kept], times, dict(sorted(faults.items())), books, records)
