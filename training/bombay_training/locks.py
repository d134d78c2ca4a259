"""Locks on folders that one process at a time may write.

A process has a lock until it releases it or ends, in whatever way: the operating system sees to that. The empty lock file of a
folder stays there and means nothing; only the lock on it counts.
"""

from pathlib import Path

from filelock import BaseFileLock as BaseFileLock  # offered to others
from filelock import FileLock, Timeout

from bombay_env.checks import shown_path


class InUseError(ValueError):
    """The lock is taken, by another process or by another object in this one."""


def take(file: Path, what: Path) -> BaseFileLock:
    """Take a lock at once, without waiting for it.

    Args:
        file: the lock file, in a folder that exists.
        what: what the lock is for; the message names it.
    Raises:
        InUseError: another process has it, or another object in this one.
        OSError: the lock file cannot be created.
    """
    lock = FileLock(file, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise InUseError(
            f"{shown_path(what)} is in use by another process; wait until it ends, or name another place"
        ) from None
    return lock
