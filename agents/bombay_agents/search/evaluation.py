"""What every seat may expect of a position between turns: a share of the win each, from what the position is worth to each.

    share of seat i  =  exp(worth_i / t) / Σ exp(worth_j / t)        t = temperature + temperature_per_turn · turns to come

The worths are those of `planner_value.py`. A lead of some rupees decides late in the game and says little early, so the
temperature grows with the turns to come; its two numbers were fitted to games among planners by maximum likelihood. Once a game
is over the shares are those of its result. Searches back these shares up, one a seat.

An evaluator may hold a value net (`value_net.py`), which then says the shares instead, of what it foresees as it did when it
learned; the scripted weights are for those who play games on.
"""

from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net
from bombay_agents.scripted import planner_value
from bombay_agents.scripted.planner_value import Weights
from bombay_env import Game, engine
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY, result_dtype

TEMPERATURE: Final = 1.25  # rupees, at the end of the game
TEMPERATURE_PER_TURN: Final = 0.2  # more for each turn that a seat has still to come


@runtime_checkable
class PositionEvaluator(Protocol):
    """Something that positions can be valued by, such as a planner with its weights: what searches take as `value`."""

    name: str

    def evaluator(self, game: Game) -> "Evaluator":
        """The way it values positions of `game`."""
        ...


class NetMemory(NamedTuple):
    """A value net with the memory that asking it takes; for one thread at a time. Arrays of one record, but for `scales`."""

    net: np.ndarray  # of `value_net.net_dtype`
    scales: np.ndarray  # (F,) float32 of `turn_features.scales`
    lookups: np.ndarray  # of `Game.lookups`
    node: np.ndarray  # a position between turns
    raw: np.ndarray  # what it is read with
    reader: np.ndarray  # of `turn_features.reader_dtype`
    work: np.ndarray  # of `value_net.work_dtype`


def new_net_memory(game: Game, net: np.ndarray, rounds: int = 1) -> NetMemory:
    """Memory for asking `net`, (1,) of `value_net.net_dtype`, in `game`, `rounds` of turns foreseen where that is asked for."""
    layout = game.feature_layout
    num_features, hidden = net.dtype["first"].shape
    node = np.zeros(1, turns.memory_dtype(layout.num_sites)["node"].base)
    raw, reader = value_features.new_readers(game, 1, rounds)
    work = np.zeros(1, value_net.work_dtype(num_features, hidden))
    scales = value_features.scales(layout)
    return NetMemory(net, scales, game.lookups, node, raw, reader, work)


class Evaluator(NamedTuple):
    """A way to value positions, with the memory it takes; for one thread at a time."""

    weights: Weights
    temperature: float  # rupees
    temperature_per_turn: float
    traffic: np.ndarray  # (S,) float64 of `planner_value.site_traffic`
    survey: np.ndarray  # (1,) of `planner_value.survey_dtype`
    result: np.ndarray  # (1,) of `result_dtype`
    worths: np.ndarray  # (MAX_PLAYERS,) float64, rupees
    net: NetMemory | None  # asked instead, if there is one


def new_evaluator(game: Game, weights: Weights, net: NetMemory | None = None) -> Evaluator:
    """The scripted value as an evaluator, or a net's."""
    return Evaluator(
        weights,
        TEMPERATURE,
        TEMPERATURE_PER_TURN,
        planner_value.site_traffic(game),
        np.zeros(1, planner_value.survey_dtype(game.board.num_sites)),
        np.zeros(1, result_dtype(MAX_PLAYERS, np.int8)),  # for any number of players: compiled once
        np.zeros(MAX_PLAYERS, np.float64),
        net,
    )


@kernel
def evaluate(state, due, tables, evaluator, shares):
    """Overwrite `shares`, the first n of (MAX_PLAYERS,) float64, with the share of the win that each seat may expect.

    `due` is what is due there, `turns.TURN_OVER` or `turns.RESTOCK_DUE`. Returns False if a turn that is foreseen has no room.
    """
    if state.current_player == NOBODY:
        result = evaluator.result[0]
        engine.settle(state, tables, result)
        for seat in range(tables.num_players):
            shares[seat] = result.win_share[seat]
        return True
    return share_out(state, due, tables, evaluator, evaluator.net, shares)


@inlined
def share_out(state, due, tables, evaluator, net, shares):
    """`evaluate` while the game runs."""
    if net is None:  # decided when this is compiled, by the type of an argument
        share_worths(state, tables, evaluator, shares)
        return True
    return share_by_net(state, due, tables, net, shares)


@inlined
def share_by_net(state, due, tables, net, shares):
    """Overwrite `shares` with what the net says, asked as it learned. Returns False if a turn that is foreseen has no room.

    That is from the eyes of the seat whose turn is over, about what is foreseen from there; where a set begins, its restock
    drawn, from those of the seat to move, about the position as it is.
    """
    n = np.int64(tables.num_players)
    node, raw, reader, work = net.node[0], net.raw[0], net.reader[0], net.work[0]
    node.state = state
    node.due = due
    if due != turns.RESTOCK_DUE and state.turn == 0 and state.current_player == state.first_player:
        eyes = np.int64(state.current_player)
        value_net.ask(node.reading, tables, net.lookups[0], eyes, net.net[0], net.scales, raw, reader, work)
    else:
        eyes = mover_before(state, due, tables)
        value_features.clear_cache(reader)
        if not value_net.ask_ahead(node, tables, net.lookups[0], eyes, net.net[0], net.scales, raw, reader, work):
            return False
    for place in range(n):
        shares[(eyes + place) % n] = work.share[place]
    return True


@inlined
def mover_before(state, due, tables):
    """The seat whose turn is over: the one before the seat to move, or before the one that the set which is over began with."""
    n = np.int64(tables.num_players)
    following = np.int64(state.current_player)
    if due == turns.RESTOCK_DUE and tables.rotate_first_player:
        following += n - 1
    return (following + n - 1) % n


@inlined
def share_worths(state, tables, evaluator, shares):
    """Overwrite `shares` with those that the scripted worths come to."""
    to_come = value_seats(state, tables, evaluator)
    temperature = evaluator.temperature + evaluator.temperature_per_turn * to_come
    most = -np.inf
    for seat in range(tables.num_players):
        most = max(most, evaluator.worths[seat])
    total = 0.0
    for seat in range(tables.num_players):
        shares[seat] = np.exp((evaluator.worths[seat] - most) / temperature)
        total += shares[seat]
    for seat in range(tables.num_players):
        shares[seat] /= total


@kernel
def value_seats(state, tables, evaluator):
    """Overwrite `evaluator.worths` with what the position is worth to each seat. Returns the mean of turns to come."""
    survey = evaluator.survey[0]
    to_come = 0
    for seat in range(tables.num_players):
        planner_value.survey_seat(state, tables, seat, evaluator.weights, evaluator.traffic, survey)
        evaluator.worths[seat] = planner_value.value(state, tables, seat, survey, evaluator.weights)
        to_come += survey.turns
    return to_come / tables.num_players
