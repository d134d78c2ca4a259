"""Self-play PPO: one experiment, read from top to bottom.

One net plays every seat of many games at once and learns from all of them. The learner is `sb3_contrib.MaskablePPO` as it
stands, on the native `BombayVecEnv` and with advantages that run per seat (`SeatRolloutBuffer`). A run leaves in its folder

    agent.safetensors   the net, playable by `bombay_agents.net`; written anew every half minute and at the end
    settings.json       the settings, the versions of everything, the code revision
    metrics.jsonl       one line an update

No Stable-Baselines3 `save` or `load` and no pickle anywhere. It does not judge the agent: that is the arena's business.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

import bombay_env
from bombay_agents.net import ACTIVATIONS, MODES, PARTS, Layer, Net
from bombay_agents.net_files import about_games
from bombay_env import Board, Game, Rules
from bombay_env.rewards import check_reward
from bombay_training import runs
from bombay_training.runs import Clock, Progress, Silence, Stop, stop_on_signal
from bombay_training.seat_buffer import MAX_SEATS, SeatRolloutBuffer
from bombay_training.vec_env import BombayVecEnv, ObservationMode

SAVE_SECONDS: Final = 30.0  # between two writings of the weights
DISTRIBUTIONS: Final = (*runs.DISTRIBUTIONS, "torch", "stable-baselines3", "sb3-contrib")
TORCH_ACTIVATIONS: Final = {"relu": nn.ReLU, "tanh": nn.Tanh}


@dataclasses.dataclass(frozen=True)
class PPOSettings:
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    minutes: float = 3.0
    """Wall time of learning; not used if `updates` is given."""
    updates: int | None = None
    """Rollouts to learn from, each of num_envs · num_steps decisions."""
    players: tuple[int, ...] = (2, 3, 4, 5)
    """Kinds of table; the lanes are divided evenly among them."""
    board: str | None = None
    """A board file; the packaged board if None."""
    observation_mode: ObservationMode = "perfect_recall"
    """What a seat sees of the others' holdings."""
    reward: str = "margin"
    """What the end of a game pays each seat: win, rank or margin, zero-sum."""
    shaping_weight: float = 1.0
    """Each step also pays every seat this much times the change of its `prospects`."""
    num_envs: int = 128
    """Games side by side."""
    num_steps: int = 64
    """Decisions in each game a rollout, of all seats together."""
    batch_size: int = 1024
    """Decisions a gradient step."""
    epochs: int = 4
    """Times each decision is learned from."""
    learning_rate: float = 1e-3
    """Adam's step at the start; falls linearly to zero over the run."""
    entropy: float = 0.03
    """Weight of the policy's entropy in the loss at the start; falls linearly to zero over the run."""
    value_weight: float = 0.5
    """Weight of the value's squared error in the loss."""
    clip: float = 0.2
    """How far the policy's ratio counts in an update."""
    max_grad_norm: float = 0.5
    """Longer gradients are shortened to this."""
    gamma: float = 1.0
    """Discount a decision of one's own; 1, since every game ends."""
    gae_lambda: float = 0.95
    """How far advantages trust what happened over what the value expected, a decision of one's own."""
    trunk: tuple[int, ...] = (128,)
    """Widths of the layers that policy and value share."""
    policy: tuple[int, ...] = (64,)
    """Widths of the policy's own hidden layers."""
    value: tuple[int, ...] = (64,)
    """Widths of the value's own hidden layers."""
    activation: str = "relu"
    """relu or tanh."""
    seed: int = 0
    """Of the deals, the weights and the sampling."""
    threads: int = 1
    """Threads of PyTorch; another number sums in another order."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, for anything that cannot be learned with."""
        for name in ("players", "trunk", "policy", "value"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        whole = ("num_envs", "num_steps", "batch_size", "epochs", "threads")
        checks: list[tuple[str, bool, str]] = [
            ("minutes", self.minutes > 0, "above 0"),
            ("updates", self.updates is None or self.updates >= 1, "None or at least 1"),
            ("players", bool(self.players) and set(self.players) <= {2, 3, 4, 5}, "one or more of 2, 3, 4, 5"),
            ("observation_mode", self.observation_mode in MODES, f"one of {', '.join(MODES)}"),
            ("activation", self.activation in ACTIVATIONS, f"one of {', '.join(ACTIVATIONS)}"),
            *((name, getattr(self, name) >= 1, "at least 1") for name in whole),
            *((name, min(getattr(self, name), default=1) >= 1, "widths of at least 1") for name in PARTS),
            ("num_envs", self.num_envs >= len(self.players), f"at least {len(self.players)}, one a kind of table"),
            ("batch_size", self.batch_size >= 2, "at least 2"),
            ("learning_rate", self.learning_rate > 0, "above 0"),
            ("clip", self.clip > 0, "above 0"),
            ("max_grad_norm", self.max_grad_norm > 0, "above 0"),
            *((name, getattr(self, name) >= 0, "at least 0") for name in ("entropy", "value_weight", "seed")),
            *((name, 0 <= getattr(self, name) <= 1, "from 0 to 1") for name in ("gamma", "gae_lambda")),
        ]
        for name, holds, allowed in checks:
            if not holds:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be {allowed}")
        check_reward(self.reward)


def train(settings: PPOSettings, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Learn and leave agent, settings and metrics in the folder `out`, which is made if need be.

    SIGINT (Ctrl-C) and SIGTERM end the run after the present game step or update: what was learned is saved, then the
    signal takes its usual course. A second Ctrl-C does not wait.

    Returns:
        The path of `agent.safetensors`.
    Raises:
        ValueError: the board file is not valid.
        KeyboardInterrupt: after saving, on Ctrl-C.
    """
    torch.set_num_threads(settings.threads)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    runs.write_json(folder / runs.SETTINGS, runs.describe(settings, DISTRIBUTIONS))

    board = Board.load(settings.board)
    games = [Game(Rules.official(players), board) for players in settings.players]
    env = BombayVecEnv(
        games,
        settings.num_envs,
        settings.seed,
        reward=settings.reward,
        shaping_weight=settings.shaping_weight,
        observation_mode=settings.observation_mode,
    )
    env.warm_up()
    clock = Clock(settings.minutes, settings.updates)
    model = make_model(settings, env, clock)
    agent = folder / "agent.safetensors"

    with stop_on_signal() as stop, (folder / "metrics.jsonl").open("w", encoding="utf-8") as metrics:

        def save() -> None:
            extract_net(model, settings, games, clock.updates_done).save(agent)

        def report(figures: Mapping[str, float]) -> None:
            metrics.write(json.dumps(figures) + "\n")
            metrics.flush()

        whole_run = (
            sys.maxsize if settings.updates is None else settings.updates * settings.num_envs * settings.num_steps
        )
        follower = Follower(clock, stop, env, save, report, progress or Silence())
        model.learn(whole_run, follower, log_interval=None)
        save()
    return agent


# --- the learner ---


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share."""

    def __init__(self, observation_space: spaces.Box, widths: tuple[int, ...], activation: type[nn.Module]) -> None:
        super().__init__(observation_space, features_dim=(*observation_space.shape, *widths)[-1])
        sizes = (*observation_space.shape, *widths)
        layers = [(nn.Linear(a, b), activation()) for a, b in itertools.pairwise(sizes)]
        self.layers = nn.Sequential(*(module for layer in layers for module in layer))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(batch, F) float32 to (batch, last width)."""
        return self.layers(observations)  # type: ignore[no-any-return]


def make_model(settings: PPOSettings, env: BombayVecEnv, clock: Clock) -> MaskablePPO:
    """MaskablePPO with its buffer attached to `env`; its steps shrink as `clock` runs."""
    activation = TORCH_ACTIVATIONS[settings.activation]
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=settings.num_steps,
        batch_size=settings.batch_size,
        n_epochs=settings.epochs,
        learning_rate=lambda _: settings.learning_rate * clock.remaining,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
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

    def value_fn(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model.policy.predict_values(torch.from_numpy(observations)).numpy()[:, 0]  # type: ignore[no-any-return]

    model.rollout_buffer.attach(env, value_fn)
    return model


def extract_net(model: MaskablePPO, settings: PPOSettings, games: list[Game], updates: int) -> Net:
    """The model's weights as a net that plays without PyTorch; the same weights make the same file."""
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
        features=games[0].feature_layout.digest,
        observation_mode=settings.observation_mode,
        about={
            **about_games(games),
            "training": {
                "algorithm": "self-play PPO, advantages per seat",
                "seed": settings.seed,
                "players": list(settings.players),
                "reward": settings.reward,
                "shaping_weight": settings.shaping_weight,
                "updates": updates,
                "decisions": updates * settings.num_envs * settings.num_steps,
                "bombay_env": bombay_env.__version__,
            },
        },
    )


# --- following a run ---


class Follower(BaseCallback):
    """Anneals, reports, saves now and then, and ends the run in time."""

    def __init__(
        self,
        clock: Clock,
        stop: Stop,
        env: BombayVecEnv,
        save: Callable[[], None],
        report: Callable[[Mapping[str, float]], None],
        progress: Progress,
    ) -> None:
        super().__init__()
        self.clock = clock
        self.stop = stop
        self.env = env
        self.save = save
        self.report = report
        self.progress = progress
        self.figures: dict[str, float] = {}
        self.learning = False  # an update is under way: between the end of a rollout and what follows

    def _on_training_start(self) -> None:
        self.clock.start = self.last_save = time.monotonic()
        self.entropy = self.model.ent_coef

    def _on_rollout_start(self) -> None:
        self._finish_update()
        self.rollout_start = time.monotonic()

    def _on_step(self) -> bool:
        """Go on; False ends the run at once, without the unfinished rollout."""
        if self.num_timesteps % (16 * self.env.num_envs) == 0:
            self.progress.update(self.clock.fraction, self.figures)
        return self.stop.signal is None and self.clock.fraction < 1.0

    def _on_rollout_end(self) -> None:
        self.update_start = time.monotonic()
        self.model.ent_coef = self.entropy * self.clock.remaining
        seated = np.arange(MAX_SEATS) < self.env.num_seats[:, None]
        self.rewards = self.model.rollout_buffer.seat_rewards[
            :, seated
        ]  # a copy: the buffer is empty when figures are due
        self.learning = True

    def _on_training_end(self) -> None:
        self._finish_update()

    def _finish_update(self) -> None:
        if not self.learning:
            return
        self.learning = False
        self.clock.updates_done += 1
        self.figures = self._figures(time.monotonic())
        self.report(self.figures)
        self.progress.update(self.clock.fraction, self.figures)
        if time.monotonic() - self.last_save > SAVE_SECONDS:
            self.save()
            self.last_save = time.monotonic()

    def _figures(self, now: float) -> dict[str, float]:
        """The line of `metrics.jsonl` for the update just done."""
        buffer = self.model.rollout_buffer
        decisions = buffer.buffer_size * buffer.n_envs
        learned = self.model.logger.name_to_value
        tally = self.env.take_tally()
        return {
            "update": self.clock.updates_done,
            "decisions": self.clock.updates_done * decisions,
            "seconds": round(now - self.clock.start, 3),
            "decisions_per_second": round(decisions / (now - self.rollout_start), 1),
            "rollout_seconds": round(self.update_start - self.rollout_start, 3),
            "update_seconds": round(now - self.update_start, 3),
            "games": tally.games,
            **tally.as_means(),
            "seat_reward_mean": float(self.rewards.mean()),
            "seat_reward_std": float(self.rewards.std()),
            "entropy": -float(learned["train/entropy_loss"]),
            "value_loss": float(learned["train/value_loss"]),
            "explained_variance": float(learned["train/explained_variance"]),
            "approximate_kl": float(learned["train/approx_kl"]),
            "clip_fraction": float(learned["train/clip_fraction"]),
            "learning_rate": float(learned["train/learning_rate"]),
        }
