"""Self-play PPO: one update, what a run saves, and `MaskablePPO` that learns from the decisions of all seats.

One net plays every seat of many games in parallel and learns from all of them. All random numbers of an update are keyed by seed
and number of the update, so only the weights, Adam's moments and the games in progress carry over to the next. The algorithm is
that of `sb3_contrib`, unchanged. New are the buffer, with advantages per seat (`seat_buffer.py`), and the games (`vec_env.py`).
Settings are in `settings.py`, the loop in `runs/run.py`. Nothing is saved or loaded by Stable-Baselines3, and nothing is pickled.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, create_mlp
from stable_baselines3.common.utils import set_random_seed
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import bombay_env
from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.nets.policy.net import PolicyNet
from bombay_training.learners.ppo.seat_buffer import SeatRolloutBuffer
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.ppo.vec_env import BombayVecEnv
from bombay_training.learners.runs import Run, run_files
from bombay_training.torch_nets import policy_net

TORCH_ACTIVATIONS: Final = {"relu": nn.ReLU, "tanh": nn.Tanh}
# Metrics by Stable-Baselines3's own names.
LOGGED: Final = ("entropy_loss", "value_loss", "explained_variance", "approx_kl", "clip_fraction", "learning_rate")


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share; without any widths it passes the observation on."""

    def __init__(self, observation_space: spaces.Box, widths: tuple[int, ...], activation: type[nn.Module]) -> None:
        (num_features,) = observation_space.shape
        super().__init__(observation_space, features_dim=(num_features, *widths)[-1])
        self.layers = nn.Sequential(*create_mlp(num_features, 0, list(widths), activation))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(batch, F) float32 to (batch, last width)."""
        return self.layers(observations)


class FinalRupees(BaseCallback):
    """Notes the final rupees of every game that ends in a rollout."""

    def _on_rollout_start(self) -> None:
        self.games: list[np.ndarray] = []  # (n,) rupees of all seats

    def _on_step(self) -> bool:
        self.games += [info["final_rupees"] for info in self.locals["infos"] if info]
        return True


class SelfPlayPPO(MaskablePPO):
    """`MaskablePPO` with a `SeatRolloutBuffer`; its first games are dealt at once."""

    env: BombayVecEnv
    rollout_buffer: SeatRolloutBuffer

    def __init__(self, settings: PPOSettings, env: BombayVecEnv) -> None:
        activation = TORCH_ACTIVATIONS[settings.activation]
        super().__init__(
            "MlpPolicy",
            env,
            n_steps=settings.num_steps,
            batch_size=settings.batch_size,
            n_epochs=settings.epochs,
            learning_rate=lambda remaining: settings.learning_rate * remaining,
            clip_range=settings.clip,
            vf_coef=settings.value_weight,
            max_grad_norm=settings.max_grad_norm,
            gamma=settings.gamma,
            gae_lambda=settings.gae_lambda,
            rollout_buffer_class=SeatRolloutBuffer,
            policy_kwargs={
                "features_extractor_class": Trunk,
                "features_extractor_kwargs": {"widths": settings.trunk, "activation": activation},
                "net_arch": {"pi": list(settings.policy), "vf": list(settings.value)},
                "activation_fn": activation,
            },
            seed=settings.seed,
            device="cpu",
        )
        self.settings = settings
        self.rollout_buffer.attach(env, self.values)
        self._last_obs, self._last_episode_starts = env.reset(), np.ones(env.num_envs, bool)
        for weights in self.policy.parameters():  # as Adam's first step would; so every checkpoint has the same tensors
            moments = {name: torch.zeros_like(weights) for name in ("exp_avg", "exp_avg_sq")}
            self.policy.optimizer.state[weights] = {"step": torch.tensor(0.0), **moments}

    def values(self, observations: np.ndarray) -> np.ndarray:
        """(N,) float32: what the value net expects for observations (N, F) float32."""
        with torch.no_grad():
            return self.policy.predict_values(torch.from_numpy(observations)).numpy()[:, 0]

    def update(self, remaining: float) -> dict[str, float]:
        """Collect a rollout and learn from it when this part of the run remains, 1 to 0. Returns `LOGGED` and other metrics."""
        self._current_progress_remaining = remaining
        self.ent_coef = self.settings.entropy * remaining
        final, decisions = FinalRupees(), self.n_steps * self.n_envs
        self.learn(decisions, callback=final, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
        metrics = {name: float(self.logger.name_to_value[f"train/{name}"]) for name in LOGGED}
        if final.games:
            metrics["final_rupees"] = float(np.mean([rupees.mean() for rupees in final.games]))
        return {"games": len(final.games), **metrics}

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        """Leave it as `update` set it. For `learn`, which is called for one update at a time, each of them is a whole run."""


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

    def update(self, done: float) -> dict[str, float]:
        """Collect a rollout and learn from it."""
        settings, start = self.settings, time.perf_counter()
        key = np.random.SeedSequence((settings.seed, self.updates_done))
        set_random_seed(int(key.generate_state(1)[0]))
        self.env.blend = settings.blend * done
        metrics = self.model.update(1.0 - done)
        rate = settings.num_envs * settings.num_steps / (time.perf_counter() - start)
        return {"decisions_per_second": round(rate, 1), "blend": self.env.blend, **metrics}

    def totals(self) -> dict[str, float]:
        """Decisions learned from so far."""
        return {"decisions": self.updates_done * self.settings.num_envs * self.settings.num_steps}

    @contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Open TensorBoard's event file; events after the last checkpoint are discarded."""
        with SummaryWriter(str(folder), purge_step=self.updates_done + 1) as self.events:
            yield

    def log(self, line: Mapping[str, float]) -> None:
        """Write the metrics as TensorBoard events."""
        for name in line.keys() - {"update"}:
            self.events.add_scalar(name, line[name], line["update"])
        self.events.flush()

    def net(self) -> PolicyNet:
        """The policy and value nets, as trained so far, as a net that plays without PyTorch."""
        policy, settings = self.model.policy, self.settings
        training = {
            "algorithm": "self-play PPO, advantages per seat",
            "seed": settings.seed,
            "players": list(settings.players),
            "updates": self.updates_done,
            "decisions": self.totals()["decisions"],
            "bombay_env": bombay_env.__version__,
        }
        return policy_net(
            self.games,
            nn.Sequential(policy.mlp_extractor.policy_net, policy.action_net),
            nn.Sequential(policy.mlp_extractor.value_net, policy.value_net),
            policy.features_extractor,
            settings.activation,
            settings.observation_mode,
            training,
        )

    def player(self) -> PolicyNetAgent:
        """The agent that plays with `net`."""
        return PolicyNetAgent(self.net())

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights, Adam's moments, and the games in progress."""
        tensors, policy = self.env.tensors(), self.model.policy
        for name, weights in policy.named_parameters():
            tensors[f"net.{name}"] = weights.detach().numpy()
            for moment, tensor in policy.optimizer.state[weights].items():
                tensors[f"adam.{moment}.{name}"] = tensor.numpy()
        return tensors

    def restore(self, counters: Mapping[str, Any]) -> None:
        """Observe the games in progress. Raises ValueError if a state is not sound (see `Game`)."""
        self.model._last_obs = self.env.refresh()

    def identity_parts(self) -> list[str]:
        """The digest of the observation."""
        return [self.games[0].feature_layout.digest]
