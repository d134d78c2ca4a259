"""The settings of self-play TD(λ); see `run.py` for how they are used."""

import dataclasses
from typing import Annotated, ClassVar

from pydantic import Field

from bombay_agents.nets.value.net import MAX_HIDDEN
from bombay_training.learners.runs.settings import (
    MAX_GAMES,
    MAX_THREADS,
    BatchCount,
    Fraction,
    LearningRate,
    RunSettings,
    Weight,
    setting,
)

Width = Annotated[int, Field(ge=4, le=MAX_HIDDEN, multiple_of=4)]


@dataclasses.dataclass(frozen=True)
class ZeroSettings(RunSettings):
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str] = "zero"
    run: ClassVar[str] = "bombay_training.learners.zero.run:ZeroRun"
    help: ClassVar[str] = (
        "Train a value net by self-play TD(λ) from the rules alone; nothing scripted takes part. Needs no PyTorch.\n\n"
        "The net values all distinct outcomes of a turn for every seat. `net:path=FILE` plays it."
    )

    games: Annotated[int, Field(ge=1, le=MAX_GAMES)] = setting(
        128, "Games per update over all numbers of players; rounded down to as many for each."
    )
    epochs: BatchCount = setting(1, "Passes over the positions of an update.")
    batch_size: BatchCount = setting(1024, "Positions per gradient step.")
    learning_rate: LearningRate = setting(2e-3, "Adam's highest learning rate.")
    lr_warmup: Fraction = setting(
        0.05,
        "Fraction of the run in which the learning rate rises linearly from a twentieth; this keeps hidden units active.",
    )
    lr_hold: Fraction = setting(
        0.4, "Fraction of the run before the learning rate decays, linearly to a twentieth of the highest."
    )
    margin_weight: Weight = setting(
        1.0, "Weight of the margins' squared error in the loss, relative to the cross-entropy of the win shares."
    )
    ema_decay: Annotated[float, Field(ge=0, lt=1)] = setting(
        0.998, "Decay per step of the exponential moving average of the weights."
    )
    threads: Annotated[int, Field(ge=0, le=MAX_THREADS)] = setting(
        0, "Threads that play and learn; 0 for as many as Numba has. They affect only the time."
    )
    hidden: Width = setting(128, "Width of the net's first hidden layer.")
    second: Width = setting(32, "Width of the net's second hidden layer.")
    td_lambda: Fraction = setting(
        0.75, "The λ of TD(λ) at the start: 1 learns from results only, 0 only from the net's own next value."
    )
    final_td_lambda: Fraction = setting(1.0, "The λ at the end of the run; it changes linearly.")
    epsilon: Fraction = setting(
        0.08, "The ε of ε-greedy self-play at the start: the probability that a seat takes a random outcome."
    )
    final_epsilon: Fraction = setting(0.01, "The ε at the end of the run; it changes linearly.")
    share_weight: Annotated[float, Field(ge=0, le=100)] = setting(
        2.0, "Weight of the win share, beside the margin in tens of rupees, when an outcome is chosen."
    )
    start: Annotated[str, Field(title="the spec of a value-net agent, or empty")] = setting(
        "",
        "The value-net agent, such as `zero`, whose weights the run starts from; `hidden` and `second` must be its widths. "
        "Empty for random weights.",
    )

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        counts = len(self.players)
        self.require("games", self.games >= counts, f"at least {counts}, one for each number of players")
