"""MaskablePPO of Stable-Baselines3: one seat against `random`, or self-play in the shape of PettingZoo's SB3 tutorial.

    python training/examples/sb3_ppo.py --minutes 1 --players 4
    python training/examples/sb3_ppo.py --minutes 1 --players 4 --env self-play

PettingZoo's tutorial for Connect Four turns an AEC environment into a single-agent one with a wrapper, and trains one MaskablePPO
for all players. `SelfPlayEnv` takes the place of that wrapper, and is right for any AEC environment with action masks whose
agents all stay until the end. `--env tutorial` learns as the tutorial does: docs/trainers.md says why it hardly learns Bombay.

This file needs the extra `ppo`. The trainer of this project, `bombay train ppo`, learns from all seats at once and is faster.
"""

import time
from collections.abc import Callable
from typing import Annotated, Any, Literal

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
Env = Literal["gymnasium", "self-play", "tutorial"]


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
        self.learner = env.possible_agents[0]
        self.observation_space = env.observation_space(self.learner)["observation"]
        self.action_space = env.action_space(self.learner)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode. Returns the learner's view (F,) float32 and an empty info."""
        super().reset(seed=seed)
        self.env.reset(seed=seed, options=options)
        self.learner = self.env.possible_agents[self.np_random.integers(len(self.env.possible_agents))]
        self._play_others()
        return self._view(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, then those of the others until it is the learner's turn or the game is over."""
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
        while env.agent_selection != self.learner and not (
            env.terminations[self.learner] or env.truncations[self.learner]
        ):
            seen = env.observe(env.agent_selection)
            env.step(self.others(seen["observation"], seen["action_mask"]))
            reward += env.rewards[self.learner]
        return reward

    def _view(self) -> np.ndarray:
        return self.env.observe(self.learner)["observation"]


class FrozenPolicy(BaseCallback):
    """The opponents: they play at random first, then as the policy was at the start of the rollout."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)
        self.policy: Any = None

    def __call__(self, observation: np.ndarray, mask: np.ndarray) -> int:
        """An action, drawn by its probability."""
        if self.policy is None:
            return int(self.rng.choice(np.flatnonzero(mask)))
        return int(self.policy.predict(observation, action_masks=mask)[0])

    def _on_rollout_start(self) -> None:
        model: Any = self.model
        if self.policy is None:
            spaces = model.observation_space, model.action_space
            self.policy = model.policy_class(*spaces, model.lr_schedule, **model.policy_kwargs)
        self.policy.load_state_dict(model.policy.state_dict())

    def _on_step(self) -> bool:
        return True


def train(num_players: int, seconds: float, seed: int = 0, env: Env = "gymnasium") -> Policy:
    """Learn for some seconds on one thread, at least one update. Returns the policy, which takes the likeliest action.

    The reward says more than who won: the margin.
    """
    torch.set_num_threads(1)  # more threads do nothing for a net this small
    opponents = FrozenPolicy(seed)

    def make_env() -> gymnasium.Env:
        if env == "self-play":
            return SelfPlayEnv(bombay_v0.env(num_players=num_players, reward="margin"), opponents)
        seat = {"seat": "all"} if env == "tutorial" else {"opponents": "random"}  # one stream for all seats
        return gymnasium.make("bombay_env:bombay/Bombay-v0", num_players=num_players, reward="margin", **seat)

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
        model.learn(NUM_ENVS * NUM_STEPS, callback=opponents, reset_num_timesteps=False)
    print(f"{model.num_timesteps:,} steps, ", end="")
    return lambda seen, masks: model.predict(seen, action_masks=masks, deterministic=True)[0]


def main(
    minutes: Minutes = 1,
    players: Players = 4,
    seed: Seed = 0,
    blocks: Blocks = 250,
    env: Annotated[Env, typer.Option(help="Where to learn.")] = "gymnasium",
) -> None:
    """Learn, then play deals from every seat and print the win share."""
    report(train(players, 60 * minutes, seed, env), players, blocks)


if __name__ == "__main__":
    typer.run(main)
