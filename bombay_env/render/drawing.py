"""`Drawing`: a position that shows itself in a notebook, as SVG or as pixels."""

from pathlib import Path
from typing import Any

import numpy as np

from bombay_env.game import Game
from bombay_env.render import raster, svg
from bombay_env.render.view import LastAction


class Drawing:
    """A position as a picture; as the last line of a notebook's cell it shows itself.

    Args:
        game: what is played.
        states: (1,) the state, which is copied.
        viewer: the seat that looks at it in `screened` mode; None shows all holdings.
        last: the action that led to the state, to be shown; see `bombay_env.render.view.last_action`.
    """

    def __init__(
        self, game: Game, states: np.ndarray, viewer: int | None = None, last: LastAction | None = None
    ) -> None:
        self.game = game
        self.states = states[:1].copy()
        self.viewer = viewer
        self.last = last

    def svg(self) -> str:
        """The picture as an SVG document."""
        return svg.draw(self.game, self.states, self.viewer, self.last)

    def rgb_array(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The picture as pixels, (926, 1000, 3) uint8."""
        return raster.draw(self.game, self.states, self.viewer, self.last)

    def save(self, path: str | Path) -> None:
        """Write the picture to a file: `.svg`, or an image format that Pillow knows, such as `.png`.

        Raises:
            ValueError: Pillow knows no format of this name.
            OSError: the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() == ".svg":
            path.write_text(self.svg(), encoding="utf-8")
            return
        from PIL import Image

        Image.fromarray(self.rgb_array()).save(path)

    def _repr_html_(self) -> str:
        return framed(self.svg(), 960)


def framed(drawing: str, width: int) -> str:
    """An SVG document as part of a page, at most so many pixels wide."""
    return f'<div style="display:inline-block;width:100%;max-width:{width}px">{drawing}</div>'
