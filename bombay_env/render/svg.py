"""A position as one SVG picture: the map with all that stands on it, markets, bag, legend and what each seat has.

Draws any valid board for two to five seats, from a state's named facts. The picture has a background of its own, so it
reads the same on dark and light pages. `layout.py` says where things stand on the map, `shapes.py` what they look like; here
is what is shown. No drawing library is needed.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np

from bombay_env.board import Board, Site, SiteKind
from bombay_env.game import Game
from bombay_env.render import shapes
from bombay_env.render.layout import BALE_ROW, CITY_HEAD, Box, Herd, Map, arrange, place_herds
from bombay_env.render.shapes import group, label, rectangle, text_width
from bombay_env.render.view import MARKETS, Holdings, Result, View, plural, view
from bombay_env.rules import COLOUR_NAMES, Rules

WIDTH, HEIGHT = 1000.0, 882.0
MARGIN: Final = 16.0
HEADER_BOX: Final = Box(MARGIN, MARGIN, WIDTH - MARGIN, 72)
MAP_BOX: Final = Box(MARGIN, 84, 668, 744)
SIDE_BOX: Final = Box(680, 84, WIDTH - MARGIN, 744)
SEATS_BOX: Final = Box(MARGIN, 756, WIDTH - MARGIN, HEIGHT - MARGIN)
PADDING: Final = 14.0
TITLE, HEADING, BODY, SMALL = 20.0, 16.0, 15.0, 13.0  # font sizes
BALE: Final = 22.0
FAR_OFF: Final = 8.0  # elephants further than this from their site are tied to it by a line


def draw(game: Game, states: np.ndarray, viewer: int | None = None) -> str:
    """Draw the (1,) state as an SVG document.

    Args:
        game: what is played.
        states: one state.
        viewer: the seat that looks at it in `screened` mode, where the others' rupees and tokens show as "?"; without one
            all holdings show.
    """
    seen = view(game, states, viewer)
    parts = (_page(), _header(seen), _map(seen, arranged(game.board)), _side(seen), _seats(seen))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" font-family="{shapes.FONT}">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _page() -> str:
    return rectangle(0, 0, WIDTH, HEIGHT, shapes.PAPER, rx=18, stroke=shapes.EDGE)


def _panel(box: Box, fill: str = shapes.CARD, stroke: str = shapes.EDGE, width: float = 1.2) -> str:
    return rectangle(box.left, box.top, box.width, box.height, fill, rx=10, stroke=stroke, stroke_width=width)


# --- header: whose turn it is ---


def _header(seen: View) -> str:
    facts, rules, box = seen.facts, seen.game.rules, HEADER_BOX
    middle = box.top + box.height / 2
    parts = [_panel(box, shapes.HEADER, shapes.HEADER)]
    first = seen.winners[0] if facts["over"] else facts["current_player"]
    parts.append(shapes.elephant(box.left + 38, middle, first, 1.05))
    bold = {"font_weight": "bold", "fill": shapes.WHITE}
    words, size = shapes.fit(headline(seen), TITLE, 690 if facts["over"] else 310, SMALL)
    parts.append(label(box.left + 72, middle, words, size, text_anchor="start", **bold))
    if not facts["over"]:
        parts += _pips(box.left + 390, middle, facts["actions_left"], rules.actions_per_turn)
    parts.append(label(box.right - 18, middle, seen.when, BODY, text_anchor="end", fill=shapes.WHITE))
    return group(0, 0, *parts, data_part="header")


def headline(seen: View) -> str:
    """Whose turn it is and what is to be done, or who won."""
    facts = seen.facts
    if facts["over"]:
        return f"Game over: {seen.ending}"
    seat = f"Seat {facts['current_player']}"
    if facts["take_pending"]:
        return f"{seat} must take a bale"
    return f"{seat}: {plural(facts['actions_left'], 'action')} left"


def _pips(x: float, y: float, left: int, whole: int) -> list[str]:
    return [shapes.pip(x + 18 * place, y, 6, place < left, shapes.GOLD) for place in range(max(left, whole))]


# --- map ---


def _map(seen: View, drawn: Map) -> str:
    herds = place_herds(seen.game.board, drawn, _groups(seen))
    parts = [_panel(MAP_BOX, shapes.LAND), road_map(seen.game.board)]
    parts += [_site(site, seen, drawn) for site in seen.game.board.sites]
    parts += [_name(site, drawn) for site in seen.game.board.sites if site.kind != SiteKind.CITY]
    parts += [_tether(herd, drawn.icons[site]) for site, herd in herds.items()]
    parts += [_herd(herd, seen) for herd in herds.values()]
    return group(0, 0, *parts, data_part="map")


def arranged(board: Board) -> Map:
    """The board laid out on this picture's map."""
    return arrange(board, Box(MAP_BOX.left + 8, MAP_BOX.top + 14, MAP_BOX.right - 8, MAP_BOX.bottom - 8))


