"""Expert iteration: `zero` learns from games in which a tree search with the current net, the expert, chooses every turn.

The expert is the tree of `zero-search`, a max^n search whose values and priors are the net's, so nothing scripted takes part. The
net learns what the search finds at its root, and the results (`zero/tree_play.py`). Everything but the games is as in
`zero/run.py`. A run starts from the weights of an existing net; a match decides whether the new net is better
(`evaluation/gate.py`).
"""

import dataclasses
import hashlib
from typing import Any, ClassVar, Final

from bombay_training.learners.runs.settings import require, require_whole
from bombay_training.learners.zero.run import ZeroRun, ZeroSettings
from bombay_training.learners.zero.start import games_learned_from, zero_agent
from bombay_training.learners.zero.tree_play import TreePlay

MAX_NODES: Final = 10_000
FEW_NODES: Final = 8


@dataclasses.dataclass(frozen=True)
class ExpertIterationSettings(ZeroSettings):
    """Everything that decides a run; see `settings_for`."""

    learner: ClassVar[str] = "expert"

    games: int = 64
    """Games per update over all player counts; rounded down to the same number for each."""
    learning_rate: float = 5e-4
    """Adam's learning rate at the start. The net is trained already."""
    lr_hold: float = 0.0
    """Fraction of the run before the learning rate decays, linearly to a twentieth."""
    td_lambda: float = 0.6
    """The λ of TD(λ) at the start of the run: 1 learns from results only, 0 only from what the next search finds."""
    final_td_lambda: float = 0.6
    """The same at the end. It stays, because what a search finds is less biased than the net's own values."""
    epsilon: float = 0.03
    """The ε of ε-greedy play at the start of the run: probability that a seat takes a random one of the outcomes that its search
    compared."""
    start: str = "zero"
    """Spec of the `zero` agent whose weights the run starts from."""
    nodes: int = 48
    """The expert's simulations per turn."""
    min_visits: int = 4
    """Simulations through an outcome of a turn from which on it is learned from."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        require_whole(self, "nodes", "min_visits", low=1, high=MAX_NODES)
        require(self, "start", holds=lambda spec: isinstance(spec, str), allowed="the spec of a zero agent")


def settings_for(start: str, **options: Any) -> ExpertIterationSettings:
    """Settings of a run that starts from a net and has its widths.

    Args:
        start: spec of the `zero` agent.
        options: other fields of `ExpertIterationSettings`; None means not given.
    Raises:
        ValueError: `start` is no `zero` agent, or a setting is out of range.
    """
    given = {name: value for name, value in options.items() if value is not None}
    hidden, second = zero_agent(start).net.units
    return ExpertIterationSettings(start=start, hidden=hidden, second=second, **given)


class ExpertIterationRun(ZeroRun):
    """A run of `zero` whose games the expert plays.

    Raises:
        ValueError: the net to start from is for other games, or has other widths.
    """

    settings_class: ClassVar[type[ZeroSettings]] = ExpertIterationSettings
    settings: ExpertIterationSettings

    def __init__(self, settings: ExpertIterationSettings) -> None:
        super().__init__(settings)
        student = zero_agent(settings.start)
        for game in self.games:
            student.check_game(game)
        self.start_digest = hashlib.sha256(student.net.record().tobytes()).hexdigest()
        self.games_before = games_learned_from(student.net.about) or 0
        self.start_from(student.net, settings.start)

    def make_generator(self) -> TreePlay:
        """The expert's games, with memory for their training samples."""
        settings = self.settings
        return TreePlay(
            self.games, self.games_each, settings.hidden, settings.second, settings.nodes, settings.min_visits
        )

    def identity_parts(self) -> list[str]:
        """Digests of the features and of the net that it starts from: another net under the same spec makes another run."""
        return [*super().identity_parts(), self.start_digest]

    def smallest(self) -> ExpertIterationSettings:
        """As for `zero`, with searches of a few simulations, because signals do not act while kernels run."""
        return dataclasses.replace(super().smallest(), nodes=FEW_NODES, min_visits=1)

    def references(self) -> tuple[str, ...]:
        """The agent that it starts from."""
        return (self.settings.start,)

    def about(self) -> dict[str, Any]:
        """How the net was trained, for its file; `games` include those of the net that it started from."""
        about = super().about()
        return {
            **about,
            "algorithm": "expert iteration: TD(λ) on what tree searches find, from the rules alone",
            "start": self.settings.start,
            "nodes": self.settings.nodes,
            "games": about["games"] + self.games_before,
        }
