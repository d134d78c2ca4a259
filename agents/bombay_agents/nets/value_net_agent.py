"""Value nets as players: `ValueNet`, what their files hold, and `ValueNetAgent`, which takes the outcome its net values most.

It looks at its own turn, laid out whole, and at how the set is likely to go on from there; no chance has part in it. What a
net reads stands in `value_features.py`, how it is asked in `value_net.py`. How nets are trained is not known here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files, net_evaluator, value_features, value_net
from bombay_agents.nets.files import check
from bombay_agents.nets.net_evaluator import NetEvaluator
from bombay_agents.nets.value_net import NUM_OUTPUTS
from bombay_agents.scripted import lookahead, outcome_values
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game
from bombay_env.jit.kernels import kernel

FORMAT: Final = "bombay-value/2"
KEYS: Final = {  # of the header
    "features": (str,),
    "num_features": (int,),
    "hidden": (int,),
    "blend": (float, int),
    "about": (dict,),
}
TENSORS: Final = ("first", "first_bias", "last", "last_bias")
MAX_HIDDEN: Final = 1024
# More beat `planner-v1` more often, but less often `greedy` and nets that foresee less; the README has the table.
DEFAULT_ROUNDS: Final = 2


@dataclass(frozen=True)
class ValueNet:
    """The weights of a value net and what they are for. F features, H hidden units.

    Args:
        first: (F, H) float32, features to hidden units.
        first_bias: (H,) float32.
        last: (H, 10) float32, hidden units to outputs: a margin by place, then a share by place.
        last_bias: (10,) float32.
        features: `turn_features.digest` of what the net reads.
        blend: how much the share of the win counts beside the margin when a turn is chosen, 0 … 1.
        about: anything else worth knowing: `rules` and `board` (see `nets/files.py`), training; JSON values by name.
    Raises:
        ValueError: the tensors do not fit one another or hold numbers that are not finite, or a number is out of range.
    """

    first: np.ndarray
    first_bias: np.ndarray
    last: np.ndarray
    last_bias: np.ndarray
    features: str
    blend: float
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, dims in zip(TENSORS, (2, 1, 2, 1), strict=True):
            files.check_tensor(name, getattr(self, name), dims)
        fits = {"first_bias": (self.hidden,), "last": (self.hidden, NUM_OUTPUTS), "last_bias": (NUM_OUTPUTS,)}
        for name, shape in fits.items():
            found = getattr(self, name).shape
            check(found == shape, f"{name} has shape {found}; beside first, {self.first.shape}, it must be {shape}")
        check(self.hidden <= MAX_HIDDEN, f"it has {self.hidden} hidden units; there must be from 1 to {MAX_HIDDEN}")
        check(0 <= self.blend <= 1, f"blend is {self.blend}; it must be from 0 to 1")
        object.__setattr__(self, "blend", float(self.blend))  # JSON knows no NumPy numbers

    @property
    def num_features(self) -> int:
        """Length of what it reads."""
        return int(self.first.shape[0])

    @property
    def hidden(self) -> int:
        """Units of the hidden layer."""
        return int(self.first.shape[1])

    def record(self) -> np.ndarray:
        """The weights as kernels take them, (1,) of `value_net.net_dtype`: rows of outputs with zeros behind."""
        record = np.zeros(1, value_net.net_dtype(self.num_features, self.hidden))
        for name in TENSORS:
            tensor = getattr(self, name)
            record[name][0][..., : tensor.shape[-1]] = tensor
        return record

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the net to `path` in one piece: a reader finds the old file or the new one, never half of either."""
        header = {
            "format": FORMAT,
            "features": self.features,
            "num_features": self.num_features,
            "hidden": self.hidden,
            "blend": self.blend,
            "about": dict(self.about),
        }
        files.write(path, header, {name: getattr(self, name) for name in TENSORS})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ValueNet:
        """Read a file that `save` wrote.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not such a file; one line that names the file and what is wrong.
        """
        return files.read(path, FORMAT, KEYS, cls._of)

    @classmethod
    def _of(cls, header: Mapping[str, Any], tensors: dict[str, np.ndarray]) -> ValueNet:
        files.check_names(tensors, set(TENSORS))
        net = cls(**tensors, features=header["features"], blend=header["blend"], about=header["about"])
        for what in ("num_features", "hidden"):
            check(header[what] == getattr(net, what), f"{what} is {header[what]!r}; the tensors say otherwise")
        return net


