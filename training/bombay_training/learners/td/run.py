"""Self-play TD(λ) on the outcomes of turns: one experiment, read from top to bottom.

One net values positions between turns for every seat. An update is some games of self-play, in which every seat takes the
outcome its net likes best (`td/self_play.py`), and a few rounds of learning from what became of their positions
(`td/optimizer.py`). The agent is the running average of the weights. All chance is keyed by the seed and counters, so nothing
of an update outlives it but the weights and what Adam remembers. Now and then the agent meets references in quick matches
(`periodic_eval.py`), which are no learning time and change nothing of what is learned. A run leaves in its folder

    agent.safetensors        the net, playable by `bombay_agents.nets.value_net_agent`
    checkpoint.safetensors   all that is needed to go on
    settings.json            the settings, the versions of everything, the code revision
    metrics.jsonl            one line an update, win shares among its figures where there were matches

the first two written in one piece at the start, every half minute and at the end. No PyTorch, no pickle. It does not judge the
agent that is left: that is the arena's business.
"""

import contextlib
import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import numba
import numpy as np

import bombay_env
from bombay_agents.nets import files, value_features, value_net
from bombay_agents.nets.value_net_agent import MAX_HIDDEN, ValueNet, ValueNetAgent
from bombay_env import Board, Game, Rules
from bombay_training.learners import periodic_eval, runs
from bombay_training.learners.periodic_eval import PeriodicEvaluator
from bombay_training.learners.runs import Clock, Progress, Silence, stop_on_signal
from bombay_training.learners.td.optimizer import Learner
from bombay_training.learners.td.self_play import GameGenerator, SelfPlay

FORMAT: Final = "bombay-td-checkpoint/2"
NEUTRAL: Final = ("threads", "board")  # settings that decide nothing; a board is told by what it holds
KEPT: Final = ("weights", "averages", "first", "second")  # of the learner


@dataclasses.dataclass(frozen=True)
class TDSettings:
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str] = "td"

    minutes: float = 3.0
    """Wall time of learning; not used if `updates` is given."""
    updates: int | None = None
    """Rounds of self-play and learning."""
    players: tuple[int, ...] = (2, 3, 4, 5)
    """Kinds of table; games are divided evenly among them."""
    board: str | None = None
    """A board file; the packaged board if None."""
    games: int = 128
    """Games an update, of all kinds together; as many of each kind, so perhaps a few less."""
    hidden: int = 64
    """Width of the net."""
    epochs: int = 3
    """Times each position is learned from."""
    batch_size: int = 512
    """Positions a step."""
    learning_rate: float = 3e-3
    """Of Adam."""
    lr_hold: float = 0.6
    """Part of the run before the learning rate falls, in a line to a twentieth."""
    td_lambda: float = 0.8
    """λ: how far what happened is trusted over what the net expected."""
    epsilon: float = 0.05
    """ε: probability that a seat takes any outcome at all."""
    blend: float = 0.0
    """How much the share of the win counts, and not the margin, when self-play chooses an outcome at the end of the run; none at
    the start, and rising in a line. Unless given, self-play goes by margins, which tell every seat something in every game;
    shares are learned all the same, and the agent that is left plays by them."""
    blend_played: float = 1.0
    """The same in the agent that is left, and in the one that is saved on the way."""
    margin_weight: float = 1.0
    """Weight of the margin's squared error beside the cross-entropy of shares."""
    ema_decay: float = 0.998
    """How much of the running (exponential) average of weights stays, a step."""
    seed: int = 0
    """Of the deals, the weights and the exploration."""
    threads: int = 0
    """Threads that play and learn, as far as Numba has them, 8 at most; 0 for all. They change nothing but the time."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, for anything that cannot be learned with."""
        object.__setattr__(self, "players", tuple(self.players))
        whole = ("games", "epochs", "batch_size")
        parts = ("lr_hold", "td_lambda", "epsilon", "blend", "blend_played")
        checks: list[tuple[str, bool, str]] = [
            ("minutes", self.minutes > 0, "above 0"),
            ("updates", self.updates is None or runs.is_whole(self.updates, 1), "None or a whole number of at least 1"),
            ("players", runs.are_counts(self.players), runs.COUNTS),
            *((name, runs.is_whole(getattr(self, name), 1), "a whole number of at least 1") for name in whole),
            ("hidden", runs.is_whole(self.hidden, 1, MAX_HIDDEN), f"a whole number from 1 to {MAX_HIDDEN}"),
            ("games", self.games >= len(self.players), f"at least {len(self.players)}, one a kind of table"),
            ("learning_rate", self.learning_rate > 0, "above 0"),
            *((name, 0 <= getattr(self, name) <= 1, "from 0 to 1") for name in parts),
            ("margin_weight", self.margin_weight >= 0, "at least 0"),
            ("ema_decay", 0 <= self.ema_decay < 1, "at least 0 and below 1"),
            ("seed", 0 <= self.seed < 2**63, "from 0 to 2**63 − 1"),
            ("threads", runs.is_whole(self.threads, 0), "a whole number of at least 0"),
        ]
        for name, holds, allowed in checks:
            if not holds:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be {allowed}")


