"""The Gymnasium environment: the libraries' checkers, arguments, one game, records, copies and drawings."""

import copy
import json
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from bombay_env import Game, IllegalActionError, Rules
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.record import Record
from bombay_env.rewards import seat_rewards
from helpers.gym_envs import ID, LANES, Stubborn, each_count, pick, play, same, single, vector
from helpers.position import official, setup_of
from helpers.refusal import refusal

# --- the libraries' own checkers ---

each_variant = pytest.mark.parametrize(("n", "mode"), [(2, "perfect_recall"), (5, "screened")])


@each_variant
def test_gymnasiums_checker_finds_no_problems(n, mode):
    """Warnings are errors in this test suite, so there are no warnings either."""
    env = gymnasium.make(ID, num_players=n, observation_mode=mode, seat="random")
    check_env(env.unwrapped)


@each_variant
def test_stable_baselines_checker_finds_no_problems(n, mode):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = gymnasium.make(ID, num_players=n, observation_mode=mode, seat="random", render_mode="ansi")
    checker.check_env(env.unwrapped, skip_render_check=False)


# --- construction ---


def test_gymnasium_makes_vectors_by_id():
    for mode in ("vector_entry_point", None):
        many = gymnasium.make_vec(ID, num_envs=3, vectorization_mode=mode, num_players=2, reward="rank", seat=1)
        assert isinstance(many, BombayVectorEnv)
        assert (many.num_envs, many.game) == (3, official(2))
        assert many.spec.id == ID
        assert many.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        many.reset(seed=1)
        many.close()
    sync = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", num_players=2)
    sync.reset(seed=1)
    assert np.stack(sync.call("action_masks")).shape == (2, 39)
    with pytest.raises(TypeError, match="camels"):
        gymnasium.make(ID, camels=3)


# --- one game ---


@each_count
def test_a_game_gives_the_learner_its_observations_and_its_reward(n):
    mode = "screened" if n % 2 else "perfect_recall"
    for seat in ("random", n - 1):
        env = single(n, seat=seat, observation_mode=mode, reward="margin")
        observation, info = env.reset(seed=n)
        reward, over, rng = 0.0, False, np.random.default_rng(n)
        while True:
            state = env.game_state
            assert env.observation_space.contains(observation)
            assert (observation == env.game.observe(state, info["seat"], mode == "screened")[0]).all()
            assert list(info)[:3] == ["action_mask", "illegal_actions", "seat"]
            assert info["action_mask"].dtype == np.int8
            assert (info["action_mask"] == env.game.legal_actions(state)[0]).all()
            assert (info["action_mask"] == env.action_masks()).all()
            assert info["seat"] == (seat if seat != "random" else info["seat"])
            if over:
                break
            assert state["current_player"][0] == info["seat"]
            assert (reward, type(reward)) == (0.0, float)
            observation, reward, over, truncated, info = env.step(int(pick(info["action_mask"], rng)))
            assert truncated is False
            assert over is bool(env.game.is_terminal(env.game_state)[0])
        results = env.game.results(env.game_state)
        assert reward == seat_rewards(results, "margin")[0, info["seat"]]
        assert not info["action_mask"].any()
        refusal(lambda env=env: env.step(0), "reset", error=ResetNeeded)


def test_a_step_before_the_first_reset_raises():
    for env, action in ((single(), 0), (vector(), np.zeros(LANES, int))):
        refusal(lambda env=env, action=action: env.step(action), "reset", error=ResetNeeded)
    refusal(lambda: single().record(), "reset", error=ResetNeeded)
    assert not single().action_masks().any()


# --- options, records, copies, rendering ---


def test_setup_fixes_the_deal():
    setup = setup_of(official(4))
    one, many = single(seat=0), vector(seat=0, lanes=2)
    one.reset(seed=1, options={"setup": setup, "camels": 3})
    many.reset(seed=1, options={"setup": setup, "record": None, "reset_mask": None})
    expected = one.game.new_states([1, 2], setup=setup)
    assert one.game_state.tobytes() == expected[:1].tobytes()
    assert many.game_states.tobytes() == expected.tobytes()
    assert one.record()["seed"] is None


