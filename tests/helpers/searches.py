"""Games and positions that the tests of searches share."""

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search import flat_mc, last_round
from bombay_agents.search.flat_mc import FlatMonteCarloAgent
from helpers.nets import SHORT, SLOW
from helpers.position import official, variant


class Even:
    """An evaluator in Python: all seats are worth the same."""

    def __init__(self, worth: float = 0.5):
        self.worth = worth

    def values(self, game, states):
        return np.full((len(states), game.num_players), self.worth)


def short_game(n=2):
    """The official game; with the compiler off, one of short turns."""
    return variant(n, **SHORT) if SLOW else official(n)


def midgame(game, turns_played=5, agent=None, seed=7):
    """A position after some turns of an agent, by default of `planner-v1`, (1,)."""
    states, agent, rng = game.new_states([seed]), agent or PlannerAgent(), np.random.default_rng(seed)
    for _ in range(turns_played):
        states = after_turn(game, states, agent, rng)
    return states


def valued_turn(game, state):
    """The outcomes of a turn with the planner's values, in new memory, by a kernel that `flat-mc` needs too."""
    agent = FlatMonteCarloAgent(rollouts=1)
    agent.prepare(game)
    turns.check_count(flat_mc.propose(state, game.tables[0], agent.root, agent.search, 2))
    return agent.root


def without_seeds(states):
    """A copy as agents see it in `choose`: (1,) plain records, the seeds zeroed."""
    records = np.array(states).view(states.dtype, np.ndarray)
    records["seed"] = 0
    return records


def after_turn(game, states, agent, rng=None):
    """The state after the agent's turn, played decision by decision."""
    after = states.copy()
    left = last_round.turns_left(states[0], game.tables[0])
    while last_round.turns_left(after[0], game.tables[0]) == left:
        actions = agent.act(game, after, np.random.default_rng(0) if rng is None else rng)
        assert game.legal_actions(after)[0, actions[0]]
        game.step(after, actions)
    return after
