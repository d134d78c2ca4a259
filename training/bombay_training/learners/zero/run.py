"""Self-play TD(λ) from the rules alone: settings, one update, and what a run saves.

One net values the ends of turns for every seat. In an update it first plays some games against itself, in which every seat takes
the outcome of its turn that the net values highest (`self_play.py`). It then learns from the positions of these games
(`optimizer.py`). The agent is a running average of the weights. No player and no value made by hand takes part: the net
reads what is on the board and what follows from the rules exactly (`nets/zero/slots.py`). All chance is keyed by the seed and by
counters, so only the weights and Adam's moments carry over from one update to the next. The loop around the updates and the
folder of a run are in `runs/run.py`. No PyTorch, no pickle.
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
from bombay_agents.nets import files
from bombay_agents.nets.zero import slots
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.nets.zero.net import MAX_HIDDEN, ZeroNet
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
from bombay_training.learners.zero.optimizer import Trainer
from bombay_training.learners.zero.self_play import PlayOptions, SelfPlay

SAVED: Final = ("weights", "averages", "moments", "squares")  # arrays of the learner


@dataclasses.dataclass(frozen=True)
class ZeroSettings(RunSettings):
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str] = "zero"

    games: int = 128
    """Games per update over all player counts; rounded down to the same number for each."""
    hidden: int = 128
    """Width of the net's first hidden layer, a multiple of 4."""
    second: int = 32
    """Width of its second hidden layer, a multiple of 4."""
    epochs: int = 1
    """Passes over the positions of an update."""
    batch_size: int = 1024
    """Positions per gradient step."""
    learning_rate: float = 2e-3
    """Adam's learning rate at the start."""
    lr_hold: float = 0.4
    """Fraction of the run before the learning rate decays, linearly to a twentieth."""
    td_lambda: float = 0.75
    """The λ of TD(λ) at the start of the run: 1 learns from results only, 0 only from the net's own next value."""
    final_td_lambda: float = 1.0
    """The same at the end; between them it changes linearly. The net's own values speed learning up, but they are biased."""
    epsilon: float = 0.08
    """The ε of ε-greedy self-play at the start of the run: probability that a seat takes a random outcome."""
    final_epsilon: float = 0.01
    """The same at the end; between them it falls linearly."""
    share_weight: float = 2.0
    """Weight of the win share, beside the margin in tens of rupees, when an outcome is chosen."""
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
        require_whole(self, "hidden", "second", low=4, high=MAX_HIDDEN)
        require(self, "hidden", "second", holds=lambda width: width % 4 == 0, allowed="a multiple of 4")
        counts = len(self.players)
        require(
            self, "games", holds=lambda games: games >= counts, allowed=f"at least {counts}, one for each player count"
        )
        require_number(self, "learning_rate", low=0, high=1, above=True)
        require_fraction(self, "lr_hold", "td_lambda", "final_td_lambda", "epsilon", "final_epsilon")
        require_number(self, "margin_weight", low=0, high=MAX_WEIGHT)
        require_number(self, "share_weight", low=0, high=100)
        require_fraction(self, "ema_decay")
        require(self, "ema_decay", holds=lambda decay: decay < 1, allowed="below 1")
        require_whole(self, "threads", low=0, high=MAX_THREADS)


