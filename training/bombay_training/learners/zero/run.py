"""Self-play TD(λ) from the rules alone: the settings, the updates, the net and the agent, and what a checkpoint holds.

One net values the ends of turns for every seat. In an update it first plays some games against itself, in which every seat takes
the outcome of its turn that the net values highest (`self_play.py`). It then learns from the positions of these games
(`optimizer.py`). No player and no value made by hand takes part: the net reads what is on the board and what follows from the
rules exactly (`nets/value/features.py`). All chance is keyed by the seed and by counters, so only the weights, their averages and
Adam's moments carry over from one update to the next. The loop around the updates is in `runs/run.py`.
"""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import numba
import numpy as np
from pydantic import Field

import bombay_env
from bombay_agents import make
from bombay_agents.nets import files
from bombay_agents.nets.value import features
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.nets.value.net import MAX_HIDDEN, ValueNet
from bombay_env.checks import shown
from bombay_env.jit.kernels import CONFIG
from bombay_training.learners.runs import Run
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
from bombay_training.learners.zero.optimizer import Trainer
from bombay_training.learners.zero.self_play import PlayOptions, SelfPlay

SAVED: Final = ("weights", "averages", "moments", "squares")  # arrays of the trainer
COUNTED: Final = ("positions", "decisions", "outcomes")  # attributes of a run that a checkpoint keeps
LOW_RATE: Final = 0.05  # the first and the last learning rate, as a fraction of the highest
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

    least: ClassVar[dict[str, Any]] = {"games": 1, "epochs": 1}

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


def net_of(start: str) -> ValueNet:
    """The net of the agent that a run starts from.

    Raises:
        ValueError: there is no such agent, or it is of another kind.
    """
    agent = make(start)
    if not isinstance(agent, ValueNetAgent):
        raise ValueError(f"start is {shown(start)}; it must be zero, or net:path=FILE with the file of a value net")
    return agent.net


