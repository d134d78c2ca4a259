"""Runs a program within limits, and ends it with everything that it started as soon as the process that wanted it is gone.

This file is also a program: `process.py` runs it in a new Python process between itself and the player's program, because a
process that is killed cannot clean up after itself. Its arguments are the process that wants the program, the limit of memory and
the command. It ends as the program does, with the same exit code.
"""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import psutil

MARK = "BOMBAY_EXEC_RUN"  # in the environment of the guard and of all that the program starts: which run they belong to
SECONDS = 5.0  # in which all processes end
PAUSE = 0.01
HOST_PAUSE = 0.1


def main() -> None:
    """Run the command. Arguments: the host's process, bytes of memory (0: no limit), the command."""
    host, memory, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # also of the guard, which ends by the same signal as the program
    try:
        program = subprocess.Popen(command, preexec_fn=lambda: _limit(memory))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        sys.exit(f"it cannot be started: {error}")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the program alone has them, so that the host sees when it closes them
        os.dup2(nothing, stream)
    threading.Thread(target=_outlive, args=(host,), daemon=True).start()
    code = program.wait()
    end_all(os.environ[MARK], os.getpid())
    if code < 0:  # by a signal
        with contextlib.suppress(OSError):  # SIGKILL always acts
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def end_all(run: str, guard: int) -> None:
    """Kill all processes of a run but the caller: those below the guard, those in its session, and those with its mark."""
    deadline = time.monotonic() + SECONDS
    while (left := _processes(run, guard)) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        time.sleep(PAUSE)


def _processes(run: str, guard: int) -> list[psutil.Process]:
    """The processes of a run that are still alive."""
    found, below = [], set[psutil.Process]()
    with contextlib.suppress(psutil.Error):
        below.update(psutil.Process(guard).children(recursive=True))
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process in below or os.getsid(process.pid) == guard or process.environ().get(MARK) == run:
                found.append(process)
    return found


def _outlive(host: int) -> None:
    """Wait for the end of the host, then end the run. A killed host is a zombie until its parent waits for it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(host)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(HOST_PAUSE)
    end_all(os.environ[MARK], os.getpid())
    os._exit(1)


def _limit(memory: int) -> None:
    """What the program's process does before it becomes the program."""
    if memory:
        with contextlib.suppress(OSError, ValueError):  # macOS refuses, and a lower hard limit stays in force
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


if __name__ == "__main__":
    main()
