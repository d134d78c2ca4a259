"""Writing files: a reader finds the old file or the new one, never half of either, even after a crash of the machine.

A file is written under a temporary name in its own folder, flushed to the disk and renamed. The name belongs to one write, so
several processes may write the same file: the last one wins. If writing fails, as on a full disk, the temporary file is removed
and the old file stays. Only a process that is killed leaves its temporary file or folder behind; `remove_leftovers` removes
those. To logs, `append_line` adds at the end instead.
"""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

PREFIX: Final = ".bombay-"  # a temporary name is the same length for every file, so that long names stay valid
SUFFIX: Final = ".tmp"


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically, with the permissions of any new file.

    Raises:
        OSError: it cannot be written; the error names `path`. An old file has not changed, and no new one is left.
    """
    with replacing(Path(path)) as file:
        file.write(data)


def write_lines(path: str | os.PathLike[str], lines: Iterable[str]) -> int:
    """Write a text file atomically, line by line, so that not all of them are in memory. Returns the number of lines.

    Args:
        path: the file.
        lines: the lines, without the line breaks at their ends.
    Raises:
        OSError: as `write_bytes`. Any other error, also one raised by `lines`, leaves the files in the same state.
    """
    count = 0
    with replacing(Path(path)) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
            count += 1
    return count


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file to write to; after the block it takes the place of `path`.

    Raises:
        OSError: as `write_bytes`. Any error of the block leaves the files in the same state.
    """
    with _renamed(path) as temporary, temporary.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill; after the block it gets the name `path`.

    Raises:
        OSError: it cannot be written; an error of the block that names another file passes as it is. No new folder is left.
    """
    with _renamed(path) as temporary:
        temporary.mkdir()
        yield temporary


def append_line(path: str | os.PathLike[str], line: str) -> None:
    """Append a line to a text file, on a line of its own even if the last one is incomplete.

    It is written by one call unless the disk is nearly full, so lines that several processes append do not mix.

    Raises:
        OSError: it cannot be written; the error names `path`. Part of the line may be in the file.
    """
    with _naming(Path(path)), open(path, "a+b") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        file.write((b"" if file.read(1) in (b"", b"\n") else b"\n") + line.encode() + b"\n")


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders of killed processes from a folder. No other process may be writing there."""
    for path in filter(is_leftover, folder.iterdir()):
        _remove(path)


def is_leftover(path: Path) -> bool:
    """Whether the name of a file or folder is a temporary one."""
    return path.name.startswith(PREFIX) and path.name.endswith(SUFFIX)


@contextlib.contextmanager
def _renamed(path: Path) -> Iterator[Path]:
    """A temporary path in the same folder, which gets the name `path` after the block, or is removed after an error.

    Raises:
        IsADirectoryError: the path has no name, such as "." and "/".
        OSError: of the block, or it cannot be renamed.
    """
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}")
    with _naming(path, temporary):
        try:
            yield temporary
            os.replace(temporary, path)
        except BaseException:
            _remove(temporary)
            raise


def _remove(path: Path) -> None:
    """Remove a file or a folder, if possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Let an OSError of the block name `path`: that of a failed write names no file, others name the temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(path), str(temporary)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
