"""Runs a program within limits, and ends it with everything that it started as soon as the process that wanted it is gone.

This file is a program itself: `process.py` runs it in a new Python process between itself and the player's program, because a
process that is killed cannot clean up after itself. It uses the standard library only. It gets a socket, the limit of memory and
the program's command. It reports over the socket when the program starts, ends or cannot start. It ends when the program ends, or
when the other end of the socket closes.

On Linux, processes whose parents have ended become children of the guard, so it finds all that the program has started, in
whatever session, and the kernel ends the program if the guard itself is killed. Elsewhere the guard ends the program's process
group.
"""

import contextlib
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time

SECONDS = 5.0  # for which it tries to end all processes
PAUSE = 0.01
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>


def main() -> None:
    """Run the command. Arguments: the number of the socket's descriptor, bytes of memory (0: no limit), the command."""
    control = socket.socket(fileno=int(sys.argv[1]))
    memory, command = int(sys.argv[2]), sys.argv[3:]
    wake, waker = socket.socketpair()
    for end in (wake, waker):
        end.setblocking(False)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        program = subprocess.Popen(command, start_new_session=True, preexec_fn=lambda: _limit(memory))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        _report(control, f"failed {error}")
        return
    _close_streams()
    _report(control, f"started {program.pid}")
    try:
        while True:
            ready, _, _ = select.select([control, wake], [], [])
            code = _reap(program.pid)
            if code is not None:
                _end_all(program.pid)
                _report(control, f"ended {code}")
                return
            if control in ready and not control.recv(4096):
                return
            if wake in ready:
                wake.recv(4096)
    finally:
        _end_all(program.pid)


def _limit(memory: int) -> None:
    """What the program's process does before it becomes the program."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        allowed = memory if most == resource.RLIM_INFINITY else min(memory, most)
        with contextlib.suppress(OSError, ValueError):  # macOS refuses
            resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _close_streams() -> None:
    """Leave the standard streams to the program, so that its other end sees when the program closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)


def _report(control: socket.socket, text: str) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        control.sendall(text.encode(errors="replace")[:1000].replace(b"\n", b" ") + b"\n")


def _reap(program: int) -> int | None:
    """Take note of all processes that ended. Returns the exit code of the program if it is one of them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                code = os.waitstatus_to_exitcode(status)
    return code


def _end_all(program: int) -> None:
    """Kill the program and everything that it started."""
    deadline = time.monotonic() + SECONDS
    with contextlib.suppress(OSError):
        os.killpg(program, signal.SIGKILL)
    while time.monotonic() < deadline:
        _reap(program)
        alive = _descendants()
        for pid in alive:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not alive:
            return
        time.sleep(PAUSE)


def _descendants() -> list[int]:
    """All processes below this one; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])  # the name before may hold anything
                children.setdefault(parent, []).append(int(name))
    found, due = [], [os.getpid()]
    while due:
        below = children.get(due.pop(), [])
        found += below
        due += below
    return found


if __name__ == "__main__":
    main()
