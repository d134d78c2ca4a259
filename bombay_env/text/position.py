"""A position, the board and the result of a game as plain text, for terminals, logs and language models."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from bombay_env.board import SiteKind
from bombay_env.game import Game
from bombay_env.render.view import MARKETS, YOU, Holdings, View, plural, view
from bombay_env.rules import COLOUR_NAMES
from bombay_env.text.rulebook import token_gains
from bombay_env.text.words import PLACES, site_words

INDENT: Final = 10  # letters before what a line tells
COLUMN_GAP: Final = "  "


def describe_position(game: Game, states: np.ndarray, viewer: int | None = None) -> str:
    """The (1,) state in some twenty lines: whose turn it is, markets, cities, posts, palaces and what each seat has.

    For each colour that the seat to act carries, the lines `to sell` name the cities that want it, the nearest first, with the
    minimum number of actions to get there and what the sale pays.

    Args:
        game: what is played.
        states: one state.
        viewer: the seat that looks at it in `screened` mode, where the others' rupees and tokens show as "?"; without one
            all holdings show.
    """
    seen = view(game, states, viewer)
    facts = seen.facts
    lines = [_headline(seen), ""]
    lines += _block("markets", _table(_markets(seen)))
    lines += _block("bag", [_bales(facts["bag"])])
    if facts["client_supply"] is not None:
        lines += _block("bank", [plural(facts["client_supply"], "Client")])
    lines += _block("cities", _table([(city, ", ".join(sales)) for city, *sales, _ in _cities(seen)]))
    lines += _block(
        "piles", [f"City tokens left: {_listed(f'{city} {left}' for city, left in facts['city_piles'].items())}"]
    )
    lines += _block("posts", [_listed(f"{site} {words}" for site, words in _posts(seen))])
    lines += _block("tokens", [_listed(f"{site} {kind}" for site, kind in facts["palace_tokens"].items())])
    lines += _block("palaces", [_listed(f"{site} seat {seat}" for site, seat in facts["palaces"].items())])
    lines += ["", *_seats(seen)]
    if sales := list(_sales(seen)):
        lines += ["", *_block("to sell", _table(sales))]
    return "\n".join(lines)


class Table(NamedTuple):
    """A part of a position as a table of words."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]


def describe_tables(game: Game, states: np.ndarray, viewer: int | None = None) -> list[Table]:
    """The board of the (1,) state in tables: markets with bag and bank, cities, and sites with all that a drawing shows there.

    Args:
        game: what is played.
        states: one state.
        viewer: as for `describe_position`.
    """
    seen = view(game, states, viewer)
    markets = [[f"{name} market", price, bales] for name, price, bales in _markets(seen)]
    markets.append(["bag", "", _bales(seen.facts["bag"])])
    if seen.facts["client_supply"] is not None:
        markets.append(["bank", "", plural(seen.facts["client_supply"], "Client")])
    near, costs = near_sites(game), enter_costs(game)
    sites = [
        [
            site.name,
            site_words(seen, site.name),
            ", ".join(f"seat {has.seat}" for has in seen.holdings if has.site == site.name),
            ", ".join(f"{name}: {costs[name]}" for name in near[site.name]),
        ]
        for site in game.board.sites
    ]
    return [
        Table("Markets", ("market", "a bale costs", "bales"), markets),
        Table("Sales in cities, in rupees", ("city", *PLACES, "City tokens"), _cities(seen)),
        Table("Sites", ("site", "what is there", "elephants", "trails to, with the actions of a move"), sites),
    ]


def describe_board(game: Game) -> str:
    """The board in a line for each site: its name, its kind in this game and the sites that trails lead to.

    Where a move costs another number of actions than `move_cost`, the number stands behind the site.
    """
    near, costs = near_sites(game), enter_costs(game)
    ways = {
        name: name if cost == game.rules.move_cost else f"{name} ({plural(cost, 'action')})"
        for name, cost in costs.items()
    }
    rows = [
        (site.name, _kind(game, site.kind), f"trails to {', '.join(map(ways.__getitem__, near[site.name]))}")
        for site in game.board.sites
    ]
    return "\n".join(_table(rows))


def enter_costs(game: Game) -> dict[str, int]:
    """The actions that a move to each site costs."""
    costs = game.tables[0]["enter_cost"].tolist()
    return {site.name: cost for site, cost in zip(game.board.sites, costs, strict=True)}


def near_sites(game: Game) -> dict[str, list[str]]:
    """The sites that trails lead to from each site."""
    near: dict[str, list[str]] = {site.name: [] for site in game.board.sites}
    for a, b in game.board.trails:
        near[a].append(b)
        near[b].append(a)
    return near


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


def describe_result(game: Game, states: np.ndarray) -> str:
    """The result of the (1,) state's game: who won, and where each seat's rupees come from (RULES 5).

    Raises:
        ValueError: the game is not over.
    """
    seen = view(game, states)
    if not seen.results:
        raise ValueError(f"the game is not over: {_headline(seen)}")
    found = game.results(states[:1])[0]
    lines = [_headline(seen)]
    for seat, result in enumerate(seen.results):
        palaces = game.rules.palaces - seen.facts["palaces_left"][seat]
        clients, tokens = int(found["clients"][seat]), int(found["city_tokens"][seat])
        lines.append(
            f"seat {seat}: {plural(result.final, 'rupee')} = {result.rupees} in hand + {result.majority} for an empire of "
            f"{found['empire'][seat]} ({plural(palaces, 'palace')}, {plural(clients, 'Client')}) + "
            f"{result.fame} for {plural(tokens, 'City token')}"
        )
    return "\n".join(lines)


