"""The gate: a new agent replaces an old one only if it beats it in a match, which ends as soon as the result is clear.

The new agent plays copies of the old one in blocks: one deal at each number of players, with the new agent in every seat. The
observation of a block is the mean win share x, whose par is m. Two bettors start with a wealth of 1 and bet a part of
it on every block:

    one against  mean ≤ m       the new agent replaces the old one when this wealth reaches 1/alpha
    one against  mean ≥ m + δ   it does not when this wealth reaches 1/beta, nor after the last block allowed

If the hypothesis that a bettor bets against is true, its odds are fair at best. Its wealth is then a nonnegative
supermartingale, and by Ville's inequality it ever reaches 1/alpha with a probability of at most alpha. So the
probability of a wrong replacement is at most alpha, and an agent better by δ or more is rejected before the last
block with a probability of at most beta. Both hold however often one looks, and for any distribution of block means
in 0 ≤ x ≤ 1. The sizes of the bets are guesses, which only decide how soon the match ends.

Source: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024),
with bets after its section B.3 (aGRAPA).
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from bombay_agents import make
from bombay_env import Game, checks
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.intervals import CONFIDENCE, Estimate
from bombay_training.matches.lineup import Lineup, searches
from bombay_training.matches.run import run
from bombay_training.matches.store import Store
from bombay_training.matches.table import LostGame

CHUNK_BLOCKS: Final = 16  # played together, unless an agent searches
PRIOR_VARIANCE: Final = 0.25  # of block means, the largest possible; counts as one block
LARGEST_BET: Final = 0.5  # part of the wealth that one block can lose
GRID: Final = 1000  # steps of the candidate means of an interval


@dataclasses.dataclass(frozen=True)
class Bounds:
    """The parameters of the test, fixed before the first block.

    Args:
        par: mean win share of an agent as strong as the old one.
        delta: the gain in win share that the test must not miss.
        alpha: largest probability of accepting an agent that is no better.
        beta: largest probability of rejecting, before the last block, an agent that is better by `delta`.

    Raises:
        ValueError: a number is out of range.
    """

    par: float
    delta: float = 0.05
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        for name, most in (("delta", 1 - self.par), ("alpha", 0.5), ("beta", 0.5)):
            if not 0 < getattr(self, name) < most:
                raise ValueError(f"{name} is {getattr(self, name):g}; it must be above 0 and below {most:g}")

    def decide(self, means: np.ndarray) -> tuple[bool | None, int]:
        """Decide by block means (T,).

        Returns:
            Whether the new agent replaces the old one, None if it is not decided, and after how many blocks.
        """
        better = log_wealth(means, self.par, self.delta) >= -np.log(self.alpha)
        no_better = log_wealth(1 - means, 1 - self.par - self.delta, self.delta) >= -np.log(self.beta)
        crossed = np.flatnonzero(better | no_better)
        return (None, len(means)) if not crossed.size else (bool(better[crossed[0]]), int(crossed[0]) + 1)


def log_wealth(means: np.ndarray, bound: Any, edge: float) -> np.ndarray:
    """The logarithm of a bettor's wealth after each block, if it bets that the mean is above `bound`.

    Bets depend on earlier blocks alone. They are optimal if the mean exceeds the bound by `edge`, or by more if
    earlier blocks show that.

    Args:
        means: (…, T) block means, from 0 to 1.
        bound: (…) above 0.
        edge: above 0.

    Returns:
        (…, T) float64.
    """
    bound = np.asarray(bound)[..., None]
    blocks = np.arange(1, means.shape[-1] + 1)
    mean = (bound + np.cumsum(means, axis=-1)) / (blocks + 1)
    variance = (PRIOR_VARIANCE + np.cumsum((means - mean) ** 2, axis=-1)) / (blocks + 1)
    ahead = np.maximum(edge, np.insert(mean[..., :-1], 0, 0, axis=-1) - bound)  # as known before the block
    spread = np.insert(variance[..., :-1], 0, PRIOR_VARIANCE, axis=-1)
    bets = np.minimum(ahead / (spread + ahead**2), LARGEST_BET / bound)
    return np.asarray(np.cumsum(np.log1p(bets * (means - bound)), axis=-1))


def interval(means: np.ndarray, edge: float) -> Estimate:
    """The mean of block means (T,) with an interval of 95 %, valid whenever the match ended.

    The interval holds all candidate means that neither of two bettors refutes, one betting on more and one on less.
    """
    candidates = np.arange(1, GRID) / GRID
    enough = -np.log((1 - CONFIDENCE) / 2)
    low = log_wealth(means[None], candidates, edge).max(axis=1) < enough
    high = log_wealth(1 - means[None], 1 - candidates, edge).max(axis=1) < enough
    mean = float(means.mean())
    lowest = candidates[low][0] - 1 / GRID if low.any() else candidates[-1]
    highest = candidates[high][-1] + 1 / GRID if high.any() else candidates[0]
    return Estimate(mean, min(mean, float(lowest)), max(mean, float(highest)))


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of a gate.

    Args:
        replaced: whether the new agent replaces the old one.
        decided: whether the test decided, and not the limit of blocks.
        bounds: the test's parameters.
        players: numbers of players.
        shares: (counts, blocks) mean win shares of the new agent, up to the end of the chunk that decided.
        faults: the games of these blocks that ended by a fault.
    """

    replaced: bool
    decided: bool
    bounds: Bounds
    players: tuple[int, ...]
    shares: np.ndarray
    faults: tuple[LostGame, ...]

    @property
    def blocks(self) -> int:
        """Deals played at each number of players."""
        return int(self.shares.shape[1])

    @property
    def estimate(self) -> Estimate:
        """The mean win share with an interval that is valid whenever the match ended."""
        return interval(self.shares.mean(axis=0), self.bounds.delta)

    def __str__(self) -> str:
        bounds, after = self.bounds, f"replaced after {self.blocks} blocks:"
        if self.replaced:
            return f"{after} it is better than par {bounds.par:.3f} (error at most {bounds.alpha:g})"
        if self.decided:
            short = f"it falls short of par {bounds.par:.3f} + {bounds.delta:g}"
            return f"not {after} {short} (error at most {bounds.beta:g})"
        return f"not {after} undecided after the last block allowed"

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        counts = [
            {"players": count, "games": count * self.blocks, "win_share": float(row.mean()), "par": 1 / count}
            for count, row in zip(self.players, self.shares, strict=True)
        ]
        return {
            "replaced": self.replaced,
            "decided": self.decided,
            "blocks": self.blocks,
            "win_share": self.estimate.to_dict(),
            **dataclasses.asdict(self.bounds),
            "counts": counts,
            "faults": [str(fault) for fault in self.faults],
        }


