"""The width of the nets that tests make and ask."""

from typing import Final

import numba

# With the compiler that of the nets which come with the project: kernels are compiled for each width, and so only once.
HIDDEN: Final = 8 if numba.config.DISABLE_JIT else 128
