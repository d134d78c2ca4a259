"""Self-play PPO: one update, and what a run saves.

One net plays every seat of many games in parallel and learns from all of them. The algorithm is the unchanged
`sb3_contrib.MaskablePPO`, with a native vector environment (`vec_env.py`) and advantages that run per seat (`seat_buffer.py`). An
update is a rollout and a few epochs of learning from it. All random numbers of an update are keyed by the seed and the update's
number, so only the weights, Adam's moments and the games in progress carry over to the next. Settings are in `settings.py`, the
networks in `policy.py`, the loop around the updates in `runs/run.py`. Besides the files of every run there are events for
TensorBoard. Neither `save` nor `load` of Stable-Baselines3 is used, and no pickle.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.callbacks import CallbackList
from stable_baselines3.common.utils import set_random_seed

import bombay_env
from bombay_agents import make
from bombay_agents.nets import policy_features
from bombay_agents.nets.files import about_games
from bombay_agents.nets.policy_net import Net
from bombay_agents.nets.policy_net_agent import NetAgent
from bombay_training.learners.ppo.event_file import EventFile
from bombay_training.learners.ppo.policy import extract_net, make_model
from bombay_training.learners.ppo.seat_buffer import MAX_SEATS
from bombay_training.learners.ppo.seat_games import NOWHERE
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.ppo.vec_env import BombayVecEnv
from bombay_training.learners.runs import Run, run_files
from bombay_training.learners.runs.checkpoints import CheckpointForm, forms_like
from bombay_training.learners.runs.settings import MAX_BATCH


class PPORun(Run):
    """A run of self-play PPO."""

    settings_class = PPOSettings
    checkpoint_format = "bombay-ppo-checkpoint/1"
    neutral_settings = ("board", "references")
    distributions = (*run_files.DISTRIBUTIONS, "torch", "stable-baselines3", "sb3-contrib")
    settings: PPOSettings

    def __init__(self, settings: PPOSettings) -> None:
        super().__init__(settings)
        for spec in settings.references:
            make(spec)  # so that an unknown agent is refused now
        torch.set_num_threads(settings.threads)
        self.env = BombayVecEnv(
            self.games,
            settings.num_envs,
            settings.seed,
            shaping_weight=settings.shaping_weight,
            observation_mode=settings.observation_mode,
            shaping=settings.shaping,
        )
        self.model = make_model(settings, self.env, lambda: self.clock.remaining)
        self.model.learn(0)  # deals the first games
        self.callback = CallbackList([])
        self.callback.init_callback(self.model)
        self.features = policy_features.digest(self.games[0], settings.observation_mode)

    def update(self) -> dict[str, float]:
        """Collect a rollout and learn from it."""
        settings, model, env = self.settings, self.model, self.env
        key = np.random.SeedSequence((settings.seed, self.clock.updates_done))
        set_random_seed(int(key.generate_state(1)[0]))
        env.blend = self.blend
        model.ent_coef = settings.entropy * self.clock.remaining
        start, env_before = time.perf_counter(), env.seconds
        model.collect_rollouts(env, self.callback, model.rollout_buffer, settings.num_steps)
        rewards = self._seat_rewards()
        collected, env_seconds = time.perf_counter(), env.seconds - env_before
        model.train()
        end = time.perf_counter()
        return {
            "decisions_per_second": round(settings.num_envs * settings.num_steps / (end - start), 1),
            "env_seconds": round(env_seconds, 4),
            "net_seconds": round(collected - start - env_seconds, 4),
            "learn_seconds": round(end - collected, 4),
            "seat_reward_mean": float(rewards.mean()),
            "seat_reward_std": float(rewards.std()),
            "blend": env.blend,
            **env.take_statistics().as_metrics(),
            **self._losses(),
        }

    @property
    def blend(self) -> float:
        """Current weight of the win, as opposed to the margin, in a game's reward."""
        return self.settings.blend * self.clock.fraction

    def _seat_rewards(self) -> np.ndarray:
        """The rewards of all seats in the rollout."""
        seated = np.arange(MAX_SEATS) < self.env.num_seats[:, None]
        return np.asarray(self.model.rollout_buffer.seat_rewards[:, seated])

    def _losses(self) -> dict[str, float]:
        """What `MaskablePPO` logged about its last training step."""
        logged = self.model.logger.name_to_value
        return {
            "entropy": -float(logged["train/entropy_loss"]),
            "value_loss": float(logged["train/value_loss"]),
            "explained_variance": float(logged["train/explained_variance"]),
            "approximate_kl": float(logged["train/approx_kl"]),
            "clip_fraction": float(logged["train/clip_fraction"]),
            "learning_rate": float(logged["train/learning_rate"]),
        }

    def totals(self) -> dict[str, float]:
        """Decisions learned from so far."""
        return {"decisions": self.clock.updates_done * self.settings.num_envs * self.settings.num_steps}

    def smallest(self) -> PPOSettings:
        """A rollout of one step, or two where that is a single decision, learned from in one batch and epoch."""
        steps = 1 if self.settings.num_envs > 1 else 2
        batch_size = min(self.settings.num_envs * steps, MAX_BATCH)
        return dataclasses.replace(self.settings, num_steps=steps, batch_size=batch_size, epochs=1)

    def references(self) -> tuple[str, ...]:
        """As set."""
        return self.settings.references

    @contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Open TensorBoard's event file; events after the last checkpoint are discarded."""
        self.events = EventFile(folder, self.clock.updates_done + 1)
        yield

    def log(self, line: Mapping[str, float]) -> None:
        """Write the metrics as TensorBoard events."""
        step = int(line["update"])
        self.events.add({name: figure for name, figure in line.items() if name != "update"}, step)

    # What a run saves

    def net(self) -> Net:
        """The policy and value nets, as trained so far."""
        return extract_net(self.model, self.settings, self.features, self.about())

    def about(self) -> dict[str, Any]:
        """The games and how the net was trained, for its file."""
        training = {
            "algorithm": "self-play PPO, advantages per seat",
            "seed": self.settings.seed,
            "players": list(self.settings.players),
            "blend": self.blend,
            "shaping_weight": self.settings.shaping_weight,
            "shaping": self.settings.shaping,
            "updates": self.clock.updates_done,
            "decisions": self.totals()["decisions"],
            "bombay_env": bombay_env.__version__,
        }
        return {**about_games(self.games), "training": training}

    def player(self) -> NetAgent:
        """The agent that plays with `net`."""
        return NetAgent(self.net())

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights, Adam's moments, and the games in progress."""
        tensors = {f"net.{name}": weights for name, weights in self._weights()}
        for number, moments in enumerate(self._moments()):
            tensors |= {f"adam.{number}.{name}": tensor.numpy() for name, tensor in moments.items()}
        return tensors | {f"games.{name}": tensor for name, tensor in self.env.snapshot().items()}

    def checkpoint_form(self) -> CheckpointForm:
        """Arrays as they are now; Adam's steps and second moments and the games' lengths are no less than 0."""
        positive, sites = (0, math.inf), self.games[0].board.num_sites
        ranges = {
            "adam.*.step": positive,
            "adam.*.exp_avg_sq": positive,
            "games.lengths": positive,
            "games.came_from.*": (NOWHERE, sites - 1),
        }
        return CheckpointForm({}, forms_like(self.tensors(), ranges))

    def restore(self, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """Take over the contents of a checkpoint. Raises ValueError, and changes nothing, if a game is impossible."""
        parts: dict[str, dict[str, np.ndarray]] = {"net": {}, "adam": {}, "games": {}}
        for name, tensor in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        self.model._last_obs = self.env.restore(parts["games"])
        for name, weights in self._weights():
            weights[:] = parts["net"][name]
        self._restore_adam(parts["adam"])

    def _weights(self) -> Iterator[tuple[str, np.ndarray]]:
        """The model's weights by name; views of its own memory."""
        return ((name, tensor.detach().numpy()) for name, tensor in self.model.policy.named_parameters())

    def _moments(self) -> Iterator[dict[str, torch.Tensor]]:
        """What Adam remembers of each parameter; before its first step that is zeros."""
        optimizer = self.model.policy.optimizer
        for parameter in optimizer.param_groups[0]["params"]:
            zeros = torch.zeros_like(parameter, requires_grad=False)
            fresh = {"step": torch.zeros(()), "exp_avg": zeros, "exp_avg_sq": zeros}
            yield {**fresh, **optimizer.state.get(parameter, {})}

    def _restore_adam(self, tensors: Mapping[str, np.ndarray]) -> None:
        optimizer = self.model.policy.optimizer
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in tensors.items():
            number, _, moment = name.partition(".")
            moments.setdefault(int(number), {})[moment] = torch.from_numpy(tensor.copy())
        optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})

    def identity_parts(self) -> list[str]:
        """The digest of the features."""
        return [self.features]
