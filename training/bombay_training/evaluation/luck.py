"""Luck: how much of the variance of a seat's result comes from the set-up, the restocks and the agents' own randomness.

A result is a function f of three independent parts (`cells.PARTS`). Seven cells play the same deals: the plain one, and one for
each proper subset of the parts, which draws that subset anew (`Cell.redraw`). Games of two cells share the parts that neither or
both redraw, so the two results covary by what the shared parts explain. For a part k, and the other two parts i and j, with f_S
for the results where S is redrawn:

    first order   E[f_ij (f − f_k) + (f_i − f_ik)(f_j − f_jk)] / 3         what k explains alone
    total         E[(f − f_k)² + (f_i − f_ik)² + (f_j − f_jk)²] / 6        k alone and together with other parts

Both are divided by the variance. The first orders of all parts sum to at most 1, the totals to at least 1; the difference is
interaction. A part that changes no game has two zeros and intervals without a width.

Sources: I. M. Sobol, "Global sensitivity indices for nonlinear mathematical models and their Monte Carlo estimates", Mathematics
and Computers in Simulation 55 (2001); A. Saltelli et al., "Variance based sensitivity analysis of model output", Computer Physics
Communications 181 (2010). Here each estimate is the mean over the three pairs of cells that seven cells have for it.
"""

import dataclasses
import itertools
import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from bombay_training.matches.cells import PARTS, Cell, Seating
from bombay_training.matches.intervals import CONFIDENCE, Estimate
from bombay_training.matches.results import Match

Redraw = tuple[str, ...]  # parts, in the order of `PARTS`

REDRAWS: Final[tuple[Redraw, ...]] = tuple(
    redraw for count in (1, 2) for redraw in itertools.combinations(PARTS, count)
)
RESAMPLES: Final = 2000


@dataclasses.dataclass(frozen=True)
class PartShares:
    """The shares of the variance of one part, with bootstrap intervals over deals: alone, and with all its interactions."""

    first: Estimate
    total: Estimate


@dataclasses.dataclass(frozen=True)
class Luck:
    """Where the variance of results comes from.

    Args:
        deals: how many were played in each of the seven cells.
        margin, win_share: by part. Variances are within seats and summed over seats.
    """

    deals: int
    margin: dict[str, PartShares]
    win_share: dict[str, PartShares]


def redrawn_cells(plain: Cell) -> dict[Redraw, Cell]:
    """The six cells to play beside a plain one. Raises ValueError if its seating is not fixed."""
    if plain.seating is not Seating.FIXED:
        raise ValueError(f"luck is measured with fixed seats, not with seating {plain.seating}")
    return {redraw: dataclasses.replace(plain, redraw=redraw) for redraw in REDRAWS}


def luck(plain: Match, redrawn: Mapping[Redraw, Match]) -> Luck:
    """Split the variance of the results.

    Args:
        plain: the match of a cell with fixed seats.
        redrawn: the matches of its `redrawn_cells`.

    Raises:
        ValueError: a match is missing, or the matches are not of the same seats and deals.
        AgentFault: a game ended by a fault, so it has no margin.
    """
    matches = {(): plain, **redrawn}
    if set(redrawn) != set(REDRAWS):
        raise ValueError(f"luck needs the matches that redraw {'; '.join(' and '.join(redraw) for redraw in REDRAWS)}")
    for match in matches.values():
        if match.faults:
            raise match.faults[0].as_error(match.game.num_players)
        same = (match.game, match.lineup) == (plain.game, plain.lineup) and np.array_equal(match.deal, plain.deal)
        if not same or match.seating.any():
            raise ValueError("luck needs matches of the same game, line-up and deals, with fixed seats")
    margin = variance_shares({redraw: match.margin for redraw, match in matches.items()})
    win_share = variance_shares({redraw: match.win_share for redraw, match in matches.items()})
    return Luck(plain.num_blocks, margin, win_share)


def variance_shares(results: Mapping[Redraw, np.ndarray], resamples: int = RESAMPLES) -> dict[str, PartShares]:
    """The shares of each part in the variance of results.

    Args:
        results: (deals, n) by what was redrawn: nothing, `()`, and each of `REDRAWS`.
        resamples: of the bootstrap.

    Returns:
        By part. NaN if no result varies.
    """
    mean = np.mean([values.mean(axis=0) for values in results.values()], axis=0)
    centred = {frozenset(redraw): values - mean for redraw, values in results.items()}
    columns = [np.mean([values**2 for values in centred.values()], axis=0)]
    for part in PARTS:
        columns += _terms(centred, part)
    terms = np.stack([column.sum(axis=1) for column in columns], axis=1)
    estimates = _ratios(terms, resamples)
    return {part: PartShares(*estimates[2 * place : 2 * place + 2]) for place, part in enumerate(PARTS)}


def _terms(results: Mapping[frozenset[str], np.ndarray], part: str) -> tuple[np.ndarray, np.ndarray]:
    """What a part explains alone and in all, (deals, n) each; their means are parts of the variance."""
    one, other = (frozenset({name}) for name in PARTS if name != part)
    without, with_one, with_other = (
        results[redrawn] - results[redrawn | {part}] for redrawn in (frozenset(), one, other)
    )
    first = (results[one | other] * without + with_one * with_other) / 3
    return first, (without**2 + with_one**2 + with_other**2) / 6


def _ratios(terms: np.ndarray, resamples: int) -> list[Estimate]:
    """The means of all columns but the first, divided by that of the first, with percentiles of the bootstrap over rows."""
    whole, *parts = terms.mean(axis=0)
    if whole == 0:
        return [Estimate(math.nan, math.nan, math.nan)] * len(parts)
    rng, count = np.random.default_rng(0), len(terms)
    means = np.array([terms[rng.integers(count, size=count)].mean(axis=0) for _ in range(resamples)])
    means = means[means[:, 0] > 0]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means[:, 1:] / means[:, :1], (tail, 1 - tail), axis=0)
    return [Estimate(*row) for row in zip((np.array(parts) / whole).tolist(), low.tolist(), high.tolist(), strict=True)]
