"""A training run: started, resumed, repeated update by update, evaluated, saved and stopped here, for every learner.

A learner subclasses `Run`. It defines its settings, how one update plays and learns, what a checkpoint holds, and the agent that
comes out; `zero/run.py` is the example to read next. The loop, the clock, signals and the folder are the same for all learners. A
run can be killed at any time. When it is resumed, it repeats the updates since its last checkpoint, and with a fixed number of
updates it ends in the same weights bit for bit. One process at a time uses a folder. `run_files.py` and `checkpoints.py` describe
its files.
"""

import abc
import dataclasses
import numbers
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Final, Protocol, Self

import numba
import numpy as np

from bombay_agents import Agent
from bombay_agents.nets.files import about_games
from bombay_env import Board, Game, Rules
from bombay_env.checks import MAX_COUNT, is_whole_number, shown, shown_path, whole_number
from bombay_env.files import atomic, json_form
from bombay_env.rules import MAX_PLAYERS
from bombay_training.learners import checkpoints, periodic_eval, run_files
from bombay_training.learners.checkpoints import CheckpointForm
from bombay_training.learners.periodic_eval import PeriodicEvaluator
from bombay_training.learners.run_files import AGAINST, AGENT, CHECKPOINT, METRICS, SETTINGS
from bombay_training.locks import BaseFileLock

EARLY: Final = (
    5.0  # seconds of learning; the first evaluation follows the first update, the second is due after twice as many
)
SAVE_SECONDS: Final = 30.0  # between two checkpoints
MAX_SEED: Final = 2**63 - 1
MAX_MINUTES: Final = 10_000_000
MAX_UPDATES: Final = 1_000_000_000
MAX_SECONDS: Final = 1e10  # of learning that a checkpoint may have
MAX_THREADS: Final = 1_000_000  # more than any machine has; those it has are used
# Limits of settings that every learner has use for: beyond them a run takes more memory or time than any machine has.
MAX_GAMES: Final = 16_384  # of an update; some 70 kB each
MAX_BATCH: Final = 1_000_000  # positions per step of an optimizer, and passes over them
MAX_WEIGHT: Final = 1_000_000  # of a term in a loss


class Progress:
    """Follows a run. This one ignores everything; subclasses show what they are told."""

    def phase(self, name: str) -> None:
        """Called when the run enters another phase: `compiling`, then `learning`."""

    def update(self, fraction: float, metrics: Mapping[str, float]) -> None:
        """Called before the first update and after each one.

        Args:
            fraction: completed part of the run, 0 to 1.
            metrics: those of the last update; before the first of a resumed run only its totals, empty in a new run.
        """


# --- Settings ---


def require(settings: Any, *names: str, holds: Callable[[Any], bool], allowed: str) -> None:
    """Raise ValueError, naming the field, its value and what is allowed, unless these fields satisfy a condition."""
    for name in names:
        value = getattr(settings, name)
        try:
            fits = holds(value)
        except TypeError:  # such as a string that is compared with a number
            fits = False
        if not fits:
            raise ValueError(f"{name} is {shown(value)}; it must be {allowed}")


def require_whole(settings: Any, *names: str, low: int, high: int | None = None) -> None:
    """Raise ValueError, naming the field, unless these fields are whole numbers from `low` to `high`; they become ints."""
    for name in names:
        object.__setattr__(settings, name, whole_number(getattr(settings, name), name, low, high))


def require_number(settings: Any, *names: str, low: float, high: float, above: bool = False) -> None:
    """Raise ValueError, naming the field, unless these fields are numbers from `low`, or above it, to `high`.

    They become ints or floats.
    """

    def holds(value: Any) -> bool:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return number and bool(low < value if above else low <= value) and bool(value <= high)

    allowed = f"above {low:g}, at most {high:g}" if above else f"from {low:g} to {high:g}"
    require(settings, *names, holds=holds, allowed=allowed)
    for name in names:
        if not isinstance(getattr(settings, name), int | float):  # such as a NumPy scalar, which JSON has no form for
            object.__setattr__(settings, name, float(getattr(settings, name)))


