"""Looks ahead from the outcomes of a turn: all seats play on by an evaluator until the mover's next turn has ended.

The evaluator first values all outcomes of the turn. From each of the best few, every seat takes the outcome of its turn that is
worth most to it, the mover too. The last of these values, that of the mover's own turn, is what the outcome is worth. Restocks
are drawn several times, each time the same for all outcomes that are compared, and the mean counts.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents.turns.enumeration import (
    RESTOCK_DUE,
    TOO_MANY,
    best_outcome,
    best_outcomes,
)
from bombay_agents.turns.evaluator import new_result, new_turns, value_result, value_turn
from bombay_env import Game, batch, chance, streams
from bombay_env.jit.kernels import kernel, long_kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

MAX_WIDTH: Final = 32  # outcomes that are looked ahead from


class LookaheadOptions(NamedTuple):
    """How far to look ahead, typed as kernels take it."""

    share_weight: np.float32  # weight of the share of the win beside the margin in tens of rupees
    width: int  # outcomes to look ahead from; 1 takes what the evaluator values most at once
    rounds: int  # own turns to play on
    draws: int  # restocks drawn for each outcome


class LookaheadWorkspace(NamedTuple):
    """Memory for looking ahead; for one thread at a time."""

    turn: np.ndarray  # (1,) of `evaluator.turn_dtype`: the turn to choose
    ahead: np.ndarray  # (1,) of the same: the turn that is being played
    best: np.ndarray  # (MAX_WIDTH,) int64, nodes of the best outcomes, best first
    drawn: np.ndarray  # (4,) int64, bales of a restock
    result: np.ndarray  # of `new_result`
    outputs: np.ndarray  # (2, MAX_PLAYERS) float32, margin and share of a result


def new_workspace(game: Game) -> LookaheadWorkspace:
    """Memory for looking ahead in `game`."""
    return LookaheadWorkspace(
        new_turns(game, 1),
        new_turns(game, 1),
        np.zeros(MAX_WIDTH, np.int64),
        np.zeros(NUM_COLOURS, np.int64),
        new_result(),
        np.zeros((2, MAX_PLAYERS), np.float32),
    )


@long_kernel
def plan_turn(state, tables, evaluator, options, key, workspace):
    """The node of the outcome of the mover's turn that is worth most after looking ahead; TOO_MANY if a turn does not fit.

    `tables` are (1,), `options` are `LookaheadOptions`. Overwrites `turn.values`: outcomes that are not looked ahead from get −∞.
    """
    turn, best = workspace.turn[0], workspace.best
    turn.memory.node[0].state = state
    count = value_turn(tables[0], evaluator, turn)
    if count == TOO_MANY:
        return np.int64(TOO_MANY)
    number = best_outcomes(turn.memory, turn.values, count, options.width, best)
    if number == 1:
        return np.int64(best[0])
    turn.values[:count] = -np.inf
    for place in range(number):
        node = best[place]
        total, draws = np.float32(0), 0
        while draws < options.draws:
            value, drawn = rollout(turn.memory.node[node], state, tables[0], evaluator, options, key, draws, workspace)
            if np.isnan(value):
                return np.int64(TOO_MANY)
            total += value
            draws += 1
            if not drawn:
                break  # without chance, another rollout would be the same
        turn.values[node] = total / np.float32(draws)
    return np.int64(best_outcome(turn.memory, turn.values, count))


@kernel
def rollout(after, state, tables, evaluator, options, key, draw, workspace):
    """Play on from `after`, an outcome of the turn at `state`, for some rounds.

    Returns what the mover of `state` then expects, NaN if a turn does not fit in memory, and whether a restock was drawn.
    """
    ahead, seat = workspace.ahead[0], np.int64(state.current_player)
    first = ahead.memory.node[0]
    copy_node(after, first)
    first.state.seed = chance.random_word(key, streams.LOOKAHEAD, np.uint64(draw))
    rounds, drawn = 0, False
    while first.state.current_player != NOBODY:
        if first.due == RESTOCK_DUE:
            batch.restock(first.state, tables, workspace.drawn)
            drawn = True
        mover = np.int64(first.state.current_player)
        count = value_turn(tables, evaluator, ahead)
        if count == TOO_MANY:
            return np.float32(np.nan), drawn
        best = best_outcome(ahead.memory, ahead.values, count)
        rounds += mover == seat
        if rounds == options.rounds:
            return ahead.values[best], drawn
        copy_node(ahead.memory.node[best], first)
    margin, share = workspace.outputs[0], workspace.outputs[1]
    value_result(first.state, tables, seat, workspace.result[0], margin, share)
    return margin[0] + options.share_weight * share[0], drawn


@kernel
def copy_node(node, other):
    """Overwrite the state of another node, and what is due there."""
    for place in range(len(node.words)):
        other.words[place] = node.words[place]
    other.due = node.due
