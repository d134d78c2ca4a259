"""The wrappers: the action mask in observations, and observations in words."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from bombay_env import text, wrappers
from helpers.gym_envs import ID, LANES, each_autoreset, pick, play, same, single, vector
from helpers.refusal import refusal


def masked(n=3, dtype="int8"):
    return wrappers.ActionMaskObservation(single(n), "mask", "obs", dtype)


def test_the_mask_is_in_the_observation_under_the_chosen_key():
    env = masked()
    observation, info = env.reset(seed=1)
    over, rng = False, np.random.default_rng(1)
    while True:
        assert env.observation_space.contains(observation)
        assert set(observation) == {"obs", "mask"}
        assert (observation["obs"] == env.unwrapped._games.observe()[0]).all()
        assert (observation["mask"] == (env.unwrapped.action_masks() | over)).all()  # after the end all are marked
        if over:
            break
        observation, _, over, _, info = env.step(int(pick(observation["mask"], rng)))
    assert "final" in info


@each_autoreset
def test_lanes_with_masks_behave_like_single_environments_with_masks(autoreset):
    dtype = "bool" if autoreset is AutoresetMode.DISABLED else "int8"
    many = wrappers.VectorActionMaskObservation(vector(3, autoreset_mode=autoreset), "mask", "obs", dtype)
    singles = SyncVectorEnv([lambda: masked(3, dtype)] * LANES, autoreset_mode=autoreset)
    lanes = SyncVectorEnv([lambda: single(3)] * LANES, autoreset_mode=autoreset)
    sync = wrappers.VectorActionMaskObservation(lanes, "mask", "obs", dtype)
    assert (many.observation_space["mask"].dtype, many.autoreset_mode) == (dtype, autoreset)
    assert many.single_observation_space == singles.single_observation_space
    assert many.observation_space == singles.observation_space
    observations, _ = many.reset(seed=5)
    assert same(dict(observations), dict(singles.reset(seed=5)[0]))
    assert same(dict(observations), dict(sync.reset(seed=5)[0]))
    rng, ends = np.random.default_rng(1), 0
    for _ in range(40):
        actions = pick(observations["mask"], rng)
        returned, expected = many.step(actions), singles.step(actions)
        observations = returned[0]
        assert same(dict(observations), dict(sync.step(actions)[0]))
        assert many.observation_space.contains(observations)
        assert same(returned, expected)
        ends += returned[2].sum()
        if autoreset is AutoresetMode.DISABLED and returned[2].any():
            for env in (many, singles, sync):
                observations, _ = env.reset(options={"reset_mask": returned[2].copy()})
                assert (observations["mask"] == many.env.action_masks()).all()
    assert ends > LANES


@pytest.mark.parametrize("make", [single, vector])
def test_the_two_keys_must_differ(make):
    wrapper = wrappers.ActionMaskObservation if make is single else wrappers.VectorActionMaskObservation
    refusal(lambda: wrapper(make(2), "obs", "obs"), "mask_key", "observation_key", "'obs'", "differ")
    refusal(lambda: wrapper(make(2), mask_dtype="float32"), "mask_dtype is 'float32'", "one of int8, bool")


def test_a_wrapped_environment_can_be_made_again_from_its_spec():
    env = wrappers.ActionMaskObservation(gymnasium.make(ID, num_players=2, opponents="greedy"), "mask")
    assert gymnasium.make(env.spec).observation_space == env.observation_space


@pytest.mark.parametrize("mode", ["perfect_recall", "screened"])
@pytest.mark.parametrize("seat", ["random", "all"])
def test_the_observation_in_words_tells_the_seat_the_position_and_the_legal_actions(seat, mode):
    opponents = {} if seat == "random" else {"opponents": "random"}
    env = wrappers.TextObservation(single(3, short=False, seat=seat, observation_mode=mode, **opponents))
    game, rng = env.unwrapped.game, np.random.default_rng(1)
    observation, info = env.reset(seed=1)
    for _ in range(4):
        states, own = env.unwrapped.game_state, int(info["seat"])
        viewer = own if mode == "screened" else None
        assert env.observation_space.contains(observation)
        assert observation.startswith(f"You are seat {own}.")
        assert text.describe_position(game, states, viewer) in observation
        assert ("?" in observation) == (mode == "screened")
        *_, lines = observation.partition("legal actions\n")
        assert [int(line.split()[0]) for line in lines.splitlines()] == np.flatnonzero(info["action_mask"]).tolist()
        number = rng.choice(lines.splitlines()).split()[0]
        observation, _, _, _, info = env.step(text.parse_answer(game, states, number)[0])
    observation = play(env)[0]
    assert "game over" in observation
    assert "legal actions" not in observation
    assert env.observation_space.contains(observation)


def test_the_words_may_be_in_the_info():
    env, plain, words = single(3), single(3), wrappers.TextObservation(single(3))
    env = wrappers.TextObservation(env, info_key="text")
    assert env.observation_space == plain.observation_space
    observation, info = env.reset(seed=2)
    assert same(observation, plain.reset(seed=2)[0])
    assert info["text"] == words.reset(seed=2)[0]


def test_the_words_need_this_environment():
    refusal(lambda: wrappers.TextObservation(gymnasium.make("CartPole-v1")), "bombay/Bombay-v0", "CartPoleEnv")


def test_words_of_many_games():
    envs = gymnasium.make_vec(ID, 2, vectorization_mode="sync", wrappers=[wrappers.TextObservation], num_players=2)
    observations, _ = envs.reset(seed=1)
    assert [words[:12] for words in observations] == ["You are seat"] * 2
