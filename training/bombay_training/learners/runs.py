"""What every learner's run is: a folder with its settings and checkpoint, a clock, somebody who follows it, and a way to stop in
good order and go on later as if nothing had happened.

Knows nothing of any learner: `td/run.py` and `ppo/run.py` are those.
"""

import contextlib
import dataclasses
import hashlib
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
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from bombay_agents import Agent
from bombay_agents.nets.files import write_bytes
from bombay_training.learners.periodic_eval import PeriodicEvaluator

Settings = TypeVar("Settings")

AGENT: Final = "agent.safetensors"
SETTINGS: Final = "settings.json"
METRICS: Final = "metrics.jsonl"
CHECKPOINT: Final = "checkpoint.safetensors"
COUNTS: Final = "one or more of 2, 3, 4, 5, each once"  # of players
COUNTERS: Final = "bombay_run"  # the key under which safetensors' own header holds a checkpoint's, as JSON
AGAINST: Final = "against_"  # and a spec: figures of quick matches, in the lines of some updates
EARLY: Final = 5.0  # seconds of learning
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


# --- Settings ---


def is_whole(value: Any, low: int, high: int | None = None) -> bool:
    """Whether a setting is an integer in a range, without an upper end if `high` is None."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value and (high is None or value <= high)


def are_counts(players: Sequence[Any]) -> bool:
    """Whether these are numbers of players (`COUNTS` in words)."""
    return all(is_whole(count, 2, 5) for count in players) and 0 < len(set(players)) == len(players)


# --- The folder ---


def describe(settings: Any, distributions: Sequence[str]) -> dict[str, Any]:
    """What `settings.json` holds: the settings, a dataclass, and what they were used with."""
    return {
        "learner": settings.learner,
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


def learner_of(folder: Path) -> str:
    """The learner of the run in a folder, as its settings name it.

    Raises:
        ValueError: there are none.
    """
    return str(_described(folder).get("learner", "td"))  # older runs do not say; all that could be resumed were TD


def read_settings(folder: Path, kind: type[Settings]) -> Settings:
    """The settings, of that kind, of the run in a folder.

    Raises:
        ValueError: there are none, or not such.
    """
    try:
        return kind(**_described(folder)["settings"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / SETTINGS} holds no settings of such a run: {error}") from None


def _described(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} holds no settings of a run: {error}") from None
    if not isinstance(described, dict):
        raise ValueError(f"{path} holds no settings of a run: it is no JSON object")
    return described


def keep_lines(path: Path, updates: int) -> None:
    """Leave the lines of the metrics that are whole and of updates that the checkpoint has."""
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if json.loads(line)["update"] <= updates:
                kept.append(line + "\n")
    write_bytes(path, "".join(kept).encode())


# --- Checkpoints ---


def identity(settings: Any, neutral: Sequence[str], *others: Any) -> str:
    """Hex digits that name all that decides how a run goes on, but for what has been learned.

    Args:
        settings: a dataclass.
        neutral: fields that decide nothing.
        others: JSON values that decide too.
    """
    decisive = {name: value for name, value in dataclasses.asdict(settings).items() if name not in neutral}
    return hashlib.sha256(json.dumps([decisive, *others], sort_keys=True).encode()).hexdigest()[:16]


def write_checkpoint(path: Path, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    """Write counters, JSON values, and tensors in one piece."""
    write_bytes(path, save(dict(tensors), metadata={COUNTERS: json.dumps(counters)}))


def read_checkpoint(path: Path, expected: Mapping[str, Any], what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The counters and the tensors in a file that `write_checkpoint` wrote.

    Args:
        path: the file.
        expected: counters that must be there and equal: those that tell whether it belongs to the run.
        what: the kind of run, for the error.
    Raises:
        ValueError: the file cannot be read, or it is of another run.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            counters = json.loads((file.metadata() or {}).get(COUNTERS, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a checkpoint: {error}") from None
    counters = counters if isinstance(counters, dict) else {}
    if any(counters.get(name) != value for name, value in expected.items()):
        raise ValueError(
            f"{path} is no checkpoint of a {what} run with the settings beside it, by this version's features"
        )
    return counters, tensors


# --- Running ---


class Run(Protocol):
    """A run under way, as a learner makes it."""

    settings: Any
    clock: Clock
    elapsed: float  # seconds of learning before the last start

    def update(self) -> dict[str, float]:
        """Play and learn once. Returns the line of `metrics.jsonl`."""
        ...

    def save(self, folder: Path) -> None:
        """Write agent and checkpoint, each in one piece."""
        ...

    def load(self, path: Path) -> None:
        """Go on from a checkpoint of a run with the same settings. Raises ValueError if it is not such."""
        ...

    def so_far(self) -> dict[str, float]:
        """How much has been learned from, for those who follow the run."""
        ...

    def player(self) -> Agent:
        """The agent so far, to be judged."""
        ...


def begin(run: Run, folder: Path, distributions: Sequence[str]) -> None:
    """Make the folder that of a new run, which can be resumed from here on."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (CHECKPOINT, AGENT, METRICS):  # of an older run
        (folder / name).unlink(missing_ok=True)
    write_json(folder / SETTINGS, describe(run.settings, distributions))
    run.clock.start = time.monotonic()  # nothing has been learned yet
    run.save(folder)


def find(run: Run, folder: Path) -> None:
    """Bring a run to where its last checkpoint in the folder left it; one stopped before its first begins anew.

    Raises:
        ValueError: the checkpoint is not of this run.
    """
    if (folder / CHECKPOINT).exists():
        run.load(folder / CHECKPOINT)
        run.clock.start = time.monotonic() - run.elapsed
    keep_lines(folder / METRICS, run.clock.updates_done)


def follow(run: Run, folder: Path, progress: Progress, stop: Stop, judge: PeriodicEvaluator | None = None) -> None:
    """Update until the clock or a signal says so; save now and then and at the end; on the way have `judge` judge the agent."""
    run.clock.start = last_save = time.monotonic()
    run.clock.start -= run.elapsed
    judge_at = 2 * run.elapsed  # seconds of learning: in short steps at first, when most is learned
    with (folder / METRICS).open("a", encoding="utf-8") as metrics:
        while stop.signal is None and run.clock.fraction < 1:
            figures = run.update()
            if judge is not None and (judge.due() or run.clock.elapsed >= judge_at or run.clock.fraction >= 1):
                figures |= quick_matches(run, judge)
                judge_at = 2 * max(run.clock.elapsed, EARLY)
            metrics.write(json.dumps(figures) + "\n")
            metrics.flush()
            progress.update(run.clock.fraction, figures)
            if time.monotonic() - last_save > SAVE_SECONDS:
                run.save(folder)
                last_save = time.monotonic()
    run.save(folder)


def quick_matches(run: Run, judge: PeriodicEvaluator) -> dict[str, float]:
    """What the agent so far comes to, as figures of the update; the clock of learning stands still meanwhile."""
    start = time.monotonic()
    shares = judge.judge(run.player())
    run.clock.start += time.monotonic() - start
    return {AGAINST + spec: share for spec, share in shares.items()}
