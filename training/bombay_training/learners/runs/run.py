"""A training run: started, resumed, repeated update by update, evaluated, saved and stopped here, for every learner.

A learner subclasses `Run`. It defines how an update plays and learns, what a checkpoint holds, and the agent that comes out; read
`zero/run.py` next. The folder and the loop are the same for all learners. A run can be killed at any time. When it is resumed, it
repeats the updates since its last checkpoint, and with a fixed number of updates it ends in the same weights bit for bit. One
process at a time uses a folder. `run_files.py` describes its files, `settings.py` the settings that all learners share.
"""

import abc
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Final, Protocol, Self

import numpy as np

from bombay_agents import Agent
from bombay_agents.nets import files
from bombay_env import Game
from bombay_env.checks import form, shown, shown_path
from bombay_env.files import atomic
from bombay_training import locks
from bombay_training.evaluation import arena
from bombay_training.learners.runs import run_files
from bombay_training.learners.runs.run_files import AGAINST, AGENT, CHECKPOINT, CHECKPOINT_KEY, LOCK, METRICS, SETTINGS
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.matches.match import Match
from bombay_training.variants import games_for

SAVE_SECONDS: Final = 30.0  # between two checkpoints
# Quick matches show a run's progress and are no precise measurement. They share no chance with the learner and do not change it.
REFERENCES: Final = ("greedy", "planner-v1")
BLOCKS: Final = 32  # deals against each reference, the same each time, divided evenly among the games
DEALS: Final = 2**63 + 5  # seed of the deals, unlikely to be used in the arena
TIME_SHARE: Final = 0.04  # of a run's time that they may take
EARLY: Final = 5.0  # seconds of learning; the second time is after 10 s, later ones at doubling times, if not before


