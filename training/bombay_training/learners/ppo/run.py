"""Self-play PPO: one update, and what a run saves.

One net plays every seat of many games in parallel and learns from all of them. All random numbers of an update are keyed by seed
and number of the update, so only the weights, Adam's moments and the games in progress carry over to the next. Settings are in
`settings.py`, the algorithm in `model.py`, the games in `vec_env.py`, the loop in `runs/run.py`. Nothing is saved or loaded by
Stable-Baselines3, and nothing is pickled.
"""

import dataclasses
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.utils import set_random_seed
from torch.utils.tensorboard import SummaryWriter

import bombay_env
from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.nets.policy.net import PolicyNet
from bombay_training.learners.ppo.model import SelfPlayPPO
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.ppo.vec_env import BombayVecEnv
from bombay_training.learners.runs import Run, run_files


class PPORun(Run):
    """A run of self-play PPO."""

    settings_class = PPOSettings
    checkpoint_format = "bombay-ppo-checkpoint/2"
    distributions = (*run_files.DISTRIBUTIONS, "torch", "stable-baselines3", "sb3-contrib")
    settings: PPOSettings

    def __init__(self, settings: PPOSettings) -> None:
        super().__init__(settings)
        torch.set_num_threads(settings.threads)
        self.env = BombayVecEnv(
            self.games,
            settings.num_envs,
            settings.seed,
            shaping_weight=settings.shaping_weight,
            observation_mode=settings.observation_mode,
        )
        self.model = SelfPlayPPO(settings, self.env)

    def update(self) -> dict[str, float]:
        """Collect a rollout and learn from it."""
        settings, start = self.settings, time.perf_counter()
        key = np.random.SeedSequence((settings.seed, self.clock.updates_done))
        set_random_seed(int(key.generate_state(1)[0]))
        self.env.blend = settings.blend * self.clock.fraction
        metrics = self.model.update(1.0 - self.clock.fraction)
        rate = settings.num_envs * settings.num_steps / (time.perf_counter() - start)
        return {"decisions_per_second": round(rate, 1), "blend": self.env.blend, **metrics}

    def totals(self) -> dict[str, float]:
        """Decisions learned from so far."""
        return {"decisions": self.clock.updates_done * self.settings.num_envs * self.settings.num_steps}

    def smallest(self) -> PPOSettings:
        """A rollout of two steps, learned from in one batch and epoch."""
        return dataclasses.replace(self.settings, num_steps=2, batch_size=2 * self.settings.num_envs, epochs=1)

    @contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Open TensorBoard's event file; events after the last checkpoint are discarded."""
        with SummaryWriter(str(folder), purge_step=self.clock.updates_done + 1) as self.events:
            yield

    def log(self, line: Mapping[str, float]) -> None:
        """Write the metrics as TensorBoard events."""
        for name in line.keys() - {"update"}:
            self.events.add_scalar(name, line[name], line["update"])
        self.events.flush()

    def net(self) -> PolicyNet:
        """The policy and value nets, as trained so far."""
        training = {
            "algorithm": "self-play PPO, advantages per seat",
            "seed": self.settings.seed,
            "players": list(self.settings.players),
            "updates": self.clock.updates_done,
            "decisions": self.totals()["decisions"],
            "bombay_env": bombay_env.__version__,
        }
        return self.model.net(self.games, training)

    def player(self) -> PolicyNetAgent:
        """The agent that plays with `net`."""
        return PolicyNetAgent(self.net())

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights, Adam's moments, and the games in progress."""
        return self.model.tensors()

    def restore(self, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """Take over the contents of a checkpoint. Raises ValueError if a state is not sound."""
        self.model.restore(tensors)

    def identity_parts(self) -> list[str]:
        """The digest of the observation."""
        return [self.games[0].feature_layout.digest]
