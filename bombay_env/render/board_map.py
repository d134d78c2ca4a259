"""The map of a drawing: the board, what stands on it, the legal moves and the last one.

`layout.py` says where things stand, `shapes.py` what they look like; here is what is shown. `svg.py` puts the map together with
the rest.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import hypot
from typing import Any, Final

from bombay_env.board import Board, Site, SiteKind
from bombay_env.render import shapes
from bombay_env.render.layout import BALE_ROW, CITY_HEAD, STEPS, Box, Herd, Map, arrange, place_herds
from bombay_env.render.picture import Part, part
from bombay_env.render.shapes import group, label, rectangle
from bombay_env.render.view import Holdings, View
from bombay_env.rules import COLOUR_NAMES

BODY, SMALL = 16.0, 14.0  # font sizes
POINT: Final = 7.0  # half the width of the point of a plate
REACH: Final = 4.0  # how far the point reaches into the icon of its site


# --- the board alone ---


@lru_cache(maxsize=64)
def background(board: Board) -> str:
    """SVG of the board: trails, names, hilltops and the walls of cities."""
    drawn = arrange(board)
    parts = [_trails(board, drawn)]
    parts += [_name(site, drawn) for site in board.sites if site.kind != SiteKind.CITY]
    for site in board.sites:
        told = {"data_site": site.name, "data_kind": site.kind.label}
        parts.append(shapes.element("g", _fixed(site, drawn), **told))
    return "".join(parts)


def _trails(board: Board, drawn: Map) -> str:
    """All trails: first all edges, so that where trails meet, their surfaces join."""
    parts = []
    for fill, width in ((shapes.ROAD_EDGE, 8), (shapes.ROAD, 4.5)):
        for (a, b), trail in zip(board.trails, drawn.trails, strict=True):
            (x, y), (u, v) = drawn.centres[a], drawn.centres[b]
            curve = f"M{x:.1f},{y:.1f} Q{trail.bend[0]:.1f},{trail.bend[1]:.1f} {u:.1f},{v:.1f}"
            named = {"data_trail": f"{a} {b}"} if fill == shapes.ROAD else {}
            parts.append(shapes.path(curve, stroke=fill, stroke_width=width * drawn.scale, **named))
    return "".join(parts)


def _name(site: Site, drawn: Map) -> str:
    box, words, size = drawn.names[site.name]
    plate = rectangle(box.left, box.top, box.width, box.height, shapes.LAND, rx=4, fill_opacity=0.9)
    return shapes.element("g", _in_full(site.name, words), plate, label(*box.centre, words, size, font_weight="bold"))


def _in_full(name: str, words: str) -> str:
    return shapes.title(name) if words != name else ""


def _fixed(site: Site, drawn: Map) -> str:
    """What never changes about a site: nothing, a hilltop or a city's wall and name."""
    if site.kind in (SiteKind.START_HILL, SiteKind.HILL):
        x, y = map(round, drawn.centres[site.name])
        return group(x, y, shapes.hill(site.kind == SiteKind.START_HILL), scale=drawn.scale)
    if site.kind != SiteKind.CITY:
        return shapes.title(site.name)
    icon, (head, words, size) = drawn.icons[site.name], drawn.names[site.name]
    battlements = "".join(
        rectangle(icon.left + share * icon.width - 4, icon.top - 5, 8, 9, shapes.HEADER)
        for share in (0.08, 0.36, 0.64, 0.92)
    )
    wall = rectangle(
        icon.left, icon.top, icon.width, icon.height, shapes.STONE, rx=6, stroke=shapes.HEADER, stroke_width=2
    )
    bar = rectangle(head.left, head.top, head.width, head.height, shapes.HEADER, rx=5)
    heading = label(*head.centre, words, size, fill=shapes.WHITE, font_weight="bold")
    return _in_full(site.name, words) + battlements + wall + bar + heading


# --- what stands on it ---


def parts(seen: View) -> Iterator[Part]:
    """All parts of the map in the order in which they are drawn."""
    board = seen.game.board
    drawn = arrange(board)
    herds = place_herds(board, _groups(seen))
    yield from _last_move(seen)
    for site in board.sites:
        yield from _city(site.name, seen, drawn) if site.kind == SiteKind.CITY else _site(site, seen, drawn)
    yield from _legal_moves(seen, drawn)
    for site_name, herd in herds.items():
        yield _plate(herd, drawn.icons[site_name])
    for herd in herds.values():
        for seat, box in herd.places.items():
            yield _elephant(box, seen.holdings[seat], seen, herd.scale)


