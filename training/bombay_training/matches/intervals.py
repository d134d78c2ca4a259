"""Confidence intervals for means over blocks: of win shares, of their changes, and of rupees; tests, and resamples of deals.

A block is one deal in all its seatings. Blocks are independent; the games of a block are not. Block means take few values, and
most of them may be equal: an agent may win every game, and a changed rule may change one game in fifty. A mean ± standard errors
then covers the truth too rarely, or has no width. The intervals here take into account that the next block may differ from all
those seen. tests/training/matches/test_intervals.py measures how often they cover the true mean.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Final, Self

import numpy as np
import scipy  # its parts are imported where they are first used, so that commands start quickly

CONFIDENCE: Final = 0.95
NO_SPREAD: Final = 1e-9  # standard errors of rupees below this are rounding errors
LEAST_P: Final = 1e-12
MOST_P: Final = 0.999  # larger ones are 1

Bounds = tuple[np.ndarray, np.ndarray]  # lower and upper ones


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean with a confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def to_dict(self) -> dict[str, float | None]:
        """As plain JSON types; None for an infinite or missing number."""
        return {name: value if math.isfinite(value) else None for name, value in dataclasses.asdict(self).items()}


@dataclasses.dataclass(frozen=True)
class Moments:
    """What an interval needs to know of block means.

    Args:
        mean: (…) float64, the mean over blocks.
        spread: (…) float64, the sum over blocks of squared deviations from the mean.
        blocks: number of blocks, at least 1.
    """

    mean: np.ndarray
    spread: np.ndarray
    blocks: int

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        """The moments of block means (blocks, …)."""
        return cls(np.asarray(values.mean(axis=0)), np.asarray(len(values) * values.var(axis=0)), len(values))

    @property
    def variance(self) -> np.ndarray:
        """The sample variance of block means, (…); infinite for a single block."""
        return np.asarray(self.spread / (self.blocks - 1)) if self.blocks > 1 else np.full(self.spread.shape, np.inf)


def estimates(
    values: np.ndarray, bounds: Callable[[Moments, float], Bounds], confidence: float = CONFIDENCE
) -> list[Estimate]:
    """The means of block means, (blocks, n) or (blocks,), with bounds such as those of this module."""
    moments = Moments.of(values)
    columns = (np.atleast_1d(part).tolist() for part in (moments.mean, *bounds(moments, confidence)))
    return [Estimate(*row) for row in zip(*columns, strict=True)]


# --- bounds ---


def share_bounds(moments: Moments, confidence: float = CONFIDENCE, least: float = 0) -> Bounds:
    """The interval of means of numbers from `least` to 1: of win shares, or of their changes from −1. It always has a width.

    Of numbers from 0, it is Clopper and Pearson's interval for a proportion p at the effective sample size: the number of
    independent games with the same standard error, p(1−p)/SE². Blocks that were not seen count as in `_unseen`, so the size is
    the number of blocks if all shares are 0, or all are 1. It is multiplied by the squared ratio of the quantiles of the normal
    distribution and of Student's t, because the variance of blocks is estimated. Numbers from −1 are shrunk to numbers from 0.

    Source: E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 24 (1998).
    """
    tail, blocks, width, special = (1 - confidence) / 2, moments.blocks, 1 - least, scipy.special
    normal, spread = special.ndtri(tail), moments.spread / width**2
    share, unseen = np.clip((moments.mean - least) / width, 0, 1), _unseen(spread, normal**2 / 4)
    size = blocks * (blocks * share * (1 - share) + unseen) / (spread + unseen)
    size = size * (normal / _student(confidence, blocks - 1)) ** 2
    won, lost = size * share, size * (1 - share)
    low = np.nan_to_num(special.betaincinv(won, lost + 1, tail), nan=0)  # not a number if all are lost,
    high = np.nan_to_num(special.betainccinv(won + 1, lost, tail), nan=1)  # or all are won
    return least + width * np.minimum(low, share), least + width * np.maximum(high, share)


def mean_bounds(moments: Moments, confidence: float = CONFIDENCE, unrelated: np.ndarray | float = 0) -> Bounds:
    """Student's interval of means of rupees. Infinite where the blocks show no spread, and for a single one.

    Most changes of rupees may be zero, and there is no largest one. So their standard error is taken as if more games had been
    seen whose changes are as large as differences between unrelated games: z² of them if no game changes, and fewer the more
    games change.

    Args:
        moments: of rupees, or of changes.
        confidence: probability of covering the true mean.
        unrelated: (…) float64, of changes: the variance of a difference between unrelated games, the sum of the variances before
            and after.
    """
    unrelated = np.where(np.isfinite(unrelated), unrelated, 0)  # a single game has no variance
    unseen = _unseen(moments.spread, scipy.special.ndtri((1 + confidence) / 2) ** 2 * unrelated)
    error = np.sqrt(dataclasses.replace(moments, spread=moments.spread + unseen).variance / moments.blocks)
    half = np.where(error > NO_SPREAD, _student(confidence, moments.blocks - 1) * error, np.inf)
    return moments.mean - half, moments.mean + half


def _unseen(spread: np.ndarray, most: np.ndarray | float) -> np.ndarray:
    """The spread to add for blocks that were not seen: `most` where blocks are equal, and half as much where `most` was seen."""
    total = most + spread
    return np.divide(np.square(most), total, out=np.zeros_like(total), where=total > 0)


def _student(confidence: float, degrees: int) -> float:
    """The quantile of Student's t for an interval with two sides; that of one degree of freedom if there are fewer."""
    return float(scipy.special.stdtrit(max(degrees, 1), (1 + confidence) / 2))


# --- tests ---


def p_value(excluded: Callable[[float], bool]) -> float:
    """The p value of a test, at least `LEAST_P`: the smallest error rate at which the interval leaves the value out.

    Args:
        excluded: whether the interval with this confidence excludes the value.
    """
    if excluded(1 - LEAST_P):
        return LEAST_P
    if not excluded(1 - MOST_P):
        return 1.0

    def side(log_error: float) -> float:
        return 0.5 - excluded(-math.expm1(log_error))

    return math.exp(scipy.optimize.bisect(side, math.log(LEAST_P), math.log(MOST_P), xtol=1e-7))


def holm(p_values: Sequence[float], error: float = 1 - CONFIDENCE) -> list[bool]:
    """Which hypotheses of a family are rejected; the probability of any wrong rejection is at most `error`.

    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    order = np.argsort(p_values)
    adjusted = np.maximum.accumulate(np.asarray(p_values)[order] * np.arange(len(order), 0, -1))
    return [bool(rejected) for rejected in (adjusted <= error)[np.argsort(order)]]


# --- resamples ---


def resampled(deals: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """The weights (R, D) of deals in resamples, with a mean of 1: the Bayesian bootstrap. No deal is ever left out.

    Source: D. B. Rubin, "The Bayesian bootstrap", Annals of Statistics 9 (1981).
    """
    return np.asarray(rng.dirichlet(np.ones(deals), resamples) * deals)
