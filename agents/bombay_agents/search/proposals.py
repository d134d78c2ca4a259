"""The outcomes of a turn that the planner's value ranks highest: what both searches choose among.

Knows the planner's value; how good the proposed turns turn out to be is up to `tree.py` and `flat_mc.py`.
"""

from typing import Final

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner
from bombay_env.jit.kernels import kernel

MAX_PROPOSALS: Final = 12  # outcomes of one turn


@kernel
def propose(state, tables, weights, workspace, most):
    """Enumerate the mover's turn and write its `most` best outcomes into `workspace.ranked`, best first.

    Args:
        state: a record, unchanged.
        weights: `PlannerWeights`.
        workspace: a `PlannerWorkspace`; its turn and values are overwritten too.
        most: at least 1; ties go to the outcome found first.

    Returns:
        How many outcomes were written, or `turns.TOO_MANY` if the turn has no room.
    """
    count = planner.value_turn(state, tables, weights, workspace)
    if count == turns.TOO_MANY:
        return np.int64(turns.TOO_MANY)
    number = 0
    for outcome in range(count):
        if workspace.turn.due[outcome] != turns.TURN_GOES_ON:
            number = insert_outcome(workspace, outcome, number, most)
    return np.int64(number)


@kernel
def insert_outcome(workspace, outcome, number, most):
    """Insert an outcome among the `number` in `workspace.ranked`; the last of `most` drops out. Returns their new number."""
    if number == most and workspace.values[outcome] <= workspace.values[workspace.ranked[most - 1]]:
        return number
    place = min(number, most - 1)
    workspace.ranked[place] = outcome
    move_up(workspace, place)
    return min(number + 1, most)


@kernel
def move_up(workspace, place):
    """Move the outcome at `place` of `workspace.ranked` before those of lower value."""
    outcome = workspace.ranked[place]
    while place > 0 and workspace.values[outcome] > workspace.values[workspace.ranked[place - 1]]:
        workspace.ranked[place] = workspace.ranked[place - 1]
        place -= 1
    workspace.ranked[place] = outcome
