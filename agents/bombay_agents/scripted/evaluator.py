"""The planner's value as shares of the win, one for each seat: what searches back up.

    share of seat i  =  exp(worth_i / t) / Σ exp(worth_j / t)        t = temperature + temperature_per_turn · turns to come

The worths are those of `planner_value.py`. A lead of some rupees decides the game late and says little early, so the temperature
grows with the turns to come. Its two numbers were fitted to games among planners by maximum likelihood. Knows nothing of nets
and of searches; `search/evaluation.py` is the next to read.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents.scripted import planner_survey, planner_value
from bombay_agents.scripted.planner_weights import PlannerWeights
from bombay_env import Game
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.rules import MAX_PLAYERS

TEMPERATURE: Final = 1.25  # rupees, at the end of the game
TEMPERATURE_PER_TURN: Final = 0.2  # added for each turn that a seat has still to come


class ScriptedEvaluator(NamedTuple):
    """The planner's value with the memory it needs; for one thread at a time. S sites, P is MAX_PLAYERS."""

    weights: PlannerWeights
    temperature: float  # rupees
    temperature_per_turn: float
    traffic: np.ndarray  # (S,) float64 of `planner_survey.site_traffic`
    survey: np.ndarray  # (1,) of `planner_survey.survey_dtype`
    worths: np.ndarray  # (P,) float64, rupees


def new_evaluator(game: Game, weights: PlannerWeights) -> ScriptedEvaluator:
    """The planner's value of positions of `game`."""
    return ScriptedEvaluator(
        weights,
        TEMPERATURE,
        TEMPERATURE_PER_TURN,
        planner_survey.site_traffic(game),
        np.zeros(1, planner_survey.survey_dtype(game.board.num_sites)),
        np.zeros(MAX_PLAYERS, np.float64),
    )


@inlined
def evaluate(state, tables, evaluator, shares):
    """Overwrite the first n of `shares`, (P,) float64, for a position between turns of a game that is not over."""
    turns_left = value_seats(state, tables, evaluator)
    temperature = evaluator.temperature + evaluator.temperature_per_turn * turns_left
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
    """Overwrite `evaluator.worths` with the worth of the position to each seat. Returns the mean number of turns to come."""
    survey = evaluator.survey[0]
    turns_left = 0
    for seat in range(tables.num_players):
        planner_value.survey_seat(state, tables, seat, evaluator.weights, evaluator.traffic, survey)
        evaluator.worths[seat] = planner_value.value(state, tables, seat, survey, evaluator.weights)
        turns_left += survey.turns
    return turns_left / tables.num_players
