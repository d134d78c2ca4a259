"""Self-play TD(λ) on the outcomes of turns: settings, one update, and what a run saves.

One net values positions between turns for every seat. In an update it first plays some games against itself, in which every seat
takes the outcome of its turn that the net values highest (`self_play.py`). It then learns for a few epochs from the positions of
these games (`optimizer.py`). The agent is a running average of the weights. All chance is keyed by the seed and by counters, so
only the weights and Adam's moments carry over from one update to the next. The loop around the updates and the folder of a run
are in `runs/run.py`. No PyTorch, no pickle.
"""

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

import bombay_env
from bombay_agents.nets import files, value_features, value_net
from bombay_agents.nets.value_net import MAX_HIDDEN, ValueNet
from bombay_agents.nets.value_net_agent import ValueNetAgent
from bombay_env.files import json_form
from bombay_training.learners.runs import Run, numba_threads
from bombay_training.learners.runs.checkpoints import CheckpointForm, forms_like
from bombay_training.learners.runs.settings import (
    MAX_BATCH,
    MAX_GAMES,
    MAX_THREADS,
    MAX_WEIGHT,
    RunSettings,
    require,
    require_fraction,
    require_number,
    require_whole,
)
from bombay_training.learners.td.optimizer import Trainer
from bombay_training.learners.td.self_play import SelfPlay

SAVED: Final = (
    "weights",
    "averages",
    "first",
    "second",
)  # arrays of the learner: weights, their average, Adam's moments


