"""`SelfPlayPPO`: `MaskablePPO` that learns from the decisions of all seats, and its weights as a net that plays without PyTorch.

The algorithm is that of `sb3_contrib`, unchanged. New are the buffer, with advantages per seat (`seat_buffer.py`), and what a run
needs: `run.py` calls `update` until the run is over, and saves `tensors`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, create_mlp
from torch import nn

from bombay_agents.nets.policy.net import PolicyNet
from bombay_env import Game
from bombay_training.learners.ppo.seat_buffer import SeatRolloutBuffer
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.ppo.vec_env import BombayVecEnv
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

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights, Adam's moments and the games in progress, by name; views of their own memory."""
        tensors = self.env.tensors()
        for name, weights in self.policy.named_parameters():
            tensors[f"net.{name}"] = weights.detach().numpy()
            for moment, tensor in self.policy.optimizer.state[weights].items():
                tensors[f"adam.{moment}.{name}"] = tensor.numpy()
        return tensors

    def restore(self, tensors: Mapping[str, np.ndarray]) -> None:
        """Take over what `tensors` returned. Raises ValueError if the state of a game is not sound (see `Game`)."""
        for name, memory in self.tensors().items():
            memory[...] = tensors[name]
        self._last_obs = self.env.refresh()

    def net(self, games: Sequence[Game], training: Mapping[str, Any]) -> PolicyNet:
        """The weights as a net that plays without PyTorch.

        Args:
            games: of the run.
            training: what the net's file says about its training.
        """
        policy = self.policy
        return policy_net(
            games,
            nn.Sequential(policy.mlp_extractor.policy_net, policy.action_net),
            nn.Sequential(policy.mlp_extractor.value_net, policy.value_net),
            policy.features_extractor,
            self.settings.activation,
            self.settings.observation_mode,
            training,
        )
