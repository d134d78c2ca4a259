"""Runs that are killed between two of their saves, and go on."""

import os
import subprocess
import sys
import time

from bombay_training import runs


def save_seldom(kind):
    """Have runs of that kind save after every second update."""
    save, runs.SAVE_SECONDS = kind.save, 0

    def seldom(run, folder):
        if run.clock.updates_done % 2 == 0:
            save(run, folder)

    kind.save = seldom


def finish(folder, start, go_on, rng):
    """Begin the run in `folder` by the code `start`; kill it after its first line of metrics, and after its third what goes on by
    the code `go_on`; let that finish. Returns how many processes were still running when they were killed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    kills = 0
    for lines in (1, 3):
        process = launch(folder, start, go_on, environment)
        while process.poll() is None and num_lines(folder) < lines:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.05))
        kills += process.poll() is None
        process.kill()
        process.wait()
    assert launch(folder, start, go_on, environment).wait() == 0
    return kills


def launch(folder, start, go_on, environment):
    """A process that begins the run or goes on with it."""
    code = go_on if (folder / runs.CHECKPOINT).exists() else start
    return subprocess.Popen([sys.executable, "-c", code, str(folder)], env=environment)


def num_lines(folder):
    """Of its metrics."""
    path = folder / runs.METRICS
    return path.read_bytes().count(b"\n") if path.exists() else 0
