"""Where compiled kernels lie from one process to the next: a folder of the user's own, one file an entry.

Numba's own cache notices an edit only in the file a function stands in, follows no setting of the environment, unpickles what
it finds, and keeps an index that two processes can set at odds with the code it points to. Here the folder is named by a
digest of all sources and versions, and a file by a digest of the signature, the options and the settings, so no index is needed;
and a file begins with a digest of its contents, so that nothing damaged is unpickled. Whatever goes wrong with a file or
a folder, the answer is "not kept", and the kernel is compiled. Knows nothing of the game; `jit/kernels.py` is the next to read.
"""

import contextlib
import hashlib
import importlib.util
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize

CONFIG: Any = numba.config  # its settings come about at run time, where no type checker sees them
RESULT: Any = compiler.CompileResult  # untyped, as is the next
DUMPS: Any = serialize.dumps

# Kernels of one package call those of another, so a change in any of the three concerns them all.
PACKAGES = ("bombay_env", "bombay_agents", "bombay_training")

# Every setting of Numba counts as one that shapes machine code, but for those known not to: a new one is then never overlooked.
NEUTRAL_SETTINGS = re.compile(
    r"CACHE_DIR|NUMBA_NUM_THREADS|NUMBA_DEFAULT_NUM_THREADS|THREADING_LAYER.*|DISABLE_PERFORMANCE_WARNINGS|CUDA.*"
)

FOLDERS_KEPT = 5  # the ones last used; more, where more were used lately
LATELY = 24 * 60 * 60  # seconds; such a folder may belong to a process or checkout still at work

COMPILING = "bombay_env: compiling its kernels for this machine; this takes up to a minute, "
ONCE = "and only the first time\n"
EACH_TIME = "and again in each process, since no cache folder of your own can be written to\n"

CHECKSUM_SIZE = hashlib.sha256().digest_size


def source_files() -> list[tuple[str, Path]]:
    """Name and path of every source of the three packages, sorted by name.

    Raises:
        OSError: the sources of a package are not there to be read, as in a zip file.
    """
    files = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)  # finds without importing
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            found = list(Path(folder).rglob("*.py"))
            if not found:
                raise FileNotFoundError(folder)
            files += [(f"{package}/{path.relative_to(folder).as_posix()}", path) for path in found]
    return sorted(files)


def source_stamps(files: list[tuple[str, Path]]) -> list[tuple[int, int]]:
    """What tells cheaply that a source was edited: when it was last written, and its size."""
    return [(info.st_mtime_ns, info.st_size) for info in (path.stat() for _, path in files)]


def source_digest(files: list[tuple[str, Path]]) -> str:
    """Hex digest of the sources, and of the versions of all that turns them into machine code."""
    digest = hashlib.sha256()
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    for text in (*versions, *(name + hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files)):
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()[:24]


def settings() -> list[tuple[str, str]]:
    """Numba's settings that may shape machine code, as they are now: bounds checks, optimisation, the processor, and others."""
    named = ((name, repr(value)) for name, value in vars(CONFIG).items() if name.isupper())
    return sorted(pair for pair in named if not NEUTRAL_SETTINGS.fullmatch(pair[0]))


def take_folder(folder: Path) -> bool:
    """Make `folder` for this user alone, or see that it is; tells whether it is new.

    Raises:
        OSError: it cannot be made, or it or a link to it belongs to somebody else, whose files we would unpickle.
    """
    try:
        folder.mkdir(mode=0o700)
        new = True
    except FileExistsError:
        new = False
    if hasattr(os, "geteuid"):
        if {folder.lstat().st_uid, folder.stat().st_uid} != {os.geteuid()}:
            raise PermissionError(folder)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
    return new


def prune(parent: Path) -> None:
    """Remove the folders of older sources; a folder's time is that of its last use."""
    with contextlib.suppress(OSError):
        folders = [folder for folder in parent.iterdir() if re.fullmatch("[0-9a-f]{24}", folder.name)]
        used = sorted(((folder.stat().st_mtime, folder) for folder in folders), reverse=True)
        for last, folder in used[FOLDERS_KEPT:]:
            if last < time.time() - LATELY:
                shutil.rmtree(folder, ignore_errors=True)


