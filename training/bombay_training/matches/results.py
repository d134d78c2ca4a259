"""What was played: every game of a line-up with its seats, results, faults and times.

Knows neither how games are played (`arena.py`) nor what they tell (`matches/statistics.py`).
"""

import dataclasses

import numpy as np

from bombay_env import Game


@dataclasses.dataclass(frozen=True)
class Fault:
    """How an agent lost a game without playing it to the end.

    Args:
        agent: index of the agent in the match.
        name: its name.
        seat: its seat.
        game: number of the game in the match.
        block, seating: the same by deal.
        action: what it answered, as a record tells it (RULES 8): an action's name or number, or `none`.
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


@dataclasses.dataclass(frozen=True)
class Timing:
    """An agent's decisions, the turns they belong to, and the time they took; where it decided for several games, shared out.

    The agent's first call in a process, in which its code may still be compiled, is not among them.
    """

    decisions: int = 0
    turns: int = 0
    seconds: float = 0.0
    p99_ms: float | None = None  # milliseconds that 99 of 100 turns stay within

    @property
    def ms_per_turn(self) -> float | None:
        """Milliseconds a turn; None where nothing was clocked."""
        return 1000 * self.seconds / self.turns if self.turns else None


@dataclasses.dataclass(frozen=True)
class Match:
    """Every game of one line-up, in the order of blocks and seatings. G games, n seats.

    Args:
        game: the variant and board.
        lineup: names of the agents by seat of the base seating.
        agents: names of the different agents, in the order of their first seats.
        seed: what deals and chances of the match were drawn from.
        deal: (G,) uint64 seeds of the games.
        block: (G,) int64 numbers of the deals, from 0.
        seating: (G,) int64 which of the seatings.
        seats: (G, n) int64 indices into `agents`.
        final: (G, n) int32 rupees with awards (RULES 5); zeros in a game that a fault ended.
        win_share: (G, n) float64, 1 over the number of winners for each winner; after a fault 0 in all seats of the offending
            agent, and equal parts of 1 in the others. An agent that has all seats loses in the offending one alone.
        timings: by agent.
        faults: the games that faults ended, in the games' order.
        format: `1vrest`, `2v2`, `mixed`, or `seats` for any other.
        teams: whether an agent's seats win together, so that its win share is that of all of them.
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
    timings: tuple[Timing, ...]
    faults: tuple[Fault, ...] = ()
    format: str = "seats"
    teams: bool = False

    @property
    def num_games(self) -> int:
        """Games played."""
        return len(self.block)

    @property
    def num_blocks(self) -> int:
        """Deals played, each in all seatings."""
        return len(np.unique(self.block))

    @property
    def played_out(self) -> np.ndarray:
        """Which games no fault ended, (G,) bool: those whose rupees tell something."""
        played = np.ones(self.num_games, np.bool_)
        played[[fault.game for fault in self.faults]] = False
        return played

    @property
    def margin(self) -> np.ndarray:
        """Final rupees less the table's mean, (G, n) float64; zeros after a fault, where no rupees were counted."""
        return np.asarray(self.final - self.final.mean(axis=1, keepdims=True))

    def seats_of(self, agent: int | str) -> int:
        """How many seats of a game an agent has."""
        return int((self.seats[0] == self._index(agent)).sum())

    def of_agent(self, values: np.ndarray, agent: int | str = 0, games: np.ndarray | None = None) -> np.ndarray:
        """Block means (blocks,) of one agent's entries of `values` (G, n); its seats, where it has several, are pooled.

        Args:
            values: what to take the means of.
            agent: its index or name.
            games: (G,) bool, the games to take, all unless given; blocks that have none are left out.

        Raises:
            ValueError: no agent of the match has this index or name.
        """
        mine = self.seats == self._index(agent)
        blocks = np.unique(self.block, return_inverse=True)[1]
        if games is not None:
            mine &= games[:, None]
        totals, counts = (np.bincount(blocks, part.sum(axis=1)) for part in (values * mine, mine))
        return np.asarray(totals[counts > 0] / counts[counts > 0])

    def _index(self, agent: int | str) -> int:
        index = self.agents.index(agent) if agent in self.agents else agent
        if isinstance(index, str) or not 0 <= index < len(self.agents):
            raise ValueError(f"agent {agent!r} is not in this match; there are {', '.join(self.agents)}")
        return index
