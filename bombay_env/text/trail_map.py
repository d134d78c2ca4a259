"""The map of a board for terminals: sites at their places, trails as dots, and what a traveller must know of one site."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from bombay_env.board import Board
from bombay_env.game import Game
from bombay_env.render.view import YOU, View, plural, view
from bombay_env.text.effects import HILLS, site_words
from bombay_env.text.position import enter_costs, near_sites, sale_words
from bombay_env.text.rulebook import token_gains

WIDTHS: Final = (72, 110)  # letters of a line, the least and the most
SHAPE: Final = 0.36  # lines for each letter of the width
MARGIN: Final = 9  # letters beside the outermost sites, for half of a label
DOT: Final = "·"
Place = tuple[int, int]  # column and line


def draw_map(game: Game, states: np.ndarray, width: int = 100) -> str:
    """The board of the (1,) state as a drawing of letters, with a key below. It shows nothing that `screened` mode hides.

    Args:
        game: what is played.
        states: one state.
        width: letters of the longest line, brought into the range from 72 to 110.
    """
    seen, width = view(game, states), int(np.clip(width, *WIDTHS))
    places, letters = _places(game.board, width), dict[Place, str]()
    for one, other in game.board.trails:
        letters |= dict.fromkeys(_dots(places[one], places[other]), DOT)
    for name, (column, line) in places.items():
        words = f" {_label(seen, name)} "
        left = min(max(column - len(words) // 2, 0), width - len(words))
        letters |= {(left + number, line): letter for number, letter in enumerate(words)}
    height = 1 + max(line for _, line in letters)
    drawn = ["".join(letters.get((column, line), " ") for column in range(width)).rstrip() for line in range(height)]
    return "\n".join([*drawn, "", *_key(seen)])


def describe_site(game: Game, states: np.ndarray, site: str) -> str:
    """A site of the (1,) state in some ten lines: what is there, where its trails lead at what cost, and how far the cities are.

    Args:
        game: what is played.
        states: one state.
        site: its name.

    Raises:
        ValueError: the board has no such site.
    """
    seen, board = view(game, states), game.board
    board.site_index(site)  # raises
    near, costs = near_sites(game)[site], enter_costs(game)
    lines = [f"{site}: {site_words(seen, site)}{_elephants(seen, site)}", *_meaning(seen, site), "trails to"]
    for name in near:
        cost = plural(costs[name], "action")
        lines.append(f"  {name:<{max(map(len, near))}}  {cost:<9}  {site_words(seen, name)}{_elephants(seen, name)}")
    return "\n".join([*lines, _far(seen, site)])


def explain_sites(game: Game, states: np.ndarray, seat: int, names: Sequence[str] = ()) -> dict[str, list[str]]:
    """What each site of the (1,) state means, in some five short lines, the first of which names what is there.

    Args:
        game: what is played.
        states: one state.
        seat: whose distance to each site is told.
        names: what the seats are called; empty: by their numbers.
    """
    seen, near, costs = view(game, states, names=names), near_sites(game), enter_costs(game)
    away = _distances(seen, seen.holdings[seat].site)
    explained = {}
    for site, actions in away.items():
        elephants = [seen.who(has.seat) for has in seen.holdings if has.site == site]
        explained[site] = [
            site_words(seen, site),
            *_meaning(seen, site),
            *([f"elephants: {', '.join(elephants)}"] if elephants else []),
            f"actions to its neighbours: {', '.join(f'{name} {costs[name]}' for name in near[site])}",
            f"actions from {seen.who(seat)}: {actions}; {_far(seen, site).removeprefix('actions ')}",
        ]
    return explained


def _meaning(seen: View, site: str) -> Iterator[str]:
    """What can be done on a site, and what it brings."""
    facts, rules = seen.facts, seen.game.rules
    if site in facts["palaces"]:
        owner = seen.who(facts["palaces"][site])
        takes = f"{owner} {'take' if owner == YOU else 'takes'} {plural(rules.toll, 'rupee')}"
        yield f"whenever another elephant enters, {takes} of toll from the bank"
    elif site in facts["demand"]:
        yield f"a sale pays in rupees: {', '.join(sale_words(seen, site))}"
        left = facts["city_piles"][site]
        yield f"City tokens left: {left}{'; the first sale of each player here gives one' if left else ''}"
    elif site not in facts["posts"]:
        token = facts["palace_tokens"].get(site)
        gain = f"; its builder gets the token, which {token_gains(rules)[token]}" if token else ""
        yield f"a palace can be built here for 1 bale and {plural(rules.build_cost, 'action')}{gain}"
    elif seen.is_closed(site):
        yield f"no market has {facts['posts'][site]} bales; the next set may bring some"


def _far(seen: View, site: str) -> str:
    away = _distances(seen, site)
    return (
        f"actions to the cities: {', '.join(f'{city} {away[city]}' for city in seen.facts['demand'] if city != site)}"
    )


def _distances(seen: View, site: str) -> dict[str, int]:
    """The fewest actions from a site to each site."""
    board, distances = seen.game.board, seen.game.tables[0]["distance"]
    return dict(zip((other.name for other in board.sites), distances[board.site_index(site)].tolist(), strict=True))


def _places(board: Board, width: int) -> dict[str, Place]:
    """Where each site stands in the drawing."""
    x, y = (np.array([getattr(site, axis) for site in board.sites], float) for axis in "xy")
    columns = MARGIN + (x - x.min()) / (np.ptp(x) or 1) * (width - 1 - 2 * MARGIN)
    lines = (y - y.min()) / (np.ptp(y) or 1) * round(width * SHAPE)
    return {
        site.name: (round(column), round(line)) for site, column, line in zip(board.sites, columns, lines, strict=True)
    }


def _dots(one: Place, other: Place) -> Iterator[Place]:
    """The places of the letters on a straight line. A line is about twice as high as a letter is wide."""
    (column, line), (columns, lines) = one, (other[0] - one[0], other[1] - one[1])
    steps = max(abs(columns) // 2, abs(lines), 1)
    for step in range(steps + 1):
        yield round(column + columns * step / steps), round(line + lines * step / steps)


def _label(seen: View, site: str) -> str:
    """A site's name, the colour of its post, its token or palace, and the elephants there."""
    facts = seen.facts
    what = facts["posts"].get(site, facts["palace_tokens"].get(site, ""))
    if site in facts["posts"] and seen.is_closed(site):
        what = f"({what})"
    if site in facts["palaces"]:
        what = f"#{facts['palaces'][site]}"
    elephants = ",".join(str(has.seat) for has in seen.holdings if has.site == site)
    return " ".join(filter(None, (site, what, elephants and f"@{elephants}")))


def _key(seen: View) -> Iterator[str]:
    rules, board = seen.game.rules, seen.game.board
    hills = ", ".join(site.name for site in board.sites if site.kind in HILLS)
    yield f"{DOT} trail: a move along it costs {plural(rules.move_cost, 'action')}, onto a hilltop ({hills}) {rules.hill_cost}"
    yield "@0 elephant of seat 0   #0 palace of seat 0   (colour) post that is closed"
    yield "The other words are the colours of posts and the kinds of palace tokens."


def _elephants(seen: View, site: str) -> str:
    seats = [f"seat {has.seat}" for has in seen.holdings if has.site == site]
    return f"; elephants: {', '.join(seats)}" if seats else ""
