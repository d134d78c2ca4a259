"""`PlannerAgent`: enumerates its whole turn and takes the outcome that the scripted value of `planner_value.py` ranks first.

It considers only its own turn: no restock, and no reply of an opponent. It is deterministic: the same position always gets the
same decision.

`planner-v1` is the reference opponent of every published number. Its decisions never change; a test compares them with a digest.
Another value or other weights would be another version.
"""

from typing import Any, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.memory import WithMemory
from bombay_agents.scripted import evaluator, outcome_values, planner_survey
from bombay_agents.scripted.evaluator import PlannerEvaluator
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_env import Game
from bombay_env.jit.kernels import kernel
from bombay_env.registry import described


class PlannerWorkspace(NamedTuple):
    """The memory for planning a turn; for one thread at a time. S sites."""

    turn: turns.TurnWorkspace
    values: np.ndarray  # (MAX_NODES,) float64, of the outcomes
    survey: np.ndarray  # (1,) of `planner_survey.survey_dtype`
    traffic: np.ndarray  # (S,) float64 of `planner_survey.site_traffic`
    actions: np.ndarray  # (MAX_DECISIONS,) int64, the decisions that lead to an outcome


def new_workspace(game: Game) -> PlannerWorkspace:
    """Memory for planning turns of `game`."""
    return PlannerWorkspace(
        turns.new_workspace(game),
        np.zeros(turns.MAX_NODES, np.float64),
        np.zeros(1, planner_survey.survey_dtype(game.board.num_sites)),
        planner_survey.site_traffic(game),
        np.zeros(turns.MAX_DECISIONS, np.int64),
    )


@described("all")
class PlannerAgent(WithMemory):
    """The frozen reference opponent: enumerates its turn and takes the outcome that its scripted value ranks first.

    Ties go to the outcome found first, with the fewest decisions.
    """

    memory = ("_game", "_workspace")

    name = "planner-v1"

    def __init__(self) -> None:
        super().__init__()
        self._game: Game | None = None  # that `_workspace` is for
        self._workspace: Any = None

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64.

        Raises:
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        records = game.check_states(states)
        actions = np.empty(len(records), np.int64)
        with self.lock:
            if game != self._game:
                self._game, self._workspace = game, new_workspace(game)
            turns.check_count(choose_all(records, game.tables, WEIGHTS_V1[game.num_players], self._workspace, actions))
        return actions

    def evaluator(self, game: Game) -> PlannerEvaluator:
        """Evaluates turns of `game` by its value, for searches."""
        return evaluator.new_evaluator(game, WEIGHTS_V1[game.num_players])


@kernel
def choose_all(states, tables, weights, workspace, actions):
    """Overwrite `actions` (batch,) int64 with the first action of each state's best turn.

    Returns the number of states, or TOO_MANY if a turn has no room.
    """
    for lane in range(len(states)):
        best = plan_turn(states[lane], tables[0], weights, workspace)
        if best < 0:
            return turns.TOO_MANY
        turns.way_to(workspace.turn, best, workspace.actions)
        actions[lane] = workspace.actions[0]
    return len(states)


@kernel
def plan_turn(state, tables, weights, workspace):
    """The node of `workspace.turn` with the best outcome of the mover's turn; TOO_MANY if the turn has no room."""
    count = lay_out_and_value(state, tables, weights, workspace)
    if count == turns.TOO_MANY:
        return count
    return turns.best_outcome(workspace.turn.memory[0], workspace.values, count)


@kernel
def lay_out_and_value(state, tables, weights, workspace):
    """Enumerate the mover's turn and value its outcomes for the mover. Returns the number of nodes or TOO_MANY."""
    count = turns.enumerate_turn(state, tables, workspace.turn)
    outcome_values.value_outcomes(
        tables, weights, workspace.traffic, workspace.turn.memory[0], workspace.survey[0], workspace.values, count
    )
    return count