class Run:
    """A run under way: what `checkpoint.safetensors` holds, and how to go on from it.

    A learner whose games are others than self-play's is a `Run` with other `games_to_play` (see `best_response.py`).
    """

    kind: ClassVar[type[TDSettings]] = TDSettings  # of settings

    def __init__(self, settings: TDSettings) -> None:
        self.settings = settings
        board = Board.load(settings.board)
        self.games = [Game(Rules.official(players), board) for players in settings.players]
        features = value_features.num_features(self.games[0].feature_layout)
        self.each = settings.games // len(self.games)
        self.play = self.games_to_play()
        self.learner = Learner(features, settings.hidden, settings.seed)
        self.clock = Clock(settings.minutes, settings.updates)
        self.positions = 0  # learned from so far
        self.elapsed = 0.0  # seconds of learning before the last start

    def games_to_play(self) -> GameGenerator:
        """An update's games, and room for what they teach."""
        return SelfPlay(self.games, self.each, self.settings.hidden)

    def references(self) -> tuple[str, ...]:
        """Whom the agent meets on the way, to be followed by."""
        return periodic_eval.REFERENCES

    def update(self) -> dict[str, float]:
        """Play and learn once. Returns the line of `metrics.jsonl`."""
        settings, number, done = self.settings, self.clock.updates_done, self.clock.fraction
        start = time.perf_counter()
        places = self.play.play(
            self.learner.net,
            settings.seed,
            number * self.each,
            settings.blend * done,
            settings.epsilon,
            settings.td_lambda,
        )
        played = time.perf_counter()
        losses = self._learn(places, self._rate(done), np.random.default_rng((settings.seed, number)))
        end = time.perf_counter()
        self.clock.updates_done += 1
        self.positions += len(places)
        results = self.play.samples.reshape(-1)[places]
        return {
            "update": self.clock.updates_done,
            "positions": self.positions,
            "games": self.clock.updates_done * self.each * len(self.games),
            "seconds": round(self.clock.elapsed, 3),
            "play_seconds": round(played - start, 4),
            "learn_seconds": round(end - played, 4),
            "margin_loss": float(losses[0]),
            "share_loss": float(losses[1]),
            "margin_spread": float(results["margin"][:, 0].std()),
            "learning_rate": self._rate(done),
        }

    def _rate(self, done: float) -> float:
        settings = self.settings
        falling = max(0.0, done - settings.lr_hold) / max(1e-9, 1 - settings.lr_hold)
        return settings.learning_rate * (1 - 0.95 * falling)

    def _learn(self, places: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
        """Some epochs over the positions. Returns the mean losses, (2,)."""
        settings, samples = self.settings, self.play.samples.reshape(-1)
        losses = []
        for _ in range(settings.epochs):
            order = rng.permutation(places)
            for part in np.array_split(order, max(1, round(len(order) / settings.batch_size))):
                losses.append(
                    self.learner.step(samples, part, self.play.scales, rate, settings.margin_weight, settings.ema_decay)
                )
        return np.asarray(np.mean(losses, axis=0))

    def net(self) -> ValueNet:
        """The agent so far."""
        learner, games = self.learner, self.games
        weights = learner.average[0]
        return ValueNet(
            first=weights["first"].copy(),
            first_bias=weights["first_bias"].copy(),
            last=weights["last"][:, : value_net.NUM_OUTPUTS].copy(),
            last_bias=weights["last_bias"][: value_net.NUM_OUTPUTS].copy(),
            features=value_features.digest(games[0].feature_layout),
            blend=self.settings.blend_played,
            about={
                **files.about_games(games),
                "training": self.about(),
            },
        )

    def player(self) -> ValueNetAgent:
        """The agent so far, to be judged."""
        return ValueNetAgent(self.net())

    def about(self) -> dict[str, Any]:
        """How the agent was trained, for its file."""
        return {
            "algorithm": "self-play TD(λ) on outcomes of turns",
            "seed": self.settings.seed,
            "players": list(self.settings.players),
            "updates": self.clock.updates_done,
            "games": self.clock.updates_done * self.each * len(self.games),
            "bombay_env": bombay_env.__version__,
        }

    def save(self, folder: Path) -> None:
        """Write agent and checkpoint, each in one piece."""
        self.net().save(folder / runs.AGENT)
        learner = self.learner
        tensors = {name: getattr(learner, name) for name in KEPT}
        counters = {
            "format": FORMAT,
            "identity": self.identity(),
            "updates_done": self.clock.updates_done,
            "steps": learner.steps,
            "positions": self.positions,
            "elapsed": self.clock.elapsed,
        }
        runs.write_checkpoint(folder / runs.CHECKPOINT, counters, tensors)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint of a run with the same settings.

        Raises:
            ValueError: the file cannot be read, or it is of another run.
        """
        learner = self.learner
        counters, tensors = runs.read_checkpoint(path, {"format": FORMAT, "identity": self.identity()}, "TD")
        try:
            for name in KEPT:
                getattr(learner, name)[:] = tensors[name]
            learner.steps, self.positions = counters["steps"], counters["positions"]
            self.clock.updates_done, self.elapsed = counters["updates_done"], counters["elapsed"]
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None

    def identity(self) -> str:
        """What decides how the run goes on (`runs.identity`)."""
        features = value_features.digest(self.games[0].feature_layout)
        return runs.identity(self.settings, NEUTRAL, features, files.about_games(self.games), *self.circumstances())

    def circumstances(self) -> list[str]:
        """What else decides how the run goes on."""
        return []

    def so_far(self) -> dict[str, float]:
        """How much has been learned from, for those who follow the run."""
        return {"positions": self.positions, "seconds": self.elapsed} if self.positions else {}


def train(settings: TDSettings, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Learn and leave agent, checkpoint, settings and metrics in the folder `out`; see `begin`."""
    return begin(Run(settings), out, progress)


def begin(run: Run, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Learn in a new run, and leave agent, checkpoint, settings and metrics in the folder `out`, which is made if need be.

    SIGINT (Ctrl-C) and SIGTERM end the run after the present update: what was learned is saved, then the signal takes its usual
    course. A second Ctrl-C does not wait.

    Returns:
        The path of `agent.safetensors`.
    Raises:
        KeyboardInterrupt: after saving, on Ctrl-C.
    """
    run.identity()  # what hinders that is told before there is a folder
    runs.begin(run, Path(out), runs.DISTRIBUTIONS)
    return go_on(run, out, progress)


def open_run(out: str | os.PathLike[str], kind: type[Run] = Run) -> Run:
    """The run in the folder `out` as its last checkpoint left it, for `go_on`; one stopped before its first begins anew.

    Raises:
        ValueError: there is no such run, or its checkpoint is not of it.
    """
    folder = Path(out)
    run = kind(runs.read_settings(folder, kind.kind))
    runs.find(run, folder)
    return run


def go_on(run: Run, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Update until the clock says so, and save now and then; see `train`."""
    folder, progress, judge = Path(out), progress or Silence(), PeriodicEvaluator(run.games, run.references())
    with stop_on_signal() as stop, on_threads(run.settings.threads):
        progress.update(run.clock.fraction, run.so_far())
        if run.clock.updates is None or run.clock.updates_done < run.clock.updates:
            warm_up(run)
            judge.warm_up(run.player())
        runs.follow(run, folder, progress, stop, judge)
    return folder / runs.AGENT


def warm_up(run: Run) -> None:
    """Have the kernels compiled before the clock starts."""
    type(run)(dataclasses.replace(run.settings, games=len(run.settings.players), epochs=1)).update()


@contextlib.contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Have Numba use so many threads, all for 0, as far as there are."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(count or numba.config.NUMBA_NUM_THREADS, numba.config.NUMBA_NUM_THREADS))
    try:
        yield
    finally:
        numba.set_num_threads(before)
