"""What a drawing shows of a state, as plain Python: the named facts, each seat's holdings, and the result once a game is over."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bombay_env.game import Game
from bombay_env.state import state_to_dict

MARKETS: Final = ("left", "centre", "right")


@dataclass(frozen=True)
class Holdings:
    """What one seat has. Behind a screen, what others do not see is None (RULES 6)."""

    seat: int
    rupees: int | None
    clients: int | None  # Client tokens and `client` palace tokens
    city_tokens: int | None  # City tokens and `city` palace tokens
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
class View:
    """A position as drawings read it. `facts` are those of `state_to_dict`; `results` are empty until the game is over."""

    game: Game
    facts: dict[str, Any]
    holdings: tuple[Holdings, ...]
    results: tuple[Result, ...]

    @property
    def winners(self) -> list[int]:
        """The winning seats, ascending; none until the game is over."""
        return [seat for seat, result in enumerate(self.results) if result.wins]

    @property
    def take_market(self) -> int | None:
        """The market that a pending `take` must choose from: the leftmost that holds a bale."""
        stocked = [market for market, counts in enumerate(self.facts["markets"]) if any(counts)]
        return stocked[0] if self.facts["take_pending"] else None


def view(game: Game, states: np.ndarray, viewer: int | None = None) -> View:
    """The (1,) state as `viewer` sees it in `screened` mode, or, without one, as perfect memory does.

    Screens fall once the game is over.
    """
    facts = state_to_dict(states[0], game.rules, game.board)
    hidden = [viewer is not None and seat != viewer and not facts["over"] for seat in range(game.num_players)]
    holdings = tuple(_holdings(facts, seat, hidden[seat]) for seat in range(game.num_players))
    return View(game, facts, holdings, _results(game, states) if facts["over"] else ())


def _holdings(facts: dict[str, Any], seat: int, hidden: bool) -> Holdings:
    return Holdings(
        seat,
        None if hidden else facts["rupees"][seat],
        None if hidden else facts["clients"][seat] + facts["client_palace_tokens"][seat],
        None if hidden else len(facts["city_tokens"][seat]) + facts["city_palace_tokens"][seat],
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
