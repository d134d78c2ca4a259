"""The value net as an evaluator of turns (`turns/evaluator.py`), and of single positions at the ends of turns.

A turn is laid out, and the net evaluates each of its outcomes from the mover's perspective, before any restock; if the game is
over there, its result counts. The accumulator is computed in full for the first outcome of a turn. Each entry of the accumulator
cache keeps that of its last outcome, and updates it for the next one by the rows that differ.
"""

from typing import Any, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets.value import encoding, features
from bombay_agents.nets.value import net as value_net
from bombay_agents.turns.evaluator import value_result
from bombay_env import Game
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY, composed_dtype, new_records


def memory_dtype(num_sites: int, hidden: int, second: int) -> np.dtype[Any]:
    """Memory for evaluating positions, for one thread at a time."""
    return composed_dtype(
        {
            "encoding": encoding.workspace_dtype(num_sites, hidden),
            "forward": value_net.workspace_dtype(hidden, second),  # holds the evaluation
            "evaluated": np.int64,  # outcomes that `value_turn_by_net` has valued by the net so far
        }
    )


def set_constants(memory: np.ndarray, num_sites: int) -> None:
    """Fill in what depends on the board; any number of records of `memory_dtype`."""
    memory["encoding"]["first"] = features.first_rows(num_sites)


class ValueNetEvaluator(NamedTuple):
    """The net with the memory it needs; for one thread at a time."""

    net: np.ndarray  # (1,) of `net.net_dtype` with int16
    share_weight: np.float32  # weight of the share of the win beside the margin
    memory: np.ndarray  # (1,) of `memory_dtype`

    @staticmethod
    @kernel
    def value_turn(tables, evaluator, turn):
        """`turns.evaluator.value_turn` for the net."""
        return value_turn_by_net(tables, evaluator.net[0], evaluator.share_weight, evaluator.memory[0], turn)


def new_evaluator(game: Game, net: value_net.ValueNet) -> ValueNetEvaluator:
    """Evaluates turns of `game` by `net`, with fresh memory."""
    num_sites = game.board.num_sites
    memory = np.asarray(new_records(1, memory_dtype(num_sites, *net.units)))
    set_constants(memory, num_sites)
    return ValueNetEvaluator(net.quantized(features.first_rows(num_sites)), np.float32(net.share_weight), memory)


@kernel
def clear_cache(memory):
    """Empty the accumulator cache; call it before the positions of another turn."""
    encoding.clear_cache(memory.encoding)


@kernel
def value_position(node, tables, viewer, net, memory):
    """Overwrite `margin` and `share` in `memory.forward` for a node between turns, from the perspective of `viewer`.

    Returns the place of its entry in the accumulator cache; −1 if the game is over, so that its result counts. Call
    `clear_cache` before the positions of another turn. `net` must have a first layer of int16: sums of float32 would be cut off,
    and nothing checks it.
    """
    encoded, forward = memory.encoding, memory.forward
    if node.state.current_player == NOBODY:
        value_result(node.state, tables, viewer, forward.result, forward.margin, forward.share)
        return np.int64(-1)
    known = encoded.num_entries
    place = np.int64(encoding.encode_position(node, tables, viewer, encoded))
    entry = encoded.entry[place]
    if known == 0:
        entry.accumulator[:] = net.first_bias
        value_net.add_rows(net, entry.accumulator, entry.rows)
        value_net.add_rows(net, entry.accumulator, encoded.own)
    else:
        if known < encoded.num_entries:
            base = encoded.entry[(known - 1) % encoding.CACHE_SIZE]
            entry.accumulator[:] = base.accumulator
            entry.own[:] = base.own
            value_net.swap_rows(net, entry.accumulator, base.rows, entry.rows)
        value_net.swap_rows(net, entry.accumulator, entry.own, encoded.own)
    entry.own[:] = encoded.own
    n = np.int64(tables.num_players)
    value_net.forward(net, n, entry.accumulator, encoded.final, encoded.turns_left, forward)
    return place


@kernel
def value_positions(states, viewers, tables, evaluator, node, outputs):
    """Value positions between turns, each in full, from the perspectives of `viewers`, (batch,) int64.

    Overwrites `outputs`, (batch, NUM_OUTPUTS) float32: margins and shares in seat order from the viewer. `node` is memory for one
    node of a turn, (1,).
    """
    memory = evaluator.memory[0]
    for lane in range(len(states)):
        node[0].state = states[lane]
        clear_cache(memory)
        value_position(node[0], tables[0], viewers[lane], evaluator.net[0], memory)
        outputs[lane, :MAX_PLAYERS] = memory.forward.margin
        outputs[lane, MAX_PLAYERS:] = memory.forward.share


@kernel
def value_turn_by_net(tables, net, share_weight, memory, turn):
    """`value_turn` with the parts of the evaluator as records: the first entry of `net`, and that of `memory`.

    Adds the number of outcomes that the net valued to `memory.evaluated`.
    """
    nodes, forward = turn.memory, memory.forward
    count = turns.lay_out(tables, nodes)
    if count == turns.TOO_MANY:
        return count
    seat = np.int64(nodes.node[0].state.current_player)
    clear_cache(memory)
    evaluated = np.int64(0)
    for node in range(1, count):
        if nodes.node[node].due != turns.TURN_GOES_ON:
            evaluated += value_position(nodes.node[node], tables, seat, net, memory) >= 0
            for place in range(tables.num_players):
                turn.outputs[node, place] = forward.margin[place]
                turn.outputs[node, MAX_PLAYERS + place] = forward.share[place]
            turn.values[node] = forward.margin[0] + share_weight * forward.share[0]
    memory.evaluated += evaluated
    return count
