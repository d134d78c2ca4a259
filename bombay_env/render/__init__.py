"""Drawings of a state: `svg.py` as a picture, `text.py` as plain text. Both read it through `view.py`."""
