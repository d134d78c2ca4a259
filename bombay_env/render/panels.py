"""What is around the map of a drawing: turn, legal actions, markets, bag, legend and what each seat has.

`background` has what the rules decide; the other functions give the parts that change from position to position. `svg.py` puts
them together.
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from bombay_env.render import board_map, shapes
from bombay_env.render.layout import Box
from bombay_env.render.picture import HEIGHT, WIDTH, Part, part, words_part
from bombay_env.render.shapes import label, rectangle, text_width
from bombay_env.render.view import MARKETS, Holdings, Result, View, plural
from bombay_env.rules import COLOUR_NAMES, Rules

MARGIN: Final = 16
HEADER_BOX: Final = Box(MARGIN, MARGIN, WIDTH - MARGIN, 72)
CHOICES_BOX: Final = Box(MARGIN, 80, WIDTH - MARGIN, 120)
SIDE_BOX: Final = Box(680, 128, WIDTH - MARGIN, 788)
SEATS_BOX: Final = Box(MARGIN, 798, WIDTH - MARGIN, HEIGHT - 14)
PADDING: Final = 14
TITLE, HEADING, BODY, SMALL = 20.0, 17.0, 16.0, 14.5  # font sizes
BALE: Final = 24
MARKET_HEIGHT, BAG_HEIGHT, GAP = 76, 118, 8
BOLD: Final[dict[str, Any]] = {"font_weight": "bold"}
MUTED: Final[dict[str, Any]] = {"fill": shapes.MUTED}


def panel(box: Box, fill: str = shapes.CARD, stroke: str = shapes.EDGE, width: float = 1.2) -> str:
    """The frame of a part of the page."""
    return rectangle(box.left, box.top, box.width, box.height, fill, rx=10, stroke=stroke, stroke_width=width)


def _rim(box: Box) -> Part:
    """What marks a panel."""
    room = (-3, -3, round(box.width) + 3, round(box.height) + 3)
    local = Box(0, 0, box.width, box.height)
    return part(box.left, box.top, room, panel(local, "none", shapes.ACCENT, 3.5), data_marked="true")


@lru_cache(maxsize=64)
def background(rules: Rules) -> str:
    """SVG of the panels with all that the rules decide."""
    seats = range(rules.num_players)
    return "\n".join(
        (
            panel(HEADER_BOX, shapes.HEADER, shapes.HEADER),
            panel(CHOICES_BOX),
            *(shapes.element("g", _market_panel(number, rules), data_market=MARKETS[number]) for number in range(3)),
            shapes.element("g", _bag_panel(), data_part="bag"),
            shapes.element("g", _legend(rules), data_part="legend"),
            *(shapes.element("g", _seat_panel(seat, rules.num_players), data_seat=seat) for seat in seats),
        )
    )


# --- header: whose turn it is ---


def course(seen: View) -> dict[str, Any]:
    """How far the game is, as attributes."""
    facts = seen.facts
    names = ("current_player", "first_player", "set", "turn", "actions_left", "buys")
    told = {f"data_{name}": facts[name] for name in names}
    told |= {f"data_{name}": str(facts[name]).lower() for name in ("over", "take_pending")}
    return told | ({"data_winners": json.dumps(seen.winners)} if seen.results else {})


def header(seen: View) -> Iterator[Part]:
    """Whose turn it is and what is left of it, or who won; set and turn."""
    facts, rules, box = seen.facts, seen.game.rules, HEADER_BOX
    middle = box.centre[1]
    white: dict[str, Any] = {"fill": shapes.WHITE}
    first = seen.winners[0] if facts["over"] else facts["current_player"]
    yield part(box.left + 38, middle, (-28, -24, 28, 24), shapes.elephant(0, 0, first, 1.05))
    words, size = shapes.fit(headline(seen), TITLE, 690 if facts["over"] else 310, SMALL)
    yield words_part(box.left + 72, middle, words, size, **BOLD, **white)
    when = seen.when
    if not facts["over"]:
        for place in range(max(facts["actions_left"], rules.actions_per_turn)):
            pip = shapes.pip(0, 0, 6, place < facts["actions_left"], shapes.GOLD)
            yield part(box.left + 394 + 18 * place, middle, (-8, -8, 8, 8), pip)
        yield words_part(box.left + 500, middle, f"bought {facts['buys']} of {rules.buys_per_turn}", SMALL, **white)
        when += f", {seen.who(facts['first_player'])} first"
    yield words_part(box.right - 18, middle, when, SMALL, text_anchor="end", **white)


def headline(seen: View) -> str:
    """Whose turn it is and what is to be done, or who won."""
    facts = seen.facts
    if facts["over"]:
        return f"Game over: {seen.ending}"
    seat = seen.title(facts["current_player"])
    if facts["take_pending"]:
        return f"{seat} must take a bale"
    return f"{seat}: {plural(facts['actions_left'], 'action')} left"


# --- what is legal, and what happened last ---


def choices(seen: View) -> Iterator[Part]:
    """The legal actions as buttons, those of one kind in one, and the last action in words."""
    left, y = CHOICES_BOX.left + 10, CHOICES_BOX.centre[1]
    for kind, colours in _kinds(seen).items():
        words, width = _choice_words(kind), _choice_width(kind, len(colours))
        dashed = kind == "move"
        told = {} if dashed or colours else {"data_action": kind}
        yield part(left, y, (-3, -17, width + 3, 17), _button(words, width, dashed), **told)
        x = left + width - 5 - 24 * len(colours)
        for colour in colours:
            named = (
                {"data_action": f"{kind}:{colour}"} if kind != "buy" else {"data_action": kind, "data_colour": colour}
            )
            yield part(x + 11, y, (-12, -12, 12, 12), shapes.bale(0, 0, 21, colour), **named)
            x += 24
        left += width + 7
    if seen.last is not None:
        full = f"Last: {seen.who(seen.last.seat)}, {seen.last.words}"
        words, size = shapes.fit(full, SMALL, CHOICES_BOX.right - PADDING - left, 10, bold=False)
        last: dict[str, Any] = {
            "data_last": seen.last.action,
            "data_last_seat": seen.last.seat,
            "data_from": seen.last.origin,
        }
        yield words_part(CHOICES_BOX.right - PADDING, y, words, size, last, text_anchor="end", **MUTED)


def _kinds(seen: View) -> dict[str, list[str]]:
    """The kinds of legal actions, each with the colours that it may be played with."""
    kinds: dict[str, list[str]] = {}
    for name in seen.legal:
        kind, _, argument = name.partition(":")
        kinds.setdefault(kind, [])
        if argument and kind != "move":
            kinds[kind].append(argument)
    if "buy" in kinds:
        site = seen.holdings[seen.facts["current_player"]].site
        kinds["buy"].append(seen.facts["posts"][site])
    return kinds


_WORDS: Final = {"move": "move", "build": "build with", "end_turn": "end turn"}


def _choice_words(kind: str) -> str:
    return _WORDS.get(kind, kind)


def _choice_width(kind: str, colours: int) -> int:
    return round(text_width(_choice_words(kind), SMALL)) + 14 + (24 * colours + 4 if colours else 0)


@lru_cache(maxsize=256)
def _button(words: str, width: int, dashed: bool) -> str:
    outline = rectangle(0, -14, width, 28, shapes.WHITE, rx=8, stroke=shapes.EDGE, stroke_width=1.5)
    if dashed:  # as on the sites that it stands for
        outline = shapes.group(0, -14, board_map.frame(width, 28))
    return outline + label(8, 0, words, SMALL, text_anchor="start", **BOLD)


# --- side: markets, bag, legend ---


def _market_box(number: int) -> Box:
    top = SIDE_BOX.top + (MARKET_HEIGHT + GAP) * number
    return Box(SIDE_BOX.left, top, SIDE_BOX.right, top + MARKET_HEIGHT)


def _bag_box() -> Box:
    top = SIDE_BOX.top + (MARKET_HEIGHT + GAP) * len(MARKETS)
    return Box(SIDE_BOX.left, top, SIDE_BOX.right, top + BAG_HEIGHT)


def _market_panel(number: int, rules: Rules) -> str:
    box, heading = _market_box(number), f"{MARKETS[number].capitalize()} market"
    rupees, actions = rules.market_rupees[number], plural(rules.market_actions[number], "action")
    y, right = box.top + 21, box.right - PADDING
    coin = right - text_width(actions, SMALL, bold=False) - 8
    return "".join(
        (
            panel(box),
            label(box.left + PADDING, y, heading, HEADING, text_anchor="start", **BOLD),
            label(right, y, actions, SMALL, text_anchor="end", **MUTED),
            label(coin, y, str(rupees), BODY, text_anchor="end", **BOLD),
            shapes.coin(coin - text_width(str(rupees), BODY) - 10, y, 0.85),
        )
    )


def side(seen: View) -> Iterator[Part]:
    """Bales in the markets and in the bag, colours that are closed, and the bank."""
    rules, facts = seen.game.rules, seen.facts
    for number, market in enumerate(MARKETS):
        box, counts = _market_box(number), facts["markets"][number]
        price = {"data_rupees": rules.market_rupees[number], "data_actions": rules.market_actions[number]}
        if seen.take_market == number:
            yield _rim(box)
        yield part(
            box.left, box.top, (0, 0, 0, 0), "", data_market=market, data_bales=json.dumps(list(counts)), **price
        )
        if any(counts):
            yield from _bales(counts, box.left + PADDING, box.top + 52, box.width - 2 * PADDING, data_market=market)
        else:
            yield words_part(box.left + PADDING, box.top + 52, "empty", SMALL, {"data_market": market}, **MUTED)
    yield from _bag(seen)


def _bales(counts: Any, left: float, y: float, width: float, size: int = BALE, **told: Any) -> Iterator[Part]:
    """Every bale in a row; where the row is too short for it, one of each colour with its number."""
    held = [(colour, count) for colour, count in zip(COLOUR_NAMES, counts, strict=True) if count]
    step, half = size + 4, size // 2 + 1
    room = (-half, -half, half, half)
    if sum(count for _, count in held) * step - 4 <= width:
        for i, colour in enumerate(colour for colour, count in held for _ in range(count)):
            yield part(left + size / 2 + step * i, y, room, shapes.bale(0, 0, size, colour), **told)
        return
    for i, (colour, count) in enumerate(held):
        x = left + i * width / 4
        yield part(x + size / 2, y, room, shapes.bale(0, 0, size, colour), **told)
        yield words_part(x + size + 4, y, f"×{count}", 0.62 * size, told, **BOLD)


def _bag_places() -> Iterable[tuple[str, float]]:
    box = _bag_box()
    step = (box.width - 2 * PADDING) / len(COLOUR_NAMES)
    return ((colour, box.left + PADDING + step * number) for number, colour in enumerate(COLOUR_NAMES))


def _bag_panel() -> str:
    box = _bag_box()
    shown = [panel(box), label(box.left + PADDING, box.top + 21, "Bag", HEADING, text_anchor="start", **BOLD)]
    for colour, x in _bag_places():
        shown.append(shapes.bale(round(x) + 11, box.top + 53, 22, colour))
        shown.append(label(x, box.top + 80, colour, SMALL, text_anchor="start"))
    return "".join(shown)


def _bag(seen: View) -> Iterator[Part]:
    """The bag by colour, which colours are closed, and the bank."""
    box, facts, told = _bag_box(), seen.facts, {"data_part": "bag"}
    supply = facts["client_supply"]
    if supply is not None:
        at = (box.right - PADDING, box.top + 21)
        bank = f"bank: {plural(supply, 'Client')}"
        yield words_part(*at, bank, SMALL, told | {"data_client_supply": supply}, text_anchor="end", **MUTED)
    for (colour, x), count, on_sale in zip(_bag_places(), facts["bag"], seen.on_sale, strict=True):
        words = f"×{count}"
        named = told | {"data_bag": colour, "data_count": count}
        shown, size = shapes.fit(words, BODY, 34, 9)
        yield words_part(x + 26, box.top + 53, shown, size, named, **BOLD)
        if not facts["over"]:
            named = told | {"data_colour": colour, "data_closed": str(not on_sale).lower()}
            style = MUTED if on_sale else {"fill": shapes.RED, **BOLD}
            yield words_part(x, box.top + 99, "on sale" if on_sale else "closed", SMALL, named, **style)


def legend(rules: Rules) -> tuple[tuple[str, str], ...]:
    """What the signs of the map mean: icons as SVG around their middle, some 40 units wide, each with its meaning."""
    line = "M-12,0 H6"
    return (
        (shapes.post(0, 0, "blue", True, 0.72), "trading post"),
        (shapes.post(0, 0, "blue", False, 0.72), "closed post"),
        (shapes.palace_site(0, 0, "client", 0.72), "gives Client"),
        (shapes.palace_site(0, 0, "city", 0.72), "gives City"),
        (shapes.palace_site(0, 0, "rupees", 0.72), f"gives {plural(rules.palace_token_rupees, 'rupee')}"),
        (shapes.palace_site(0, 0, "bale", 0.72), "gives a bale"),
        (shapes.palace_site(0, 0, None, 0.72), "free site"),
        (shapes.palace(0, 0, 1, 0.72, numbered=False), f"palace, toll {rules.toll}"),
        (shapes.group(-12, -10, board_map.frame(24, 20)), "legal move"),
        (
            shapes.path(line, stroke=shapes.RED, stroke_width=4) + shapes.path("M13,0 L2,-7 V7 Z", shapes.RED),
            "last move",
        ),
        (shapes.hill(0, 5, True, 0.62), "start hilltop"),
        (shapes.hill(0, 1, False, 0.62), f"hilltop, cost {rules.hill_cost}"),
        (shapes.bale(-9, 0, 16, "purple") + label(9, 0, "3", SMALL, **BOLD), "sale pays"),
        (shapes.client(0, 0, 0.9), "Clients"),
        (shapes.gate(0, 0, 1.0), "City tokens"),
        (shapes.coin(0, 0, 0.85), "rupees"),
    )


def _legend(rules: Rules) -> str:
    box = Box(SIDE_BOX.left, _bag_box().bottom + GAP, SIDE_BOX.right, SIDE_BOX.bottom)
    entries = legend(rules)
    rows = (len(entries) + 1) // 2
    step, room = (box.height - 36 - 8) / rows, (box.width - PADDING) / 2
    fitted = [shapes.fit(words, SMALL, room - 33, 10, bold=False) for _, words in entries]
    size = min(size for _, size in fitted)  # one size for all
    shown = [panel(box), label(box.left + PADDING, box.top + 21, "Legend", HEADING, text_anchor="start", **BOLD)]
    for number, ((icon, _), (words, _)) in enumerate(zip(entries, fitted, strict=True)):
        x = box.left + PADDING + number // rows * room
        y = box.top + 36 + step * (number % rows + 0.5)
        shown += [shapes.group(x + 11, y, icon), label(x + 29, y, words, size, text_anchor="start")]
    return "".join(shown)


# --- seats ---


def _seat_box(seat: int, count: int) -> Box:
    gap = 10.0
    width = (SEATS_BOX.width - gap * (count - 1)) / count
    left = SEATS_BOX.left + (width + gap) * seat
    return Box(left, SEATS_BOX.top, left + width, SEATS_BOX.bottom)


def _counters(seat: int, count: int) -> Iterator[tuple[float, float, float]]:
    """Places and widths of what is counted: Clients, City tokens, palaces left."""
    box = _seat_box(seat, count)
    step = (box.width - 2 * PADDING) / 3
    return ((box.left + PADDING + step * number, box.top + 55, step) for number in range(3))


def _seat_panel(seat: int, count: int) -> str:
    """A seat's card without what the seat has."""
    box = _seat_box(seat, count)
    y = box.top + 24
    icons = (
        shapes.client(8, 0, 0.85),
        shapes.gate(8, 0, 0.95),
        shapes.palace(9, 0, seat, 0.58, numbered=False),
    )
    return "".join(
        (
            panel(box),
            shapes.elephant(box.left + PADDING + 19, y, seat, 0.8),
            *(shapes.group(x, y, icon) for icon, (x, y, _) in zip(icons, _counters(seat, count), strict=True)),
        )
    )


