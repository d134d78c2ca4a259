"""Shapes of the drawing as SVG text: one function for each icon, and the elements they are made of.

Knows colours, fonts and forms; not the game and not where things stand. Every icon is drawn around a centre and carries a
letter or a number besides its colour, so that no fact depends on telling colours apart. Text never relies on `paint-order`,
which many renderers ignore.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

INK, MUTED, WHITE = "#2c2a26", "#5c5446", "#ffffff"
PAPER, LAND, CARD, EDGE = "#f8f2e4", "#ece1c6", "#fffdf7", "#d6c7a1"
ROAD, ROAD_EDGE = "#fff8e3", "#a98a58"
HEADER, ACCENT, GOLD, STONE, ROCK = "#173f43", "#0f766e", "#eab54a", "#e4cfae", "#b79c78"
RED = "#b3261e"
FONT: Final = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

SILK: Final = {"yellow": "#f2c62e", "purple": "#7a3e9d", "blue": "#2569b8", "orange": "#e2711d"}
ON_SILK: Final = {"yellow": INK, "purple": WHITE, "blue": WHITE, "orange": INK}
SEATS: Final = ("#3b4046", "#fffaf0", "#a32638", "#a5cf86", "#efb0c6")  # charcoal, ivory, crimson, green, pink
ON_SEATS: Final = (WHITE, INK, WHITE, INK, INK)

# No less than the widths of letters in bold DejaVu Sans, the widest of the fonts asked for, as shares of the font size.
_WIDTHS: Final = {
    **dict.fromkeys(" ijlIJ.,:;|/\\'-·", 0.43),
    **dict.fromkeys("ftr()[]!_`", 0.5),
    **dict.fromkeys("cszxvy?*", 0.66),
    **dict.fromkeys("mwMW@%—…", 1.1),
}
_CAPITAL, _OTHER, _FULL_WIDTH = 0.86, 0.73, 1.1
_REGULAR: Final = 0.94  # of the width of bold letters
_ELLIPSIS: Final = "…"

_REMEMBERED: Final = 1024  # calls of a function; a drawing repeats most shapes of the drawing before

ELEPHANT_WIDTH, ELEPHANT_HEIGHT = 44.0, 33.0
ELEPHANT: Final = (
    "M-17,16 V1 C-17,-8 -11,-12 -3,-12 H3 C5,-14.5 9,-15 12,-14 C16.5,-12.5 18,-8.5 18,-4 L18.5,5 C18.6,7 20,7.3 21,6 "
    "L22,8 C20.5,11 15.5,11 15,6.5 L14.4,0 C13.5,2.5 11,3.5 8.5,3.5 V16 H2 V9 C-2,10 -6,10 -10,9 V16 Z"
)
_EAR: Final = "M4,-10 C1,-9 0.5,-2 4.5,0 C8.5,0 9.5,-7 8,-10"
_TAIL: Final = "M-17,0 C-20,1 -21,5 -20,9"
_PALACE: Final = (
    "M-17,15 V3 H-9 C-15,-4 -7,-10 -1.5,-13 L0,-18 L1.5,-13 C7,-10 15,-4 9,3 H17 V15 Z "
    "M-17,3 C-19,-2 -15,-4 -13.5,-7 C-12,-4 -8,-2 -10,3 Z M17,3 C19,-2 15,-4 13.5,-7 C12,-4 8,-2 10,3 Z"
)
_GATE: Final = "M-8,8 V-7 H-5 V-5 H-2 V-7 H2 V-5 H5 V-7 H8 V8 H3 V4 C3,0 -3,0 -3,4 V8 Z"
_RUPEE: Final = "M-3.6,-5 H3.8 M-3.6,-1.9 H3.8 M-3.6,-5 C3,-5 3,1.2 -3.6,1.2 L2,5.6"


def element(tag: str, *children: str, **attributes: Any) -> str:
    """One element around its children, which are SVG already; `stroke_width=2` writes `stroke-width="2"`."""
    words = as_attributes(attributes)
    return f"<{tag}{words}>{''.join(children)}</{tag}>" if children else f"<{tag}{words}/>"


def as_attributes(attributes: Mapping[str, Any]) -> str:
    """Attributes as they are written in a tag, each after a space."""
    return "".join([f" {name.replace('_', '-')}={_quoted(value)}" for name, value in attributes.items()])


def group(x: float, y: float, *children: str, scale: float = 1.0, **attributes: Any) -> str:
    """Shapes moved to (x, y), and enlarged; without a group if nothing is moved or told."""
    if not attributes and scale == 1 and x == y == 0:
        return "".join(children)
    if x or y or scale != 1:
        enlarged = "" if scale == 1 else f" scale({_number(scale, 3)})"
        attributes = {"transform": f"translate({_number(x)} {_number(y)}){enlarged}", **attributes}
    return element("g", *children, **attributes)


def rectangle(x: float, y: float, width: float, height: float, fill: str, **attributes: Any) -> str:
    """A rectangle by its upper left corner."""
    return element("rect", x=float(x), y=float(y), width=float(width), height=float(height), fill=fill, **attributes)


def circle(x: float, y: float, radius: float, fill: str, **attributes: Any) -> str:
    """A circle by its centre."""
    return element("circle", cx=float(x), cy=float(y), r=float(radius), fill=fill, **attributes)


def path(outline: str, fill: str = "none", **attributes: Any) -> str:
    """A path."""
    return element("path", d=outline, fill=fill, **attributes)


def label(x: float, y: float, words: str, size: float, **attributes: Any) -> str:
    """Text, centred on (x, y) unless `text_anchor` says otherwise; `font_weight` and `fill` as in SVG."""
    style = {"fill": INK, "text_anchor": "middle"} | attributes
    return element("text", escape(words), x=float(x), y=float(y + 0.36 * size), font_size=float(size), **style)


def title(words: str) -> str:
    """What is told of the shapes around it when a reader points at them."""
    return element("title", escape(words))


def text_width(words: str, size: float, bold: bool = True) -> float:
    """No less than the width of a text in any of the fonts asked for."""
    return size * sum(map(_letter_width, words)) * (1 if bold else _REGULAR)


def fit(words: str, size: float, width: float, least: float, bold: bool = True) -> tuple[str, float]:
    """The words and a font size at which they fit in `width`: smaller, and where `least` is not enough cut in the middle."""
    needed = text_width(words, 1, bold)
    if needed * least <= width:
        return words, min(size, width / needed) if needed else size
    kept = len(words) - 1
    while kept and text_width(_cut(words, kept), least, bold) > width:
        kept -= 1
    return _cut(words, kept), least


def _cut(words: str, kept: int) -> str:
    """So many of the letters: the first and the last, since names often differ at their ends."""
    return words[: (kept + 1) // 2] + _ELLIPSIS + words[len(words) - kept // 2 :]


@lru_cache(_REMEMBERED)
def _letter_width(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if letter.isascii():
        return _OTHER if letter.islower() or letter.isdigit() else _CAPITAL
    return _FULL_WIDTH if unicodedata.east_asian_width(letter) in "WF" else _CAPITAL


def _quoted(value: Any) -> str:
    if isinstance(value, int | float):
        return f'"{_number(value)}"'
    return quoteattr(value)


def _number(value: float, digits: int = 1) -> str:
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    return f"{value:.{digits}f}"


# --- things ---


@lru_cache(_REMEMBERED)
def bale(x: float, y: float, size: float, colour: str) -> str:
    """A bale of silk or a Demand cube: a square with the colour's letter."""
    square = rectangle(x - size / 2, y - size / 2, size, size, SILK[colour], rx=size / 5, stroke=INK, stroke_width=1.2)
    return square + label(x, y, colour[0].upper(), size * 0.72, fill=ON_SILK[colour], font_weight="bold")


