"""Locks: one process at a time has a file or folder, and loses it with its life."""

import subprocess
import sys

import pytest

from bombay_training import locks
from bombay_training.learners.runs.run_files import LOCK, METRICS
from bombay_training.learners.train import open_run
from bombay_training.learners.zero import ZeroRun, ZeroSettings
from helpers.nets import HIDDEN, SECOND

SMALL = ZeroSettings(updates=1, games=1, players=(2,), hidden=HIDDEN, second=SECOND)
HOLDER = """
import sys
from pathlib import Path
from bombay_training import locks
lock = locks.take(Path(sys.argv[1]), Path("it"))
print("taken", flush=True)
sys.stdin.read()
"""


def other_process(file):
    """A process that has the lock until its standard input ends."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(file)], stdin=pipe, stdout=pipe, text=True)
    assert process.stdout.readline() == "taken\n"
    return process


def test_a_lock_is_refused_in_one_line_until_its_process_ends(tmp_path):
    file = tmp_path / "lock"
    process = other_process(file)
    try:
        with pytest.raises(
            locks.InUseError, match=r"^.*/runs is in use by another process; wait until it ends, or name another place$"
        ):
            locks.take(file, tmp_path / "runs")
    finally:
        process.kill()
        process.communicate()
    locks.take(file, tmp_path).release()


def test_a_run_whose_folder_is_in_use_is_neither_created_nor_opened(tmp_path):
    run = ZeroRun(SMALL)
    run.create(tmp_path)
    files = sorted(path.name for path in tmp_path.iterdir())
    for use in (lambda: open_run(tmp_path), lambda: ZeroRun(SMALL).create(tmp_path)):
        with pytest.raises(locks.InUseError, match="is in use by another process"):
            use()
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    run.close()
    process = other_process(tmp_path / LOCK)
    try:
        with pytest.raises(locks.InUseError):
            open_run(tmp_path)
    finally:
        process.communicate("")
    again = open_run(tmp_path)
    again.loop()
    assert len((tmp_path / METRICS).read_text().splitlines()) == 1
    open_run(tmp_path).close()  # the loop gave the folder back
