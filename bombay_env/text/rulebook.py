"""The rules of a game in plain words, for readers who have never seen it.

Every number comes from the game's `Rules` and every name from its board, so each variant gets its own text. RULES.md is the
specification; this is a summary that leaves out reasons and special cases.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from bombay_env.board import SiteKind
from bombay_env.game import Game
from bombay_env.render.view import MARKETS, plural
from bombay_env.rules import COLOUR_NAMES, NUM_COLOURS, NUM_PALACE_TOKENS, TOKEN_NAMES, Rules

PLACES: Final = ("top", "middle", "bottom")  # of a city's column


def describe_rules(game: Game) -> str:
    """The rules of `game` as Markdown: short sections of plain words, about 850 words in all.

    The text names the sites of the board, but not its trails: see `describe_board`. Any other value of a field of `game.rules`
    gives another text.
    """
    rules = game.rules
    sections = {
        "Aim": _aim(),
        "Course of the game": _course(rules),
        "Board": _board(game),
        "Start": _start(rules),
        "Restock": _restock(rules),
        "Your turn": _turn(rules),
        "Actions": _actions(game),
        "Sales": _sales(rules),
        "Palace tokens": _palace_tokens(rules),
        "End of the game": _end(rules),
        "What you know": _known(),
    }
    parts = [f"# Bombay for {rules.num_players} players"]
    parts += [f"## {title}\n" + "\n".join(lines) for title, lines in sections.items()]
    return "\n\n".join(parts)


def summarize_rules(game: Game) -> str:
    """The rules of `game` in nine points, about 340 words, enough for a first game. `describe_rules` has the rest."""
    return "\n".join(f"- {line}" for line in _summary(game.rules))


def _summary(rules: Rules) -> Iterator[str]:
    yield (
        "You are a silk merchant with an elephant. The player with the most rupees at the end wins. "
        f"The game has {plural(rules.sets, 'set')} of {plural(rules.turns_per_set, 'turn')}; "
        f"a turn has {plural(rules.actions_per_turn, 'action')}."
    )
    yield (
        f"`move:SITE`: go along one trail. Cost: {plural(rules.move_cost, 'action')}, or {rules.hill_cost} onto a hilltop. "
        f"If you enter an opponent's palace, its owner gets {plural(rules.toll, 'rupee')} from the bank."
    )
    yield (
        f"`buy`: load a bale at a trading post, in the colour of the post. Cost by market: {market_prices(rules)}. "
        f"At most {plural(rules.buys_per_turn, 'purchase')} a turn, and {plural(rules.basket, 'bale')} on an elephant."
    )
    yield (
        f"`sell:COLOUR`: sell a bale in a city that wants its colour. Cost: {plural(rules.sell_cost, 'action')}. "
        f"The place of the colour in the city decides what you get: {sale_places(rules)}."
        + "".join(f" {line}" for line in _extras(rules))
        + " The colour then moves to the bottom."
    )
    yield "Your first sale in a city also gives you one of its City tokens, if any are left."
    yield (
        f"`build:COLOUR`: turn a bale into one of your {plural(rules.palaces, 'palace')}, on a site without post, city or "
        f"palace. Cost: {plural(rules.build_cost, 'action')}. You get the palace token of the site: `client` and `city` count "
        f"as such tokens at the end, `rupees` pays {plural(rules.palace_token_rupees, 'rupee')}, `bale` gives you a bale."
    )
    yield (
        f"`consolidate`: gain {plural(rules.consolidate_rupees, 'rupee')} for a whole turn. "
        "`end_turn`: give up the actions that are left."
    )
    yield (
        f"Before each set, chance draws {plural(rules.restock_draw, 'bale')} for the markets. "
        "A post is closed while no market has its colour."
    )
    yield " ".join(["After the last set, two awards are added to the rupees in hand.", *_awards(rules)])


def _aim() -> Iterator[str]:
    yield "You are a silk merchant with an elephant. You buy bales at trading posts, sell them in cities and build palaces."
    yield "The player with the most rupees at the end of the game wins."


def _course(rules: Rules) -> Iterator[str]:
    yield f"The game has {plural(rules.sets, 'set')} of {plural(rules.turns_per_set, 'game turn')}."
    yield "In a game turn, every player takes one turn, in the order of the seats. A set begins with a restock of the markets."
    if rules.rotate_first_player:
        yield "Seat 0 plays first in the first set, the next seat in the next set, and so on."
    else:
        yield "Seat 0 plays first in every set."


def _board(game: Game) -> Iterator[str]:
    kinds = (SiteKind.INNER_POST, SiteKind.OUTER_POST)
    posts, outer = (_sites(game, kind) for kind in kinds)
    empty = _sites(game, SiteKind.OPEN_SITE)
    if game.rules.outer_posts:
        posts += outer
    else:
        empty += outer
    start, per_colour = _sites(game, SiteKind.START_HILL), len(posts) // NUM_COLOURS
    yield "Trails connect the sites and can be used in both directions. Elephants may share a site."
    yield f"- Cities: {_listed(_sites(game, SiteKind.CITY))}. Each demands three colours."
    yield f"- Trading posts: {_listed(posts)}. Each offers one colour; each colour has {plural(per_colour, 'post')}."
    yield f"- Sites with a palace token: {_listed(_sites(game, SiteKind.PALACE_SITE))}."
    yield f"- Hilltops: {_listed(start + _sites(game, SiteKind.HILL))}. All elephants start on {start[0]}."
    yield f"- Open sites: {_listed(empty)}."


def _start(rules: Rules) -> Iterator[str]:
    yield "Colours of posts, demands of cities and palace tokens are dealt at random and open to all."
    yield f"Rupees in hand, from seat 0 on: {_listed(rules.starting_rupees)}."
    yield f"Each player can build {plural(rules.palaces, 'palace')}."
    yield f"The bag holds {_listed(f'{count} {name}' for count, name in zip(rules.bales, COLOUR_NAMES, strict=True))} bales."
    yield f"Each city has a pile of {plural(rules.city_tokens, 'City token')}."
    if rules.client_supply is None:
        yield "The supply of Client tokens has no limit."
    else:
        yield f"The bank has {plural(rules.client_supply, 'Client token')}. If it has too few, you get only those left."


def _restock(rules: Rules) -> Iterator[str]:
    drawn = plural(rules.restock_draw, "bale")
    yield f"Before the first turn of a set, chance draws {drawn} from the bag, or all if it has fewer."
    yield "The colour drawn most often goes to the left market, the next to the centre market, all others to the right market."
    yield "Colours drawn equally often share a market. A colour stays in its market until the set ends."
    yield "If no market has a colour, its posts are closed. When a set ends, the bales in the markets go back into the bag."


def _turn(rules: Rules) -> Iterator[str]:
    yield f"You have {plural(rules.actions_per_turn, 'action')} and may use them in any order, also for the same thing again."
    yield "An action is legal only if you can pay its full cost."
    yield "The turn ends when all actions are spent and no bale is waiting to be taken."


def _actions(game: Game) -> Iterator[str]:
    rules = game.rules
    yield (
        f"- `move:SITE`: go along one trail. Cost: {plural(rules.move_cost, 'action')}, or {rules.hill_cost} onto a hilltop. "
        f"If the site has an opponent's palace, its owner gets {plural(rules.toll, 'rupee')} from the bank."
    )
    yield (
        f"- `buy`: load a bale at an open post, from the market that has its colour. Cost by market: {market_prices(rules)}. "
        f"At most {plural(rules.buys_per_turn, 'purchase')} a turn. An elephant carries at most {plural(rules.basket, 'bale')}."
    )
    yield f"- `sell:COLOUR`: sell a bale in a city that demands it. Cost: {plural(rules.sell_cost, 'action')}."
    yield (
        f"- `build:COLOUR`: build one of your palaces on a site without post, city or palace. "
        f"Cost: {plural(rules.build_cost, 'action')} and a bale of any colour, which returns to the bag. "
        "If the site has a palace token, you get it."
    )
    yield "- `take:COLOUR`: choose a bale when a palace token gives you one. It costs nothing, and you must do it at once."
    yield (
        f"- `consolidate`: gain {plural(rules.consolidate_rupees, 'rupee')}. "
        f"Cost: the whole turn, so you must still have all {plural(rules.actions_per_turn, 'action')}."
    )
    yield "- `end_turn`: end the turn; actions that are left are lost."


def market_prices(rules: Rules) -> str:
    """What a bale costs in each market."""
    return _listed(
        f"{name} {plural(rupees, 'rupee')} and {plural(actions, 'action')}"
        for name, rupees, actions in zip(MARKETS, rules.market_rupees, rules.market_actions, strict=True)
    )


def _sales(rules: Rules) -> Iterator[str]:
    columns = "; ".join(_listed(column) for column in rules.demand_columns)
    yield f"The demand of a city is a column of three colours. From top to bottom, the four columns are: {columns}."
    yield f"A sale pays by the place of the colour: {sale_places(rules)}."
    yield from _extras(rules)
    yield "The bale returns to the bag. The sold colour moves to the bottom of the column, and those below it move up."
    yield "At your first sale in a city, you also take one of its City tokens if any are left."


def sale_places(rules: Rules) -> str:
    """What a sale pays at each place of a city's column."""
    return _listed(
        f"{place} {_gain(rupees, clients)}"
        for place, rupees, clients in zip(PLACES, rules.sale_rupees, rules.sale_clients, strict=True)
    )


