"""The self-play buffer compared with advantages computed naively, seat by seat, from recorded rollouts."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sb3_contrib", reason="self-play PPO needs the `ppo` extra (stable-baselines3, sb3-contrib)")

import torch
from gymnasium import spaces

from bombay_training.learners.ppo.run import PPORun
from bombay_training.learners.ppo.seat_buffer import MAX_SEATS, SeatRolloutBuffer
from bombay_training.learners.ppo.settings import PPOSettings

NUM_FEATURES = 3
NUM_ACTIONS = 4
VALUE_WEIGHTS = np.array([0.5, -1.0, 0.25], np.float32)
OBSERVATION_SPACE = spaces.Box(-np.inf, np.inf, (NUM_FEATURES,), np.float32)


def value_of(observations: np.ndarray) -> np.ndarray:
    return observations @ VALUE_WEIGHTS


@dataclass
class Rollout:
    """A recorded rollout; also the `SeatSource` from which a buffer reads it step by step."""

    num_seats: np.ndarray  # (E,)
    seats: np.ndarray  # (T, E)
    rewards: np.ndarray  # (T, E, MAX_SEATS)
    ends: np.ndarray  # (T, E)
    values: np.ndarray  # (T, E) values of the movers' views
    views: np.ndarray  # (E, MAX_SEATS, F) views of the last states

    def at(self, step: int) -> None:
        self.last_seats, self.last_seat_rewards, self.last_dones = self.seats[step], self.rewards[step], self.ends[step]

    def seat_views(self) -> np.ndarray:
        return self.views


def random_rollout(rng: np.random.Generator, steps: int, num_seats: np.ndarray, end_chance: float) -> Rollout:
    """Seats in random order, often several times in a row; rewards for all seats at any move."""
    num_envs = len(num_seats)
    seats = rng.integers(0, num_seats, (steps, num_envs))
    for step in range(1, steps):
        again = rng.random(num_envs) < 0.4
        seats[step, again] = seats[step - 1, again]
    seated = np.arange(MAX_SEATS) < num_seats[:, None]
    paid = rng.random((steps, num_envs, 1)) < 0.5
    return Rollout(
        num_seats=num_seats,
        seats=seats,
        rewards=(rng.normal(size=(steps, num_envs, MAX_SEATS)) * seated * paid).astype(np.float32),
        ends=rng.random((steps, num_envs)) < end_chance,
        values=rng.normal(size=(steps, num_envs)).astype(np.float32),
        views=rng.normal(size=(num_envs, MAX_SEATS, NUM_FEATURES)).astype(np.float32) * seated[:, :, None],
    )


def filled(rollout: Rollout, gamma: float, gae_lambda: float) -> SeatRolloutBuffer:
    """A buffer filled with the rollout by the same calls as in `MaskablePPO.collect_rollouts`."""
    steps, num_envs = rollout.seats.shape
    options = {"gae_lambda": gae_lambda, "gamma": gamma, "n_envs": num_envs}
    buffer = SeatRolloutBuffer(steps, OBSERVATION_SPACE, spaces.Discrete(NUM_ACTIONS), "cpu", **options)
    buffer.attach(rollout, value_of)
    starts = np.ones(num_envs, bool)
    for step in range(steps):
        rollout.at(step)
        buffer.add(
            np.full((num_envs, NUM_FEATURES), step, np.float32),
            np.zeros((num_envs, 1), np.int64),
            rollout.rewards[step, np.arange(num_envs), rollout.seats[step]],
            starts,
            torch.from_numpy(rollout.values[step])[:, None],
            torch.zeros(num_envs),
            action_masks=np.ones((num_envs, NUM_ACTIONS), bool),
        )
        starts = rollout.ends[step]
    buffer.compute_returns_and_advantage(torch.from_numpy(value_of(rollout.views[:, 0]))[:, None], rollout.ends[-1])
    return buffer


def naive_advantages(rollout: Rollout, final_values: np.ndarray, gamma: float, gae_lambda: float) -> np.ndarray:
    """Advantages by the definition: each seat of each environment separately, with every sum written out.

    Args:
        final_values: (E, MAX_SEATS) values of the last states for each seat.
    """
    steps, num_envs = rollout.seats.shape
    advantages = np.zeros((steps, num_envs))
    for env in range(num_envs):
        game_start = 0
        while game_start < steps:
            game_end = game_start
            while game_end < steps - 1 and not rollout.ends[game_end, env]:
                game_end += 1
            over = bool(rollout.ends[game_end, env])
            for seat in range(rollout.num_seats[env]):
                decisions = [t for t in range(game_start, game_end + 1) if rollout.seats[t, env] == seat]
                td_errors = []
                for i, decision in enumerate(decisions):
                    if i + 1 < len(decisions):
                        until = decisions[i + 1]
                        next_value = float(rollout.values[until, env])
                    else:
                        until = game_end + 1
                        next_value = 0.0 if over else float(final_values[env, seat])
                    paid = sum(float(rollout.rewards[t, env, seat]) for t in range(decision, until))
                    td_errors.append(paid + gamma * next_value - float(rollout.values[decision, env]))
                for i, decision in enumerate(decisions):
                    advantages[decision, env] = sum(
                        (gamma * gae_lambda) ** (j - i) * td_errors[j] for j in range(i, len(td_errors))
                    )
            game_start = game_end + 1
    return advantages


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 40),
    num_seats=st.lists(st.integers(2, MAX_SEATS), min_size=1, max_size=6),
    end_chance=st.sampled_from([0.0, 0.03, 0.2, 1.0]),
    gamma=st.sampled_from([1.0, 0.99, 0.7, 0.0]),
    gae_lambda=st.sampled_from([1.0, 0.95, 0.5, 0.0]),
)
def test_advantages_run_per_seat(seed, steps, num_seats, end_chance, gamma, gae_lambda):
    rollout = random_rollout(np.random.default_rng(seed), steps, np.array(num_seats), end_chance)
    buffer = filled(rollout, gamma, gae_lambda)
    expected = naive_advantages(rollout, value_of(rollout.views), gamma, gae_lambda)
    np.testing.assert_allclose(buffer.advantages, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(buffer.returns, expected + rollout.values, rtol=1e-4, atol=1e-4)


def test_a_run_learns_from_such_advantages(tmp_path, monkeypatch):
    """The same comparison on the rollouts of a run; games continue from one rollout to the next."""
    (tmp_path / "rules.json").write_text(json.dumps({"sets": 2, "turns_per_set": 1}))
    sizes = {"num_envs": 6, "num_steps": 23, "batch_size": 69, "trunk": (4,), "policy": (4,), "value": (4,)}
    discounts = {"gamma": 0.9, "gae_lambda": 0.8, "shaping_weight": 0.5}
    run = PPORun(PPOSettings(players=(2, 3), rules=str(tmp_path / "rules.json"), updates=3, **sizes, **discounts))
    env, model, recorded, compared = run.env, run.model, [], 0
    step_wait = env.step_wait

    def recording_step_wait():
        step = step_wait()
        recorded.append((env.last_seats, env.last_seat_rewards, env.last_dones))
        return step

    def compare():
        nonlocal compared
        seats, rewards, ends = (np.stack(column) for column in zip(*recorded, strict=True))
        views, buffer = env.seat_views(), model.rollout_buffer
        rollout = Rollout(env.num_seats, seats, rewards, ends, buffer.values, views)
        expected = naive_advantages(rollout, np.stack([model.values(view) for view in views]), 0.9, 0.8)
        np.testing.assert_allclose(buffer.advantages, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(buffer.returns, expected + buffer.values, rtol=1e-4, atol=1e-5)
        assert ends.any()
        assert not ends[-1].all()
        recorded.clear()
        compared += 1

    monkeypatch.setattr(env, "step_wait", recording_step_wait)
    monkeypatch.setattr(model, "train", compare)
    for _ in range(3):
        run.step()
    assert compared == 3