class ValueNetWorkspace(NamedTuple):
    """What choosing a turn by a value net needs besides the position; for one thread at a time."""

    turn: turns.TurnWorkspace
    net: NetEvaluator
    blend: np.float32
    values: np.ndarray  # (MAX_NODES,) float32, of the nodes at which the turn is over


class ValueNetAgent(TurnAgent):
    """Of the outcomes that `planner-v1` proposes, the one that the net values most some turns later, as they are foreseen.

    Of equals, the one that is found first.

    Args:
        net: the net, or the file to load it from (errors as `ValueNet.load`).
        force: play also under rules and on boards that it was not trained on.
        rounds: of turns that are foreseen, all seats playing as `planner-v1`, at most to the end of the set: 1 for the others'
            replies alone.
    Raises:
        ValueError: `rounds` is out of range.
    """

    def __init__(
        self, net: ValueNet | str | os.PathLike[str], force: bool = False, rounds: int = DEFAULT_ROUNDS
    ) -> None:
        super().__init__()
        check_rounds(rounds)
        at_hand = isinstance(net, ValueNet)
        self.net = net if isinstance(net, ValueNet) else ValueNet.load(net)
        self.force, self.rounds = force, rounds
        self.name = files.spec_of(
            None if at_hand else net,  # type: ignore[arg-type]
            force=force,
            rounds=rounds if rounds != DEFAULT_ROUNDS else 0,
        )
        self._record = self.net.record()

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Make the memory for turns.

        Raises:
            ValueError: the net reads other features than this game's, or was not trained on its rules and board.
        """
        self.workspace = ValueNetWorkspace(
            turns.new_workspace(game),
            self.evaluator(game),
            np.float32(self.net.blend),
            np.zeros(turns.MAX_NODES, np.float32),
        )
        return self.workspace.turn

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Ask the net about the outcomes of the turn."""
        return turns.check_count(plan_turn(state, game.tables, self.workspace))

    def evaluator(self, game: Game) -> NetEvaluator:
        """Its value of positions, looking ahead as it does itself; for searches (`search.evaluation.PositionEvaluator`).

        Raises:
            ValueError: as `prepare`.
        """
        layout = game.feature_layout
        files.check_fits(
            self.name,
            (
                ("features", self.net.features, value_features.digest(layout)),
                ("feature count", self.net.num_features, value_features.num_features(layout)),
            ),
        )
        if not self.force:
            files.check_trained_on(self.name, self.net.about, game)
        return net_evaluator.new_evaluator(game, self._record, self.rounds)


@kernel
def plan_turn(state, tables, workspace):
    """The node of `workspace.turn` with the best outcome of the mover's turn; TOO_MANY if there is no room to lay it out."""
    asked, memory = workspace.net, workspace.turn.memory[0]
    workspace.turn.states[0] = state
    count = value_net.value_turn(
        tables[0],
        asked.lookups[0],
        asked.net[0],
        asked.scales,
        workspace.blend,
        memory,
        asked.raw[0],
        asked.reader[0],
        asked.work[0],
        workspace.values,
    )
    return count if count == turns.TOO_MANY else outcome_values.best_outcome(memory, workspace.values, count)


def check_rounds(rounds: int) -> None:
    """Raise ValueError for a number of rounds that cannot be foreseen."""
    if not 1 <= rounds <= lookahead.MAX_ROUNDS:
        raise ValueError(f"net: rounds is {rounds}; it must be from 1 to {lookahead.MAX_ROUNDS}")
