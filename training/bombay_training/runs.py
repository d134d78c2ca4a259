"""What every learner's run is: a folder with its settings, a clock, somebody who follows it, and a way to stop in good order.

Knows nothing of any learner: `td.py` and `ppo.py` are those.
"""

import dataclasses
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, Protocol

from bombay_agents.net_files import write_bytes

AGENT: Final = "agent.safetensors"
SETTINGS: Final = "settings.json"
METRICS: Final = "metrics.jsonl"
AGAINST: Final = "against_"  # and a spec: figures of quick matches, in the lines of some updates
SAVE_SECONDS: Final = 30.0  # between two writings of the weights
DISTRIBUTIONS: Final = ("bombay-env", "numpy", "numba", "gymnasium", "safetensors")


def win_shares(figures: Mapping[str, float]) -> dict[str, float]:
    """Those of the figures that are win shares of quick matches, by the spec of the others."""
    return {name.removeprefix(AGAINST): share for name, share in figures.items() if name.startswith(AGAINST)}


class Progress(Protocol):
    """Who wants to follow a run."""

    def update(self, fraction: float, metrics: Mapping[str, float]) -> None:
        """Called often with the part of the run that is over, 0 … 1, and the figures of the last whole update."""
        ...


class Silence:
    """A `Progress` that shows nothing."""

    def update(self, fraction: float, metrics: Mapping[str, float]) -> None:
        """Do nothing."""


class Clock:
    """How much of a run is over, in wall time or, where the run must repeat, in updates.

    Args:
        minutes: wall time of the run; not used if `updates` is given.
        updates: updates of the run.
    """

    def __init__(self, minutes: float, updates: int | None) -> None:
        self.seconds = minutes * 60
        self.updates = updates
        self.updates_done = 0
        self.start = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    @property
    def fraction(self) -> float:
        """0 at the start, 1 at the end."""
        done = self.elapsed / self.seconds if self.updates is None else self.updates_done / self.updates
        return min(done, 1.0)

    @property
    def remaining(self) -> float:
        """1 at the start, 0 at the end."""
        return 1.0 - self.fraction


class Stop:
    """Whether a signal asked the run to end."""

    signal: int | None = None


@contextmanager
def stop_on_signal() -> Iterator[Stop]:
    """Note SIGINT and SIGTERM instead of dying of them; after the block the signal takes its usual course.

    Outside the main thread, where Python allows no handlers, signals are left as they are.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        if stop.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.signal = number

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if stop.signal == signal.SIGINT:
        raise KeyboardInterrupt  # also where Ctrl-C is ignored by whoever started the process, as in the background
    if stop.signal is not None:
        signal.raise_signal(stop.signal)


def code_revision() -> str | None:
    """The commit of the working tree that holds this file, with `+changes` if it differs; None outside one."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        # An installed copy inside someone else's tree is not ours.
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def describe(settings: Any, distributions: Sequence[str]) -> dict[str, Any]:
    """What `settings.json` holds: the settings, a dataclass, and what they were used with."""
    return {
        "settings": dataclasses.asdict(settings),
        "seed": settings.seed,
        "versions": {"python": platform.python_version(), **{name: version_of(name) for name in distributions}},
        "revision": code_revision(),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def version_of(distribution: str) -> str | None:
    """The version that is installed, None if it is not."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file in one piece."""
    write_bytes(path, (json.dumps(value, indent=2) + "\n").encode())
