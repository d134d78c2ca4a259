"""What `td` and `zero` share as training runs: their common settings, the epochs of an update, and what a checkpoint holds.

Both play games against themselves, learn from the positions of these games by TD(λ) with Adam, and play with a running average
of the weights. All chance is keyed by the seed and by counters, so only the weights, their averages and Adam's moments carry over
from one update to the next. No PyTorch, no pickle.
"""

import abc
import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import numpy as np

import bombay_env
from bombay_env.files import json_form
from bombay_training.learners.runs import Run, RunSettings, numba_threads
from bombay_training.learners.runs.checkpoints import CheckpointForm, forms_like
from bombay_training.learners.runs.settings import (
    MAX_BATCH,
    MAX_GAMES,
    MAX_THREADS,
    MAX_WEIGHT,
    require,
    require_fraction,
    require_number,
    require_whole,
)

SAVED: Final = ("weights", "averages", "moments", "squares")  # arrays of the trainer
FINAL_RATE: Final = 0.05  # the last learning rate, as a fraction of the first


@dataclasses.dataclass(frozen=True)
class SelfPlaySettings(RunSettings):
    """Settings of runs that learn from self-play."""

    games: int = 128
    """Games per update over all player counts; rounded down to the same number for each."""
    epochs: int = 1
    """Passes over the positions of an update."""
    batch_size: int = 1024
    """Positions per gradient step."""
    learning_rate: float = 2e-3
    """Adam's learning rate at the start."""
    lr_hold: float = 0.4
    """Fraction of the run before the learning rate decays, linearly to a twentieth."""
    margin_weight: float = 1.0
    """Weight of the margins' squared error in the loss, relative to the cross-entropy of the win shares."""
    ema_decay: float = 0.998
    """Decay per step of the exponential moving average of the weights."""
    threads: int = 0
    """Threads for self-play and learning; 0 for as many as Numba has. They affect only the time."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        require_whole(self, "games", low=1, high=MAX_GAMES)
        require_whole(self, "epochs", "batch_size", low=1, high=MAX_BATCH)
        counts = len(self.players)
        require(
            self, "games", holds=lambda games: games >= counts, allowed=f"at least {counts}, one for each player count"
        )
        require_number(self, "learning_rate", low=0, high=1, above=True)
        require_fraction(self, "lr_hold", "ema_decay")
        require_number(self, "margin_weight", low=0, high=MAX_WEIGHT)
        require(self, "ema_decay", holds=lambda decay: decay < 1, allowed="below 1")
        require_whole(self, "threads", low=0, high=MAX_THREADS)


class AnyTrainer(Protocol):
    """What the trainers of `td` and `zero` share: weights, their running average, and Adam's moments, flat float32, (P,)."""

    weights: np.ndarray
    averages: np.ndarray
    moments: np.ndarray
    squares: np.ndarray
    steps: int

    def step(
        self, samples: np.ndarray, indices: np.ndarray, rate: float, margin_weight: float, ema_decay: float
    ) -> np.ndarray:
        """Learn from `samples[indices]`. Returns the mean losses of margins and shares, (2,)."""
        ...


class SelfPlayRun(Run):
    """A run of self-play. Subclasses set `learner`, `samples` and `features`, and define `play`, `net` and `player`.

    Attributes:
        games_each: games of an update at each number of players.
        positions: number of positions learned from so far.
        learner: the net in training.
        samples: memory for the training samples of an update, 1-D.
        features: digest of what the net reads. A checkpoint for other features is refused.
    """

    algorithm: ClassVar[str]
    """The kind of learning in words, for the net's file."""
    neutral_settings = ("board", "threads")
    settings: SelfPlaySettings
    learner: AnyTrainer
    samples: np.ndarray
    features: str

    def __init__(self, settings: SelfPlaySettings) -> None:
        super().__init__(settings)
        self.games_each = settings.games // len(self.games)
        self.positions = 0

    @abc.abstractmethod
    def play(self, done: float) -> tuple[np.ndarray, dict[str, float]]:
        """Play the games of an update and overwrite `samples`.

        Args:
            done: completed fraction of the run.
        Returns:
            Indices of the samples to learn from, (n,) int64, and metrics of these games.
        """

    def update(self) -> dict[str, float]:
        """Play some games and learn from their positions."""
        done = self.clock.fraction
        rate = self.learning_rate(done)
        start = time.perf_counter()
        indices, metrics = self.play(done)
        played = time.perf_counter()
        margin_loss, share_loss = self.learn(indices, rate)
        end = time.perf_counter()
        self.positions += len(indices)
        return {
            "play_seconds": round(played - start, 4),
            "learn_seconds": round(end - played, 4),
            "margin_loss": float(margin_loss),
            "share_loss": float(share_loss),
            "learning_rate": rate,
            **metrics,
        }

    def learning_rate(self, done: float) -> float:
        """The learning rate when the fraction `done` of the run is over."""
        settings = self.settings
        decayed = max(0.0, done - settings.lr_hold) / max(1e-9, 1 - settings.lr_hold)
        return settings.learning_rate * (1 - (1 - FINAL_RATE) * decayed)

    def learn(self, indices: np.ndarray, rate: float) -> np.ndarray:
        """Some epochs over `samples[indices]`. Returns the mean losses of margins and shares, (2,)."""
        settings, losses = self.settings, []
        rng = np.random.default_rng((settings.seed, self.clock.updates_done))
        for _ in range(settings.epochs):
            order = rng.permutation(indices)
            for batch in np.array_split(order, max(1, round(len(order) / settings.batch_size))):
                losses.append(self.learner.step(self.samples, batch, rate, settings.margin_weight, settings.ema_decay))
        return np.asarray(np.mean(losses, axis=0))

    def totals(self) -> dict[str, float]:
        """Positions and games learned from so far."""
        return {
            "positions": self.positions,
            "games": self.clock.updates_done * self.games_each * len(self.games),
        }

    def smallest(self) -> Any:
        """One game for each player count, one epoch."""
        return dataclasses.replace(self.settings, games=len(self.settings.players), epochs=1)

    @contextlib.contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Set the number of Numba's threads."""
        with numba_threads(self.settings.threads):
            yield

    def about(self) -> dict[str, Any]:
        """How the net was trained, for its file."""
        return {
            "algorithm": self.algorithm,
            "seed": self.settings.seed,
            "players": list(self.settings.players),
            "updates": self.clock.updates_done,
            "games": self.totals()["games"],
            "bombay_env": bombay_env.__version__,
        }

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights, their average, and Adam's moments."""
        return {name: getattr(self.learner, name) for name in SAVED}

    def counters(self) -> dict[str, Any]:
        """Gradient steps and positions so far."""
        return {"steps": self.learner.steps, "positions": self.positions}

    def checkpoint_form(self) -> CheckpointForm:
        """Counts, and arrays as they are now; Adam's second moments are no less than 0."""
        counts = {"steps": json_form.whole(0), "positions": json_form.whole(0)}
        return CheckpointForm(counts, forms_like(self.tensors(), {"squares": (0, math.inf)}))

    def restore(self, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
        """Take over the contents of a checkpoint."""
        for name in SAVED:
            getattr(self.learner, name)[:] = tensors[name]
        self.learner.steps, self.positions = counters["steps"], counters["positions"]

    def identity_parts(self) -> list[str]:
        """The digest of the features."""
        return [self.features]
