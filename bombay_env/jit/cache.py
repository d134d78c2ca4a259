"""Compiled kernels on disk, kept from one process to the next: Numba's own cache in a folder of ours.

Numba by itself notices edits only in the file of the function that it keeps, and no other settings. So the name of our folder has
a digest of all sources, versions and settings that affect the compiled code of a package. Files are written under a lock: two
processes that write to one index file can make it point to the wrong code. If a file or the folder cannot be used, the kernel is
compiled and its code is not kept. Importing this module does not touch the disk.

The files are pickles with machine code, and loading one executes it. So the folder must belong to this user, and nobody else may
have access to it. Read `parts.py` next.
"""

import contextlib
import functools
import hashlib
import multiprocessing
import os
import re
import shutil
import sys
import time
import uuid
from pathlib import Path
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from filelock import FileLock
from numba.core import types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

from bombay_env.jit import symbols  # noqa: F401  cached functions have the names that it gives

# Kernels call those of their own package and of earlier ones.
PACKAGES: Final = ("bombay_env", "bombay_agents", "bombay_training")
STARTED: Final = time.time()
FOLDERS_KEPT: Final = 12  # of other sources, versions and settings: those that were used last
# All settings of Numba count as shaping machine code, except those known not to. So a new setting is never overlooked.
NEUTRAL: Final = re.compile("CACHE_DIR|NUMBA_.*NUM_THREADS|THREADING_LAYER.*|DISABLE_PERFORMANCE_WARNINGS|CUDA.*")

compiled: Final[list[str]] = []  # names of the kernels that this process compiled


def note_compilation(name: str, problem: str) -> None:
    """Note that a kernel is about to be compiled, and why its code cannot be kept, if so. Tells the user at the second kernel."""
    compiled.append(name)
    if len(compiled) == 2 and multiprocessing.parent_process() is None:  # with worker processes, one line is enough
        when = "but only the first time; `bombay warm-up` compiles all of them"
        if problem:
            when = f"in each process again, because compiled code cannot be kept: {problem}"
        with contextlib.suppress(AttributeError, OSError, ValueError):  # there is no stderr, or it is closed
            sys.stderr.write(f"bombay_env: compiling kernels for this machine, which takes up to a minute, {when}\n")


def up_to(package: str) -> tuple[str, ...]:
    """A package and those before it."""
    return PACKAGES[: PACKAGES.index(package) + 1]


@functools.cache
def sources(package: str) -> list[Path]:
    """The sources that kernels of `package` depend on. Raises OSError if there are none, as for a package in a zip file."""
    folders = [Path(path) for name in up_to(package) for path in sys.modules[name].__path__]
    if not all(folder.is_dir() for folder in folders):
        raise OSError(f"the sources of {package} are not in a folder")
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


@functools.cache
def digest(package: str) -> str:
    """24 hex digits for all that shapes machine code of `package`, except the processor, which Numba looks at."""
    settings = sorted((name, repr(value)) for name, value in vars(numba.config).items() if name.isupper())
    versions = sys.version, numba.__version__, llvmlite.__version__, np.__version__
    hashed = hashlib.sha256(repr((versions, [pair for pair in settings if not NEUTRAL.fullmatch(pair[0])])).encode())
    for path in sources(package):
        hashed.update(f"{path} {len(source := path.read_bytes())}\n".encode() + source)
    return hashed.hexdigest()[:24]


