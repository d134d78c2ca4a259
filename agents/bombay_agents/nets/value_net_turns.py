"""The value net applied to the game: it evaluates positions, the ends of turns after looking ahead, and whole turns.

A turn is laid out (`turns`), the planner's value proposes some of its outcomes, and from each of these play is looked ahead some
rounds (`scripted/lookahead.py`). The net evaluates the leaf there from the mover's perspective; if the game is over at the leaf,
its result counts and no net is needed. The accumulator is computed in full for the first leaf of a turn and updated for the
others. `value_features.py` says what the net reads, `value_net.py` how it computes, `value_net_agent.py` plays by it,
`net_evaluator.py` evaluates positions for searches.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net
from bombay_agents.scripted import outcome_values
from bombay_agents.scripted.lookahead import MOVER
from bombay_env import Game
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.jit.records import composed_dtype, new_records
from bombay_env.observation.layout import FeatureLayout
from bombay_env.state import NOBODY

NUM_PROPOSALS: Final = 12  # outcomes of a turn that the net evaluates: those of most worth by `planner-v1`'s value

PROPOSALS: Final = record_dtype(
    [
        ("worth", np.float64, (turns.MAX_NODES,)),  # of outcomes by the planner's value
        ("top", np.float64, (NUM_PROPOSALS,)),  # the largest of them
    ]
)


# --- Memory ---


def evaluation_dtype(layout: FeatureLayout, hidden: int) -> np.dtype[Any]:
    """Memory for evaluating positions, for one thread at a time."""
    return composed_dtype(
        {
            "features": value_features.workspace_dtype(layout),
            "forward": value_net.workspace_dtype(value_features.num_features(layout), hidden),  # holds the evaluation
            "node": turns.memory_dtype(layout.num_sites)[
                "node"
            ].base,  # a position between turns, for callers that need one
        }
    )


def turn_dtype(layout: FeatureLayout, hidden: int) -> np.dtype[Any]:
    """Memory for evaluating whole turns, for one thread at a time."""
    return composed_dtype(
        {
            "memory": turns.memory_dtype(layout.num_sites),  # of the turn
            "evaluation": evaluation_dtype(layout, hidden),
            "proposals": PROPOSALS,
            "values": (np.float32, (turns.MAX_NODES,)),  # of outcomes
        }
    )


def new_turn_workspaces(game: Game, hidden: int, count: int, rounds: int = 1) -> np.ndarray:
    """Memory for evaluating turns of `game` with `rounds` of looking ahead, (count,) of `turn_dtype`."""
    workspaces = new_records(turn_dtype(game.feature_layout, hidden), count)
    value_features.set_constants(workspaces["evaluation"]["features"], game, rounds)
    return workspaces


# --- Positions ---


@kernel
def evaluate(state, tables, lookups, viewer, net, evaluation):
    """Overwrite `margin` and `share` in `evaluation.forward` with those of a position, from the perspective of `viewer`.

    `state` is a record of `reading_dtype`.
    """
    value_features.clear_cache(evaluation.features)
    value_features.read_position(state, tables, lookups, viewer, evaluation.features)
    evaluate_read(tables, net, evaluation)


@kernel
def evaluate_after(after, tables, lookups, seat, net, evaluation):
    """Overwrite `evaluation.forward` for the leaf after `after`, the end of a turn of `seat`.

    Returns False if a turn does not fit in memory. Call `value_features.clear_cache` before another turn.
    """
    if not value_features.read_leaf(after, tables, lookups, seat, evaluation.features):
        return False
    if value_features.leaf_is_over(evaluation.features):
        evaluate_end(after, tables, seat, evaluation)
    else:
        evaluate_read(tables, net, evaluation)
    return True


@kernel
def evaluate_read(tables, net, evaluation):
    """Overwrite `evaluation.forward` for the position that was read last."""
    features, forward = evaluation.features, evaluation.forward
    value_net.refresh_accumulator(net, features.scales, features.bytes, forward.accumulator)
    forward_features(tables, net, evaluation)


@kernel
def forward_features(tables, net, evaluation):
    """Overwrite `evaluation.forward` from the accumulator of the position that was read last."""
    features = evaluation.features
    n = np.int64(tables.num_players)
    value_net.forward_output(net, n, features.expected, features.raw.all_left[0], evaluation.forward)


@kernel
def evaluate_end(after, tables, seat, evaluation):
    """Overwrite `evaluation.forward` for a leaf at which the game is over.

    The winner is uncertain, unless the game was over at `after` already.
    """
    forward = evaluation.forward
    value_net.result_output(evaluation.features.lookahead.leaf[0].state, tables, seat, forward)
    if after.state.current_player != NOBODY:
        n = np.int64(tables.num_players)
        for place in range(n):
            forward.share[place] = forward.margin[place] * np.float32(value_net.MARGIN_UNIT / value_net.TEMPERATURE)
        value_net.softmax(forward.share, n)


# --- Turns ---


@kernel
def propose(tables, memory, lookahead, proposals, count):
    """Overwrite `proposals.worth` of the outcomes among the first `count` nodes. Returns the least worth of a proposed one."""
    worth, top = proposals.worth, proposals.top
    outcome_values.value_outcomes(
        tables, lookahead.weights[MOVER], lookahead.traffic, memory, lookahead.survey, worth, count
    )
    top[:] = -np.inf
    for node in range(1, count):
        if memory.node[node].due != turns.TURN_GOES_ON and worth[node] > top[NUM_PROPOSALS - 1]:
            place = NUM_PROPOSALS - 1
            while place > 0 and worth[node] > top[place - 1]:
                top[place] = top[place - 1]
                place -= 1
            top[place] = worth[node]
    return top[NUM_PROPOSALS - 1]


@kernel
def value_turn(tables, lookups, net, blend, workspace):
    """Lay out the turn of the state at node 0 of `workspace.memory` and overwrite `values` of its outcomes.

    An outcome's value is what the mover expects of it: `blend` · share + (1 − `blend`) · margin; −∞ for outcomes that are not
    proposed. Returns the number of nodes, or TOO_MANY.
    """
    memory, evaluation, worth = workspace.memory, workspace.evaluation, workspace.proposals.worth
    features, forward = evaluation.features, evaluation.forward
    count = turns.lay_out(tables, memory)
    if count == turns.TOO_MANY:
        return count
    least = propose(tables, memory, features.lookahead, workspace.proposals, count)
    seat = np.int64(memory.node[0].state.current_player)
    value_features.clear_cache(features)
    has_base = False
    for node in range(1, count):
        after = memory.node[node]
        if after.due != turns.TURN_GOES_ON:
            if worth[node] < least:
                workspace.values[node] = -np.inf
                continue
            if not value_features.read_leaf(after, tables, lookups, seat, features):
                return turns.TOO_MANY
            if value_features.leaf_is_over(features):
                evaluate_end(after, tables, seat, evaluation)
            else:
                if not has_base:
                    value_net.set_base_accumulator(net, features, forward)
                    has_base = True
                value_net.update_accumulator(net, features, forward)
                forward_features(tables, net, evaluation)
            workspace.values[node] = (np.float32(1) - blend) * forward.margin[0] + blend * forward.share[0]
    return count
