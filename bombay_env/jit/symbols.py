"""Names of record types, as parts of the names of compiled functions, that are the same in every process.

Numba puts the types of the arguments into a function's name, and for a record type it uses a counter, which starts again in each
process. So functions for different records, compiled in different processes, can have the same name. If both were then loaded
from disk into one process, one of them would run in place of the other and read memory by the wrong layout. Here a record type is
named by a digest of its fields instead. Importing this module changes the names.
"""

import functools
import hashlib
from typing import Any

from numba.core import types


@functools.lru_cache(maxsize=1024)
def digest(fields: str) -> str:
    """32 hex digits for Numba's description of a record type, which has all of its fields, with offsets, and its size."""
    return hashlib.sha256(fields.encode()).hexdigest()[:32]


def mangling_args(record: Any) -> tuple[str, tuple[()]]:
    """What Numba makes the name of a record type from."""
    return f"Record{digest(record.name)}", ()


types.Record.mangling_args = property(mangling_args)
