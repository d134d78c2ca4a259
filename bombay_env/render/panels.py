"""What is around the map of a drawing: turn, legal actions, markets, bag, legend and what each seat has.

`svg.py` puts the parts that these functions give together.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from bombay_env.render import board_map, shapes
from bombay_env.render.layout import Box
from bombay_env.render.picture import HEIGHT, WIDTH, Part, part, words_part
from bombay_env.render.shapes import group, label, rectangle, text_width
from bombay_env.render.view import MARKETS, Holdings, View, plural
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


def panel(box: Box, fill: str = shapes.CARD, stroke: str = shapes.EDGE, width: float = 1.2, **told: Any) -> Part:
    """The frame of a part of the page."""
    across, down = round(box.width), round(box.height)
    frame = rectangle(0, 0, across, down, fill, rx=10, stroke=stroke, stroke_width=width)
    return part(box.left, box.top, (-3, -3, across + 3, down + 3), frame, **told)


def _rim(box: Box) -> Part:
    """What marks a panel."""
    return panel(box, "none", shapes.ACCENT, 3.5, data_marked="true")


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
    yield panel(box, shapes.HEADER, shapes.HEADER)
    yield part(box.left + 38, middle, (-28, -24, 28, 24), group(0, 0, shapes.elephant(first), scale=1.05))
    room = (690 if facts["over"] else 310, SMALL)
    yield words_part(box.left + 72, middle, headline(seen), TITLE, fit=room, **BOLD, **white)
    when = seen.when
    if not facts["over"]:
        for place in range(max(facts["actions_left"], rules.actions_per_turn)):
            pip = shapes.pip(place < facts["actions_left"])
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
    yield panel(CHOICES_BOX)
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
            yield part(x + 11, y, (-12, -12, 12, 12), shapes.bale(21, colour), **named)
            x += 24
        left += width + 7
    if seen.last is not None:
        words, right = f"Last: {seen.who(seen.last.seat)}, {seen.last.words}", CHOICES_BOX.right - PADDING
        last = {"data_last": seen.last.action, "data_last_seat": seen.last.seat, "data_from": seen.last.origin}
        yield words_part(right, y, words, SMALL, last, fit=(right - left, 10), text_anchor="end", **MUTED)


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
        outline = group(0, -14, board_map.frame(width, 28))
    return outline + label(8, 0, words, SMALL, text_anchor="start", **BOLD)


# --- side: markets, bag, legend ---


def side(seen: View) -> Iterator[Part]:
    """The markets with their prices and bales, the bag, and the legend."""
    top = SIDE_BOX.top
    for number in range(len(MARKETS)):
        yield from _market(number, Box(SIDE_BOX.left, top, SIDE_BOX.right, top + MARKET_HEIGHT), seen)
        top += MARKET_HEIGHT + GAP
    yield from _bag(Box(SIDE_BOX.left, top, SIDE_BOX.right, top + BAG_HEIGHT), seen)
    yield _legend(Box(SIDE_BOX.left, top + BAG_HEIGHT + GAP, SIDE_BOX.right, SIDE_BOX.bottom), seen.game.rules)


def _market(number: int, box: Box, seen: View) -> Iterator[Part]:
    rules, counts = seen.game.rules, seen.facts["markets"][number]
    rupees = rules.market_rupees[number]
    told: dict[str, Any] = {"data_market": MARKETS[number]}
    price: dict[str, Any] = {"data_rupees": rupees, "data_actions": rules.market_actions[number]}
    yield panel(box, **told, data_bales=json.dumps(list(counts)), **price)
    if seen.take_market == number:
        yield _rim(box)
    actions, heading = plural(rules.market_actions[number], "action"), f"{MARKETS[number].capitalize()} market"
    left, y, right = box.left + PADDING, box.top + 21, box.right - PADDING
    yield words_part(left, y, heading, HEADING, told, **BOLD)
    yield words_part(right, y, actions, SMALL, told, text_anchor="end", **MUTED)
    right -= text_width(actions, SMALL, bold=False) + 12
    yield words_part(right, y, str(rupees), BODY, told, text_anchor="end", **BOLD)
    yield _icon(right - text_width(str(rupees), BODY) - 10, y, shapes.COIN, 0.85, **told)
    if any(counts):
        yield from _bales(counts, left, box.top + 52, box.width - 2 * PADDING, **told)
    else:
        yield words_part(left, box.top + 52, "empty", SMALL, told, **MUTED)


def _icon(x: float, y: float, icon: str, scale: float, **told: Any) -> Part:
    return part(x, y, (-14, -14, 14, 14), group(0, 0, icon, scale=scale), **told)


def _bales(counts: Any, left: float, y: float, width: float, size: int = BALE, **told: Any) -> Iterator[Part]:
    """Every bale in a row; where the row is too short for it, one of each colour with its number."""
    held = [(colour, count) for colour, count in zip(COLOUR_NAMES, counts, strict=True) if count]
    step, half = size + 4, size // 2 + 1
    room = (-half, -half, half, half)
    if sum(count for _, count in held) * step - 4 <= width:
        for i, colour in enumerate(colour for colour, count in held for _ in range(count)):
            yield part(left + size / 2 + step * i, y, room, shapes.bale(size, colour), **told)
        return
    for i, (colour, count) in enumerate(held):
        x = left + i * width / 4
        yield part(x + size / 2, y, room, shapes.bale(size, colour), **told)
        yield words_part(x + size + 4, y, f"×{count}", 0.62 * size, told, **BOLD)


def _bag(box: Box, seen: View) -> Iterator[Part]:
    """The bag by colour, which colours are closed, and the bank."""
    facts, left = seen.facts, box.left + PADDING
    told: dict[str, Any] = {"data_part": "bag"}
    yield panel(box, **told)
    yield words_part(left, box.top + 21, "Bag", HEADING, told, **BOLD)
    if facts["client_supply"] is not None:
        bank = f"bank: {plural(facts['client_supply'], 'Client')}"
        named = told | {"data_client_supply": facts["client_supply"]}
        yield words_part(box.right - PADDING, box.top + 21, bank, SMALL, named, text_anchor="end", **MUTED)
    for colour, count, on_sale in zip(COLOUR_NAMES, facts["bag"], seen.on_sale, strict=True):
        named = told | {"data_bag": colour, "data_count": count}
        yield _icon(left + 11, box.top + 53, shapes.bale(22, colour), 1, **told)
        yield words_part(left + 26, box.top + 53, f"×{count}", BODY, named, fit=(34, 9), **BOLD)
        yield words_part(left, box.top + 80, colour, SMALL, told)
        if not facts["over"]:
            named = told | {"data_colour": colour, "data_closed": str(not on_sale).lower()}
            style = MUTED if on_sale else {"fill": shapes.RED, **BOLD}
            yield words_part(left, box.top + 99, "on sale" if on_sale else "closed", SMALL, named, **style)
        left += (box.width - 2 * PADDING) / len(COLOUR_NAMES)


def legend(rules: Rules) -> tuple[tuple[str, str], ...]:
    """What the signs of the map mean: icons as SVG around their middle, some 40 units wide, each with its meaning."""
    arrow = (
        f'<path d="M-12,0 H6" stroke="{shapes.RED}" stroke-width="4"/><path d="M13,0 L2,-7 V7 Z" fill="{shapes.RED}"/>'
    )
    signs = (
        (shapes.post("blue", True), 0.72, "trading post"),
        (shapes.post("blue", False), 0.72, "closed post"),
        (shapes.palace_site("client"), 0.72, "gives Client"),
        (shapes.palace_site("city"), 0.72, "gives City"),
        (shapes.palace_site("rupees"), 0.72, f"gives {plural(rules.palace_token_rupees, 'rupee')}"),
        (shapes.palace_site("bale"), 0.72, "gives a bale"),
        (shapes.palace_site(None), 0.72, "free site"),
        (shapes.palace(1, numbered=False), 0.72, f"palace, toll {rules.toll}"),
        (group(-12, -10, board_map.frame(24, 20)), 1, "legal move"),
        (arrow, 1, "last move"),
        (group(0, 8, shapes.hill(True)), 0.62, "start hilltop"),
        (group(0, 2, shapes.hill(False)), 0.62, f"hilltop, cost {rules.hill_cost}"),
        (group(-9, 0, shapes.bale(16, "purple")) + label(9, 0, "3", SMALL, **BOLD), 1, "sale pays"),
        (shapes.CLIENT, 0.9, "Clients"),
        (shapes.GATE, 1, "City tokens"),
        (shapes.COIN, 0.85, "rupees"),
    )
    return tuple((group(0, 0, icon, scale=scale), words) for icon, scale, words in signs)


@lru_cache(maxsize=64)
def _legend(box: Box, rules: Rules) -> Part:
    entries = legend(rules)
    rows = (len(entries) + 1) // 2
    step, room = (box.height - 36 - 8) / rows, (box.width - PADDING) / 2
    size = min(shapes.fit(words, SMALL, room - 45, 10, bold=False)[1] for _, words in entries)  # one size for all
    shown = [label(PADDING, 21, "Legend", HEADING, text_anchor="start", **BOLD)]
    for number, (icon, words) in enumerate(entries):
        x, y = PADDING + number // rows * room, 36 + step * (number % rows + 0.5)
        words, _ = shapes.fit(words, size, room - 45, size, bold=False)
        shown.append(group(x + 11, y, icon) + label(x + 29, y, words, size, text_anchor="start"))
    frame = panel(box)
    return frame._replace(content=frame.content + "".join(shown), told=shapes.as_attributes({"data_part": "legend"}))


# --- seats ---


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
    count, gap = len(seen.holdings), 10
    width = (SEATS_BOX.width - gap * (count - 1)) / count
    start = SEATS_BOX.left + (width + gap) * holding.seat
    box = Box(start, SEATS_BOX.top, start + width, SEATS_BOX.bottom)
    result = seen.results[holding.seat] if seen.results else None
    left, y, room = box.left + PADDING, box.top + 24, (box.width - 2 * PADDING - 102, 9)
    yield panel(box)
    yield part(left + 19, y, (-24, -20, 24, 20), group(0, 0, shapes.elephant(holding.seat), scale=0.8))
    size = HEADING if count < 5 else SMALL
    yield words_part(left + 42, y, seen.title(holding.seat), size, fit=room, **BOLD)
    if result.wins if result else holding.seat == seen.facts["current_player"]:
        yield _rim(box)
    yield from _amount(box, result.final if result else holding.rupees)
    step = (box.width - 2 * PADDING) / 3
    counted = (
        (shapes.CLIENT, 0.85, holding.clients),
        (shapes.GATE, 0.95, holding.city_tokens),
        (shapes.palace(holding.seat, numbered=False), 0.58, holding.palaces_left),
    )
    for place, (icon, scale, number) in enumerate(counted):
        x, y = left + step * place, box.top + 55
        yield _icon(x + 8, y, icon, scale)
        yield words_part(x + 23, y, "?" if number is None else str(number), BODY, fit=(step - 26, 8), **BOLD)
    y = box.top + 88
    if result:
        words = f"{result.rupees} + {result.majority} empire + {result.fame} fame"
        yield words_part(left, y, words, SMALL, fit=(box.width - 2 * PADDING, 8), **MUTED)
    elif any(holding.basket):
        yield from _bales(holding.basket, left, y, box.width - 2 * PADDING, 22)
    else:
        yield words_part(left, y, "no bales", SMALL, **MUTED)


def _amount(box: Box, rupees: int | None) -> Iterator[Part]:
    words, size = shapes.fit("?" if rupees is None else str(rupees), TITLE, box.width - PADDING - 138, 7)
    right, y = box.right - PADDING, box.top + 24
    yield words_part(right, y, words, size, text_anchor="end", **BOLD)
    yield part(right - text_width(words, size) - 11, y, (-11, -11, 11, 11), group(0, 0, shapes.COIN, scale=0.9))
