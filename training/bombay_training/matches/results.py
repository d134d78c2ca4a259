"""The results of a match: every game of a line-up with its seats, finals, faults and times.

It does not know how games are played (`matches/play.py`) nor what their results show (`matches/statistics.py`).
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable

import numpy as np

from bombay_env import Game, checks
from bombay_env.agent import AgentFault
from bombay_env.record import Record
from bombay_training.matches.times import Timing


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


@dataclasses.dataclass(frozen=True)
class Match:
    """All games of one line-up, in the order of blocks and seatings. G games, n seats.

    Args:
        game: the variant and board.
        lineup: the agents' names by seat of the base seating.
        agents: names of the distinct agents, in the order of their first seats.
        seed: the seed of the deals and of the agents' randomness.
        deal: (G,) uint64 seeds of the games.
        block: (G,) int64 numbers of the deals, from 0.
        seating: (G,) int64 numbers of the seatings.
        seats: (G, n) int64 indices into `agents`.
        final: (G, n) int32 rupees with awards (RULES 5); zeros in a game that ended by a fault.
        win_share: (G, n) float64, 1 over the number of winners for each winner. After a fault it is 0 in all seats of the
            offender and equal parts of 1 in the others; an offender with all seats gets 0 in the offending seat alone.
        place: (G, n) int8 by rupees, then Client tokens, from 1; tied seats share the better one. Zeros after a fault.
        clients: (G, n) int16 Client tokens; zeros after a fault.
        timings: by agent.
        faults: the games that ended by a fault, in the order of the games.
        format: `1vrest`, `2v2`, `mixed`, or `seats` for any other.
        records: of all games, in order, if they were kept.
        accounts: (G, n) records of `ACCOUNTS` (`matches/accounts.py`), if they were kept.
    """

    game: Game
    lineup: tuple[str, ...]
    agents: tuple[str, ...]
    seed: int
    deal: np.ndarray
    block: np.ndarray
    seating: np.ndarray
    seats: np.ndarray
    final: np.ndarray
    win_share: np.ndarray
    place: np.ndarray
    clients: np.ndarray
    timings: tuple[Timing, ...]
    faults: tuple[LostGame, ...] = ()
    format: str = "seats"
    records: tuple[Record, ...] = ()
    accounts: np.ndarray | None = None

    @property
    def teams(self) -> bool:
        """Whether an agent's win share is the sum over its seats instead of their mean."""
        return self.format == "2v2"

    @property
    def num_games(self) -> int:
        """Number of games."""
        return len(self.block)

    @property
    def num_blocks(self) -> int:
        """Number of deals."""
        return len(np.unique(self.block))

    @property
    def played_out(self) -> np.ndarray:
        """Which games have rupees because they did not end by a fault, (G,) bool."""
        played = np.ones(self.num_games, np.bool_)
        played[[fault.game for fault in self.faults]] = False
        return played

    @property
    def margin(self) -> np.ndarray:
        """Final rupees minus the game's mean, (G, n) float64; zeros after a fault, because there are no final rupees."""
        return np.asarray(self.final - self.final.mean(axis=1, keepdims=True))

    def seats_of(self, agent: int | str) -> int:
        """The number of an agent's seats in each game."""
        return int((self.seats[0] == self._index(agent)).sum())

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