@dataclasses.dataclass(frozen=True)
class TDSettings(RunSettings):
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str] = "td"

    games: int = 128
    """Games per update over all player counts; rounded down to the same number for each."""
    hidden: int = 64
    """Width of the net's hidden layer."""
    epochs: int = 3
    """Passes over the positions of an update."""
    batch_size: int = 512
    """Positions per gradient step."""
    learning_rate: float = 3e-3
    """Adam's learning rate at the start."""
    lr_hold: float = 0.6
    """Fraction of the run before the learning rate decays, linearly to a twentieth."""
    td_lambda: float = 0.8
    """The λ of TD(λ): 1 learns from results only, 0 only from the net's own next value."""
    epsilon: float = 0.05
    """The ε of ε-greedy self-play: probability that a seat takes a random outcome."""
    blend: float = 0.0
    """Weight of the win share, as opposed to the margin, when self-play chooses an outcome at the end of the run; the weight
    grows linearly from 0. By default self-play maximises margins, which reward every seat in every game. Win shares are learned
    anyway, and the trained agent plays by them."""
    blend_played: float = 1.0
    """The same weight in the trained agent and in those saved on the way."""
    margin_weight: float = 1.0
    """Weight of the margins' squared error, relative to the cross-entropy of the win shares."""
    ema_decay: float = 0.998
    """Decay per step of the exponential moving average of the weights."""
    threads: int = 0
    """Threads for self-play and learning, at most 8; 0 for as many as Numba has. They affect only the time."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        require_whole(self, "games", low=1, high=MAX_GAMES)
        require_whole(self, "epochs", "batch_size", low=1, high=MAX_BATCH)
        require_whole(self, "hidden", low=1, high=MAX_HIDDEN)
        counts = len(self.players)
        require(
            self,
            "games",
            holds=lambda games: games >= counts,
            allowed=f"at least {counts}, one for each player count",
        )
        require_number(self, "learning_rate", low=0, high=1, above=True)
        require_fraction(self, "lr_hold", "td_lambda", "epsilon", "blend", "blend_played")
        require_number(self, "margin_weight", low=0, high=MAX_WEIGHT)
        require_fraction(self, "ema_decay")
        require(self, "ema_decay", holds=lambda decay: decay < 1, allowed="below 1")
        require_whole(self, "threads", low=0, high=MAX_THREADS)


class TDRun(Run):
    """A run of TD."""

    settings_class: ClassVar[type[TDSettings]] = TDSettings
    checkpoint_format = "bombay-td-checkpoint/2"
    neutral_settings = ("board", "threads")
    settings: TDSettings

    def __init__(self, settings: TDSettings) -> None:
        super().__init__(settings)
        self.features = value_features.digest(self.games[0].feature_layout)
        self.games_each = settings.games // len(self.games)  # per update and player count
        self.generator = SelfPlay(self.games, self.games_each, settings.hidden)
        self.learner = Trainer(
            value_features.num_features(self.games[0].feature_layout), settings.hidden, settings.seed
        )
        self.positions = 0  # learned from so far

    def update(self) -> dict[str, float]:
        """Play some games and learn from their positions."""
        settings, number, done = self.settings, self.clock.updates_done, self.clock.fraction
        rate = self._learning_rate(done)
        start = time.perf_counter()
        places = self.generator.play(
            self.learner.net,
            settings.seed,
            number * self.games_each,
            settings.blend * done,
            settings.epsilon,
            settings.td_lambda,
        )
        played = time.perf_counter()
        losses = self._learn(places, rate, np.random.default_rng((settings.seed, number)))
        end = time.perf_counter()
        self.positions += len(places)
        margins = self.generator.samples.reshape(-1)[places]["margin"]
        return {
            "play_seconds": round(played - start, 4),
            "learn_seconds": round(end - played, 4),
            "margin_loss": float(losses[0]),
            "share_loss": float(losses[1]),
            "margin_spread": float(margins[:, 0].std()),
            "learning_rate": rate,
        }

    def _learning_rate(self, done: float) -> float:
        settings = self.settings
        decayed = max(0.0, done - settings.lr_hold) / max(1e-9, 1 - settings.lr_hold)
        return settings.learning_rate * (1 - 0.95 * decayed)

    def _learn(self, places: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
        """Some epochs over the samples at `places`. Returns the mean losses of margins and shares, (2,)."""
        settings, samples, scales = self.settings, self.generator.samples.reshape(-1), self.generator.scales
        losses = []
        for _ in range(settings.epochs):
            order = rng.permutation(places)
            for batch in np.array_split(order, max(1, round(len(order) / settings.batch_size))):
                losses.append(
                    self.learner.step(samples, batch, scales, rate, settings.margin_weight, settings.ema_decay)
                )
        return np.asarray(np.mean(losses, axis=0))

    def totals(self) -> dict[str, float]:
        """Positions and games learned from so far."""
        return {
            "positions": self.positions,
            "games": self.clock.updates_done * self.games_each * len(self.games),
        }

    def smallest(self) -> TDSettings:
        """One game for each player count, one epoch."""
        return dataclasses.replace(self.settings, games=len(self.settings.players), epochs=1)

    @contextlib.contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Set the number of Numba's threads."""
        with numba_threads(self.settings.threads):
            yield

    # What a run saves

    def net(self) -> ValueNet:
        """The running average of the weights, as a net."""
        average = self.learner.average[0]
        return ValueNet(
            first=average["first"].copy(),
            first_bias=average["first_bias"].copy(),
            last=average["last"][:, : value_net.NUM_OUTPUTS].copy(),
            last_bias=average["last_bias"][: value_net.NUM_OUTPUTS].copy(),
            features=self.features,
            blend=self.settings.blend_played,
            about={**files.about_games(self.games), "training": self.about()},
        )

    def about(self) -> dict[str, Any]:
        """How the net was trained, for its file."""
        return {
            "algorithm": "self-play TD(λ) on outcomes of turns",
            "seed": self.settings.seed,
            "players": list(self.settings.players),
            "updates": self.clock.updates_done,
            "games": self.totals()["games"],
            "bombay_env": bombay_env.__version__,
        }

    def player(self) -> ValueNetAgent:
        """The agent that plays with `net`."""
        return ValueNetAgent(self.net())

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights, their average, and Adam's moments."""
        return {name: getattr(self.learner, name) for name in SAVED}

    def counters(self) -> dict[str, Any]:
        """Gradient steps and positions so far."""
        return {"steps": self.learner.steps, "positions": self.positions}

    def checkpoint_form(self) -> CheckpointForm:
        """Counts, and arrays as they are now; Adam's second moments are no less than 0."""
        counts = {"steps": json_form.whole(0), "positions": json_form.whole(0)}
        return CheckpointForm(counts, forms_like(self.tensors(), {"second": (0, math.inf)}))

    def restore(self, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """Take over the contents of a checkpoint."""
        for name in SAVED:
            getattr(self.learner, name)[:] = tensors[name]
        self.learner.steps, self.positions = counters["steps"], counters["positions"]

    def identity_parts(self) -> list[str]:
        """The digest of the features."""
        return [self.features]
