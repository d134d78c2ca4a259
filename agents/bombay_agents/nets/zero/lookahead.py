"""Looks ahead from the outcomes of a turn: all seats play on by the net until the mover's next turn has ended.

The net first values all outcomes of the turn. From each of the best few, every seat takes the outcome of its turn that the net
values most, the mover too, and the last of these values, that of the mover's own turn, is what the outcome is worth. Restocks are
drawn several times, each time the same for all outcomes that are compared, and the mean counts.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_net
from bombay_agents.nets.zero import reading, valuation
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import kernel
from bombay_env.jit.records import composed_dtype, new_records
from bombay_env.rules import NUM_COLOURS
from bombay_env.state import NOBODY

DRAWS: Final = np.uint64(2005)  # stream of keyed chance
MAX_WIDTH: Final = 32  # outcomes that are looked ahead from


def workspace_dtype(num_sites: int, hidden: int, second: int) -> np.dtype[Any]:
    """Memory for looking ahead, for one thread at a time."""
    turn = valuation.turn_dtype(num_sites, hidden, second)
    return composed_dtype(
        {
            "turn": turn,  # the turn to choose
            "ahead": turn,  # the turn that is being played
            "best": (np.int64, (MAX_WIDTH,)),  # nodes of the best outcomes, best first
            "drawn": (np.int64, (NUM_COLOURS,)),
        }
    )


def new_workspace(game: Game, hidden: int, second: int) -> np.ndarray:
    """Memory for looking ahead in `game`, (1,) of `workspace_dtype`."""
    workspace = new_records(workspace_dtype(game.board.num_sites, hidden, second), 1)
    for turn in ("turn", "ahead"):
        reading.set_constants(workspace[turn]["evaluation"]["reading"], game.board.num_sites)
    return workspace


@kernel
def plan_turn(state, tables, net, options, key, workspace):
    """The node of the outcome of the mover's turn that is worth most after looking ahead; TOO_MANY if a turn does not fit.

    `options` has `share_weight`, `width` (outcomes to look ahead from), `rounds` and `draws`. Overwrites `turn.values`: outcomes
    that are not looked ahead from get −∞.
    """
    turn = workspace.turn
    turn.memory.node[0].state = state
    count = valuation.value_turn(tables, net, options.share_weight, turn)
    if count == turns.TOO_MANY:
        return np.int64(turns.TOO_MANY)
    number = rank_outcomes(turn, count, options.width, workspace.best)
    if number == 1:
        return np.int64(workspace.best[0])
    turn.values[:count] = -np.inf
    for place in range(number):
        node = workspace.best[place]
        total, draws = np.float32(0), 0
        while draws < options.draws:
            value, drawn = rollout(turn.memory.node[node], state, tables, net, options, key, draws, workspace)
            if np.isnan(value):
                return np.int64(turns.TOO_MANY)
            total += value
            draws += 1
            if not drawn:
                break  # without chance, another rollout would be the same
        turn.values[node] = total / np.float32(draws)
    return np.int64(turns.best_outcome(turn.memory, turn.values, count))


@kernel
def rank_outcomes(turn, count, width, best):
    """Write the nodes of the `width` outcomes of highest value among the first `count` into `best`. Returns how many."""
    number = 0
    for node in range(1, count):
        if turn.memory.node[node].due == turns.TURN_GOES_ON:
            continue
        if number == width and turn.values[node] <= turn.values[best[number - 1]]:
            continue
        place = min(number, width - 1)
        while place > 0 and turn.values[node] > turn.values[best[place - 1]]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = node
        number = min(number + 1, width)
    return number


@kernel
def rollout(after, state, tables, net, options, key, draw, workspace):
    """Play on from `after`, an outcome of the turn at `state`, for some rounds.

    Returns what the mover of `state` then expects, NaN if a turn does not fit in memory, and whether a restock was drawn.
    """
    ahead, seat = workspace.ahead, np.int64(state.current_player)
    first = ahead.memory.node[0]
    for place in range(len(after.words)):
        first.words[place] = after.words[place]
    first.due = after.due
    first.state.seed = chance.random_word(key, DRAWS, np.uint64(draw))
    rounds, drawn = 0, False
    while first.state.current_player != NOBODY:
        if first.due == turns.RESTOCK_DUE:
            batch.restock(first.state, tables, workspace.drawn)
            drawn = True
        mover = np.int64(first.state.current_player)
        count = valuation.value_turn(tables, net, options.share_weight, ahead)
        if count == turns.TOO_MANY:
            return np.float32(np.nan), drawn
        best = turns.best_outcome(ahead.memory, ahead.values, count)
        rounds += mover == seat
        if rounds == options.rounds:
            return ahead.values[best], drawn
        node = ahead.memory.node[best]
        for place in range(len(node.words)):
            first.words[place] = node.words[place]
        first.due = node.due
    forward = ahead.evaluation.forward
    value_net.result_output(first.state, tables, seat, forward)
    return forward.margin[0] + options.share_weight * forward.share[0], drawn
