"""What searches take a position between turns to be worth: a share of the win for each seat.

An agent that values positions offers `evaluator(game)` (`PositionEvaluator`), which returns the planner's value or a value net.
`new_evaluator` makes of it what kernels take, and `evaluate` dispatches on it when it is compiled. After the game the shares are
those of the result. Searches also need scripted weights, which propose turns and play rollouts: the agent's own, or those of
`planner-v1` if it has a net.
"""

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from bombay_agents.nets import net_evaluator
from bombay_agents.nets.net_evaluator import NetEvaluator
from bombay_agents.scripted import evaluator as scripted_evaluator
from bombay_agents.scripted.evaluator import ScriptedEvaluator
from bombay_agents.scripted.planner import make_planner_v1
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_env import Game, engine
from bombay_env.agent import Agent
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY, result_dtype


@runtime_checkable
class PositionEvaluator(Protocol):
    """An agent that values positions, such as a planner or a value net's player: what searches take as `value` and `ranker`.

    An agent of your own joins in by implementing `evaluator`, with weights or with a net of its own.
    """

    name: str

    def evaluator(self, game: Game) -> ScriptedEvaluator | NetEvaluator:
        """The value of positions of `game`, with fresh memory: `scripted.evaluator.new_evaluator` or `nets.net_evaluator`'s.

        Raises:
            ValueError: the agent cannot value positions of this game.
        """
        ...


class Evaluator(NamedTuple):
    """What `evaluate` needs; for one thread at a time."""

    scripted: ScriptedEvaluator  # its weights also propose turns and play rollouts
    result: np.ndarray  # (1,) of `result_dtype`
    net: NetEvaluator | None  # evaluated instead of `scripted`, if there is one


def position_evaluator(value: Agent | None, searcher: str) -> PositionEvaluator:
    """`value`, or `planner-v1` if it is None.

    Args:
        value: the agent by which positions are to be valued.
        searcher: who asks, for the message.

    Raises:
        ValueError: `value` is an agent that values no positions.
    """
    chosen = make_planner_v1() if value is None else value
    if not isinstance(chosen, PositionEvaluator):
        raise ValueError(f"{searcher}: {chosen.name!r} values no positions; take one that does, such as planner")
    return chosen


def new_evaluator(game: Game, value: PositionEvaluator) -> Evaluator:
    """How `value` evaluates positions of `game`, with fresh memory.

    Raises:
        ValueError: it cannot value positions of this game, or offers an evaluator of an unknown type.
    """
    part = value.evaluator(game)
    result = np.zeros(1, result_dtype(MAX_PLAYERS, np.int8))  # for any number of players, so that kernels compile once
    if isinstance(part, ScriptedEvaluator):
        return Evaluator(part, result, None)
    if isinstance(part, NetEvaluator):
        return Evaluator(scripted_evaluator.new_evaluator(game, WEIGHTS_V1[game.num_players]), result, part)
    raise ValueError(
        f"the evaluator of {value.name!r} has the type {type(part).__name__}; it must be a ScriptedEvaluator or a NetEvaluator"
    )


@kernel
def evaluate(state, due, tables, evaluator, shares):
    """Overwrite the first n of `shares`, (MAX_PLAYERS,) float64, with the share of the win that each seat may expect.

    `due` is TURN_OVER or RESTOCK_DUE of `turns`. Returns False if a turn has no room while looking ahead.
    """
    if state.current_player == NOBODY:
        result = evaluator.result[0]
        engine.settle(state, tables, result)
        for seat in range(tables.num_players):
            shares[seat] = result.win_share[seat]
        return True
    return evaluate_running(state, due, tables, evaluator, evaluator.net, shares)


@inlined
def evaluate_running(state, due, tables, evaluator, net, shares):
    """`evaluate` for a game that is not over."""
    if net is None:  # decided when this is compiled, by the type of the argument
        scripted_evaluator.evaluate(state, tables, evaluator.scripted, shares)
        return True
    return net_evaluator.evaluate(state, due, tables, net, shares)
