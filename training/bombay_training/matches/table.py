"""The table of games: a row is a game and a seat. Playing fills it, a store keeps it, and statistics read it.

    line-up → `play` → rows → store → Match → estimates

`COLUMNS` are declared here once: an array in memory and a Parquet file have the same. This module does not know how games are
played (`matches/play.py`) nor what their results show (`matches/statistics.py`).
"""

import dataclasses
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from bombay_env.agent import AgentFault
from bombay_training.matches.accounts import SOURCES, SPENDING, USES

COLUMNS: Final = {  # type and meaning of each
    "game": ("int32", "number of the game among those of its line-up, from 0"),
    "block": ("int32", "number of the deal, from 0"),
    "deal": (
        "uint64",
        "seed of the game: all its chance follows from it (RULES 8), except in games for luck, which draw a part of it anew",
    ),
    "seating": ("int8", "number of the seating: by how many seats the circular order drawn for the deal is rotated"),
    "seat": ("int8", "seat, from 0 in the order of play of the first set"),
    "agent": (
        "int8",
        "agent in this seat: in memory its index among the different ones of the line-up, in a file its spec",
    ),
    "final": ("int32", "rupees with awards (RULES 5); 0 after a fault"),
    "place": ("int8", "1 is the best, by rupees and then Clients; tied seats share the better place; 0 after a fault"),
    "win_share": ("float64", "1 over the number of winners; after a fault 0 for the offender, the rest shared equally"),
    "clients": ("int16", "Client tokens (RULES 5), which break ties; 0 after a fault"),
    "action": ("string", "after a fault, in the offender's row: what it answered; else empty"),
    "fault": ("string", "likewise: what was wrong"),
    "decisions": ("int32", "actions chosen, without the agent's first call in a process, which may compile code"),
    "turns": ("int32", "turns begun, likewise"),
    "seconds": ("float32", "time of the agent's calls, likewise; of a call for several games an equal part"),
}
RESULTS: Final = ("final", "place", "win_share", "clients", "action")  # a game played again has the same
TIMES: Final = ("decisions", "turns", "seconds")
ACCOUNTS: Final = {  # the columns of line-ups that keep accounts
    "rupees": (f"({len(SOURCES)},)int32", f"rupees by source: {', '.join(SOURCES)}"),
    "uses": (f"({len(USES)},)int32", f"how often each was chosen: {', '.join(USES)}"),
    "spent": (f"({len(SPENDING)},)int32", f"actions by what they were spent on: {', '.join(SPENDING)}"),
}
RECORD: Final = (
    "record"  # a column that files lack: the game's `Record` in the row of seat 0, None in others or if none is kept
)


def row_dtype(accounts: bool) -> np.dtype[np.void]:
    """The type of a row; texts and records are objects. `accounts`: whether it has the columns of `ACCOUNTS`."""
    columns = COLUMNS | ACCOUNTS if accounts else COLUMNS
    kinds = [(name, object if kind == "string" else kind) for name, (kind, _) in columns.items()]
    return np.dtype([*kinds, (RECORD, object)], align=True)


def blank_rows(games: int, seats: int, accounts: bool) -> np.ndarray:
    """Rows (G, n) of zeros, empty texts and no records."""
    rows = np.zeros((games, seats), row_dtype(accounts))
    rows["action"], rows["fault"], rows[RECORD] = "", "", None
    return rows


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The games of all parts in the order of their numbers. A game that was played twice counts once, with its record."""
    rows = np.concatenate(parts)
    numbers, first = np.unique(rows["game"][:, 0], return_index=True)
    games = np.asarray(rows[first])
    for again in np.setdiff1d(np.arange(len(rows)), first):
        if rows[RECORD][again, 0] is not None:
            games[RECORD][np.searchsorted(numbers, rows["game"][again, 0])] = rows[RECORD][again]
    return games


class Times(NamedTuple):
    """How long an agent took, without its first call in a process: actions chosen, turns begun, seconds of all calls."""

    decisions: int
    turns: int
    seconds: float

    @property
    def ms_per_turn(self) -> float | None:
        """Milliseconds per turn; None if no turn was timed."""
        return 1000 * self.seconds / self.turns if self.turns else None


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