def par_of(games: Sequence[Game]) -> float:
    """The mean over games of the win share of one of equally strong agents."""
    return float(np.mean([1 / game.num_players for game in games]))


def gate(
    games: Sequence[Game],
    new: str,
    old: str,
    bounds: Bounds,
    max_blocks: int,
    seed: int = 0,
    pool: WorkerPool | None = None,
    progress: Callable[[float], None] | None = None,
) -> Verdict:
    """Play `new` against copies of `old` until the test decides or `max_blocks` blocks are played.

    The verdict is the same for any number of processes.

    Args:
        games: one for each number of players; the test is of the mean over them.
        new: the spec of the new agent.
        old: the spec of the old agent.
        bounds: the test's parameters, with `par_of(games)`.
        max_blocks: largest number of deals at each number of players.
        seed: of the deals and of the agents' randomness.
        pool: the processes to play in; None for this process.
        progress: called with the number of games played since the last call.

    Raises:
        ValueError: `max_blocks` is below 1; or the old agent lost a game by a fault, so the match would overstate the new
            agent's strength.
    """
    checks.whole_number(max_blocks, "max_blocks", 1, checks.MAX_COUNT)
    alone, players = any(searches(make(spec)) for spec in (new, old)), tuple(game.num_players for game in games)
    lineups = [
        Lineup(game, (new, *[old] * (n - 1)), 1, seed, format="1vrest", chunk_games=1 if alone else CHUNK_BLOCKS * n)
        for game, n in zip(games, players, strict=True)
    ]
    store, blocks, decision = Store(), 0, None
    while decision is None and blocks < max_blocks:
        blocks = min(blocks + CHUNK_BLOCKS * (pool.count if pool else 1), max_blocks)
        matches = run([dataclasses.replace(lineup, deals=blocks) for lineup in lineups], store, pool, progress)
        shares = np.array([match.of_agent(match.win_share) for match in matches])
        decision, used = bounds.decide(shares.mean(axis=0))
        # Keep whole chunks: they are the same for any number of processes.
        played = -(-used // CHUNK_BLOCKS) * CHUNK_BLOCKS
        faults = [fault for match in matches for fault in match.faults if fault.block < played]
        broken = [fault for fault in faults if fault.agent == 1]
        if broken:
            raise ValueError(f"the old agent lost a game by a fault: {min(broken, key=lambda fault: fault.block)}")
    return Verdict(bool(decision), decision is not None, bounds, players, shares[:, :played], tuple(faults))
