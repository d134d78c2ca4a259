"""`PlannerAgent`: lays out its whole turn and takes the outcome that the scripted value of `planner_value.py` likes best.

It looks at nothing but its own turn: no restock, no opponent's answer. Chance has no part in it either: the same position is
always played alike.

`planner-v1` is the reference opponent of every published number. Its weights are those of one run of `bombay_training/tune.py`
and its decisions never change again; a test holds them against a digest. Another value or other weights are another version.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import outcome_values, planner_value
from bombay_agents.scripted.planner_value import WEIGHTS_V1, Weights
from bombay_agents.search.evaluation import Evaluator, new_evaluator
from bombay_env import Game
from bombay_env.jit.kernels import kernel


class PlannerWorkspace(NamedTuple):
    """What planning a turn needs besides the position; for one thread at a time."""

    turn: turns.TurnWorkspace
    values: np.ndarray  # (MAX_NODES,) float64, of the nodes at which the turn is over
    ranked: np.ndarray  # (MAX_NODES,) int32, for those who rank outcomes
    survey: np.ndarray  # (1,) of `survey_dtype`
    traffic: np.ndarray  # (S,) float64 of `site_traffic`
    actions: np.ndarray  # (MAX_DECISIONS,) int64, a way through the turn


def new_workspace(game: Game) -> PlannerWorkspace:
    """Memory for planning turns of `game`."""
    return PlannerWorkspace(
        turns.new_workspace(game),
        np.zeros(turns.MAX_NODES, np.float64),
        np.zeros(turns.MAX_NODES, np.int32),
        np.zeros(1, planner_value.survey_dtype(game.board.num_sites)),
        planner_value.site_traffic(game),
        np.zeros(turns.MAX_DECISIONS, np.int64),
    )


class PlannerAgent:
    """The turn whose outcome the scripted value likes best; of equals, the one that is found first, so with few decisions."""

    def __init__(self, weights: Mapping[int, Weights], name: str = "planner") -> None:
        self.weights, self.name = weights, name
        self._game: Game | None = None  # that `_workspace` is for
        self._workspace: Any = None

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64."""
        if game is not self._game:
            self._game, self._workspace = game, new_workspace(game)
        records = np.ascontiguousarray(states).view(game.state_dtype, np.ndarray)
        actions = np.empty(len(records), np.int64)
        turns.check_count(choose_all(records, game.tables, self.weights[game.num_players], self._workspace, actions))
        return actions

    def evaluator(self, game: Game) -> Evaluator:
        """Its value, for searches (`evaluation.PositionEvaluator`)."""
        return new_evaluator(game, self.weights[game.num_players])


def make_planner_v1() -> PlannerAgent:
    """The frozen reference opponent."""
    return PlannerAgent(WEIGHTS_V1, "planner-v1")


def make_planner(weights: str | None = None) -> PlannerAgent:
    """A planner with the weights in a file that `bombay_training.learners.tune` wrote; those of version 1 without one.

    Raises:
        ValueError: the file holds something else; see `read_weights`.
    """
    if weights is None:
        return PlannerAgent(WEIGHTS_V1)
    return PlannerAgent(read_weights(Path(weights)), f"planner:weights={weights}")


def read_weights(path: Path) -> dict[int, Weights]:
    """The weights in a file, by number of players.

    Raises:
        ValueError: the file cannot be read, or does not hold exactly the weights there are, each a finite number.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"planner: {path} cannot be read as JSON: {error}") from None
    if not isinstance(found, dict) or set(found) != set(map(str, WEIGHTS_V1)):
        raise ValueError(f"planner: {path} must be an object with the keys {', '.join(map(str, WEIGHTS_V1))}: players")
    for count, weights in found.items():
        if not isinstance(weights, dict) or set(weights) != set(Weights._fields):
            raise ValueError(f"planner: {count} in {path} must be an object with the keys {', '.join(Weights._fields)}")
        for key, value in weights.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
                raise ValueError(f"planner: {key} for {count} in {path} is {value!r}; it must be a finite number")
    return {
        int(count): Weights(**{key: float(weights[key]) for key in Weights._fields}) for count, weights in found.items()
    }


@kernel
def choose_all(states, tables, weights, workspace, actions):
    """Overwrite `actions` (batch,) int64 with the first of each state's best turn. Returns TOO_MANY if a turn is too long."""
    for lane in range(len(states)):
        best = plan_turn(states[lane], tables[0], weights, workspace)
        if best < 0:
            return turns.TOO_MANY
        turns.way_to(workspace.turn, best, workspace.actions)
        actions[lane] = workspace.actions[0]
    return len(states)


@kernel
def plan_turn(state, tables, weights, workspace):
    """The node of `workspace.turn` with the best outcome of the mover's turn; TOO_MANY if there is no room to lay it out."""
    count = value_turn(state, tables, weights, workspace)
    return (
        count
        if count == turns.TOO_MANY
        else outcome_values.best_outcome(workspace.turn.memory[0], workspace.values, count)
    )


@kernel
def value_turn(state, tables, weights, workspace):
    """Lay the mover's turn out and value its outcomes for the mover. Returns the number of nodes or TOO_MANY."""
    count = turns.enumerate_turn(state, tables, workspace.turn)
    outcome_values.value_outcomes(
        tables, weights, workspace.traffic, workspace.turn.memory[0], workspace.survey[0], workspace.values, count
    )
    return count
