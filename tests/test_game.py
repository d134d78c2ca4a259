"""`Game` as DESIGN 4 has it, line by line: what goes in, what comes out, what is refused, and that nothing leaks between."""

import copy
import inspect
import itertools
import json
import math
import pickle
import random
from collections import Counter
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bombay_env import Board, Game, IllegalActionError, Rules
from bombay_env.state import check_invariants, new_records, state_dtype, state_from_dict, state_to_dict
from helpers.mutations import mutated
from helpers.position import COLOURS, official, play, position, setup_of, variant
from helpers.variants import random_game

SLOW = bool(numba.config.DISABLE_JIT)
GAME = official(4)
ENDS = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]  # seeds at the ends of their range
RESULT = ("rupees", "clients", "empire", "majority", "city_tokens", "fame", "final", "winners", "win_share")
each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])


def pick(game, states, rng):
    """A legal action in each lane, 0 where the game is over."""
    return (rng.random((len(states), game.num_actions)) * game.legal_actions(states)).argmax(axis=1)


def played(game=GAME, lanes=5, steps=40, seed=0):
    """Games some way in; lanes may be over."""
    rng = np.random.default_rng(seed)
    states = game.new_states(range(seed, seed + lanes))
    for _ in range(steps):
        game.step(states, pick(game, states, rng))
    return states


def finished(game=GAME, lanes=3, seed=0):
    """Games that are over."""
    rng = np.random.default_rng(seed)
    states = game.new_states(range(seed, seed + lanes))
    while not game.is_terminal(states).all():
        game.step(states, pick(game, states, rng))
    return states


def part_over(seed=0):
    """Three lanes of which the middle one is over."""
    states = played(lanes=3, seed=seed)
    states[1] = finished(lanes=1)[0]
    return states


def refusal(call, *words):
    """The message of the ValueError that `call` raises: one line, with all the words in it."""
    with pytest.raises(ValueError, match=r"\S") as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message
    return message


def plain(states):
    """The same memory as a plain structured array."""
    return states.view(np.ndarray).view(np.dtype(states.dtype.descr))


# --- names and shapes ---


def test_the_contract_in_one_go():
    game = Game(Rules.official(num_players=4), Board.load())
    states = game.new_states([7, 8])
    mask = game.legal_actions(states)
    game.step(states, mask.argmax(axis=1))
    obs = game.observe(states)
    assert (mask.shape, mask.dtype) == ((2, game.num_actions), np.bool_)
    assert (obs.shape, obs.dtype) == ((2, game.num_features), np.float32)
    assert (game.current_player(states).shape, game.current_player(states).dtype) == ((2,), np.int8)
    assert (game.is_terminal(states).shape, game.is_terminal(states).dtype) == ((2,), np.bool_)
    assert game.results(states).dtype.names == RESULT
    assert all(game.results(states)[name].shape == (2, 4) for name in RESULT)
    assert (game.scrub(states, [1, 2]).shape, game.scrub(states, [1, 2]).dtype) == ((2,), game.state_dtype)
    assert game.rules == Rules.official(4)
    assert game.board == Board.load()
    assert game.feature_layout.num_features == game.num_features


def test_parameters_go_by_the_names_of_the_contract():
    def names(function):
        return [name for name in inspect.signature(function).parameters if name != "self"]

    assert names(Game) == ["rules", "board"]
    assert names(GAME.new_states)[:2] == ["seeds", "setup"]
    assert names(GAME.step) == ["states", "actions", "restocks"]
    assert names(GAME.observe) == ["states", "seats", "screened", "out"]
    assert names(GAME.legal_actions) == ["states", "out"]
    assert names(GAME.scrub) == ["states", "seeds", "out"]
    assert names(GAME.restock_outcomes) == ["state"]


def test_a_game_without_arguments_is_the_official_one_for_four():
    assert Game() == Game(Rules.official(4), Board.load())


@pytest.mark.parametrize(
    ("arguments", "words"), [({"rules": 4}, ("rules", "Rules", "int")), ({"board": "x"}, ("board", "Board", "str"))]
)
def test_a_game_of_anything_else_is_refused(arguments, words):
    refusal(lambda: Game(**arguments), *words)


def test_actions_are_numbered_as_the_rules_page_lists_them():
    sites = [site.name for site in GAME.board.sites]
    names = [f"move:{site}" for site in sites] + ["buy"]
    names += [f"{kind}:{colour}" for kind in ("sell", "build", "take") for colour in COLOURS]
    names += ["consolidate", "end_turn"]
    assert GAME.num_actions == len(sites) + 15 == len(names)
    assert [GAME.action_name(number) for number in range(GAME.num_actions)] == names
    assert [GAME.action_index(name) for name in names] == list(range(GAME.num_actions))
    assert GAME.action_name(np.int8(3)) == names[3]


@pytest.mark.parametrize("number", [-1, GAME.num_actions, 2**70, 1.0, "buy", None, np.zeros(2, int)])
def test_what_is_no_action_number_has_no_name(number):
    refusal(lambda: GAME.action_name(number), "action")


@pytest.mark.parametrize("name", ["", "sell", "sell:green", "move:E9", "BUY", " buy", 3, None, ["buy"]])
def test_what_is_no_action_name_has_no_number(name):
    refusal(lambda: GAME.action_index(name), "action")


