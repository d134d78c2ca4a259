"""Plays chunks in this process, or in a pool of processes that stops agents which do not answer.

Processes are spawned, never forked, and make their agents from specs. The result of a chunk depends on the chunk alone, so the
number of processes and their order change no result. Code that never returns can only be stopped from outside: with a time limit,
a worker reports each call of an agent, and a worker whose call takes too long is killed and replaced. The chunk of a worker that
ended is played again with the same key, because something else may have ended it. If it ends every time, or if a call took too
long, the chunk is played game by game, which finds the games to blame and spares the others. How a chunk is played is in
`matches/play.py`.
"""

import contextlib
import dataclasses
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Final

import numpy as np

from bombay_agents import make
from bombay_env.agent import Agent, describe_error
from bombay_training.matches.cells import Cell, Chunk
from bombay_training.matches.play import play, unanswered
from bombay_training.matches.table import Table

SPAWN: Final = multiprocessing.get_context("spawn")
ONE_THREAD: Final = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
FIRST_CALL_SECONDS: Final = (
    60.0  # extra time for a first call in a process, which may compile code; halved after each timeout
)
REPORT_SECONDS: Final = 0.2  # between two reports of progress
ATTEMPTS: Final = 3  # processes that may end before the games of their chunk are to blame
MAX_TURN_LIMIT: Final = 86_400.0  # seconds
MAX_WAIT: Final = 86_400.0  # seconds; a call in many games may take longer, but no operating system waits for a month


Job = tuple[Cell, Chunk]


class Here:
    """Plays chunks in this process, with any agents."""

    count = 1

    def __init__(self) -> None:
        self.cell: Cell | None = None
        self.agents: Sequence[Agent] = ()
        self.warm: set[int] = set()

    def play(self, jobs: Iterable[Job], progress: Callable[[float], None]) -> Iterator[tuple[Cell, Table]]:
        """As `WorkerPool.play`, in order."""
        for cell, chunk in jobs:
            if cell is not self.cell:
                self.cell, self.warm = cell, set()
                self.agents = [make(player) if isinstance(player, str) else player for player in cell.players]
            yield cell, play(cell, chunk, self.agents, self.warm, _ProgressListener(cell.turns, progress))


class _ProgressListener:
    """Reports the progress of games in this process."""

    def __init__(self, turns: int, report: Callable[[float], None]) -> None:
        self.turns, self.report = turns, report

    def before_call(self, agent: int, num_games: int, first: bool) -> None:
        pass

    def after_call(self) -> None:
        pass

    def after_step(self, actions: np.ndarray, turns: int) -> None:
        if turns:
            self.report(turns / self.turns)