def require_fraction(settings: Any, *names: str) -> None:
    """Raise ValueError, naming the field, unless these fields are numbers from 0 to 1."""
    require_number(settings, *names, low=0, high=1)


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """Settings that all learners share. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str]
    """The learner's name in `settings.json` and on the command line."""
    max_seed: ClassVar[int] = MAX_SEED

    minutes: float = 3.0
    """Wall time of learning; ignored if `updates` is given."""
    updates: int | None = None
    """Number of updates."""
    players: tuple[int, ...] = (2, 3, 4, 5)
    """Player counts. Games are divided evenly among them."""
    board: str | None = None
    """Path of a board file; None for the packaged board."""
    seed: int = 0
    """Seed of all chance in the run: deals, initial weights, exploration."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        self._as_tuples("players")
        require_number(self, "minutes", low=0, high=MAX_MINUTES, above=True)
        if self.updates is not None:
            require_whole(self, "updates", low=1, high=MAX_UPDATES)
        require(self, "players", holds=_are_player_counts, allowed="one or more of 2, 3, 4, 5, each once")
        self._as_tuples("players", of=int)
        require(self, "board", holds=lambda path: path is None or isinstance(path, str), allowed="a path, or null")
        require_whole(self, "seed", low=0, high=self.max_seed)

    def _as_tuples(self, *names: str, of: type | None = None) -> None:
        """Replace sequences, such as JSON's lists, by tuples, their values converted to a type if one is given."""
        for name in names:
            values = getattr(self, name)
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                raise ValueError(f"{name} is {shown(values)}; it must be a list")
            object.__setattr__(self, name, tuple(values) if of is None else tuple(of(value) for value in values))


def _are_player_counts(values: tuple[Any, ...]) -> bool:
    return all(is_whole_number(value, 2, MAX_PLAYERS) for value in values) and 0 < len(set(values)) == len(values)


# --- The clock ---


class RunClock:
    """A stopwatch of learning time. It also tells how much of the run is done, by time or by number of updates.

    Args:
        minutes: wall time of the run; ignored if `updates` is given.
        updates: number of updates.
    """

    def __init__(self, minutes: float, updates: int | None) -> None:
        self.seconds = minutes * 60
        self.updates = updates
        self.updates_done = 0
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
        done = self.elapsed / self.seconds if self.updates is None else self.updates_done / self.updates
        return min(done, 1.0)

    @property
    def remaining(self) -> float:
        """Remaining part of the run, 1 to 0."""
        return 1.0 - self.fraction


# --- Signals ---


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


# --- Threads ---


