"""A position as one SVG picture: the board with its trails and pieces, and the markets beside it.

Reads a state through its named facts and the board's coordinates (x to the right, y down), so it draws any valid board. Pure
text, no drawing library.
"""

from typing import Any, Final
from xml.sax.saxutils import escape

import numpy as np

from bombay_env.board import SiteKind
from bombay_env.game import Game
from bombay_env.rules import COLOUR_NAMES
from bombay_env.state import state_to_dict

WIDTH, HEIGHT = 1110, 860
LEFT, TOP, SIDE = 60, 60, 740  # where the board lies: a square
PANEL = LEFT + SIDE + 70  # where the markets begin
SILK: Final = {"yellow": "#e3b505", "purple": "#7b3f9d", "blue": "#2a6fbb", "orange": "#e0701a"}
SEATS: Final = ("#2b2b2b", "#8a8f98", "#f3ead2", "#8b5a2b", "#e88ab0")  # black, grey, ivory, brown, pink
ON_SEATS: Final = ("#ffffff", "#ffffff", "#2b2b2b", "#ffffff", "#2b2b2b")
TOKEN_SIGNS: Final = {"client": "C", "city": "T", "rupees": "2", "bale": "B"}
MARKETS: Final = ("left", "centre", "right")
INK, TRAIL, LAND = "#3d3226", "#a58a64", "#f4ecd8"
FONT = "font-family='Georgia, serif'"


def draw(game: Game, states: np.ndarray) -> str:
    """The (1,) state as an SVG document."""
    facts = state_to_dict(states[0], game.rules, game.board)
    places = _places(game)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' {FONT}>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='{LAND}'/>",
        *(_trail(places[a], places[b]) for a, b in game.board.trails),
        *(_site(site.kind, site.name, places[site.name], facts) for site in game.board.sites),
        *_elephants(facts, places),
        *_panel(game, facts),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _places(game: Game) -> dict[str, tuple[float, float]]:
    """Pixels of each site: the board's own extent, stretched to the square."""
    xs, ys = [site.x for site in game.board.sites], [site.y for site in game.board.sites]
    scale = SIDE / (max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0)
    return {
        site.name: (round(LEFT + (site.x - min(xs)) * scale, 1), round(TOP + (site.y - min(ys)) * scale, 1))
        for site in game.board.sites
    }


def _trail(start: tuple[float, float], end: tuple[float, float]) -> str:
    ends = f"x1='{start[0]}' y1='{start[1]}' x2='{end[0]}' y2='{end[1]}'"
    return f"<line {ends} stroke='{TRAIL}' stroke-width='5' stroke-dasharray='9 5'/>"


def _site(kind: SiteKind, name: str, place: tuple[float, float], facts: dict[str, Any]) -> str:
    x, y = place
    if kind == SiteKind.CITY:
        return _city(name, x, y, facts)
    if kind in (SiteKind.START_HILL, SiteKind.HILL):
        shape = f"<path d='M{x - 30},{y + 20} Q{x},{y - 48} {x + 30},{y + 20} Z' fill='#8ea86a' stroke='{INK}'/>"
        return shape + _label(x, y + 12, name, 15) + _palace(name, x, y - 14, facts)
    if name in facts["posts"]:
        return _post(name, x, y, facts)
    token = facts["palace_tokens"].get(name)
    shape = f"<circle cx='{x}' cy='{y}' r='17' fill='#fffaf0' stroke='{INK}'/>"
    sign = f"<rect x='{x - 10}' y='{y - 10}' width='20' height='20' fill='#f2c14e' stroke='{INK}'/>" if token else ""
    text = _label(x, y + 5, TOKEN_SIGNS[token], 14) if token else ""
    return shape + sign + text + _label(x, y + 33, name, 13, halo=True) + _palace(name, x, y, facts)


def _post(name: str, x: float, y: float, facts: dict[str, Any]) -> str:
    is_open = name in facts["open_posts"]
    fill = SILK[facts["posts"][name]]
    shape = f"<circle cx='{x}' cy='{y}' r='20' fill='{fill}' stroke='{INK}' stroke-width='2'"
    cross = f"<path d='M{x - 12},{y - 12} l24,24 m0,-24 l-24,24' stroke='{LAND}' stroke-width='4'/>"
    return shape + ("/>" if is_open else " opacity='0.55'/>" + cross) + _label(x, y + 37, name, 13, halo=True)