def cache_folder(name: str) -> Path | None:
    """The folder `name` for compiled code, mode 0700; None where no folder of the user's own can be had."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():  # unset, or to be ignored by the standard that names the variable
            base = Path.home() / ".cache"
        folder = base / "bombay_env" / name
        base.mkdir(parents=True, exist_ok=True)
        take_folder(folder.parent)
        new = take_folder(folder)
    except (OSError, RuntimeError):  # RuntimeError: nobody's home
        return None
    with contextlib.suppress(OSError):  # a folder that can only be read is still worth reading
        os.utime(folder)
    if new:
        prune(folder.parent)
    return folder


def checksum(path: Path, body: bytes) -> bytes:
    """What a file begins with; the name is in it, so that files that changed places are no good either."""
    return hashlib.sha256(path.name.encode() + b"\n" + body).digest()


def read(path: Path) -> bytes:
    """What `write` wrote.

    Raises:
        OSError: there is no such file.
        ValueError: it is damaged, or somebody else's.
    """
    with path.open("rb") as file:
        foreign = hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid != os.geteuid()
        data = file.read()
    found, body = data[:CHECKSUM_SIZE], data[CHECKSUM_SIZE:]
    if foreign or found != checksum(path, body):
        raise ValueError(path)
    return body


def write(path: Path, body: bytes) -> None:
    """Write a file that only this user may read or write, at one stroke: another process sees all of it or nothing.

    Raises:
        OSError: it could not be written; nothing is left behind.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(checksum(path, body) + body)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


class Store:
    """The folder of this process, and what it holds of the sources as they were when the process began.

    Attributes:
        folder: where the code lies; None where nothing is kept.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.announced = False
        try:
            self.files = source_files()
            self.stamps = source_stamps(self.files)
            self.folder = cache_folder(source_digest(self.files))
        except (OSError, ValueError):  # no sources to be read, or a package made up at run time
            return

    def usable(self) -> bool:
        """Whether there is a folder, and the sources are still those it is named after.

        A module imported after an edit would leave its code under the old sources' name, where it would be found once the edit
        is taken back.
        """
        return self.folder is not None and source_stamps(self.files) == self.stamps

    def announce(self) -> None:
        """Say on stderr, once in a process, why it takes a while."""
        if not self.announced:
            self.announced = True
            kept = self.folder is not None and os.access(self.folder, os.W_OK)
            with contextlib.suppress(AttributeError, OSError, ValueError):  # no stderr, or one that is closed
                sys.stderr.write(COMPILING + (ONCE if kept else EACH_TIME))


STORE = Store()


class KernelCache:
    """What Numba asks for a kernel's code before it compiles and hands it to afterwards, by Numba's names for the methods.

    Args:
        function: the kernel in plain Python.
        options: Numba's options for it; the same function with others is another entry.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.name = f"{function.__module__}.{function.__name__}"
        self.identity = (function.__qualname__, function.__code__.co_firstlineno, sorted(options.items()))

    @property
    def cache_path(self) -> str:
        """The folder, as Numba's statistics name it."""
        return str(STORE.folder)

    def flush(self) -> None:
        """Remove this kernel's files, which Numba's `recompile` asks for."""
        with contextlib.suppress(OSError):
            for path in STORE.folder.glob(f"{self.name}.*") if STORE.folder else ():
                path.unlink(missing_ok=True)

    def path(self, signature: Any, codegen: Any) -> Path:
        """The file for these argument types on this processor under the settings of now."""
        key = repr((self.identity, signature, codegen.magic_tuple(), settings()))
        assert STORE.folder is not None
        return STORE.folder / f"{self.name}.{hashlib.sha256(key.encode()).hexdigest()[:32]}.kernel"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code for these argument types, or None after saying that it will be compiled."""
        target.refresh()  # as Numba does: readies the context
        # Exception: Numba's internals may be other ones in another version, and compiling is always right.
        with contextlib.suppress(Exception):
            if STORE.usable():
                path = self.path(signature, target.codegen())
                held, code = pickle.loads(read(path))
                if held == signature:  # types may share a name
                    return RESULT._rebuild(target, *code)
        STORE.announce()
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code just compiled, if that can be done; an address in it would mean nothing to another process."""
        with contextlib.suppress(Exception):  # as above; and a full disk is no reason to stop
            if STORE.usable() and not result.library.has_dynamic_globals:
                write(self.path(signature, result.library.codegen), DUMPS((signature, result._reduce())))