@functools.cache
def folder(package: str) -> Path:
    """The folder for compiled code of `package`, which is created if needed.

    Raises:
        OSError, RuntimeError: it cannot be used. The message names it and says why.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if numba.config.CACHE_DIR:
        base = Path(numba.config.CACHE_DIR).absolute()
    elif not base.is_absolute():  # not set, or ignored, as the standard for this variable says
        base = Path.home() / ".cache"  # RuntimeError: there is no home folder
    ours = base / "bombay_env"
    ours.mkdir(0o700, parents=True, exist_ok=True)
    info = ours.stat()
    # On Windows, which has no such owners and modes, a user's profile is private.
    if hasattr(os, "geteuid") and (info.st_uid != os.geteuid() or info.st_mode & 0o077):
        raise PermissionError(f"others have access to {ours}")
    path = ours / f"{package}-{digest(package)}"
    if path.exists():
        with contextlib.suppress(OSError):
            os.utime(path)  # it is in use
    else:
        path.mkdir(exist_ok=True)
        for old in sorted(ours.iterdir(), key=os.path.getmtime)[:-FOLDERS_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    return path


def obstacle(package: str = PACKAGES[0]) -> str:
    """Why there is no folder for compiled code of `package`, with the remedy; empty if there is."""
    try:
        if os.access(path := folder(package), os.W_OK):
            return ""
        problem = f"{path} cannot be written to"
    except (OSError, RuntimeError) as error:
        problem = str(error)
    return f"{problem}; set XDG_CACHE_HOME or NUMBA_CACHE_DIR to a folder of your own"


class Locator(_CacheLocator):
    """Where Numba keeps the code of a function, and what distinguishes its files from others. Numba named the methods."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.package, line = package_of(function), function.__code__.co_firstlineno
        described = f"{function.__module__} {line} {sorted(options.items())}"
        self.variant = hashlib.sha256(described.encode()).hexdigest()[:12]

    def get_cache_path(self) -> str:
        """The folder."""
        return str(folder(self.package))

    def get_source_stamp(self) -> str:
        """Nothing: the folder is named by a digest of the sources."""
        return ""

    def get_disambiguator(self) -> str:
        """12 hex digits."""
        return self.variant


class CodeForm(CompileResultCacheImpl):
    """Numba's form of compiled code on disk."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        # Not by Numba's own `__init__`: a setting of the environment may replace the locator there.
        self._lineno, self._locator = function.__code__.co_firstlineno, Locator(function, options)
        self._filename_base = self.get_filename_base(f"{function.__module__}.{function.__qualname__}", "")

    def check_cachable(self, result: Any) -> bool:
        """Whether code can be kept: code that contains an address is useless in another process."""
        return not result.library.has_dynamic_globals


class KernelCache(FunctionCache):
    """What Numba asks for the code of a function before it compiles, and gives the code to afterwards.

    Args:
        function: one of ours that is no closure.
        options: Numba's options for it. The same function with other options is another entry.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.function, self.package = function, package_of(function)
        self._impl_class = functools.partial(CodeForm, options=options)

    @functools.cached_property
    def files(self) -> list[Path]:
        """The sources, after getting ready."""
        super().__init__(self.function)
        # A name of its own for every file: Numba numbers them, so after a failure the index could lead to other code.
        self._cache_file._data_name = lambda number: f"{self._impl.filename_base}.{uuid.uuid4().hex}.nbc"
        return sources(self.package)

    def check(self, signature: Any) -> None:
        """Raise OSError or RuntimeError if the code for these argument types cannot be kept."""
        for path in self.files:
            info, now = path.stat(), time.time()
            # ctime: a copy may keep the time of its original. A time to come, from another clock, is no time of an edit.
            if STARTED < info.st_mtime <= now or STARTED < info.st_ctime <= now:
                raise OSError(f"{path} was edited while this process ran; start it again to keep code")
        # An argument's class may decide which kernel is called, and the digest does not cover a kernel from elsewhere.
        waiting: list[Any] = list(getattr(signature, "args", signature))
        for kind in waiting:
            if isinstance(kind, types.BaseNamedTuple) and package_of(kind.instance_class) not in up_to(self.package):
                raise OSError(f"{kind.instance_class} is not ours")
            waiting += getattr(kind, "types", ())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The code for these argument types; None, after `note_compilation`, if it must be compiled."""
        problem = obstacle(self.package)
        try:
            self.check(signature)
            if code := self._load(signature, target_context):
                return code
        except (OSError, RuntimeError) as error:
            problem = problem or str(error)
        note_compilation(f"{self.function.__module__}.{self.function.__name__}", problem)
        return None

    def _load(self, signature: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(signature, target_context)
        except Exception:  # a damaged file; compiling is always correct
            with contextlib.suppress(Exception), self._lock():
                self.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep code that was just compiled, if possible."""
        with contextlib.suppress(Exception):  # a full disk is no reason to stop
            self.check(signature)
            with self._lock():
                super().save_overload(signature, data)

    def _lock(self) -> FileLock:
        return FileLock(folder(self.package) / ".lock", timeout=10)


def package_of(defined: Any) -> str:
    """The package in which a function or class is defined."""
    return str(defined.__module__).partition(".")[0]
