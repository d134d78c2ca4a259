"""`GreedyAgent`: looks one decision ahead with the scripted value of `greedy_value.py` and takes the best action.

Each legal action is applied to a copy of the state, without the restock that may follow, so that chance does not affect the
values. Replies of the others are not considered. With `epsilon` a share of its turns is random, which makes weaker players.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.random import RandomTurnAgent
from bombay_agents.scripted.greedy_value import GreedyWeights, survey, time_left, value
from bombay_env import Game, chance, engine, streams
from bombay_env.actions import CONSOLIDATE
from bombay_env.agent import lane_keys
from bombay_env.checks import number
from bombay_env.jit.kernels import kernel
from bombay_env.registry import described
from bombay_env.rules import NUM_COLOURS

CLOSE: Final = 1e-9  # values nearer than this to the best are tied with it
EFFORT: Final = 1e-6  # taken off the value of a move, so that ties go to staying


@described("all")
class GreedyAgent(RandomTurnAgent):
    """The legal action after which the scripted value is highest; ties are broken at random.

    Args:
        epsilon: the probability, from 0 to 1, with which it plays a whole turn as `random-turn` does; by default 0.
    """

    name = "greedy"
    weights = GreedyWeights()

    def __init__(self, epsilon: float = 0.0) -> None:
        super().__init__()
        self.epsilon = number(epsilon, "greedy: epsilon", 0, 1)

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64.

        Raises:
            OverflowError: with epsilon, a turn has too many states; see `turns.distinct_turns`.
        """
        if self.epsilon > 0:
            return super().act(game, states, rng)  # plans whole turns by `choose`
        records = game.check_states(states)
        return self._best(game, records, lane_keys(rng, len(records)))

    def _best(self, game: Game, records: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """The best action of each record, (batch,) int64; `keys` (batch,) uint64 break ties."""
        actions = np.empty(len(records), np.int64)
        trial = np.zeros(1, game.state_dtype)
        uniforms = (keys >> np.uint64(11)) * 2.0**-53  # in [0, 1)
        choose_all(records, game.legal_actions(records), game.tables, self.weights, uniforms, trial, actions)
        return actions

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Draw an outcome with probability epsilon. Otherwise choose greedily; the workspace then holds only that path."""
        if int(chance.random_word(key, streams.EPSILON, np.uint64(0))) < self.epsilon * 2.0**64:
            return super().choose(game, state, key)
        turn, node, restock_due = self.workspace, 0, False
        turn.states[0], turn.parent[0] = state, turns.NO_NODE
        while turn.states[node].current_player == state.current_player and not restock_due:
            after = turn.states[node : node + 1].copy()
            node += 1
            ties = chance.random_word(key, streams.EPSILON, np.uint64(node))
            action = self._best(game, after, np.array([ties], np.uint64))[0]
            restock_due = engine.apply(after[0], game.tables[0], action)
            turn.states[node], turn.parent[node], turn.action[node] = after[0], node - 1, action
        return node


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
