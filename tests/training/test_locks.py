"""Locks: one process at a time has a file or folder, and loses it with its life."""

import subprocess
import sys

import pytest

from bombay_training import locks

HOLDER = """
import sys
from pathlib import Path
from bombay_training import locks
lock = locks.take(Path(sys.argv[1]), Path("it"))
print("taken", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_refused_in_one_line_until_its_process_ends(tmp_path):
    file, pipe = tmp_path / "lock", subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(file)], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout.readline() == "taken\n"
        message = "is in use by another process; wait until it ends, or name another place"
        with pytest.raises(locks.InUseError, match=rf"^.*/runs {message}$"):
            locks.take(file, tmp_path / "runs")
        process.kill()
    locks.take(file, tmp_path).release()
