"""One running program, with which lines are exchanged. What the lines say is the business of `agent.py`.

Nothing that the program does reaches this process but the bytes it writes, and of these no more than `MAX_LINE` are kept.
"""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, cast

from bombay_env import checks

MAX_LINE: Final = 1 << 16  # bytes of a line from the program
MAX_WORDS: Final = 1000  # bytes of its standard error that are kept
READ: Final = 1 << 14
GUARD: Final = Path(__file__).with_name("guard.py")
REPORT_SECONDS: Final = 1.0  # in which the guard reports why a stream closed
LEAVE_SECONDS: Final = 1.0  # that a program has to end after its input closed
END_SECONDS: Final = 10.0  # in which the guard ends everything
PAUSE: Final = 0.01
MARK: Final = "BOMBAY_EXEC_RUN"  # in the environment of the program and of all that it starts: which run they belong to


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
        self.control, theirs = socket.socketpair()
        arguments = [sys.executable, "-I", "-S", str(GUARD), str(theirs.fileno()), str(memory), *command]
        pipe, self.run = subprocess.PIPE, uuid.uuid4().hex
        environment = {**os.environ, MARK: self.run}
        try:
            self.guard = subprocess.Popen(
                arguments,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self.control.close()
            raise ProgramError(f"it cannot be started: {checks.one_line(str(error))}") from None
        finally:
            theirs.close()
        self.input, self.output, self.errors = (
            cast("IO[bytes]", stream) for stream in (self.guard.stdin, self.guard.stdout, self.guard.stderr)
        )
        for stream in (self.input, self.output, self.errors):
            os.set_blocking(stream.fileno(), False)
        self.control.setblocking(False)
        self.received = b""  # that is not yet a line
        self.words = b""  # the end of its standard error
        self.reports = b""  # of the guard

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
            for stream in (self.output, self.errors, self.control):
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
                    elif not self._listen(key.fileobj):
                        selector.unregister(key.fileobj)
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

    def _listen(self, source: object) -> bool:
        """Read from standard error or from the guard. Returns False once that is closed."""
        if source is self.control:
            part = self._read_report()
        else:
            part = os.read(self.errors.fileno(), READ)
            self.words = (self.words + part)[-MAX_WORDS:]
        return bool(part)

    def _read_report(self) -> bytes:
        with contextlib.suppress(OSError):
            part = self.control.recv(READ)
            self.reports += part
            return part
        return b""

    def _why(self, what: str) -> str:
        """Why a stream closed: `what`, or the guard's report that the program is gone, with its last words."""
        self.control.settimeout(REPORT_SECONDS)
        while b"\nended" not in self.reports and not self.reports.startswith(b"failed") and self._read_report():
            pass
        self.control.setblocking(False)
        with contextlib.suppress(OSError):
            while part := os.read(self.errors.fileno(), READ):
                self.words = (self.words + part)[-MAX_WORDS:]
        for line in self.reports.decode(errors="replace").splitlines():
            kind, _, detail = line.partition(" ")
            if kind == "ended":
                what = f"its process ended (exit code {detail})"
            elif kind == "failed":
                what = f"it cannot be started: {checks.one_line(detail)}"
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
        if self.guard.returncode is not None and self.control.fileno() < 0:
            return
        for stream in (self.input, self.output, self.errors):
            with contextlib.suppress(OSError):
                stream.close()
        self._read_report()
        self.control.close()  # the guard ends everything
        try:
            self.guard.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.guard.kill()
            self.guard.wait()
        if self.guard.returncode != 0:  # the program may have killed it
            self._end_without_guard()

    def _end_without_guard(self) -> None:
        """Kill the program's group and, on Linux, all processes with the mark of this run."""
        reported = self.reports.split()
        if reported[:1] == [b"started"]:
            with contextlib.suppress(OSError):
                os.killpg(int(reported[1]), signal.SIGKILL)
        deadline = time.monotonic() + END_SECONDS
        while (left := _marked(self.run)) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(PAUSE)


def _marked(run: str) -> list[int]:
    """The processes of a run, by their environment; none where there is no /proc."""
    found, mark = [], f"{MARK}={run}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