@lru_cache(maxsize=64)
def road_map(board: Board) -> str:
    """All trails of a board: first all edges, so that where roads meet, their surfaces join."""
    drawn, parts = arranged(board), []
    for fill, width in ((shapes.ROAD_EDGE, 8), (shapes.ROAD, 4.5)):
        for (a, b), line, bend in zip(board.trails, drawn.trails, drawn.bends, strict=True):
            (x, y), (u, v) = line[0], line[-1]
            curve = f"L{u:.1f},{v:.1f}" if bend is None else f"Q{bend[0]:.1f},{bend[1]:.1f} {u:.1f},{v:.1f}"
            named = {"data_trail": f"{a} {b}"} if fill == shapes.ROAD else {}
            parts.append(
                shapes.path(f"M{x:.1f},{y:.1f} {curve}", stroke=fill, stroke_width=width * drawn.scale, **named)
            )
    return "".join(parts)


def _site(site: Site, seen: View, drawn: Map) -> str:
    (x, y), scale, facts = drawn.centres[site.name], drawn.scale, seen.facts
    told: dict[str, Any] = {"data_site": site.name, "data_kind": site.kind.label}
    if site.kind == SiteKind.CITY:
        return group(0, 0, _city(site.name, seen, drawn), **told)
    owner, colour = facts["palaces"].get(site.name), facts["posts"].get(site.name)
    token = facts["palace_tokens"].get(site.name)
    if site.kind in (SiteKind.START_HILL, SiteKind.HILL):
        shape = shapes.hill(x, y, site.kind == SiteKind.START_HILL, scale)
    elif colour is not None:
        told |= {"data_post": colour, "data_closed": str(seen.is_closed(site.name)).lower()}
        shape = shapes.post(x, y, colour, not seen.is_closed(site.name), scale)
    elif owner is None:
        told |= {"data_token": token} if token else {}
        shape = shapes.palace_site(x, y, token, scale)
    else:
        shape = ""
    if owner is not None:
        told["data_owner"] = str(owner)
        shape += shapes.palace(x, y, owner, scale * (0.85 if shape else 1))
    return group(0, 0, shape, **told)


def _name(site: Site, drawn: Map) -> str:
    box, words, size = drawn.names[site.name]
    plate = rectangle(box.left, box.top, box.width, box.height, shapes.LAND, rx=4, fill_opacity=0.9)
    full = shapes.title(site.name) if words != site.name else ""
    return group(0, 0, full, plate, label(*box.centre, words, size, font_weight="bold"))


def _city(name: str, seen: View, drawn: Map) -> str:
    """A city's plate: its name, its column of demand with what a sale pays now, and the City tokens left."""
    icon, scale, (head, words, size) = drawn.icons[name], drawn.scale, drawn.names[name]
    battlements = "".join(
        rectangle(icon.left + share * icon.width - 4, icon.top - 5, 8, 9, shapes.HEADER)
        for share in (0.08, 0.36, 0.64, 0.92)
    )
    wall = rectangle(
        icon.left, icon.top, icon.width, icon.height, shapes.STONE, rx=6, stroke=shapes.HEADER, stroke_width=2
    )
    bar = rectangle(head.left, head.top, head.width, head.height, shapes.HEADER, rx=5)
    full = shapes.title(name) if words != name else ""
    heading = label(*head.centre, words, size, fill=shapes.WHITE, font_weight="bold")
    column = [_demand(place, colour, seen) for place, colour in enumerate(seen.facts["demand"][name])]
    pile = [
        shapes.gate(0, 28, 1.1),
        label(0, 49, str(seen.facts["city_piles"][name]), BODY, font_weight="bold"),
    ]
    inside = group(icon.left + 6 * scale, icon.top + CITY_HEAD * scale, *column, scale=scale)
    beside = group(icon.right - 14.5 * scale, icon.top + CITY_HEAD * scale, *pile, scale=scale)
    return full + battlements + wall + bar + heading + inside + beside


