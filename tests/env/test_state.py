"""The state record: its bytes, its JSON form, and the invalid states that are rejected."""

import copy
import json
import pickle
import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bombay_env import Board, Rules
from bombay_env.state import check_invariants, state_from_dict, state_to_dict
from helpers.game_states import GAME, SLOW, finished, part_over, pick, plain, played
from helpers.mutations import mutated
from helpers.position import each_count, official, play, position, setup_of, variant
from helpers.refusal import refusal
from helpers.variants import random_game

# --- the state record ---


def test_equal_states_are_equal_bytes():
    """Different actions of one game often reach the same position."""
    rng = np.random.default_rng(5)
    seen = {}
    for seed in range(5 if SLOW else 40):
        states = official(2).new_states([11])
        for _ in range(6):
            official(2).step(states, pick(official(2), states, rng))
            key = json.dumps(state_to_dict(states[0], official(2).rules, official(2).board))
            assert seen.setdefault(key, states.tobytes()) == states.tobytes(), seed
    assert len(seen) < 6 * (5 if SLOW else 40)


def test_a_state_can_be_saved_as_bytes_files_and_pickles(tmp_path):
    states = part_over()
    assert np.frombuffer(states.tobytes(), GAME.state_dtype).tobytes() == states.tobytes()
    np.save(tmp_path / "states.npy", plain(states))
    loaded = np.load(tmp_path / "states.npy")
    assert (GAME.legal_actions(loaded) == GAME.legal_actions(states)).all()
    for twin in (pickle.loads(pickle.dumps(states)), copy.deepcopy(states), states.copy()):
        assert isinstance(twin, np.recarray)
        GAME.step(twin, GAME.legal_actions(states).argmax(axis=1))
    assert states.tobytes() == part_over().tobytes()


@each_count
def test_a_state_equals_its_json_form_at_every_step(n):
    rng = random.Random(n)
    for _ in range(2 if SLOW else 6):
        game = random_game(rng, n)
        states = game.new_states([rng.randrange(2**64)])
        dice = np.random.default_rng(rng.randrange(2**32))
        while True:
            described = state_to_dict(states[0], game.rules, game.board)
            text = json.dumps(described, allow_nan=False)
            again = state_from_dict(json.loads(text), game.rules, game.board)
            assert isinstance(again, np.recarray)
            assert again.dtype == game.state_dtype
            assert again.tobytes() == states.tobytes()
            if game.is_terminal(states)[0]:
                break
            game.step(states, pick(game, states, dice))


@cache
def samples():
    """The facts of different states: dealt, running, with a `take` pending, over; official rules and variants."""
    games = [official(2), official(5), random_game(random.Random(8), 3), variant(3, client_supply=None, basket=1)]
    found = []
    for game in games:
        states = [played(game, lanes=1, steps=steps, seed=steps) for steps in (0, 9, 30)] + [finished(game, lanes=1)]
        found += [(game, state_to_dict(state[0], game.rules, game.board)) for state in states]
    game = official(2)
    token = next(site for site, kind in setup_of(game)["palace_tokens"].items() if kind == "bale")
    taking = play(game, position(game, at=token, basket=["blue"]), "build:blue")
    assert taking["take_pending"] == 1
    return [*found, (game, state_to_dict(taking[0], game.rules, game.board))]


TEXTS = ["", "E1", "F2", "G3", "Indore", "Bombay", "blue", "client", "seed", "over", "1"]


@pytest.mark.filterwarnings("ignore:NumPy will stop allowing conversion of out-of-bound:DeprecationWarning")  # NumPy 1
@settings(max_examples=60 if SLOW else 300, deadline=None)
@given(st.data())
def test_a_damaged_state_is_rejected_or_can_be_played(data):
    game, facts = data.draw(st.sampled_from(samples()))
    broken = mutated(data, facts, TEXTS)
    states = refused = None
    try:
        states = state_from_dict(broken, game.rules, game.board)
    except ValueError as error:
        refused = str(error)
    if states is None:
        assert "\n" not in refused
        return
    assert state_to_dict(states[0], game.rules, game.board) == broken
    game.observe(states)
    game.provisional_results(states)
    for action in np.flatnonzero(game.legal_actions(states)[0]):
        after = states.copy()
        game.step(after, [action])
        check_invariants(after[0], game.rules, game.board)


def test_a_malformed_state_is_rejected():
    for data in (None, [], {"seed": 1}):
        refusal(lambda data=data: state_from_dict(data, GAME.rules, GAME.board), "state")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("city_palace_tokens", [100, 0, 0, 0]),  # an index beyond the end of the fame awards
        ("client_palace_tokens", [1, 0, 0, 0]),  # a palace token without a palace
        ("rupees", [2**31 - 1, 2, 2, 2]),  # would overflow
        ("rupees", [2.0, 2, 2, 2]),
        ("rupees", [float("nan"), 2, 2, 2]),
        ("rupees", [-1, 2, 2, 2]),
        ("buys", False),
        ("seed", 2**64),
        ("seed", "7"),
        ("current_player", -1),
        ("actions_left", 4),
        ("take_pending", True),  # the test below fills the basket
        ("over", True),
        ("bag", [9, 9, 9, 9]),
        ("open_posts", []),
        ("position", ["A", "A", "A", "Delhi"]),
        ("position", ["A", "A", "A"]),
        ("palaces", {"Bombay": 0}),
        ("client_supply", 15),
        ("markets", 0),
        ("demand", {"Bombay": ["blue", "blue", "blue"]}),
    ],
    ids=repr,
)
def test_an_impossible_state_is_rejected(key, value):
    states = position(GAME, basket=["blue", "blue"])
    facts = state_to_dict(states[0], GAME.rules, GAME.board)
    assert state_from_dict(facts, GAME.rules, GAME.board).tobytes() == states.tobytes()
    refusal(lambda: state_from_dict(facts | {key: value}, GAME.rules, GAME.board))


@pytest.mark.parametrize("name", [name for name in GAME.state_dtype.names if GAME.state_dtype[name].shape[:1] == (5,)])
def test_nonzero_fields_of_an_unused_seat_are_rejected(name):
    states = position(official(2))
    states[name][0, 3] = 1
    refusal(lambda: check_invariants(states[0], official(2).rules, official(2).board), "the state is impossible")


def test_a_state_of_other_rules_or_another_board_is_rejected():
    facts = state_to_dict(position(GAME)[0], GAME.rules, GAME.board)
    refusal(lambda: state_from_dict(facts, Rules.official(3), GAME.board))
    refusal(lambda: state_from_dict(facts, Rules(4, bales=(3, 1, 5, 5)), GAME.board))
    other = json.loads(json.dumps(GAME.board.to_dict()).replace('"Indore"', '"Delhi"'))
    refusal(lambda: state_from_dict(facts, GAME.rules, Board.from_dict(other)))
