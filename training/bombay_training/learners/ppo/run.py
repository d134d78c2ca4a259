"""Self-play PPO: one experiment, read from top to bottom.

One net plays every seat of many games at once and learns from all of them. The learner is `sb3_contrib.MaskablePPO` as it
stands, on the native `BombayVecEnv` and with advantages that run per seat (`SeatRolloutBuffer`). An update is a rollout and some
epochs of learning from it. All that it draws at random is keyed by the seed and its number, so that nothing of an update outlives
it but the weights, what Adam remembers, and the games under way. A run leaves in its folder

    agent.safetensors        the net, playable by `bombay_agents.nets.policy_net`
    checkpoint.safetensors   all that is needed to go on
    settings.json            the settings, the versions of everything, the code revision
    metrics.jsonl            one line an update
    events.out.tfevents.…    the same for TensorBoard

the first two written in one piece at the start, every half minute and at the end. No Stable-Baselines3 `save` or `load` and no
pickle anywhere. It does not judge the agent, quick matches to follow the run by aside (`periodic_eval.py`): that is the arena's
business.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import ClassVar, Final

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import CallbackList
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import set_random_seed
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import bombay_env
from bombay_agents.nets import policy_features
from bombay_agents.nets.files import about_games
from bombay_agents.nets.policy_features import LOOKAHEAD, MODES
from bombay_agents.nets.policy_net import ACTIVATIONS, PARTS, Layer, Net, NetAgent
from bombay_env import Board, Game, Rules
from bombay_training.learners import periodic_eval, runs
from bombay_training.learners.periodic_eval import PeriodicEvaluator
from bombay_training.learners.ppo.seat_buffer import MAX_SEATS, SeatRolloutBuffer
from bombay_training.learners.ppo.vec_env import BombayVecEnv
from bombay_training.learners.runs import Clock, Progress, Silence, stop_on_signal

FORMAT: Final = "bombay-ppo-checkpoint/1"
NEUTRAL: Final = ("board", "references")  # settings that decide nothing; a board is told by what it holds
DISTRIBUTIONS: Final = (*runs.DISTRIBUTIONS, "torch", "stable-baselines3", "sb3-contrib")
MAX_SEED: Final = 2**32 - 1
MAX_THREADS: Final = 256  # of PyTorch, which ends the process where the system has not as many to give
TORCH_ACTIVATIONS: Final = {"relu": nn.ReLU, "tanh": nn.Tanh}


@dataclasses.dataclass(frozen=True)
class PPOSettings:
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str] = "ppo"

    minutes: float = 3.0
    """Wall time of learning; not used if `updates` is given."""
    updates: int | None = None
    """Rollouts to learn from, each of num_envs · num_steps decisions."""
    players: tuple[int, ...] = (2, 3, 4, 5)
    """Kinds of table; the lanes are divided evenly among them."""
    board: str | None = None
    """A board file; the packaged board if None."""
    observation_mode: str = LOOKAHEAD
    """What the net reads: one of `policy_features.MODES`."""
    blend: float = 0.5
    """How much of what a game pays is the win, and not the margin, at the end of the run; none at the start, rising in a line."""
    shaping_weight: float = 1.0
    """The part of it that is paid as a seat's prospects change, not at the end."""
    trust: float = 3.0
    """Where the net reads what actions lose, behind a trunk and without layers of the policy's own: how much a rupee of it speaks
    against the action before anything is learned."""
    num_envs: int = 512
    """Games side by side."""
    num_steps: int = 32
    """Decisions in each game a rollout, of all seats together."""
    batch_size: int = 1024
    """Decisions a gradient step."""
    epochs: int = 2
    """Times each decision is learned from."""
    learning_rate: float = 1.5e-3
    """Adam's step at the start; falls linearly to zero over the run."""
    entropy: float = 0.003
    """Weight of the policy's entropy in the loss at the start; falls linearly to zero over the run."""
    value_weight: float = 0.5
    """Weight of the value's squared error in the loss."""
    clip: float = 0.2
    """How far the policy's ratio counts in an update."""
    max_grad_norm: float = 0.5
    """Longer gradients are shortened to this."""
    gamma: float = 1.0
    """Discount a decision of one's own; 1, since every game ends."""
    gae_lambda: float = 0.9
    """How far advantages trust what happened over what the value expected, a decision of one's own."""
    trunk: tuple[int, ...] = (128,)
    """Widths of the layers that policy and value share."""
    policy: tuple[int, ...] = ()
    """Widths of the policy's own hidden layers."""
    value: tuple[int, ...] = (64,)
    """Widths of the value's own hidden layers."""
    activation: str = "relu"
    """relu or tanh."""
    seed: int = 0
    """Of the deals, the weights and the sampling; what NumPy's older generator takes."""
    references: tuple[str, ...] = periodic_eval.REFERENCES
    """Agents that the learner meets now and then, to be followed by; that changes nothing of what is learned."""
    threads: int = 1
    """Threads of PyTorch; another number sums in another order."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, for anything that cannot be learned with."""
        for name in ("players", "trunk", "policy", "value", "references"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        whole = ("num_envs", "num_steps", "batch_size", "epochs")
        checks: list[tuple[str, bool, str]] = [
            ("minutes", self.minutes > 0, "above 0"),
            ("updates", self.updates is None or runs.is_whole(self.updates, 1), "None or a whole number of at least 1"),
            ("players", runs.are_counts(self.players), runs.COUNTS),
            ("observation_mode", self.observation_mode in MODES, f"one of {', '.join(MODES)}"),
            ("activation", self.activation in ACTIVATIONS, f"one of {', '.join(ACTIVATIONS)}"),
            *((name, runs.is_whole(getattr(self, name), 1), "a whole number of at least 1") for name in whole),
            *(
                (name, all(runs.is_whole(width, 1) for width in getattr(self, name)), "widths of at least 1")
                for name in PARTS
            ),
            ("threads", runs.is_whole(self.threads, 1, MAX_THREADS), f"a whole number from 1 to {MAX_THREADS}"),
            ("seed", runs.is_whole(self.seed, 0, MAX_SEED), f"a whole number from 0 to {MAX_SEED}"),
            ("num_envs", self.num_envs >= len(self.players), f"at least {len(self.players)}, one a kind of table"),
            ("batch_size", self.batch_size >= 2, "at least 2"),
            ("learning_rate", self.learning_rate > 0, "above 0"),
            ("clip", self.clip > 0, "above 0"),
            ("max_grad_norm", self.max_grad_norm > 0, "above 0"),
            *((name, getattr(self, name) >= 0, "at least 0") for name in ("entropy", "value_weight", "trust")),
            *(
                (name, 0 <= getattr(self, name) <= 1, "from 0 to 1")
                for name in ("gamma", "gae_lambda", "blend", "shaping_weight")
            ),
        ]
        for name, holds, allowed in checks:
            if not holds:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be {allowed}")


class Run:
    """A run under way: what `checkpoint.safetensors` holds, and how to go on from it."""

    def __init__(self, settings: PPOSettings) -> None:
        torch.set_num_threads(settings.threads)
        self.settings = settings
        board = Board.load(settings.board)
        self.games = [Game(Rules.official(players), board) for players in settings.players]
        self.env = BombayVecEnv(
            self.games,
            settings.num_envs,
            settings.seed,
            shaping_weight=settings.shaping_weight,
            observation_mode=settings.observation_mode,
        )
        self.clock = Clock(settings.minutes, settings.updates)
        self.elapsed = 0.0  # seconds of learning before the last start
        self.model = make_model(settings, self.env, self.clock)
        self.model.learn(0)  # deals the first games
        self.callback = CallbackList([])
        self.callback.init_callback(self.model)

    def update(self) -> dict[str, float]:
        """Play and learn once. Returns the line of `metrics.jsonl`."""
        settings, model, env, done = self.settings, self.model, self.env, self.clock.fraction
        key = np.random.SeedSequence((settings.seed, self.clock.updates_done))
        set_random_seed(int(key.generate_state(1)[0]))
        env.blend = self.blend
        model.ent_coef = settings.entropy * (1 - done)
        start, in_env = time.perf_counter(), env.seconds
        model.collect_rollouts(env, self.callback, model.rollout_buffer, settings.num_steps)
        rewards = self._rewards()
        played = time.perf_counter()
        model.train()
        end = time.perf_counter()
        self.clock.updates_done += 1
        seconds = {"env": env.seconds - in_env, "net": played - start - (env.seconds - in_env), "learn": end - played}
        return {
            "update": self.clock.updates_done,
            "decisions": self.decisions,
            "seconds": round(self.clock.elapsed, 3),
            "decisions_per_second": round(settings.num_envs * settings.num_steps / (end - start), 1),
            **{f"{part}_seconds": round(spent, 4) for part, spent in seconds.items()},
            "seat_reward_mean": float(rewards.mean()),
            "seat_reward_std": float(rewards.std()),
            "blend": env.blend,
            **self._played(),
            **self._learned(),
        }

    def _rewards(self) -> np.ndarray:
        """What seats were paid in the rollout."""
        seated = np.arange(MAX_SEATS) < self.env.num_seats[:, None]
        return np.asarray(self.model.rollout_buffer.seat_rewards[:, seated])

    def _played(self) -> dict[str, float]:
        tally = self.env.take_tally()
        return {"games": tally.games, **tally.as_means()}

    def _learned(self) -> dict[str, float]:
        learned = self.model.logger.name_to_value
        return {
            "entropy": -float(learned["train/entropy_loss"]),
            "value_loss": float(learned["train/value_loss"]),
            "explained_variance": float(learned["train/explained_variance"]),
            "approximate_kl": float(learned["train/approx_kl"]),
            "clip_fraction": float(learned["train/clip_fraction"]),
            "learning_rate": float(learned["train/learning_rate"]),
        }

    @property
    def blend(self) -> float:
        """How much of what a game pays is the win, by now."""
        return self.settings.blend * self.clock.fraction

    @property
    def decisions(self) -> int:
        """Learned from so far."""
        return self.clock.updates_done * self.settings.num_envs * self.settings.num_steps

    def net(self) -> Net:
        """The agent so far."""
        return extract_net(self.model, self.settings, self.games, self.clock.updates_done, self.blend)

    def player(self) -> NetAgent:
        """The agent so far, to be judged."""
        return NetAgent(self.net())

    def save(self, folder: Path) -> None:
        """Write agent and checkpoint, each in one piece."""
        self.net().save(folder / runs.AGENT)
        tensors = {f"net.{name}": weights for name, weights in self._weights()}
        for number, memory in self.model.policy.optimizer.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": tensor.numpy() for name, tensor in memory.items()}
        tensors |= {f"games.{name}": tensor for name, tensor in self.env.running().items()}
        counters = {
            "format": FORMAT,
            "identity": self.identity(),
            "updates_done": self.clock.updates_done,
            "elapsed": self.clock.elapsed,
        }
        runs.write_checkpoint(folder / runs.CHECKPOINT, counters, tensors)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint of a run with the same settings.

        Raises:
            ValueError: the file cannot be read, or it is of another run.
        """
        counters, tensors = runs.read_checkpoint(path, {"format": FORMAT, "identity": self.identity()}, "PPO")
        held: dict[str, dict[str, np.ndarray]] = {"net": {}, "adam": {}, "games": {}}
        try:
            for name, tensor in tensors.items():
                part, _, rest = name.partition(".")
                held[part][rest] = tensor
            for name, weights in self._weights():
                weights[:] = held["net"][name]
            self._restore_adam(held["adam"])
            self.model._last_obs = self.env.go_on_with(held["games"])
            self.clock.updates_done, self.elapsed = counters["updates_done"], counters["elapsed"]
        except (KeyError, ValueError, RuntimeError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    def _weights(self) -> Iterator[tuple[str, np.ndarray]]:
        """The model's own memory, by name."""
        return ((name, tensor.detach().numpy()) for name, tensor in self.model.policy.named_parameters())

    def _restore_adam(self, tensors: Mapping[str, np.ndarray]) -> None:
        optimizer = self.model.policy.optimizer
        memory: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in tensors.items():
            number, _, what = name.partition(".")
            memory.setdefault(int(number), {})[what] = torch.from_numpy(tensor.copy())
        optimizer.load_state_dict({**optimizer.state_dict(), "state": memory})

    def identity(self) -> str:
        """What decides how the run goes on (`runs.identity`)."""
        features = policy_features.digest(self.games[0], self.settings.observation_mode)
        return runs.identity(self.settings, NEUTRAL, features, about_games(self.games))

    def so_far(self) -> dict[str, float]:
        """How much has been learned from, for those who follow the run."""
        return {"decisions": self.decisions, "seconds": self.elapsed} if self.decisions else {}


def train(settings: PPOSettings, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Learn and leave agent, checkpoint, settings and metrics in the folder `out`, which is made if need be.

    SIGINT (Ctrl-C) and SIGTERM end the run after the present update: what was learned is saved, then the signal takes its usual
    course. A second Ctrl-C does not wait.

    Returns:
        The path of `agent.safetensors`.
    Raises:
        ValueError: the board file is not valid.
        KeyboardInterrupt: after saving, on Ctrl-C.
    """
    run = Run(settings)
    for events in Path(out).glob("events.out.tfevents.*"):  # of an older run
        events.unlink()
    runs.begin(run, Path(out), DISTRIBUTIONS)
    return go_on(run, out, progress)


def open_run(out: str | os.PathLike[str]) -> Run:
    """The run in the folder `out` as its last checkpoint left it, for `go_on`; one stopped before its first begins anew.

    Raises:
        ValueError: there is no such run, or its checkpoint is not of it.
    """
    folder = Path(out)
    run = Run(runs.read_settings(folder, PPOSettings))
    runs.find(run, folder)
    return run


def go_on(run: Run, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Update until the clock says so, and save now and then; see `train`."""
    folder, progress = Path(out), progress or Silence()
    judge = PeriodicEvaluator(run.games, run.settings.references)
    with stop_on_signal() as stop, closing(TensorBoard(folder, run.clock.updates_done, progress)) as board:
        progress.update(run.clock.fraction, run.so_far())
        if run.clock.updates is None or run.clock.updates_done < run.clock.updates:
            warm_up(run, judge)
        runs.follow(run, folder, board, stop, judge)
    return folder / runs.AGENT


def warm_up(run: Run, judge: PeriodicEvaluator) -> None:
    """Have the kernels compiled before the clock starts."""
    Run(dataclasses.replace(run.settings, num_steps=1, epochs=1)).update()
    judge.warm_up(run.player())


class TensorBoard:
    """A `Progress` that also leaves every update's figures in `folder` for TensorBoard; those after `updates` are forgotten."""

    def __init__(self, folder: Path, updates: int, progress: Progress) -> None:
        self.writer = SummaryWriter(str(folder), purge_step=updates + 1)
        self.progress = progress

    def update(self, fraction: float, metrics: Mapping[str, float]) -> None:
        """Called after each update."""
        for name, figure in metrics.items():
            if name != "update":
                self.writer.add_scalar(name, figure, int(metrics["update"]))
        self.writer.flush()  # a checkpoint may follow, from which a run goes on that is killed now
        self.progress.update(fraction, metrics)

    def close(self) -> None:
        """Write what is not yet written."""
        self.writer.close()


# --- the learner ---


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share; the last `passed` features are handed on beside what these make of all."""

    def __init__(
        self, observation_space: spaces.Box, widths: tuple[int, ...], activation: type[nn.Module], passed: int
    ) -> None:
        sizes = (*observation_space.shape, *widths)
        self.passed = passed if widths else 0  # without layers all are
        super().__init__(observation_space, features_dim=sizes[-1] + self.passed)
        layers = [(nn.Linear(a, b), activation()) for a, b in itertools.pairwise(sizes)]
        self.layers = nn.Sequential(*(module for layer in layers for module in layer))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """(batch, F) float32 to (batch, last width + passed)."""
        made = self.layers(observations)
        return torch.cat((made, observations[:, -self.passed :]), 1) if self.passed else made


def make_model(settings: PPOSettings, env: BombayVecEnv, clock: Clock) -> MaskablePPO:
    """MaskablePPO with its buffer attached to `env`; its steps shrink as `clock` runs."""
    activation = TORCH_ACTIVATIONS[settings.activation]
    passed = policy_features.num_losses(env.tables[0].game, settings.observation_mode)
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


def extract_net(model: MaskablePPO, settings: PPOSettings, games: list[Game], updates: int, blend: float) -> Net:
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
        features=policy_features.digest(games[0], settings.observation_mode),
        observation_mode=settings.observation_mode,
        passed=policy.features_extractor.passed,
        about={
            **about_games(games),
            "training": {
                "algorithm": "self-play PPO, advantages per seat",
                "seed": settings.seed,
                "players": list(settings.players),
                "blend": blend,
                "shaping_weight": settings.shaping_weight,
                "updates": updates,
                "decisions": updates * settings.num_envs * settings.num_steps,
                "bombay_env": bombay_env.__version__,
            },
        },
    )
