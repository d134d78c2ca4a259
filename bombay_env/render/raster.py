"""A drawing as pixels. resvg turns SVG into pixels; no display and no system font is needed, so every machine draws the same.

To draw a whole page with resvg takes about a tenth of a second. So the background and each part of a drawing become pixels once
and are remembered; a frame is the background with all parts laid over it. The font is the part of DejaVu Sans in `fonts/`, with
Latin, Greek and Cyrillic letters.
"""

import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env.game import Game
from bombay_env.render import shapes, svg
from bombay_env.render.picture import HEIGHT, WIDTH, Part, Picture, Room, document
from bombay_env.render.view import LastAction

FONTS: Final = tuple(str(Path(__file__).parent / "fonts" / f"{name}.ttf") for name in ("DejaVuSans", "DejaVuSans-Bold"))
FONT_FAMILY: Final = "DejaVu Sans"
REMEMBERED: Final = 4096  # parts; those of a game are some 500, and one takes about 10 kB


class _Pixels(NamedTuple):
    """A part as pixels, uint16: the page below is multiplied by `keep` / 256, (h, w, 1), and `colour`, (h, w, 3), is added."""

    keep: np.ndarray
    colour: np.ndarray


def draw(
    game: Game,
    states: np.ndarray,
    viewer: int | None = None,
    last: LastAction | None = None,
    names: Sequence[str] = (),
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The drawing of `svg.draw` as pixels, (926, 1000, 3) uint8, a new array; the page's round corners are filled."""
    return pixels(svg.picture(game, states, viewer, last, names))


def pixels(picture: Picture) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """A drawing as pixels, (HEIGHT, WIDTH, 3) uint8, a new array."""
    page = _background(picture.background).copy()
    for part in picture.parts:
        if part.content:
            _lay(part, page)
    return page


@lru_cache(maxsize=16)
def _background(content: str) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return _rasterise(content, (0, 0, WIDTH, HEIGHT), shapes.PAPER)[:, :, :3]


def _lay(part: Part, page: np.ndarray) -> None:
    """Lay a part over the page, in place; what would be outside the page is cut off."""
    left, top, right, bottom = part.room
    x, y = part.x + left, part.y + top
    under = page[max(y, 0) : y + bottom - top, max(x, 0) : x + right - left]
    height, width, _ = under.shape
    over = _part(part.content, part.room)
    keep, colour = (array[max(-y, 0) :, max(-x, 0) :][:height, :width] for array in over)
    under[...] = (under * keep + colour) >> 8


@lru_cache(maxsize=REMEMBERED)
def _part(content: str, room: Room) -> _Pixels:
    drawn = _rasterise(content, room).astype(np.uint32)
    weight = (drawn[:, :, 3:] * 256 + 127) // 255
    colour = drawn[:, :, :3] * weight + 127  # rounded once it is divided by 256
    return _Pixels((256 - weight).astype(np.uint16), np.minimum(colour, 0xFFFF).astype(np.uint16))


def _rasterise(content: str, room: Room, background: str | None = None) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """SVG of a room as (h, w, 4) uint8: red, green, blue, opacity."""
    import resvg_py
    from PIL import Image

    png = resvg_py.svg_to_bytes(
        svg_string=document(content, room),
        background=background,
        skip_system_fonts=True,
        font_files=list(FONTS),
        font_family=FONT_FAMILY,
        sans_serif_family=FONT_FAMILY,
    )
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGBA"))
