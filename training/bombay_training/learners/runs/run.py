"""A training run: started, resumed, repeated update by update, evaluated, saved and stopped here, for every learner.

A learner subclasses `Run`. It defines its settings, how one update plays and learns, what a checkpoint holds, and the agent that
comes out; read `zero/run.py` next. The loop and the folder are the same for all learners, and so are the
clock (`clock.py`), what signals do (`stop.py`) and some settings (`settings.py`). A run can be killed at any time. When it is
resumed, it repeats the updates since its last checkpoint, and with a fixed number of updates it ends in the same weights bit for
bit. One process at a time uses a folder. `run_files.py` and `checkpoints.py` describe its files.
"""

import abc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self

import numpy as np

from bombay_agents import Agent
from bombay_agents.nets import tensor_files
from bombay_agents.nets.files import about_games
from bombay_env.checks import shown_path
from bombay_env.files import atomic
from bombay_training.learners.runs import checkpoints, periodic_eval, run_files
from bombay_training.learners.runs.clock import RunClock
from bombay_training.learners.runs.periodic_eval import PeriodicEvaluator
from bombay_training.learners.runs.run_files import AGAINST, AGENT, CHECKPOINT, METRICS, SETTINGS
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.runs.stop import Stop, stop_on_signal
from bombay_training.locks import BaseFileLock
from bombay_training.variants import games_for

EARLY: Final = 5.0  # seconds of learning; the second evaluation is due after 10 s, later ones at doubling times
SAVE_SECONDS: Final = 30.0  # between two checkpoints


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
    neutral_settings: ClassVar[tuple[str, ...]] = ("board", "rules")
    """Settings that may differ between a checkpoint and its run. The contents of these files are compared, not their paths."""
    distributions: ClassVar[tuple[str, ...]] = run_files.DISTRIBUTIONS
    """Packages whose versions `settings.json` records."""

    def __init__(self, settings: Any) -> None:
        self.settings = settings
        self.games = games_for(settings.players, settings.rules, settings.board)
        self.clock = RunClock(settings.minutes, settings.updates, settings.decisions)
        self.folder: Path | None = None
        self._lock: BaseFileLock | None = None

    # What a learner defines

    @abc.abstractmethod
    def update(self) -> dict[str, float]:
        """Play and learn once. Returns the metrics of the update; the base class adds its number, time and `totals`."""

    @abc.abstractmethod
    def totals(self) -> dict[str, float]:
        """What the run has learned from so far, such as its number of games, with `decisions` of all seats in them."""

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
    def restore(self, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """Take over what `counters` and `tensors` returned. Raises ValueError if it does not fit in another way."""

    @abc.abstractmethod
    def identity_parts(self) -> list[str]:
        """Digests of all that decides how the run continues beside settings and games, such as the features."""

    @abc.abstractmethod
    def smallest(self) -> Any:
        """Settings of the smallest run that calls every kernel of an update."""

    def initialize(self) -> None:  # noqa: B027 - optional
        """Read what a new run starts from, beside its settings. A run that is resumed has it in its checkpoint."""

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

    def create(self, folder: Path, replace: bool = True, compile: Callable[[], None] = lambda: None) -> None:
        """Create the folder of this run, from which it can be resumed, and hold it.

        Args:
            folder: the folder.
            replace: whether an older run there is removed; otherwise it is refused.
            compile: called when the run is known to be able to start, and before there is a folder.
        Raises:
            InUseError: another process uses the folder.
            ValueError: the folder holds a run that is not to be replaced, or what the run starts from cannot be read.
            OSError: a file cannot be written. Without `settings.json` nothing is left; with it the run can be resumed.
        """
        self.initialize()  # if one of these fails, there is no folder yet
        compile()
        self.identity()
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
            else:
                run.initialize()
            atomic.remove_leftovers(folder)
            run_files.truncate_metrics(folder / METRICS, run.clock.updates_done)
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
        # At doubling times, so that the early part of the curve has points; the first after the first update.
        evaluate_at = 2 * clock.elapsed if before else 0.0
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
        if clock.updates_done > before or not (folder / AGENT).exists():  # the files of a finished run stay as they are
            self.save(folder)

    def step(self) -> dict[str, float]:
        """One `update`, counted by the clock. Returns its line of `metrics.jsonl`."""
        figures = self.update()
        self.clock.updates_done += 1
        self.clock.decisions_done = int(self.totals()["decisions"])
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
        counters, tensors = checkpoints.read(path, self.checkpoint_format, self.identity(), self.tensors())
        with tensor_files.naming(path):
            self.restore(counters, tensors)
        self.clock.set(counters["elapsed"], counters["updates_done"])
        self.clock.decisions_done = int(self.totals()["decisions"])

    def identity(self) -> str:
        """Hex digits that name everything that decides how the run continues, apart from what it has learned."""
        return run_files.identity(self.settings, self.neutral_settings, about_games(self.games), *self.identity_parts())
