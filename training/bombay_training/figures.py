"""Pictures by Matplotlib: what all plots share. It knows no result."""

import io
from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from bombay_env.files import atomic

DPI: Final = 150


def save_png(figure: Figure, path: Path) -> None:
    """Write a figure to a PNG file, atomically. Raises OSError if it cannot be written."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=DPI)
    atomic.write_bytes(path, image.getvalue())


def plain(text: str) -> str:
    """A text as Matplotlib draws it letter by letter: what stands between two dollar signs would be a formula."""
    return text.replace("$", r"\$")
