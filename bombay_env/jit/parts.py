"""How a kernel is compiled: in full where Python calls it, and only as far as needed where another kernel does.

Numba compiles every function that a kernel calls as if Python called it too: with wrappers for other callers, with all
optimisations, down to machine code. None of that is used, because the code is linked into the calling kernel and optimised there
again, at every level of calls. Here such a part stops at unoptimised code for the linker, and only the whole kernel is
optimised. That halves the time. A kernel that is called both ways is compiled twice. Knows nothing of the game and nothing of the
disk; `jit/cache.py` is the next to read.
"""

from typing import Any

from llvmlite import binding
from numba.core import codegen, compiler, registry

from bombay_env.jit.notice import NOTICE

LIBRARY: Any = codegen.JITCodeLibrary  # untyped, as are the next
COMPILER: Any = compiler.Compiler
DISPATCHER: Any = registry.CPUDispatcher


class PartLibrary(LIBRARY):  # type: ignore[misc]
    """The code of one function and of those it calls, to be linked into a kernel."""

    def _optimize_final_module(self) -> None:
        """Leave that to the kernel."""

    def _finalize_final_module(self) -> None:
        """Be ready for linking, without machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def bitcode(self) -> bytes:
        """The code, for `with_bitcode`."""
        self._ensure_finalized()
        return bytes(self._final_module.as_bitcode())

    @classmethod
    def with_bitcode(cls, target: Any, bitcode: bytes) -> Any:
        """A library of code that another one gave."""
        library = cls(target.codegen(), "part")
        library._final_module = binding.parse_bitcode(bitcode)
        library._finalize_final_module()
        return library


class PartCompiler(COMPILER):  # type: ignore[misc]
    """Numba's compiler, stopped at code for the linker."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ) -> None:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = PartLibrary(targetctx.codegen(), "part")
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class PartDispatcher(DISPATCHER):  # type: ignore[misc]
    """A function as other kernels call it. Numba finds the code to link by the library, where it has an entry point otherwise."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, PartCompiler)

    def add_overload(self, cres: Any) -> None:
        """Take in code for one signature, just compiled or loaded."""
        if cres.entry_point is None:
            cres = cres._replace(entry_point=cres.library)
            self.targetctx.insert_user_function(cres.library, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres


class KernelDispatcher(DISPATCHER):  # type: ignore[misc]
    """A function as Python calls it.

    Attributes:
        part: the same function for other kernels.
    """

    def __init__(
        self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = COMPILER
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self.part = PartDispatcher(py_func, locals, targetoptions)

    def compile(self, sig: Any) -> Any:
        """Compile or load the code for one signature."""
        with NOTICE.first_call():
            return super().compile(sig)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What Numba asks for when a kernel calls this one."""
        return self.part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """What finds the code to link into the calling kernel."""
        return self.part.get_overload(sig)

    @property
    def is_compiling(self) -> Any:
        """Whether a call now would be a recursive one."""
        return super().is_compiling or self.part.is_compiling
