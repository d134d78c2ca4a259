"""A match: what one line-up's games show to statistics, as a view of their table (`matches/table.py`)."""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable
from typing import overload

import numpy as np

from bombay_env import Game, checks
from bombay_env.record import Record
from bombay_training.matches.cells import Cell
from bombay_training.matches.table import RESULTS, DecisionTimes, LostGame, Table


class Column:
    """A column of the table as an attribute of a match: (G, n), or (G,) where all seats have the same value."""

    def __init__(self, name: str, of_games: bool = False, kind: type | None = None) -> None:
        self.name, self.of_games, self.kind = name, of_games, kind

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    @overload
    def __get__(self, match: None, owner: type) -> "Column": ...
    @overload
    def __get__(self, match: "Match", owner: type) -> np.ndarray: ...
    def __get__(self, match: "Match | None", owner: type) -> "Column | np.ndarray":
        if match is None:
            return self
        values = match.table.rows[self.name]
        found = np.ascontiguousarray(values[:, 0] if self.of_games else values, self.kind)
        vars(match)[self.attribute] = found  # found there from now on
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class Match:
    """Games of one line-up. G games, n seats. Its columns are those of `matches/table.py`.

    Args:
        cell: the line-up, its variant and its seed.
        table: the games. Those that `run` returns are all games of the first deals, in the order of blocks and seatings.

    Attributes:
        deal, block, seating: (G,) seeds of the games, numbers of their deals and of their seatings.
        seats: (G, n) int64 indices into `agents`.
        final, place, win_share, clients: (G, n).
    """

    cell: Cell
    table: Table

    deal, block, seating = (Column(name, of_games=True) for name in ("deal", "block", "seating"))
    seats = Column("agent", kind=np.int64)
    final, place, win_share, clients = map(Column, RESULTS)

    @property
    def game(self) -> Game:
        """The variant and board."""
        return self.cell.game

    @property
    def seed(self) -> int:
        """Of the deals and of the agents' randomness."""
        return self.cell.seed

    @property
    def format(self) -> str:
        """`1vrest`, `2v2`, `mixed`, or `seats` for any other."""
        return self.cell.format

    @functools.cached_property
    def agents(self) -> tuple[str, ...]:
        """Names of the distinct agents, in the order of their first seats."""
        return self.cell.names

    @functools.cached_property
    def lineup(self) -> tuple[str, ...]:
        """The agents' names by seat of the first order."""
        return tuple(self.agents[index] for index in self.cell.base)

    @property
    def accounts(self) -> np.ndarray | None:
        """(G, n) records of `ACCOUNTS` (`matches/accounts.py`), if they were kept."""
        return self.table.accounts

    @property
    def faults(self) -> tuple[LostGame, ...]:
        """The games that ended by a fault, in the order of the games."""
        return tuple(self.table.faults.values())

    @property
    def records(self) -> tuple[Record, ...]:
        """Of all games, in order, if they were kept."""
        games = self.table.games.tolist() if self.table.records else []
        return tuple(dataclasses.replace(self.table.records[game], game=self.game) for game in games)

    @property
    def timings(self) -> tuple[DecisionTimes, ...]:
        """By agent; also of games of the line-up that are not in the match."""
        return tuple(self.table.times)

    @property
    def teams(self) -> bool:
        """Whether an agent's win share is the sum over its seats instead of their mean."""
        return self.format == "2v2"

    @property
    def num_games(self) -> int:
        """Number of games."""
        return len(self.table.rows)

    @property
    def num_blocks(self) -> int:
        """Number of deals."""
        return len(np.unique(self.block))

    @property
    def played_out(self) -> np.ndarray:
        """Which games have rupees because they did not end by a fault, (G,) bool."""
        return ~np.isin(self.table.games, list(self.table.faults))

    @property
    def margin(self) -> np.ndarray:
        """Final rupees minus the game's mean, (G, n) float64; zeros after a fault, because there are no final rupees."""
        return np.asarray(self.final - self.final.mean(axis=1, keepdims=True))

    def take(self, games: np.ndarray | slice) -> "Match":
        """A match of some of the games, by an index or by (G,) bool."""
        return Match(self.cell, self.table.take(games))

    def seats_of(self, agent: int | str) -> int:
        """The number of an agent's seats in each game."""
        return int((self.cell.base == self._index(agent)).sum())

    def of_agent(
        self, values: np.ndarray, agent: int | str = 0, games: np.ndarray | None = None, by_game: bool = False
    ) -> np.ndarray:
        """Block means (blocks,) of one agent's entries of `values` (G, n), over all its seats.

        Args:
            values: (G, n).
            agent: its index or name.
            games: (G,) bool, the games to include, all unless given. Blocks without any are left out.
            by_game: whether to return the means of games instead of blocks.

        Raises:
            ValueError: no agent of the match has this index or name.
        """
        mine = self.seats == self._index(agent)
        blocks = np.arange(self.num_games) if by_game else np.unique(self.block, return_inverse=True)[1]
        if games is not None:
            mine &= games[:, None]
        totals, counts = (np.bincount(blocks, part.sum(axis=1)) for part in (values * mine, mine))
        return np.asarray(totals[counts > 0] / counts[counts > 0])

    def _index(self, agent: int | str) -> int:
        index = self.agents.index(agent) if agent in self.agents else agent
        if isinstance(index, str) or not 0 <= index < len(self.agents):
            known = checks.one_line(", ".join(self.agents), 300)
            raise ValueError(f"agent {checks.shown(agent)} is not in this match; there are {known}")
        return index


def digest(matches: Iterable[Match]) -> str:
    """64 hexadecimal digits that change with any result of these matches; their order does not matter."""
    parts = []
    for match in matches:
        head = [match.game.rules.to_dict(), match.game.board.name, match.lineup, match.format, match.seed]
        faults = [(fault.agent, fault.seat, fault.game, fault.action) for fault in match.faults]  # reasons name paths
        part = hashlib.sha256(json.dumps([head, faults], sort_keys=True).encode())
        for array, kind in (
            (match.deal, "<u8"),
            (match.seating, "<i8"),
            (match.seats, "<i8"),
            (match.final, "<i4"),
            (match.place, "<i1"),
            (match.clients, "<i2"),
            (match.win_share, "<f8"),
        ):
            part.update(np.ascontiguousarray(array, kind).tobytes())
        parts.append(part.digest())
    return hashlib.sha256(b"".join(sorted(parts))).hexdigest()