@contextmanager
def numba_threads(count: int) -> Iterator[None]:
    """Let Numba use `count` threads during the block, but no more than it has; 0 for all."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count or numba.config.NUMBA_NUM_THREADS, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)


# --- The run ---


class SavedNet(Protocol):
    """A net that can be written to a file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the net atomically."""
        ...


class Run(abc.ABC):
    """A training run. A learner defines the abstract methods; the rest is the same for all learners.

    Args:
        settings: everything that decides the run.
    Raises:
        ValueError: the board file is not valid.

    Attributes:
        settings: as given.
        games: one `Game` for each player count.
        clock: learning time and number of updates so far.
        folder: the folder that the run holds, from `create` or `open` to the end of `loop`, or None. While it does, no other run
            can be created or opened there.
    """

    settings_class: ClassVar[type[RunSettings]]
    checkpoint_format: ClassVar[str]
    neutral_settings: ClassVar[tuple[str, ...]] = ("board",)
    """Settings that may differ between a checkpoint and its run. The board's contents are compared, not its path."""
    distributions: ClassVar[tuple[str, ...]] = run_files.DISTRIBUTIONS
    """Packages whose versions `settings.json` records."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        board = Board.load(settings.board)
        self.games = [Game(Rules.official(players), board) for players in settings.players]
        self.clock = RunClock(settings.minutes, settings.updates)
        self.folder: Path | None = None
        self._lock: BaseFileLock | None = None

    # What a learner defines

    @abc.abstractmethod
    def update(self) -> dict[str, float]:
        """Play and learn once. Returns the metrics of the update; the base class adds its number, time and `totals`."""

    @abc.abstractmethod
    def totals(self) -> dict[str, float]:
        """What the run has learned from so far, such as its number of positions and games."""

    @abc.abstractmethod
    def net(self) -> SavedNet:
        """The net to play with, as trained so far."""

    @abc.abstractmethod
    def player(self) -> Agent:
        """The agent that plays with `net`, for the periodic evaluation."""

    @abc.abstractmethod
    def tensors(self) -> dict[str, np.ndarray]:
        """All arrays that a checkpoint needs."""

    def counters(self) -> dict[str, Any]:
        """All JSON values that a checkpoint needs, besides the clock's."""
        return {}

    @abc.abstractmethod
    def checkpoint_form(self) -> CheckpointForm:
        """What `counters` and `tensors` must be; only what has this form is restored."""

    @abc.abstractmethod
    def restore(self, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """Take over what `counters` and `tensors` returned. Raises ValueError if it does not fit in another way."""

    @abc.abstractmethod
    def identity_parts(self) -> list[str]:
        """Digests of all that decides how the run continues beside settings and games, such as the features."""

    @abc.abstractmethod
    def smallest(self) -> Any:
        """Settings of the smallest run that calls every kernel of an update."""

    def references(self) -> tuple[str, ...]:
        """Specs of the agents that the periodic evaluation plays against."""
        return periodic_eval.REFERENCES

    @contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Hold what the learner needs while the run updates, such as threads or a log file."""
        yield

    def log(self, line: Mapping[str, float]) -> None:  # noqa: B027 - optional
        """Called after each update with its line of `metrics.jsonl`, for further logs."""

    # What is the same for all learners

    def start(self, out: str | os.PathLike[str], progress: Progress | None = None, replace: bool = True) -> Path:
        """Run from the beginning to the end in the folder `out`; see `create` and `loop`. Returns the path of the agent."""
        self.create(Path(out), replace)
        return self.loop(out, progress)

    def create(self, folder: Path, replace: bool = True) -> None:
        """Create the folder of this run, from which it can be resumed, and hold it.

        Args:
            folder: the folder.
            replace: whether an older run there is removed; otherwise it is refused.
        Raises:
            InUseError: another process uses the folder.
            ValueError: the folder holds a run that is not to be replaced.
            OSError: a file cannot be written. Without `settings.json` nothing is left; with it the run can be resumed.
        """
        self.identity()  # if this fails, there is no folder yet
        folder.mkdir(parents=True, exist_ok=True)
        self._hold(folder, run_files.lock(folder))
        try:
            if not replace and (folder / SETTINGS).exists():
                raise ValueError(f"{shown_path(folder)} holds a run already; name a new folder")
            atomic.remove_leftovers(folder)
            for pattern in run_files.RESULTS:
                for path in folder.glob(pattern):
                    path.unlink()
            run_files.write_json(folder / SETTINGS, run_files.describe(self.settings, self.distributions))
            self.save(folder)
        except BaseException:
            if run_files.is_unused(folder):
                run_files.remove_unused(folder)
            self.close()
            raise

    @classmethod
    def open(cls, out: str | os.PathLike[str]) -> Self:
        """The run in the folder `out` as its last checkpoint left it, or at its start if it has none; `loop` resumes it.

        The run holds the folder until its loop ends; call `close` on a run that will not be resumed.

        Raises:
            InUseError: another process uses the folder.
            OSError: the folder cannot be written to.
            ValueError: the folder holds no run of this learner, or its checkpoint is damaged or belongs to another run.
        """
        folder = Path(out)
        settings = run_files.read_settings(folder, cls.settings_class)  # first: a lock is put into no other folder
        lock = run_files.lock(folder)
        try:
            run = cls(settings)
            if (folder / CHECKPOINT).exists():
                run.load(folder / CHECKPOINT)
            atomic.remove_leftovers(folder)
            run_files.truncate_metrics(folder / METRICS, run.clock.updates_done)
        except MemoryError:
            lock.release()
            raise ValueError(f"there is not enough memory for the run in {shown_path(folder)}") from None
        except BaseException:
            lock.release()
            raise
        run._hold(folder, lock)
        return run

    def _hold(self, folder: Path, lock: BaseFileLock) -> None:
        self.close()
        self.folder, self._lock = folder, lock

    def close(self) -> None:
        """Let others use the folder; `loop` does so at its end."""
        if self._lock is not None:
            self._lock.release()
        self.folder = self._lock = None

    def loop(self, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
        """Update until the run is complete. Metrics are written after each update, checkpoints every half minute and at the end.

        SIGINT (Ctrl-C) and SIGTERM stop the run after the current update: it is saved, then the signal takes its usual course. A
        second Ctrl-C does not wait. Before the first update, while kernels compile, signals act at once: nothing is lost.

        Args:
            out: the folder, from `create` or `open`.
            progress: who follows the run.
        Returns:
            The path of `agent.safetensors`.
        Raises:
            KeyboardInterrupt: after saving, on Ctrl-C.
            AgentFault: the agent or a reference of the periodic evaluation failed.
            InUseError: another process uses the folder.
            OSError: a file cannot be written, as on a full disk. The last checkpoint stays, and the run can be resumed.
        """
        folder, progress = Path(out), progress or Progress()
        if self._lock is None:
            self._hold(folder, run_files.lock(folder))
        try:
            evaluator = PeriodicEvaluator(self.games, self.references())
            progress.update(self.clock.fraction, self._resumed_metrics())
            if self.clock.fraction < 1:
                progress.phase("compiling")
                self.warm_up()
                evaluator.warm_up(self.player())
                progress.phase("learning")
            with stop_on_signal() as stop, self.session(folder), self.clock.running():
                self._update_until(stop, folder, evaluator, progress)
        finally:
            self.close()
        return folder / AGENT

    def warm_up(self) -> None:
        """Compile the kernels of an update, on a throwaway run."""
        type(self)(self.smallest()).update()

    def _update_until(self, stop: Stop, folder: Path, evaluator: PeriodicEvaluator, progress: Progress) -> None:
        """The loop itself: update, evaluate, log and save until the run is complete or a signal arrives."""
        clock, last_save = self.clock, time.monotonic()
        before = clock.updates_done
        evaluate_at = 2 * clock.elapsed  # at doubling times, so that the early part of the curve has points
        while stop.signal is None and clock.fraction < 1:
            line = self.step()
            if evaluator.due() or clock.elapsed >= evaluate_at or clock.fraction >= 1:
                line |= self._evaluate(evaluator)
                evaluate_at = 2 * max(clock.elapsed, EARLY)
            atomic.append_line(folder / METRICS, run_files.metrics_line(line))
            self.log(line)
            progress.update(clock.fraction, line)
            if time.monotonic() - last_save > SAVE_SECONDS:
                self.save(folder)
                last_save = time.monotonic()
        if clock.updates_done > before:  # the files of a finished run stay as they are
            self.save(folder)

    def step(self) -> dict[str, float]:
        """One `update`, counted by the clock. Returns its line of `metrics.jsonl`."""
        figures = self.update()
        self.clock.updates_done += 1
        return {
            "update": self.clock.updates_done,
            **self.totals(),
            "seconds": round(self.clock.elapsed, 3),
            **figures,
        }

    def _evaluate(self, evaluator: PeriodicEvaluator) -> dict[str, float]:
        """Win shares of the agent so far, as metrics. Learning time does not pass meanwhile."""
        with self.clock.paused():
            shares = evaluator.evaluate(self.player())
        return {AGAINST + spec: share for spec, share in shares.items()}

    def _resumed_metrics(self) -> dict[str, float]:
        return {**self.totals(), "seconds": self.clock.elapsed} if self.clock.updates_done else {}

    def save(self, folder: Path) -> None:
        """Write agent and checkpoint, each atomically."""
        self.net().save(folder / AGENT)
        clock = {"updates_done": self.clock.updates_done, "elapsed": self.clock.elapsed}
        checkpoints.write(
            folder / CHECKPOINT, self.checkpoint_format, self.identity(), {**clock, **self.counters()}, self.tensors()
        )

    def load(self, path: Path) -> None:
        """Continue from a checkpoint of a run with the same settings.

        Raises:
            ValueError: the file cannot be read, is damaged, or belongs to another run.
        """
        form = self.checkpoint_form()
        clock = {
            "updates_done": json_form.whole(0, self.settings.updates or MAX_COUNT),
            "elapsed": json_form.number(0, MAX_SECONDS),
        }
        form = CheckpointForm({**clock, **form.counters}, form.tensors)
        counters, tensors = checkpoints.read(path, self.checkpoint_format, self.identity(), form)
        try:
            self.restore(counters, tensors)
        except ValueError as error:
            raise ValueError(f"{shown_path(path)}: {error}") from None
        self.clock.set(counters["elapsed"], counters["updates_done"])

    def identity(self) -> str:
        """Hex digits that name everything that decides how the run continues, apart from what it has learned."""
        return run_files.identity(self.settings, self.neutral_settings, about_games(self.games), *self.identity_parts())
