"""The PettingZoo environment: resets, records, copies and drawings."""

import copy
import json
import pickle

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from bombay_env import Rules, bombay_v0
from bombay_env.envs import aec
from bombay_env.record import Record, RecordError
from helpers.aec_envs import SHORT, act, ended, make, run, snapshot, started
from helpers.position import each_count, setup_of
from helpers.refusal import refusal

# --- reset ---


def dealt(env, **arguments):
    env.reset(**arguments)
    return int(env.game_state["seed"][0])


def test_a_seed_determines_the_deal_and_is_in_the_record():
    env = make(short=False)
    for seed in (0, 7, 2**64 - 1, np.int64(3), np.uint64(2**64 - 1)):
        env.reset(seed=seed)
        assert env.game_state.tobytes() == env.game.new_states([int(seed)]).tobytes()
        assert env.record()["seed"] == int(seed)
        assert type(env.record()["seed"]) is int


def test_resets_without_a_seed_continue_the_stream_of_the_last_seed():
    one, other = make(), make()
    first, again = [dealt(one, seed=5)], [dealt(other, seed=5)]
    run(other)  # the course of the game does not matter
    for env, deals in ((one, first), (other, again)):
        deals += [dealt(env), dealt(env), dealt(env)]
    assert first == again
    assert len(set(first)) == 4
    assert [dealt(one, seed=6), dealt(one)] != first[:2]
    assert [dealt(one, seed=5), dealt(one), one.record()["seed"]] == [5, first[1], first[1]]
    assert dealt(make()) != dealt(make())


def test_a_setup_can_be_given():
    env = make(4)
    setup = setup_of(env.game)
    env.reset(seed=5, options={"setup": setup})
    assert env.game_state.tobytes() == env.game.new_states([5], setup=setup).tobytes()
    assert env.record()["seed"] is None  # chance was given
    for _ in range(2):
        record = Record.from_dict(json.loads(json.dumps(env.record())))
        assert record.verify().tobytes()[8:] == env.game_state.tobytes()[8:]
        run(env)


def test_unknown_and_empty_options_are_ignored():
    env = make()
    env.reset(seed=4, options={"camels": 3, "setup": None, "record": None})
    assert env.game_state.tobytes() == env.game.new_states([4]).tobytes()
    assert env.record()["seed"] == 4


# --- records ---


@each_count
def test_a_running_game_has_a_record_at_every_step(n):
    env = make(n)
    env.reset(seed=n)
    rng = np.random.default_rng(n)
    while True:
        record = env.record()
        read = Record.from_dict(json.loads(json.dumps(record)))
        assert read.verify().tobytes() == env.game_state.tobytes()
        assert read.to_dict() == record
        assert record["agents"] == env.possible_agents
        if any(env.terminations.values()):
            assert record["result"]["final"] == env.game.results(env.game_state)[0]["final"].tolist()
            break
        assert record["result"] is None
        act(env, rng)


@pytest.mark.parametrize("form", ["json", "Record"])
def test_a_record_can_be_continued(form):
    env = started(3, steps=9)
    record = env.record()
    record = json.loads(json.dumps(record)) if form == "json" else Record.from_dict(record)
    other = make(3)
    other.reset(options={"record": record})
    assert other.game_state.tobytes() == env.game_state.tobytes()
    assert snapshot(other) == snapshot(env)
    assert run(other, seed=4) == run(env, seed=4)
    assert snapshot(other) == snapshot(env)
    assert other.record()["result"] is not None


def test_a_continued_game_uses_the_given_seed():
    env, other = started(3, steps=4), make(3)
    other.reset(seed=77, options={"record": env.record()})
    assert other.game_state["seed"] == 77
    assert other.game_state.tobytes()[8:] == env.game_state.tobytes()[8:]
    run(other)
    assert other.record()["seed"] is None  # no single seed deals this game
    Record.from_dict(other.record()).verify()


def test_a_record_without_a_seed_can_be_continued():
    env = make(3)
    env.reset(seed=5, options={"setup": setup_of(env.game)})
    run(env, 4)
    assert env.record()["seed"] is None
    one, two = make(3), make(3)
    for other in (one, two):
        other.reset(seed=5)
        other.reset(options={"record": env.record()})
        run(other)
        Record.from_dict(other.record()).verify()
    assert snapshot(one) == snapshot(two)  # the seed comes from the stream, so it is the same in both


