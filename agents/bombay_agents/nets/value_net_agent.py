"""`ValueNetAgent`: plays the outcome of its turn that a value net values most after looking ahead.

It considers its own turn as a whole, and then some rounds in which all seats play as `planner-v1` does. Nothing is random.
`value_net.py` holds the net, `value_net_turns.py` the evaluation of a turn. Does not know how nets are trained.
"""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files, net_evaluator, value_features, value_net_turns
from bombay_agents.nets.net_evaluator import NetEvaluator
from bombay_agents.nets.value_net import ValueNet
from bombay_agents.scripted import lookahead
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game
from bombay_env.checks import whole_number
from bombay_env.jit.kernels import kernel

# More rounds beat `planner-v1` more often, but `greedy` and nets that look ahead less far less often; README has the table.
DEFAULT_ROUNDS: Final = 2


class ValueNetWorkspace(NamedTuple):
    """What choosing a turn takes besides the position; arrays of one record, for one thread at a time."""

    net: np.ndarray  # of `value_net.net_dtype`
    lookups: np.ndarray  # of `Game.lookups`
    turn: np.ndarray  # of `value_net_turns.turn_dtype`
    blend: np.float32


class ValueNetAgent(TurnAgent):
    """Of the outcomes that `planner-v1` proposes, takes the one that the net values most after looking ahead some rounds.

    Ties go to the outcome that is found first.

    Args:
        net: the net, or the file to load it from (errors as `ValueNet.load`).
        force: also play under rules and on boards that the net was not trained on.
        rounds: how many rounds of turns to look ahead, at most to the end of the set; 1 covers the others' replies only.
    Raises:
        ValueError: `rounds` is out of range.
    """

    memory = (*TurnAgent.memory, "workspace")

    def __init__(
        self, net: ValueNet | str | os.PathLike[str], force: bool = False, rounds: int = DEFAULT_ROUNDS
    ) -> None:
        super().__init__()
        rounds = check_rounds(rounds)
        path = None if isinstance(net, ValueNet) else net
        self.net = net if isinstance(net, ValueNet) else ValueNet.load(net)
        self.force, self.rounds = force, rounds
        self.name = files.spec_of(path, force=force, rounds=rounds if rounds != DEFAULT_ROUNDS else 0)
        self._record = self.net.record()

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Make the memory for turns.

        Raises:
            ValueError: as `check_game`.
        """
        self.check_game(game)
        turn = value_net_turns.new_turn_workspaces(game, self.net.hidden, 1, self.rounds)
        self.workspace = ValueNetWorkspace(self._record, game.lookups, turn, np.float32(self.net.blend))
        return turns.workspace_in(turn["memory"])

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """The node of the outcome that the net values most."""
        return turns.check_count(plan_turn(state, game.tables, self.workspace))

    def check_game(self, game: Game) -> None:
        """Check that the net can play `game`.

        Raises:
            ValueError: it reads other features than this game's, or, without `force`, was not trained on its rules and board.
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

    def evaluator(self, game: Game) -> NetEvaluator:
        """Evaluates positions of `game`, looking ahead as far as the agent does; for searches (`search/evaluation.py`).

        Raises:
            ValueError: as `check_game`.
        """
        self.check_game(game)
        return net_evaluator.new_evaluator(game, self._record, self.rounds)


@kernel
def plan_turn(state, tables, workspace):
    """The node with the best outcome of the mover's turn; TOO_MANY if the turn does not fit in memory."""
    turn = workspace.turn[0]
    turn.memory.node[0].state = state
    count = value_net_turns.value_turn(tables[0], workspace.lookups[0], workspace.net[0], workspace.blend, turn)
    return count if count == turns.TOO_MANY else turns.best_outcome(turn.memory, turn.values, count)


def check_rounds(rounds: int) -> int:
    """A number of rounds to look ahead as an int. Raises ValueError if it is out of range."""
    return whole_number(rounds, "rounds", 1, lookahead.MAX_ROUNDS)
