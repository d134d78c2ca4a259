"""PPO of RLlib, new API stack, on the PettingZoo environment: one masked module plays all seats.

    python training/examples/rllib_ppo.py --minutes 1 --players 4
    python training/examples/rllib_ppo.py --minutes 60 --runners 32    # on all machines of a Ray cluster

It needs the extra `rllib`, in an environment of its own (docs/trainers.md). RLlib keeps an episode for each seat: its own views,
its own rewards.
"""

from __future__ import annotations

import time
from typing import Annotated, Any

import numpy as np
import ray
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env
from torch import Tensor, nn

from bombay_env import bombay_v0

BATCH, MINIBATCH = 4096, 512  # decisions of all seats between two updates


class MaskedModule(TorchRLModule, ValueFunctionAPI):
    """Actor and critic; illegal actions get the logit −1e9."""

    def setup(self) -> None:
        """Make the nets."""
        features, actions = self.observation_space["observation"].shape[0], self.action_space.n

        def net(outputs: int) -> nn.Module:
            return nn.Sequential(
                nn.Linear(features, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)
            )

        self.actor, self.critic = net(actions), net(1)

    def logits(self, observations: Tensor, masks: Tensor) -> Tensor:
        """(batch, A) from observations (batch, F) and masks (batch, A)."""
        return self.actor(observations).masked_fill(masks == 0, -1e9)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        return {Columns.ACTION_DIST_INPUTS: self.logits(seen["observation"], seen["action_mask"])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        """Values (batch,) of the observations."""
        return self.critic(batch[Columns.OBS]["observation"]).squeeze(-1)


register_env("bombay", lambda arguments: PettingZooEnv(bombay_v0.env(**arguments)))


def make_config(num_players: int, seed: int, runners: int) -> PPOConfig:
    """One module, `shared`, for all seats."""
    return (
        PPOConfig()
        .environment(
            "bombay",
            env_config={"num_players": num_players, "reward": "margin"},
            disable_env_checking=True,  # RLlib's check plays illegal actions
        )
        .multi_agent(policies={"shared"}, policy_mapping_fn=lambda agent, episode, **_: "shared")
        .rl_module(rl_module_spec=RLModuleSpec(module_class=MaskedModule))
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=1)
        .training(
            gamma=1.0,  # all reward comes at the end of a game
            lambda_=0.95,
            lr=1e-3,
            train_batch_size_per_learner=BATCH,
            minibatch_size=MINIBATCH,
            num_epochs=4,
            entropy_coeff=0.01,
            vf_clip_param=100.0,
            use_kl_loss=False,
        )
        .debugging(seed=seed, log_level="ERROR")
    )


def train(num_players: int, seconds: float, seed: int = 0, runners: int = 0) -> Policy:
    """Learn for some seconds, at least one update. Returns the policy, which takes the likeliest action.

    Args:
        num_players: of the games.
        seconds: how long to learn.
        seed: of the learner and its games.
        runners: processes that play; 0: this process plays.
    """
    if not ray.is_initialized():
        ray.init(include_dashboard=False, configure_logging=False, log_to_driver=False)
    algorithm = make_config(num_players, seed, runners).build_algo()
    deadline = time.monotonic() + seconds
    while True:
        algorithm.train()
        if time.monotonic() > deadline:
            break
    module = algorithm.get_module("shared")
    algorithm.stop()

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return module.logits(torch.as_tensor(observations), torch.as_tensor(masks)).argmax(-1).numpy()

    return policy


def main(
    minutes: Minutes = 1,
    players: Players = 4,
    seed: Seed = 0,
    runners: Annotated[int, typer.Option(help="Processes that play; 0: this one plays.", min=0)] = 0,
    blocks: Blocks = 250,
) -> None:
    """Learn by self-play, then play deals from every seat against `random` and print the win share."""
    report(train(players, 60 * minutes, seed, runners), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