def told(holding: Holdings, seen: View) -> dict[str, Any]:
    """What a seat has, as attributes; null is behind its screen."""
    clients, palace_tokens = holding.clients, holding.client_palace_tokens
    has = {
        "rupees": holding.rupees,
        "clients": None if clients is None or palace_tokens is None else clients - palace_tokens,
        "client_palace_tokens": palace_tokens,
        "city_tokens": None if holding.cities is None else list(holding.cities),
        "city_palace_tokens": holding.city_palace_tokens,
        "palaces_left": holding.palaces_left,
        "basket": list(holding.basket),
    }
    if seen.results:
        has["final"] = seen.results[holding.seat].final
    return {"data_seat": holding.seat} | {
        f"data_{name}": json.dumps(value, ensure_ascii=False) for name, value in has.items()
    }


def seat(holding: Holdings, seen: View) -> Iterator[Part]:
    """What a seat has: rupees, tokens, palaces left and bales; after the game its account."""
    box, count = _seat_box(holding.seat, len(seen.holdings)), len(seen.holdings)
    result = seen.results[holding.seat] if seen.results else None
    most = HEADING if count < 5 else SMALL
    words, size = shapes.fit(seen.title(holding.seat), most, box.width - 2 * PADDING - 102, 9)
    yield words_part(box.left + PADDING + 42, box.top + 24, words, size, **BOLD)
    if result.wins if result else holding.seat == seen.facts["current_player"]:
        yield _rim(box)
    yield from _amount(
        Box(box.left + 118, box.top + 24, box.right - PADDING, 0), result.final if result else holding.rupees
    )
    counts = (holding.clients, holding.city_tokens, holding.palaces_left)
    for number, (x, y, step) in zip(counts, _counters(holding.seat, count), strict=True):
        words, size = shapes.fit("?" if number is None else str(number), BODY, step - 26, 8)
        yield words_part(x + 23, y, words, size, **BOLD)
    left, y = box.left + PADDING, box.top + 88
    if result:
        yield _account(result, box)
    elif any(holding.basket):
        yield from _bales(holding.basket, left, y, box.width - 2 * PADDING, 22)
    else:
        yield words_part(left, y, "no bales", SMALL, **MUTED)


def _amount(box: Box, rupees: int | None) -> Iterator[Part]:
    words, size = shapes.fit("?" if rupees is None else str(rupees), TITLE, box.width - 20, 7)
    yield words_part(box.right, box.top, words, size, text_anchor="end", **BOLD)
    yield part(box.right - text_width(words, size) - 11, box.top, (-11, -11, 11, 11), shapes.coin(0, 0, 0.9))


def _account(result: Result, box: Box) -> Part:
    words = f"{result.rupees} + {result.majority} empire + {result.fame} fame"
    shown, size = shapes.fit(words, SMALL, box.width - 2 * PADDING, 8, bold=False)
    return words_part(box.left + PADDING, box.top + 88, shown, size, **MUTED)