def test_records_that_cannot_be_continued_are_rejected():
    env = started(3)
    before = snapshot(env)
    over, fault = ended(3), started(3, illegal_action="terminate")
    fault.step(-1)
    broken = env.record() | {"events": [*env.record()["events"], "0 move:Z9"]}
    refusal(lambda: env.reset(options={"record": over.record()}), "over")
    refusal(lambda: env.reset(options={"record": fault.record()}), "over")
    refusal(lambda: env.reset(options={"record": started(4).record()}), "record", "players")
    refusal(lambda: env.reset(options={"record": started(3, short=False).record()}), "record", "rules")
    refusal(lambda: env.reset(options={"record": broken}), "event", error=RecordError)
    assert snapshot(env) == before


# --- copies ---

COPIES = {
    "clone": lambda env: env.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("moment", ["middle", "half dead"])
def test_a_copy_has_the_same_state_and_is_independent(way, moment):
    env = started(3, steps=7)
    if moment == "half dead":
        run(env)
        env.step(None)
    twin = COPIES[way](env)
    assert type(twin) is type(env)
    assert twin.game == env.game
    before = snapshot(env)
    assert snapshot(twin) == before
    run(twin, seed=1)
    assert snapshot(env) == before  # the original has not changed
    run(env, seed=1)
    while env.agents:
        env.step(None)
        twin.step(None)
        assert snapshot(env) == snapshot(twin)
    assert [dealt(env), dealt(env)] == [dealt(twin), dealt(twin)]  # and the stream of episodes is the same


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_the_wrapped_environment_can_be_copied_too(way):
    env = bombay_v0.env(rules=Rules(3, **SHORT))
    env.reset(seed=3)
    twin = COPIES[way](env)
    assert type(twin) is type(env)
    assert twin.unwrapped is not env.unwrapped
    run(twin)
    run(env)
    assert snapshot(twin.unwrapped) == snapshot(env.unwrapped)


def test_copies_of_an_environment_that_was_never_reset_play_different_games():
    env = make(3)
    twins = [env, *(way(env) for way in COPIES.values())]
    assert len({dealt(twin) for twin in twins}) == 4
    assert [dealt(twin, seed=4) for twin in twins] == [4] * 4


# --- before the first reset, and drawings ---

BEFORE_RESET = {
    "step": lambda env: env.step(38),
    "step with None": lambda env: env.step(None),
    "last": lambda env: env.last(),
    "observe": lambda env: env.observe("player_0"),
    "state": lambda env: env.state(),
    "render": lambda env: env.render(),
    "record": lambda env: env.record(),
    "game_state": lambda env: env.game_state,
    "agent_selection": lambda env: env.agent_selection,
    "rewards": lambda env: env.rewards,
    "terminations": lambda env: env.terminations,
    "truncations": lambda env: env.truncations,
    "infos": lambda env: env.infos,
}


@pytest.mark.parametrize("use", BEFORE_RESET)
def test_the_environment_must_be_reset_first(use):
    env = aec.raw_env()
    refusal(lambda: BEFORE_RESET[use](env), "no game", "reset", error=ResetNeeded)
    if use in ("infos", "game_state"):
        assert not hasattr(env, use)
    env.reset(seed=1)
    if use != "step with None":
        BEFORE_RESET[use](env)
    with pytest.raises(AttributeError, match="'raw_env' object has no attribute 'camels'"):
        _ = env.camels


def test_the_error_before_the_first_reset_can_be_sent_to_another_process():
    assert str(pickle.loads(pickle.dumps(aec.NotResetError()))) == str(aec.NotResetError())


def test_ansi_renders_the_position_as_text_and_no_mode_nothing():
    text = started(3, render_mode="ansi").render()
    for word in ("left", "centre", "right", "bag", "Bombay", "seat 2", "rupees"):
        assert word in text
    over = ended(3, render_mode="ansi")
    assert over.render().startswith("game over")
    assert over.close() is None
    assert started().render() is None