@lru_cache(_REMEMBERED)
def coin(x: float, y: float, scale: float = 1.0) -> str:
    """A rupee, 20 wide."""
    ring = circle(0, 0, 9.5, GOLD, stroke=INK, stroke_width=1.2)
    return group(x, y, ring, path(_RUPEE, stroke=INK, stroke_width=1.5, stroke_linecap="round"), scale=scale)


@lru_cache(_REMEMBERED)
def client(x: float, y: float, scale: float = 1.0) -> str:
    """A Client token: head and shoulders, 20 wide."""
    body = path("M-8,9 C-8,-1 8,-1 8,9 Z", INK)
    return group(x, y, circle(0, -4.5, 4.3, INK), body, scale=scale)


@lru_cache(_REMEMBERED)
def gate(x: float, y: float, scale: float = 1.0) -> str:
    """A City token: a gate between battlements, 18 wide."""
    return group(x, y, path(_GATE, INK), scale=scale)


@lru_cache(_REMEMBERED)
def token(x: float, y: float, kind: str, scale: float = 1.0) -> str:
    """What a palace token gives: a Client, a City token, rupees or a bale."""
    drawn = {"client": client, "city": gate, "rupees": coin}
    return drawn[kind](x, y, scale) if kind in drawn else _any_bale(x, y, scale)


def _any_bale(x: float, y: float, scale: float) -> str:
    bands = zip(SILK.values(), (-8, -4, 0, 4), strict=True)
    stripes = "".join(rectangle(left, -8, 4, 16, fill) for fill, left in bands)
    frame = rectangle(-8, -8, 16, 16, "none", rx=3, stroke=INK, stroke_width=1.8)
    return group(x, y, stripes, frame, scale=scale)