class ZeroRun(Run):
    """A run of `zero`. Learners with other games than self-play's override `make_generator` (see `best_response.py`)."""

    settings_class: ClassVar[type[ZeroSettings]] = ZeroSettings
    checkpoint_format = "bombay-zero-checkpoint/1"
    neutral_settings = ("board", "threads")
    settings: ZeroSettings

    def __init__(self, settings: ZeroSettings) -> None:
        super().__init__(settings)
        num_sites = self.games[0].board.num_sites
        self.slots = slots.digest(num_sites)
        self.games_each = settings.games // len(self.games)  # per update and player count
        self.generator = self.make_generator()
        self.learner = Trainer(
            slots.first_rows(num_sites), slots.num_rows(num_sites), settings.hidden, settings.second, settings.seed
        )
        self.positions = 0  # learned from so far

    def start_from(self, net: ZeroNet, spec: str) -> None:
        """Take the weights of a net; `spec` names its agent in messages.

        Raises:
            ValueError: it is for boards with another number of sites, or its widths are not those of the settings.
        """
        if net.slots != self.slots:
            sites = self.games[0].board.num_sites
            raise ValueError(f"{spec}, from which the run starts, is not for boards with {sites} sites")
        weights = net.record()
        if weights.dtype != self.learner.net.dtype:
            raise ValueError(f"hidden and second are not the widths of {spec}, from which the run starts")
        self.learner.net[:] = self.learner.average[:] = weights

    def make_generator(self) -> SelfPlay:
        """The games of an update, with memory for their training samples."""
        return SelfPlay(self.games, self.games_each, self.settings.hidden, self.settings.second)

    def update(self) -> dict[str, float]:
        """Play some games and learn from their positions."""
        settings, number, done = self.settings, self.clock.updates_done, self.clock.fraction
        rate = self._learning_rate(done)
        epsilon = settings.epsilon + (settings.final_epsilon - settings.epsilon) * done
        td_lambda = settings.td_lambda + (settings.final_td_lambda - settings.td_lambda) * done
        options = PlayOptions(np.float32(settings.share_weight), epsilon, np.float32(td_lambda))
        start = time.perf_counter()
        places = self.generator.play(self.learner.net, settings.seed, number * self.games_each, options)
        played = time.perf_counter()
        losses = self._learn(places, rate, np.random.default_rng((settings.seed, number)))
        end = time.perf_counter()
        self.positions += len(places)
        return {
            "play_seconds": round(played - start, 4),
            "learn_seconds": round(end - played, 4),
            "margin_loss": float(losses[0]),
            "share_loss": float(losses[1]),
            "learning_rate": rate,
            "epsilon": epsilon,
        }

    def _learning_rate(self, done: float) -> float:
        settings = self.settings
        decayed = max(0.0, done - settings.lr_hold) / max(1e-9, 1 - settings.lr_hold)
        return settings.learning_rate * (1 - 0.95 * decayed)

    def _learn(self, places: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
        """Some epochs over the samples at `places`. Returns the mean losses of margins and shares, (2,)."""
        settings, samples = self.settings, self.generator.samples.reshape(-1)
        losses = []
        for _ in range(settings.epochs):
            order = rng.permutation(places)
            for batch in np.array_split(order, max(1, round(len(order) / settings.batch_size))):
                losses.append(self.learner.step(samples, batch, rate, settings.margin_weight, settings.ema_decay))
        return np.asarray(np.mean(losses, axis=0))

    def totals(self) -> dict[str, float]:
        """Positions and games learned from so far."""
        return {
            "positions": self.positions,
            "games": self.clock.updates_done * self.games_each * len(self.games),
        }

    def smallest(self) -> ZeroSettings:
        """One game for each player count, one epoch."""
        return dataclasses.replace(self.settings, games=len(self.settings.players), epochs=1)

    @contextlib.contextmanager
    def session(self, folder: Path) -> Iterator[None]:
        """Set the number of Numba's threads."""
        with numba_threads(self.settings.threads):
            yield

    # What a run saves

    def net(self) -> ZeroNet:
        """The running average of the weights, as a net."""
        about = {**files.about_games(self.games), "training": self.about()}
        return ZeroNet.of_record(self.learner.average, self.slots, self.settings.share_weight, about)

    def about(self) -> dict[str, Any]:
        """How the net was trained, for its file."""
        return {
            "algorithm": "self-play TD(λ) on all outcomes of turns, from the rules alone",
            "seed": self.settings.seed,
            "players": list(self.settings.players),
            "updates": self.clock.updates_done,
            "games": self.totals()["games"],
            "bombay_env": bombay_env.__version__,
        }

    def player(self) -> ZeroAgent:
        """The agent that plays with `net`, without looking ahead."""
        return ZeroAgent(self.net(), rounds=0)

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
        """The digest of the slots."""
        return [self.slots]