class WorkerPool:
    """Processes that play chunks, reused from one match to the next. Use it in a `with`, which ends them in every case.

    A program that uses a pool must guard its main part by `if __name__ == "__main__":`, as with `multiprocessing`.

    Args:
        processes: how many; one per core that this process may use unless given.
        turn_limit: seconds that a call of an agent may take for each of its games, up to `MAX_TURN_LIMIT`; None for no limit. The
            first call in a process may take a minute more.
    """

    def __init__(self, processes: int | None = None, turn_limit: float | None = None) -> None:
        count = num_cores() if processes is None else processes
        if count < 1:
            raise ValueError(f"processes is {count}; it must be at least 1")
        if turn_limit is not None and not 0 < turn_limit <= MAX_TURN_LIMIT:
            raise ValueError(
                f"turn_limit is {turn_limit}; it must be a number of seconds above 0 and at most {MAX_TURN_LIMIT:g}"
            )
        self.count, self.turn_limit = count, turn_limit
        self.running: list[_Worker] = []

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.running:
            worker.end()
        self.running = []

    def play(self, jobs: Iterable[Job], progress: Callable[[float], None]) -> Iterator[tuple[Cell, Table]]:
        """Play chunks; their results in any order.

        Args:
            jobs: cells whose agents are specs, and their chunks.
            progress: called with the number of games played since the last call, in fractions as turns end.

        Raises:
            RuntimeError: a process could not start, or it ended while no agent was being called.
        """
        grace: dict[str, list[float]] = {}
        queue = deque(
            _Task(cell, dataclasses.replace(chunk, report_calls=self.turn_limit is not None), grace)
            for cell, chunk in jobs
        )
        try:
            yield from self._play(queue, progress)
        finally:  # so that no later match receives what they send
            for worker in [worker for worker in self.running if worker.task]:
                self.running.remove(worker)
                worker.end()

    def _play(self, queue: "deque[_Task]", progress: Callable[[float], None]) -> Iterator[tuple[Cell, Table]]:
        while queue or any(worker.task for worker in self.running):
            self._start_workers(queue)
            busy = [worker for worker in self.running if worker.task]
            ready = wait([worker.pipe for worker in busy], _seconds_left(busy))
            for worker in busy:
                if worker.pipe in ready:
                    task, done = worker.task, worker.receive(progress, self.turn_limit)
                    if task is not None and done is not None:
                        yield task.cell, done
                if worker.gone or worker.overdue():
                    self.running.remove(worker)
                    yield from self._replace(worker, queue, progress)

    def _start_workers(self, queue: "deque[_Task]") -> None:
        """Give waiting chunks to idle workers; new ones are started while there are fewer than allowed and needed."""
        for worker in self.running:
            if queue and not worker.task:
                worker.start(queue.popleft())
        while queue and len(self.running) < self.count:
            self.running.append(_Worker())
            self.running[-1].start(queue.popleft())

    def _replace(
        self, worker: "_Worker", queue: "deque[_Task]", progress: Callable[[float], None]
    ) -> Iterator[tuple[Cell, Table]]:
        """End a worker that is gone or overdue. Its chunk is put back, whole or in games; a game that is to blame is lost."""
        code, task = worker.end(), worker.task
        if task is None or not worker.ready:
            raise RuntimeError(
                f"a worker process could not start (exit code {code}); a program that uses processes needs its main part "
                f'under: if __name__ == "__main__":'
            )
        cell, chunk = task.cell, task.chunk
        progress(-worker.turns / cell.turns)
        if worker.gone and chunk.attempts < ATTEMPTS - 1:
            again = dataclasses.replace(chunk, report_calls=True, attempts=chunk.attempts + 1)
            queue.appendleft(task.with_chunk(again))
            return
        if worker.first and not worker.gone and worker.agent is not None:
            task.grace[worker.agent] /= 2
        if chunk.count > 1 or not chunk.report_calls:
            queue.extendleft(task.with_chunk(single) for single in reversed(chunk.split()))
            return
        if worker.agent is None:
            raise RuntimeError(f"a worker process ended (exit code {code}) while no agent was being called")
        reason = (
            f"its process ended (exit code {code})" if worker.gone else f"it took longer than {self.turn_limit:g} s"
        )
        yield cell, unanswered(cell, chunk, worker.actions, reason)
        progress(1)


def num_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Task:
    """A chunk to play. `grace`: extra seconds for the first call of each of the cell's agents, shared by its chunks."""

    def __init__(self, cell: Cell, chunk: Chunk, grace: dict[str, list[float]]) -> None:
        self.cell, self.chunk, self.all_grace = cell, chunk, grace
        self.grace = grace.setdefault(cell.id, [FIRST_CALL_SECONDS] * len(cell.players))

    def with_chunk(self, chunk: Chunk) -> "_Task":
        """The same cell with another chunk."""
        return _Task(self.cell, chunk, self.all_grace)


def _seconds_left(busy: "list[_Worker]") -> float | None:
    """Seconds until the first deadline, None if there is none."""
    deadlines = [worker.deadline for worker in busy if worker.deadline is not None]
    return min(MAX_WAIT, max(0.0, min(deadlines) - time.monotonic())) if deadlines else None


