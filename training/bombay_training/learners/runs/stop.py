"""Ctrl-C and SIGTERM during a run: they are recorded, so that the run is saved before it ends."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stop:
    """The signal that asked the run to stop, if any."""

    signal: int | None = None


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """Record SIGINT and SIGTERM instead of dying from them; after the block the signal takes its usual course.

    A second SIGINT raises KeyboardInterrupt at once. Outside the main thread, where Python allows no handlers, nothing changes.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def record(number: int, frame: FrameType | None) -> None:
        if stop.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = number

    before = {number: signal.signal(number, record) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stop.signal == signal.SIGINT:
        raise KeyboardInterrupt  # even if the parent process had Ctrl-C ignored, as for background jobs
    if stop.signal is not None:
        signal.raise_signal(stop.signal)
