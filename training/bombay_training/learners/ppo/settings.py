"""The settings of self-play PPO; see `run.py` for how they are used."""

import dataclasses
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from bombay_training.learners.runs.settings import (
    MAX_BATCH,
    MAX_GAMES,
    MAX_WEIGHT,
    BatchCount,
    Fraction,
    LearningRate,
    RunSettings,
    Weight,
    setting,
)

MAX_THREADS: Final = 256  # PyTorch aborts the process if the system cannot provide its threads
MAX_WIDTH: Final = 4096
MAX_LAYERS: Final = 16
Widths = Annotated[
    tuple[Annotated[int, Field(ge=1, le=MAX_WIDTH)], ...],
    Field(max_length=MAX_LAYERS, title=f"a list of at most {MAX_LAYERS} widths from 1 to {MAX_WIDTH}"),
]
AboveZero = Annotated[float, Field(gt=0, le=MAX_WEIGHT)]


@dataclasses.dataclass(frozen=True)
class PPOSettings(RunSettings):
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit.

    An update is a rollout of num_envs · num_steps decisions and the learning from it.
    """

    learner: ClassVar[str] = "ppo"
    run: ClassVar[str] = "bombay_training.learners.ppo.run:PPORun"
    extra: ClassVar[str] = "ppo"
    help: ClassVar[str] = "Train a policy net by self-play PPO with Stable-Baselines3. Needs the extra `ppo`."

    least: ClassVar[dict[str, Any]] = {"num_steps": 2, "batch_size": 1024, "epochs": 1}

    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = setting(  # the limit of NumPy's global generator
        0, "Seed of all chance in the run: deals, initial weights, exploration."
    )
    observation_mode: Literal["perfect_recall", "screened"] = setting("perfect_recall", "What the net observes.")
    blend: Fraction = setting(
        0.5,
        "Weight of the win, as opposed to the margin, in a game's reward at the end of the run; grows linearly from 0.",
    )
    shaping_weight: Fraction = setting(
        1.0, "Part of the reward that is paid as each seat's margin changes; the rest is paid at the end of the game."
    )
    num_envs: Annotated[int, Field(ge=1, le=MAX_GAMES)] = setting(
        512, "Games played in parallel, at least one for each number of players."
    )
    num_steps: BatchCount = setting(32, "Decisions per game and rollout, of all its seats together.")
    batch_size: Annotated[int, Field(ge=2, le=MAX_BATCH)] = setting(
        1024, "Decisions per gradient step; a divisor of num_envs · num_steps."
    )
    epochs: BatchCount = setting(2, "Passes over the decisions of a rollout.")
    learning_rate: LearningRate = setting(1.5e-3, "Adam's learning rate at the start; decays linearly to zero.")
    entropy: Weight = setting(0.3, "Weight of the policy's entropy in the loss at the start; decays linearly to zero.")
    value_weight: Weight = setting(0.5, "Weight of the value's squared error in the loss.")
    clip: AboveZero = setting(0.2, "PPO's clipping range for the probability ratio.")
    max_grad_norm: AboveZero = setting(0.5, "Gradients are clipped to this norm.")
    gamma: Fraction = setting(1.0, "Discount per own decision; 1 by default, since every game ends.")
    gae_lambda: Fraction = setting(0.9, "The λ of generalised advantage estimation, per own decision.")
    trunk: Widths = setting((256,), "Widths of the layers that policy and value share.")
    policy: Widths = setting((128,), "Widths of the policy's own hidden layers.")
    value: Widths = setting((128,), "Widths of the value's own hidden layers.")
    activation: Literal["relu", "tanh"] = setting("relu", "Activation of the hidden layers.")
    threads: Annotated[int, Field(ge=1, le=MAX_THREADS)] = setting(
        1, "PyTorch's threads. Another number changes the order of sums, and so the weights."
    )

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        counts, decisions = len(self.players), self.num_envs * self.num_steps
        self.require("num_envs", self.num_envs >= counts, f"at least {counts}, one for each number of players")
        self.require("num_steps", decisions >= 2, "at least 2 with one game")
        self.require(
            "batch_size", decisions % self.batch_size == 0, f"a divisor of the {decisions} decisions of a rollout"
        )