def _demand(place: int, colour: str, seen: View) -> str:
    """One row of a column: the cube, the rupees that a sale pays and the Client tokens it brings."""
    rupees, clients = seen.sale(place, colour)
    y = 13.5 + 23.5 * place
    words, size = shapes.fit(str(rupees), BODY, 14 if clients else 26, 7)
    parts = [shapes.bale(10, y, 20, colour), label(24, y, words, size, text_anchor="start", font_weight="bold")]
    if clients <= 2:
        parts += [shapes.client(43 + 11 * number, y, 0.55) for number in range(clients)]
    else:
        words, size = shapes.fit(str(clients), SMALL, 13, 6)
        parts += [shapes.client(43, y, 0.55), label(49, y, words, size, text_anchor="start", font_weight="bold")]
    return group(0, 0, *parts, data_demand=colour)


# --- elephants ---


def basket_items(basket: tuple[int, ...]) -> list[tuple[str, str, float]]:
    """The bales on a back: colour, sign and width of each; from four bales on, one for each colour with a number."""
    held = [(colour, count) for colour, count in zip(COLOUR_NAMES, basket, strict=True) if count]
    if sum(basket) <= 3:
        return [(colour, colour[0].upper(), 15.0) for colour, count in held for _ in range(count)]
    return [(colour, f"{colour[0].upper()}{count}", 24.0) for colour, count in held]


def _groups(seen: View) -> dict[str, dict[int, float]]:
    groups: dict[str, dict[int, float]] = {}
    for holding in seen.holdings:
        width = sum(width for _, _, width in basket_items(holding.basket))
        groups.setdefault(holding.site, {})[holding.seat] = width
    return groups


def _tether(herd: Herd, icon: Box) -> str:
    """A dotted line to the site from elephants that found no room right beside it."""
    (x, y), near = icon.nearest(herd.box.centre), herd.box.centre
    far = herd.box.nearest((x, y))
    if abs(far[0] - x) + abs(far[1] - y) < FAR_OFF:
        return ""
    line = f"M{x:.1f},{y:.1f} L{near[0]:.1f},{near[1]:.1f}"
    return shapes.path(line, stroke=shapes.INK, stroke_width=2.2, stroke_dasharray="0.1 5", stroke_linecap="round")


def _herd(herd: Herd, seen: View) -> str:
    return "".join(_elephant(box, seen.holdings[seat], seen, herd.scale) for seat, box in herd.places.items())


def _elephant(box: Box, holding: Holdings, seen: View, scale: float) -> str:
    x, active = box.centre[0], holding.seat == seen.facts["current_player"]
    parts = [shapes.elephant(x, box.bottom - 17.5 * scale, holding.seat, scale, active)]
    items = basket_items(holding.basket)
    left = -sum(width for _, _, width in items) / 2
    back = []
    for colour, sign, width in items:
        back.append(_load(left, -13.5 - BALE_ROW, width, colour, sign))
        left += width
    parts.append(group(x - 3 * scale, box.bottom - 17.5 * scale, *back, scale=scale))
    return group(0, 0, *parts, data_elephant=holding.seat, data_at=holding.site)


def _load(left: float, top: float, width: float, colour: str, sign: str) -> str:
    shape = rectangle(left, top, width, 15, shapes.SILK[colour], rx=3, stroke=shapes.INK, stroke_width=1.2)
    return shape + label(left + width / 2, top + 7.5, sign, 11.5, fill=shapes.ON_SILK[colour], font_weight="bold")


# --- side: markets, bag, legend ---


def _side(seen: View) -> str:
    parts, box = [], SIDE_BOX
    top = box.top
    for number in range(len(MARKETS)):
        parts.append(_market(number, Box(box.left, top, box.right, top + 78), seen))
        top += 86
    parts.append(_bag(Box(box.left, top, box.right, top + 112), seen))
    top += 120
    parts.append(_legend(Box(box.left, top, box.right, box.bottom), seen.game.rules))
    return group(0, 0, *parts, data_part="side")


