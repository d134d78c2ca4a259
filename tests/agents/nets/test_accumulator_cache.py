"""The value net's accumulator cache: positions that differ in a single entry are valued as they are without it.

With the compiler off only: a kernel that values such positions in one cache would be compiled for this test alone, for a minute.
"""

import itertools

import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.nets.value import evaluator as value_evaluator
from bombay_env.state import new_records
from helpers.draws import interpreted
from helpers.nets import TABLES, random_net, starts_of_turns
from helpers.position import neighbours


@interpreted
@pytest.mark.parametrize("game", [TABLES[0], TABLES[3]], ids=["2", "5"])
def test_no_two_positions_are_taken_for_one(game):
    evaluator, viewer = value_evaluator.new_evaluator(game, random_net(game)), game.num_players - 1
    node, memory = new_records(1, turns.memory_dtype(game.board.num_sites)["node"].base), evaluator.memory[0]

    def value(states):
        node["state"] = states
        value_evaluator.value_position(node[0], game.tables[0], viewer, evaluator.net[0], memory)
        return memory.forward.margin.tolist(), memory.forward.share.tolist()

    state = max(starts_of_turns(game, 6, 5), key=lambda state: (state["set"], state["basket"].sum()))
    first, different = np.array([state]), 0
    for _, group in itertools.groupby(neighbours(game, state), key=lambda found: found[0]):
        others = [other for _, other in group]
        for other in (
            others[0],
            others[-1],
        ):  # of fields with a number for each seat: of another seat, and of the viewer
            value_evaluator.clear_cache(memory)
            before, found, again = value(first), value(other), value(first)
            value_evaluator.clear_cache(memory)
            assert value(other) == found
            assert again == before
            different += found != before
    assert different > 20
