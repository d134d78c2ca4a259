"""Compiled kernels on disk, kept from one process to the next. Importing this module does not touch the disk.

Numba's own cache notices edits only in the file of the function that it keeps. Here a folder's name has a digest of all sources,
versions and settings that affect the compiled code of a package. A file in it has the code of one function for one signature; it
is written atomically, so several processes may write it at the same time. If the folder cannot be used, kernels are compiled and
not kept.

The files are pickles with machine code, and loading one executes it. So the folder must belong to this user, and nobody else may
have access to it. Read `parts.py` next.
"""

import contextlib
import functools
import hashlib
import multiprocessing
import os
import pickle
import re
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from numba.core import serialize, types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult

from bombay_env.files import atomic

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


def package_of(defined: Any) -> str:
    """The package in which a function or class is defined."""
    return str(defined.__module__).partition(".")[0]


@functools.cache
def sources(package: str) -> list[Path]:
    """The sources that kernels of `package` depend on. Raises OSError if there are none, as for a package in a zip file."""
    folders = [Path(path) for name in up_to(package) for path in sys.modules[name].__path__]
    if not all(folder.is_dir() for folder in folders):
        raise OSError(f"the sources of {package} are not in a folder")
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


@functools.cache
def digest(package: str) -> str:
    """24 hex digits for all that shapes machine code of `package`, except the processor."""
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


def check_unedited(package: str) -> None:
    """Raise OSError if a source was edited since this process started, which may have imported it before."""
    for path in sources(package):
        info, now = path.stat(), time.time()
        # ctime: a copy may keep the time of its original. A time to come, from another clock, is no time of an edit.
        if STARTED < info.st_mtime <= now or STARTED < info.st_ctime <= now:
            raise OSError(f"{path} was edited while this process ran; start it again to keep code")


class KernelCache(NullCache):
    """What Numba asks for the code of a function before it compiles, and gives the code to afterwards.

    Args:
        function: one of ours that is no closure.
        options: Numba's options for it. The same function with other options has other files.
    """

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        code, self.package = function.__code__, package_of(function)
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.variant = code.co_firstlineno, code.co_code, sorted(options.items())

    def file(self, signature: Any, context: Any) -> Path:
        """The file for these argument types. Raises OSError or RuntimeError if their code cannot be kept."""
        check_unedited(self.package)
        # An argument's class may decide which kernel is called, and the digest does not cover a kernel from elsewhere.
        waiting = list(getattr(signature, "args", signature))
        for kind in waiting:
            if isinstance(kind, types.BaseNamedTuple) and package_of(kind.instance_class) not in up_to(self.package):
                raise OSError(f"{kind.instance_class} is not ours")
            waiting += getattr(kind, "types", ())
        described = repr((self.variant, str(signature), context.codegen().magic_tuple()))  # the last is the processor
        return folder(self.package) / f"{self.name}-{hashlib.sha256(described.encode()).hexdigest()[:24]}.nbc"

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The code for these argument types; None, after `note_compilation`, if it must be compiled."""
        context.refresh()
        problem = ""
        try:
            file = self.file(signature, context)
        except (OSError, RuntimeError) as error:
            problem = str(error)
        else:
            with contextlib.suppress(Exception):  # no such file, or a damaged one; compiling is always correct
                kept, code = pickle.loads(file.read_bytes())
                if kept == signature:  # different types may have the same name
                    return CompileResult._rebuild(context, *code)
        note_compilation(self.name, obstacle(self.package) or problem)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep code that was just compiled, if possible. Code that contains an address is useless in another process."""
        if not result.library.has_dynamic_globals:
            with contextlib.suppress(Exception):  # a full disk is no reason to stop
                file = self.file(signature, result.target_context)
                atomic.write_bytes(file, serialize.dumps((signature, result._reduce())))


# --- names of record types ---


@functools.lru_cache(maxsize=1024)
def record_name(fields: str) -> str:
    """`Record` and 32 hex digits for Numba's description of a record type, with all of its fields, offsets, and its size."""
    return f"Record{hashlib.sha256(fields.encode()).hexdigest()[:32]}"


# Numba numbers record types anew in each process, and the number of an argument's type is part of a function's name. So functions
# for different records, compiled in different processes, can have the same name. If both are then loaded from disk into one
# process, one of them is called instead of the other and reads fields at wrong places: `test_numba.py` shows it in 20 lines.
types.Record.mangling_args = property(lambda record: (record_name(record.name), ()))