# --- seeds ---


@pytest.mark.parametrize(
    "seeds",
    [
        ENDS,
        tuple(ENDS),
        np.array(ENDS, np.uint64),
        np.array([ENDS, ENDS], np.uint64).T[:, 0],
        [np.uint64(seed) for seed in ENDS],
    ],
    ids=["list", "tuple", "array", "strided", "scalars"],
)
def test_seeds_may_be_any_64_bits_in_a_list_or_an_array(seeds):
    states = GAME.new_states(seeds)
    assert isinstance(states, np.recarray)
    assert (states.shape, states.dtype) == ((len(ENDS),), GAME.state_dtype)
    assert states["seed"].tolist() == ENDS
    assert states.seed.tolist() == ENDS
    assert len({state.tobytes()[8:] for state in states}) == len(ENDS)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, ">i4"])
def test_seeds_of_any_integer_type_are_the_same_seeds(dtype):
    assert GAME.new_states(np.arange(5, dtype=dtype)).tobytes() == GAME.new_states(range(5)).tobytes()


@pytest.mark.parametrize(
    "seeds",
    [
        [-1],
        [2**64],
        [1.0],
        ["1"],
        [None],
        [[1]],
        5,
        "12",
        None,
        {1: 2},
        np.array([-1]),
        np.array([1.0]),
        np.array([[1]]),
        np.array(1),
        np.array([1], object),
        np.array([True]),
    ],
    ids=repr,
)
def test_other_seeds_are_refused(seeds):
    refusal(lambda: GAME.new_states(seeds), "seed")
    refusal(lambda: GAME.scrub(GAME.new_states([1]), seeds), "seed")


def test_no_games_at_all_are_a_batch_too():
    states = GAME.new_states([])
    assert states.shape == (0,)
    assert GAME.legal_actions(states).shape == (0, GAME.num_actions)
    assert GAME.observe(states).shape == GAME.observe(states, seats=0).shape == (0, GAME.num_features)
    assert GAME.results(states).shape == GAME.is_terminal(states).shape == GAME.scrub(states, []).shape == (0,)
    assert GAME.step(states, []) is None


# --- masks and views ---


def test_mask_is_false_once_over_and_never_empty_before():
    mask = GAME.legal_actions(part_over())
    assert mask.any(axis=1).tolist() == [True, False, True]


def test_out_is_overwritten_and_returned():
    states = part_over()
    mask = np.ones((3, GAME.num_actions), np.bool_)
    assert GAME.legal_actions(states, out=mask) is mask
    assert (mask == GAME.legal_actions(states)).all()
    obs = np.full((3, GAME.num_features), np.nan, np.float32)
    assert GAME.observe(states, out=obs) is obs
    assert (obs == GAME.observe(states)).all()


def test_without_out_every_array_is_a_fresh_one():
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
def test_an_out_that_does_not_fit_is_refused_and_left_alone(method):
    states = played()
    call = getattr(GAME, method)
    right = call(states)
    frozen = right.copy()
    frozen.setflags(write=False)
    wrong = [
        right[:-1].copy(),
        right[:, :-1].copy(),
        right[0].copy(),
        right.astype(np.float64),
        right.astype(np.int8),
        np.asfortranarray(right),
        np.zeros((len(right), 2 * right.shape[1]), right.dtype)[:, ::2],
        frozen,
        right.tolist(),
        "out",
    ]
    for out in wrong:
        before = copy.deepcopy(out)
        refusal(lambda out=out: call(states, out=out), "out", str(right.shape))
        assert np.array_equal(np.asarray(out), np.asarray(before))


def test_observe_looks_through_the_movers_eyes_unless_told():
    states = part_over()
    movers = GAME.current_player(states)
    assert movers[1] == -1
    own = GAME.observe(states)
    assert (own == GAME.observe(states, seats=np.maximum(movers, 0))).all()
    for seat in range(4):
        assert (GAME.observe(states, seats=seat) == GAME.observe(states, seats=[seat] * 3)).all()
        assert (GAME.observe(states, seats=np.uint8(seat)) == GAME.observe(states, seats=seat)).all()
    assert (GAME.observe(states, seats=[2, 1, 0])[1] == GAME.observe(states, seats=1)[1]).all()
    assert (GAME.observe(states, seats=np.array([0, 9, 1, 9, 2])[::2]) == GAME.observe(states, seats=[0, 1, 2])).all()
    assert not (GAME.observe(states, seats=0) == GAME.observe(states, seats=1)).all()


@pytest.mark.parametrize(
    "seats", [-1, 4, [0, 1], [0, 1, 4], [0, 1, -1], 1.0, "0", True, [[0, 1, 2]], [[0], [1, 2]], 2**64], ids=repr
)
def test_other_seats_are_refused(seats):
    states = part_over()
    refusal(lambda: GAME.observe(states, seats=seats), "seats")


def test_observing_and_asking_change_nothing():
    states = part_over()
    before = states.tobytes()
    GAME.legal_actions(states)
    GAME.observe(states)
    GAME.observe(states, seats=1, screened=True)
    GAME.results(states)
    GAME.provisional_results(states)
    GAME.scrub(states, [1, 2, 3])
    GAME.restock_outcomes(states[0])
    assert states.tobytes() == before


