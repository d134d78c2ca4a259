"""`Game`: steps, illegal actions, results and scrubbed copies."""

import pickle

import numpy as np
import pytest

from bombay_env import IllegalActionError
from helpers.game_states import GAME, RESULT, finished, part_over, played
from helpers.refusal import refusal

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


def test_step_accepts_exactly_the_actions_of_the_mask():
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
