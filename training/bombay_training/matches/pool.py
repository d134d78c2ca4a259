"""Processes that play chunks of games, one core each, and are ended when an agent does not answer.

Processes are spawned, never forked, and make their agents from specs. What a chunk comes to depends on the chunk alone, so
neither the number of processes nor their order shows in any result. Code that never returns can only be stopped from outside:
where there is a limit, a worker announces each call of an agent, and one that overruns it is ended and replaced. A chunk whose
process ended is played again game by game, which finds the games to blame and spares the others.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, Final

import numpy as np

from bombay_agents import make
from bombay_training.matches.play import Chunk, Plan, Played, lost_game, play

SPAWN: Final = multiprocessing.get_context("spawn")
ONE_THREAD: Final = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
FIRST_CALL_SECONDS: Final = 60.0  # more for a first call in a process, which may compile; halved after each overrun
TELL_SECONDS: Final = 0.2  # between two reports of progress
MAX_TURN_LIMIT: Final = 86_400.0  # seconds
LONGEST_WAIT: Final = 86_400.0  # seconds at a time; a call in many games may take more, but no system waits for a month


class Workers:
    """Processes to play in, kept from one match to the next. Use it in a `with`, which ends them whatever happens.

    A program that uses them must guard its main part by `if __name__ == "__main__":`, as with `multiprocessing`.

    Args:
        processes: how many; as many as this process may use cores unless given.
        turn_limit: seconds that a call of an agent may take for each game it decides in, up to `MAX_TURN_LIMIT`; no limit if
            None. The first call in a process is given a minute more.
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

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.running:
            worker.end()
        self.running = []

    def play(
        self, plan: Plan, specs: Sequence[str], chunks: Sequence[Chunk], progress: Callable[[int], None]
    ) -> list[Played]:
        """Play chunks of a match, in any order.

        Args:
            plan: the match.
            specs: of its agents.
            chunks: what to play.
            progress: called with the turns played since the last call.

        Raises:
            RuntimeError: a process could not start, or ended while no agent was being asked.
        """
        watched = self.turn_limit is not None
        due = deque(Chunk(chunk.games, chunk.key, watched) for chunk in chunks)
        match = _Match(plan, tuple(specs), [FIRST_CALL_SECONDS] * len(specs))
        played: list[Played] = []
        while due or any(worker.chunk for worker in self.running):
            while len(self.running) < min(self.count, len(due) + sum(bool(worker.chunk) for worker in self.running)):
                self.running.append(_Worker())
            for worker in self.running:
                if due and not worker.chunk:
                    worker.start(match, due.popleft())
            busy = [worker for worker in self.running if worker.chunk]
            ready = wait([worker.pipe for worker in busy], _seconds_left(busy))
            for worker in busy:
                if worker.pipe in ready:
                    done = worker.listen(progress, self.turn_limit)
                    if done is not None:
                        played.append(done)
                if worker.gone or worker.overdue():
                    self.running.remove(worker)
                    self._blame(worker, played, due, progress)
        return played

    def _blame(
        self, worker: "_Worker", played: list[Played], due: deque[Chunk], progress: Callable[[int], None]
    ) -> None:
        """A process is gone, or must be ended: find who is to blame, or see to it that it is found."""
        code = worker.end()
        match, chunk = worker.match, worker.chunk
        if chunk is None or match is None or not worker.begun:
            raise RuntimeError(
                f"a process to play in could not start (exit code {code}); a program that uses processes needs its main part "
                f'under: if __name__ == "__main__":'
            )
        progress(-worker.turns)
        if len(chunk.games) > 1 or not chunk.watched:
            due.extendleft(reversed(chunk.alone()))
            if worker.agent is not None and worker.first:
                match.grace[worker.agent] /= 2
            return
        if worker.agent is None:
            raise RuntimeError(f"a process to play in ended (exit code {code}) while no agent was deciding")
        if worker.gone:
            reason = f"its process ended (exit code {code})"
        else:
            reason = f"it took longer than {self.turn_limit:g} s"
            if worker.first:
                match.grace[worker.agent] /= 2
        played.append(lost_game(match.plan, chunk, worker.actions, worker.agent, reason))
        progress(match.plan.turns)


def num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Match:
    """What workers play now. `grace`: by agent, seconds more for a first call."""

    def __init__(self, plan: Plan, specs: tuple[str, ...], grace: list[float]) -> None:
        self.plan, self.specs, self.grace = plan, specs, grace


