"""What a drawing shows of a state, as plain Python: the named facts, each seat's holdings, and the result once a game is over."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bombay_env import checks
from bombay_env.game import Game
from bombay_env.rules import COLOUR_NAMES
from bombay_env.state import NOBODY, state_to_dict

MARKETS: Final = ("left", "centre", "right")
YOU: Final = "you"  # what a seat may be called


def plural(count: int, noun: str) -> str:
    """A number with its noun: 1 action, 2 actions."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@dataclass(frozen=True)
class Holdings:
    """What one seat has. Behind a screen, what others do not see is None (RULES 6)."""

    seat: int
    rupees: int | None
    clients: int | None  # Client tokens and `client` palace tokens
    city_tokens: int | None  # City tokens and `city` palace tokens
    client_palace_tokens: int | None
    city_palace_tokens: int | None
    cities: tuple[str, ...] | None  # those of the City tokens
    palaces_left: int
    basket: tuple[int, ...]  # bales by colour
    site: str


@dataclass(frozen=True)
class Result:
    """How a game ended for one seat, in rupees (RULES 5)."""

    rupees: int
    majority: int
    fame: int
    final: int
    wins: bool


@dataclass(frozen=True)
class LastAction:
    """The action that led to a position: who played it and where the elephant stood before."""

    seat: int
    action: str  # its name, such as `move:G1`
    origin: str

    @property
    def words(self) -> str:
        """The action in words, such as "sell purple at Indore"."""
        kind, _, argument = self.action.partition(":")
        if kind == "move":
            return f"{self.origin} to {argument}"
        if kind == "build":
            return f"build at {self.origin} with {argument}"
        return " ".join((f"{kind.replace('_', ' ')} {argument}".strip(), *(("at", self.origin) if argument else ())))


@dataclass(frozen=True)
class View:
    """A position as drawings read it.

    Attributes:
        game: what is played.
        facts: the facts of `state_to_dict`.
        holdings: of each seat.
        results: of each seat; empty until the game is over.
        legal: names of the legal actions; empty after the end, and behind a screen for all but the seat to act, since they
            tell what it can pay.
        last: the action that led here, if it is known.
        names: what the seats are called, "you" for the one who looks; empty: by their numbers.
    """

    game: Game
    facts: dict[str, Any]
    holdings: tuple[Holdings, ...]
    results: tuple[Result, ...]
    legal: tuple[str, ...] = ()
    last: LastAction | None = None
    names: tuple[str, ...] = ()

    def who(self, seat: int) -> str:
        """What a seat is called within a sentence."""
        return self.names[seat] if self.names else f"seat {seat}"

    def title(self, seat: int) -> str:
        """What a seat is called where a sentence begins."""
        name = self.who(seat)
        return name.capitalize() if name == YOU or not self.names else name

    @property
    def winners(self) -> list[int]:
        """The winning seats, ascending; none until the game is over."""
        return [seat for seat, result in enumerate(self.results) if result.wins]

    @property
    def when(self) -> str:
        """Set and turn, counted from 1; after the game, how many sets it had."""
        rules, facts = self.game.rules, self.facts
        if facts["over"]:
            return f"after {plural(rules.sets, 'set')}"
        return f"set {facts['set'] + 1} of {rules.sets}, turn {facts['turn'] + 1} of {rules.turns_per_set}"

    @property
    def ending(self) -> str:
        """Who won, with how much, and by what a tie was broken (RULES 5); empty until the game is over."""
        if not self.results:
            return ""
        rupees = plural(max(result.final for result in self.results), "rupee")
        *others, last = [self.names[seat] if self.names else str(seat) for seat in self.winners]
        if others:
            return f"{'' if self.names else 'seats '}{', '.join(others)} and {last} share the win with {rupees}"
        verb = "win" if last == YOU else "wins"
        return f"{self.who(self.winners[0])} {verb} with {rupees}{', by Client tokens' if self.is_tied else ''}"

    @property
    def is_tied(self) -> bool:
        """Whether several seats have the most rupees, so that Client tokens decide (RULES 5)."""
        most = max(result.final for result in self.results)
        return sum(result.final == most for result in self.results) > 1

    def price(self, market: int) -> str:
        """What a bale costs in a market."""
        rules = self.game.rules
        return f"{plural(rules.market_rupees[market], 'rupee')}, {plural(rules.market_actions[market], 'action')}"

    def sale(self, place: int, colour: str) -> tuple[int, int]:
        """The rupees and Client tokens that a sale at this place of a column brings, as long as the bank has Clients."""
        rules, number = self.game.rules, COLOUR_NAMES.index(colour)
        return (
            rules.sale_rupees[place] + rules.colour_rupees[number],
            rules.sale_clients[place] + rules.colour_clients[number],
        )

    def is_closed(self, post: str) -> bool:
        """Whether a post sells nothing until the next restock; at the end of a game all posts are open again (RULES 3)."""
        return not self.facts["over"] and post not in self.facts["open_posts"]

    @property
    def on_sale(self) -> tuple[bool, ...]:
        """Whether each colour is in a market; the posts of the others are closed (RULES 3)."""
        return tuple(any(row[colour] for row in self.facts["markets"]) for colour in range(len(COLOUR_NAMES)))

    @property
    def take_market(self) -> int | None:
        """The market that a pending `take` must choose from: the leftmost that holds a bale."""
        stocked = [market for market, counts in enumerate(self.facts["markets"]) if any(counts)]
        return stocked[0] if self.facts["take_pending"] else None