def _site(site: Site, seen: View, drawn: Map) -> Iterator[Part]:
    """A post, a place for a palace with its token, a palace; nothing on a free hilltop."""
    scale, facts = drawn.scale, seen.facts
    told: dict[str, Any] = {"data_site": site.name}
    owner, colour = facts["palaces"].get(site.name), facts["posts"].get(site.name)
    token = facts["palace_tokens"].get(site.name)
    is_hill = site.kind in (SiteKind.START_HILL, SiteKind.HILL)
    shape = ""
    if colour is not None:
        is_open = not seen.is_closed(site.name)
        told |= {"data_post": colour, "data_closed": str(not is_open).lower()}
        shape = shapes.post(colour, is_open)
    elif owner is None and not is_hill:
        told |= {"data_token": token} if token else {}
        shape = shapes.palace_site(token)
    if owner is not None:
        told["data_owner"] = str(owner)
        shape += group(0, 0, shapes.palace(owner), scale=0.85 if is_hill or shape else 1)
    if shape:
        yield part(*drawn.centres[site.name], (-24, -24, 26, 22), group(0, 0, shape, scale=scale), **told)


def _city(name: str, seen: View, drawn: Map) -> Iterator[Part]:
    """A city's column of demand with what a sale pays now, and the City tokens left."""
    icon, scale, told = drawn.icons[name], drawn.scale, {"data_site": name}
    left, top = icon.left + 6 * scale, icon.top + CITY_HEAD * scale
    for place, colour in enumerate(seen.facts["demand"][name]):
        rupees, clients = seen.sale(place, colour)
        paid = {"data_demand": colour, "data_rupees": rupees, "data_clients": clients}
        row = group(0, 0, _demand(colour, rupees, clients), scale=scale)
        yield part(left, top + scale * (13.5 + 23.5 * place), (-1, -13, 66, 13), row, **told, **paid)
    pile = seen.facts["city_piles"][name]
    stack = group(0, 28, shapes.GATE, scale=1.1) + label(0, 49, str(pile), BODY, font_weight="bold")
    yield part(
        icon.right - 14.5 * scale, top, (-14, 12, 14, 62), group(0, 0, stack, scale=scale), **told, data_pile=pile
    )


@lru_cache(maxsize=256)
def _demand(colour: str, rupees: int, clients: int) -> str:
    """One row of a column: the cube, the rupees that a sale pays and the Client tokens it brings."""
    words, size = shapes.fit(str(rupees), BODY, 14 if clients else 26, 7)
    drawn = [group(10, 0, shapes.bale(20, colour)), label(24, 0, words, size, text_anchor="start", font_weight="bold")]
    if clients <= 2:
        drawn += [group(43 + 11 * number, 0, shapes.CLIENT, scale=0.55) for number in range(clients)]
    else:
        words, size = shapes.fit(str(clients), SMALL, 13, 6)
        drawn += [
            group(43, 0, shapes.CLIENT, scale=0.55),
            label(49, 0, words, size, text_anchor="start", font_weight="bold"),
        ]
    return "".join(drawn)


# --- moves ---


def _legal_moves(seen: View, drawn: Map) -> Iterator[Part]:
    """A dashed frame around each site that the seat to act may move to."""
    for name in seen.legal:
        kind, _, site = name.partition(":")
        if kind == "move":
            box = drawn.icons[site].grown(1)
            width, height = round(box.width), round(box.height)
            room = (-4, -4, width + 4, height + 4)
            yield part(box.left, box.top, room, frame(width, height), data_action=name, data_move=site)


@lru_cache(maxsize=64)
def frame(width: float, height: float) -> str:
    """The frame that marks what is legal, from its upper left corner."""
    under = rectangle(0, 0, width, height, "none", rx=9, stroke=shapes.CARD, stroke_width=4)
    dashes: dict[str, Any] = {"stroke": shapes.ACCENT, "stroke_width": 3, "stroke_dasharray": "8 5"}
    return under + rectangle(0, 0, width, height, "none", rx=9, **dashes)


def _last_move(seen: View) -> Iterator[Part]:
    """An arrow along the trail of the last action, if it was a move."""
    if seen.last is None:
        return
    kind, _, target = seen.last.action.partition(":")
    if kind == "move":
        x, y, room, arrow = _arrow(seen.game.board, seen.last.origin, target)
        yield part(x, y, room, arrow, data_last=seen.last.action, data_from=seen.last.origin)