def _market(number: int, box: Box, seen: View) -> str:
    chosen = seen.take_market == number
    counts = seen.facts["markets"][number]
    y = box.top + 22
    rim = (shapes.ACCENT, 3.5) if chosen else (shapes.EDGE, 1.2)
    parts = [
        _panel(box, shapes.CARD, *rim),
        label(
            box.left + PADDING,
            y,
            f"{MARKETS[number].capitalize()} market",
            HEADING,
            text_anchor="start",
            font_weight="bold",
        ),
        label(box.right - PADDING, y, seen.price(number), SMALL, text_anchor="end", fill=shapes.MUTED),
    ]
    if any(counts):
        parts += _bales(counts, box.left + PADDING, box.top + 53, box.width - 2 * PADDING)
    else:
        parts.append(label(box.left + PADDING, box.top + 53, "empty", SMALL, text_anchor="start", fill=shapes.MUTED))
    return group(0, 0, *parts, data_market=MARKETS[number])


def _bales(counts: Any, left: float, y: float, width: float, size: float = BALE) -> Iterator[str]:
    """Every bale in a row; where the row is too short for it, one of each colour with its number."""
    held = [(colour, count) for colour, count in zip(COLOUR_NAMES, counts, strict=True) if count]
    step = size + 4
    if sum(count for _, count in held) * step - 4 <= width:
        colours = [colour for colour, count in held for _ in range(count)]
        yield from (shapes.bale(left + size / 2 + step * i, y, size, colour) for i, colour in enumerate(colours))
        return
    for i, (colour, count) in enumerate(held):
        x = left + i * width / 4
        yield shapes.bale(x + size / 2, y, size, colour)
        yield label(x + size + 4, y, f"×{count}", 0.66 * size, text_anchor="start", font_weight="bold")


def _bag(box: Box, seen: View) -> str:
    """The bag by colour, with the colours' names, which colours are closed, and the bank."""
    y, facts = box.top + 22, seen.facts
    parts = [
        _panel(box),
        label(box.left + PADDING, y, "Bag", HEADING, text_anchor="start", font_weight="bold"),
    ]
    if facts["client_supply"] is not None:
        bank = f"bank: {plural(facts['client_supply'], 'Client')}"
        parts.append(label(box.right - PADDING, y, bank, SMALL, text_anchor="end", fill=shapes.MUTED))
    step = (box.width - 2 * PADDING) / len(COLOUR_NAMES)
    for number, colour in enumerate(COLOUR_NAMES):
        x = box.left + PADDING + step * number
        parts.append(shapes.bale(x + 11, box.top + 52, BALE, colour))
        count = f"×{facts['bag'][number]}"
        parts.append(label(x + 27, box.top + 52, count, BODY, text_anchor="start", font_weight="bold"))
        on_sale = any(row[number] for row in facts["markets"])
        state = "" if facts["over"] else "on sale" if on_sale else "closed"
        parts.append(label(x, box.top + 77, colour, SMALL, text_anchor="start"))
        parts.append(label(x, box.top + 95, state, SMALL, text_anchor="start", fill=shapes.MUTED))
    return group(0, 0, *parts, data_part="bag")


