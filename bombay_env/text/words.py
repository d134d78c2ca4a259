"""What each legal action does now, in words.

No rule stands here: every figure is a difference between the state and a copy of it in which the engine has played the action, or
a fact of the state. The words never reveal the next restock.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bombay_env.board import SiteKind
from bombay_env.game import Game
from bombay_env.render.view import MARKETS, View, plural, view
from bombay_env.rules import COLOUR_NAMES
from bombay_env.state import TURN_FIELDS, state_to_dict

VOWELS: Final = "aeiou"
PLACES: Final = ("top", "middle", "bottom")  # of a city's column
HILLS: Final = (SiteKind.START_HILL, SiteKind.HILL)


@dataclass(frozen=True)
class ActionEffect:
    """One legal action and what it does.

    Attributes:
        action: its number.
        name: its name (RULES 7).
        cost: actions of the turn that it spends; for `end_turn`, those that are lost.
        words: what it costs and does, in one line without a full stop.
    """

    action: int
    name: str
    cost: int
    words: str


def action_effects(
    game: Game, states: np.ndarray, viewer: int | None = None, names: Sequence[str] = ()
) -> list[ActionEffect]:
    """The legal actions of the (1,) state with what each does now, in the order of their numbers; none after the end.

    Args:
        game: what is played.
        states: one state.
        viewer: the seat that looks at it in `screened` mode. Another seat than the one to act gets an empty list, because what is
            legal depends on rupees behind a screen.
        names: what the seats are called; empty: by their numbers.

    Raises:
        ValueError: the state is not one of `game`, or not sound.
    """
    seen = view(game, states, viewer, names=names)
    if viewer not in (None, seen.facts["current_player"]):
        return []
    legal = np.flatnonzero(game.legal_actions(states)[0])
    copies = np.repeat(states, len(legal))
    game.step(copies, legal)
    found = []
    for action, after in zip(legal.tolist(), copies, strict=True):
        change = _Change(seen, state_to_dict(after, game.rules, game.board), game.action_names[action])
        found.append(ActionEffect(action, change.name, change.cost, change.words()))
    return found


def describe_actions(game: Game, states: np.ndarray, viewer: int | None = None) -> str:
    """The legal actions in a line each: number, name, and what the action does. See `action_effects`."""
    return "\n".join(f"{each.action} {each.name}: {each.words}" for each in action_effects(game, states, viewer))


def action_words(name: str) -> str:
    """An action's name in words, as a button shows it."""
    kind, _, what = name.partition(":")
    return {
        "move": f"Move to {what}",
        "buy": "Buy a bale",
        "sell": f"Sell {what}",
        "build": f"Build a palace with {what}",
        "take": f"Take {what}",
        "consolidate": "Consolidate",
        "end_turn": "End the turn",
    }[kind]


def site_words(seen: View, site: str) -> str:
    """What stands on a site: a palace, a post with the price of its bales, a city with its demand, a palace token, or nothing."""
    facts, board = seen.facts, seen.game.board
    is_hill = board.sites[board.site_index(site)].kind in HILLS
    if site in facts["palaces"]:
        return f"a palace of {seen.who(facts['palaces'][site])}{' on a hilltop' if is_hill else ''}"
    if site in facts["posts"]:
        colour = facts["posts"][site]
        market = market_of(facts, colour)
        offer = "closed" if market is None else f"{MARKETS[market]} market: {seen.price(market)}"
        return f"{'an' if colour[0] in VOWELS else 'a'} {colour} post ({offer})"
    if site in facts["demand"]:
        return f"a city that wants {', '.join(facts['demand'][site])}"
    if site in facts["palace_tokens"]:
        return f"a site without a building, with the palace token `{facts['palace_tokens'][site]}`"
    return "a hilltop without a building" if is_hill else "a site without a building"


def market_of(facts: dict[str, Any], colour: str) -> int | None:
    """The market that holds bales of a colour; None if none does."""
    number = COLOUR_NAMES.index(colour)
    return next((market for market, bales in enumerate(facts["markets"]) if bales[number]), None)


