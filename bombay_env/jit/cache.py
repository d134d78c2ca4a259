"""Compiled kernels on disk, kept from one process to the next: one file for each compiled signature.

Numba's own cache notices edits only in the file that contains the function, ignores settings of the environment, and has an index
that two processes can make inconsistent with the code. Here no index is needed: the folder is named by a digest of the versions,
and a file by a digest of the sources of the kernel and of its arguments' classes, and of signature, options and settings. A file
begins with a digest of its contents, so damaged files are recognised. Whatever goes wrong with a file or the folder, the kernel
is compiled and not kept.

The files are pickles that contain machine code. Numba has no other form for what surrounds the code: argument types, the layout
of records, constants and the functions to call at loading; a format of our own would have to follow Numba's internals in every
version. It would not be safer either, because the machine code in the file is executed anyway. The digests do not help against
an attacker, since they use no secret. What does help is that nobody else can write to the folder (`folder.py`).

This module knows nothing about the game. Read `kernels.py` next.
"""

import contextlib
import hashlib
import os
import pickle
import re
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import compiler, registry, serialize, types

from bombay_env.jit import symbols  # noqa: F401  cached functions have the names that it gives
from bombay_env.jit.folder import OwnFolder, open_own_folder
from bombay_env.jit.notice import NOTICE
from bombay_env.jit.parts import PartLibrary
from bombay_env.jit.sources import Sources

CONFIG: Any = numba.config  # its settings are made at run time, so type checkers do not know them
RESULT: Any = compiler.CompileResult  # untyped, like the next two
MAKE_RESULT: Any = compiler.compile_result
DUMPS: Any = serialize.dumps

# Increase it when the contents of the files change, the names of functions in them, or the way sources are digested.
FORMAT = 3

# All settings of Numba count as shaping machine code, except those known not to. So a new setting is never overlooked.
NEUTRAL_SETTINGS = re.compile(
    r"CACHE_DIR|NUMBA_NUM_THREADS|NUMBA_DEFAULT_NUM_THREADS|THREADING_LAYER.*|DISABLE_PERFORMANCE_WARNINGS|CUDA.*"
)

FOLDER_NAME = "[0-9a-f]{24}"  # of `versions_digest`


def versions_digest() -> str:
    """24 hex digits for the versions of everything that turns sources into machine code."""
    versions = (str(FORMAT), sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:24]


def settings() -> list[tuple[str, str]]:
    """Numba's current settings that may shape machine code: bounds checks, optimisation, the processor and others."""
    named = ((name, repr(value)) for name, value in vars(CONFIG).items() if name.isupper())
    return sorted(pair for pair in named if not NEUTRAL_SETTINGS.fullmatch(pair[0]))


def code_identity(code: CodeType, docstring: str | None) -> tuple[Any, ...]:
    """What distinguishes functions with the same name and module: the code, without docstring and line numbers."""
    constants = [
        code_identity(one, None) if isinstance(one, CodeType) else None if one is docstring else one
        for one in code.co_consts
    ]
    return code.co_name, code.co_varnames, code.co_freevars, code.co_names, code.co_code, constants


def class_modules(signature: Any) -> set[str]:
    """The modules of the NamedTuple classes among some argument types, nested ones too.

    An argument's class may decide which kernel is called, and that kernel is in a module that the caller need not import.
    """
    modules: set[str] = set()
    waiting: list[Any] = list(getattr(signature, "args", signature))
    while waiting:
        kind: Any = waiting.pop()
        if isinstance(kind, types.BaseNamedTuple):
            modules.add(kind.instance_class.__module__)  # type: ignore[attr-defined]  # Numba has no types
        if isinstance(kind, types.BaseTuple):
            waiting += kind.types  # type: ignore[attr-defined]
    return modules


