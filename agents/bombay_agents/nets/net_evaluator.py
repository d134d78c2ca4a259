"""A value net as an evaluator of positions between turns: a share of the win for each seat, as searches take it.

The net is evaluated as it was trained: from the perspective of the seat whose turn has just ended, after looking ahead; where a
set begins, its restock drawn, from the perspective of the seat to move, on the position as it is. Knows nothing of searches;
`search/evaluation.py` is the next to read.
"""

from typing import NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net
from bombay_env import Game
from bombay_env.jit.kernels import inlined


class NetEvaluator(NamedTuple):
    """A value net with the memory it needs; for one thread at a time. All but `scales` are arrays of one record."""

    net: np.ndarray  # of `value_net.net_dtype`
    scales: np.ndarray  # (F,) float32 of `value_features.scales`
    lookups: np.ndarray  # of `Game.lookups`
    node: np.ndarray  # the position to evaluate
    raw: np.ndarray  # memory for its features
    reader: np.ndarray  # of `value_features.reader_dtype`
    work: np.ndarray  # of `value_net.work_dtype`


def new_evaluator(game: Game, net: np.ndarray, rounds: int = 1) -> NetEvaluator:
    """The value by `net`, (1,) of `value_net.net_dtype`, of positions of `game`, looking ahead `rounds` rounds."""
    layout = game.feature_layout
    num_features, hidden = net.dtype["first"].shape
    node = np.zeros(1, turns.memory_dtype(layout.num_sites)["node"].base)
    raw, reader = value_features.new_readers(game, 1, rounds)
    work = np.zeros(1, value_net.work_dtype(num_features, hidden))
    scales = value_features.scales(layout)
    return NetEvaluator(net, scales, game.lookups, node, raw, reader, work)


@inlined
def evaluate(state, due, tables, evaluator, shares):
    """Overwrite the first n of `shares`, (P,) float64, for a position between turns of a game that is not over.

    `due` is TURN_OVER or RESTOCK_DUE of `turns`. Returns False if a turn has no room while looking ahead.
    """
    n = np.int64(tables.num_players)
    node, raw, reader, work = evaluator.node[0], evaluator.raw[0], evaluator.reader[0], evaluator.work[0]
    lookups, net, scales = evaluator.lookups[0], evaluator.net[0], evaluator.scales
    node.state = state
    node.due = due
    if due != turns.RESTOCK_DUE and state.turn == 0 and state.current_player == state.first_player:
        viewer = np.int64(state.current_player)
        value_net.ask(node.reading, tables, lookups, viewer, net, scales, raw, reader, work)
    else:
        viewer = previous_mover(state, due, tables)
        value_features.clear_cache(reader)
        if not value_net.ask_ahead(node, tables, lookups, viewer, net, scales, raw, reader, work):
            return False
    for place in range(n):
        shares[(viewer + place) % n] = work.share[place]
    return True


@inlined
def previous_mover(state, due, tables):
    """The seat whose turn has just ended: the one before the seat to move, or before the seat that began the finished set."""
    n = np.int64(tables.num_players)
    following = np.int64(state.current_player)
    if due == turns.RESTOCK_DUE and tables.rotate_first_player:
        following += n - 1
    return (following + n - 1) % n