# --- which arrays of states ---


def layouts(states):
    """The same states in every kind of array that may hold them."""
    wide = np.zeros((len(states), 3), states.dtype)
    wide[:, 1] = states
    nested = np.zeros(len(states), [("before", np.int8), ("state", states.dtype), ("after", np.int16)])
    nested["state"] = states
    return {
        "recarray": states.copy(),
        "plain": plain(states.copy()),
        "void": states.copy().view(np.ndarray),
        "column": wide[:, 1],
        "spread": np.repeat(states, 2)[::2],
        "backwards": states[::-1].copy()[::-1],
        "field": nested["state"],
        "fancy": states[list(range(len(states)))],
    }


@pytest.mark.parametrize("kind", list(layouts(GAME.new_states([1]))))
def test_any_array_of_states_will_do_and_is_stepped_in_place(kind):
    states = part_over()
    array = layouts(states)[kind]
    assert (GAME.legal_actions(array) == GAME.legal_actions(states)).all()
    assert (GAME.observe(array) == GAME.observe(states)).all()
    assert (GAME.current_player(array) == GAME.current_player(states)).all()
    assert (GAME.is_terminal(array) == GAME.is_terminal(states)).all()
    assert GAME.results(array).tobytes() == GAME.results(states).tobytes()
    assert isinstance(GAME.scrub(array, [1, 2, 3]), np.recarray)
    assert GAME.scrub(array, [1, 2, 3]).tobytes() == GAME.scrub(states, [1, 2, 3]).tobytes()
    actions = GAME.legal_actions(states).argmax(axis=1)
    GAME.step(array, actions)
    GAME.step(states, actions)
    assert array.tobytes() == states.tobytes()


def test_stepping_a_slice_moves_only_its_lanes():
    states = played(lanes=6)
    before = states.copy()
    GAME.step(states[1::2], GAME.legal_actions(states[1::2]).argmax(axis=1))
    assert states[::2].tobytes() == before[::2].tobytes()
    assert all(states[lane].tobytes() != before[lane].tobytes() for lane in (1, 3, 5))
    expected = before[1::2].copy()
    GAME.step(expected, GAME.legal_actions(expected).argmax(axis=1))
    assert states[1::2].tobytes() == expected.tobytes()


def test_a_forced_restock_reaches_a_slice_in_place():
    states = np.tile(position(GAME, player=3, turn=3), 4)
    GAME.step(states[::-2], [GAME.action_index("end_turn")] * 2, [[0, 0, 4, 5], [3, 4, 2, 0]])
    assert states["market"].sum(axis=1).tolist() == [[1, 2, 3, 3], [3, 4, 2, 0], [1, 2, 3, 3], [0, 0, 4, 5]]


def foreign():
    """What is no array of this game's states."""
    states = GAME.new_states([1, 2])
    swapped = states.astype(states.dtype.newbyteorder())
    fields = [field for field in states.dtype.descr if field[0] != "buys"]
    return {
        "list": states.tolist(),
        "records": list(states),
        "none": None,
        "number": 3,
        "floats": np.zeros(2),
        "bytes": states.view(np.uint8),
        "record": states[0],
        "matrix": states.reshape(2, 1),
        "nought": states[:1].reshape(()),
        "swapped": swapped,
        "fewer fields": np.zeros(2, fields),
        "zeroed": new_records(2, GAME.state_dtype),
        "three players": official(3).new_states([1, 2]),
        "one of three": np.concatenate([states, official(3).new_states([1])]),
        "larger board": new_records(2, state_dtype(GAME.board.num_sites + 1)),
        "results": GAME.results(states),
    }


@pytest.mark.parametrize("kind", list(foreign()))
def test_foreign_states_are_refused_by_every_method(kind):
    states = foreign()[kind]
    before = pickle.dumps(states)
    refusal(lambda: GAME.legal_actions(states), "states")
    refusal(lambda: GAME.step(states, [38, 38]), "states")
    refusal(lambda: GAME.observe(states), "states")
    refusal(lambda: GAME.current_player(states), "states")
    refusal(lambda: GAME.is_terminal(states), "states")
    refusal(lambda: GAME.results(states), "states")
    refusal(lambda: GAME.scrub(states, [1, 2]), "states")
    assert pickle.dumps(states) == before


def test_read_only_states_can_be_read_but_not_stepped():
    states = played()
    states.setflags(write=False)
    actions = GAME.legal_actions(states).argmax(axis=1)
    GAME.observe(states)
    before = states.tobytes()
    refusal(lambda: GAME.step(states, actions), "read-only")
    refusal(lambda: GAME.step(np.broadcast_to(states[:1], 3), actions[[0, 0, 0]]), "read-only")
    assert states.tobytes() == before


# --- playing ---


def test_finished_lanes_are_left_as_they_are_whatever_their_action():
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


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int64, np.uint8, np.uint64, ">i8", list])
def test_actions_of_any_integer_type_are_the_same_actions(dtype):
    states, expected = played(), played()
    actions = GAME.legal_actions(states).argmax(axis=1)
    GAME.step(expected, actions)
    GAME.step(states, actions.tolist() if dtype is list else actions.astype(dtype))
    assert states.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "number", [-1, -(2**63), GAME.num_actions, 2**31, 2**63 - 1, np.uint64(2**63), np.uint64(2**64 - 1), 35]
)
def test_an_illegal_action_names_its_lanes_and_changes_nothing(number):
    states = part_over()
    array = np.zeros(3, type(number) if isinstance(number, np.uint64) else np.int64)
    array[:] = GAME.legal_actions(states).argmax(axis=1)
    array[1] = number  # over: not looked at
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
    assert "end_turn" in message  # what would have been legal