class _Worker:
    """One process, as its parent sees it."""

    def __init__(self) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        with _child_environment():
            self.process.start()
        theirs.close()
        self.cell: Cell | None = None  # that the process knows
        self.task: _Task | None = None
        self.ready = self.gone = False
        self._reset()

    def _reset(self) -> None:
        self.agent: int | None = None  # that is being called
        self.first = False  # for the first time in the process
        self.deadline: float | None = None
        self.actions: list[int] = []  # so far, of a chunk of one game
        self.turns = 0

    def start(self, task: _Task) -> None:
        """Send it a chunk."""
        self.task = task
        self._reset()
        with contextlib.suppress(OSError):  # the process is gone, which `receive` finds out
            if self.cell is not task.cell:
                self.pipe.send(task.cell)
            self.pipe.send(task.chunk)
        self.cell = task.cell

    def receive(self, progress: Callable[[float], None], turn_limit: float | None) -> Table | None:
        """Receive one message; returns the chunk's result when that arrives."""
        try:
            kind, *content = self.pipe.recv()
        except (EOFError, OSError):
            self.gone = True
            return None
        if kind == "ready":
            self.ready = True
        elif kind == "call":
            self.agent, num_games, self.first = content
            assert self.task is not None
            if turn_limit is not None:
                grace = self.task.grace[self.agent] if self.first else 0.0
                self.deadline = time.monotonic() + turn_limit * num_games + grace
        elif kind == "answer":
            self.agent = self.deadline = None
        elif kind == "steps":
            actions, turns = content
            self.actions += actions
            self.turns += turns
            assert self.task is not None
            progress(turns / self.task.cell.turns)
        elif kind == "error":
            raise RuntimeError(content[0])
        else:
            self.task = None
            return content[0]  # type: ignore[no-any-return]
        return None

    def overdue(self) -> bool:
        """Whether the agent's time is up and no message is waiting."""
        return self.deadline is not None and time.monotonic() > self.deadline and not self.pipe.poll()

    def end(self) -> int | None:
        """End the process; returns its exit code."""
        if self.gone:  # it ended by itself, and its exit code is worth waiting for
            self.process.join(5)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


@contextlib.contextmanager
def _child_environment() -> Iterator[None]:
    """What a new process inherits: one thread per library, and Ctrl-C ignored, which only this process handles."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        if main:
            signal.signal(signal.SIGINT, handler)


# --- in the worker process ---


def _work(pipe: Connection) -> None:
    """Play chunks until the pipe closes."""
    start_worker()
    pipe.send(("ready",))
    cell, agents, warm = None, [], set[int]()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            message: Any = pipe.recv()
            try:
                if isinstance(message, Chunk):
                    assert cell is not None
                    listener = _PipeListener(pipe, message.report_calls, message.count == 1)
                    played = play(cell, message, agents, warm, listener)
                    listener.flush()
                    pipe.send(("played", played))
                else:
                    cell = message
                    agents, warm = [make(str(spec)) for spec in cell.players], set()
            except (EOFError, BrokenPipeError):
                raise
            except Exception as error:  # the parent raises it
                pipe.send(("error", describe_error(error)))


def start_worker() -> None:
    """Make this process a worker: it ends with its parent, which alone handles Ctrl-C, and writes nothing to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr  # what agents print is not part of a command's results
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when its parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


class _PipeListener:
    """Sends the parent every call, if `report_calls`, and at intervals the progress, with the actions of a `single` game."""

    def __init__(self, pipe: Connection, report_calls: bool, single: bool) -> None:
        self.pipe, self.report_calls, self.single = pipe, report_calls, single
        self.actions: list[int] = []
        self.turns, self.flushed = 0, time.monotonic()

    def before_call(self, agent: int, num_games: int, first: bool) -> None:
        if self.report_calls:
            if self.actions:
                self.flush()
            self.pipe.send(("call", agent, num_games, first))

    def after_call(self) -> None:
        if self.report_calls:
            self.pipe.send(("answer",))

    def after_step(self, actions: np.ndarray, turns: int) -> None:
        if self.report_calls and self.single:
            self.actions += actions.tolist()
        self.turns += turns
        if self.turns and time.monotonic() - self.flushed > REPORT_SECONDS:
            self.flush()

    def flush(self) -> None:
        self.pipe.send(("steps", self.actions, self.turns))
        self.actions, self.turns, self.flushed = [], 0, time.monotonic()
