"""A hint: the best turns by a searching agent, with what it expects of each and one line why."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

import bombay_agents
from bombay_env import Game
from bombay_training.play.effects import action_words, effect_words, preview

DEFAULT_ADVISER = "champion"
NUM_TURNS = 3


@runtime_checkable
class Adviser(Protocol):
    """An agent that can say which turns it compared."""

    name: str

    def best_turns(self, game: Game, state: np.ndarray, rng: np.random.Generator, most: int = 3) -> list[Any]:
        """The best turns, the best first; see `bombay_agents.search.zero_agent.ValuedTurn`."""
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
        raise ValueError(f"agent {agent.name!r} gives no hints; champion and zero-search do")
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
        gain = f"This turn: {total}" if total else "Nothing is gained this turn"
        if place == 0:
            why = f"{gain}. Expected at the end: {margin:+.1f} rupees against the mean of all seats."
        else:
            why = f"{gain}. It wins {100 * (best - share):.1f} points less often than the best turn."
        said.append(Hint(words, share, margin, turn.visits, why))
    return said


def _told(game: Game, states: np.ndarray, actions: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The actions of a turn in words, and what they change in all."""
    words, before = [], states
    for action in actions:
        after, _ = preview(game, before, action)
        effect = effect_words(game, before, after)
        words.append(action_words(game.action_names[action]) + (f" ({effect})" if effect else ""))
        before = after
    return tuple(words), effect_words(game, states, before)
