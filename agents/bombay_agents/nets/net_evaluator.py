"""A value net as an evaluator of positions between turns: a share of the win for each seat, as searches take it.

The net is evaluated as it was trained: at the end of a turn from the perspective of its mover, after looking ahead; at the start
of a set, after the restock, the position itself from the perspective of the seat to move. Knows nothing of searches;
`search/evaluation.py` is the next to read.
"""

from typing import NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net_turns
from bombay_env import Game
from bombay_env.jit.kernels import inlined
from bombay_env.jit.records import new_records


class NetEvaluator(NamedTuple):
    """A value net with the memory it needs; arrays of one record, for one thread at a time."""

    net: np.ndarray  # of `value_net.net_dtype`
    lookups: np.ndarray  # of `Game.lookups`
    evaluation: np.ndarray  # of `value_net_turns.evaluation_dtype`


def new_evaluator(game: Game, net: np.ndarray, rounds: int = 1) -> NetEvaluator:
    """Evaluates positions of `game` with `net`, (1,) of `value_net.net_dtype`, looking ahead `rounds` rounds."""
    _, hidden = net.dtype["first"].shape
    evaluation = new_records(value_net_turns.evaluation_dtype(game.feature_layout, hidden), 1)
    value_features.set_constants(evaluation["features"], game, rounds)
    return NetEvaluator(net, game.lookups, evaluation)


@inlined
def evaluate(state, due, tables, evaluator, shares):
    """Overwrite the first n of `shares`, (P,) float64, for a position between turns of a game that is not over.

    `due` is TURN_OVER or RESTOCK_DUE of `turns`. Returns False if a turn does not fit in memory while looking ahead.
    """
    n = np.int64(tables.num_players)
    lookups, net, evaluation = evaluator.lookups[0], evaluator.net[0], evaluator.evaluation[0]
    node = evaluation.node
    node.state = state
    node.due = due
    if due != turns.RESTOCK_DUE and state.turn == 0 and state.current_player == state.first_player:
        viewer = np.int64(state.current_player)
        value_net_turns.evaluate(node.reading, tables, lookups, viewer, net, evaluation)
    else:
        viewer = previous_mover(state, due, tables)
        value_features.clear_cache(evaluation.features)
        if not value_net_turns.evaluate_after(node, tables, lookups, viewer, net, evaluation):
            return False
    for place in range(n):
        shares[(viewer + place) % n] = evaluation.forward.share[place]
    return True


@inlined
def previous_mover(state, due, tables):
    """The seat whose turn has just ended: the one before the seat to move, or before the seat that began the finished set."""
    n = np.int64(tables.num_players)
    following = np.int64(state.current_player)
    if due == turns.RESTOCK_DUE and tables.rotate_first_player:
        following += n - 1
    return (following + n - 1) % n
