"""Plays chunks in a pool of processes that stops agents which do not answer.

Processes are spawned, never forked, and make their agents from specs. The result of a chunk depends on the chunk alone, so the
number of processes and their order change no result. A thread waits for each process that plays. Code that never returns can only
be stopped from outside: with a time limit, a process reports each call of an agent, and is killed if the call takes too long. The
chunk of a process that ended is played again with the same key, because something else may have ended it. If it ends every time,
or if a call took too long, the chunk is played game by game, which finds the games to blame and spares the others. Each process
has a pipe of its own, so one that is killed while it sends takes nothing else with it. How a chunk is played is in
`matches/play.py`.
"""

import contextlib
import dataclasses
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from typing import Any, Final, Self

import numpy as np

from bombay_env.agent import describe_error
from bombay_training.matches.lineup import Chunk, Lineup
from bombay_training.matches.play import Call, Here, Job, unanswered

SPAWN: Final = multiprocessing.get_context("spawn")
ONE_THREAD: Final = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
FIRST_CALL_SECONDS: Final = 60.0  # more for a first call in a process, which may compile; halved after a timeout
ATTEMPTS: Final = 3  # processes that may end before the games of their chunk are to blame
MAX_TURN_LIMIT: Final = 86_400.0  # seconds
LOOK_SECONDS: Final = 1.0  # between two checks that a process still runs


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
        self.idle: list[_Worker] = []
        self.playing: dict[Future[np.ndarray | None], tuple[_Worker, _Task]] = {}
        self.late_first_calls = Counter[tuple[str, int]]()  # by line-up and agent

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        while self.idle:
            self.idle.pop().end()

    def play(self, jobs: Iterable[Job]) -> Iterator[tuple[Lineup, np.ndarray]]:
        """Play chunks; their rows in any order.

        Args:
            jobs: line-ups whose agents are specs, and their chunks.

        Raises:
            RuntimeError: a process could not start, or it ended while no agent was being called.
        """
        waiting = deque(_Task(lineup, chunk, self.turn_limit is not None) for lineup, chunk in jobs)
        with ThreadPoolExecutor(self.count) as threads:
            try:
                while waiting or self.playing:
                    while waiting and len(self.playing) < self.count:
                        worker, task = self.idle.pop() if self.idle else _Worker(), waiting.popleft()
                        self.playing[threads.submit(worker.play, task, self._seconds)] = worker, task
                    for future in wait(self.playing, return_when=FIRST_COMPLETED).done:
                        rows = future.result()
                        worker, task = self.playing.pop(future)
                        if rows is None:
                            rows = self._after_end(worker, task, waiting)
                        else:
                            self.idle.append(worker)
                        if rows is not None:
                            yield task.lineup, rows
            finally:
                self._stop()

    def _stop(self) -> None:
        """End the processes that play, and with them the threads that wait: no later match receives what they send."""
        for worker, _ in self.playing.values():
            worker.process.kill()
        self.playing.clear()

    def _seconds(self, lineup: Lineup, call: Call | None) -> float | None:
        """How long a call of an agent may take; None for no limit."""
        if call is None or self.turn_limit is None:
            return None
        more = FIRST_CALL_SECONDS / 2 ** self.late_first_calls[lineup.id, call.agent] if call.first else 0
        return self.turn_limit * call.num_games + more

    def _after_end(self, worker: "_Worker", task: "_Task", waiting: "deque[_Task]") -> np.ndarray | None:
        """Put back the chunk of a process that has ended, whole or split into games; or the rows of the one game to blame."""
        code, lineup, chunk, call = worker.process.exitcode, task.lineup, task.chunk, worker.call
        if not worker.started:
            raise RuntimeError(
                f"a worker process could not start (exit code {code}); a program that uses processes needs its main part "
                f'under: if __name__ == "__main__":'
            )
        if not worker.late and task.ended < ATTEMPTS - 1:
            waiting.appendleft(dataclasses.replace(task, report=True, ended=task.ended + 1))
            return None
        if call is not None and call.first and worker.late:
            self.late_first_calls[lineup.id, call.agent] += 1
        if chunk.count > 1 or not task.report:
            waiting.extendleft(_Task(lineup, single, True) for single in reversed(chunk.split()))
            return None
        if call is None:
            raise RuntimeError(f"a worker process ended (exit code {code}) while no agent was being called")
        late, ended = f"it took longer than {self.turn_limit or 0:g} s", f"its process ended (exit code {code})"
        return unanswered(lineup, chunk, call.actions, late if worker.late else ended)


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


class _Worker:
    """One process, as its parent sees it.

    Attributes:
        started: whether the process has begun to play.
        call: of an agent that has not answered yet, if calls are reported.
        late: whether the process was ended because this call took too long.
    """

    def __init__(self) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        with _child_environment():
            self.process.start()
        theirs.close()
        self.lineup: Lineup | None = None  # that the process knows
        self.call: Call | None = None
        self.started = self.late = False

    def play(self, task: _Task, seconds: Callable[[Lineup, Call | None], float | None]) -> np.ndarray | None:
        """Let the process play a chunk; None if the process has ended.

        Args:
            task: the chunk.
            seconds: how long a call may take.

        Raises:
            RuntimeError: an error that is not an agent's fault in a game, such as an agent that cannot be made.
        """
        new, self.lineup, self.call = None if task.lineup is self.lineup else task.lineup, task.lineup, None
        try:
            self.pipe.send((new, task.chunk, task.report))
            self.started = self.started or self._receive(None)
            while True:
                message = self._receive(seconds(task.lineup, self.call))
                if isinstance(message, str):
                    raise RuntimeError(message)
                if isinstance(message, np.ndarray):
                    return message
                self.call = message
        except TimeoutError:
            self.late = True
        except (EOFError, OSError):
            pass  # the process has ended
        self.end(seconds=0 if self.late else 5)
        return None

    def _receive(self, seconds: float | None) -> Any:
        """What the process sends next.

        A program that an agent has started may hold the pipe open after the process has ended, so both are checked.

        Raises:
            TimeoutError: it takes longer.
            EOFError, OSError: the process has ended.
        """
        end = math.inf if seconds is None else time.monotonic() + seconds
        while not self.pipe.poll(max(0, min(LOOK_SECONDS, end - time.monotonic()))):
            if not self.process.is_alive() and not self.pipe.poll():
                raise EOFError
            if time.monotonic() >= end:
                raise TimeoutError
        return self.pipe.recv()

    def end(self, seconds: float = 0) -> None:
        """Give the process so many seconds to end by itself, which tells its exit code, then kill it."""
        self.process.join(seconds)
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextlib.contextmanager
def _child_environment() -> Iterator[None]:
    """What a new process inherits: one thread per library, and Ctrl-C ignored, because only the parent handles it."""
    before = {name: os.environ[name] for name in ONE_THREAD if name in os.environ}
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name in ONE_THREAD:
            del os.environ[name]
        os.environ.update(before)
        if main:
            signal.signal(signal.SIGINT, handler)


# --- in the worker process ---


def _work(pipe: Connection) -> None:
    """Play chunks until the pipe closes."""
    start_worker()
    here = Here()
    lineup: Any = None  # the last one that was sent
    with contextlib.suppress(EOFError, BrokenPipeError):  # the parent has ended
        pipe.send(True)
        while True:
            new, chunk, report = pipe.recv()
            lineup = new or lineup
            answer: Any
            try:
                answer = here.play_chunk(lineup, chunk, pipe.send if report else None)
            except Exception as error:  # the parent raises it
                answer = describe_error(error)
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
