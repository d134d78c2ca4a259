"""`Game`: its names and shapes, seeds, arrays, steps, results, scrubbed copies, and games as values."""

import copy
import pickle
import random

import numpy as np
import pytest

from bombay_env import Board, Game, IllegalActionError, Rules
from helpers.game_states import ENDS, GAME, RESULT, finished, foreign, part_over, plain, played
from helpers.position import COLOURS, each_count, position
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


# --- masks and observations ---


def test_out_is_overwritten_and_returned():
    states = part_over()
    mask = np.ones((3, GAME.num_actions), np.bool_)
    assert GAME.legal_actions(states, out=mask) is mask
    assert (mask == GAME.legal_actions(states)).all()
    obs = np.full((3, GAME.num_features), np.nan, np.float32)
    assert GAME.observe(states, out=obs) is obs
    assert (obs == GAME.observe(states)).all()


def test_without_out_every_array_is_new():
    states = played()
    for make in (GAME.legal_actions, GAME.observe, GAME.current_player, GAME.is_terminal):
        first, before = make(states), states.tobytes()
        again = first.copy()
        first[:] = 0
        assert states.tobytes() == before
        assert (make(states) == again).all()
    results = GAME.results(states)
    results["final"] = 99
    assert not GAME.results(states)["final"].any()


@pytest.mark.parametrize("method", ["legal_actions", "observe"])
def test_a_wrong_out_is_rejected_and_unchanged(method):
    states = played()
    call = getattr(GAME, method)
    right = call(states)
    frozen, spread = right.copy(), np.zeros((len(right), 2 * right.shape[1]), right.dtype)[:, ::2]
    frozen.setflags(write=False)
    for out in (right[:-1].copy(), right.astype(np.float64), np.asfortranarray(right), spread, frozen, right.tolist()):
        before = copy.deepcopy(out)
        refusal(lambda out=out: call(states, out=out), "out", str(right.shape))
        assert np.array_equal(np.asarray(out), np.asarray(before))


def test_observe_uses_the_seat_to_act_by_default():
    states = part_over()
    movers = GAME.current_player(states)
    assert movers[1] == -1
    assert (GAME.observe(states) == GAME.observe(states, seats=np.maximum(movers, 0))).all()
    by_seat = [GAME.observe(states, seats=seat) for seat in range(4)]
    for seat, seen in enumerate(by_seat):
        for same in ([seat] * 3, np.uint8(seat), np.repeat([seat, 9], 3)[:3]):
            assert (GAME.observe(states, seats=same) == seen).all()
    assert (GAME.observe(states, seats=np.array([2, 9, 1, 9, 0])[::2])[1] == by_seat[1][1]).all()
    assert not (by_seat[0] == by_seat[1]).all()


@pytest.mark.parametrize(
    "seats", [-1, 4, [0, 1], [0, 1, 4], 1.0, "0", True, [[0, 1, 2]], [[0], [1, 2]], 2**64], ids=repr
)
def test_other_seats_are_rejected(seats):
    states = part_over()
    refusal(lambda: GAME.observe(states, seats=seats), "seats")


# --- arrays of states ---


def scrubbed(states):
    return GAME.scrub(states, [1, 2, 3])


def layouts(states):
    """The same states in several kinds of array that are allowed."""
    wide = np.zeros((len(states), 3), states.dtype)
    wide[:, 1] = states
    nested = np.zeros(len(states), [("before", np.int8), ("state", states.dtype), ("after", np.int16)])
    nested["state"] = states
    kinds = {"plain": plain(states.copy()), "column": wide[:, 1], "field": nested["state"]}
    return kinds | {"backwards": states[::-1].copy()[::-1]}


@pytest.mark.parametrize("kind", ["plain", "column", "backwards", "field"])
def test_any_array_of_states_is_stepped_in_place(kind):
    states = part_over()
    array, before = layouts(states)[kind], states.tobytes()
    queries = (GAME.legal_actions, GAME.observe, GAME.current_player, GAME.is_terminal, GAME.results, scrubbed)
    for query in (*queries, GAME.provisional_results, lambda states: GAME.observe(states, seats=1, screened=True)):
        assert query(array).tobytes() == query(states).tobytes()
    GAME.restock_outcomes(states[0])
    assert array.tobytes() == states.tobytes() == before, "queries change nothing"
    assert isinstance(scrubbed(array), np.recarray)
    actions = GAME.legal_actions(states).argmax(axis=1)
    GAME.step(array, actions)
    GAME.step(states, actions)
    assert array.tobytes() == states.tobytes()


def test_a_forced_restock_reaches_a_slice_in_place():
    states = np.tile(position(GAME, player=3, turn=3), 4)
    GAME.step(states[::-2], [GAME.action_index("end_turn")] * 2, [[0, 0, 4, 5], [3, 4, 2, 0]])
    assert states["market"].sum(axis=1).tolist() == [[1, 2, 3, 3], [3, 4, 2, 0], [1, 2, 3, 3], [0, 0, 4, 5]]


@pytest.mark.parametrize(
    "call",
    [
        GAME.legal_actions,
        GAME.observe,
        GAME.current_player,
        GAME.is_terminal,
        GAME.results,
        lambda states: GAME.scrub(states, [1, 2]),
        lambda states: GAME.step(states, [38, 38]),
    ],
)
def test_foreign_states_are_rejected_by_every_method(call):
    for states in foreign().values():
        before = pickle.dumps(states)
        refusal(lambda states=states: call(states), "states")
        assert pickle.dumps(states) == before