def test_all_illegal_lanes_are_named():
    states = GAME.new_states(range(4))
    end, take = GAME.action_index("end_turn"), GAME.action_index("take:blue")
    with pytest.raises(IllegalActionError, match=r"take:blue.*2 more lanes") as caught:
        GAME.step(states, [take, end, take, take])
    assert caught.value.lanes == (0, 2, 3)
    with pytest.raises(IllegalActionError) as caught:
        GAME.step(states, [end, take, end, end], [[9, 9, 9, 9]] * 4)
    assert caught.value.lanes == (1,)
    assert states.tobytes() == GAME.new_states(range(4)).tobytes()


def test_an_illegal_action_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(IllegalActionError("lane 3: no", [3])))
    assert (str(error), error.lanes) == ("lane 3: no", (3,))
    assert IllegalActionError("no").lanes == ()


@pytest.mark.parametrize(
    "actions",
    [
        0,
        [0],
        [0] * 4,
        [[0, 0, 0]],
        [0.0] * 3,
        [True] * 3,
        ["buy"] * 3,
        [None] * 3,
        [0, [1, 2], 3],
        [2**64] * 3,
        None,
        "abc",
        np.zeros((3, 1), int),
    ],
    ids=repr,
)
def test_actions_of_another_shape_or_type_are_refused(actions):
    states = part_over()
    before = states.tobytes()
    refusal(lambda: GAME.step(states, actions), "actions", "(3,)")
    assert states.tobytes() == before


def test_a_mask_says_exactly_what_step_takes():
    for seed in range(4):
        states = played(lanes=1, steps=11 * seed, seed=seed)
        mask = GAME.legal_actions(states)[0]
        for action in range(-1, GAME.num_actions + 1):
            after = states.copy()
            if 0 <= action < GAME.num_actions and mask[action]:
                GAME.step(after, [action])
            else:
                with pytest.raises(IllegalActionError):
                    GAME.step(after, [action])
                assert after.tobytes() == states.tobytes()


@each_count
def test_a_batch_is_its_games_played_one_by_one_bit_for_bit(n):
    rng = random.Random(n)
    for _ in range(1 if SLOW else 8):
        game = Game(Rules(n, sets=2, turns_per_set=1)) if SLOW else random_game(rng, n)
        seeds = [rng.randrange(2**64) for _ in range(2 if SLOW else 4)]
        together, alone = game.new_states(seeds), [game.new_states([seed]) for seed in seeds]
        dice = np.random.default_rng(n)
        while not game.is_terminal(together).all():
            actions = pick(game, together, dice)
            for lane, single in enumerate(alone):
                assert together[lane].tobytes() == single.tobytes()
                assert (game.legal_actions(together)[lane] == game.legal_actions(single)[0]).all()
                assert (game.observe(together)[lane] == game.observe(single)[0]).all()
                game.step(single, actions[lane : lane + 1])
            game.step(together, actions)
        assert game.results(together).tobytes() == b"".join(game.results(single).tobytes() for single in alone)


# --- results ---


@each_count
def test_results_are_zero_while_a_game_runs(n):
    game = official(n)
    running, over = game.results(played(game, steps=20)), game.results(finished(game))
    assert not any(byte for byte in running.tobytes())
    assert all(over[name].shape == (3, n) for name in RESULT)
    assert over["winners"].any(axis=1).all()
    assert over["win_share"].sum(axis=1) == pytest.approx(1)
    assert (over["final"] == over["rupees"] + over["majority"] + over["fame"]).all()
    assert over["winners"].dtype == np.bool_
    assert isinstance(over, np.recarray)


def test_results_of_a_mixed_batch_are_each_lanes_own():
    states = part_over()
    results = GAME.results(states)
    assert not any(results[[0, 2]].tobytes())
    assert results[1].tobytes() == GAME.results(states[1:2]).tobytes()


def test_provisional_results_are_those_of_ending_now():
    over = finished()
    assert GAME.provisional_results(over).tobytes() == GAME.results(over).tobytes()
    states = played()
    provisional = GAME.provisional_results(states)
    assert (provisional["rupees"] == states["rupees"][:, :4]).all()
    assert (provisional["final"] == provisional["rupees"] + provisional["majority"] + provisional["fame"]).all()


# --- scrub ---


def test_scrub_gives_copies_that_differ_in_the_seed_alone():
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


def test_scrubbed_games_differ_only_from_the_next_restock_on():
    states = position(GAME, player=3, turn=3)
    many = GAME.scrub(np.repeat(states, 30), range(30))
    assert (GAME.observe(many) == GAME.observe(states)).all()
    assert (GAME.legal_actions(many) == GAME.legal_actions(states)).all()
    GAME.step(many, [GAME.action_index("end_turn")] * 30)
    assert len(set(map(bytes, many["market"]))) > 10


# --- chance that is given ---


