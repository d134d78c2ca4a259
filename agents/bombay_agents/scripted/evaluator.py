"""The planner's value as an evaluator of turns (`turns/evaluator.py`), and as shares of the win in single positions.

    share of seat i  =  softmax(worth_i / t)                  t = temperature + temperature_per_turn · turns to come
    margin of seat i =  worth_i − mean of all worths          in tens of rupees

The worths are those of `planner_value.py`. A lead of some rupees decides the game late and says little early, so the temperature
grows with the turns to come. Its two numbers were fitted to games among planners by maximum likelihood. Only the outcomes that
are worth most to the mover are valued for all seats: that takes most of the time.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import outcome_values, planner_survey, planner_value
from bombay_agents.scripted.planner_weights import PlannerWeights
from bombay_agents.turns.evaluator import MARGIN_UNIT, new_result, softmax, value_result
from bombay_env import Game
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY

TEMPERATURE: Final = 1.25  # rupees, at the end of the game
TEMPERATURE_PER_TURN: Final = 0.2  # added for each turn that a seat has still to come
MAX_VALUED: Final = 12  # outcomes of a turn that are valued for all seats
SHARE_WEIGHT: Final = 2.0  # searches were no better with 1 or 4


class PlannerEvaluator(NamedTuple):
    """The planner's value with the memory it needs; for one thread at a time. S sites, P is MAX_PLAYERS."""

    weights: PlannerWeights
    share_weight: np.float32  # weight of the share of the win beside the margin
    traffic: np.ndarray  # (S,) float64 of `planner_survey.site_traffic`
    survey: np.ndarray  # (1,) of `planner_survey.survey_dtype`
    mover_worths: np.ndarray  # (MAX_NODES,) float64, rupees: of outcomes to the mover
    best: np.ndarray  # (MAX_VALUED,) int64, nodes of the outcomes of most worth to the mover
    worths: np.ndarray  # (P,) float64, rupees: of a position to each seat
    outputs: np.ndarray  # (2, P) float64, margins and shares of a position, seat 0 first
    result: np.ndarray  # of `new_result`

    @staticmethod
    @kernel
    def value_turn(tables, evaluator, turn):
        """`turns.evaluator.value_turn` for the planner's value."""
        memory, survey, best = turn.memory, evaluator.survey[0], evaluator.best
        count = turns.lay_out(tables, memory)
        if count == turns.TOO_MANY:
            return np.int64(turns.TOO_MANY)
        outcome_values.value_outcomes(
            tables, evaluator.weights, evaluator.traffic, memory, survey, evaluator.mover_worths, count
        )
        number = turns.best_outcomes(memory, evaluator.mover_worths, count, MAX_VALUED, best)
        turn.values[:count] = -np.inf
        n, mover = np.int64(tables.num_players), np.int64(memory.node[0].state.current_player)
        margin, share = evaluator.outputs[0], evaluator.outputs[1]
        for place in range(number):
            node = best[place]
            value_position(memory.node[node], tables, evaluator)
            for offset in range(n):
                seat = (mover + offset) % n
                turn.outputs[node, offset] = margin[seat]
                turn.outputs[node, MAX_PLAYERS + offset] = share[seat]
            turn.values[node] = margin[mover] + evaluator.share_weight * share[mover]
        return np.int64(count)


def new_evaluator(game: Game, weights: PlannerWeights) -> PlannerEvaluator:
    """The planner's value of turns and positions of `game`."""
    return PlannerEvaluator(
        weights,
        np.float32(SHARE_WEIGHT),
        planner_survey.site_traffic(game),
        np.zeros(1, planner_survey.survey_dtype(game.board.num_sites)),
        np.zeros(turns.MAX_NODES, np.float64),
        np.zeros(MAX_VALUED, np.int64),
        np.zeros(MAX_PLAYERS, np.float64),
        np.zeros((2, MAX_PLAYERS), np.float64),
        new_result(),
    )


@kernel
def value_position(node, tables, evaluator):
    """Overwrite `evaluator.outputs` for a node between turns, or after the game, where the result counts."""
    margin, share = evaluator.outputs[0], evaluator.outputs[1]
    if node.state.current_player == NOBODY:
        value_result(node.state, tables, np.int64(0), evaluator.result[0], margin, share)
        return
    n = np.int64(tables.num_players)
    turns_left = value_seats(node.reading, tables, evaluator)
    temperature = TEMPERATURE + TEMPERATURE_PER_TURN * turns_left
    mean = 0.0
    for seat in range(n):
        mean += evaluator.worths[seat] / n
    for seat in range(n):
        margin[seat] = (evaluator.worths[seat] - mean) / MARGIN_UNIT
        share[seat] = evaluator.worths[seat] / temperature
    softmax(share, n)


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
