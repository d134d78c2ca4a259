"""Potentials for reward shaping: what each seat expects to be paid at the end of the game.

Potential-based shaping (Ng, Harada and Russell, "Policy Invariance Under Reward Transformations", 1999) pays a learner whenever
the potential changes. It decides only how early a decision is paid: what has been paid is settled against the true result when
the game ends. In `potentials`, expected rupees come from the planner's value of every seat (`planner_value.py`), in the middle of
a turn too; `result_potentials` follow from the rules alone. `bombay_training.learners.ppo.vec_env` pays by them, and
`nets/policy_turn_agent.py` adds them back to what a value head learned.
"""

from typing import Any, Final

import numpy as np
from numba import prange

from bombay_agents.scripted import planner_survey, planner_value
from bombay_agents.scripted.planner_weights import WEIGHTS_V1, PlannerWeights
from bombay_env import Game, engine
from bombay_env.batch import CHUNK, MAX_CHUNKS, chunk_lanes, num_chunks
from bombay_env.jit.kernels import batch_kernel, kernel, record_dtype
from bombay_env.rewards import MARGIN_SCALE, seat_rewards
from bombay_env.rules import Rules
from bombay_env.state import NOBODY

PLANNER_SHAPING: Final = "planner"  # `potentials`
RESULT_SHAPING: Final = "result"  # `result_potentials`
SHAPINGS: Final = (PLANNER_SHAPING, RESULT_SHAPING)

# Rupees ahead that weigh 1 in the logarithm of a share of the win: at the end, and more for each game turn to come.
TEMPERATURE: Final = 2.0
TEMPERATURE_PER_TURN: Final = 0.4
MIN_LANES: Final = 2 * CHUNK  # a lane takes long, so threads pay off from this batch size on


def workspace_dtype(num_sites: int) -> np.dtype[Any]:
    """Memory for `expected_rupees`, for one thread at a time."""
    return record_dtype(
        [
            ("survey", planner_survey.survey_dtype(num_sites)),
            ("traffic", np.float64, (num_sites,)),
            ("weights", [(name, np.float64) for name in PlannerWeights._fields]),
        ]
    )


def new_workspace(game: Game) -> np.ndarray:
    """Memory for `expect_all`, (MAX_CHUNKS,) records of `workspace_dtype`."""
    workspace = np.zeros(MAX_CHUNKS, workspace_dtype(game.board.num_sites))
    set_constants(workspace, game)
    return workspace


def set_constants(workspace: np.ndarray, game: Game) -> None:
    """Fill in what depends on the game alone; any number of records."""
    workspace["traffic"] = planner_survey.site_traffic(game)
    workspace["weights"] = WEIGHTS_V1[game.num_players]


def potentials(game: Game, states: np.ndarray, blend: float, workspace: np.ndarray | None = None) -> np.ndarray:
    """The reward that each seat expects at the end, (k, num_players) float32; for finished games, that reward.

    Args:
        game: the game that the states belong to.
        states: (k,) records, unchanged.
        blend: see `blended`.
        workspace: memory from `new_workspace`; pass it if you call this often.
    """
    records = game.check_states(states)
    rupees = np.empty((len(records), game.num_players), np.float32)
    expect_all(records, game.tables, new_workspace(game) if workspace is None else workspace, rupees)
    margin = rupees - rupees.mean(axis=1, keepdims=True)
    expected = (1 - blend) * margin / MARGIN_SCALE
    if blend:
        temperature = TEMPERATURE + TEMPERATURE_PER_TURN * turns_left(records, game.rules)
        weight = np.exp((margin - margin.max(axis=1, keepdims=True)) / temperature[:, None])
        share = weight / weight.sum(axis=1, keepdims=True)
        expected += blend * (game.num_players * share - 1) / (game.num_players - 1)
    ended = records["current_player"] == NOBODY
    if ended.any():
        expected[ended] = blended(game.results(records[ended]), blend)
    return expected.astype(np.float32)


def result_potentials(game: Game, states: np.ndarray) -> np.ndarray:
    """The margin of each seat if the game ended now, as a reward, (k, num_players) float32; nothing scripted.

    Args:
        game: the game that the states belong to.
        states: (k,) records, unchanged.
    """
    return blended(game.provisional_results(states), 0.0).astype(np.float32)


def blended(results: Any, blend: float) -> np.ndarray:
    """The rewards at the end of games, (k, n) float64, zero-sum: (1 − blend) · margin + blend · win (see `rewards.py`)."""
    return (1 - blend) * seat_rewards(results, "margin") + blend * seat_rewards(results, "win")


def turns_left(states: np.ndarray, rules: Rules) -> np.ndarray:
    """Game turns to come, including the current one, (k,) int64; 0 after the game ends."""
    left = rules.sets * rules.turns_per_set - states["set"].astype(np.int64) * rules.turns_per_set - states["turn"]
    return np.asarray(np.where(states["current_player"] == NOBODY, 0, left))


def _expect_all(states, tables, workspace, rupees):
    """Overwrite `rupees` (batch, n) with what each seat expects to have at the end."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            for seat in range(tables[0].num_players):
                rupees[lane, seat] = expected_rupees(states[lane], tables[0], seat, workspace[chunk])


expect_all = batch_kernel(_expect_all, MIN_LANES)


@kernel
def expected_rupees(state, tables, player, workspace):
    """The rupees that a player expects to have at the end."""
    if state.current_player == NOBODY:
        return 1.0 * engine.final_rupees(state, tables, player)
    survey_seat(state, tables, player, workspace)
    plan = planner_value.plan_worth(state, tables, player, workspace.survey, workspace.weights)
    return np.int64(state.rupees[player]) + workspace.survey.assets + plan


@kernel
def survey_seat(state, tables, player, workspace):
    """Overwrite `workspace.survey`; if the player's turn has begun, the actions left in it count as well."""
    survey = workspace.survey
    planner_survey.survey_position(state, tables, player, workspace.weights, workspace.traffic, survey)
    if (
        state.current_player == player and state.actions_left < tables.actions_per_turn
    ):  # otherwise the turn is among those to come
        survey.time += np.int64(state.actions_left)
        survey.assets += survey.rate * np.int64(state.actions_left)
    planner_value.survey_plans(state, tables, player, survey, workspace.weights)
