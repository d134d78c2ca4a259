"""Drawings of a state: `svg.py` as a picture. It reads the state through `view.py`, as the words of `bombay_env.text` do."""
