"""Compiled kernels on disk, from one process to the next: a folder of the user's own, one file for each compiled signature.

Numba's own cache notices an edit only in the file that holds the function, ignores settings of the environment, unpickles what
it finds, and keeps an index that two processes can set at odds with the code it points to. Here the folder is named by a digest
of the versions, and a file by a digest of the kernel's sources, signature, options and settings, so no index is needed; and a
file begins with a digest of its contents, so that nothing damaged is unpickled. Whatever goes wrong with a file or a folder,
the kernel is compiled and not kept. Knows nothing of the game; `jit/kernels.py` is the next to read.
"""

import contextlib
import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, registry, serialize

from bombay_env.jit.notice import NOTICE
from bombay_env.jit.parts import PartLibrary
from bombay_env.jit.sources import Sources

CONFIG: Any = numba.config  # its settings come about at run time, where no type checker sees them
RESULT: Any = compiler.CompileResult  # untyped, as are the next
MAKE_RESULT: Any = compiler.compile_result
DUMPS: Any = serialize.dumps

# Raised when what is kept in a file changes, or how sources are digested.
FORMAT = 1

# Every setting of Numba counts as one that shapes machine code, but for those known not to: a new one is then never overlooked.
NEUTRAL_SETTINGS = re.compile(
    r"CACHE_DIR|NUMBA_NUM_THREADS|NUMBA_DEFAULT_NUM_THREADS|THREADING_LAYER.*|DISABLE_PERFORMANCE_WARNINGS|CUDA.*"
)

DAY = 24 * 60 * 60  # seconds
LATELY = DAY  # what was used since may belong to a process or a checkout still at work, and stays
FOLDERS_KEPT = 5  # of other versions, the ones last used
UNUSED_FOR = 30 * DAY  # files not used for so long are removed
BYTES_KEPT = 1 << 30  # in a folder; beyond that, the files used longest ago are removed

CHECKSUM_SIZE = hashlib.sha256().digest_size


def versions_digest() -> str:
    """Hex digest of the versions of everything that turns sources into machine code."""
    versions = (str(FORMAT), sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:24]


def settings() -> list[tuple[str, str]]:
    """Numba's settings that may shape machine code, as they are now: bounds checks, optimisation, the processor, and others."""
    named = ((name, repr(value)) for name, value in vars(CONFIG).items() if name.isupper())
    return sorted(pair for pair in named if not NEUTRAL_SETTINGS.fullmatch(pair[0]))


def code_identity(code: CodeType, docstring: str | None) -> tuple[Any, ...]:
    """What a function's code is made of, less its docstring and line numbers: tells apart functions of one name and module."""
    constants = [
        code_identity(one, None) if isinstance(one, CodeType) else None if one is docstring else one
        for one in code.co_consts
    ]
    return code.co_name, code.co_varnames, code.co_freevars, code.co_names, code.co_code, constants


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


def prune_folders(parent: Path) -> None:
    """Remove the folders of other versions, but for the ones last used; a folder's time is that of its last use."""
    with contextlib.suppress(OSError):
        folders = [folder for folder in parent.iterdir() if re.fullmatch("[0-9a-f]{24}", folder.name)]
        used = sorted(((folder.stat().st_mtime, folder) for folder in folders), reverse=True)
        for last, folder in used[FOLDERS_KEPT:]:
            if last < time.time() - LATELY:
                shutil.rmtree(folder, ignore_errors=True)


def prune_files(folder: Path) -> None:
    """Remove files not used for long and, if all together are large, those used longest ago; a file's time is its last use."""
    now = time.time()
    with contextlib.suppress(OSError):
        found = [(path.stat(), path) for path in folder.iterdir()]
        size = 0
        for info, path in sorted(found, key=lambda pair: pair[0].st_mtime, reverse=True):
            size += info.st_size
            unused = now - info.st_mtime
            if unused > UNUSED_FOR or (size > BYTES_KEPT and unused > LATELY):
                path.unlink(missing_ok=True)


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
        prune_folders(folder.parent)
    return folder


def checksum(path: Path, body: bytes) -> bytes:
    """What a file begins with; the name is in it, so that files that changed places are no good either."""
    return hashlib.sha256(path.name.encode() + b"\n" + body).digest()


