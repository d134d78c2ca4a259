"""Self-play TD(λ) from the rules alone: settings, the games of an update, the net and the agent.

One net values the ends of turns for every seat. In an update it first plays some games against itself, in which every seat takes
the outcome of its turn that the net values highest (`self_play.py`). It then learns from the positions of these games
(`optimizer.py`). No player and no value made by hand takes part: the net reads what is on the board and what follows from the
rules exactly (`nets/zero/slots.py`). The rest of an update is in `self_play_run.py`, and the loop around the updates in
`runs/run.py`.
"""

import dataclasses
from typing import ClassVar

import numpy as np

from bombay_agents.nets import files
from bombay_agents.nets.zero import slots
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.nets.zero.net import MAX_HIDDEN, ZeroNet
from bombay_training.learners.runs.settings import require, require_fraction, require_number, require_whole
from bombay_training.learners.self_play_run import SelfPlayRun, SelfPlaySettings
from bombay_training.learners.zero.optimizer import Trainer
from bombay_training.learners.zero.self_play import PlayOptions, SelfPlay


@dataclasses.dataclass(frozen=True)
class ZeroSettings(SelfPlaySettings):
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str] = "zero"

    hidden: int = 128
    """Width of the net's first hidden layer, a multiple of 4."""
    second: int = 32
    """Width of its second hidden layer, a multiple of 4."""
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

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        require_whole(self, "hidden", "second", low=4, high=MAX_HIDDEN)
        require(self, "hidden", "second", holds=lambda width: width % 4 == 0, allowed="a multiple of 4")
        require_fraction(self, "td_lambda", "final_td_lambda", "epsilon", "final_epsilon")
        require_number(self, "share_weight", low=0, high=100)


class ZeroRun(SelfPlayRun):
    """A run of `zero`. Learners with other games than self-play's override `make_generator` (see `best_response.py`)."""

    settings_class: ClassVar[type[ZeroSettings]] = ZeroSettings
    checkpoint_format = "bombay-zero-checkpoint/1"
    algorithm = "self-play TD(λ) on all outcomes of turns, from the rules alone"
    settings: ZeroSettings
    generator: SelfPlay
    learner: Trainer

    def __init__(self, settings: ZeroSettings) -> None:
        super().__init__(settings)
        num_sites = self.games[0].board.num_sites
        self.features = slots.digest(num_sites)
        self.generator = self.make_generator()
        self.samples = self.generator.samples.reshape(-1)
        self.learner = Trainer(
            slots.first_rows(num_sites), slots.num_rows(num_sites), settings.hidden, settings.second, settings.seed
        )

    def start_from(self, net: ZeroNet, spec: str) -> None:
        """Take the weights of a net; `spec` names its agent in messages.

        Raises:
            ValueError: it is for boards with another number of sites, or its widths are not those of the settings.
        """
        if net.slots != self.features:
            sites = self.games[0].board.num_sites
            raise ValueError(f"{spec}, from which the run starts, is not for boards with {sites} sites")
        weights = net.record()
        if weights.dtype != self.learner.net.dtype:
            raise ValueError(f"hidden and second are not the widths of {spec}, from which the run starts")
        self.learner.net[:] = self.learner.average[:] = weights

    def make_generator(self) -> SelfPlay:
        """The games of an update, with memory for their training samples."""
        return SelfPlay(self.games, self.games_each, self.settings.hidden, self.settings.second)

    def play(self, done: float) -> tuple[np.ndarray, dict[str, float]]:
        """Play the games of an update; ε and λ change from their first values to their last. The metric is ε."""
        settings = self.settings
        epsilon = settings.epsilon + (settings.final_epsilon - settings.epsilon) * done
        td_lambda = settings.td_lambda + (settings.final_td_lambda - settings.td_lambda) * done
        options = PlayOptions(np.float32(settings.share_weight), epsilon, np.float32(td_lambda))
        first = self.clock.updates_done * self.games_each
        return self.generator.play(self.learner.net, settings.seed, first, options), {"epsilon": epsilon}

    def net(self) -> ZeroNet:
        """The running average of the weights, as a net."""
        about = {**files.about_games(self.games), "training": self.about()}
        return ZeroNet.of_record(self.learner.average, self.features, self.settings.share_weight, about)

    def player(self) -> ZeroAgent:
        """The agent that plays with `net`, without looking ahead."""
        return ZeroAgent(self.net(), rounds=0)
