"""The `zero` net applied to the game: it evaluates the ends of turns, and all distinct outcomes of a turn.

A turn is laid out (`turns`), and the net evaluates each of its outcomes from the mover's perspective, before any restock; if the
game is over there, its result counts. The accumulator is computed in full for the first outcome of a turn, and updated for the
others by the rows that differ.
"""

from typing import Any

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_net
from bombay_agents.nets.zero import net as zero_net
from bombay_agents.nets.zero import reading, slots
from bombay_env import Game
from bombay_env.jit.kernels import kernel
from bombay_env.jit.records import composed_dtype, new_records
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY


def evaluation_dtype(num_sites: int, hidden: int, second: int) -> np.dtype[Any]:
    """Memory for evaluating positions, for one thread at a time."""
    return composed_dtype(
        {
            "reading": reading.workspace_dtype(num_sites, hidden),
            "forward": zero_net.workspace_dtype(slots.num_own_slots(), hidden, second),  # holds the evaluation
        }
    )


def turn_dtype(num_sites: int, hidden: int, second: int) -> np.dtype[Any]:
    """Memory for evaluating whole turns, for one thread at a time."""
    return composed_dtype(
        {
            "memory": turns.memory_dtype(num_sites),  # of the turn
            "evaluation": evaluation_dtype(num_sites, hidden, second),
            "values": (np.float32, (turns.MAX_NODES,)),  # of outcomes, to their mover
            "outputs": (
                np.float32,
                (turns.MAX_NODES, 2 * MAX_PLAYERS),
            ),  # margins, then shares, in seat order from the mover
            "evaluated": np.int64,  # outcomes that `value_turn` has valued by the net so far, finished games not among them
        }
    )


def new_turn_workspaces(game: Game, hidden: int, second: int, count: int) -> np.ndarray:
    """Memory for evaluating turns of `game`, (count,) of `turn_dtype`."""
    num_sites = game.board.num_sites
    workspaces = new_records(turn_dtype(num_sites, hidden, second), count)
    reading.set_constants(workspaces["evaluation"]["reading"], num_sites)
    return workspaces


@kernel
def clear_cache(evaluation):
    """Forget all contexts; call it before the positions of another turn."""
    reading.clear_cache(evaluation.reading)


@kernel
def evaluate(node, tables, viewer, net, evaluation):
    """Overwrite `margin` and `share` in `evaluation.forward` for a node between turns, from the perspective of `viewer`.

    Returns the slot of its context. Call `clear_cache` before the positions of another turn.
    """
    view, forward = evaluation.reading, evaluation.forward
    if node.state.current_player == NOBODY:
        value_net.result_output(node.state, tables, viewer, forward)
        return np.int64(-1)
    known = view.num_contexts
    slot = np.int64(reading.read_position(node, tables, viewer, view))
    context = view.context[slot]
    if known == 0:
        context.accumulator[:] = net.first_bias
        zero_net.add_rows(net, context.accumulator, context.rows)
        zero_net.add_rows(net, context.accumulator, view.own)
        forward.base_own[:] = view.own
    elif known < view.num_contexts:
        base = view.context[(known - 1) % reading.CONTEXTS]
        context.accumulator[:] = base.accumulator
        zero_net.swap_rows(net, context.accumulator, base.rows, context.rows)
    forward.accumulator[:] = context.accumulator
    zero_net.swap_rows(net, forward.accumulator, forward.base_own, view.own)
    zero_net.forward(net, np.int64(tables.num_players), view.final, view.turns_left, forward)
    return slot


@kernel
def value_turn(tables, net, share_weight, workspace):
    """Lay out the turn of the state at node 0 of `workspace.memory` and overwrite `values` and `outputs` of its outcomes.

    An outcome's value is what the mover expects there: margin in tens of rupees + `share_weight` · share. Adds the number of
    outcomes that the net valued to `evaluated`. Returns the number of nodes, or TOO_MANY.
    """
    memory, evaluation = workspace.memory, workspace.evaluation
    count = turns.lay_out(tables, memory)
    if count == turns.TOO_MANY:
        return count
    seat = np.int64(memory.node[0].state.current_player)
    clear_cache(evaluation)
    evaluated = np.int64(0)
    for node in range(1, count):
        if memory.node[node].due != turns.TURN_GOES_ON:
            evaluated += evaluate(memory.node[node], tables, seat, net, evaluation) >= 0
            for place in range(tables.num_players):
                workspace.outputs[node, place] = evaluation.forward.margin[place]
                workspace.outputs[node, MAX_PLAYERS + place] = evaluation.forward.share[place]
            workspace.values[node] = evaluation.forward.margin[0] + share_weight * evaluation.forward.share[0]
    workspace.evaluated += evaluated
    return count
