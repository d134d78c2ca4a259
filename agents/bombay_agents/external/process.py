"""One running program, with which lines are exchanged. What the lines say is the business of `agent.py`.

Nothing that the program does reaches this process but the bytes it writes, and of these no more than `MAX_LINE` are kept.
"""

import contextlib
import os
import selectors
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from typing import IO, Final, cast

from bombay_agents.external import guard
from bombay_env import checks

MAX_LINE: Final = 1 << 16  # bytes of a line from the program
MAX_WORDS: Final = 1000  # bytes of its standard error that are kept
READ: Final = 1 << 14
CODE_SECONDS: Final = 2.0  # that the guard may take to end after the program
LEAVE_SECONDS: Final = 1.0  # that a program has to end after its input closed


class ProgramError(Exception):
    """The program failed. The message is one line, and the program has been ended."""


class Program:
    """A program while it runs. Use `end` in every case.

    Args:
        command: the program and its arguments.
        memory: bytes of memory that each of its processes may use; 0 for no limit.

    Raises:
        ProgramError: it cannot be started.
    """

    def __init__(self, command: Sequence[str], memory: int) -> None:
        self.run, pipe = uuid.uuid4().hex, subprocess.PIPE
        arguments = [sys.executable, "-P", guard.__file__, str(os.getpid()), str(memory), *command]
        environment = {**os.environ, guard.MARK: self.run}
        try:
            self.guard = subprocess.Popen(
                arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
            )
        except (OSError, ValueError) as error:
            raise ProgramError(f"it cannot be started: {checks.one_line(str(error))}") from None
        self.input, self.output, self.errors = (
            cast("IO[bytes]", stream) for stream in (self.guard.stdin, self.guard.stdout, self.guard.stderr)
        )
        for stream in (self.input, self.output, self.errors):
            os.set_blocking(stream.fileno(), False)
        self.received = b""  # that is not yet a line
        self.words = b""  # the end of its standard error

    def exchange(self, lines: bytes, seconds: float) -> bytes:
        """Send lines and return the line that the program answers.

        Args:
            lines: what to send, with the ends of lines.
            seconds: how long the program may take, from 0.

        Raises:
            ProgramError: it ended, took too long, closed a stream, or wrote something else than one line.
        """
        try:
            return self._exchange(lines, seconds)
        except BaseException:  # Ctrl-C too: the answer would be taken for that to the next question
            self.end()
            raise

    def _exchange(self, lines: bytes, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        unsent = memoryview(lines)
        with selectors.DefaultSelector() as selector:
            selector.register(self.input, selectors.EVENT_WRITE)
            for stream in (self.output, self.errors):
                selector.register(stream, selectors.EVENT_READ)
            while b"\n" not in self.received:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ProgramError(f"it took longer than {seconds:g} s")
                for key, _ in selector.select(left):
                    if key.fileobj is self.input:
                        unsent = unsent[self._send(unsent) :]
                        if not unsent:
                            selector.unregister(self.input)
                    elif key.fileobj is self.output:
                        self._receive()
                    elif not self._listen():
                        selector.unregister(self.errors)
        line, _, self.received = self.received.partition(b"\n")
        if self.received:
            raise ProgramError(f"it wrote more than one line: {checks.shown(self.received)}")
        return line

    def _send(self, unsent: memoryview) -> int:
        try:
            return os.write(self.input.fileno(), unsent[:READ])
        except BlockingIOError:
            return 0
        except OSError:
            raise ProgramError(self._why("it closed its standard input")) from None

    def _receive(self) -> None:
        part = os.read(self.output.fileno(), READ)
        if not part:
            raise ProgramError(self._why("it closed its standard output"))
        self.received += part
        if len(self.received) > MAX_LINE:
            raise ProgramError(f"it wrote more than {MAX_LINE:,} bytes for one answer")

    def _listen(self) -> bool:
        """Read from standard error. Returns False once that is closed."""
        part = os.read(self.errors.fileno(), READ)
        self.words = (self.words + part)[-MAX_WORDS:]
        return bool(part)

    def _why(self, what: str) -> str:
        """Why a stream closed: `what`, or that the program is gone, with its last words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            what = f"its process ended (exit code {self.guard.wait(CODE_SECONDS)})"
        with contextlib.suppress(BlockingIOError):
            while self._listen():
                pass
        words = self.words.decode(errors="replace").split("\n")
        last = next((line for line in reversed(words) if line.strip()), None)
        return what if last is None else f"{what}; its last words are {checks.shown(last.strip())}"

    def close(self) -> None:
        """Close the program's input, give it a moment to end by itself, and then end it."""
        with contextlib.suppress(OSError):
            self.input.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.guard.wait(LEAVE_SECONDS)
        self.end()

    def end(self) -> None:
        """End the program and everything that it started. It does nothing the second time."""
        if self.output.closed:
            return
        for stream in (self.input, self.output, self.errors):
            with contextlib.suppress(OSError):
                stream.close()
        guard.end_all(self.run, self.guard.pid)
        self.guard.wait()
