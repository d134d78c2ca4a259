"""A hint: the best turns by a searching agent, with what it expects of each and the turns that it expects to follow."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

import bombay_agents
from bombay_agents.turns.evaluator import PythonEvaluator
from bombay_env import Game
from bombay_env.agent import check_plays, name_of
from bombay_env.text import action_words
from bombay_training.play.effects import effect_words, preview

# A number of simulations, some half a second of them: the same position always gets the same advice.
DEFAULT_ADVISER = "champion:nodes=4000"
ADVISER_OF_ANY_GAME = "search:nodes=4000"
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

    actions: tuple[str, ...]  # their names
    turn: tuple[str, ...]  # the same in words, with what each does
    win_share: float  # that the mover is expected to get
    margin: float  # expected final rupees of the mover less the mean of all seats
    visits: int  # simulations of this turn
    why: str
    line: tuple[str, ...]  # what the search expects to follow: the turns of the next seats in words


@functools.lru_cache(maxsize=16)
def adviser_of(game: Game) -> str:
    """Spec of the agent that gives hints in a game unless another is named.

    It is the champion if its net was trained on the rules and the board, else a search by the value of `planner-v1`.
    """
    try:
        check_plays(bombay_agents.make(DEFAULT_ADVISER), game)
    except ValueError:
        return ADVISER_OF_ANY_GAME
    return DEFAULT_ADVISER


def make_adviser(spec: str) -> Adviser:
    """The agent that gives hints. Raises ValueError if the spec is malformed or the agent gives none."""
    agent = bombay_agents.make(spec)
    if not isinstance(agent, Adviser):
        raise ValueError(f"agent {name_of(agent)!r} gives no hints; choose champion, zero-search or search")
    if isinstance(getattr(agent, "value", None), PythonEvaluator):
        raise ValueError(
            f"agent {name_of(agent)!r} gives no hints: its value is a Python object; choose champion, zero-search or search"
        )
    return agent


def hints(adviser: Adviser, game: Game, states: np.ndarray, names: Sequence[str] = ()) -> list[Hint]:
    """Of the turns that were simulated most, those that win most, the best first; always the same for a position.

    The adviser gets a copy without the seed of the game, and a generator that does not follow from it.

    Args:
        adviser: who values them.
        game: that of the state.
        states: (1,) a game that is not over, unchanged.
        names: what the seats are called; empty: by their numbers.
    """
    mover = int(states["current_player"][0])
    found = adviser.best_turns(game, game.scrub(states, [0]), np.random.default_rng(0), NUM_TURNS)
    found.sort(key=lambda turn: -turn.win_share[mover])
    best = float(found[0].win_share[mover])
    said = []
    for place, turn in enumerate(found):
        words, total = told(game, states, turn.actions, names)
        share, margin = float(turn.win_share[mover]), float(turn.margin[mover])
        reasons = [f"This turn: {total}" if total else "Nothing is gained this turn"]
        signed = f"{margin:+.1f}".replace("-0.0", "+0.0").replace("-", "−")
        reasons.append(f"expected at the end: {signed} rupees compared with the mean of all seats")
        if place > 0:
            reasons.append(f"it wins {100 * (best - share):.1f} points less often than the best turn")
        actions = tuple(game.action_names[action] for action in turn.actions)
        line = tuple(_line(game, turn.state, turn.line, names))
        said.append(Hint(actions, words, share, margin, turn.visits, "; ".join(reasons) + ".", line))
    return said


def _line(game: Game, states: np.ndarray, turns: Sequence[tuple[int, ...]], names: Sequence[str]) -> Iterator[str]:
    """Turns from a position on in words, with what each action does."""
    after = states.copy()
    for actions in turns:
        words, _ = told(game, after, actions, names)
        mover = int(after["current_player"][0])
        yield f"{names[mover] if names else f'seat {mover}'}: {', '.join(words)}"
        for action in actions:
            game.step(after, [action])


def told(
    game: Game, states: np.ndarray, actions: Sequence[int], names: Sequence[str] = ()
) -> tuple[tuple[str, ...], str]:
    """The actions of a turn in words, and what they change in all."""
    words, before = [], states
    for action in actions:
        after, _ = preview(game, before, action)
        effect = effect_words(game, before, after, names)
        words.append(action_words(game.action_names[action]) + (f" ({effect})" if effect else ""))
        before = after
    return tuple(words), effect_words(game, states, before, names)
