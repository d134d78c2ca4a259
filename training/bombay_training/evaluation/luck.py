"""Luck: how much of the variance of a seat's result comes from the set-up, the restocks and the agents' own randomness.

A result is a function f of three independent parts (`lineup.PARTS`). Seven line-ups of the same agents play the same deals: the
plain one, and one for each proper subset of the parts, which draws that subset anew (`Lineup.redraw`). Games of two line-ups
share the parts that neither or both redraw, so the two results covary by what the shared parts explain. For a part k, and the
other two parts i and j, with f_S for the results where S is redrawn:

    first order   E[f_ij (f − f_k) + (f_i − f_ik)(f_j − f_jk)] / 3         what k explains alone
    total         E[(f − f_k)² + (f_i − f_ik)² + (f_j − f_jk)²] / 6        k alone and together with other parts

Both are divided by the variance. The first orders of all parts sum to at most 1, the totals to at least 1; the difference is
interaction. A part that changes no game has two zeros and intervals without a width.

Sources: I. M. Sobol, "Global sensitivity indices for nonlinear mathematical models and their Monte Carlo estimates", Mathematics
and Computers in Simulation 55 (2001); A. Saltelli et al., "Variance based sensitivity analysis of model output", Computer Physics
Communications 181 (2010). Here each estimate is the mean over the three pairs of line-ups that show it.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from bombay_training.matches.intervals import CONFIDENCE, Estimate, resampled
from bombay_training.matches.lineup import PARTS

Redraw = tuple[str, ...]  # parts, in the order of `PARTS`

REDRAWS: Final[tuple[Redraw, ...]] = tuple(  # of the seven line-ups; the plain one first
    redraw for count in range(len(PARTS)) for redraw in itertools.combinations(PARTS, count)
)
RESAMPLES: Final = 2000


def variance_shares(results: Mapping[Redraw, np.ndarray], resamples: int = RESAMPLES) -> dict[str, dict[str, Estimate]]:
    """The shares of each part in the variance of results.

    Args:
        results: (deals, n) of fixed seats and the same deals, for each of `REDRAWS`.
        resamples: of the bootstrap.

    Returns:
        By part its shares with intervals over deals: `first`, alone, and `total`, with all its interactions. Variances are within
        seats and summed over seats. NaN if no result varies.
    """
    mean = np.mean([values.mean(axis=0) for values in results.values()], axis=0)
    centred = {frozenset(redraw): values - mean for redraw, values in results.items()}
    whole = np.mean([values**2 for values in centred.values()], axis=0).sum(axis=1)
    weights = resampled(len(whole), resamples, np.random.default_rng(0))
    return {
        part: {name: _ratio(term, whole, weights) for name, term in _terms(centred, part).items()} for part in PARTS
    }


def _terms(results: Mapping[frozenset[str], np.ndarray], part: str) -> dict[str, np.ndarray]:
    """What a part explains alone and in all, (deals,) each; their means are parts of the variance."""
    one, other = (frozenset({name}) for name in PARTS if name != part)
    without, with_one, with_other = (
        results[redrawn] - results[redrawn | {part}] for redrawn in (frozenset(), one, other)
    )
    first = (results[one | other] * without + with_one * with_other) / 3
    total = (without**2 + with_one**2 + with_other**2) / 6
    return {"first": first.sum(axis=1), "total": total.sum(axis=1)}


def _ratio(term: np.ndarray, whole: np.ndarray, weights: np.ndarray) -> Estimate:
    """The mean of a term (deals,) divided by that of the whole, with percentiles over resamples with these weights."""
    if not whole.any():
        return Estimate(math.nan, math.nan, math.nan)
    low, high = np.quantile(weights @ term / (weights @ whole), ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return Estimate(float(term.mean() / whole.mean()), float(low), float(high))