def test_read_only_states_can_be_read_but_not_stepped():
    states = played()
    states.setflags(write=False)
    actions = GAME.legal_actions(states).argmax(axis=1)
    before = states.tobytes()
    GAME.observe(states)
    refusal(lambda: GAME.step(states, actions), "read-only")
    refusal(lambda: GAME.step(np.broadcast_to(states[:1], 3), actions[[0, 0, 0]]), "read-only")
    assert states.tobytes() == before


# --- playing ---


def test_finished_games_do_not_change():
    states = part_over()
    actions = GAME.legal_actions(states).argmax(axis=1)
    for rubbish in (0, -1, GAME.num_actions, 2**62):
        actions[1] = rubbish
        after = states.copy()
        GAME.step(after, actions)
        assert after[1].tobytes() == states[1].tobytes()
        assert after[0].tobytes() != states[0].tobytes()
    over = finished()
    before = over.tobytes()
    GAME.step(over, [0, 0, 0], [[9, 9, 9, 9]] * 3)
    assert over.tobytes() == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, ">i8", list])
def test_actions_of_any_integer_type_are_the_same_actions(dtype):
    states, expected = played(), played()
    actions = GAME.legal_actions(states).argmax(axis=1)
    GAME.step(expected, actions)
    GAME.step(states, actions.tolist() if dtype is list else actions.astype(dtype))
    assert states.tobytes() == expected.tobytes()


@pytest.mark.parametrize("number", [-1, GAME.num_actions, 2**63 - 1, np.uint64(2**64 - 1), 35])
def test_an_illegal_action_error_names_its_lanes_and_changes_nothing(number):
    states = part_over()
    array = np.zeros(3, type(number) if isinstance(number, np.uint64) else np.int64)
    array[:] = GAME.legal_actions(states).argmax(axis=1)
    array[1] = number  # this game is over, so its action is ignored
    array[2] = number
    before = states.tobytes()
    with pytest.raises(IllegalActionError) as caught:
        GAME.step(states, array)
    assert isinstance(caught.value, ValueError)
    assert caught.value.lanes == (2,)
    assert states.tobytes() == before
    message = str(caught.value)
    assert "\n" not in message
    assert "lane 2" in message
    assert f"seat {GAME.current_player(states)[2]}" in message
    assert "end_turn" in message  # the message lists the legal actions


def test_all_illegal_lanes_are_named():
    states = GAME.new_states(range(4))
    end, take = GAME.action_index("end_turn"), GAME.action_index("take:blue")
    for actions, restocks, lanes in (
        ([take, end, take, take], None, (0, 2, 3)),
        ([end, take, end, end], [[9, 9, 9, 9]] * 4, (1,)),  # before the restocks, which are wrong, too
    ):
        with pytest.raises(IllegalActionError, match=r"take:blue" + ".*2 more lanes" * (len(lanes) == 3)) as caught:
            GAME.step(states, actions, restocks)
        assert caught.value.lanes == lanes
    assert states.tobytes() == GAME.new_states(range(4)).tobytes()


def test_an_illegal_action_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(IllegalActionError("lane 3: no", [3])))
    assert (str(error), error.lanes) == ("lane 3: no", (3,))
    assert IllegalActionError("no").lanes == ()


@pytest.mark.parametrize(
    "actions",
    [0, [0] * 4, [0.0] * 3, [True] * 3, ["buy"] * 3, [0, [1, 2], 3], [2**64] * 3, None, np.zeros((3, 1), int)],
    ids=repr,
)
def test_actions_of_another_shape_or_type_are_rejected(actions):
    states = part_over()
    before = states.tobytes()
    refusal(lambda: GAME.step(states, actions), "actions", "(3,)")
    assert states.tobytes() == before


# --- results ---


def test_results_are_zero_for_the_running_games_of_a_batch():
    states = part_over()
    results = GAME.results(states)
    assert isinstance(results, np.recarray)
    assert not any(results[[0, 2]].tobytes())
    over = results[1:2]
    assert over.tobytes() == GAME.results(states[1:2]).tobytes()
    assert all(over[name].shape == (1, 4) for name in RESULT)
    assert over["winners"].dtype == np.bool_
    assert over["winners"].any()
    assert over["win_share"].sum() == pytest.approx(1)
    assert (over["final"] == over["rupees"] + over["majority"] + over["fame"]).all()


def test_provisional_results_are_results_as_if_the_game_ended_now():
    over = finished()
    assert GAME.provisional_results(over).tobytes() == GAME.results(over).tobytes()
    states = played()
    provisional = GAME.provisional_results(states)
    assert (provisional["rupees"] == states["rupees"][:, :4]).all()
    assert (provisional["final"] == provisional["rupees"] + provisional["majority"] + provisional["fame"]).all()


# --- scrub ---


def test_scrub_returns_copies_that_differ_only_in_the_seed():
    states = part_over()
    before = states.tobytes()
    scrubbed = GAME.scrub(states, [5, 2**64 - 1, 0])
    assert scrubbed["seed"].tolist() == [5, 2**64 - 1, 0]
    scrubbed["rupees"] += 1
    assert states.tobytes() == before
    scrubbed["rupees"] -= 1
    scrubbed["seed"] = states["seed"]
    assert scrubbed.tobytes() == before
    refusal(lambda: GAME.scrub(states, [1, 2]), "seeds", "2", "3")


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