def _seconds_left(busy: "list[_Worker]") -> float | None:
    deadlines = [worker.deadline for worker in busy if worker.deadline is not None]
    return min(LONGEST_WAIT, max(0.0, min(deadlines) - time.monotonic())) if deadlines else None


class _Worker:
    """One process, seen from outside."""

    def __init__(self) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self.process = SPAWN.Process(target=_work, args=(theirs,), daemon=True)
        with _surroundings():
            self.process.start()
        theirs.close()
        self.match: _Match | None = None
        self.chunk: Chunk | None = None
        self.begun = self.gone = False
        self._forget()

    def _forget(self) -> None:
        self.agent: int | None = None  # being asked
        self.first = False  # for the first time
        self.deadline: float | None = None
        self.actions: list[int] = []  # of the only game of a watched chunk
        self.turns = 0

    def start(self, match: _Match, chunk: Chunk) -> None:
        """Give it a chunk."""
        self.chunk = chunk
        self._forget()
        with contextlib.suppress(OSError):  # it is gone, which shows when it is listened to
            if self.match is not match:
                self.pipe.send((match.plan, match.specs))
            self.pipe.send(chunk)
        self.match = match

    def listen(self, progress: Callable[[int], None], turn_limit: float | None) -> Played | None:
        """Take one message; the chunk's outcome if it is that."""
        try:
            kind, *told = self.pipe.recv()
        except (EOFError, OSError):
            self.gone = True
            return None
        if kind == "begun":
            self.begun = True
        elif kind == "asks":
            self.agent, lanes, self.first = told
            assert self.match is not None
            if turn_limit is not None:
                more = self.match.grace[self.agent] if self.first else 0.0
                self.deadline = time.monotonic() + turn_limit * lanes + more
        elif kind == "answered":
            self.agent = self.deadline = None
        elif kind == "stepped":
            actions, turns = told
            self.actions += actions
            self.turns += turns
            progress(turns)
        elif kind == "failed":
            raise RuntimeError(told[0])
        else:
            self.chunk = None
            return told[0]  # type: ignore[no-any-return]
        return None

    def overdue(self) -> bool:
        """Whether the agent has taken too long and no answer is waiting to be read."""
        return self.deadline is not None and time.monotonic() > self.deadline and not self.pipe.poll()

    def end(self) -> int | None:
        """End the process; its exit code."""
        if self.gone:  # of itself: it has an exit code to tell
            self.process.join(5)
        self.process.kill()
        self.process.join()
        self.pipe.close()
        return self.process.exitcode


@contextlib.contextmanager
def _surroundings() -> Iterator[None]:
    """What a new process is to inherit: one thread for each library, and deafness to Ctrl-C, which is for this process."""
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


# --- inside ---


def _work(pipe: Connection) -> None:
    """The process's own part: play chunks until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr  # what agents print is not part of the command's results
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pipe.send(("begun",))
    plan, agents, warm = None, [], set[int]()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            message: Any = pipe.recv()
            try:
                if isinstance(message, Chunk):
                    assert plan is not None
                    reporter = _Reporter(pipe, message.watched, len(message.games) == 1)
                    played = play(plan, message, agents, warm, reporter)
                    reporter.flush()
                    pipe.send(("played", played))
                else:
                    plan, specs = message
                    agents, warm = [make(spec) for spec in specs], set()
            except (EOFError, BrokenPipeError):
                raise
            except Exception as error:  # told where it can be read, in one line
                pipe.send(("failed", f"{type(error).__name__}: {' '.join(str(error).split())}"))


def _end_with_parent() -> None:
    """Nobody waits for what this process does once its parent is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


class _Reporter:
    """Tells the parent of calls, where they are watched, and now and then how far the games are."""

    def __init__(self, pipe: Connection, watched: bool, single: bool) -> None:
        self.pipe, self.watched, self.single = pipe, watched, single
        self.actions: list[int] = []
        self.turns, self.told = 0, time.monotonic()

    def asks(self, agent: int, lanes: int, first: bool) -> None:
        if self.watched:
            if self.actions:
                self.flush()
            self.pipe.send(("asks", agent, lanes, first))

    def answered(self) -> None:
        if self.watched:
            self.pipe.send(("answered",))

    def stepped(self, actions: np.ndarray, turns: int) -> None:
        if self.watched and self.single:
            self.actions += actions.tolist()
        self.turns += turns
        if self.turns and time.monotonic() - self.told > TELL_SECONDS:
            self.flush()

    def flush(self) -> None:
        self.pipe.send(("stepped", self.actions, self.turns))
        self.actions, self.turns, self.told = [], 0, time.monotonic()