def parts(game, states):
    """The set-up of the first state, as RULES 8 writes it."""
    facts = state_to_dict(states[0], game.rules, game.board)
    return {key: facts[key] for key in ("demand", "posts", "palace_tokens")}


@each_count
def test_any_deal_can_be_given_in_place_of_another(n):
    rng = random.Random(n)
    for _ in range(5 if SLOW else 20):
        game = random_game(rng, n)
        dealt, other = game.new_states([rng.randrange(2**64)]), game.new_states([99])
        setup = parts(game, dealt)
        again = json.dumps(setup)
        drawn = dealt["market"].sum(axis=1)
        forced = game.new_states([99], setup, drawn)
        assert json.dumps(setup) == again
        assert forced["seed"] == 99
        forced["seed"] = dealt["seed"]
        assert forced.tobytes() == dealt.tobytes()
        for key in setup:  # parts left out are drawn from the seed
            partly = parts(game, game.new_states([99], setup={key: setup[key]}))
            assert partly == parts(game, other) | {key: setup[key]}
        assert game.new_states([99], setup={}).tobytes() == other.tobytes()


def test_each_game_may_have_a_setup_of_its_own():
    dealt = GAME.new_states([1, 2])
    setups = [parts(GAME, dealt[lane : lane + 1]) for lane in (0, 1)]
    forced = GAME.new_states([8, 9], setup=setups)
    assert [parts(GAME, forced[lane : lane + 1]) for lane in (0, 1)] == setups
    one = GAME.new_states([8, 9], setup=setups[0])
    assert [parts(GAME, one[lane : lane + 1]) for lane in (0, 1)] == [setups[0]] * 2


def without(mapping, key):
    return {name: value for name, value in mapping.items() if name != key}


def swapped(mapping, key, value):
    return {**mapping, key: value}


SETUP = setup_of(GAME)
DEMAND, POSTS, TOKENS = SETUP["demand"], SETUP["posts"], SETUP["palace_tokens"]
WRONG_SETUPS = {
    "a number": 5,
    "a word": "demand",
    "a set": {1, 2},
    "too few": [SETUP],
    "too many": [SETUP] * 3,
    "a list of numbers": [1, 2],
    "an unknown key": SETUP | {"market": []},
    "demand: none": {"demand": None},
    "demand: a list": {"demand": list(DEMAND.values())},
    "demand: a city short": {"demand": without(DEMAND, "Indore")},
    "demand: a city too many": {"demand": swapped(DEMAND, "Delhi", DEMAND["Indore"])},
    "demand: another city": {"demand": swapped(without(DEMAND, "Indore"), "Delhi", DEMAND["Indore"])},
    "demand: a column twice": {"demand": swapped(DEMAND, "Indore", DEMAND["Bombay"])},
    "demand: upside down": {"demand": {city: column[::-1] for city, column in DEMAND.items()}},
    "demand: unknown colour": {"demand": swapped(DEMAND, "Indore", ["green", "blue", "orange"])},
    "demand: short column": {"demand": swapped(DEMAND, "Indore", DEMAND["Indore"][:2])},
    "demand: numbers": {"demand": dict.fromkeys(DEMAND, (0, 1, 2))},
    "demand: a word": {"demand": swapped(DEMAND, "Indore", "blue")},
    "demand: what looks like a column": {"demand": {city: str(tuple(column)) for city, column in DEMAND.items()}},
    "demand: nested": {"demand": {city: [list(column)] for city, column in DEMAND.items()}},
    "posts: none": {"posts": None},
    "posts: empty": {"posts": {}},
    "posts: a site short": {"posts": without(POSTS, "F1")},
    "posts: on a palace site": {"posts": swapped(without(POSTS, "F1"), "G1", POSTS["F1"])},
    "posts: an unknown site": {"posts": swapped(without(POSTS, "F1"), "F9", POSTS["F1"])},
    "posts: three of a colour": {"posts": swapped(POSTS, "F1", "blue")},
    "posts: unknown colour": {"posts": swapped(POSTS, "F1", "green")},
    "posts: a number": {"posts": swapped(POSTS, "F1", 0)},
    "posts: a list": {"posts": swapped(POSTS, "F1", ["yellow"])},
    "palace_tokens: none": {"palace_tokens": None},
    "palace_tokens: a site short": {"palace_tokens": without(TOKENS, "G1")},
    "palace_tokens: on a post site": {"palace_tokens": swapped(without(TOKENS, "G1"), "E1", "client")},
    "palace_tokens: three of a kind": {"palace_tokens": swapped(TOKENS, "G1", "bale")},
    "palace_tokens: unknown kind": {"palace_tokens": swapped(TOKENS, "G1", "camel")},
    "palace_tokens: nan": {"palace_tokens": swapped(TOKENS, "G1", float("nan"))},
}


@pytest.mark.parametrize("kind", WRONG_SETUPS)
def test_a_setup_that_chance_could_not_deal_is_refused(kind):
    key = kind.split(":")[0] if ":" in kind else ""
    refusal(lambda: GAME.new_states([1, 2], setup=WRONG_SETUPS[kind]), "setup", key)


