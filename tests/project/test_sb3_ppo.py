"""The wrapper for PettingZoo's SB3 tutorial: every seat gets its own rewards, and a policy learns through it."""

import numpy as np
import pytest

from bombay_env import Rules, bombay_v0
from bombay_env.rewards import seat_rewards

pytest.importorskip("sb3_contrib", reason="needs the extra `ppo`")

import sb3_ppo
import torch
from common import evaluate
from sb3_contrib import MaskablePPO
from sb3_ppo import FrozenPolicy, SelfPlayEnv
from stable_baselines3.common.vec_env import DummyVecEnv

from helpers.position import each_count


@pytest.fixture(autouse=True)
def _one_thread():
    """As `train` has it: more threads do nothing for nets this small but wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def table(n):
    """A table whose games end soon."""
    return bombay_v0.env(rules=Rules(n, sets=2, turns_per_set=2), reward="margin", illegal_action="raise")


def results_of(env):
    """What the game that `env` played to its end pays each seat."""
    raw = env.env.unwrapped
    return seat_rewards(raw.game.results(raw.game_state), "margin")[0]


def play(env, seed, on_step=lambda: None):
    """Play any legal actions until the end. Returns the rewards of the steps."""
    rng, rewards, over = np.random.default_rng(seed), [], False
    env.reset(seed=seed)
    while not over:
        on_step()
        action = rng.choice(np.flatnonzero(env.action_masks()))
        observation, reward, over, truncated, _ = env.step(action)
        assert env.observation_space.contains(observation)
        assert not truncated
        rewards.append(reward)
    return rewards


@each_count
def test_every_seat_is_asked_with_its_own_view_and_the_learner_is_paid_its_own_reward(n):
    rng, learners, asked = np.random.default_rng(n), set(), set()
    env = SelfPlayEnv(table(n), None)
    raw = env.env.unwrapped

    def others(observation, mask):
        view = raw.observe(raw.agent_selection)
        assert raw.agent_selection != env.learner
        assert (observation == view["observation"]).all()
        assert (mask == view["action_mask"]).all()
        asked.add(raw.agent_selection)
        return int(rng.choice(np.flatnonzero(mask)))

    def on_step():
        assert raw.agent_selection == env.learner
        view = raw.observe(env.learner)
        assert (env._view() == view["observation"]).all()
        assert (env.action_masks() == view["action_mask"].astype(bool)).all()
        assert env.action_masks().any()

    env.others = others
    for seed in range(8 * n):
        rewards = play(env, seed, on_step)
        seat = raw.possible_agents.index(env.learner)
        assert not any(rewards[:-1])
        assert rewards[-1] == results_of(env)[seat]
        learners.add(env.learner)
    assert learners == asked == set(raw.possible_agents)


def test_maskable_ppo_learns_through_it_against_copies_of_itself():
    opponents = FrozenPolicy(0)
    envs = DummyVecEnv([lambda: SelfPlayEnv(table(4), opponents)] * 2)
    model = MaskablePPO("MlpPolicy", envs, n_steps=64, batch_size=64, n_epochs=1, device="cpu", seed=1)
    model.learn(384, callback=opponents)
    assert model.num_timesteps == 384
    opponent = opponents.policy.state_dict()
    first = {name: weights.clone() for name, weights in opponent.items()}
    model.learn(128, callback=opponents)
    assert any((weights != first[name]).any() for name, weights in opponents.policy.state_dict().items())
    assert opponents.policy is not model.policy


@pytest.mark.parametrize("env", ["self-play", "tutorial"])
def test_the_script_ends_in_time_and_prints_an_interval(env, capsys):
    sb3_ppo.main(minutes=0.005, players=2, blocks=2, env=env)
    assert "win share against random: " in capsys.readouterr().out


@pytest.mark.slow
def test_it_beats_random_after_a_minute():
    policy = sb3_ppo.train(num_players=4, seconds=60, seed=1, env="self-play")
    assert evaluate(policy, 4, blocks=100).low > 0.25
