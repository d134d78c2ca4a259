"""A drawing as pixels. resvg turns SVG into pixels; no display and no system font is needed, so every machine draws the same.

To draw a whole page with resvg takes a tenth of a second, some thirty times as long as the way of this module: the background
and each part of a drawing become pixels once and are remembered, and a frame is the background with all parts pasted on it. The
font is the part of DejaVu Sans in `fonts/`, with Latin, Greek and Cyrillic letters.
"""

import io
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from bombay_env.game import Game
from bombay_env.render import shapes, svg
from bombay_env.render.picture import HEIGHT, WIDTH, Room, document
from bombay_env.render.view import LastAction

FONT_FAMILY: Final = "DejaVu Sans"
REMEMBERED: Final = 4096  # parts; those of a game are some 500, and one takes some kilobytes


def draw(
    game: Game,
    states: np.ndarray,
    viewer: int | None = None,
    last: LastAction | None = None,
    names: Sequence[str] = (),
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The drawing of `svg.draw` as pixels, (926, 1000, 3) uint8, a new array; the page's round corners are filled."""
    picture = svg.picture(game, states, viewer, last, names)
    page = _background(picture.background).copy()
    for part in picture.parts:
        if part.content:
            colour, opacity = _part(part.content, part.room)
            page.paste(colour, (part.x + part.room[0], part.y + part.room[1]), opacity)
    return np.array(page)


@lru_cache(maxsize=16)
def _background(content: str) -> Any:
    return rasterise(content, (0, 0, WIDTH, HEIGHT), shapes.PAPER).convert("RGB")


@lru_cache(maxsize=REMEMBERED)
def _part(content: str, room: Room) -> tuple[Any, Any]:
    """A part as an image, and how opaque it is."""
    image = rasterise(content, room)
    return image.convert("RGB"), image.getchannel("A")


def rasterise(content: str, room: Room, background: str | None = None) -> Any:
    """SVG of a room as a Pillow image of mode RGBA."""
    import resvg_py
    from PIL import Image

    png = resvg_py.svg_to_bytes(
        svg_string=document(content, room),
        background=background,
        skip_system_fonts=True,
        font_files=list(shapes.FONTS),
        font_family=FONT_FAMILY,
        sans_serif_family=FONT_FAMILY,
    )
    return Image.open(io.BytesIO(png)).convert("RGBA")
