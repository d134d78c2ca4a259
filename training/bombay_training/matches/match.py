"""A match: what one line-up's games show to statistics, as a view of their rows (`matches/table.py`)."""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from bombay_env import Game, checks
from bombay_env.record import Record
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.table import ACCOUNTS, RECORD, LostGame, Times


def _column(name: str, of_games: bool = False, kind: Any = None) -> "functools.cached_property[np.ndarray]":
    """A column as an attribute of a match: (G, n), or (G,) where all seats have the same value."""

    def values(match: "Match") -> np.ndarray:
        return np.ascontiguousarray(match.rows[name][:, 0] if of_games else match.rows[name], kind)

    return functools.cached_property(values)


@dataclasses.dataclass(frozen=True, eq=False)
class Match:
    """Games of one line-up. G games, n seats. Its columns are those of `matches/table.py`.

    Args:
        plan: the line-up, its variant and its seed.
        rows: (G, n) the games. Those that `run` returns are all games of the first deals, in the order of blocks and seatings.

    Attributes:
        deal, block, seating: (G,) seeds of the games, numbers of their deals and of their seatings.
        seats: (G, n) int64 indices into `agents`.
        final, place, win_share, clients: (G, n).
    """

    plan: Lineup
    rows: np.ndarray

    deal, block, seating = (_column(name, of_games=True) for name in ("deal", "block", "seating"))
    seats = _column("agent", kind=np.int64)
    final, place, win_share, clients = (_column(name) for name in ("final", "place", "win_share", "clients"))

    @property
    def game(self) -> Game:
        """The variant and board."""
        return self.plan.game

    @property
    def seed(self) -> int:
        """Of the deals and of the agents' randomness."""
        return self.plan.seed

    @property
    def format(self) -> str:
        """`1vrest`, `2v2`, `mixed`, or `seats` for any other."""
        return self.plan.format

    @functools.cached_property
    def agents(self) -> tuple[str, ...]:
        """Names of the distinct agents, in the order of their first seats."""
        return self.plan.names

    @functools.cached_property
    def lineup(self) -> tuple[str, ...]:
        """The agents' names by seat of the first order."""
        return tuple(self.agents[index] for index in self.plan.base)

    @property
    def accounts(self) -> np.ndarray | None:
        """(G, n) records with the columns of `ACCOUNTS` (`matches/table.py`), if they were kept."""
        return self.rows[list(ACCOUNTS)] if self.plan.accounts else None

    @functools.cached_property
    def faults(self) -> tuple[LostGame, ...]:
        """The games that ended by a fault, in the order of the games."""
        columns = ["agent", "seat", "game", "block", "seating", "action", "fault"]
        lost = self.rows[self.rows["fault"] != ""][columns].tolist()
        return tuple(LostGame(agent, self.agents[agent], *others) for agent, *others in lost)

    @property
    def records(self) -> tuple[Record, ...]:
        """Of all games, in order, if they were kept."""
        kept = [record for record in self.rows[RECORD][:, 0] if record is not None]
        return tuple(dataclasses.replace(record, game=self.game) for record in kept)

    @property
    def timings(self) -> tuple[Times, ...]:
        """By agent."""
        parts = [self.rows[self.seats == agent] for agent in range(len(self.agents))]
        return tuple(
            Times(int(rows["decisions"].sum()), int(rows["turns"].sum()), float(rows["seconds"].sum(dtype=np.float64)))
            for rows in parts
        )

    @property
    def num_games(self) -> int:
        """Number of games."""
        return len(self.rows)

    @property
    def num_blocks(self) -> int:
        """Number of deals."""
        return len(np.unique(self.block))

    @property
    def played_out(self) -> np.ndarray:
        """Which games have rupees because they did not end by a fault, (G,) bool."""
        return np.asarray((self.rows["fault"] == "").all(axis=1))

    @property
    def margin(self) -> np.ndarray:
        """Final rupees minus the game's mean, (G, n) float64; zeros after a fault, because there are no final rupees."""
        return np.asarray(self.final - self.final.mean(axis=1, keepdims=True))

    def take(self, games: np.ndarray | slice) -> "Match":
        """A match of some of the games, by an index or by (G,) bool."""
        return Match(self.plan, self.rows[games])

    def seats_of(self, agent: int | str) -> int:
        """The number of an agent's seats in each game."""
        return int((self.plan.base == self._index(agent)).sum())

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
