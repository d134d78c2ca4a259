"""Bombay in OpenSpiel: its own checks and search run, chance has the right outcomes, and positions are the engine's."""

import copy
import json
import math
import pickle
import unittest
from importlib import resources
from math import factorial

import numpy as np
import pytest

from bombay_env import Game, Rules

pytest.importorskip("pyspiel", reason="needs the extra `trainers`")

import openspiel_mcts
import pyspiel
from open_spiel.integration_tests import api_test
from open_spiel.python import observation

from bombay_training.evaluation import arena
from bombay_training.matches.statistics import share_with_interval
from bombay_training.openspiel import BombayGame
from helpers.position import each_count
from helpers.refusal import refusal


def load(n=4, **parameters):
    return pyspiel.load_game("python_bombay", {"players": n, **parameters})


def dealt(game, states):
    """The state whose deal and first restock are those of (1,) states."""
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.outcome_to(states))
    return state


@each_count
def test_the_game_passes_openspiels_random_simulations(n, capfd):
    pyspiel.random_sim_test(load(n), 2, True, False)


@each_count
def test_every_sequence_of_draws_has_the_probability_of_the_rules(n):
    """The deal is uniform over arrangements: 4! columns, posts of equal colours and palace tokens of equal kinds."""
    rules, state, ways = Rules.official(n), load(n).new_initial_state(), []
    rng = np.random.default_rng(n)
    while state.is_chance_node():
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        assert sum(chances) == pytest.approx(1)
        drawn = rng.choice(len(outcomes))
        ways.append(chances[drawn])
        state.apply_action(outcomes[drawn])
    posts = 8 if rules.outer_posts else 4
    arrangements = factorial(4) * factorial(posts) / factorial(posts // 4) ** 4
    arrangements *= factorial(8) / math.prod(map(factorial, rules.palace_tokens))
    assert math.prod(ways[:-1]) == pytest.approx(1 / arrangements)


def test_a_restock_has_the_outcomes_and_probabilities_of_the_engine():
    game, carried = load(5), []
    for seed in range(3):
        target, rng = game.game.new_states([seed]), np.random.default_rng(seed)
        state = dealt(game, target)
        while not state.is_terminal():
            action = int(rng.choice(state.legal_actions()))
            state.apply_action(action)
            game.game.step(target, [action])
            if state.is_chance_node():
                before = target.copy()  # as it was when the set ended, as far as the restock goes
                before["set"] -= 1
                draws, chances = game.game.restock_outcomes(before)
                assert state.chance_outcomes() == list(enumerate(chances.tolist()))
                assert (state.restocks[0] == draws).all()
                assert state._action_to_string(-1, 0) == "restock:" + ",".join(map(str, draws[0]))
                state.apply_action(state.outcome_to(target))
                carried.append(int(target["basket"].sum()))
    assert len(carried) == 3 * (game.game.rules.sets - 1)
    assert max(carried) > 0


def test_rules_and_board_are_those_of_a_file_or_of_an_object(tmp_path, monkeypatch):
    path, board = tmp_path / "rules, 1.json", tmp_path / "board.toml"
    packaged = resources.files("bombay_env").joinpath("data", "reconstruction.toml").read_text()
    board.write_text(packaged.replace("reconstruction", "mine"))
    monkeypatch.chdir(tmp_path)
    for changes in ({"sets": 1, "turns_per_set": 1}, {"bales": [1, 2, 3, 4], "restock_draw": 10}):
        expected = Rules(2, **{name: tuple(v) if type(v) is list else v for name, v in changes.items()})
        for rules in (json.dumps(changes, indent=1), str(path)):
            path.write_text(json.dumps(changes))
            game = load(2, rules=rules, board="board.toml")
            assert (game.game.rules, game.game.board.name) == (expected, "mine")
            path.unlink()  # the rules are in its parameters and its string
            monkeypatch.chdir("/")
            by_name = pyspiel.load_game(str(game))
            assert by_name.game == pyspiel.load_game("python_bombay", game.get_parameters()).game == game.game
            monkeypatch.chdir(tmp_path)
            state = pickle.loads(pickle.dumps(dealt(by_name, by_name.game.new_states([1]))))
            assert state.to_dict() == dealt(game, game.game.new_states([1])).to_dict()
            pyspiel.random_sim_test(game, 1, True, False)


def test_declared_bounds_hold_of_the_deal_and_of_margins():
    game = load(3, rules='{"restock_draw": 17}', reward="margin")
    assert game.max_chance_outcomes() == 4  # of the deal; one draw is possible in a restock
    pyspiel.random_sim_test(game, 1, True, False)
    assert 1 < game.max_utility() == -game.min_utility() < 30


def test_states_that_are_not_one_of_the_game_are_refused():
    game, other = load(4), load(2)
    for states, words in (
        (game.game.new_states(range(2)), "2 games; OpenSpiel plays one"),
        (other.game.new_states([1]), "num_players is 2; it must be 4"),
    ):
        with pytest.raises(ValueError, match=words):
            game.state_at(states)
        with pytest.raises(ValueError, match=words):
            game.new_initial_state().outcome_to(states)


def test_what_openspiel_asks_beside_the_game_is_answered():
    game = load(2)
    state = dealt(game, game.game.new_states([1]))
    assert state.action_to_string(-1, 5) == "outcome:5"
    first = game.new_initial_state()
    assert [first.action_to_string(-1, outcome) for outcome in (-1, 50)] == ["outcome:-1", "outcome:50"]
    nothing = game.make_py_observer(pyspiel.IIGObservationType(public_info=False, perfect_recall=False))
    assert (nothing.string_from(state, 1), nothing.tensor.size, nothing.dict) == ("", 0, {})
    for player in (-1, 2):
        with pytest.raises(ValueError, match=f"player is {player}; it must be a whole number from 0 to 1"):
            nothing.set_from(state, player)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"players": 3, "rules": '{"fee": 2}'}, "unknown field 'fee'"),
        ({"players": 3, "rules": '{"fee": 2'}, "rules"),
        ({"players": 6}, "players is 6; it must be a whole number from 2 to 5"),
        ({"playrs": 3}, "no parameter 'playrs'; there are players, reward, rules, board"),
        ({"reward": "gold"}, "reward is 'gold'; it must be one of"),
        ({"rules": {"toll": 2}}, "rules is {'toll': 2}; it must be a string"),
    ],
)
def test_a_parameter_that_is_not_allowed_is_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        BombayGame(parameters)