class _Change:
    """A position, the facts after one action, and what differs."""

    def __init__(self, seen: View, after: dict[str, Any], name: str) -> None:
        self.seen, self.before, self.after, self.name = seen, seen.facts, after, name
        self.kind, _, self.target = name.partition(":")
        self.seat: int = self.before["current_player"]
        self.site: str = self.before["position"][self.seat]
        self.ends_turn = any(self.before[key] != after[key] for key in TURN_FIELDS)
        self.ends_set = self.before["set"] != after["set"]
        self.cost = self.before["actions_left"] - (0 if self.ends_turn else after["actions_left"])

    def words(self) -> str:
        told = getattr(self, f"_{self.kind}")()
        return "; ".join([*told, *self._end()])

    def _gained(self, name: str) -> int:
        """How much more of something the mover has afterwards."""
        gained: int = self.after[name][self.seat] - self.before[name][self.seat]
        return gained

    # --- by kind of action ---

    def _move(self) -> Iterator[str]:
        yield f"go from {self.site} to {self.target}, {self._ground()}, for {self._actions()}"
        for seat, (had, has) in enumerate(zip(self.before["rupees"], self.after["rupees"], strict=True)):
            if has != had:
                yield f"{self.seen.who(seat)} takes {plural(has - had, 'rupee')} of toll from the bank"

    def _ground(self) -> str:
        """What stands on the site that is entered."""
        own = self.before["palaces"].get(self.target) == self.seat
        return "your own palace" if own else site_words(self.seen, self.target)

    def _buy(self) -> Iterator[str]:
        colour = self.before["posts"][self.site]
        market = market_of(self.before, colour)
        assert market is not None
        paid = plural(-self._gained("rupees"), "rupee")
        yield f"buy 1 {colour} bale from the {MARKETS[market]} market for {paid} and {self._actions()}"
        yield from self._market_after(market, colour)

    def _sell(self) -> Iterator[str]:
        demand = self.before["demand"][self.site]
        place = demand.index(self.target)
        yield f"sell 1 {self.target} bale at the {PLACES[place]} of {self.site} for {self._actions()}"
        yield f"gain {plural(self._gained('rupees'), 'rupee')}{self._clients(place)}"
        if len(self.after["city_tokens"][self.seat]) > len(self.before["city_tokens"][self.seat]):
            yield f"take a City token of {self.site}"
        if self.after["demand"][self.site] != demand:
            yield f"{self.site} then wants {', '.join(self.after['demand'][self.site])}"

    def _clients(self, place: int) -> str:
        gained, due = self._gained("clients"), self.seen.sale(place, self.target)[1]
        short = f" of the {due} due, as the bank has no more" if gained < due else ""
        return f" and {plural(gained, 'Client')}{short}" if due else ""

    def _build(self) -> Iterator[str]:
        yield f"build a palace on {self.site} for 1 {self.target} bale, which goes back to the bag, and {self._actions()}"
        token = self.before["palace_tokens"].get(self.site)
        if token is None:
            return
        if self._gained("client_palace_tokens"):
            gain = "counts as 1 Client at the end"
        elif self._gained("city_palace_tokens"):
            gain = "counts as 1 City token at the end"
        elif self._gained("rupees"):
            gain = f"gives {plural(self._gained('rupees'), 'rupee')}"
        elif self.after["take_pending"]:
            market = next(number for number, bales in enumerate(self.before["markets"]) if any(bales))
            gain = f"gives 1 bale of your choice from the {MARKETS[market]} market"
        else:
            gain = "gives nothing" if token == "rupees" else "gives nothing, as the markets are empty"
        yield f"the palace token `{token}` {gain}"

    def _take(self) -> Iterator[str]:
        market = market_of(self.before, self.target)
        assert market is not None
        yield f"load 1 {self.target} bale from the {MARKETS[market]} market at no cost"
        yield from self._market_after(market, self.target)

    def _consolidate(self) -> Iterator[str]:
        yield f"gain {plural(self._gained('rupees'), 'rupee')} for all {plural(self.cost, 'action')} of the turn"

    def _end_turn(self) -> Iterator[str]:
        if self.cost:
            yield f"give up the {plural(self.cost, 'action')} left"

    # --- parts ---

    def _actions(self) -> str:
        return plural(self.cost, "action")

    def _market_after(self, market: int, colour: str) -> Iterator[str]:
        """What a market lacks after a bale has left it. The end of a set empties all markets, so nothing is told then."""
        if self.ends_set:
            return
        left = self.after["markets"][market]
        if not left[COLOUR_NAMES.index(colour)]:
            yield f"it is the last {colour} bale there, so {colour} posts close"
        if not any(left):
            yield f"the {MARKETS[market]} market is then empty"

    def _end(self) -> Iterator[str]:
        if self.after["over"]:
            yield "the game ends"
        elif self.ends_set:
            yield "your turn and the set end"
        elif self.ends_turn:
            yield "your turn ends"
