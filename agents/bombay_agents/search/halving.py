"""Sequential halving: spend a budget of simulations on candidates, of which the worse half drops out after each stage.

Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits" (2013). Each stage gets the same share of the
budget, so candidates that stay get more simulations each. Knows nothing of what a simulation is.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

SLICE: Final = 4  # simulations of each candidate between two looks at the clock, while there is time for as many


def best_by_halving(
    count: int,
    simulate: Callable[[np.ndarray, int], int],
    means: Callable[[np.ndarray], np.ndarray],
    simulations: int | None = None,
    seconds: float = 0.0,
) -> int:
    """The best of the candidates 0 … count−1; ties go to the first.

    Args:
        count: number of candidates, at least 1.
        simulate: runs so many simulations of each of the given candidates, (k,) int64; returns the number of simulations run,
            0 if no more can be.
        means: the mean results of the given candidates so far, (k,) float64.
        simulations: budget in all; each candidate of a stage gets at least one.
        seconds: budget from now, if `simulations` is None; each candidate gets one simulation in any case.
    """
    start = time.perf_counter()
    stages = math.ceil(math.log2(count))  # each halves the candidates, so that one is left
    left = np.arange(count)
    for stage in range(stages):
        if simulations is not None:
            simulate(left, max(1, simulations // (stages * len(left))))
        else:
            if stage == 0:
                simulate(left, 1)
            simulate_until(start + seconds * (stage + 1) / stages, partial(simulate, left))
        order = np.argsort(-means(left), kind="stable")
        left = np.sort(left[order[: (len(left) + 1) // 2]])
    return int(left[0])


def simulate_until(end: float, simulate: Callable[[int], int]) -> None:
    """Call `simulate` with numbers of simulations until the clock reads `end` or it returns 0.

    The number is `SLICE` while there is time for that many, then 1.
    """
    now, each, done = time.perf_counter(), 1, 1
    while now < end and done:
        began, done = now, simulate(each)
        now = time.perf_counter()
        each = SLICE if (now - began) / each * SLICE <= end - now else 1