def _city(name: str, x: float, y: float, facts: dict[str, Any]) -> str:
    walls = f"<rect x='{x - 34}' y='{y - 36}' width='68' height='60' rx='6' fill='#d9b99b' stroke='{INK}' stroke-width='2'/>"
    cubes = "".join(
        f"<rect x='{x - 26}' y='{y - 32 + 18 * row}' width='15' height='15' fill='{SILK[colour]}' stroke='{INK}'/>"
        for row, colour in enumerate(facts["demand"][name])
    )
    pile = f"<circle cx='{x + 14}' cy='{y - 6}' r='13' fill='#fffaf0' stroke='{INK}'/>"
    return (
        walls
        + cubes
        + pile
        + _label(x + 14, y - 1, str(facts["city_piles"][name]), 15)
        + _label(x, y + 41, name, 15, halo=True)
    )


def _palace(name: str, x: float, y: float, facts: dict[str, Any]) -> str:
    if name not in facts["palaces"]:
        return ""
    seat = facts["palaces"][name]
    shape = f"M{x - 13},{y + 11} v-14 q13,-22 26,0 v14 z"
    walls = f"<path d='{shape}' fill='{SEATS[seat]}' stroke='{INK}' stroke-width='2'/>"
    return walls + _label(x, y + 7, str(seat), 13, ON_SEATS[seat])


def _elephants(facts: dict[str, Any], places: dict[str, tuple[float, float]]) -> list[str]:
    parts = []
    for seat, name in enumerate(facts["position"]):
        x, y = places[name]
        beside = facts["position"][:seat].count(name)
        x, y = x - 40 + 18 * beside, y - 27
        mark = "#c0392b" if seat == facts["current_player"] else INK
        parts.append(f"<circle cx='{x}' cy='{y}' r='12' fill='{SEATS[seat]}' stroke='{mark}' stroke-width='3'/>")
        parts.append(_label(x, y + 5, str(seat), 13, ON_SEATS[seat]))
    return parts


def _panel(game: Game, facts: dict[str, Any]) -> list[str]:
    parts, y = [], 70
    for name, counts, price, actions in zip(
        MARKETS, facts["markets"], game.rules.market_rupees, game.rules.market_actions, strict=True
    ):
        cost = f"{price} rupee{'s' * (price != 1)}, {actions} action{'s' * (actions != 1)}"
        parts.append(_label(PANEL, y, f"{name}: {cost}", 15, at="start"))
        parts += _bales(counts, y + 12)
        y += 82
    parts.append(_label(PANEL, y, "bag", 15, at="start"))
    parts += _bales(facts["bag"], y + 12)
    y += 100
    for seat in range(game.num_players):
        parts.append(f"<circle cx='{PANEL + 10}' cy='{y - 5}' r='10' fill='{SEATS[seat]}' stroke='{INK}'/>")
        clients = facts["clients"][seat] + facts["client_palace_tokens"][seat]
        cities = len(facts["city_tokens"][seat]) + facts["city_palace_tokens"][seat]
        holdings = f"{facts['rupees'][seat]} rupees, Clients {clients}, cities {cities}"
        parts.append(_label(PANEL + 28, y, holdings, 14, at="start"))
        parts += _bales(facts["basket"][seat], y + 8)
        y += 60
    return parts


def _bales(counts: list[int], y: float) -> list[str]:
    colours = [colour for colour, count in zip(COLOUR_NAMES, counts, strict=True) for _ in range(count)]
    size = f"width='16' height='16' stroke='{INK}'"
    return [
        f"<rect x='{PANEL + 19 * (place % 9)}' y='{y + 19 * (place // 9)}' fill='{SILK[colour]}' {size}/>"
        for place, colour in enumerate(colours)
    ]


def _label(x: float, y: float, words: str, size: int, fill: str = INK, at: str = "middle", halo: bool = False) -> str:
    """Text; with a halo it stays readable where a trail passes behind it."""
    place = f"x='{x}' y='{y}' font-size='{size}' text-anchor='{at}'"
    rim = f" stroke='{LAND}' stroke-width='4' paint-order='stroke'" if halo else ""
    return f"<text {place} fill='{fill}'{rim}>{escape(words)}</text>"
