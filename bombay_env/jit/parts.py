"""Compiles a kernel completely where Python calls it, and only as far as necessary where another kernel calls it.

Numba compiles every function that a kernel calls as if Python called it as well: with wrappers for other callers, with all
optimisations, and to machine code. This work is wasted, because each caller links the function's code and optimises it again.
Here, such a part is compiled only to unoptimised code for the linker, and only the whole kernel is optimised, which halves the
time. A function that both Python and kernels call is compiled twice. Only whole kernels are kept on disk. Read `kernels.py` next.
"""

from typing import Any

from numba.core import codegen, compiler, registry, types


class PartLibrary(codegen.JITCodeLibrary):
    """The code of one function and of the functions that it calls, for linking into a kernel."""

    def _optimize_final_module(self) -> None:
        """Do nothing: the kernel is optimised as a whole."""

    def _finalize_final_module(self) -> None:
        """Make the code ready for linking, without machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True


class PartCompiler(compiler.Compiler):
    """Numba's compiler, which stops at code for the linker."""

    def __init__(
        self, typingctx: Any, targetctx: Any, library: Any, args: Any, return_type: Any, flags: Any, locals: Any
    ) -> None:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        library = PartLibrary(targetctx.codegen(), "part")
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)


class PartDispatcher(registry.CPUDispatcher):
    """A function that other kernels call. Where Numba expects an entry point, it finds the library with the code to link."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions, PartCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types of a call, as `_widened`, so that few signatures are compiled."""
        return super().get_call_template(
            tuple(map(_widened, args)), {name: _widened(kind) for name, kind in kws.items()}
        )

    def add_overload(self, cres: Any) -> None:
        """Add the code of one signature, which was just compiled or loaded."""
        if cres.entry_point is None:
            cres = cres._replace(entry_point=cres.library)
            self.targetctx.insert_user_function(cres.library, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres


def _widened(argument: Any) -> Any:
    """The type that a part takes for an argument: int64 for smaller integers, signed or not, and no constants."""
    argument = types.unliteral(argument)
    return types.int64 if isinstance(argument, types.Integer) and argument.bitwidth < 64 else argument


class KernelDispatcher(registry.CPUDispatcher):
    """A function that Python calls.

    Attributes:
        part: the same function for calls from other kernels.
    """

    def __init__(
        self, py_func: Any, locals: Any = None, targetoptions: Any = None, pipeline_class: Any = compiler.Compiler
    ) -> None:
        super().__init__(py_func, locals, targetoptions, pipeline_class)
        self.part = PartDispatcher(py_func, locals, targetoptions)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The types of a call from another kernel; Numba calls this while it compiles that kernel."""
        return self.part.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """The code to link into the calling kernel."""
        return self.part.get_overload(sig)

    @property
    def is_compiling(self) -> Any:
        """Whether this function is being compiled, so that a call of it is recursive."""
        return super().is_compiling or self.part.is_compiling
