"""A training run, the same for all learners. Read `run.py` first; the other modules are its parts."""

from bombay_training.learners.runs.run import Progress, Run
from bombay_training.learners.runs.settings import RunSettings

__all__ = ["Progress", "Run", "RunSettings"]
