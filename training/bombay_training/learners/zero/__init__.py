"""Self-play TD(λ) from the rules alone. Read `run.py` first, then `self_play.py` and `optimizer.py`."""

from bombay_training.learners.zero.run import ZeroRun, ZeroSettings

__all__ = ["ZeroRun", "ZeroSettings"]
