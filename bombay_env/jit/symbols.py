"""Names of record types, as parts of the names of compiled functions, that are the same in every process.

Numba numbers record types anew in each process, and the number of an argument's type is part of a function's name. So functions
for different records, compiled in different processes, can have the same name. If both are then loaded from disk into one
process, one of them is called instead of the other and reads fields at wrong places: `test_numba.py` shows
it in 20 lines. Here a record type is named by a digest of its fields. Importing this module replaces Numba's names.
"""

import functools
import hashlib

from numba.core import types


@functools.lru_cache(maxsize=1024)
def digest(fields: str) -> str:
    """32 hex digits for Numba's description of a record type, which has all of its fields, with offsets, and its size."""
    return hashlib.sha256(fields.encode()).hexdigest()[:32]


types.Record.mangling_args = property(lambda record: (f"Record{digest(record.name)}", ()))