def test_outer_posts_are_refused_where_the_rules_have_none():
    refusal(lambda: official(3).new_states([1], setup={"posts": POSTS}), "setup", "posts", "E1")
    inner = {site: colour for site, colour in POSTS.items() if site[0] == "E"}
    assert official(3).new_states([1], setup={"posts": inner})["post"].astype(bool).sum() == 4
    refusal(lambda: GAME.new_states([1], setup={"posts": inner}), "setup", "posts", "F1")


WRONG_DRAWS = {
    "too few": [[0, 0, 4, 4]],
    "too many": [[1, 2, 3, 4]],
    "more than there are": [[4, 0, 5, 0]],
    "negative": [[-1, 0, 5, 5]],
    "floats": [[0.0, 0.0, 4.0, 5.0]],
    "flat": [0, 0, 4, 5],
    "short": [[0, 4, 5]],
    "two rows": [[0, 0, 4, 5]] * 2,
    "ragged": [[0, 0, 4, 5], [1]],
    "words": [["0", "0", "4", "5"]],
    "empty": [],
    "a number": 9,
    "overflow": np.array([[2**64 - 1, 0, 5, 5]], np.uint64),
    "too large": [[2**64, 0, 4, 5]],
}


@pytest.mark.parametrize("kind", WRONG_DRAWS)
def test_a_restock_that_chance_could_not_draw_is_refused(kind):
    refusal(lambda: GAME.new_states([1], restocks=WRONG_DRAWS[kind]), "restocks")
    states = position(GAME, player=3, turn=3)
    before = states.tobytes()
    refusal(lambda: GAME.step(states, [GAME.action_index("end_turn")], WRONG_DRAWS[kind]), "restocks")
    assert states.tobytes() == before


def test_bales_on_elephants_cannot_be_drawn():
    states = position(GAME, player=3, turn=3, baskets={0: ["yellow", "yellow"], 1: ["yellow"]}, markets=[{}, {}, {}])
    end = [GAME.action_index("end_turn")]
    refusal(lambda: GAME.step(states, end, [[1, 4, 4, 0]]), "restocks[0]", "[0, 4, 5, 5]")
    GAME.step(states, end, [[0, 4, 5, 0]])
    assert states[0].market.tolist() == [[0, 0, 5, 0], [0, 4, 0, 0], [0, 0, 0, 0]]


def test_a_bag_with_fewer_bales_is_drawn_empty():
    carried = {seat: [colour, colour] for seat, colour in enumerate(["purple", "purple", "blue", "orange", "orange"])}
    game = official(5)
    states = position(game, player=4, turn=2, baskets=carried, markets=[{}, {}, {"blue": 1}])
    end = [game.action_index("end_turn")]
    refusal(lambda: game.step(states, end, [[3, 0, 3, 3]]), "restocks[0]", "7 bales")
    draws, chances = game.restock_outcomes(states)
    assert (draws.tolist(), chances.tolist()) == ([[3, 0, 3, 1]], [1.0])
    given_, drawn = states.copy(), states.copy()
    game.step(given_, end, draws)
    game.step(drawn, end)
    assert given_.tobytes() == drawn.tobytes()


@each_count
def test_giving_what_chance_would_draw_changes_nothing(n):
    """A whole game played twice; the second is told at each step what the first has drawn, with rubbish where none is due."""
    rng = random.Random(100 + n)
    game = random_game(rng, n)
    dice = np.random.default_rng(n)
    states = game.new_states([rng.randrange(2**64) for _ in range(3)])
    told = states.copy()
    while not game.is_terminal(states).all():
        actions, before = pick(game, states, dice), states["set"].copy()
        game.step(states, actions)
        ended = (states["set"] != before) & ~game.is_terminal(states)
        restocks = np.where(ended[:, None], states["market"].sum(axis=1), -7)
        game.step(told, actions, restocks)
        assert told.tobytes() == states.tobytes()


def test_one_wrong_restock_among_many_changes_nothing_at_all():
    states = np.concatenate([position(GAME, player=3, turn=3), position(GAME), position(GAME, player=3, turn=3)])
    before = states.tobytes()
    end = [GAME.action_index("end_turn")] * 3
    refusal(lambda: GAME.step(states, end, [[0, 0, 4, 5], [9, 9, 9, 9], [9, 0, 0, 0]]), "restocks[2]")
    assert states.tobytes() == before
    GAME.step(states, end, [[0, 0, 4, 5], [9, 9, 9, 9], [1, 1, 3, 4]])
    assert states["market"].sum(axis=1).tolist() == [[0, 0, 4, 5], [1, 2, 3, 3], [1, 1, 3, 4]]


