"""Self-play TD(λ) on the outcomes of turns."""

from bombay_training.learners.td.run import Run, TDSettings, begin, go_on, open_run, train, warm_up

__all__ = ["Run", "TDSettings", "begin", "go_on", "open_run", "train", "warm_up"]
