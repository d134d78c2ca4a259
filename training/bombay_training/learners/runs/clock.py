"""How much of a run is done: by time of learning, which stands still during evaluations, by updates, or by decisions in games."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class RunClock:
    """A stopwatch of learning time. It also tells how much of the run is done, by time, updates or decisions.

    Args:
        minutes: wall time of the run; ignored if one of the others is given.
        updates: number of updates.
        decisions: of all seats in the games played; the run ends with the update that reaches their number.
    """

    def __init__(self, minutes: float, updates: int | None, decisions: int | None) -> None:
        self.seconds, self.updates, self.decisions = minutes * 60, updates, decisions
        self.updates_done = self.decisions_done = 0
        self._before = 0.0  # seconds of learning until the last start
        self._started: float | None = None  # None while the stopwatch is stopped

    def set(self, elapsed: float, updates_done: int) -> None:
        """Set a stopped clock to what a checkpoint says."""
        self._before, self.updates_done = elapsed, updates_done

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the stopwatch during the block."""
        self._started = time.monotonic()
        try:
            yield
        finally:
            self._before, self._started = self.elapsed, None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the running stopwatch during the block."""
        self._before, self._started = self.elapsed, None
        try:
            yield
        finally:
            self._started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds of learning."""
        return self._before + (0.0 if self._started is None else time.monotonic() - self._started)

    @property
    def fraction(self) -> float:
        """Completed part of the run, 0 to 1."""
        if self.decisions is not None:
            return min(self.decisions_done / self.decisions, 1.0)
        done = self.elapsed / self.seconds if self.updates is None else self.updates_done / self.updates
        return min(done, 1.0)
