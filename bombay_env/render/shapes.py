"""Shapes of the drawing as SVG text: one function for each icon, and the elements they are made of.

Knows colours, fonts and forms; not the game and not where things stand. Every icon is drawn around a centre and carries a
letter or a number besides its colour, so that no fact depends on telling colours apart. Text never relies on `paint-order`,
which many renderers ignore.
"""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
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

FONTS: Final = tuple(str(Path(__file__).parent / "fonts" / f"{name}.ttf") for name in ("DejaVuSans", "DejaVuSans-Bold"))
_MEASURED_AT: Final = 1000  # pixels: so large that rounding to pixels does not matter

_REMEMBERED: Final = 4096  # calls of a function; a drawing repeats most shapes of the drawing before

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


@lru_cache(_REMEMBERED)
def rectangle(x: float, y: float, width: float, height: float, fill: str, **attributes: Any) -> str:
    """A rectangle by its upper left corner."""
    return element("rect", x=float(x), y=float(y), width=float(width), height=float(height), fill=fill, **attributes)


def circle(x: float, y: float, radius: float, fill: str, **attributes: Any) -> str:
    """A circle by its centre."""
    return element("circle", cx=float(x), cy=float(y), r=float(radius), fill=fill, **attributes)


def path(outline: str, fill: str = "none", **attributes: Any) -> str:
    """A path."""
    return element("path", d=outline, fill=fill, **attributes)


@lru_cache(_REMEMBERED)
def label(x: float, y: float, words: str, size: float, **attributes: Any) -> str:
    """Text, centred on (x, y) unless `text_anchor` says otherwise; `font_weight` and `fill` as in SVG."""
    style = {"fill": INK, "text_anchor": "middle"} | attributes
    return element("text", escape(words), x=float(x), y=float(y + 0.36 * size), font_size=float(size), **style)


def title(words: str) -> str:
    """What is told of the shapes around it when a reader points at them."""
    return element("title", escape(words))


@lru_cache(_REMEMBERED)
def text_width(words: str, size: float, bold: bool = True) -> float:
    """The width of a text in DejaVu Sans, the widest of the fonts asked for; it lacks wide letters such as Chinese ones."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    width: float = _font(bold).getlength(words)
    return size * (width / _MEASURED_AT + 0.5 * wide)


@lru_cache
def _font(bold: bool) -> Any:
    from PIL import ImageFont

    return ImageFont.truetype(FONTS[bold], _MEASURED_AT, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(_REMEMBERED)
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
    return words[: (kept + 1) // 2] + "…" + words[len(words) - kept // 2 :]


def _quoted(value: Any) -> str:
    if isinstance(value, int | float):
        return f'"{_number(value)}"'
    return quoteattr(value)


def _number(value: float, digits: int = 1) -> str:
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    return f"{value:.{digits}f}"


# --- icons, around the origin ---

_LINE: Final = f'stroke="{INK}" stroke-width="1.6" stroke-linejoin="round"'
_ROOF: Final = (
    "M-14,-15 H14 L18,-5 A4.5,4.5 0 0 1 9,-5 A4.5,4.5 0 0 1 0,-5 A4.5,4.5 0 0 1 -9,-5 A4.5,4.5 0 0 1 -18,-5 Z"
)
_STRIPES: Final = "M-7,-15 H0 V-5 A4.5,4.5 0 0 1 -9,-5 Z M7,-15 H14 L18,-5 A4.5,4.5 0 0 1 9,-5 Z"

COIN: Final = (  # a rupee, 20 wide
    f'<circle r="9.5" fill="{GOLD}" {_LINE}/>'
    f'<path d="M-3.6,-5 H3.8 M-3.6,-1.9 H3.8 M-3.6,-5 C3,-5 3,1.2 -3.6,1.2 L2,5.6" fill="none" {_LINE}/>'
)
CLIENT: Final = (  # head and shoulders, 20 wide
    f'<circle cx="0" cy="-4.5" r="4.3" fill="{INK}"/><path d="M-8,9 C-8,-1 8,-1 8,9 Z" fill="{INK}"/>'
)
GATE: Final = (  # a City token: a gate between battlements, 18 wide
    f'<path d="M-8,8 V-7 H-5 V-5 H-2 V-7 H2 V-5 H5 V-7 H8 V8 H3 V4 C3,0 -3,0 -3,4 V8 Z" fill="{INK}"/>'
)
_ANY_BALE: Final = "".join(
    f'<rect x="{left}" y="-8" width="4" height="16" fill="{fill}"/>'
    for left, fill in zip((-8, -4, 0, 4), SILK.values(), strict=True)
) + (f'<rect x="-8" y="-8" width="16" height="16" rx="3" fill="none" {_LINE}/>')
_TOKENS: Final = {"client": CLIENT, "city": GATE, "rupees": COIN, "bale": _ANY_BALE}


def sign(x: float, y: float, letter: str, fill: str, size: float = 14) -> str:
    """A bold letter or number."""
    return label(x, y, letter, size, fill=fill, font_weight="bold")


@lru_cache
def bale(size: float, colour: str) -> str:
    """A bale of silk or a Demand cube: a square with the colour's letter."""
    square = rectangle(-size / 2, -size / 2, size, size, SILK[colour], rx=size / 5, stroke=INK, stroke_width=1.2)
    return square + sign(0, 0, colour[0].upper(), ON_SILK[colour], size * 0.72)


