"""Self-play TD(λ) on the outcomes of turns: settings, the games of an update, the net and the agent.

One net values positions between turns for every seat. In an update it first plays some games against itself, in which every seat
takes the outcome of its turn that the net values highest (`self_play.py`). It then learns for a few epochs from the positions of
these games (`optimizer.py`). The rest of an update is in `self_play_run.py`, and the loop around the updates in `runs/run.py`.
"""

import dataclasses
from typing import ClassVar

import numpy as np

from bombay_agents.nets import files, value_features, value_net
from bombay_agents.nets.value_net import MAX_HIDDEN, ValueNet
from bombay_agents.nets.value_net_agent import ValueNetAgent
from bombay_training.learners.runs.settings import require_fraction, require_whole
from bombay_training.learners.self_play_run import SelfPlayRun, SelfPlaySettings
from bombay_training.learners.td.optimizer import Trainer
from bombay_training.learners.td.self_play import SelfPlay


@dataclasses.dataclass(frozen=True)
class TDSettings(SelfPlaySettings):
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str] = "td"

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

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        require_whole(self, "hidden", low=1, high=MAX_HIDDEN)
        require_fraction(self, "td_lambda", "epsilon", "blend", "blend_played")


class TDRun(SelfPlayRun):
    """A run of TD."""

    settings_class: ClassVar[type[TDSettings]] = TDSettings
    checkpoint_format = "bombay-td-checkpoint/3"
    algorithm = "self-play TD(λ) on outcomes of turns"
    settings: TDSettings
    generator: SelfPlay
    learner: Trainer

    def __init__(self, settings: TDSettings) -> None:
        super().__init__(settings)
        self.features = value_features.digest(self.games[0].feature_layout)
        self.generator = SelfPlay(self.games, self.games_each, settings.hidden)
        self.samples = self.generator.samples.reshape(-1)
        self.learner = Trainer(self.generator.scales, settings.hidden, settings.seed)

    def play(self, done: float) -> tuple[np.ndarray, dict[str, float]]:
        """Play the games of an update; the weight of the win share grows. The metric is the spread of the margins' targets."""
        settings = self.settings
        indices = self.generator.play(
            self.learner.net,
            settings.seed,
            self.clock.updates_done * self.games_each,
            settings.blend * done,
            settings.epsilon,
            settings.td_lambda,
        )
        return indices, {"margin_spread": float(self.samples[indices]["margin"][:, 0].std())}

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

    def player(self) -> ValueNetAgent:
        """The agent that plays with `net`."""
        return ValueNetAgent(self.net())
