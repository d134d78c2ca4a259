"""A hint: the best turns by a searching agent, with what it expects of each and one line why."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

import bombay_agents
from bombay_agents.turns.evaluator import PythonEvaluator
from bombay_env import Game
from bombay_env.agent import name_of
from bombay_env.render.view import plural, view
from bombay_env.rules import COLOUR_NAMES
from bombay_training.play.effects import action_words, effect_words, preview

# A number of simulations, some half a second of them: the same position always gets the same advice.
DEFAULT_ADVISER = "champion:nodes=4000"
NUM_TURNS = 3


@runtime_checkable
class Adviser(Protocol):
    """An agent that can say which turns it compared."""

    name: str

    def best_turns(self, game: Game, state: np.ndarray, rng: np.random.Generator, most: int = 3) -> list[Any]:
        """The best turns, the best first; see `bombay_agents.search.agent.ValuedTurn`."""
        ...


class Hint(NamedTuple):
    """One of the best turns."""

    turn: tuple[str, ...]  # its actions in words, with what each does
    win_share: float  # that the mover is expected to get
    margin: float  # expected final rupees of the mover less the mean of all seats
    visits: int  # simulations of this turn
    why: str


def make_adviser(spec: str) -> Adviser:
    """The agent that gives hints. Raises ValueError if the spec is malformed or the agent gives none."""
    agent = bombay_agents.make(spec)
    if not isinstance(agent, Adviser):
        raise ValueError(f"agent {name_of(agent)!r} gives no hints; champion and zero-search do")
    if isinstance(getattr(agent, "value", None), PythonEvaluator):
        raise ValueError(
            f"agent {name_of(agent)!r} gives no hints: its value is a Python object; champion and zero-search give hints"
        )
    return agent


def hints(adviser: Adviser, game: Game, states: np.ndarray, rng: np.random.Generator) -> list[Hint]:
    """The best turns from a position, the best first.

    Args:
        adviser: who values them.
        game: that of the state.
        states: (1,) a game that is not over, unchanged.
        rng: the adviser's source of randomness.
    """
    found = adviser.best_turns(game, states, rng, NUM_TURNS)
    mover = int(states["current_player"][0])
    best = float(found[0].win_share[mover])
    said = []
    for place, turn in enumerate(found):
        words, total = _told(game, states, turn.actions)
        share, margin = float(turn.win_share[mover]), float(turn.margin[mover])
        reasons = [f"This turn: {total}" if total else "Nothing is gained this turn", *cargo(game, turn.state, mover)]
        if place == 0:
            reasons.append(f"expected at the end: {margin:+.1f} rupees against the mean of all seats")
        else:
            reasons.append(f"it wins {100 * (best - share):.1f} points less often than the best turn")
        why = "; ".join(reasons) + "."
        said.append(Hint(words, share, margin, turn.visits, why))
    return said


def cargo(game: Game, states: np.ndarray, mover: int) -> Iterator[str]:
    """For each colour on the mover's elephant, where it sells best now and how far that is.

    Args:
        game: that of the state.
        states: (1,) the outcome of a turn, unchanged.
        mover: whose turn it was.
    """
    seen = view(game, states)
    steps = _steps_from(game, seen.holdings[mover].site)
    for colour, count in zip(COLOUR_NAMES, seen.holdings[mover].basket, strict=True):
        offers = [
            (seen.sale(column.index(colour), colour), -steps[city], city)
            for city, column in seen.facts["demand"].items()
            if count and colour in column
        ]
        if offers:
            (rupees, clients), distance, city = max(offers)
            pays = plural(rupees, "rupee") + (f" and {plural(clients, 'Client')}" if clients else "")
            where = "here" if distance == 0 else f"{plural(-distance, 'move')} away"
            yield f"carries {colour} for {city} ({pays}, {where})"


def _steps_from(game: Game, start: str) -> dict[str, int]:
    """The number of moves from a site to every site."""
    steps, reached = {start: 0}, [start]
    for site in reached:  # the list grows during this loop
        for trail in game.board.trails:
            if site in trail:
                other = trail[1] if trail[0] == site else trail[0]
                if other not in steps:
                    steps[other] = steps[site] + 1
                    reached.append(other)
    return steps


def _told(game: Game, states: np.ndarray, actions: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The actions of a turn in words, and what they change in all."""
    words, before = [], states
    for action in actions:
        after, _ = preview(game, before, action)
        effect = effect_words(game, before, after)
        words.append(action_words(game.action_names[action]) + (f" ({effect})" if effect else ""))
        before = after
    return tuple(words), effect_words(game, states, before)
