"""Plays chunks in this process, or in a pool of processes that stops agents which do not answer.

Processes are spawned, never forked, and make their agents from specs. The result of a chunk depends on the chunk alone, so the
number of processes and their order change no result. Code that never returns can only be stopped from outside: with a time limit,
a worker reports each call of an agent, and a worker whose call takes too long is killed and replaced. The chunk of a worker that
ended is played again with the same key, because something else may have ended it. If it ends every time, or if a call took too
long, the chunk is played game by game, which finds the games to blame and spares the others. A worker has a pipe of its own, so a
worker that is killed while it sends takes nothing else with it. How a chunk is played is in `matches/play.py`.
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
from typing import Any, Final, Self

import numpy as np

from bombay_agents import make
from bombay_env.agent import Agent, describe_error
from bombay_training.matches.lineup import Chunk, Lineup
from bombay_training.matches.play import Call, play, unanswered

SPAWN: Final = multiprocessing.get_context("spawn")
ONE_THREAD: Final = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
FIRST_CALL_SECONDS: Final = (
    60.0  # more for a first call in a process, which may compile code; halved after each timeout
)
ATTEMPTS: Final = 3  # processes that may end before the games of their chunk are to blame
MAX_TURN_LIMIT: Final = 86_400.0  # seconds
MAX_WAIT: Final = 86_400.0  # seconds; a call in many games may take longer, but no operating system waits for a month

Job = tuple[Lineup, Chunk]


class Here:
    """Plays chunks in this process, with any agents. It keeps the agents of the last line-up."""

    count = 1

    def __init__(self) -> None:
        self.lineup: Lineup | None = None
        self.agents: Sequence[Agent] = ()
        self.warm: set[int] = set()

    def play(self, jobs: Iterable[Job]) -> Iterator[tuple[Lineup, np.ndarray]]:
        """As `WorkerPool.play`, in order."""
        for lineup, chunk in jobs:
            yield lineup, self.play_chunk(lineup, chunk)

    def play_chunk(
        self, lineup: Lineup, chunk: Chunk, report: Callable[[Call | None], None] | None = None
    ) -> np.ndarray:
        """Play a chunk; `report` is that of `play`."""
        if self.lineup is None or (lineup.id, lineup.records) != (self.lineup.id, self.lineup.records):
            self.lineup, self.warm = lineup, set()
            self.agents = [make(player) if isinstance(player, str) else player for player in lineup.players]
        return play(self.lineup, chunk, self.agents, self.warm, report)


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.running:
            worker.end()
        self.running = []

    def play(self, jobs: Iterable[Job]) -> Iterator[tuple[Lineup, np.ndarray]]:
        """Play chunks; their rows in any order.

        Args:
            jobs: line-ups whose agents are specs, and their chunks.

        Raises:
            RuntimeError: a process could not start, or it ended while no agent was being called.
        """
        waiting = deque(_Task(lineup, chunk, self.turn_limit is not None) for lineup, chunk in jobs)
        grace: dict[tuple[str, int], float] = {}  # more seconds for a first call, by line-up and agent
        try:
            while waiting or any(worker.task for worker in self.running):
                self._start_workers(waiting)
                busy = [worker for worker in self.running if worker.task]
                ready = wait([worker.pipe for worker in busy], _seconds_left(busy))
                for worker in busy:
                    task = worker.task
                    assert task is not None
                    rows = worker.receive(self.turn_limit, grace) if worker.pipe in ready else None
                    if worker.gone or worker.overdue():
                        self.running.remove(worker)
                        rows = self._replace(worker, task, waiting, grace)
                    if rows is not None:
                        yield task.lineup, rows
        finally:  # so that no later match receives what they send
            for worker in [worker for worker in self.running if worker.task]:
                self.running.remove(worker)
                worker.end()

    def _start_workers(self, waiting: "deque[_Task]") -> None:
        """Give waiting chunks to idle workers; new ones are started while there are fewer than allowed and needed."""
        for worker in self.running:
            if waiting and not worker.task:
                worker.start(waiting.popleft())
        while waiting and len(self.running) < self.count:
            self.running.append(_Worker())
            self.running[-1].start(waiting.popleft())

    def _replace(
        self, worker: "_Worker", task: "_Task", waiting: "deque[_Task]", grace: dict[tuple[str, int], float]
    ) -> np.ndarray | None:
        """End a worker that is gone or overdue. Its chunk is put back, whole or in games; a game that is to blame is lost."""
        code, lineup, chunk, call = worker.end(), task.lineup, task.chunk, worker.call
        if not worker.ready:
            raise RuntimeError(
                f"a worker process could not start (exit code {code}); a program that uses processes needs its main part "
                f'under: if __name__ == "__main__":'
            )
        if worker.gone and task.ended < ATTEMPTS - 1:
            waiting.appendleft(dataclasses.replace(task, report=True, ended=task.ended + 1))
            return None
        if call is not None and call.first and not worker.gone:
            grace[lineup.id, call.agent] /= 2
        if chunk.count > 1 or not task.report:
            waiting.extendleft(_Task(lineup, single, True) for single in reversed(chunk.split()))
            return None
        if call is None:
            raise RuntimeError(f"a worker process ended (exit code {code}) while no agent was being called")
        ended, late = f"its process ended (exit code {code})", f"it took longer than {self.turn_limit or 0:g} s"
        return unanswered(lineup, chunk, call.actions, ended if worker.gone else late)


def num_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclasses.dataclass(frozen=True)
class _Task:
    """A chunk to play. `report`: whether its calls are reported; `ended`: how many processes have ended while they played it."""

    lineup: Lineup
    chunk: Chunk
    report: bool
    ended: int = 0


def _seconds_left(busy: "list[_Worker]") -> float | None:
    """Seconds until the first deadline, None if there is none."""
    deadlines = [worker.deadline for worker in busy if worker.deadline is not None]
    return min(MAX_WAIT, max(0.0, min(deadlines) - time.monotonic())) if deadlines else None


class _Worker:
    """One process, as its parent sees it.

    Attributes:
        task: what it plays; None if it is idle.
        call: of an agent that has not answered yet, if calls are reported.
        deadline: when this call is too late.
        ready, gone: whether the process has started, and whether it has ended by itself.
    """

    def __init__(self) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        with _child_environment():
            self.process.start()
        theirs.close()
        self.lineup: Lineup | None = None  # that the process knows
        self.task: _Task | None = None
        self.call: Call | None = None
        self.deadline: float | None = None
        self.ready = self.gone = False

    def start(self, task: _Task) -> None:
        """Send it a chunk."""
        self.task, self.call, self.deadline = task, None, None
        with contextlib.suppress(OSError):  # the process is gone, which `receive` finds out
            self.pipe.send((None if task.lineup is self.lineup else task.lineup, task.chunk, task.report))
        self.lineup = task.lineup

    def receive(self, turn_limit: float | None, grace: dict[tuple[str, int], float]) -> np.ndarray | None:
        """Receive one message; returns the games of the chunk when they arrive."""
        try:
            kind, content = self.pipe.recv()
        except (EOFError, OSError):
            self.gone = True
            return None
        if kind == "error":
            raise RuntimeError(content)
        if kind == "ready":
            self.ready = True
        elif kind == "call":
            self.call, self.deadline = content, None
            if content is not None and turn_limit is not None:
                assert self.task is not None
                more = (
                    grace.setdefault((self.task.lineup.id, content.agent), FIRST_CALL_SECONDS) if content.first else 0
                )
                self.deadline = time.monotonic() + turn_limit * content.num_games + more
        else:
            self.task = None
            return content  # type: ignore[no-any-return]
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
    pipe.send(("ready", None))
    here = Here()
    lineup: Any = None  # the last one that was sent
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            new, chunk, report = pipe.recv()
            lineup = new or lineup
            answer: tuple[str, Any]
            try:
                answer = (
                    "played",
                    here.play_chunk(lineup, chunk, (lambda call: pipe.send(("call", call))) if report else None),
                )
            except (EOFError, BrokenPipeError):
                raise
            except Exception as error:  # the parent raises it
                answer = "error", describe_error(error)
            pipe.send(answer)


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
