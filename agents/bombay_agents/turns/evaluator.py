"""What an evaluator of turns is: it gives every outcome of a turn a margin and a share of the win for each seat.

There are two kinds of evaluators.

    compiled      a NamedTuple with the memory that it needs and a field `share_weight`. Its class has a static method
                  `value_turn(tables, evaluator, turn)` that is a kernel. The function `value_turn` below calls it, so searches
                  work with any of them.
    in Python     any object with `values(game, states)`; see `PythonEvaluator`.

The type of a compiled evaluator decides which kernel runs, because Numba cannot keep a kernel on disk that gets another kernel
as an argument. Knows no net and no script; `scripted/evaluator.py` and `nets/value/evaluator.py` are the two compiled evaluators.
"""

from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numba import types
from numba.extending import lower_builtin, type_callable

from bombay_agents.turns.enumeration import MAX_NODES, memory_dtype
from bombay_env import Game, engine
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import composed_dtype, new_records, result_dtype

MARGIN_UNIT: Final = 10.0  # rupees of margin that count as 1
NUM_OUTPUTS: Final = 2 * MAX_PLAYERS  # for each outcome: a margin for each seat, then a share of the win for each
ZERO: Final = np.float32(0)


@runtime_checkable
class PythonEvaluator(Protocol):
    """An evaluator of your own, in any framework; `search:value=[my_module:MyValue]` searches with it."""

    def values(self, game: Game, states: np.ndarray) -> np.ndarray:
        """What each seat may expect in positions between turns.

        Args:
            game: the variant and the board of the states.
            states: (k,) records of `game.state_dtype` whose games are not over, seeds zero. Where a set has just ended the
                markets are empty: its restock is not drawn yet.

        Returns:
            (k, num_players) numbers, seat 0 first: the share of the win, from 0 to 1. Another unit takes a second method
            `results(game, states)`, which values games that are over; without it they count as their share of the win.
        """
        ...


@runtime_checkable
class HasEvaluator(Protocol):
    """What has a compiled evaluator, such as the agents `planner-v1` and `zero`: what searches take as `value`."""

    def evaluator(self, game: Game) -> Any:
        """A compiled evaluator for `game` with fresh memory.

        Raises:
            ValueError: it cannot value this game.
        """
        ...


def turn_dtype(num_sites: int) -> np.dtype[Any]:
    """An evaluated turn; outcomes have the numbers of their nodes in `memory`."""
    return composed_dtype(
        {
            "memory": memory_dtype(num_sites),  # the turn as `enumeration.lay_out` leaves it
            "values": (np.float32, (MAX_NODES,)),  # what outcomes are worth to the mover
            # Margins in tens of rupees above the mean of all seats, then shares of the win, in seat order from the mover.
            "outputs": (np.float32, (MAX_NODES, NUM_OUTPUTS)),
        }
    )


def new_result() -> np.ndarray:
    """Memory for `value_result`, (1,); the same for any number of players, so that kernels compile once."""
    return np.zeros(1, result_dtype(MAX_PLAYERS, np.int8))


def new_turns(game: Game, count: int) -> np.ndarray:
    """Memory for evaluated turns of `game`, (count,) of `turn_dtype`, about one megabyte each; for one thread at a time."""
    return np.asarray(new_records(count, turn_dtype(game.board.num_sites)))


def value_turn(tables: Any, evaluator: Any, turn: Any) -> int:
    """Lay out the turn of the state at node 0 of `turn.memory`, and overwrite `values` and `outputs` of its outcomes.

    The value of an outcome is the mover's margin + share weight · share, both of `outputs`. An evaluator may leave out outcomes
    that are not worth a look: their value is −∞ and they have no outputs. Called from kernels.

    Returns:
        The number of nodes, or `TOO_MANY`.
    """
    return evaluator.value_turn(tables, evaluator, turn)


# In kernels `value_turn` is a call of the kernel of the evaluator's class. `numba.extending.overload` says so in fewer lines, but
# compiles that kernel once more.


@type_callable(value_turn)  # type: ignore[untyped-decorator]  # Numba has no types
def _type_of_value_turn(context: Any) -> Any:
    def result_type(tables: Any, evaluator: Any, turn: Any) -> Any:
        return _kernel_of(evaluator).get_call_type(context, (tables, evaluator, turn), {}).return_type

    return result_type


@lower_builtin(value_turn, types.Any, types.BaseNamedTuple, types.Any)  # type: ignore[untyped-decorator]
def _call_value_turn(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return context.get_function(_kernel_of(signature.args[1]), signature)(builder, arguments)


def _kernel_of(evaluator: Any) -> Any:
    """The type of the kernel of an evaluator, given the evaluator's type."""
    return types.Dispatcher(evaluator.instance_class.value_turn)


@kernel
def softmax(logits, n):
    """Replace the first `n` logits by shares that sum to 1."""
    most, total = logits[0], ZERO
    for place in range(1, n):
        most = max(most, logits[place])
    for place in range(n):
        logits[place] = np.exp(logits[place] - most)
        total += logits[place]
    for place in range(n):
        logits[place] /= total


@kernel
def value_result(state, tables, viewer, result, margin, share):
    """Overwrite `margin` and `share`, in seat order from `viewer`, with the result of `state`, scored as if the game were over.

    `result` is a record of `new_result` and is overwritten too.
    """
    n = np.int64(tables.num_players)
    engine.settle(state, tables, result)
    mean = ZERO
    for player in range(n):
        mean += np.float32(result.final[player])
    mean /= np.float32(n)
    for place in range(n):
        player = (viewer + place) % n
        margin[place] = (np.float32(result.final[player]) - mean) / np.float32(MARGIN_UNIT)
        share[place] = result.win_share[player]
