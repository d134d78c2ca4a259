"""The width of the nets that tests create, and net files that are changed on purpose."""

from typing import Final

import numba

from bombay_agents.nets import files, tensor_files

# Kernels are compiled for each width. With the compiler on it is the width of the shipped nets, so they are compiled once.
HIDDEN: Final = 8 if numba.config.DISABLE_JIT else 128


def rewritten(path, target, change):
    """A copy of the net at `path` whose header and tensors are changed by `change`, and whose digest is right."""
    header, tensors = tensor_files.read(path, files.HEADER, files.format_of(path))
    change(header, tensors)
    tensor_files.write(target, files.HEADER, header, tensors)
    return target
