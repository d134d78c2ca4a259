"""`Game`: its names and shapes, seeds, and games as values."""

import copy
import pickle
import random

import numpy as np
import pytest

from bombay_env import Board, Game, Rules
from helpers.game_states import ENDS, GAME, RESULT, played
from helpers.position import COLOURS, each_count
from helpers.refusal import refusal
from helpers.variants import random_game

# --- names and shapes ---


def test_the_whole_interface_in_one_game():
    game = Game(Rules.official(num_players=4), Board.load())
    assert game == Game()
    states = game.new_states([7, 8])
    mask = game.legal_actions(states)
    game.step(states, mask.argmax(axis=1))
    for found, shape, dtype in (
        (mask, (2, game.num_actions), np.bool_),
        (game.observe(states), (2, game.num_features), np.float32),
        (game.current_player(states), (2,), np.int8),
        (game.is_terminal(states), (2,), np.bool_),
        (game.scrub(states, [1, 2]), (2,), game.state_dtype),
    ):
        assert (found.shape, found.dtype) == (shape, dtype)
    assert game.results(states).dtype.names == RESULT
    assert all(game.results(states)[name].shape == (2, 4) for name in RESULT)
    assert (game.rules, game.board) == (Rules.official(4), Board.load())
    assert game.feature_layout.num_features == game.num_features


@pytest.mark.parametrize(
    ("arguments", "words"), [({"rules": 4}, ("rules", "Rules", "int")), ({"board": "x"}, ("board", "Board", "str"))]
)
def test_other_arguments_of_game_are_rejected(arguments, words):
    refusal(lambda: Game(**arguments), *words)


def test_actions_are_numbered_as_in_rules_7():
    sites = [site.name for site in GAME.board.sites]
    names = [f"move:{site}" for site in sites] + ["buy"]
    names += [f"{kind}:{colour}" for kind in ("sell", "build", "take") for colour in COLOURS]
    names += ["consolidate", "end_turn"]
    assert GAME.num_actions == len(sites) + 15 == len(names)
    assert [GAME.action_name(number) for number in range(GAME.num_actions)] == names
    assert [GAME.action_index(name) for name in names] == list(range(GAME.num_actions))
    assert GAME.action_name(np.int8(3)) == names[3]


def test_a_wrong_action_number_has_no_name_and_a_wrong_name_no_number():
    for number in (-1, GAME.num_actions, 2**70, 1.0, "buy"):
        refusal(lambda number=number: GAME.action_name(number), "action")
    for name in ("", "sell", "sell:green", "BUY", " buy", 3, ["buy"]):
        refusal(lambda name=name: GAME.action_index(name), "action")


# --- seeds ---


def test_seeds_may_be_any_64_bits_in_a_list_or_an_array():
    for seeds in (tuple(ENDS), np.array([ENDS, ENDS], np.uint64).T[:, 0], [np.uint64(seed) for seed in ENDS]):
        states = GAME.new_states(seeds)
        assert isinstance(states, np.recarray)
        assert (states.shape, states.dtype) == ((len(ENDS),), GAME.state_dtype)
        assert states["seed"].tolist() == states.seed.tolist() == ENDS
        assert len({state.tobytes()[8:] for state in states}) == len(ENDS)
    for dtype in (np.int8, np.int64, ">i4"):
        assert GAME.new_states(np.arange(5, dtype=dtype)).tobytes() == GAME.new_states(range(5)).tobytes()


@pytest.mark.parametrize(
    "seeds",
    [[-1], [2**64], [1.0], ["1"], [[1]], 5, "12", None, np.array([-1]), np.array(1), np.array([1.0]), np.array([True])],
    ids=repr,
)
def test_other_seeds_are_rejected(seeds):
    refusal(lambda: GAME.new_states(seeds), "seed")
    refusal(lambda: GAME.scrub(GAME.new_states([1]), seeds), "seed")


def test_a_batch_may_be_empty():
    states = GAME.new_states([])
    assert states.shape == (0,)
    assert GAME.legal_actions(states).shape == (0, GAME.num_actions)
    assert GAME.observe(states).shape == GAME.observe(states, seats=0).shape == (0, GAME.num_features)
    assert GAME.results(states).shape == GAME.is_terminal(states).shape == GAME.scrub(states, []).shape == (0,)
    assert GAME.step(states, []) is None


# --- games as values ---


def test_equal_games_are_interchangeable():
    one, other = Game(Rules.official(3)), Game(Rules.official(3), Board.load())
    assert one == other
    assert hash(one) == hash(other)
    assert one != Game(Rules.official(2))
    assert one != Game(Rules.official(3), Board.random(1))
    assert one != "Game"
    assert Game(Rules.official(2)) != Game(Rules(2, client_supply=None))


@each_count
def test_copied_and_pickled_games_are_equal_and_play_alike(n):
    game = random_game(random.Random(n), n)
    states = played(game, steps=15)
    for twin in (copy.copy(game), copy.deepcopy(game), pickle.loads(pickle.dumps(game))):
        assert twin == game
        assert hash(twin) == hash(game)
        assert repr(twin) == repr(game)
        assert played(twin, steps=15).tobytes() == states.tobytes()
        assert (twin.observe(states) == game.observe(states)).all()  # the states of one game are valid in the other


def test_the_tables_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        GAME.tables["toll"] = 9
