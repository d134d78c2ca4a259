"""MaskablePPO of Stable-Baselines3 on the Gymnasium environment: the learner has one seat, `random` plays the others.

    python training/examples/sb3_gymnasium.py --minutes 1 --players 4

It needs the extra `ppo`. MaskablePPO finds `action_masks()` of the environment itself.
"""

from __future__ import annotations

import time

import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

NUM_ENVS, NUM_STEPS = 8, 512  # games at once, and decisions in each of them between two updates


def train(num_players: int, seconds: float, seed: int = 0) -> Policy:
    """Learn for some seconds on one thread, at least one update. Returns the policy, which takes the likeliest action."""
    torch.set_num_threads(1)  # more threads do nothing for a net this small
    deadline = time.monotonic() + seconds
    arguments = {"num_players": num_players, "opponents": "random", "reward": "margin"}
    model = MaskablePPO(
        "MlpPolicy",
        make_vec_env("bombay_env:bombay/Bombay-v0", n_envs=NUM_ENVS, env_kwargs=arguments),
        n_steps=NUM_STEPS,
        batch_size=512,
        n_epochs=4,
        learning_rate=1e-3,
        gamma=1.0,  # all reward comes at the end of a game, and a game always ends
        ent_coef=0.01,
        seed=NUM_ENVS * seed,  # of the games, too: lane i plays NUM_ENVS * seed + i
        device="cpu",
    )
    while model.num_timesteps == 0 or time.monotonic() < deadline:
        model.learn(NUM_ENVS * NUM_STEPS, reset_num_timesteps=False)

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        return model.predict(observations, action_masks=masks, deterministic=True)[0]

    return policy


def main(minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn against `random`, then play deals from every seat and print the win share."""
    report(train(players, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
