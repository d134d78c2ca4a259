"""Records as memory for kernels: one record that consists of parts, instead of one array for each part.

Writing is fastest at the start of a cache line, so every part of a composed record starts there. `kernels.py` makes the dtypes of
plain records. This module knows nothing about the game.
"""

from typing import Any, Final

import numpy as np

from bombay_env.jit.kernels import record_dtype

ALIGNMENT: Final = 64  # bytes of a cache line: writing a vector across two lines takes twice as long


def composed_dtype(parts: dict[str, Any]) -> np.dtype[Any]:
    """The dtype of records with these parts, name to dtype or (dtype, shape); in `new_records` each starts on a cache line."""
    formats = [np.dtype(part) for part in parts.values()]
    offsets, end = [], 0
    for part in formats:
        offsets.append(end)
        end += -(-part.itemsize // ALIGNMENT) * ALIGNMENT
    whole: Any = {"names": list(parts), "formats": formats, "offsets": offsets, "itemsize": end}
    return record_dtype(whole)


def new_records(dtype: np.dtype[Any], count: int) -> np.ndarray:
    """Zeroed records, (count,), the first of which starts on a cache line."""
    memory = np.zeros(count * dtype.itemsize + ALIGNMENT, np.int8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : len(memory) - ALIGNMENT + start].view(dtype)