def _extras(rules: Rules) -> Iterator[str]:
    """What single colours pay more."""
    for name, rupees, clients in zip(COLOUR_NAMES, rules.colour_rupees, rules.colour_clients, strict=True):
        if rupees or clients:
            yield f"Selling {name} pays {_gain(rupees, clients)} more."


def token_gains(rules: Rules) -> dict[str, str]:
    """What each kind of palace token does for who builds on its site."""
    gains = (
        "counts as a Client token at the end",
        "counts as a City token at the end",
        f"pays {plural(rules.palace_token_rupees, 'rupee')} at once",
        "gives a bale of your choice from the leftmost market that is not empty, if there is one",
    )
    return dict(zip(TOKEN_NAMES, gains, strict=True))


def _palace_tokens(rules: Rules) -> Iterator[str]:
    yield f"There are {NUM_PALACE_TOKENS}:"
    for count, (name, gain) in zip(rules.palace_tokens, token_gains(rules).items(), strict=True):
        yield f"- {count} × `{name}`: {gain}."


def _end(rules: Rules) -> Iterator[str]:
    yield "After the last set, two awards are added to the rupees in hand:"
    yield from (f"- {award}" for award in _awards(rules))
    yield "Bales on elephants are worth nothing."
    yield "If players tie for most rupees, the one with most Client tokens wins; if they still tie, they share the win."


def _awards(rules: Rules) -> Iterator[str]:
    yield (
        "Empire: your palaces and Client tokens count together. From the largest empire to the smallest, the awards are "
        f"{_listed(rules.majority)} rupees. Tied players share the awards of their places equally, rounded down."
    )
    *fewer, most = rules.fame
    awards = [f"{count}: {rupees}" for count, rupees in enumerate(fewer)] + [f"{len(fewer)} or more: {most}"]
    yield f"Fame: rupees for the number of your City tokens ({_listed(awards)})."


def _known() -> Iterator[str]:
    yield "Everything is open except the order in which bales come out of the bag."
    yield "In `screened` games, opponents' rupees and tokens are hidden too, and what they gain and pay."


def _sites(game: Game, kind: SiteKind) -> list[str]:
    return [site.name for site in game.board.sites if site.kind is kind]


def _gain(rupees: int, clients: int) -> str:
    gains = [plural(count, noun) for count, noun in ((rupees, "rupee"), (clients, "Client token")) if count]
    return " and ".join(gains) or "nothing"


def _listed(words: Iterable[object]) -> str:
    return ", ".join(map(str, words)) or "none"