class Progress:
    """Follows a run. This one ignores everything; subclasses show what they are told."""

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
        updates_done: number of updates so far.
        elapsed: seconds that they took. In the first update of a process kernels are compiled or loaded, so the second one counts
            twice instead.
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
        self.updates_done, self.elapsed = 0, 0.0
        self.folder: Path | None = None
        self._lock: locks.BaseFileLock | None = None
        self._updates_here = 0  # in this process

    # What a learner defines

    @abc.abstractmethod
    def update(self, done: float) -> dict[str, float]:
        """Play and learn once, when the fraction `done` of the run is over. Returns the metrics of the update alone."""

    @abc.abstractmethod
    def totals(self) -> dict[str, float]:
        """What the run has learned from so far, such as its number of games, with `decisions` of all seats in them."""

    @abc.abstractmethod
    def net(self) -> SavedNet:
        """The net to play with, as trained so far."""

    @abc.abstractmethod
    def player(self) -> Agent:
        """The agent that plays with `net` in the quick matches."""

    @abc.abstractmethod
    def tensors(self) -> dict[str, np.ndarray]:
        """All arrays that a checkpoint needs, as views of the run's own memory: `load` overwrites it."""

    def counters(self) -> dict[str, Any]:
        """All JSON values that a checkpoint needs, besides the number of updates and their time."""
        return {}

    def restore(self, counters: Mapping[str, Any]) -> None:  # noqa: B027 - optional
        """Take over what `counters` returned; `tensors` has been overwritten. Raises ValueError if it does not fit otherwise."""

    @abc.abstractmethod
    def identity_parts(self) -> list[str]:
        """Digests of all that decides how the run continues beside settings and games, such as the features."""

    def initialize(self) -> None:  # noqa: B027 - optional
        """Read what a new run starts from, beside its settings. A run that is resumed has it in its checkpoint."""

    def references(self) -> tuple[str, ...]:
        """Specs of the agents that the quick matches are against."""
        return REFERENCES

    @contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Hold what the learner needs while the run updates, such as threads or a log file."""
        yield

    def log(self, line: Mapping[str, float]) -> None:  # noqa: B027 - optional
        """Called after each update with its line of `metrics.jsonl`, for further logs."""

    # What is the same for all learners: the folder

    def create(
        self, out: str | os.PathLike[str], replace: bool = True, compile: Callable[[], None] = lambda: None
    ) -> None:
        """Create the folder of this run, from which it can be resumed, and hold it.

        Args:
            out: the folder.
            replace: whether an older run there is removed; otherwise it is refused.
            compile: called when the run is known to be able to start, and before there is a folder.
        Raises:
            InUseError: another process uses the folder.
            ValueError: the folder holds a run that is not to be replaced, or what the run starts from cannot be read.
            OSError: a file cannot be written. Without `settings.json` nothing is left; with it the run can be resumed.
        """
        folder = Path(out)
        self.initialize()  # if one of these fails, there is no folder yet
        compile()
        _ = self.identity  # a best response plays its victim for it
        folder.mkdir(parents=True, exist_ok=True)
        self._hold(folder)
        try:
            if not replace and (folder / SETTINGS).exists():
                raise ValueError(f"{shown_path(folder)} holds a run already; name a new folder")
            atomic.remove_leftovers(folder)
            for path in (path for pattern in run_files.RESULTS for path in folder.glob(pattern)):
                path.unlink()
            run_files.write_json(folder / SETTINGS, run_files.describe(self.settings, self.distributions))
            self.save()
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
        run = cls(run_files.read_settings(folder, cls.settings_class))  # first: a lock is put into no other folder
        run._hold(folder)
        try:
            if (folder / CHECKPOINT).exists():
                run.load(folder / CHECKPOINT)
            else:
                run.initialize()
            atomic.remove_leftovers(folder)
            run_files.truncate_metrics(folder / METRICS, run.updates_done)
        except BaseException:
            run.close()
            raise
        return run

    def _hold(self, folder: Path) -> None:
        self._lock, self.folder = locks.take(folder / LOCK, folder), folder

    def close(self) -> None:
        """Let others use the folder; `loop` does so at its end."""
        if self._lock is not None:
            self._lock.release()
        self.folder = self._lock = None

    def save(self) -> None:
        """Write agent and checkpoint, each atomically; an old one is unchanged if that fails. Raises OSError."""
        folder = self._held()
        self.net().save(folder / AGENT)
        header = {"format": self.checkpoint_format, "identity": self.identity}
        clock = {"updates_done": self.updates_done, "elapsed": self.elapsed}
        files.write(folder / CHECKPOINT, CHECKPOINT_KEY, header | clock | self.counters(), self.tensors())

    def load(self, path: Path) -> None:
        """Continue from a checkpoint of a run with the same settings.

        Raises:
            ValueError: the file cannot be read, is damaged, or belongs to another run; one line that names it.
        """
        try:
            counters, tensors = files.read(path, CHECKPOINT_KEY, self.checkpoint_format)
        except OSError as error:
            raise ValueError(f"{shown_path(path)} cannot be read as a checkpoint: {error.strerror}") from None
        with files.naming(path):
            if counters.get("identity") != self.identity:
                raise ValueError(
                    "it belongs to another run: settings.json beside it, the board, the start or the version of bombay_env "
                    "has changed since it was written. Restore them, or start a new run"
                )
            memory = self.tensors()
            for name in sorted({*memory, *tensors}):  # NumPy would broadcast a tensor of shape (1,) over all weights
                found, wanted = (form(held[name]) if name in held else "missing" for held in (tensors, memory))
                if found != wanted:
                    raise ValueError(f"tensor {shown(name)} is {found}; it must be {wanted}")
            for name, tensor in tensors.items():
                memory[name][...] = tensor
            self.restore(counters)
        self.updates_done, self.elapsed = counters["updates_done"], counters["elapsed"]

    @functools.cached_property
    def identity(self) -> str:
        """Hex digits that name everything that decides how the run continues, apart from what it has learned."""
        return run_files.identity(
            self.settings, self.neutral_settings, files.about_games(self.games), *self.identity_parts()
        )

    def _held(self) -> Path:
        assert self.folder is not None, "`create` or `open` comes first"
        return self.folder

    # The loop

    def loop(self, progress: Progress | None = None) -> Path:
        """Update until the run is complete. Metrics are written after each update, checkpoints every half minute and at the end.

        SIGINT (Ctrl-C) and SIGTERM stop the run after the current update: it is saved, then the signal takes its usual course. A
        second Ctrl-C does not wait. In the first update, while kernels compile, signals act at once: nothing is lost.

        Args:
            progress: who follows the run.
        Returns:
            The path of `agent.safetensors`.
        Raises:
            KeyboardInterrupt: after saving, on Ctrl-C.
            AgentFault: the agent or one of its references failed in a quick match.
            OSError: a file cannot be written, as on a full disk. The last checkpoint stays, and the run can be resumed.
        """
        folder, progress = self._held(), progress or Progress()
        try:
            progress.update(self.fraction, {**self.totals(), "seconds": self.elapsed} if self.updates_done else {})
            if self.fraction < 1:
                with self.session(folder):
                    self._update_until_complete(folder, progress)
            elif not (folder / AGENT).exists():  # otherwise the files of a finished run stay as they are
                self.save()
        finally:
            self.close()
        return folder / AGENT

    def _update_until_complete(self, folder: Path, progress: Progress) -> None:
        evaluate_at, saved_at = 0.0, time.monotonic()
        line = self.step()
        with recorded_signals() as signals:
            while line:
                if self.elapsed >= evaluate_at or self.fraction >= 1:
                    start = time.monotonic()
                    line |= quick_matches(self.player(), self.games, self.references())
                    took = time.monotonic() - start
                    evaluate_at = min(2 * max(self.elapsed, EARLY), self.elapsed + took / TIME_SHARE)
                atomic.append_line(folder / METRICS, run_files.metrics_line(line))
                self.log(line)
                progress.update(self.fraction, line)
                if time.monotonic() - saved_at > SAVE_SECONDS:
                    self.save()
                    saved_at = time.monotonic()
                line = {} if signals or self.fraction >= 1 else self.step()
            self.save()

    @property
    def fraction(self) -> float:
        """Completed part of the run, 0 to 1: by decisions, updates or minutes."""
        settings = self.settings
        done: float
        if settings.decisions is not None:
            done = self.totals()["decisions"] / settings.decisions
        elif settings.updates is not None:
            done = self.updates_done / settings.updates
        else:
            done = self.elapsed / (60 * settings.minutes)
        return min(done, 1.0)

    def step(self) -> dict[str, float]:
        """One `update`, which is counted and timed. Returns its line of `metrics.jsonl`."""
        start = time.monotonic()
        figures = self.update(self.fraction)
        took = time.monotonic() - start
        if self._updates_here:  # the second update of a process also stands for its first
            self.elapsed += 2 * took if self._updates_here == 1 else took
        self.updates_done, self._updates_here = self.updates_done + 1, self._updates_here + 1
        return {"update": self.updates_done, **self.totals(), "seconds": round(self.elapsed, 3), **figures}


def quick_matches(player: Agent | str, games: Sequence[Game], references: Sequence[str]) -> dict[str, float]:
    """The player's win share against copies of each reference, as metrics: the mean over the games. Par is the mean of 1/n.

    Raises:
        AgentFault: the player or a reference failed. Its lost games would look like a result.
    """
    blocks, shares = max(1, round(BLOCKS / len(games))), {}
    for spec in references:
        matches = [without_faults(arena.one_vs_rest(game, player, spec, blocks, DEALS)) for game in games]
        shares[AGAINST + spec] = float(np.mean([match.of_agent(match.win_share).mean() for match in matches]))
    return shares


def without_faults(match: Match) -> Match:
    """The match. Raises AgentFault if a game was lost by a fault."""
    if match.faults:
        raise match.faults[0].as_error(match.game.num_players)
    return match


@contextmanager
def recorded_signals() -> Iterator[list[int]]:
    """Record SIGINT and SIGTERM in a list instead of dying from them; after the block the last one takes its usual course.

    A second SIGINT raises KeyboardInterrupt at once. Outside the main thread, where Python allows no handlers, nothing changes.
    """
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return

    def record(number: int, frame: FrameType | None) -> None:
        if signals and number == signal.SIGINT:
            raise KeyboardInterrupt
        signals.append(number)

    before = {number: signal.signal(number, record) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if signals and signals[-1] == signal.SIGINT:
        raise KeyboardInterrupt  # even if the parent process had Ctrl-C ignored, as for background jobs
    if signals:
        signal.raise_signal(signals[-1])
