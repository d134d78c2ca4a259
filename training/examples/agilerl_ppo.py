"""PPO of AgileRL on the native vector environment: the learner has one seat, `random` plays the others.

    python training/examples/agilerl_ppo.py --minutes 1 --players 4

It needs the extra `agilerl`, in an environment of its own (docs/trainers.md). AgileRL finds `action_mask` in the infos. One agent
learns here; `agilerl.training.train_on_policy` runs a population of such agents with mutations on the same environment.
"""

from __future__ import annotations

import time

import gymnasium
import numpy as np
import torch
import typer
from agilerl.algorithms import PPO
from agilerl.rollouts import collect_rollouts
from common import Blocks, Minutes, Players, Policy, Seed, report

NUM_ENVS, NUM_STEPS = 16, 256  # games at once, and decisions in each of them between two updates
NET = {"encoder_config": {"hidden_size": [64]}, "head_config": {"hidden_size": [64]}}


def train(num_players: int, seconds: float, seed: int = 0) -> Policy:
    """Learn for some seconds on one thread, at least one update. Returns the policy, which draws its actions."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    arguments = {"num_players": num_players, "reward": "margin", "autoreset_mode": "same_step"}
    envs = gymnasium.make_vec("bombay_env:bombay/Bombay-v0", num_envs=NUM_ENVS, **arguments)
    agent = PPO(
        envs.single_observation_space,
        envs.single_action_space,
        net_config=NET,
        batch_size=512,
        lr=1e-3,
        learn_step=NUM_ENVS * NUM_STEPS,
        gamma=1.0,  # all reward comes at the end of a game
        share_encoders=False,
        num_envs=NUM_ENVS,
        use_rollout_buffer=True,
    )
    observations, infos = envs.reset(seed=NUM_ENVS * seed)  # lane i plays NUM_ENVS * seed + i
    ended, scores = np.zeros(NUM_ENVS), np.zeros(NUM_ENVS)
    deadline = time.monotonic() + seconds
    while True:
        _, observations, ended, scores, infos = collect_rollouts(
            agent, envs, NUM_STEPS, last_obs=observations, last_done=ended, last_scores=scores, last_info=infos
        )
        agent.learn()
        if time.monotonic() > deadline:
            break
    agent.set_training_mode(False)

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return agent.get_action(observations, action_mask=masks)[0]

    return policy


def main(minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn against `random`, then play deals from every seat and print the win share."""
    report(train(players, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
