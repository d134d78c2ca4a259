"""The width of the nets that tests create."""

from typing import Final

import numba

# Kernels are compiled for each width. With the compiler on it is the width of the shipped nets, so they are compiled once.
HIDDEN: Final = 8 if numba.config.DISABLE_JIT else 128
