"""How much fairness depends on the board: win shares by seat over many boards, with the noise of the games removed."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import stats

from bombay_training.matches.intervals import Moments

CONFIDENCE: Final = 0.90  # of the interval for a new board


def spread(boards: Sequence[np.ndarray], packaged: np.ndarray) -> list[dict[str, Any]]:
    """The distribution of true win shares over boards, by seat.

    Args:
        boards: win shares (G, n) of each of at least two boards, which were drawn at random.
        packaged: win shares (G', n) on the packaged board.

    Returns:
        For each seat as plain JSON types: `mean` over boards with its 95 % interval `mean_low`, `mean_high`; `sd`, the standard
        deviation of true win shares between boards, which is that of the boards' means with the expected noise of their games
        removed (method of moments); `new_low`, `new_high`, the 90 % interval for the true share on a new board, which allows for
        the error of `sd`; `packaged`, the share on the packaged board; and `percentile`, its place among boards, None without
        spread.
    """
    moments = [Moments.of(shares) for shares in boards]
    means = np.array([part.mean for part in moments])
    noise = np.array([part.variance / part.blocks for part in moments]).mean(axis=0)
    count, between = len(boards), means.var(axis=0, ddof=1)
    rows = []
    for seat, (mean, total, error) in enumerate(zip(means.mean(axis=0), between, noise, strict=True)):
        sd, of_mean = math.sqrt(max(0.0, total - error)), math.sqrt(total / count)
        of_new = math.sqrt(_expected_variance(total - error, total * math.sqrt(2 / (count - 1))) + of_mean**2)
        half, new = (
            float(stats.t.ppf((1 + confidence) / 2, count - 1)) * width
            for confidence, width in ((0.95, of_mean), (CONFIDENCE, of_new))
        )
        here = float(packaged[:, seat].mean())
        rows.append(
            {
                "seat": seat,
                "mean": float(mean),
                "mean_low": float(mean) - half,
                "mean_high": float(mean) + half,
                "sd": sd,
                "new_low": float(mean) - new,
                "new_high": float(mean) + new,
                "packaged": here,
                "percentile": 100 * float(stats.norm.cdf((here - mean) / sd)) if sd else None,
            }
        )
    return rows


def _expected_variance(estimate: float, error: float) -> float:
    """The mean of a variance whose estimate, which may be negative, has this standard error, given that none is negative.

    The estimate alone is 0 wherever the noise of games hides the spread, and an interval from it then is too narrow.
    """
    if error == 0:
        return max(0.0, estimate)
    return float(stats.truncnorm.mean(-estimate / error, math.inf, loc=estimate, scale=error))
