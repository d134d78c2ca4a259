"""What the outcomes of a turn are worth to the mover by the planner's value.

Outcomes that differ only in the elephant's site and in rupees share a survey (`planner_survey.py`), which takes most of the time.
Knows the planner's value and the layout of a turn (`turns/enumeration.py`); agents decide what to do with the worths.
"""

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner_value
from bombay_env.actions import CONSOLIDATE
from bombay_env.jit.kernels import kernel


@kernel
def value_outcomes(tables, weights, traffic, memory, survey, values, count):
    """Overwrite `values` of the outcomes among the first `count` nodes of a turn; `survey` is overwritten too."""
    player = np.int64(memory.node[0].state.current_player)
    group_by_site(tables, memory, count)
    for first in range(count):
        if memory.node[first].group == first:
            surveyed = False
            for number in range(first, count):
                node = memory.node[number]
                if node.group == first and node.due != turns.TURN_GOES_ON:
                    if not surveyed:
                        planner_value.survey_seat(node.reading, tables, player, weights, traffic, survey)
                        surveyed = True
                    values[number] = planner_value.value(node.reading, tables, player, survey, weights)


@kernel
def group_by_site(tables, memory, count):
    """Overwrite `group` of the first `count` nodes with the first node that differs only in site and rupees.

    The nodes of a group share a survey.
    """
    for number in range(count):
        node = memory.node[number]
        other = node.action - tables.num_sites
        # A move, consolidating and the turn's end change nothing else.
        same = node.parent != turns.NO_NODE and (other < 0 or other >= CONSOLIDATE)
        node.group = memory.node[node.parent].group if same else number
