"""PPO of Tianshou on the Gymnasium environment: the learner has one seat, `random` plays the others.

    python training/examples/tianshou_ppo.py --minutes 1 --players 4

It needs the extra `tianshou`, in an environment of its own (docs/trainers.md). The mask is part of the observation, because
Tianshou's policies get nothing else, and the actor applies it. Tianshou's `PettingZooEnv` is not used: it shows the last step of
a game to the seat that moved last, so the other seats would never learn what they were paid.
"""

from __future__ import annotations

import time
from typing import Any

import gymnasium
import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import MLP, AbstractDiscreteActor
from torch import Tensor, nn

from bombay_env import wrappers

NUM_ENVS, NUM_STEPS = 8, 512  # games at once, and decisions in each of them between two updates


class Actor(AbstractDiscreteActor):
    """Logits of the legal actions; −1e9 for all others."""

    def __init__(self, num_features: int, num_actions: int) -> None:
        super().__init__(num_actions)
        self.net = MLP(input_dim=num_features, output_dim=num_actions, hidden_sizes=(64, 64))

    def get_preprocess_net(self) -> nn.Module:
        """No net is shared with the critic."""
        return nn.Identity()

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Logits (batch, A) of a batch of observations with masks."""
        return self.net(obs.obs).masked_fill(~torch.as_tensor(obs.mask, dtype=torch.bool), -1e9), state


class Critic(nn.Module):
    """The value of an observation."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.net = MLP(input_dim=num_features, output_dim=1, hidden_sizes=(64, 64))

    def forward(self, obs: Any, **_: Any) -> Tensor:
        """Values (batch, 1) of a batch of observations with masks."""
        return self.net(obs.obs)


def train(num_players: int, seconds: float, seed: int = 0) -> Policy:
    """Learn for some seconds on one thread, at least one update. Returns the policy, which takes the likeliest action."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)

    def make_env() -> gymnasium.Env:
        env = gymnasium.make("bombay_env:bombay/Bombay-v0", num_players=num_players, reward="margin")
        return wrappers.ActionMaskObservation(env, mask_key="mask", observation_key="obs")

    envs = DummyVectorEnv([make_env] * NUM_ENVS)
    envs.seed(NUM_ENVS * seed)  # lane i plays NUM_ENVS * seed + i
    features, actions = make_env().observation_space["obs"].shape[0], make_env().action_space
    actor = Actor(features, int(actions.n))
    algorithm = PPO(
        policy=DiscreteActorPolicy(actor=actor, action_space=actions),
        critic=Critic(features),
        optim=AdamOptimizerFactory(lr=1e-3),
        gamma=1.0,  # all reward comes at the end of a game
        max_grad_norm=0.5,
    )
    collector = Collector(algorithm, envs, VectorReplayBuffer(NUM_ENVS * NUM_STEPS, NUM_ENVS))
    steps = NUM_ENVS * NUM_STEPS
    trainer = algorithm.create_trainer(
        OnPolicyTrainerParams(
            training_collector=collector,
            epoch_num_steps=steps,
            collection_step_num_env_steps=steps,
            batch_size=512,
            update_step_num_repetitions=4,
            show_progress=False,
        )
    )
    trainer.reset()
    deadline = time.monotonic() + seconds
    while True:
        trainer.execute_epoch()
        if time.monotonic() > deadline:
            break

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return actor.net(observations).masked_fill(~torch.as_tensor(masks), -1e9).argmax(-1).numpy()

    return policy


def main(minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn against `random`, then play deals from every seat and print the win share."""
    report(train(players, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