@each_count
def test_a_record_contains_the_moves_of_all_players(n):
    env = single(n)
    for seed in (n, None):
        _, info = env.reset(seed=seed)
        rng, over = np.random.default_rng(n), False
        while True:
            record = env.record()
            assert Record.from_dict(json.loads(json.dumps(record))).verify().tobytes() == env.game_state.tobytes()
            assert (record["result"] is None) == (not over)
            if over:
                break
            over, _, info = env.step(int(pick(info["action_mask"], rng)))[2:]
        assert [seat for seat, name in enumerate(record["agents"]) if name == "learner"] == [info["seat"]]
        assert record["result"]["final"] == env.game.results(env.game_state)[0]["final"].tolist()


def test_a_record_can_be_continued():
    env = single(3, seat=1)
    env.reset(seed=5)
    env.step(int(env.action_masks().argmax()))
    record, state = env.record(), env.game_state
    other, many = single(3, seat=1), vector(3, seat=1, lanes=2)
    other.reset(options={"record": record})
    assert other.game_state.tobytes() == state.tobytes()
    assert other.record()["events"] == record["events"]
    many.reset(options={"record": record})
    assert many.game_states.tobytes() == state.tobytes() * 2
    many.reset(seed=[None, 8], options={"record": record})
    assert many.game_states["seed"].tolist() == [5, 8]
    play(other)
    Record.from_dict(other.record()).verify()
    refusal(lambda: env.reset(options={"record": other.record()}), "over")
    other.reset(seed=8, options={"record": record})
    play(other)
    assert other.record()["seed"] is None  # its restocks are those of another seed than the deal
    Record.from_dict(other.record()).verify()


def test_a_record_without_a_decision_of_the_learner_ends_at_the_next_step():
    game = Game(Rules(3, sets=1, turns_per_set=1))
    whole = BombaySingleEnv(rules=game.rules, seat=0)
    whole.reset(seed=2)
    play(whole)
    events = whole.record()["events"]
    last = [number for number in range(len(events)) if not str(events[number]).startswith("restock")][-1]
    record = whole.record() | {"events": events[:last], "result": None}
    env = BombaySingleEnv(rules=game.rules, seat=0)
    _, info = env.reset(options={"record": record})
    assert not info["action_mask"].any()
    _, reward, over, _, _ = env.step(0)
    assert over
    assert reward == seat_rewards(env.game.results(env.game_state), "win")[0, 0]
    with pytest.raises(ResetNeeded):
        env.step(0)


@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"]
)
@pytest.mark.parametrize("opponents", ["random", "planner-v1"])
def test_a_copy_has_the_same_state_and_is_independent(way, opponents):
    for env in (single(opponents=opponents), vector(opponents=opponents)):
        env.reset(seed=3)
        env.step(env.action_masks().argmax(axis=-1))
        twin = way(env)
        assert twin.game == env.game
        before = env._games.states.tobytes()
        assert twin._games.states.tobytes() == before
        actions = pick(env.action_masks(), np.random.default_rng(1))
        theirs = twin.step(actions)
        assert env._games.states.tobytes() == before
        assert same(env.step(actions), theirs)
        assert same(env.reset(), twin.reset())


def test_copies_of_an_environment_that_was_never_reset_play_different_games():
    for env in (single(), vector()):
        twins = [env, copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
        for twin in twins:
            twin.reset()
        assert len({int(seed) for twin in twins for seed in twin._games.states["seed"]}) == 3 * env._games.states.size
        assert len({str(twin._games.rng.bit_generator.state) for twin in twins}) == 3


@pytest.mark.parametrize("mode", [None, "svg"])
def test_render_before_the_first_reset_raises(mode):
    """The initial state of the lane looks like a game that is over."""
    end_turn = official(2).action_index("end_turn")
    envs = (
        single(render_mode=mode),
        vector(render_mode=mode),
        gymnasium.make(ID, render_mode=mode),
        gymnasium.make_vec(ID, num_envs=2, render_mode=mode),
    )
    for env in envs:
        refusal(env.render, "reset", error=ResetNeeded)
        env.reset(seed=1)
        assert (env.render() is None) == (mode is None)
    failed = single(2, seat=0, opponents=Stubborn(-1), render_mode=mode)
    failed.reset(seed=1)
    with pytest.raises(IllegalActionError):
        failed.step(end_turn)
    assert (failed.render() is None) == (mode is None)  # the position where the opponent failed can be rendered
