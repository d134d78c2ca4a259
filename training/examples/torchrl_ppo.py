"""PPO of TorchRL on the PettingZoo environment: one net plays all seats, through `PettingZooWrapper`.

    python training/examples/torchrl_ppo.py --minutes 1 --players 4

It needs the extra `trainers`. The wrapper returns what every seat sees at every step, so advantages are computed for each seat by
itself, from its own views and rewards. `mask` tells whose action was played; the loss sees only these rows.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from tensordict import TensorDict
from tensordict.nn import InteractionType, TensorDictModule
from torch import nn
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from bombay_env import bombay_v0

NUM_STEPS, EPOCHS, MINIBATCHES, LEARNING_RATE = 1024, 4, 4, 1e-3
SEEN, LEGAL = ("player", "observation", "observation"), ("player", "action_mask")


def make_env(num_players: int, seed: int) -> PettingZooWrapper:
    """All seats in one group, `player`: tensors (n, …)."""
    env = bombay_v0.env(num_players=num_players, reward="margin")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PettingZoo in TorchRL is tested using version")
        return PettingZooWrapper(env, use_mask=True, group_map={"player": env.possible_agents}, seed=seed)


def make_loss(num_features: int, num_actions: int) -> tuple[ClipPPOLoss, GAE]:
    """The loss, which holds actor and critic, and the advantages."""

    def net(outputs: int) -> nn.Module:
        return nn.Sequential(
            nn.Linear(num_features, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs)
        )

    actor = ProbabilisticActor(
        TensorDictModule(net(num_actions), in_keys=[SEEN], out_keys=[("player", "logits")]),
        in_keys={"logits": ("player", "logits"), "mask": LEGAL},
        out_keys=[("player", "action")],
        distribution_class=MaskedCategorical,
        default_interaction_type=InteractionType.RANDOM,  # otherwise only TorchRL's collectors draw actions
        return_log_prob=True,
        log_prob_key=("player", "sample_log_prob"),
    )
    critic = ValueOperator(net(1), in_keys=[SEEN], out_keys=[("player", "state_value")])
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5, normalize_advantage=True)
    names = {"advantage": "advantage", "value_target": "value_target", "value": "state_value"}
    ends = {"reward": "reward", "done": "done", "terminated": "terminated"}
    played = {"action": "action", "sample_log_prob": "sample_log_prob"}
    loss.set_keys(**{key: ("player", name) for key, name in (names | ends | played).items()})
    advantages = GAE(gamma=1.0, lmbda=0.95, value_network=critic)  # all reward comes at the end of a game
    advantages.set_keys(**{key: ("player", name) for key, name in (names | ends).items()})
    return loss, advantages


def train(num_players: int, seconds: float, seed: int = 0) -> Policy:
    """Learn for some seconds on one thread, at least one update. Returns the policy, which takes the likeliest action."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    env = make_env(num_players, seed)
    loss, advantages = make_loss(env.observation_spec[SEEN].shape[-1], env.action_spec["player", "action"].n)
    optimizer = torch.optim.Adam(loss.parameters(), LEARNING_RATE)
    now, deadline = env.reset(seed=seed), time.monotonic() + seconds
    while True:
        with torch.no_grad():
            steps = env.rollout(
                NUM_STEPS, loss.actor_network, auto_reset=False, tensordict=now, break_when_any_done=False
            )
            now = env.step_mdp(steps[-1])
            if now["done"]:
                now = env.reset()
            advantages(steps)
        acted = steps["player"][steps["player", "mask"]]  # the rows of seats whose action was played
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(acted)).chunk(MINIBATCHES):
                losses = loss(TensorDict({"player": acted[rows]}, [len(rows)]))
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimizer.step()
        if time.monotonic() > deadline:
            break
    logits = loss.actor_network[0].module

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return logits(torch.as_tensor(observations)).masked_fill(~torch.as_tensor(masks), -1e9).argmax(-1).numpy()

    return policy


def main(minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn by self-play, then play deals from every seat against `random` and print the win share."""
    report(train(players, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
