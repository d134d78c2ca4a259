"""Runs that are killed between two of their saves, and go on."""

import os
import signal
import subprocess
import sys
import time

from bombay_training.learners import runs

PATIENCE = 300  # seconds


def save_seldom(kind):
    """Have runs of that kind save after every second update."""
    save, runs.SAVE_SECONDS = kind.save, 0

    def seldom(run, folder):
        if run.clock.updates_done % 2 == 0:
            save(run, folder)

    kind.save = seldom


class Kill:
    """A `Progress` that kills its process after an update, before that is saved; never if it is 0."""

    def __init__(self, number):
        self.number = number

    def update(self, fraction, figures):
        if figures.get("update") == self.number > 0:
            os.kill(os.getpid(), signal.SIGKILL)


def finish(folder, start, go_on, rng):
    """Begin the run in `folder` by the code `start`, and have it killed after its first update; go on with it by the code
    `go_on`, and have it killed after its third, and once more at a random moment; let it finish.

    The code finds the folder and the number of the update to be killed after in `sys.argv`.
    """
    for number in (1, 3):
        assert launch(folder, start, go_on, number).wait(PATIENCE) == -signal.SIGKILL
        # The checkpoint is of the update before: this line is to be forgotten, and its update done again.
        assert len((folder / runs.METRICS).read_text().splitlines()) == number
    resumed = written(folder)
    process = launch(folder, start, go_on, 0)
    end = time.monotonic() + PATIENCE
    while process.poll() is None and written(folder) == resumed and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.1))
    process.kill()
    process.wait()
    assert launch(folder, start, go_on, 0).wait(PATIENCE) == 0


def launch(folder, start, go_on, number):
    """A process that begins the run or goes on with it."""
    code = go_on if (folder / runs.CHECKPOINT).exists() else start
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, str(folder), str(number)], env=environment)


def written(folder):
    """When the run's metrics were written last; whoever goes on with it writes them anew at once."""
    return (folder / runs.METRICS).stat().st_mtime_ns
