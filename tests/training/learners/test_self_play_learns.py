"""Self-play PPO learns best play of a solved game, and only because its advantages are per seat; see `helpers.toy_game`."""

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="self-play PPO needs the `ppo` extra (stable-baselines3, sb3-contrib)")

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

from bombay_training.learners.ppo.seat_buffer import SeatRolloutBuffer
from helpers.toy_game import LENGTH, NUM_ACTIONS, PASS, ToyVecEnv, best_play

NUM_ENVS = 64
NUM_STEPS = 4 * LENGTH
UPDATES = 8
each_seed = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])


@pytest.fixture(autouse=True)
def one_thread():
    """One thread, so that sums are the same on every machine with this version of PyTorch."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(buffer_class: type[MaskableRolloutBuffer], seed: int) -> MaskablePPO:
    env = ToyVecEnv(NUM_ENVS, seed)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=NUM_STEPS,
        batch_size=352,
        n_epochs=6,
        learning_rate=2e-3,
        gamma=1.0,
        gae_lambda=0.95,
        ent_coef=0.005,
        seed=seed,
        device="cpu",
        rollout_buffer_class=buffer_class,
    )
    if isinstance(model.rollout_buffer, SeatRolloutBuffer):

        def value_fn(observations: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return model.policy.predict_values(torch.from_numpy(observations)).numpy()[:, 0]

        model.rollout_buffer.attach(env, value_fn)
    return model.learn(UPDATES * NUM_ENVS * NUM_STEPS)


def takings(choose) -> float:
    """Mean takings per taker; chance is the same for every policy."""
    env = ToyVecEnv(num_envs=200, seed=99)
    observations = env.reset()
    for _ in range(10 * LENGTH):
        observations, *_ = env.step(choose(env, observations))
    return float(np.mean(env.takings))


def play_best(env: ToyVecEnv, observations: np.ndarray) -> np.ndarray:
    action, _ = best_play()
    movers = env.movers()
    banking = movers == env.banker
    left, sown = (np.where(banking, 0, column[env.lanes, movers]) for column in (env.left, env.sown))
    sow_open, take_open = env.open.astype(int).T
    return np.where(banking, PASS, action[left, sown, sow_open, take_open])


def play_randomly(env: ToyVecEnv, observations: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(int(env.position.sum()))
    return (rng.random((env.num_envs, NUM_ACTIONS)) * env.action_masks()).argmax(axis=1)


def play_learned(model: MaskablePPO):
    return lambda env, observations: model.predict(observations, action_masks=env.action_masks(), deterministic=True)[0]


def test_the_table_of_best_play():
    _, worth = best_play()
    assert takings(play_best) == pytest.approx(worth, rel=0.02)
    assert takings(play_randomly) < 0.4 * worth


@each_seed
def test_self_play_learns_the_best_play(seed):
    assert takings(play_learned(trained(SeatRolloutBuffer, seed))) > 0.97 * takings(play_best)


@each_seed
def test_the_stock_buffer_learns_to_waste(seed):
    assert takings(play_learned(trained(MaskableRolloutBuffer, seed))) < 0.5 * takings(play_randomly)