@pytest.mark.parametrize(
    ("draw", "markets"),
    [
        ((3, 3, 2, 1), [[3, 3, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]),
        ((3, 2, 2, 2), [[3, 0, 0, 0], [0, 2, 2, 2], [0, 0, 0, 0]]),
        ((0, 4, 0, 5), [[0, 0, 0, 5], [0, 4, 0, 0], [0, 0, 0, 0]]),
        ((2, 1, 5, 1), [[0, 0, 5, 0], [2, 0, 0, 0], [0, 1, 0, 1]]),
    ],
)
def test_a_given_restock_is_sorted_into_the_markets(draw, markets):
    assert GAME.new_states([1], restocks=[draw])[0].market.tolist() == markets
    assert play(GAME, position(GAME, player=3, turn=3), "end_turn", restock=draw)[0].market.tolist() == markets


# --- every draw and its probability ---


def brute_force_draws(held, count):
    """Every set of bales told apart, counted by colour."""
    bales = [colour for colour, number in enumerate(held) for _ in range(number)]
    outcomes = Counter(
        tuple(chosen.count(colour) for colour in range(4)) for chosen in itertools.combinations(bales, count)
    )
    total = math.comb(len(bales), count)
    return {draw: Fraction(ways, total) for draw, ways in outcomes.items()}


@pytest.mark.parametrize(
    ("bales", "draw", "basket"),
    [
        ((3, 4, 5, 5), 9, []),
        ((3, 4, 5, 5), 9, ["yellow", "blue"]),
        ((2, 0, 1, 3), 4, []),
        ((1, 1, 1, 1), 4, ["orange"]),
        ((0, 0, 0, 7), 3, ["orange", "orange"]),
    ],
)
def test_restock_outcomes_are_every_draw_with_its_exact_probability(bales, draw, basket):
    game = variant(2, bales=bales, restock_draw=draw)
    states = game.new_states([3])
    states["market"] = 0  # in the bag once the set ends, wherever they lie now
    states["basket"][0, 0] = [basket.count(colour) for colour in COLOURS]
    draws, chances = game.restock_outcomes(states[0])
    held = [count - basket.count(colour) for count, colour in zip(bales, COLOURS, strict=True)]
    expected = brute_force_draws(held, min(draw, sum(held)))
    assert (draws.dtype, chances.dtype) == (np.int64, np.float64)
    assert draws.tolist() == sorted(map(list, expected))
    assert chances.tolist() == [float(expected[tuple(outcome)]) for outcome in draws.tolist()]
    assert math.fsum(chances) == pytest.approx(1, abs=1e-12)


def test_restock_outcomes_are_exactly_what_a_step_accepts():
    states = position(GAME, player=3, turn=3, baskets={0: ["yellow", "yellow"], 2: ["blue"]})
    draws, _ = GAME.restock_outcomes(states)
    possible = set(map(tuple, draws.tolist()))
    end = [GAME.action_index("end_turn")]
    every = [draw for draw in itertools.product(range(4), range(5), range(6), range(6)) if sum(draw) == 9]
    assert possible < set(every)
    for draw in every:
        after = states.copy()
        if draw in possible:
            GAME.step(after, end, [draw])
            assert after[0].market.sum(axis=0).tolist() == list(draw)
        else:
            refusal(lambda after=after, draw=draw: GAME.step(after, end, [draw]), "restocks[0]")


def test_restock_outcomes_take_a_record_or_an_array_of_one():
    states = played(lanes=2)
    expected = GAME.restock_outcomes(states[:1])
    forms = [states[0], plain(states)[0], plain(states)[:1], states[:1].reshape(()), np.asarray(states)[0]]
    for state in forms:
        assert all((one == other).all() for one, other in zip(GAME.restock_outcomes(state), expected, strict=True))


def test_no_restock_follows_the_last_set():
    for states in (position(GAME, set=3), finished(lanes=1)):
        draws, chances = GAME.restock_outcomes(states)
        assert (draws.shape, chances.shape) == ((0, 4), (0,))


@pytest.mark.parametrize("kind", [kind for kind in foreign() if kind not in ("record", "nought")])
def test_restock_outcomes_of_anything_else_are_refused(kind):
    refusal(lambda: GAME.restock_outcomes(foreign()[kind]), "state")


def test_restock_outcomes_of_a_foreign_record_are_refused():
    refusal(lambda: GAME.restock_outcomes(official(3).new_states([1])[0]), "states")
    refusal(lambda: GAME.restock_outcomes(GAME.results(GAME.new_states([1]))[0]), "states")
    refusal(lambda: GAME.restock_outcomes(new_records(1, state_dtype(25))[0]), "states")


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
        assert (twin.observe(states) == game.observe(states)).all()  # states of one are states of the other


def test_the_tables_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        GAME.tables["toll"] = 9


# --- the state record ---


@pytest.mark.parametrize("num_sites", [21, 24, 30, 64])
def test_the_state_has_no_padding(num_sites):
    dtype = state_dtype(num_sites)
    assert dtype.itemsize == sum(dtype[name].itemsize for name in dtype.names)
    ends = [dtype.fields[name][1] + dtype[name].itemsize for name in dtype.names]
    assert [0, *ends[:-1]] == [dtype.fields[name][1] for name in dtype.names]


def test_equal_states_are_equal_bytes():
    """The same position reached on two ways: E1 before G1, and the other way round."""
    rng = np.random.default_rng(5)
    seen = {}
    for seed in range(5 if SLOW else 40):
        states = official(2).new_states([11])
        for _ in range(6):
            official(2).step(states, pick(official(2), states, rng))
            key = json.dumps(state_to_dict(states[0], official(2).rules, official(2).board))
            assert seen.setdefault(key, states.tobytes()) == states.tobytes(), seed
    assert len(seen) < 6 * (5 if SLOW else 40)


def test_a_state_survives_bytes_files_and_pickles(tmp_path):
    states = part_over()
    assert np.frombuffer(states.tobytes(), GAME.state_dtype).tobytes() == states.tobytes()
    np.save(tmp_path / "states.npy", plain(states))
    loaded = np.load(tmp_path / "states.npy")
    assert (GAME.legal_actions(loaded) == GAME.legal_actions(states)).all()
    for twin in (pickle.loads(pickle.dumps(states)), copy.deepcopy(states), states.copy()):
        assert isinstance(twin, np.recarray)
        GAME.step(twin, GAME.legal_actions(states).argmax(axis=1))
    assert states.tobytes() == part_over().tobytes()


def test_seats_that_do_not_play_stay_zero():
    states = finished(official(2))
    for name in GAME.state_dtype.names:
        if states[name].shape[1:2] == (5,):
            assert not states[name][:, 2:].any(), name


@each_count
def test_a_state_and_its_json_are_the_same_at_every_step(n):
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
            assert described["bag"] == bag_of(game, described)
            if game.is_terminal(states)[0]:
                break
            game.step(states, pick(game, states, dice))


def bag_of(game, facts):
    out = np.sum(facts["markets"], axis=0) + np.sum(facts["basket"], axis=0)
    return (np.array(game.rules.bales) - out).tolist()


def sample_facts():
    """Facts of states of all kinds: dealt, under way, with a `take` pending, over; official rules and variants."""
    games = [official(2), official(5), random_game(random.Random(8), 3), variant(3, client_supply=None, basket=1)]
    samples = []
    for game in games:
        states = [played(game, lanes=1, steps=steps, seed=steps) for steps in (0, 9, 30)] + [finished(game, lanes=1)]
        samples += [(game, state_to_dict(state[0], game.rules, game.board)) for state in states]
    game = official(2)
    token = next(site for site, kind in setup_of(game)["palace_tokens"].items() if kind == "bale")
    taking = play(game, position(game, at=token, basket=["blue"]), "build:blue")
    assert taking["take_pending"] == 1
    return [*samples, (game, state_to_dict(taking[0], game.rules, game.board))]


SAMPLES = sample_facts()
TEXTS = ["", "E1", "F2", "G3", "Indore", "Bombay", "blue", "client", "seed", "over", "1"]


@settings(max_examples=60 if SLOW else 300, deadline=None)
@given(st.data())
def test_a_broken_state_is_refused_and_any_other_can_be_played_on(data):
    game, facts = data.draw(st.sampled_from(SAMPLES))
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


@pytest.mark.parametrize("data", [None, 3, [], "state", {}, {"seed": 1}], ids=repr)
def test_what_is_no_object_of_a_state_is_refused(data):
    refusal(lambda: state_from_dict(data, GAME.rules, GAME.board), "state")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("city_palace_tokens", [100, 0, 0, 0]),  # would look beyond the fame awards
        ("client_palace_tokens", [1, 0, 0, 0]),  # kept without a palace
        ("rupees", [2**31 - 1, 2, 2, 2]),  # would overflow
        ("rupees", [2.5, 2, 2, 2]),
        ("rupees", [float("nan"), 2, 2, 2]),
        ("rupees", [-1, 2, 2, 2]),
        ("seed", -1),
        ("seed", 2**64),
        ("seed", 1.5),
        ("seed", "7"),
        ("current_player", 4),
        ("current_player", -1),
        ("current_player", -2),
        ("actions_left", 0),
        ("actions_left", 4),
        ("take_pending", True),  # with a full basket below
        ("over", True),
        ("bag", [9, 9, 9, 9]),
        ("open_posts", []),
        ("position", ["A", "A", "A", "Delhi"]),
        ("position", ["A", "A", "A"]),
        ("palaces", {"Bombay": 0}),
        ("palaces", {"C9": 0}),
        ("client_supply", None),
        ("client_supply", 15),
        ("city_piles", {"Bombay": 3}),
        ("markets", 0),
        ("demand", {"Bombay": ["blue", "blue", "blue"]}),
    ],
    ids=repr,
)
def test_a_state_that_no_game_comes_to_is_refused(key, value):
    states = position(GAME, basket=["blue", "blue"])
    facts = state_to_dict(states[0], GAME.rules, GAME.board)
    assert state_from_dict(facts, GAME.rules, GAME.board).tobytes() == states.tobytes()
    refusal(lambda: state_from_dict(facts | {key: value}, GAME.rules, GAME.board))


@pytest.mark.parametrize("name", [name for name in GAME.state_dtype.names if GAME.state_dtype[name].shape[:1] == (5,)])
def test_things_of_a_seat_that_does_not_play_are_found(name):
    states = position(official(2))
    states[name][0, 3] = 1
    refusal(lambda: check_invariants(states[0], official(2).rules, official(2).board), "the state is impossible")


def test_a_state_of_other_rules_or_another_board_is_refused():
    facts = state_to_dict(position(GAME)[0], GAME.rules, GAME.board)
    refusal(lambda: state_from_dict(facts, Rules.official(3), GAME.board))
    refusal(lambda: state_from_dict(facts, Rules(4, client_supply=3), GAME.board))
    refusal(lambda: state_from_dict(facts, Rules(4, bales=(3, 1, 5, 5)), GAME.board))
    other = json.loads(json.dumps(GAME.board.to_dict()).replace('"Indore"', '"Delhi"'))
    refusal(lambda: state_from_dict(facts, GAME.rules, Board.from_dict(other)))
