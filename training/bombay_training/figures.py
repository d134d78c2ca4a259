"""Pictures by Matplotlib: what all plots share. It knows no result."""

import io
from pathlib import Path
from typing import Final, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bombay_env.files import atomic

DPI: Final = 150


def panels(count: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with `count` panels of this size in inches, two in a row."""
    across = min(count, 2)
    rows = -(-count // across)
    figure = Figure(figsize=(width * across, height * rows), dpi=DPI, layout="constrained")
    return figure, [tidy(figure.add_subplot(rows, across, 1 + place)) for place in range(count)]


def tidy(panel: Axes, grid: Literal["both", "y"] = "both") -> Axes:
    """The panel with a pale grid for these axes, and without lines above and on the right."""
    panel.grid(axis=grid, alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
    return panel


def save_png(figure: Figure, path: Path) -> None:
    """Write a figure to a PNG file, atomically. Raises OSError if it cannot be written."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=DPI)
    atomic.write_bytes(path, image.getvalue())


def plain(text: str) -> str:
    """A text as Matplotlib draws it letter by letter: what stands between two dollar signs would be a formula."""
    return text.replace("$", r"\$")