def view(
    game: Game,
    states: np.ndarray,
    viewer: int | None = None,
    last: LastAction | None = None,
    names: Sequence[str] = (),
) -> View:
    """The (1,) state as `viewer` sees it in `screened` mode, or, without one, as perfect memory does.

    For `viewer` −1, nobody, all holdings are hidden. Screens fall once the game is over. `last` is the action that led to the
    state, if it is to be shown. `names` are what the seats are called; without them they are called by their numbers.

    Raises:
        ValueError: the state is not one of `game`, or not sound (see `Game`), or `viewer` is no seat.
    """
    if viewer is not None:
        viewer = checks.whole_number(viewer, "viewer", NOBODY, game.num_players - 1)
    facts = state_to_dict(game.as_record(states[:1]), game.rules, game.board)
    hidden = [viewer is not None and seat != viewer and not facts["over"] for seat in range(game.num_players)]
    holdings = tuple(_holdings(facts, seat, hidden[seat]) for seat in range(game.num_players))
    results = _results(game, states) if facts["over"] else ()
    legal: tuple[str, ...] = ()
    if viewer is None or viewer == facts["current_player"]:
        legal = tuple(game.action_names[action] for action in np.flatnonzero(game.legal_actions(states[:1])[0]))
    return View(game, facts, holdings, results, legal, last, tuple(names))


def called(names: Sequence[str], you: int | None = None) -> tuple[str, ...]:
    """What seats are called: "you", or the name of who sits there, with the seat's number where several have that name."""
    return tuple(
        YOU if seat == you else name if names.count(name) == 1 else f"{name} {seat}" for seat, name in enumerate(names)
    )


def last_action(game: Game, before: np.ndarray, action: int) -> LastAction:
    """The last action as a view shows it: `action` was played in the (1,) state `before`."""
    seat = int(before["current_player"][0])
    return LastAction(seat, game.action_names[action], game.board.sites[int(before["position"][0, seat])].name)


def _holdings(facts: dict[str, Any], seat: int, hidden: bool) -> Holdings:
    return Holdings(
        seat,
        None if hidden else facts["rupees"][seat],
        None if hidden else facts["clients"][seat] + facts["client_palace_tokens"][seat],
        None if hidden else len(facts["city_tokens"][seat]) + facts["city_palace_tokens"][seat],
        None if hidden else facts["client_palace_tokens"][seat],
        None if hidden else facts["city_palace_tokens"][seat],
        None if hidden else tuple(facts["city_tokens"][seat]),
        facts["palaces_left"][seat],
        tuple(facts["basket"][seat]),
        facts["position"][seat],
    )


def _results(game: Game, states: np.ndarray) -> tuple[Result, ...]:
    found = game.results(states[:1])[0]
    columns = (found[name].tolist() for name in ("rupees", "majority", "fame", "final", "winners"))
    return tuple(
        Result(rupees, majority, fame, final, bool(wins))
        for rupees, majority, fame, final, wins in zip(*columns, strict=True)
    )
