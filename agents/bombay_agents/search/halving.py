"""Sequential halving: a budget of tries spread over candidates, half of which drop out again and again.

Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits" (2013). Each stage gets the same share of the
budget, so those that stay are tried more and more. Knows nothing of what a try is.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

SLICE: Final = 4  # tries of each candidate between two looks at the clock, while there is time for as many


def best_by_halving(
    count: int,
    play: Callable[[np.ndarray, int], int],
    means: Callable[[np.ndarray], np.ndarray],
    tries: int | None = None,
    seconds: float = 0.0,
) -> int:
    """The best of the candidates 0 … count−1; of equals the first.

    Args:
        play: tries each of the candidates named, (k,) int64, so many times; returns how many tries were made, 0 if no more
            can be.
        means: how those named have done so far, (k,) float64.
        tries: all together; at least one a candidate and stage is made.
        seconds: from now, where `tries` is None; every candidate is tried once in any case.
    """
    start = time.perf_counter()
    stages = max(1, math.ceil(math.log2(count)))
    left = np.arange(count)
    for stage in range(stages if count > 1 else 0):
        if tries is not None:
            play(left, max(1, tries // (stages * len(left))))
        else:
            if stage == 0:
                play(left, 1)
            play_until_turn_of(start + seconds * (stage + 1) / stages, partial(play, left))
        order = np.argsort(-means(left), kind="stable")
        left = np.sort(left[order[: (len(left) + 1) // 2]])
    return int(left[np.argmax(means(left))]) if len(left) > 1 else int(left[0])


def play_until_turn_of(end: float, play: Callable[[int], int]) -> None:
    """Call `play` with numbers of tries until the clock says `end` or it makes none: with few where more would take too long."""
    now, each, played = time.perf_counter(), 1, 1
    while now < end and played:
        began, played = now, play(each)
        now = time.perf_counter()
        each = SLICE if (now - began) / each * SLICE <= end - now else 1
