"""The values that searches give to positions, and rollouts."""

import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.scripted import evaluator as scripted_evaluator
from bombay_agents.scripted import greedy, planner
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_agents.search import evaluation, rollouts
from bombay_env import batch
from helpers.position import official, position, variant
from helpers.searches import SHORT, SLOW, after_turn, midgame, planner_evaluator, short_game, without_seeds

DUE = np.int64(turns.TURN_OVER)


# --- Values of positions ---


@pytest.mark.parametrize("n", [2, 5] if SLOW else [2, 3, 4, 5])
def test_shares_sum_to_one_and_are_the_results_after_the_game(n):
    game = variant(n, **SHORT)
    agent = planner.make_planner_v1()
    evaluator = planner_evaluator(game)
    shares = np.full(5, 7.0)
    states = game.new_states([n])
    while not game.is_terminal(states)[0]:
        evaluation.evaluate(states[0], DUE, game.tables[0], evaluator, shares)
        assert shares[:n].sum() == pytest.approx(1)
        assert shares[:n].min() > 0
        assert shares[n:].tolist() == [7.0] * (5 - n)
        states = after_turn(game, states, agent)
    evaluation.evaluate(states[0], DUE, game.tables[0], evaluator, shares)
    assert shares[:n].tolist() == game.results(states)["win_share"][0].tolist()


def test_a_lead_in_rupees_is_worth_more_late_in_the_game():
    game = official(3)
    evaluator, worth = planner_evaluator(game), []
    for set, rupees in ((0, [2, 2, 2]), (0, [2, 9, 2]), (2, [2, 9, 2])):
        shares = np.zeros(5)
        state = position(game, set=set, player=set, turn=4, rupees=rupees)[0]
        evaluation.evaluate(state, DUE, game.tables[0], evaluator, shares)
        worth.append(shares[1])
    assert worth == sorted(worth)
    assert worth[2] > worth[0] + 0.1


class Offers:
    """An agent from outside the package that values positions by what it is given."""

    name = "offers"

    def __init__(self, make):
        self.evaluator = make

    def act(self, game, states, rng):
        raise NotImplementedError


def test_any_agent_that_offers_an_evaluator_values_positions():
    game, shares = official(3), np.zeros((2, 5))
    state = position(game, rupees=[2, 9, 2], palaces={"H1": 0})[0]
    weights = WEIGHTS_V1[3]._replace(traffic=5.0)
    own = Offers(lambda game: scripted_evaluator.new_evaluator(game, weights))
    for row, agent in enumerate((planner.make_planner_v1(), own)):
        chosen = evaluation.position_evaluator(agent, "search")
        assert evaluation.evaluate(state, DUE, game.tables[0], evaluation.new_evaluator(game, chosen), shares[row])
    assert shares.sum(axis=1) == pytest.approx(1)
    assert np.abs(shares[0] - shares[1]).max() > 0.001
    with pytest.raises(
        ValueError, match=r"^the evaluator of 'offers' has the type int; it must be a ScriptedEvaluator or a Net"
    ):
        evaluation.new_evaluator(game, Offers(lambda game: 3))
    with pytest.raises(
        ValueError, match=r"^search: 'greedy' values no positions; take one that does, such as planner$"
    ):
        evaluation.position_evaluator(GreedyAgent(), "search")


# --- Rollouts ---


def test_a_rollout_ends_with_the_game_and_depends_on_its_key():
    game = variant(2, **SHORT)
    workspace = rollouts.new_workspace(game, planner.new_workspace(game), planner_evaluator(game), 100)
    start = game.new_states([3])
    found = []
    for key in (11, 11, *range(12, 14 if SLOW else 30)):
        workspace.state[0] = start[0]
        rollouts.rollout(game.tables[0], workspace, np.uint64(key), np.int8(turns.TURN_OVER))
        assert workspace.state["current_player"][0] == -1
        assert workspace.shares[:2].sum() == pytest.approx(1)
        found.append(workspace.state[0].tobytes())
    assert found[0] == found[1]
    assert len(set(found)) > 1


