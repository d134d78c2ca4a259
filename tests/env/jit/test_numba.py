"""The fault of Numba that `bombay_env/jit/cache.py` works around, as a script that needs nothing but NumPy and Numba."""

import os
import subprocess
import sys

import pytest

# The type of a record is numbered anew in each process, and the number is part of the names of functions in the cache. So `part`
# for one record and `part` for the other have the same name, and a process that loads both uses the first for both.
SCRIPT = """
import sys
import numpy as np
from numba import njit

@njit
def part(record, depth):  # it calls itself, so that LLVM does not inline it
    return record.x if depth == 0 else part(record, depth - 1) + part(record, depth - 1) - record.x

@njit(cache=True)
def first(records):
    return part(records[0], len(records))

@njit(cache=True)
def second(records):
    return part(records[0], len(records))

if "first" in sys.argv:
    print(first(np.array([(1, 2)], [("x", np.int64), ("y", np.int64)])))
if "second" in sys.argv:
    print(second(np.array([(2, 1)], [("y", np.int64), ("x", np.int64)])))
"""


@pytest.mark.slow
def test_numba_confuses_records_that_other_processes_compiled(tmp_path):
    """Once this fails, `cache.py` need not name record types."""
    script = tmp_path / "fault.py"
    script.write_text(SCRIPT)

    def printed(*functions):
        command = [sys.executable, str(script), *functions]
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert (printed("first"), printed("second")) == (["1"], ["1"])
    assert printed("first", "second") == ["1", "2"]  # should be 1 and 1