@lru_cache
def palace_site(token: str | None) -> str:
    """A site where a palace can stand: a round plate, golden with a palace token of this kind, empty without."""
    inside = group(0, 0, _TOKENS[token], scale=0.95) if token else f'<circle r="3" fill="{EDGE}"/>'
    return f'<circle r="16" fill="{"#f7dc9a" if token else CARD}" {_LINE}/>{inside}'


@lru_cache
def palace(seat: int, numbered: bool = True) -> str:
    """A palace in its owner's colour, with the owner's number."""
    walls = f'<path d="{_PALACE}" fill="{SEATS[seat]}" {_LINE}/>'
    return walls + (sign(0, 5, str(seat), ON_SEATS[seat]) if numbered else "")


def hill(start: bool) -> str:
    """A hilltop, with a flag where the elephants start."""
    flag = (
        f'<path d="M-3,-12 V-27" fill="none" {_LINE}/><path d="M-3,-27 L10,-23 L-3,-19 Z" fill="{RED}" stroke="{INK}"/>'
    )
    slopes = f'<path d="M-22,14 C-15,10 -12,-14 -3,-14 C4,-14 5,-4 9,-4 C14,-4 17,10 22,14 Z" fill="{ROCK}" {_LINE}/>'
    snow = f'<path d="M-9.5,-7 C-8,-12 -5.5,-14 -3,-14 C0,-14 1.5,-12 3.5,-8.5 C0,-5 -3,-9 -9.5,-7 Z" fill="{CARD}"/>'
    return (flag if start else "") + slopes + snow


@lru_cache
def post(colour: str, is_open: bool) -> str:
    """A trading post: a stall with the letter of the colour it sells; a grey roof and a barred sign where it is closed."""
    closed = f'<circle cx="14" cy="-11" r="7" fill="{RED}" stroke="{CARD}" stroke-width="1.5"/>'
    closed += rectangle(10, -12.2, 8, 2.4, CARD)
    return (
        f'<rect x="-14" y="-3" width="28" height="17" fill="{SILK[colour]}" {_LINE}/><path d="{_ROOF}" fill="{CARD}"/>'
        f'<path d="{_STRIPES}" fill="{SILK[colour] if is_open else "#b3ab9b"}"/><path d="{_ROOF}" fill="none" {_LINE}/>'
        f"{sign(0, 6, colour[0].upper(), ON_SILK[colour])}{'' if is_open else closed}"
    )


@lru_cache
def elephant(seat: int, active: bool = False) -> str:
    """An elephant in its seat's colour with the seat's number; a pale rim, or a green one where it is to move."""
    rim = f'stroke="{ACCENT if active else CARD}" stroke-width="{7 if active else 4.5}" stroke-linejoin="round"'
    return (
        f'<path d="{ELEPHANT}" fill="none" {rim}/><path d="{_TAIL}" fill="none" {_LINE}/>'
        f'<path d="{ELEPHANT}" fill="{SEATS[seat]}" {_LINE}/>'
        f'<path d="{_EAR}" fill="none" stroke="{ON_SEATS[seat]}" stroke-width="1.3"/>'
        f'<circle cx="13" cy="-7.5" r="1.2" fill="{ON_SEATS[seat]}"/>{sign(-7.5, -1.5, str(seat), ON_SEATS[seat])}'
    )


def pip(full: bool) -> str:
    """An action: a disc where it is left, a ring where it is spent."""
    return f'<circle r="6" fill="{GOLD if full else "none"}" stroke="{GOLD}" stroke-width="2"/>'