@lru_cache(maxsize=256)
def _arrow(board: Board, origin: str, target: str) -> tuple[int, int, tuple[int, int, int, int], str]:
    """An arrow from one site to its neighbour, beside neither's icon: where it starts, its room, and its SVG."""
    drawn = arrange(board)
    line = next(
        trail.points.tolist() if pair == (origin, target) else trail.points[::-1].tolist()
        for pair, trail in zip(board.trails, drawn.trails, strict=True)
        if pair in ((origin, target), (target, origin))
    )
    icons = [drawn.icons[name].grown(5) for name in (origin, target)]
    points = [(u, v) for u, v in line if not any(box.nearest((u, v)) == (u, v) for box in icons)]
    if len(points) < 2:  # icons that touch
        points = line[STEPS // 2 - 3 : STEPS // 2 + 3]
    x, y = map(round, points[0])
    local = [(u - x, v - y) for u, v in points]
    (u, v), (before_u, before_v) = local[-1], local[-2]
    length = hypot(u - before_u, v - before_v) or 1.0
    dx, dy = 10 * (u - before_u) / length, 10 * (v - before_v) / length
    head = f"M{u + 0.4 * dx:.1f},{v + 0.4 * dy:.1f} L{u - dx - 0.7 * dy:.1f},{v - dy + 0.7 * dx:.1f} "
    head += f"L{u - dx + 0.7 * dy:.1f},{v - dy - 0.7 * dx:.1f} Z"
    shaft = "M" + " L".join(f"{u:.1f},{v:.1f}" for u, v in local)
    parts = [
        shapes.path(shaft, stroke=fill, stroke_width=4 + edge, stroke_linejoin="round")
        + shapes.path(head, fill, stroke=fill, stroke_width=edge, stroke_linejoin="round")
        for fill, edge in ((shapes.CARD, 4), (shapes.RED, 0))
    ]
    us, vs = zip(*local, strict=True)
    room = (round(min(us)) - 16, round(min(vs)) - 16, round(max(us)) + 16, round(max(vs)) + 16)
    return x, y, room, "".join(parts)


# --- elephants ---


def basket_items(basket: tuple[int, ...]) -> list[tuple[str, str, float]]:
    """The bales on a back: colour, sign and width of each; from four bales on, one for each colour with a number."""
    held = [(colour, count) for colour, count in zip(COLOUR_NAMES, basket, strict=True) if count]
    if sum(basket) <= 3:
        return [(colour, colour[0].upper(), 18.0) for colour, count in held for _ in range(count)]
    return [(colour, f"{colour[0].upper()}{count}", 27.0) for colour, count in held]


def _groups(seen: View) -> dict[str, dict[int, float]]:
    groups: dict[str, dict[int, float]] = {}
    for holding in seen.holdings:
        width = sum(width for _, _, width in basket_items(holding.basket))
        groups.setdefault(holding.site, {})[holding.seat] = width
    return groups


def _plate(herd: Herd, icon: Box) -> Part:
    """What the elephants of a site stand on: a plate with a point towards the site."""
    x, y = map(round, herd.box.centre)
    width, height = round(herd.box.width) + 2, round(herd.box.height) + 2
    u, v = icon.grown(-REACH).nearest((x, y))
    u, v = round(u) - x, round(v) - y
    length = hypot(u, v) or 1.0
    across, down = POINT * v / length, POINT * u / length
    point = f"M{u},{v} L{across:.1f},{-down:.1f} L{-across:.1f},{down:.1f} Z"
    box = (-width / 2, -height / 2, width, height)
    edge: dict[str, Any] = {"stroke": shapes.ROAD_EDGE, "stroke_width": 3, "stroke_linejoin": "round"}
    drawn = [
        shapes.path(point, shapes.LAND, **style) + rectangle(*box, shapes.LAND, rx=8, **style) for style in (edge, {})
    ]
    sides = (min(u, -width // 2) - 3, min(v, -height // 2) - 3, max(u, width // 2) + 4, max(v, height // 2) + 4)
    return part(x, y, sides, "".join(drawn), data_herd=" ".join(map(str, sorted(herd.places))))


def _elephant(box: Box, holding: Holdings, seen: View, scale: float) -> Part:
    active = holding.seat == seen.facts["current_player"]
    told = {"data_elephant": holding.seat, "data_at": holding.site}
    back = sum(width for _, _, width in basket_items(holding.basket)) / 2
    room = (-max(27, round(back) + 6), -37, max(27, round(back) + 4), 24)
    loaded = _loaded(holding.seat, holding.basket, active, scale)
    return part(box.centre[0], box.bottom - 17.5 * scale, room, loaded, **told)


@lru_cache(maxsize=512)
def _loaded(seat: int, basket: tuple[int, ...], active: bool, scale: float) -> str:
    """An elephant with its bales, around the middle of its body."""
    items = basket_items(basket)
    left = -sum(width for _, _, width in items) / 2
    back = []
    for colour, sign, width in items:
        back.append(_load(left, -13.5 - BALE_ROW, width, colour, sign))
        left += width
    return group(0, 0, shapes.elephant(seat, active), group(-3, 0, *back), scale=scale)


def _load(left: float, top: float, width: float, colour: str, sign: str) -> str:
    shape = rectangle(left, top, width, BALE_ROW, shapes.SILK[colour], rx=3, stroke=shapes.INK, stroke_width=1.2)
    middle = (left + width / 2, top + BALE_ROW / 2)
    return shape + shapes.sign(*middle, sign, shapes.ON_SILK[colour])
