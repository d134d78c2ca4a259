"""How long agents' decisions took. The time of a call for several games is divided evenly among them."""

import dataclasses
from typing import Final

import numpy as np

BINS_PER_DECADE: Final = 20  # a bin is 12 % wide
EDGES: Final = np.geomspace(1e-7, 1e4, 11 * BINS_PER_DECADE + 1)  # of the bins of turn times, in seconds


@dataclasses.dataclass(frozen=True)
class Timing:
    """The times of an agent in a match, without its first call in a process, which may compile code.

    Args:
        decisions: actions chosen.
        turns: turns they belong to.
        seconds: time of all of them.
        p99_ms: the 99th percentile of the milliseconds of a turn, to about 5 %; None if no turn was timed.
    """

    decisions: int = 0
    turns: int = 0
    seconds: float = 0.0
    p99_ms: float | None = None

    @property
    def ms_per_turn(self) -> float | None:
        """Milliseconds per turn; None if no turn was timed."""
        return 1000 * self.seconds / self.turns if self.turns else None


class DecisionTimes:
    """Sums of an agent's decision times.

    Attributes:
        decisions: actions chosen.
        turns: turns begun.
        seconds: time of all calls.
        histogram: (bins,) int64 numbers of complete turns by their time, between `EDGES`.
    """

    def __init__(self) -> None:
        self.decisions, self.turns, self.seconds = 0, 0, 0.0
        self.histogram = np.zeros(len(EDGES) - 1, np.int64)

    def add(self, other: "DecisionTimes") -> None:
        """Add the times of other decisions of the same agent."""
        self.decisions += other.decisions
        self.turns += other.turns
        self.seconds += other.seconds
        self.histogram += other.histogram

    def add_turns(self, seconds: np.ndarray) -> None:
        """Add the times (k,) of complete turns; NaN for a turn that is not to count."""
        places = np.searchsorted(EDGES, seconds[~np.isnan(seconds)], side="right") - 1
        np.add.at(self.histogram, np.clip(places, 0, len(self.histogram) - 1), 1)

    @property
    def timing(self) -> Timing:
        """The sums as a `Timing`."""
        return Timing(self.decisions, self.turns, self.seconds, self._percentile(0.99))

    def _percentile(self, part: float) -> float | None:
        total = self.histogram.sum()
        if not total:
            return None
        below = np.concatenate([[0], np.cumsum(self.histogram)])
        place = int(np.searchsorted(below, part * total, side="left")) - 1
        inside = (part * total - below[place]) / self.histogram[place]
        return float(1000 * EDGES[place] * (EDGES[place + 1] / EDGES[place]) ** inside)
