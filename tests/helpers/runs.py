"""Folders of runs, and runs that take little time."""

import json

from bombay_training.learners.runs import run as runs
from bombay_training.learners.runs.run_files import AGAINST, AGENT, METRICS
from bombay_training.learners.train import open_run


def shorten_quick_matches():
    """Let the quick matches of runs in this process have two deals, where they otherwise take most of a short run's time."""
    runs.BLOCKS = 2


def updates_done(folder):
    """The number of updates in a run's checkpoint, which must be sound. The folder is free again afterwards."""
    run = open_run(folder)
    run.close()
    return run.updates_done


def agent(folder):
    """The bytes of a run's agent."""
    return (folder / AGENT).read_bytes()


def without_time(folder):
    """A run's metrics without times, and without the quick matches, which depend on time."""
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    timed = ("second", AGAINST)
    return [{key: value for key, value in line.items() if not any(word in key for word in timed)} for line in lines]
