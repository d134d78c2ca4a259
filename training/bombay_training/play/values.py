"""What a value net makes of a recorded game: each seat's share of the win at every turn, and what each turn cost its mover."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.turns import Turn
from bombay_env import Game
from bombay_env.agent import Agent, name_of
from bombay_env.record import RESTOCK, Record
from bombay_env.state import turn_of

REDRAWN = ("market", "seed")  # what a restock changes in a state


class ValuedTurn(NamedTuple):
    """A turn of a record.

    Attributes:
        first: the number of its first event.
        seat: whose turn it is.
        shares: each seat's share of the win before it, if the mover plays what the net values most.
        cost: the share of the win that the mover gave away: the most that any turn would have kept, less that of the turn played.
        better: the actions of the turn that would have kept most.
    """

    first: int
    seat: int
    shares: tuple[float, ...]
    cost: float
    better: tuple[int, ...]


def valued_turns(
    record: Record, agent: Agent, advance: Callable[[float], None] = lambda count: None
) -> list[ValuedTurn]:
    """The turns of a record that are over, in order.

    Args:
        record: the game.
        agent: a player of `zero`, whose net values the positions after a turn, without looking ahead.
        advance: called with the number of events of each turn.

    Raises:
        ValueError: the agent values no positions, or not those of this game.
    """
    valuer, game, found = _valuer(agent, record.game), record.game, []
    start, first = None, 0
    for number, states in record.replay():
        if record.events[number].startswith(RESTOCK):
            start, first = states, number + 1
        elif start is not None and turn_of(states) != turn_of(start):
            found.append(_valued(valuer, game, start, states, first))
            advance(number + 1 - first)
            start, first = states, number + 1
    return found


def shares_now(agent: Agent, game: Game, states: np.ndarray) -> tuple[float, ...]:
    """Each seat's share of the win in the (1,) state if the mover plays what the net of `agent` values most.

    Raises:
        ValueError, OverflowError: as `turn_shares`, or the agent values no positions, or not those of this game.
    """
    return tuple(_valuer(agent, game).turn_shares(game, states)[1][0].tolist())


def _valuer(agent: Agent, game: Game) -> ValueNetAgent:
    """The agent, if it values positions of this game. Raises ValueError."""
    if not isinstance(agent, ValueNetAgent):
        raise ValueError(
            f"--values is {name_of(agent)}, which values no positions; use zero, or net:path=FILE with a net of zero"
        )
    agent.check_game(game)
    return agent


def _valued(agent: ValueNetAgent, game: Game, start: np.ndarray, after: np.ndarray, first: int) -> ValuedTurn:
    seat = int(start["current_player"][0])
    outcomes, shares = agent.turn_shares(game, start)
    best = int(np.argmax(shares[:, seat]))
    played = next((place for place, turn in enumerate(outcomes) if _is_outcome(turn, after)), best)
    cost = float(shares[best, seat] - shares[played, seat])
    return ValuedTurn(first, seat, tuple(shares[0].tolist()), cost, outcomes[best].actions)


def _is_outcome(turn: Turn, after: np.ndarray) -> bool:
    """Whether a turn led to the position `after`, whose restock is drawn already."""
    drawn = REDRAWN if turn.restock_due else ("seed",)
    return all((turn.state[name] == after[name]).all() for name in turn.state.dtype.names or () if name not in drawn)
