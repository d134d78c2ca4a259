"""A folder on disk that nobody but this user can change, and the files in it.

It is meant for files that are executed: whoever can put a file there, or can replace a folder on the way to it, runs code as this
user. So the way to the folder is opened one part at a time, each relative to the part before it and without following links.
Every part must belong to this user or to root, and nobody else may be able to replace its entries. The folder stays open, and
files are opened relative to it: no path is looked up a second time, so nothing can be exchanged between check and use.

Windows has neither these owners and modes nor files relative to an open folder. There, the folder must be inside the user's
profile, which Windows protects from other users, and paths are used.

This module does not know what the files contain. Read `cache.py` next.
"""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

POSIX: Final = hasattr(os, "geteuid")
ROOT: Final = 0  # may do everything anyway

# Not all of these exist on all systems. NONBLOCK: opening a named pipe must not wait for a writer.
NAMES: Final = ("O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "O_NOINHERIT", "O_BINARY")
NO_LINKS: Final = sum(getattr(os, name, 0) for name in NAMES)
LISTING: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_LINKS
PASSING: Final = LISTING | getattr(os, "O_PATH", 0)  # passing through a folder needs no permission to list it

GROUP_OR_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
ALL_BUT_USER: Final = stat.S_IRWXG | stat.S_IRWXO
ACCESS_LIST: Final = "system.posix_acl_access"  # the attribute that lists further users, on Linux

CHECKSUM_SIZE: Final = hashlib.sha256().digest_size

DAY: Final = 24 * 60 * 60  # seconds
RECENT: Final = DAY  # what was used since may belong to a process that still runs, so it is kept
FOLDERS_KEPT: Final = 5  # of other versions: those that were used last
UNUSED_FOR: Final = 30 * DAY  # files that were not used for longer are removed
BYTES_KEPT: Final = 1 << 30  # in a folder; beyond that, the files that were not used for longest are removed


class OwnFolder:
    """An open folder that only this user can change. `open_own_folder` makes it.

    Attributes:
        path: where it was when it was opened, without links; for messages only.
    """

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor  # None on Windows
        self._identity = None if descriptor is None else _identity(descriptor)

    def _at(self) -> int | None:
        """The descriptor, for `dir_fd`. Raises OSError if the program closed it and its number now means another file."""
        if self._descriptor is not None and _identity(self._descriptor) != self._identity:
            raise OSError(f"the descriptor of {self.path} was closed")
        return self._descriptor

    def _name(self, name: str) -> str:
        """How to name a file beside `dir_fd=self._at()`."""
        return str(self.path / name) if self._descriptor is None else name

    def _open(self, name: str, flags: int) -> int:
        """Open a regular file of this user. Raises OSError, or ValueError if it is anything else."""
        opened = os.open(self._name(name), flags | NO_LINKS, 0o600, dir_fd=self._at())
        info = os.fstat(opened)
        if not stat.S_ISREG(info.st_mode) or (POSIX and info.st_uid != os.geteuid()):
            os.close(opened)
            raise ValueError(f"{name} is not a file of this user")
        return opened

    def read(self, name: str) -> bytes:
        """The bytes that `write` wrote. The time of the file becomes the time of this use, to the day.

        Raises:
            OSError: there is no such file, or it is a link.
            ValueError: it is damaged, or not a regular file of this user.
        """
        with os.fdopen(self._open(name, os.O_RDONLY), "rb") as file:
            data = file.read()
            last_use = os.fstat(file.fileno()).st_mtime
        found, body = data[:CHECKSUM_SIZE], data[CHECKSUM_SIZE:]
        if found != checksum(name, body):
            raise ValueError(f"{name} is damaged")
        if last_use < time.time() - DAY:
            with contextlib.suppress(OSError):
                os.utime(self._name(name), dir_fd=self._at())
        return body

    def write(self, name: str, body: bytes) -> None:
        """Write a file that only this user may read or write, atomically: other processes see all of it or nothing.

        Raises:
            OSError: it could not be written. Nothing is left behind.
        """
        draft = f".{name}.{os.getpid()}.{secrets.token_hex(4)}"
        opened = self._open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(checksum(name, body) + body)
            os.replace(self._name(draft), self._name(name), src_dir_fd=self._at(), dst_dir_fd=self._at())
        except BaseException:
            self.remove(draft)
            raise

    def remove(self, name: str) -> None:
        """Remove a file if it exists and can be removed."""
        with contextlib.suppress(OSError):
            os.unlink(self._name(name), dir_fd=self._at())

    def entries(self) -> list[tuple[str, os.stat_result]]:
        """Name and status of everything in the folder. Raises OSError if it cannot be listed."""
        return list(_entries(self._at() or self.path))

    def is_writable(self) -> bool:
        """Whether files can be written."""
        with contextlib.suppress(OSError):
            return os.access(self._name("."), os.W_OK, dir_fd=self._at())
        return False

    def prune(self) -> None:
        """Remove files that were not used for long and, if the rest is large, those that were not used for longest."""
        now, size = time.time(), 0
        with contextlib.suppress(OSError):
            for name, info in sorted(self.entries(), key=lambda entry: entry[1].st_mtime, reverse=True):
                size += info.st_size
                unused = now - info.st_mtime
                if unused > UNUSED_FOR or (size > BYTES_KEPT and unused > RECENT):
                    self.remove(name)

    def prune_siblings(self, pattern: str) -> None:
        """Remove the folders beside this one whose names match `pattern`, except the recent ones and the last few used."""
        with contextlib.suppress(OSError):
            if self._descriptor is None:
                _remove_unused(self.path.parent, pattern)
                return
            parent = os.open("..", LISTING, dir_fd=self._at())
            try:
                _remove_unused(parent, pattern)
            finally:
                os.close(parent)

    def note_use(self) -> None:
        """Set the time of the folder to now, if that is allowed: a folder that can only be read is still useful."""
        with contextlib.suppress(OSError):
            os.utime(self._at() or self.path)


def checksum(name: str, body: bytes) -> bytes:
    """What a file begins with. It covers the name, so files that changed places are recognised as damaged."""
    return hashlib.sha256(name.encode() + b"\n" + body).digest()


def _identity(descriptor: int) -> tuple[int, int]:
    info = os.fstat(descriptor)
    return info.st_dev, info.st_ino


def _entries(folder: int | Path) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as found:
        for entry in found:
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                yield entry.name, entry.stat(follow_symlinks=False)


def _remove_unused(parent: int | Path, pattern: str) -> None:
    """`OwnFolder.prune_siblings` in an open folder or a path. The time of a folder is the time of its last use."""
    folders = [(info.st_mtime, name) for name, info in _entries(parent) if re.fullmatch(pattern, name)]
    for last_use, name in sorted(folders, reverse=True)[FOLDERS_KEPT:]:
        if last_use < time.time() - RECENT:
            if isinstance(parent, Path):
                shutil.rmtree(parent / name, ignore_errors=True)
            else:
                shutil.rmtree(name, ignore_errors=True, dir_fd=parent)


# --- finding it ---


def open_own_folder(path: Path) -> tuple[OwnFolder, bool]:
    """Open a folder, or create it with mode 0700 together with the folders on the way to it.

    If others may read an existing folder of this user, its mode becomes 0700.

    Returns:
        The folder, and whether it is new.

    Raises:
        OSError: it cannot be created or opened. PermissionError: somebody else can change it, or the way to it.
    """
    real = Path(os.path.realpath(path))
    if not POSIX:
        return _open_in_profile(real)
    way = Path(real.anchor)
    opened, new = os.open(way, PASSING), False
    try:
        for part in real.parts[1:]:
            _check_on_the_way(opened, way)
            inner, new = _enter(part, opened, LISTING if part is real.parts[-1] else PASSING)
            os.close(opened)
            opened, way = inner, way / part
        _make_private(opened, real)
        return OwnFolder(real, opened), new
    except BaseException:
        os.close(opened)
        raise


def _open_in_profile(real: Path) -> tuple[OwnFolder, bool]:
    """`open_own_folder` on Windows."""
    profile = Path(os.path.realpath(Path.home()))
    if profile not in real.parents:
        raise PermissionError(f"{real} is not inside {profile}")
    new = not real.exists()
    real.mkdir(parents=True, exist_ok=True)
    return OwnFolder(real, None), new


def _enter(part: str, folder: int, flags: int) -> tuple[int, bool]:
    """Open a folder in an open folder, after creating it if it does not exist; returns whether it is new as well."""
    try:
        return os.open(part, flags, dir_fd=folder), False
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.mkdir(part, 0o700, dir_fd=folder)
        return os.open(part, flags, dir_fd=folder), True


def _check_on_the_way(folder: int, path: Path) -> None:
    """Raise PermissionError if somebody else can replace an entry of the open folder `path` that belongs to this user or root."""
    info = os.fstat(folder)
    if info.st_uid not in (os.geteuid(), ROOT):
        raise PermissionError(f"{path} belongs to user {info.st_uid}")
    shared = info.st_mode & GROUP_OR_OTHERS_WRITE
    if not shared or info.st_mode & stat.S_ISVTX:  # the sticky bit: others can add entries, but replace only their own
        return
    if shared & stat.S_IWOTH or not _is_of_one(info.st_gid) or _has_access_list(folder):
        raise PermissionError(f"others may write to {path}")


def _is_of_one(group: int) -> bool:
    """Whether a group consists of this user only, by the convention that such a group has the name of its user.

    Many systems give each user such a group, and let it write to all that the user creates.
    """
    import grp  # these two exist on POSIX only
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and user.pw_name == found.gr_name and set(found.gr_mem) <= {user.pw_name}


def _has_access_list(folder: int) -> bool:
    """Whether a list of further users may stand behind the mode of the group, as far as the system can tell."""
    if not hasattr(os, "listxattr"):  # Linux only
        return False
    try:
        return ACCESS_LIST in os.listxattr(f"/proc/self/fd/{folder}")
    except OSError as error:
        return error.errno != errno.ENOTSUP  # a file system without such lists


def _make_private(folder: int, path: Path) -> None:
    """Let only this user use the open folder `path`. Raises PermissionError if it belongs to somebody else."""
    info = os.fstat(folder)
    if info.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to user {info.st_uid}")
    if info.st_mode & ALL_BUT_USER:
        os.fchmod(folder, 0o700)