def cache_folder(name: str) -> OwnFolder:
    """The folder `name` for compiled code.

    Raises:
        OSError, RuntimeError: it cannot be used, for example because others can change it. The message says why.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # not set, or ignored, as the standard for this variable says
        base = Path.home() / ".cache"  # RuntimeError: there is no home folder
    folder, new = open_own_folder(base / "bombay_env" / name)
    folder.note_use()
    if new:
        folder.prune_siblings(FOLDER_NAME)
    return folder


class Store:
    """The folder of this process, and the sources as they were when the process started.

    Attributes:
        folder: contains the compiled code; None if nothing is kept.
        problem: why nothing is kept; empty if `folder` is given.
        sources: None if they cannot be found.
    """

    def __init__(self) -> None:
        self.folder: OwnFolder | None = None
        self.problem = ""
        self.sources: Sources | None = None
        self.pruned = False
        try:
            self.sources = Sources(self.recall, self.keep)
        except (OSError, ValueError) as error:  # ValueError: a package was created at run time
            self.problem = str(error)
        else:
            self.open()

    def open(self) -> None:
        """Open the folder, or note why there is none."""
        self.folder, self.problem = None, ""
        try:
            self.folder = cache_folder(versions_digest())
        except (OSError, RuntimeError) as error:
            self.problem = str(error)

    def digest(self, module: str) -> str:
        """Digest of the sources that a kernel of this module depends on.

        Raises:
            OSError: nothing is kept, or a source was edited since the process started. Otherwise code of a module that was
                imported after the edit would be kept under the name of the old sources, and be used once the edit is undone.
            KeyError: the module does not belong to this project.
        """
        if self.folder is None or self.sources is None:
            raise OSError("no folder")
        return self.sources.digest(module)

    def recall(self, name: str) -> bytes | None:
        """What was kept under a name; None if there is nothing."""
        try:
            return self.folder.read(f"{name}.source") if self.folder else None
        except (OSError, ValueError):
            return None

    def keep(self, name: str, body: bytes) -> None:
        """Keep `body` under a name if possible."""
        with contextlib.suppress(OSError):
            self.write(f"{name}.source", body)

    def write(self, name: str, body: bytes) -> None:
        """Write a file. The first call in a process also removes old files.

        Raises:
            OSError: there is no folder, or the file could not be written.
        """
        if self.folder is None:
            raise OSError("no folder")
        self.folder.write(name, body)
        if not self.pruned:
            self.pruned = True
            self.folder.prune()

    def read(self, name: str) -> bytes:
        """What `write` wrote. Raises OSError if there is no such file, ValueError if it is damaged or not this user's."""
        if self.folder is None:
            raise OSError("no folder")
        return self.folder.read(name)

    def obstacle(self) -> str:
        """Why code cannot be kept; empty if it can."""
        if self.folder is None:
            return self.problem or "there is no folder"
        return "" if self.folder.is_writable() else f"{self.folder.path} cannot be written to"

    def is_noted(self, module: str, what: object) -> bool:
        """Whether `note` was called with these arguments, under the current sources of `module`, settings and processor."""
        with contextlib.suppress(OSError, KeyError, ValueError):
            return self.read(self._note(module, what)) == b""
        return False

    def note(self, module: str, what: object) -> None:
        """Note that something is done and need not be done again, if that can be kept. `what` is identified by its `repr`."""
        with contextlib.suppress(OSError, KeyError):
            self.write(self._note(module, what), b"")

    def _note(self, module: str, what: object) -> str:
        codegen: Any = registry.cpu_target.target_context.codegen()
        key = repr((self.digest(module), what, codegen.magic_tuple(), settings()))
        return f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.note"


STORE = Store()


class KernelCache:
    """What Numba asks for the code of a kernel before it compiles, and gives the code to afterwards. Numba named the methods.

    Args:
        function: the kernel in plain Python.
        options: Numba's options for it. The same function with other options is another entry.
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
        """The folder, for Numba's statistics."""
        return str(STORE.folder.path if STORE.folder else None)

    def flush(self) -> None:
        """Remove the files of this kernel. Numba's `recompile` calls it."""
        if STORE.folder is None:
            return
        with contextlib.suppress(OSError):
            for name, _ in STORE.folder.entries():
                if name.startswith(f"{self.name}.") and name.endswith(f".{self.SUFFIX}"):
                    STORE.folder.remove(name)

    def file_name(self, signature: Any, codegen: Any) -> str:
        """The file for these argument types on this processor, under the current settings and sources.

        Raises:
            OSError, KeyError: this kernel is not kept; see `Store.digest`.
        """
        digests = [STORE.digest(module) for module in sorted({self.module} | class_modules(signature))]
        key = repr((digests, self.identity, signature, codegen.magic_tuple(), settings()))
        return f"{self.name}.{hashlib.sha256(key.encode()).hexdigest()[:32]}.{self.SUFFIX}"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code for these argument types; None, after telling `NOTICE`, if it must be compiled."""
        target.refresh()  # prepares the context, as in Numba's own cache
        # Exception: in another version, Numba's internals may differ, and compiling is always correct.
        with contextlib.suppress(Exception):
            held, code = pickle.loads(STORE.read(self.file_name(signature, target.codegen())))
            if held == signature:  # different types may have the same name
                return self.unpack(target, code)
        NOTICE.compiling(self.name, STORE.obstacle())
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep code that was just compiled, if possible. Code that contains an address is useless in another process."""
        with contextlib.suppress(Exception):  # as above; a full disk is no reason to stop either
            if not result.library.has_dynamic_globals:
                name = self.file_name(signature, result.library.codegen)
                STORE.write(name, DUMPS((signature, self.pack(result))))

    def pack(self, result: Any) -> tuple[Any, ...]:
        """The parts of Numba's result to pickle."""
        code: tuple[Any, ...] = result._reduce()
        return code

    def unpack(self, target: Any, code: tuple[Any, ...]) -> Any:
        """The result, made from what `pack` returned."""
        return RESULT._rebuild(target, *code)


class PartCache(KernelCache):
    """The same for a kernel that other kernels call: it keeps code for the linker instead of machine code."""

    SUFFIX = "part"

    def pack(self, result: Any) -> tuple[Any, ...]:
        """The parts of Numba's result to pickle."""
        # As in Numba's own cache: they are large, and not needed.
        result.fndesc.typemap = result.fndesc.calltypes = None
        return result.library.bitcode(), result.fndesc, result.environment, result.signature, result.reload_init

    def unpack(self, target: Any, code: tuple[Any, ...]) -> Any:
        """The result, made from what `pack` returned."""
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