def read(path: Path) -> bytes:
    """What `write` wrote; the file's time becomes that of its last use, to the day.

    Raises:
        OSError: there is no such file.
        ValueError: it is damaged, or somebody else's.
    """
    with path.open("rb") as file:
        info = os.fstat(file.fileno())
        foreign = hasattr(os, "geteuid") and info.st_uid != os.geteuid()
        data = file.read()
    found, body = data[:CHECKSUM_SIZE], data[CHECKSUM_SIZE:]
    if foreign or found != checksum(path, body):
        raise ValueError(path)
    if info.st_mtime < time.time() - DAY:
        with contextlib.suppress(OSError):
            os.utime(path)
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
    """The folder of this process, and the sources as they were when the process began.

    Attributes:
        folder: holds the compiled code; None where nothing is kept.
        sources: None where they cannot be found.
    """

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.sources: Sources | None = None
        self.pruned = False
        with contextlib.suppress(OSError, ValueError):  # no sources to be read, or a package made up at run time
            self.sources = Sources(self.recall, self.keep)
            self.folder = cache_folder(versions_digest())

    def digest(self, module: str) -> str:
        """Digest of the sources that a kernel of this module depends on.

        Raises:
            OSError: nothing is kept here, or a source was edited since the process began. Code of a module imported after the
                edit would stay under the old sources' name, and be found once the edit is taken back.
            KeyError: the module is none of ours.
        """
        if self.folder is None or self.sources is None:
            raise OSError("no folder")
        return self.sources.digest(module)

    def recall(self, name: str) -> bytes | None:
        """What was kept under a name; None if that is nothing."""
        try:
            return read(self.folder / f"{name}.source") if self.folder else None
        except (OSError, ValueError):
            return None

    def keep(self, name: str, body: bytes) -> None:
        """Keep `body` under a name, if that can be done."""
        with contextlib.suppress(OSError):
            self.write(f"{name}.source", body)

    def write(self, name: str, body: bytes) -> None:
        """Write a file, and once in a process remove old ones.

        Raises:
            OSError: there is no folder, or the file could not be written.
        """
        if self.folder is None:
            raise OSError("no folder")
        write(self.folder / name, body)
        if not self.pruned:
            self.pruned = True
            prune_files(self.folder)

    def writable(self) -> bool:
        """Whether code can be kept."""
        return self.folder is not None and os.access(self.folder, os.W_OK)

    def is_noted(self, module: str, what: object) -> bool:
        """Whether `note` was called with the same, for the present sources that `module` depends on, settings and processor."""
        with contextlib.suppress(OSError, KeyError, ValueError):
            return read(self._note(module, what)) == b""
        return False

    def note(self, module: str, what: object) -> None:
        """Note that something is done that need not be done again, if that can be kept; `what` is told by its `repr`."""
        with contextlib.suppress(OSError, KeyError):
            self.write(self._note(module, what).name, b"")

    def _note(self, module: str, what: object) -> Path:
        codegen: Any = registry.cpu_target.target_context.codegen()
        key = repr((self.digest(module), what, codegen.magic_tuple(), settings()))
        assert self.folder is not None
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.note"


STORE = Store()


class KernelCache:
    """What Numba asks for a kernel's code before it compiles and hands it to afterwards, by Numba's names for the methods.

    Args:
        function: the kernel in plain Python.
        options: Numba's options for it; the same function with others is another entry.
    """

    SUFFIX = "kernel"

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.module = function.__module__
        self.name = f"{function.__module__}.{function.__name__}"
        self.identity = (
            function.__qualname__,
            code_identity(function.__code__, function.__doc__),
            sorted(options.items()),
        )

    @property
    def cache_path(self) -> str:
        """The folder, as Numba's statistics name it."""
        return str(STORE.folder)

    def flush(self) -> None:
        """Remove this kernel's files, which Numba's `recompile` asks for."""
        with contextlib.suppress(OSError):
            for path in STORE.folder.glob(f"{self.name}.*.{self.SUFFIX}") if STORE.folder else ():
                path.unlink(missing_ok=True)

    def path(self, signature: Any, codegen: Any) -> Path:
        """The file for these argument types on this processor, under the present settings and sources.

        Raises:
            OSError, KeyError: nothing is kept of this kernel, as `Store.digest` has it.
        """
        key = repr((STORE.digest(self.module), self.identity, signature, codegen.magic_tuple(), settings()))
        assert STORE.folder is not None
        return STORE.folder / f"{self.name}.{hashlib.sha256(key.encode()).hexdigest()[:32]}.{self.SUFFIX}"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code for these argument types, or None after saying that it will be compiled."""
        target.refresh()  # as Numba does: readies the context
        # Exception: Numba's internals may be other ones in another version, and compiling is always right.
        with contextlib.suppress(Exception):
            held, code = pickle.loads(read(self.path(signature, target.codegen())))
            if held == signature:  # types may share a name
                return self.unpack(target, code)
        NOTICE.compiling(self.name, STORE.writable())
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code just compiled, if that can be done; an address in it would mean nothing to another process."""
        with contextlib.suppress(Exception):  # as above; and a full disk is no reason to stop
            if not result.library.has_dynamic_globals:
                path = self.path(signature, result.library.codegen)
                STORE.write(path.name, DUMPS((signature, self.pack(result))))

    def pack(self, result: Any) -> tuple[Any, ...]:
        """What to pickle of Numba's result."""
        code: tuple[Any, ...] = result._reduce()
        return code

    def unpack(self, target: Any, code: tuple[Any, ...]) -> Any:
        """Numba's result again."""
        return RESULT._rebuild(target, *code)


class PartCache(KernelCache):
    """The same for a kernel as other kernels call it: code for the linker, none for the machine."""

    SUFFIX = "part"

    def pack(self, result: Any) -> tuple[Any, ...]:
        """What to pickle of Numba's result."""
        result.fndesc.typemap = result.fndesc.calltypes = None  # as Numba does: they are not needed, and large
        return result.library.bitcode(), result.fndesc, result.environment, result.signature, result.reload_init

    def unpack(self, target: Any, code: tuple[Any, ...]) -> Any:
        """Numba's result again."""
        bitcode, fndesc, environment, signature, reload_init = code
        for load in reload_init:
            load()
        library = PartLibrary.with_bitcode(target, bitcode)
        library._reload_init.update(reload_init)
        return MAKE_RESULT(
            target_context=target,
            typing_context=target.typing_context,
            entry_point=library,
            library=library,
            fndesc=fndesc,
            environment=environment,
            signature=signature,
            objectmode=False,
            reload_init=reload_init,
        )
