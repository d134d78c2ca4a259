"""Self-play TD(λ) on the outcomes of turns."""

from bombay_training.learners.td.run import TDRun, TDSettings

__all__ = ["TDRun", "TDSettings"]