def test_the_tensors_show_the_view_and_with_perfect_recall_the_history():
    game = load(3)
    states = game.game.new_states([9])
    state = dealt(game, states)
    first = state.legal_actions()[0]
    state.apply_action(first)
    game.game.step(states, [first])
    for seat in range(3):
        view = np.append(np.eye(3)[seat], game.game.observe(states, seats=seat)[0])
        assert (np.array(state.observation_tensor(seat)) == view).all()
        assert (np.array(state.information_state_tensor(seat))[: len(view)] == view).all()
        assert state.information_state_string(seat) == state.history_str()
        assert state.observation_string(seat) == str(state)
        assert "seed" not in str(state)
    observer = observation.make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
    observer.set_from(state, 0)
    history = observer.dict["history"] * max(game.num_distinct_actions(), game.max_chance_outcomes()) - 1
    assert np.rint(history[: len(state.history())]).tolist() == state.history()
    assert (history[len(state.history()) :] == -1).all()


def test_a_state_at_a_record_continues_from_there():
    game = load(4)
    states = game.game.new_states([8])
    state = game.state_at(states)
    assert state.legal_actions() == np.flatnonzero(game.game.legal_actions(states)[0]).tolist()
    assert state.current_player() == game.game.current_player(states)[0]
    others = [game.state_at(game.game.new_states([seed])).information_state_string(0) for seed in (8, 9)]
    assert others[0] == state.information_state_string(0) != others[1]


@pytest.mark.parametrize("n", [2, 5])
def test_the_game_passes_openspiels_tests_of_its_interface(n):
    """Those for games with too many positions to visit all of them."""

    class Tests(api_test.EnforceAPIOnPartialTreeBase):
        game_name, game = "python_bombay", load(n)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)
    assert result.testsRun == 5
    assert result.wasSuccessful(), result.failures + result.errors


def test_the_script_prints_an_interval(capsys):
    openspiel_mcts.main(simulations=2, players=2, blocks=2)
    assert "win share against random: " in capsys.readouterr().out


@pytest.mark.slow
def test_openspiels_mcts_beats_random():
    match = arena.one_vs_rest(Game(), openspiel_mcts.MCTSAgent(4, 50), "random", blocks=20, seed=1)
    assert share_with_interval(match).low > 0.25


def test_states_that_a_chance_node_does_not_lead_to_are_refused():
    game = load(3)
    wrong, target, rng = game.game.new_states([1]), game.game.new_states([7]), np.random.default_rng(1)
    wrong["demand"] = 0
    with pytest.raises(ValueError, match="none of 4 outcomes of this chance node leads to these states"):
        game.new_initial_state().outcome_to(wrong)
    state, begun = dealt(game, target), target.copy()
    with pytest.raises(ValueError, match="this is not a chance node"):
        state.outcome_to(target)
    while not state.is_chance_node():
        action = int(rng.choice(state.legal_actions()))
        state.apply_action(action)
        game.game.step(target, [action])
    assert state.to_dict()["current_player"] == -1
    for node, other in ((state, begun), (game.new_initial_state(), target)):  # of the first set, and at an earlier node
        with pytest.raises(ValueError, match="outcomes of this chance node leads to these states"):
            node.outcome_to(other)
    state.apply_action(state.outcome_to(target))
    assert str(state) == str(game.state_at(target))


def test_copies_of_the_game_and_of_states_go_on():
    game = load(3)
    for copied in (copy.copy(game), copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        assert str(copied) == str(game)
        assert copied.new_initial_state().chance_outcomes() == game.new_initial_state().chance_outcomes()
    state = dealt(game, game.game.new_states([3]))
    before, serialized = str(state), game.deserialize_state(state.serialize())
    for copied in (state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state)), serialized):
        assert str(copied) == before
        copied.apply_action(copied.legal_actions()[0])
        assert before == str(state) != str(copied)


def test_an_illegal_action_raises_openspiels_error():
    game = load(3)
    state = dealt(game, game.game.new_states([3]))
    message = refusal(lambda: state.apply_action(game.game.action_index("buy")), "is illegal", error=pyspiel.SpielError)
    assert "lane" not in message
    refusal(lambda: game.new_initial_state().apply_action(4), "outcome 4 is impossible", error=pyspiel.SpielError)
    refusal(lambda: load(7), "players is 7; it must be a whole number from 2 to 5")


def test_a_state_is_told_as_json_and_as_a_struct():
    game = load(2)
    assert json.loads(game.new_initial_state().to_json()) == {"deal": []}
    state = dealt(game, game.game.new_states([3]))
    facts = json.loads(state.to_json())
    assert "seed" not in facts
    assert facts["rupees"] == [2, 2]
    assert json.loads(state.to_struct().to_json()) == state.to_dict() == facts
