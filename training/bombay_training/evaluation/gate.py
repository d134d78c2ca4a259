"""The gate: a new agent takes an old one's place by a match, never by a loss. The match ends as soon as it has told enough.

The new agent plays copies of the old in blocks of one deal at each number of players, in all seatings. A block's figure is the
mean win share x, par m. Two gamblers start with 1 and stake a part of what they have on every block:

    one against  mean ≤ m       the new agent replaces the old once this one has 1/alpha
    one against  mean ≥ m + δ   and does not once this one has 1/beta, nor after the last block allowed

What a gambler bets against, where it holds, leaves the odds fair at best; then the wealth is a nonnegative supermartingale, and
by Ville's inequality it reaches 1/alpha at any time at all with a probability of alpha at most. So a replacement is wrong with
alpha at most, and an agent better by δ or more is turned down before the last block with beta at most: however often one looks,
and whatever the spread of block means, of which nothing but 0 ≤ x ≤ 1 is assumed. The stakes are guesses, and decide only how
soon there is an end.

Source: I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024); stakes after
its section B.3 (aGRAPA). Knows matches by `arena.one_vs_rest`, not how they are played.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from bombay_agents import make
from bombay_env import Game
from bombay_training.evaluation import arena
from bombay_training.matches.pool import Workers
from bombay_training.matches.results import Fault
from bombay_training.matches.statistics import CONFIDENCE, Estimate

CHUNK_BLOCKS: Final = 16  # played together, where agents decide for many games at once
PRIOR_VARIANCE: Final = 0.25  # of block means, the largest there is; counts as one block
LARGEST_STAKE: Final = 0.5  # part of a gambler's wealth that one block can lose
GRID: Final = 1000  # means that the interval is made of


@dataclasses.dataclass(frozen=True)
class Bounds:
    """What is fixed before the first block.

    Args:
        par: mean win share of an agent no better than the old.
        delta: how much more is worth a replacement for sure.
        alpha: most probability of replacing by one that is no better.
        beta: most probability of turning down, before the last block, one that is better by `delta`.
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
        """Whether the new agent replaces the old, None if these block means (T,) do not tell, and after how many of them."""
        better = log_wealth(means, self.par, self.delta) >= -np.log(self.alpha)
        no_better = log_wealth(1 - means, 1 - self.par - self.delta, self.delta) >= -np.log(self.beta)
        crossed = np.flatnonzero(better | no_better)
        return (None, len(means)) if not crossed.size else (bool(better[crossed[0]]), int(crossed[0]) + 1)


def log_wealth(means: np.ndarray, bound: Any, edge: float) -> np.ndarray:
    """The logarithm of what a gambler has after each block who bets that the mean is above `bound`.

    Stakes hang on earlier blocks alone, and are the best if the mean is above the bound by `edge`, or by more where that shows.

    Args:
        means: (…, T) block means, from 0 to 1.
        bound: (…) above 0.
        edge: above 0.
    """
    bound = np.asarray(bound)[..., None]
    blocks = np.arange(1, means.shape[-1] + 1)
    mean = (bound + np.cumsum(means, axis=-1)) / (blocks + 1)
    variance = (PRIOR_VARIANCE + np.cumsum((means - mean) ** 2, axis=-1)) / (blocks + 1)
    ahead = np.maximum(edge, _before(mean, 0.0) - bound)
    stakes = np.minimum(ahead / (_before(variance, PRIOR_VARIANCE) + ahead**2), LARGEST_STAKE / bound)
    return np.asarray(np.cumsum(np.log1p(stakes * (means - bound)), axis=-1))


def _before(values: np.ndarray, first: float) -> np.ndarray:
    """What stood one block earlier."""
    shifted = np.roll(values, 1, axis=-1)
    shifted[..., 0] = first
    return shifted


