"""`GreedyAgent`: looks one decision ahead with the scripted value of `value.py`, and takes the best.

Each legal action is tried on a copy of the state, without the restock that may follow, so that chance has no part in the
decision. It thinks nothing of what the others will do.
"""

import numpy as np

from bombay_agents.value import Weights, clock_of, new_survey, rate_of, site_traffic, survey_of, value
from bombay_env import Game, engine
from bombay_env.actions import END_TURN
from bombay_env.compile import kernel

CLOSE = 1e-9  # values nearer than this are equal: the best of them is drawn


class GreedyAgent:
    """The legal action after which the scripted value is highest; one of them at random where several are."""

    name = "greedy"

    def __init__(self) -> None:
        self._game: Game | None = None  # the game that `_traffic` belongs to
        self._traffic = np.zeros(0)

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64."""
        if game is not self._game:
            self._game, self._traffic = game, site_traffic(game.tables)
        records = np.ascontiguousarray(states).view(np.recarray)
        actions = np.empty(len(records), np.int64)
        trial = np.zeros(1, game.state_dtype).view(np.recarray)
        choose_all(records, game.tables, Weights(), self._traffic, rng.random(len(records)), trial, new_survey(), actions)
        return actions


@kernel
def choose_all(states, tables, weights, traffic, uniforms, trial, survey, actions):
    """Overwrite `actions` (batch,) int64 with the best of each state.

    Args:
        states: (batch,) records, all running, unchanged.
        traffic: (S,) float64 of `site_traffic`.
        uniforms: (batch,) float64 in [0, 1), which decide between equals.
        trial: (1,) records, overwritten: the copy that actions are tried on.
        survey: a record of `new_survey`, overwritten.
    """
    mask = np.empty(tables.num_sites + END_TURN + 1, np.bool_)
    values = np.empty(len(mask), np.float64)
    for lane in range(len(states)):
        state = states[lane]
        engine.legal(state, tables, mask)
        action_values(state, tables, weights, traffic, mask, trial, survey, values)
        actions[lane] = draw_best(values, mask, uniforms[lane])


@kernel
def action_values(state, tables, weights, traffic, mask, trial, survey, values):
    """Overwrite `values` (A,) where `mask` is True with the value after each action, for the player who acts."""
    player = np.int64(state.current_player)
    clock = clock_of(state, tables, player)
    turns = (clock.game - clock.turn) // tables.actions_per_turn
    rate = rate_of(clock.game, weights)
    surveyed = False
    for action in range(len(mask)):
        if not mask[action]:
            continue
        trial[0] = state
        after = trial[0]
        engine.apply(after, tables, action)
        clock_after = clock_of(after, tables, player)
        if action >= tables.num_sites:
            survey_of(after, tables, player, clock_after, turns, rate, weights, traffic, survey)
        elif not surveyed:  # moves, which come first, change nothing that a survey holds
            survey_of(state, tables, player, clock, turns, rate, weights, traffic, survey)
            surveyed = True
        values[action] = value(after, tables, player, clock_after, survey, weights, traffic)


@kernel
def draw_best(values, mask, uniform):
    """The action of highest value, by `uniform` in [0, 1) among those as good."""
    best = -np.inf
    for action in range(len(mask)):
        if mask[action]:
            best = max(best, values[action])
    count = 0
    for action in range(len(mask)):
        count += mask[action] and values[action] >= best - CLOSE
    chosen = int(uniform * count)
    for action in range(len(mask)):
        if mask[action] and values[action] >= best - CLOSE:
            if chosen == 0:
                return action
            chosen -= 1
    return -1