@lru_cache(_REMEMBERED)
def palace_site(x: float, y: float, kind: str | None, scale: float = 1.0) -> str:
    """A site where a palace can stand: a round plate, golden with a palace token of this kind, empty without."""
    plate = circle(0, 0, 16, "#f7dc9a" if kind else CARD, stroke=INK, stroke_width=1.6)
    return group(x, y, plate, token(0, 0, kind, 0.95) if kind else circle(0, 0, 3, EDGE), scale=scale)


@lru_cache(_REMEMBERED)
def palace(x: float, y: float, seat: int, scale: float = 1.0, numbered: bool = True) -> str:
    """A palace in its owner's colour, with the owner's number."""
    walls = path(_PALACE, SEATS[seat], stroke=INK, stroke_width=1.8, stroke_linejoin="round")
    number = label(0, 5, str(seat), 14, fill=ON_SEATS[seat], font_weight="bold")
    return group(x, y, walls, number if numbered else "", scale=scale)


@lru_cache(_REMEMBERED)
def hill(x: float, y: float, start: bool, scale: float = 1.0) -> str:
    """A hilltop, with a flag where the elephants start."""
    slopes = path(
        "M-22,14 C-15,10 -12,-14 -3,-14 C4,-14 5,-4 9,-4 C14,-4 17,10 22,14 Z", ROCK, stroke=INK, stroke_width=1.6
    )
    snow = path("M-9.5,-7 C-8,-12 -5.5,-14 -3,-14 C0,-14 1.5,-12 3.5,-8.5 C0,-5 -3,-9 -9.5,-7 Z", CARD)
    flag = path("M-3,-12 V-27", stroke=INK, stroke_width=1.8) + path("M-3,-27 L10,-23 L-3,-19 Z", RED, stroke=INK)
    return group(x, y, flag if start else "", slopes, snow, scale=scale)


@lru_cache(_REMEMBERED)
def post(x: float, y: float, colour: str, is_open: bool, scale: float = 1.0) -> str:
    """A trading post: a stall with the letter of the colour it sells; a grey roof and a barred sign where it is closed."""
    silk = SILK[colour] if is_open else "#b3ab9b"
    stall = rectangle(-14, -3, 28, 17, SILK[colour], stroke=INK, stroke_width=1.6)
    roof = "M-14,-15 H14 L18,-5 A4.5,4.5 0 0 1 9,-5 A4.5,4.5 0 0 1 0,-5 A4.5,4.5 0 0 1 -9,-5 A4.5,4.5 0 0 1 -18,-5 Z"
    stripes = path("M-7,-15 H0 V-5 A4.5,4.5 0 0 1 -9,-5 Z M7,-15 H14 L18,-5 A4.5,4.5 0 0 1 9,-5 Z", silk)
    awning = path(roof, CARD) + stripes + path(roof, stroke=INK, stroke_width=1.6, stroke_linejoin="round")
    letter = label(0, 6, colour[0].upper(), 14, fill=ON_SILK[colour], font_weight="bold")
    sign = circle(14, -11, 7, RED, stroke=CARD, stroke_width=1.5) + rectangle(10, -12.2, 8, 2.4, CARD)
    return group(x, y, stall, awning, letter, "" if is_open else sign, scale=scale)


@lru_cache(_REMEMBERED)
def elephant(x: float, y: float, seat: int, scale: float = 1.0, active: bool = False) -> str:
    """An elephant in its seat's colour with the seat's number; a pale rim, or a green one where it is to move."""
    rim: dict[str, Any] = {
        "stroke": ACCENT if active else CARD,
        "stroke_width": 7 if active else 4.5,
        "stroke_linejoin": "round",
    }
    line: dict[str, Any] = {"stroke": INK, "stroke_width": 1.6, "stroke_linejoin": "round"}
    body = path(ELEPHANT, SEATS[seat], **line)
    details = path(_EAR, stroke=ON_SEATS[seat], stroke_width=1.3) + circle(13, -7.5, 1.2, ON_SEATS[seat])
    number = label(-7.5, -1.5, str(seat), 14, fill=ON_SEATS[seat], font_weight="bold")
    return group(x, y, path(ELEPHANT, **rim), path(_TAIL, **line), body, details, number, scale=scale)


@lru_cache(_REMEMBERED)
def pip(x: float, y: float, radius: float, full: bool, fill: str) -> str:
    """An action: a disc where it is left, a ring where it is spent."""
    return circle(x, y, radius, fill if full else "none", stroke=fill, stroke_width=2)