@lru_cache(maxsize=64)
def _legend(box: Box, rules: Rules) -> str:
    entries = (
        (shapes.post(0, 0, "blue", True, 0.72), "trading post"),
        (shapes.post(0, 0, "blue", False, 0.72), "closed post"),
        (shapes.palace_site(0, 0, "client", 0.72), "token: Client"),
        (shapes.palace_site(0, 0, "city", 0.72), "token: City"),
        (shapes.palace_site(0, 0, "rupees", 0.72), f"token: {plural(rules.palace_token_rupees, 'rupee')}"),
        (shapes.palace_site(0, 0, "bale", 0.72), "token: bale"),
        (shapes.palace(0, 0, 1, 0.72, numbered=False), f"palace, toll {rules.toll}"),
        (shapes.palace_site(0, 0, None, 0.72), "free site"),
        (shapes.hill(0, 5, True, 0.66), "hilltop, start"),
        (shapes.hill(0, 1, False, 0.66), f"hilltop, cost {rules.hill_cost}"),
        (shapes.bale(-9, 0, 16, "purple") + label(9, 0, "3", SMALL, font_weight="bold"), "sale pays"),
        (shapes.client(0, 0, 0.9), "Clients"),
        (shapes.gate(0, 0, 1.0), "City tokens"),
        (shapes.coin(0, 0, 0.85), "rupees"),
    )
    rows = (len(entries) + 1) // 2
    step, room = (box.height - 36 - 10) / rows, (box.width - PADDING) / 2
    fitted = [shapes.fit(words, SMALL, room - 38, 10, bold=False) for _, words in entries]
    size = min(size for _, size in fitted)  # one size for all
    parts = [
        _panel(box),
        label(box.left + PADDING, box.top + 22, "Legend", HEADING, text_anchor="start", font_weight="bold"),
    ]
    for number, ((icon, _), (words, _)) in enumerate(zip(entries, fitted, strict=True)):
        x = box.left + PADDING + number // rows * room
        y = box.top + 38 + step * (number % rows + 0.5)
        parts += [group(x + 13, y, icon), label(x + 32, y, words, size, text_anchor="start")]
    return group(0, 0, *parts, data_part="legend")


# --- seats ---


def _seats(seen: View) -> str:
    box, count, gap = SEATS_BOX, len(seen.holdings), 10.0
    width = (box.width - gap * (count - 1)) / count
    parts = []
    for holding in seen.holdings:
        left = box.left + (width + gap) * holding.seat
        result = seen.results[holding.seat] if seen.results else None
        parts.append(_seat(holding, Box(left, box.top, left + width, box.bottom), seen, result))
    return group(0, 0, *parts, data_part="seats")


def _seat(holding: Holdings, box: Box, seen: View, result: Result | None) -> str:
    """A seat's card: rupees, tokens, palaces left and bales; after the game its account."""
    marked = result.wins if result else holding.seat == seen.facts["current_player"]
    left, y = box.left + PADDING, box.top + 24
    title = {"text_anchor": "start", "font_weight": "bold"}
    parts = [
        _panel(box, shapes.CARD, *((shapes.ACCENT, 3.5) if marked else (shapes.EDGE, 1.2))),
        shapes.elephant(left + 19, y, holding.seat, 0.8),
        label(left + 43, y, f"Seat {holding.seat}", HEADING, **title),
        _amount(Box(left + 104, y, box.right - PADDING, y), holding.rupees if result is None else result.final),
    ]
    y = box.top + 56
    step = (box.width - 2 * PADDING) / 3
    icons = (
        (shapes.client(left + 8, y, 0.85), holding.clients),
        (shapes.gate(left + 8 + step, y, 0.95), holding.city_tokens),
        (shapes.palace(left + 9 + 2 * step, y, holding.seat, 0.58, numbered=False), holding.palaces_left),
    )
    for number, (icon, count) in enumerate(icons):
        words, size = shapes.fit("?" if count is None else str(count), BODY, step - 26, 8)
        parts += [icon, label(left + 23 + step * number, y, words, size, **title)]
    parts += _account(result, box) if result else _basket(holding, box)
    return group(0, 0, *parts, data_seat=holding.seat)


def _amount(box: Box, rupees: int | None) -> str:
    words, size = shapes.fit("?" if rupees is None else str(rupees), TITLE, box.width - 20, 7)
    number = label(box.right, box.top, words, size, text_anchor="end", font_weight="bold")
    return number + shapes.coin(box.right - text_width(words, size) - 11, box.top, 0.9)


def _basket(holding: Holdings, box: Box) -> list[str]:
    left, y = box.left + PADDING, box.top + 87
    if any(holding.basket):
        return list(_bales(holding.basket, left, y, box.width - 2 * PADDING, 20))
    return [label(left, y, "no bales", SMALL, text_anchor="start", fill=shapes.MUTED)]


def _account(result: Result, box: Box) -> list[str]:
    words = f"{result.rupees} + {result.majority} empire + {result.fame} fame"
    shown, size = shapes.fit(words, SMALL, box.width - 2 * PADDING, 8, bold=False)
    return [label(box.left + PADDING, box.top + 87, shown, size, text_anchor="start", fill=shapes.MUTED)]
