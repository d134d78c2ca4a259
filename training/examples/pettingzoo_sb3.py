"""Self-play with PettingZoo and Stable-Baselines3: the shape of PettingZoo's SB3 tutorial, with each seat's own rewards.

    python training/examples/pettingzoo_sb3.py --minutes 1 --players 4

PettingZoo's tutorial for Connect Four turns an AEC environment into a single-agent one with a wrapper, and trains one MaskablePPO
for all players. `SelfPlayEnv` takes the place of that wrapper, and is right for any AEC environment with action masks whose
agents all stay until the end. `docs/trainers.md` says what goes wrong with the wrapper itself (`last_mover_sb3.py`).

This file needs the extra `ppo`. The trainer of this project, `bombay train ppo`, learns from all seats at once and is faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from pettingzoo import AECEnv
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

from bombay_env import bombay_v0

NUM_ENVS, NUM_STEPS = 8, 512  # games at once, and decisions in each of them between two updates

Player = Callable[[np.ndarray, np.ndarray], int]  # observation (F,) float32 and mask (A,) int8 → action
Step = tuple[np.ndarray, float, bool, bool, dict[str, Any]]


# --- environments ---


class SelfPlayEnv(gymnasium.Env[np.ndarray, Any]):
    """One agent of an AEC environment as a Gymnasium environment; `others` plays all other agents.

    Which agent learns is drawn anew for each episode. One `step` plays the learner's action and then everyone else's, until the
    learner is to act again or the game is over. So observations, masks and rewards all belong to one agent: the next observation
    is the learner's next view, as bootstrapping needs it, and the reward is all that it was paid since its last action.

    Args:
        env: its observations are dictionaries with `observation` and `action_mask`, and all agents have the same spaces.
        others: chooses the actions of the other agents from what each of them sees.
    """

    def __init__(self, env: AECEnv, others: Player) -> None:
        self.env, self.others = env, others
        self.observation_space = env.observation_space(env.possible_agents[0])["observation"]
        self.action_space = env.action_space(env.possible_agents[0])
        self.learner = env.possible_agents[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode. Returns the learner's view (F,) float32 and an empty info."""
        super().reset(seed=seed)
        self.env.reset(seed=seed, options=options)
        self.learner = self.env.possible_agents[self.np_random.integers(len(self.env.possible_agents))]
        self._play_others()
        return self._view(), {}

    def step(self, action: int) -> Step:
        """Play the learner's action, then those of the others until it is the learner's turn or the game is over.

        Raises:
            ValueError: the action is not a whole number; nothing has changed.
        """
        self.env.step(action)
        reward = self.env.rewards[self.learner] + self._play_others()
        terminated, truncated = self.env.terminations[self.learner], self.env.truncations[self.learner]
        return self._view(), float(reward), terminated, truncated, {}

    def action_masks(self) -> np.ndarray:
        """What the learner may do now, (A,) bool: MaskablePPO asks for it, so no `ActionMasker` is needed."""
        return self.env.observe(self.learner)["action_mask"].astype(bool)

    def _play_others(self) -> float:
        """Play until the learner is to act or the game is over. Returns what that paid the learner."""
        env, reward = self.env, 0.0
        while env.agent_selection != self.learner and not self._is_over():
            seen = env.observe(env.agent_selection)
            env.step(self.others(seen["observation"], seen["action_mask"]))
            reward += env.rewards[self.learner]
        return reward

    def _is_over(self) -> bool:
        return bool(self.env.terminations[self.learner] or self.env.truncations[self.learner])

    def _view(self) -> np.ndarray:
        return self.env.observe(self.learner)["observation"]


# --- players ---


class FrozenPolicy:
    """The opponents: they play at random until `update`, then as the policy was at the last `update`."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.policy: Any = None

    def update(self, model: MaskablePPO) -> None:
        """Copy the model's policy."""
        if self.policy is None:
            spaces = (model.observation_space, model.action_space)
            self.policy = model.policy_class(*spaces, model.lr_schedule, **model.policy_kwargs)
        self.policy.load_state_dict(model.policy.state_dict())

    def __call__(self, observation: np.ndarray, mask: np.ndarray) -> int:
        """An action, drawn by its probability."""
        if self.policy is None:
            return int(self.rng.choice(np.flatnonzero(mask)))
        return int(self.policy.predict(observation, action_masks=mask)[0])


# --- training ---


class Follow(BaseCallback):
    """Updates the opponents at the start of each rollout."""

    def __init__(self, opponents: FrozenPolicy) -> None:
        super().__init__()
        self.opponents = opponents

    def _on_rollout_start(self) -> None:
        self.opponents.update(self.model)

    def _on_step(self) -> bool:
        return True


def learn(make_env: Callable[[], gymnasium.Env], seconds: float, seed: int, opponents: FrozenPolicy) -> MaskablePPO:
    """A MaskablePPO that has learned for some seconds on one thread, at least one update, on `NUM_ENVS` environments."""
    torch.set_num_threads(1)
    model = MaskablePPO(
        "MlpPolicy",
        DummyVecEnv([make_env] * NUM_ENVS),
        n_steps=NUM_STEPS,
        batch_size=512,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,  # all reward comes at the end of a game, and a game always ends
        ent_coef=0.01,
        seed=NUM_ENVS * seed,  # of the games, too: lane i plays NUM_ENVS * seed + i
        device="cpu",
    )
    deadline = time.monotonic() + seconds
    while model.num_timesteps == 0 or time.monotonic() < deadline:
        model.learn(NUM_ENVS * NUM_STEPS, callback=Follow(opponents), reset_num_timesteps=False)
    return model


def policy_of(model: MaskablePPO) -> Policy:
    """The trained policy, which takes the likeliest action."""
    return lambda seen, masks: model.predict(seen, action_masks=masks, deterministic=True)[0]


def train(num_players: int, seconds: float, seed: int = 0) -> MaskablePPO:
    """Learn for some seconds, all seats played by the policy itself. The reward says more than who won: the margin."""
    opponents = FrozenPolicy(seed)
    return learn(
        lambda: SelfPlayEnv(bombay_v0.env(num_players=num_players, reward="margin"), opponents),
        seconds,
        seed,
        opponents,
    )


def main(minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn by self-play through PettingZoo, then play deals from every seat and print the win share."""
    model = train(players, 60 * minutes, seed)
    print(f"{model.num_timesteps:,} steps, ", end="")
    report(policy_of(model), players, blocks)


if __name__ == "__main__":
    typer.run(main)
