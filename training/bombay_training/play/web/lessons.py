"""What the page teaches the game with: the rules in words, and a tutorial that points at things of the running game.

Rules come from `bombay_env.text`, and numbers from the game's `Rules`; the actions are called as their buttons are.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env import Game, Rules
from bombay_env.render.view import plural, view
from bombay_env.rules import COLOUR_NAMES
from bombay_env.text import action_words, describe_rules, explain_sites, summarize_rules
from bombay_env.text.rulebook import market_prices, sale_places
from bombay_training.play.session import Session

ACTION: Final = re.compile(r"`((?:move|sell|build|take):[A-Z]+|buy|consolidate|end_turn)`")


class Step(NamedTuple):
    """One step of the tutorial.

    Attributes:
        title: what it is about.
        words: two or three sentences.
        at: what it points at: `elephant` (one's own), `post`, `city`, `palace` (a site, see `goals`) or `clock`.
        done: the kind of action that completes it; None where only reading does.
    """

    title: str
    words: str
    at: str
    done: str | None


def lessons(game: Game) -> dict[str, Any]:
    """The rules of `game` in short, all rules by section, and the steps of the tutorial, as plain JSON types."""
    sections = [part.splitlines() for part in _named(describe_rules(game)).split("\n\n## ")[1:]]
    return {
        "short": [line.removeprefix("- ") for line in _named(summarize_rules(game)).splitlines()],
        "sections": [{"title": title, "lines": lines} for title, *lines in sections],
        "steps": [step._asdict() for step in _steps(game.rules)],
    }


def _named(text: str) -> str:
    """A text of the rules in which actions are called as their buttons are."""
    return ACTION.sub(lambda match: f"**{action_words(match[1])}**", text)


def _steps(rules: Rules) -> Iterator[Step]:
    yield Step(
        "Your elephant and your turn",
        "You trade silk. The player with the most rupees at the end wins. This is your elephant. You have "
        f"{plural(rules.actions_per_turn, 'action')} a turn. Click a marked site to move there. A move costs "
        f"{plural(rules.move_cost, 'action')}, or {rules.hill_cost} onto a hilltop. The buttons show everything that you can "
        "do now. Your turn ends when you end it. Until then you can take it back.",
        "elephant",
        "move",
    )
    yield Step(
        "Buy a bale at a post",
        "This trading post is open because a market has bales of its colour. Go there and buy one. The price depends on the "
        f"market: {market_prices(rules)}. You can buy {_times(rules.buys_per_turn)} a turn and carry "
        f"{plural(rules.basket, 'bale')}. If you have no rupees, Consolidate gives you {rules.consolidate_rupees} for a whole "
        "turn.",
        "post",
        "buy",
    )
    yield Step(
        "Sell it in a city",
        f"A city wants three colours. The place of a colour decides what you get: {sale_places(rules)}. Some colours pay more; "
        f"the map shows how much. A sale costs {plural(rules.sell_cost, 'action')}. The colour then moves to the bottom. Your "
        "first sale in each city also gives you one of its City tokens. City and Client tokens count at the end.",
        "city",
        "sell",
    )
    yield Step(
        "Build a palace",
        f"A palace costs {plural(rules.build_cost, 'action')} and a bale of any colour. Build it on a site without post, city or "
        "palace. If the site has a palace token, you get it. Whenever another elephant enters your palace, the bank pays you a "
        f"toll of {plural(rules.toll, 'rupee')}. You can build {plural(rules.palaces, 'palace')}.",
        "palace",
        "build",
    )
    yield Step(
        "Sets, the end and the awards",
        f"The game has {plural(rules.sets, 'set')} of {plural(rules.turns_per_set, 'turn')}. Each set brings new bales"
        f"{', and the next player begins it' if rules.rotate_first_player else ''}. "
        "Your palaces and Client tokens are your empire. At the end, empires earn rupees by size: "
        f"{', '.join(map(str, rules.majority))}. City tokens are your fame, which earns rupees too: {_fame(rules)}. "
        "“If the game ended now” shows both awards. Rules has more.",
        "clock",
        None,
    )


def _fame(rules: Rules) -> str:
    """The award for City tokens in words, such as "3 earn 4, 4 or more earn 8"."""
    *fewer, most = rules.fame
    awards = [f"{count} earn {rupees}" for count, rupees in enumerate(fewer) if rupees]
    return ", ".join([*awards, f"{len(fewer)} or more earn {most}"])


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def explained(session: Session) -> dict[str, Any]:
    """What each site means now, and the sites that the tutorial points at. Nothing of it is hidden in `screened` mode.

    Returns:
        `meanings`: by site, lines of words as `explain_sites` gives them; `goals`: see there.
    """
    seat = max(session.mover, 0) if session.you is None else session.you
    meanings = explain_sites(session.game, session.states, seat, session.called)
    return {"meanings": meanings, "goals": goals(session.game, session.states, seat)}


def goals(game: Game, states: np.ndarray, seat: int) -> dict[str, str]:
    """The nearest sites for `seat` that the tutorial points at in the (1,) state; what there is not is left out.

    Returns:
        `post`: an open post; `city`: the one that pays most of the nearest that want a bale that the seat carries, or any;
        `palace`: a site with a palace token.
    """
    seen, board = view(game, states), game.board
    facts, here = seen.facts, seen.holdings[seat]
    away = game.tables[0]["distance"][board.site_index(here.site)]
    carried = {name for name, count in zip(COLOUR_NAMES, here.basket, strict=True) if count}

    def pays(city: str) -> int:
        column = facts["demand"][city]
        return max((seen.sale(place, name)[0] for place, name in enumerate(column) if name in carried), default=0)

    sites = {
        "post": [post for post in facts["posts"] if not seen.is_closed(post)],
        "city": [city for city in facts["demand"] if pays(city)] or list(facts["demand"]),
        "palace": list(facts["palace_tokens"]),
    }

    def cost(name: str) -> tuple[int, int]:
        return int(away[board.site_index(name)]), -pays(name) if name in facts["demand"] else 0

    return {what: min(names, key=cost) for what, names in sites.items() if names}