class ZeroRun(Run):
    """A run of `zero`. Learners with other games than self-play's override `make_generator` (see `best_response.py`).

    Attributes:
        games_each: games of an update at each number of players.
        positions: number of positions learned from so far.
        decisions: of all seats in the games played so far.
        outcomes: of turns that were simulated and valued so far, to choose among them.
        learner: the net in training.
        samples: memory for the training samples of an update, 1-D.
        features: digest of what the net reads. A checkpoint for other features is refused.
    """

    settings_class: ClassVar[type[ZeroSettings]] = ZeroSettings
    checkpoint_format = "bombay-zero-checkpoint/3"
    algorithm: ClassVar[str] = "self-play TD(λ) on all outcomes of turns, from the rules alone"
    neutral_settings = (*Run.neutral_settings, "threads")
    settings: ZeroSettings

    def __init__(self, settings: ZeroSettings) -> None:
        super().__init__(settings)
        self.games_each = settings.games // len(self.games)
        self.positions = self.decisions = self.outcomes = 0
        num_sites = self.games[0].board.num_sites
        self.features = features.digest(num_sites)
        self.generator = self.make_generator()
        self.samples = self.generator.samples.reshape(-1)
        self.learner = Trainer(
            features.first_rows(num_sites),
            features.num_rows(num_sites),
            settings.hidden,
            settings.second,
            settings.seed,
        )

    def initialize(self) -> None:
        """Take the weights of the net that the run starts from.

        Raises:
            ValueError: there is no such net, it is for boards with another number of sites, or its widths are others.
        """
        settings = self.settings
        if settings.start:
            net = net_of(settings.start)
            if net.features != self.features:
                sites = self.games[0].board.num_sites
                raise ValueError(f"the net of start, {shown(settings.start)}, is not for boards with {sites} sites")
            if net.units != (settings.hidden, settings.second):
                widths = "hidden={}, second={}".format(*net.units)
                raise ValueError(f"the net of start, {shown(settings.start)}, has other widths; give {widths}")
            self.learner.net[:] = self.learner.average[:] = net.record()

    def make_generator(self) -> SelfPlay:
        """The games of an update, with memory for their training samples."""
        return SelfPlay(self.games, self.games_each, self.settings.hidden, self.settings.second)

    # An update

    def update(self, done: float) -> dict[str, float]:
        """Play some games and learn from their positions."""
        start = time.perf_counter()
        indices, metrics = self.play(done)
        played = time.perf_counter()
        rate = self.learning_rate(done)
        margin_loss, share_loss = self.learn(indices, rate)
        end = time.perf_counter()
        return {
            "play_seconds": round(played - start, 4),
            "learn_seconds": round(end - played, 4),
            "margin_loss": float(margin_loss),
            "share_loss": float(share_loss),
            "learning_rate": rate,
            **metrics,
        }

    def play(self, done: float) -> tuple[np.ndarray, dict[str, float]]:
        """Play the games of an update and overwrite `samples`; ε and λ change from their first values to their last.

        Args:
            done: completed fraction of the run.
        Returns:
            Indices of the samples to learn from, (n,) int64, and the metric ε.
        """
        settings = self.settings
        epsilon = settings.epsilon + (settings.final_epsilon - settings.epsilon) * done
        td_lambda = settings.td_lambda + (settings.final_td_lambda - settings.td_lambda) * done
        options = PlayOptions(np.float32(settings.share_weight), epsilon, np.float32(td_lambda))
        indices = self.generator.play(self.learner.net, settings.seed, self.updates_done * self.games_each, options)
        self.positions += len(indices)
        self.decisions += self.generator.decisions
        self.outcomes += self.generator.evaluated
        return indices, {"epsilon": epsilon}

    def learning_rate(self, done: float) -> float:
        """The learning rate when the fraction `done` of the run is over."""
        settings = self.settings
        missing = max(0.0, settings.lr_warmup - done) / max(1e-9, settings.lr_warmup)
        decayed = max(0.0, done - settings.lr_hold) / max(1e-9, 1 - settings.lr_hold)
        return settings.learning_rate * (1 - (1 - LOW_RATE) * max(missing, decayed))

    def learn(self, indices: np.ndarray, rate: float) -> np.ndarray:
        """Some epochs over `samples[indices]`. Returns the mean losses of margins and shares, (2,)."""
        settings, losses = self.settings, []
        rng = np.random.default_rng((settings.seed, self.updates_done))
        for _ in range(settings.epochs):
            order = rng.permutation(indices)
            for batch in np.array_split(order, max(1, round(len(order) / settings.batch_size))):
                losses.append(self.learner.step(self.samples, batch, rate, settings.margin_weight, settings.ema_decay))
        return np.asarray(np.mean(losses, axis=0))

    def totals(self) -> dict[str, float]:
        """Positions and games learned from so far, and the decisions in these."""
        return {
            "positions": self.positions,
            "decisions": self.decisions,
            "outcomes": self.outcomes,
            "games": self.updates_done * self.games_each * len(self.games),
        }

    @contextlib.contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Let Numba use as many threads as the settings say, but no more than it has."""
        before, most = numba.get_num_threads(), CONFIG.NUMBA_NUM_THREADS
        numba.set_num_threads(min(self.settings.threads or most, most))
        try:
            yield
        finally:
            numba.set_num_threads(before)

    # What comes out

    def net(self) -> ValueNet:
        """The running average of the weights, as a net."""
        about = {**files.about_games(self.games), "training": self.about()}
        return ValueNet.of_record(self.learner.average, self.features, self.settings.share_weight, about)

    def player(self) -> ValueNetAgent:
        """The agent that plays with `net`, without looking ahead."""
        return ValueNetAgent(self.net(), rounds=0)

    def about(self) -> dict[str, Any]:
        """How the net was trained, for its file."""
        return {
            "algorithm": self.algorithm,
            **({"start": self.settings.start} if self.settings.start else {}),
            "seed": self.settings.seed,
            "players": list(self.settings.players),
            "updates": self.updates_done,
            "games": self.totals()["games"],
            "decisions": self.decisions,
            "bombay_env": bombay_env.__version__,
        }

    # Checkpoints

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights, their average, and Adam's moments."""
        return {name: getattr(self.learner, name) for name in SAVED}

    def counters(self) -> dict[str, Any]:
        """Gradient steps, and what `totals` counts."""
        return {"steps": self.learner.steps, **{name: getattr(self, name) for name in COUNTED}}

    def restore(self, counters: Mapping[str, Any]) -> None:
        """Take over what `counters` returned."""
        self.learner.steps = counters["steps"]
        for name in COUNTED:
            setattr(self, name, counters[name])

    def identity_parts(self) -> list[str]:
        """The digest of the features."""
        return [self.features]