def test_a_rollout_without_restocks_ends_with_the_set():
    game = variant(2, **SHORT)
    evaluator = planner_evaluator(game)
    workspace = rollouts.new_workspace(game, planner.new_workspace(game), evaluator, 100, restock=False)
    workspace.state[0] = game.new_states([3])[0]
    rollouts.rollout(game.tables[0], workspace, np.uint64(1), np.int8(turns.TURN_OVER))
    ended, shares = workspace.state[0].copy(), workspace.shares.copy()
    assert ended["set"] == 1
    assert ended["turn"] == 0
    assert not ended["market"].any(), "nothing was drawn"
    rollouts.rollout(game.tables[0], workspace, np.uint64(2), np.int8(turns.RESTOCK_DUE))
    assert workspace.state[0]["set"] == 1
    assert not workspace.state[0]["market"].any()
    assert (workspace.shares == shares).all(), "evaluated as it is"
    workspace.state[0] = ended
    through = workspace._replace(restock=True)
    rollouts.rollout(game.tables[0], through, np.uint64(2), np.int8(turns.RESTOCK_DUE))
    assert through.state["current_player"][0] == -1


def test_rollouts_by_greedy_take_the_turns_that_greedy_takes():
    game, agent = short_game(), GreedyAgent()
    workspace = rollouts.new_workspace(game, planner.new_workspace(game), planner_evaluator(game), 1, policy="greedy")
    restocks = several = 0
    for number in (0, 3) if SLOW else range(12):
        start = without_seeds(midgame(game, number))
        drawn = set()
        for key in range(4 if SLOW else 40):
            played = start.copy()
            due = greedy.play_turn(played, game.tables[0], workspace.greedy, np.uint64(key), 0)
            assert due in (turns.TURN_OVER, turns.RESTOCK_DUE)
            restocks += due == turns.RESTOCK_DUE
            if due == turns.RESTOCK_DUE:
                batch.restock(played[0], game.tables[0], np.zeros(4, np.int64))
            drawn.add(played.tobytes())
        taken = {
            without_seeds(after_turn(game, start, agent, np.random.default_rng(seed)))[0].tobytes()
            for seed in range(8 if SLOW else 120)
        }
        assert drawn <= taken
        several += len(drawn) > 1
    assert SLOW or (restocks and several)


def test_a_rollout_by_greedy_ends_with_the_game_and_depends_on_its_key():
    game, found = variant(2, **SHORT), []
    workspace = rollouts.new_workspace(game, planner.new_workspace(game), planner_evaluator(game), 100, policy="greedy")
    for key in (11, 11, *range(12, 14 if SLOW else 30)):
        workspace.state[0] = game.new_states([3])[0]
        assert rollouts.rollout(game.tables[0], workspace, np.uint64(key), np.int8(turns.TURN_OVER))
        assert workspace.state["current_player"][0] == -1
        found.append(workspace.state[0].tobytes())
    assert found[0] == found[1]
    assert len(set(found)) > 1


def test_a_low_temperature_draws_the_best_turn_and_a_high_one_any():
    game = official(2)
    workspace = planner.new_workspace(game)
    count = planner.value_turn(midgame(game, 2)[0], game.tables[0], WEIGHTS_V1[2], workspace)
    over = np.flatnonzero(workspace.turn.due[:count])
    drawn = {}
    for temperature in (1e-9, 1e9):
        drawn[temperature] = [
            rollouts.draw_outcome(workspace, count, temperature, np.uint64(3), turn) for turn in range(2_000)
        ]
    assert len({rollouts.draw_outcome(workspace, count, 1e9, np.uint64(key), 0) for key in range(20)}) > 5
    best = workspace.values[over].max()
    assert (workspace.values[drawn[1e-9]] == best).all()
    assert set(drawn[1e9]) == set(over)
