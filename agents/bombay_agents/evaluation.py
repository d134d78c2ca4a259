"""What every seat may expect of a position between turns: a share of the win each, from what the position is worth to each.

    share of seat i  =  exp(worth_i / t) / Σ exp(worth_j / t)        t = temperature + temperature_per_turn · turns to come

The worths are those of `planner_value.py`. A lead of some rupees decides late in the game and says little early, so the
temperature grows with the turns to come; its two numbers were fitted to games among planners by maximum likelihood. Once a game
is over the shares are those of its result. Searches back these shares up, one a seat.
"""

from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from bombay_agents import planner_value
from bombay_agents.planner_value import Weights
from bombay_env import Game, engine
from bombay_env.compile import kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY, result_dtype

TEMPERATURE: Final = 1.25  # rupees, at the end of the game
TEMPERATURE_PER_TURN: Final = 0.2  # more for each turn that a seat has still to come


@runtime_checkable
class Values(Protocol):
    """Something that positions can be valued by, such as a planner with its weights: what searches take as `value`."""

    name: str

    def evaluator(self, game: Game) -> "Evaluator":
        """The way it values positions of `game`."""
        ...


class Evaluator(NamedTuple):
    """A way to value positions, with the memory it takes; for one thread at a time."""

    weights: Weights
    temperature: float  # rupees
    temperature_per_turn: float
    traffic: np.ndarray  # (S,) float64 of `planner_value.site_traffic`
    survey: np.ndarray  # (1,) of `planner_value.survey_dtype`
    result: np.ndarray  # (1,) of `result_dtype`
    worths: np.ndarray  # (MAX_PLAYERS,) float64, rupees


def new_evaluator(game: Game, weights: Weights) -> Evaluator:
    """The scripted value as an evaluator."""
    return Evaluator(
        weights,
        TEMPERATURE,
        TEMPERATURE_PER_TURN,
        planner_value.site_traffic(game),
        np.zeros(1, planner_value.survey_dtype(game.board.num_sites)),
        np.zeros(1, result_dtype(MAX_PLAYERS, np.int8)),  # for any number of players: compiled once
        np.zeros(MAX_PLAYERS, np.float64),
    )


@kernel
def evaluate(state, tables, evaluator, shares):
    """Overwrite `shares`, the first n of (MAX_PLAYERS,) float64, with the share of the win that each seat may expect."""
    if state.current_player == NOBODY:
        result = evaluator.result[0]
        engine.settle(state, tables, result)
        for seat in range(tables.num_players):
            shares[seat] = result.win_share[seat]
        return
    turns = value_seats(state, tables, evaluator)
    temperature = evaluator.temperature + evaluator.temperature_per_turn * turns
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
    turns = 0
    for seat in range(tables.num_players):
        planner_value.survey_seat(state, tables, seat, evaluator.weights, evaluator.traffic, survey)
        evaluator.worths[seat] = planner_value.value(state, tables, seat, survey, evaluator.weights)
        turns += survey.turns
    return turns / tables.num_players
