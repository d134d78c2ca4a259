"""A drawing as a fixed background and movable parts, so that everything made from it can reuse what it has made before.

The background shows what the board decides. Each part is a small piece of SVG around a point; equal pieces are equal
strings. One picture is written as an SVG document; `raster.py` makes pixels from the same pieces.
Knows nothing of the game.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from bombay_env.render import shapes

WIDTH, HEIGHT = 1000, 926  # units of the drawing, and pixels of a frame

Room = tuple[int, int, int, int]


class Part(NamedTuple):
    """A piece of a drawing.

    Attributes:
        x, y: where its origin is on the page.
        room: left, top, right and bottom of what it draws, around the origin.
        content: SVG around the origin.
        told: attributes of its group, as they are written.
    """

    x: int
    y: int
    room: Room
    content: str
    told: str = ""


class Picture(NamedTuple):
    """A drawing.

    Attributes:
        background: SVG of all that depends on the board alone.
        layers: parts in the order in which they are drawn, in groups with their attributes.
        room: left, top, right and bottom of what is shown.
    """

    background: str
    layers: tuple[tuple[str, tuple[Part, ...]], ...]
    room: Room = (0, 0, WIDTH, HEIGHT)

    @property
    def parts(self) -> Iterable[Part]:
        """All parts in the order in which they are drawn."""
        return (part for _, parts in self.layers for part in parts)

    def svg(self) -> str:
        """The drawing as one SVG document."""
        lines = [self.background]
        for told, parts in self.layers:
            lines += [f"<g{told}>", *map(_written, parts), "</g>"]
        return document("\n".join(lines), self.room)


def _written(part: Part) -> str:
    return f'<g transform="translate({part.x} {part.y})"{part.told}>{part.content}</g>'


def document(content: str, room: Room) -> str:
    """An SVG document of the content in a room."""
    left, top, right, bottom = room
    view_box = f"{left} {top} {right - left} {bottom - top}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view_box}" font-family="{shapes.FONT}">\n{content}\n</svg>\n'


def layer(parts: Iterable[Part], **told: Any) -> tuple[str, tuple[Part, ...]]:
    """Parts in a group with these attributes."""
    return shapes.as_attributes(told), tuple(parts)


def part(x: float, y: float, room: Room, content: str, **told: Any) -> Part:
    """A part at a place that is rounded to whole units, so that pixels of equal parts are equal."""
    return Part(round(x), round(y), room, content, shapes.as_attributes(told))


_ROOM_FACTORS: Final = {"start": (0.0, 1.0), "middle": (0.5, 0.5), "end": (1.0, 0.0)}


def words_part(
    x: float,
    y: float,
    words: str,
    size: float,
    told: dict[str, Any] | None = None,
    fit: tuple[float, float] | None = None,
    **style: Any,
) -> Part:
    """A part that is a text; x is its start, unless `text_anchor` says otherwise, and y its middle.

    `fit` is the width that it must fit in, and the least font size; see `shapes.fit`.
    """
    style = {"text_anchor": "start"} | style
    if fit is not None:
        words, size = shapes.fit(words, size, *fit, bold="font_weight" in style)
    width = shapes.text_width(words, size)
    before, after = (round(share * width) + 3 for share in _ROOM_FACTORS[style["text_anchor"]])
    height = round(0.8 * size) + 2
    return part(x, y, (-before, -height, after, height), shapes.label(0, 0, words, size, **style), **(told or {}))
