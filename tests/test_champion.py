"""`champion`: rivals in its tree take the planner's turn in a part of the simulations; else it is a wider `zero-search`."""

import numba
import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.scripted import planner
from bombay_agents.search import champion
from bombay_agents.search.champion import ChampionAgent
from bombay_agents.search.zero_agent import ZeroSearchAgent
from bombay_env.state import NOBODY
from test_zero_net import TABLES, random_net, starts_of_turns

SLOW = numba.config.DISABLE_JIT  # evaluating a turn then takes a while
NODES = 12 if SLOW else 300


def searched(game, state, model_share):
    """The tree of a champion after it searched from a state."""
    agent = ChampionAgent(ZeroAgent(random_net(game)), nodes=NODES, model_share=model_share)
    agent.act(game, state.reshape(1), np.random.default_rng(0))
    return agent.search.tree


@pytest.mark.parametrize("n", [2] if SLOW else [2, 4])
def test_rivals_are_expected_to_play_as_the_planner_does(n):
    game = TABLES[n - 2]
    workspace, weights = planner.new_workspace(game), planner.WEIGHTS_V1[n]
    compared = 0
    for state in starts_of_turns(game, 1 if SLOW else 4, 7):
        tree = searched(game, state, 0.5)
        for edge in range(tree.num_edges[0]):
            child, after = int(tree.edge_child[edge]), tree.edge_states[edge]
            over = after["current_player"] == NOBODY
            if over or child < 0 or tree.edge_due[edge] == turns.RESTOCK_DUE or tree.expected[child] < 0:
                continue
            assert tree.mover[child] != tree.mover[0]
            best = planner.plan_turn(after, game.tables[0], weights, workspace)
            planned = workspace.turn.states[best].copy()
            found = tree.edge_states[tree.expected[child]]
            assert found.tobytes() == planned.tobytes()
            compared += 1
    assert compared > 0


def test_expected_turns_get_their_part_of_the_simulations_and_the_mover_has_none():
    game = TABLES[1]
    tree = searched(game, starts_of_turns(game, 1, 3)[0], 0.5)
    followed = 0
    for node in range(tree.count[0]):
        if tree.mover[node] == tree.mover[0]:
            assert tree.expected[node] < 0
        elif tree.expected[node] >= 0 and tree.visits[node] > 2:
            assert tree.edge_visits[tree.expected[node]] >= (tree.visits[node] - 1) // 2
            followed += 1
    assert SLOW or followed > 0


def test_without_a_model_it_is_zero_search():
    game = TABLES[0]
    player, states = ZeroAgent(random_net(game)), starts_of_turns(game, 2 if SLOW else 8, 5)
    params = {"exploration": champion.EXPLORATION, "temperature": champion.TEMPERATURE}
    agents = ChampionAgent(player, nodes=NODES, model_share=0.0), ZeroSearchAgent(player, nodes=NODES, **params)
    ours, theirs = (
        [agent.act(game, state.reshape(1), np.random.default_rng(1))[0] for state in states] for agent in agents
    )
    assert ours == theirs


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("champion:model_share=1.5", r"^champion: model_share is 1.5; it must be from 0 to 1$"),
        ("champion:ms=5,nodes=5", r"^champion takes ms or nodes, not both$"),
        ("champion:nodes=0", r"^champion: nodes is 0; it must be a whole number from 1 to 1000000$"),
        ("champion:value=[td]", r"^champion: 'td' has no net of zero; take one that has, such as zero$"),
    ],
)
def test_numbers_out_of_range_are_refused(spec, reason):
    with pytest.raises(ValueError, match=reason):
        make(spec)


@pytest.mark.parametrize("n", [2] if SLOW else [2, 4])
def test_the_best_turns_are_those_that_it_compares_with_the_one_it_plays_first(n):
    game = TABLES[n - 2]
    for state in starts_of_turns(game, 1 if SLOW else 3, 9).reshape(-1, 1):
        agent = ChampionAgent(ZeroAgent(random_net(game)), nodes=NODES)
        found = agent.best_turns(game, state, np.random.default_rng(3), most=4)
        assert found[0].actions[0] == agent.act(game, state, np.random.default_rng(3))[0]
        assert 1 < len(found) <= 4
        visits = [turn.visits for turn in found[1:]]
        assert visits == sorted(visits, reverse=True)
        assert found[0].visits >= visits[0] > 0
        for turn in found:
            assert turn.win_share.shape == turn.margin.shape == (n,)
            assert turn.win_share.sum() == pytest.approx(1, abs=1e-5)
            assert turn.margin.sum() == pytest.approx(0, abs=1e-4)
            after = state.copy()
            after["seed"] = 0
            for action in turn.actions[:-1]:
                game.step(after, [action])
                assert after["current_player"] == state["current_player"]
            game.step(after, [turn.actions[-1]])
            assert after["current_player"] == turn.state["current_player"]
            assert after["rupees"].tolist() == turn.state["rupees"].tolist()


def test_a_game_that_is_over_has_no_best_turns():
    game = TABLES[0]
    state = game.new_states([1])
    game.rollout(state, [1])
    with pytest.raises(ValueError, match="the game is over"):
        ChampionAgent(ZeroAgent(random_net(game)), nodes=1).best_turns(game, state, np.random.default_rng(0))