def _kind(game: Game, kind: SiteKind) -> str:
    if kind == SiteKind.OUTER_POST and not game.rules.outer_posts:
        kind = SiteKind.OPEN_SITE
    return kind.label.replace("_", " ")


def _headline(seen: View) -> str:
    facts = seen.facts
    if facts["over"]:
        return f"game over {seen.when}: {seen.ending}"
    todo = "must take a bale" if facts["take_pending"] else f"has {plural(facts['actions_left'], 'action')} left"
    return f"{seen.when}: seat {facts['current_player']} {todo}"


def _block(head: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines one below the other, the first behind its heading."""
    for number, line in enumerate(lines):
        yield f"{'' if number else head:<{INDENT}}{line}"


def _table(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> list[str]:
    """Rows in columns as wide as they need; those in `right` end at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [">" if number in set(right) else "<" for number in range(len(widths))]
    return [
        COLUMN_GAP.join(f"{word:{side}{width}}" for word, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _bales(counts: Sequence[int]) -> str:
    held = zip(COLOUR_NAMES, counts, strict=True)
    return ", ".join(f"{count} {colour}" for colour, count in held if count) or "empty"


def _markets(seen: View) -> list[tuple[str, str, str]]:
    return [
        (name, seen.price(number), _bales(seen.facts["markets"][number]))  # the price of one bale
        for number, name in enumerate(MARKETS)
    ]


def _cities(seen: View) -> list[list[str]]:
    """Each city's demand from the top with what a sale pays, and the City tokens left."""
    piles = seen.facts["city_piles"]
    return [[city, *sale_words(seen, city), _left(piles[city])] for city in seen.facts["demand"]]


def sale_words(seen: View, city: str) -> list[str]:
    """What a sale of each colour that a city wants pays, from the top."""
    return [_sale(seen, place, colour) for place, colour in enumerate(seen.facts["demand"][city])]


def _sale(seen: View, place: int, colour: str) -> str:
    rupees, clients = seen.sale(place, colour)
    return f"{colour} {rupees}" + (f" + {plural(clients, 'Client')}" if clients else "")


def _sales(seen: View) -> Iterator[tuple[str, str]]:
    """Each colour that the seat to act carries, with the cities that want it, the nearest first."""
    facts, game = seen.facts, seen.game
    if facts["over"]:
        return
    here = seen.holdings[facts["current_player"]]
    distances = game.tables[0]["distance"][game.board.site_index(here.site)]
    away = {city: int(distances[game.board.site_index(city)]) for city in facts["demand"]}
    for colour, carried in zip(COLOUR_NAMES, here.basket, strict=True):
        cities = [city for city in sorted(away, key=away.__getitem__) if colour in facts["demand"][city]]
        if carried:
            yield colour, "; ".join(_sale_in(seen, city, away[city], colour) for city in cities) or "no city wants it"


def _sale_in(seen: View, city: str, away: int, colour: str) -> str:
    rupees, clients = seen.sale(seen.facts["demand"][city].index(colour), colour)
    where = f"{city} {plural(away, 'action') + ' away' if away else 'here'}"
    return f"{where}: {plural(rupees, 'rupee')}" + (f" + {plural(clients, 'Client')}" if clients else "")


def _left(tokens: int) -> str:
    return f"{plural(tokens, 'City token')} left"


def _posts(seen: View) -> Iterator[tuple[str, str]]:
    for site, colour in seen.facts["posts"].items():
        yield site, f"{colour} (closed)" if seen.is_closed(site) else colour


def _seats(seen: View) -> list[str]:
    """A table of the seats: what each has, and its bales or, after the game, the account of its rupees."""
    heads = ["", "at", "rupees", "Clients", "palaces left"]
    heads += ["City tokens", "empire", "fame", "final"] if seen.results else ["bales", "City tokens"]
    rows = []
    for has in seen.holdings:
        row = [f"seat {has.seat}", has.site, *map(_shown, (has.rupees, has.clients, has.palaces_left))]
        if seen.results:
            result = seen.results[has.seat]
            row += map(_shown, (has.city_tokens, result.majority, result.fame, result.final))
        else:
            row += (_bales(has.basket), _city_tokens(has))
        rows.append(row)
    return _table([heads, *rows], right=range(2, 9 if seen.results else 5))


def _city_tokens(has: Holdings) -> str:
    """How many City tokens a seat has and of which cities, with the palace tokens that count as one; "?" behind a screen."""
    if has.cities is None:
        return "?"
    of = [*has.cities, *["palace token"] * (has.city_palace_tokens or 0)]
    return f"{len(of)} ({', '.join(of)})" if of else "0"


def _shown(count: int | None) -> str:
    return "?" if count is None else str(count)
