"""`Game`: the arrays that it takes and returns."""

import copy
import pickle

import numpy as np
import pytest

from helpers.game_states import GAME, foreign, part_over, plain, played
from helpers.position import position
from helpers.refusal import refusal

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


def test_queries_do_not_change_states():
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
    array = layouts(states)[kind]
    for query in (GAME.legal_actions, GAME.observe, GAME.current_player, GAME.is_terminal, GAME.results, scrubbed):
        assert query(array).tobytes() == query(states).tobytes()
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
