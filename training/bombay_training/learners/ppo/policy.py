"""The policy of self-play PPO: how `MaskablePPO` is built, and how its weights become a net that plays without PyTorch.

Policy and value share a trunk. If the observation ends with what each action loses according to a lookahead
(`policy_features.py`), these losses bypass the trunk, and the policy starts out preferring actions with small losses. How the
model is trained is in `run.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from bombay_agents.nets import policy_features
from bombay_agents.nets.policy_net import PARTS, Layer, Net
from bombay_training.learners.ppo.seat_buffer import SeatRolloutBuffer
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.ppo.vec_env import BombayVecEnv

TORCH_ACTIVATIONS: Final = {"relu": nn.ReLU, "tanh": nn.Tanh}


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share. The last `passed` features are appended to their output unchanged.

    Args:
        observation_space: of shape (F,).
        widths: of the layers; without any, the output is the observation.
        activation: class of the activation after each layer.
        passed: number of features that bypass the layers; ignored without layers.
    """

    def __init__(
        self, observation_space: spaces.Box, widths: tuple[int, ...], activation: type[nn.Module], passed: int
    ) -> None:
        sizes = (*observation_space.shape, *widths)
        self.passed = passed if widths else 0
        super().__init__(observation_space, features_dim=sizes[-1] + self.passed)
        layers = [(nn.Linear(a, b), activation()) for a, b in itertools.pairwise(sizes)]
        self.layers = nn.Sequential(*(module for layer in layers for module in layer))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(batch, F) float32 to (batch, last width + passed)."""
        hidden = self.layers(observations)
        return torch.cat((hidden, observations[:, -self.passed :]), 1) if self.passed else hidden


def make_model(settings: PPOSettings, env: BombayVecEnv, remaining: Callable[[], float]) -> MaskablePPO:
    """`MaskablePPO` with a `SeatRolloutBuffer` that reads the seats of `env`.

    Args:
        settings: of the run.
        env: the environment.
        remaining: the remaining part of the run, 1 to 0, which scales the learning rate.
    """
    activation = TORCH_ACTIVATIONS[settings.activation]
    passed = policy_features.num_losses(env.groups[0].game, settings.observation_mode)
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=settings.num_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        learning_rate=lambda _: settings.learning_rate * remaining(),
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        vf_coef=settings.value_weight,
        max_grad_norm=settings.max_grad_norm,
        gamma=settings.gamma,
        gae_lambda=settings.gae_lambda,
        rollout_buffer_class=SeatRolloutBuffer,
        policy_kwargs={
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {"widths": settings.trunk, "activation": activation, "passed": passed},
            "net_arch": {"pi": list(settings.policy), "vf": list(settings.value)},
            "activation_fn": activation,
        },
        seed=settings.seed,
        device="cpu",
    )

    def value_fn(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model.policy.predict_values(torch.from_numpy(observations)).numpy()[:, 0]  # type: ignore[no-any-return]

    model.rollout_buffer.attach(env, value_fn)
    if passed and settings.trunk and not settings.policy:
        with torch.no_grad():
            model.policy.action_net.weight[:, -passed:] = settings.trust * torch.eye(passed)
    return model


def extract_net(model: MaskablePPO, settings: PPOSettings, features: str, about: Mapping[str, Any]) -> Net:
    """The model's weights as a net that plays without PyTorch; equal weights give equal files.

    Args:
        model: from `make_model`.
        settings: of the run.
        features: digest of the features (`policy_features.digest`).
        about: what the file says about games and training.
    """
    policy = model.policy
    modules = {
        "trunk": (policy.features_extractor,),
        "policy": (policy.mlp_extractor.policy_net, policy.action_net),
        "value": (policy.mlp_extractor.value_net, policy.value_net),
    }

    def layers(part: str) -> tuple[Layer, ...]:
        linear = (found for module in modules[part] for found in module.modules() if isinstance(found, nn.Linear))
        return tuple((layer.weight.detach().numpy().copy(), layer.bias.detach().numpy().copy()) for layer in linear)

    return Net(
        parts={part: layers(part) for part in PARTS},
        activation=settings.activation,
        features=features,
        observation_mode=settings.observation_mode,
        passed=policy.features_extractor.passed,
        about=dict(about),
    )
