"""`GreedyAgent`: looks one decision ahead with the scripted value of `greedy_value.py` and takes the best action.

Each legal action is applied to a copy of the state, without the restock that may follow, so that chance does not affect the
values. Replies of the others are not considered.
"""

from typing import Final

import numpy as np

from bombay_agents.scripted.greedy_value import GreedyWeights, survey, time_left, value
from bombay_env import Game, engine
from bombay_env.actions import CONSOLIDATE
from bombay_env.agent import lane_keys
from bombay_env.jit.kernels import kernel
from bombay_env.registry import described
from bombay_env.rules import NUM_COLOURS

CLOSE: Final = 1e-9  # values nearer than this to the best are tied with it
EFFORT: Final = 1e-6  # taken off the value of a move, so that ties go to staying


@described("all")
class GreedyAgent:
    """The legal action after which the scripted value is highest; ties are broken at random."""

    name = "greedy"
    weights = GreedyWeights()

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64."""
        records = game.check_states(states)
        actions = np.empty(len(records), np.int64)
        trial = np.zeros(1, game.state_dtype)
        uniforms = (lane_keys(rng, len(records)) >> np.uint64(11)) * 2.0**-53  # in [0, 1)
        choose_all(records, game.legal_actions(records), game.tables, self.weights, uniforms, trial, actions)
        return actions


@kernel
def choose_all(states, masks, tables, weights, uniforms, trial, actions):
    """Overwrite `actions` (batch,) int64 with the best action of each state.

    Args:
        states: (batch,) records, none over, unchanged.
        masks: (batch, A) bool, their legal actions.
        uniforms: (batch,) float64 in [0, 1), to break ties.
        trial: (1,) record, overwritten: the copy that actions are applied to.
    """
    tables = tables[0]
    values = np.empty(masks.shape[1], np.float64)
    gain = np.empty((tables.num_sites, NUM_COLOURS), np.float64)
    for lane in range(len(states)):
        action_values(states[lane], tables, weights, masks[lane], trial, gain, values)
        actions[lane] = draw_best(values, masks[lane], uniforms[lane])


@kernel
def action_values(state, tables, weights, mask, trial, gain, values):
    """Overwrite `values` (A,) where `mask` is True with the value after each action, for the player to move."""
    player = int(state.current_player)
    after = trial[0]
    trial[0] = state
    survey(after, tables, player, gain)
    fresh = True  # whether `gain` holds for `state`
    for action in range(len(mask)):
        if not mask[action]:
            continue
        trial[0] = state
        trades = tables.num_sites <= action < tables.num_sites + CONSOLIDATE
        if not trades and not fresh:
            survey(after, tables, player, gain)
        engine.apply(after, tables, action)
        if trades:
            survey(after, tables, player, gain)
        fresh = not trades
        values[action] = value(after, tables, player, time_left(after, tables, player), weights, gain)
        if action < tables.num_sites:
            values[action] -= EFFORT


@kernel
def draw_best(values, mask, uniform):
    """The action of highest value; `uniform` in [0, 1) picks among tied ones. -1 if `mask` is all False."""
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
