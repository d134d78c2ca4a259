"""The outcomes of a turn by the scripted value: for players that take the best of them, and those that look closer at some.

Nodes that differ in the elephant's site and in rupees alone have one survey of plans in common (`planner_value.py`), which takes
most of the time.
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
    """Overwrite `group` of the first `count` nodes: the first node that differs in site and rupees alone; they share a survey."""
    for number in range(count):
        node = memory.node[number]
        other = node.action - tables.num_sites
        same = node.parent != turns.NO_NODE and (other < 0 or other >= CONSOLIDATE)  # a move, a rupee or the turn's end
        node.group = memory.node[node.parent].group if same else number


@kernel
def best_outcome(memory, values, count):
    """Of the first `count` nodes the outcome of most value; of equals, the first."""
    best = -1
    for node in range(count):
        if memory.node[node].due != turns.TURN_GOES_ON and (best < 0 or values[node] > values[best]):
            best = node
    return best


@kernel
def look_back(memory, values, count):
    """Overwrite `values` of the nodes at which the turn goes on with that of the best outcome that they lead to."""
    for node in range(count):
        if memory.node[node].due == turns.TURN_GOES_ON:
            values[node] = -np.inf
    changed = True
    while changed:  # once more for each way that is longer than another to the same node
        changed = False
        for number in range(memory.num_edges - 1, -1, -1):
            edge = memory.edge[number]
            if values[edge.after] > values[edge.before]:
                values[edge.before] = values[edge.after]
                changed = True
