"""Runs that are killed between two checkpoints, and resumed."""

import os
import signal
import subprocess
import sys
import time

from bombay_training.learners.runs import run as runs
from bombay_training.learners.runs.run_files import CHECKPOINT, METRICS

PATIENCE = 300  # seconds


def save_every_second_update(run_class):
    """Let runs of that class save after every second update instead of every half minute."""
    save, runs.SAVE_SECONDS = run_class.save, 0

    def sometimes(run):
        if run.updates_done % 2 == 0:
            save(run)

    run_class.save = sometimes


class Kill(runs.Progress):
    """Kills its process after update `number`, before that is saved; never if it is 0."""

    def __init__(self, number):
        self.number = number

    def update(self, fraction, metrics):
        if metrics.get("update") == self.number > 0:
            os.kill(os.getpid(), signal.SIGKILL)


def finish(folder, start, resume, rng):
    """Start the run in `folder`; kill it after its first update, after its third, and at a random moment; let it finish.

    `start` and `resume` are the code of the processes. Their number is that of the update after which to kill.
    """

    def run(number):
        return launch(folder, resume if (folder / CHECKPOINT).exists() else start, number)

    for number in (1, 3):
        assert run(number).wait(PATIENCE) == -signal.SIGKILL
        # The checkpoint is one update older: this line must be dropped, and its update repeated.
        assert len((folder / METRICS).read_text().splitlines()) == number
    before = written(folder)
    process = run(0)
    end = time.monotonic() + PATIENCE
    while process.poll() is None and written(folder) == before and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.1))
    process.kill()
    process.wait()
    assert run(0).wait(PATIENCE) == 0


def launch(folder, code, number=0):
    """A process that runs the code, which finds the folder and the number in `sys.argv`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, str(folder), str(number)], env=environment)


def written(folder):
    """When the metrics were last written; a process that resumes the run rewrites them at once."""
    return (folder / METRICS).stat().st_mtime_ns