def interval(means: np.ndarray, edge: float) -> Estimate:
    """The mean of block means, and all means that neither of two gamblers disproves: 95 %, whenever the match was ended."""
    candidates = np.arange(1, GRID) / GRID
    enough = -np.log((1 - CONFIDENCE) / 2)
    low = log_wealth(means[None], candidates, edge).max(axis=1) < enough
    high = log_wealth(1 - means[None], 1 - candidates, edge).max(axis=1) < enough
    mean = float(means.mean())
    lowest = candidates[low][0] - 1 / GRID if low.any() else mean
    highest = candidates[high][-1] + 1 / GRID if high.any() else mean
    return Estimate(mean, min(mean, float(lowest)), max(mean, float(highest)))


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a gate found.

    Args:
        replaced: whether the new agent takes the old one's place.
        decided: whether a gambler won, and not the limit.
        bounds: what was fixed.
        players: numbers of players.
        shares: (counts, blocks) mean win shares of the new agent, up to the block that decided and those played with it.
        faults: of all games played.
    """

    replaced: bool
    decided: bool
    bounds: Bounds
    players: tuple[int, ...]
    shares: np.ndarray
    faults: tuple[Fault, ...]

    @property
    def blocks(self) -> int:
        """Deals that it took, at each number of players."""
        return int(self.shares.shape[1])

    @property
    def estimate(self) -> Estimate:
        """The mean win share, with an interval that holds for a match that is ended at will."""
        return interval(self.shares.mean(axis=0), self.bounds.delta)

    def __str__(self) -> str:
        bounds = self.bounds
        if self.replaced:
            reason = f"it is better than par {bounds.par:.3f} (error at most {bounds.alpha:g})"
        elif self.decided:
            reason = f"it falls short of par {bounds.par:.3f} + {bounds.delta:g} (error at most {bounds.beta:g})"
        else:
            reason = "the blocks allowed do not tell"
        return f"{'replaced' if self.replaced else 'not replaced'} after {self.blocks} blocks: {reason}"

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
    """The mean over games of the win share of one among equals."""
    return float(np.mean([1 / game.num_players for game in games]))


def gate(
    games: Sequence[Game],
    new: str,
    old: str,
    bounds: Bounds,
    max_blocks: int,
    seed: int = 0,
    workers: Workers | None = None,
    progress: Callable[[float], None] | None = None,
) -> Verdict:
    """Play `new` against copies of `old` until a bound is crossed, or `max_blocks` blocks are played.

    The verdict is the same for any number of processes.

    Args:
        games: one for each number of players; the test is of the mean over them.
        new: the spec of the new agent.
        old: the spec of the old one.
        bounds: of the test, with `par_of(games)`.
        max_blocks: most deals at each number of players.
        seed: of deals and chances.
        workers: the processes to play in; this one if None.
        progress: called with the games played since the last call.
    Raises:
        ValueError: the old agent lost a game by a fault, so that the match tells nothing of how strong the new one is.
    """
    alone = any(arena.thinks(make(spec)) for spec in (new, old))
    shares = np.empty((len(games), 0))
    faults: list[Fault] = []
    decision: bool | None = None
    while decision is None and shares.shape[1] < max_blocks:
        first = shares.shape[1]
        blocks = min(CHUNK_BLOCKS * (workers.count if workers else 1), max_blocks - first)
        part = []
        for game in games:
            chunk = 1 if alone else CHUNK_BLOCKS * game.num_players
            match = arena.one_vs_rest(
                game, new, old, blocks, seed, first=first, chunk_games=chunk, workers=workers, progress=progress
            )
            part.append(match.of_agent(match.win_share))
            faults += match.faults
        shares = np.concatenate([shares, part], axis=1)
        decision, used = bounds.decide(shares.mean(axis=0))
        played = -(-used // CHUNK_BLOCKS) * CHUNK_BLOCKS
        faults = [fault for fault in faults if fault.block < played]
        refuse_to_go_on(faults)
    return Verdict(
        replaced=bool(decision),
        decided=decision is not None,
        bounds=bounds,
        players=tuple(game.num_players for game in games),
        shares=shares[:, :played],
        faults=tuple(faults),
    )


def refuse_to_go_on(faults: Sequence[Fault]) -> None:
    """Raise ValueError if one of them is the old agent's, of the first such block."""
    broken = [fault for fault in faults if fault.agent == 1]
    if broken:
        raise ValueError(f"the old agent cannot be played against: {min(broken, key=lambda fault: fault.block)}")
