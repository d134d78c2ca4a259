"""What the others are likely to do before a seat's next turn: they reply as `planner-v1` would, were nobody in their way.

What matters of an outcome is where it leaves its mover when the turn comes round again. Replies hang on the world alone, which is
all of a position but the seat's own place, rupees, bales and first City tokens; most outcomes of a turn share a few worlds, and
what has been foreseen is kept. It ends before a turn that ends the game, and after one that ends a set: no restock is foreseen.
Knows the scripted value; nothing of nets.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turn_values, turns
from bombay_env.compile import kernel, record_dtype
from bombay_env.state import NOBODY

KEPT: Final = 8  # worlds of one turn


def foresight_dtype(num_sites: int) -> np.dtype[Any]:
    """Memory for replies; for one thread at a time."""
    memory = turns.memory_dtype(num_sites)
    node = memory["node"].base
    return record_dtype(
        [
            ("memory", memory, (1,)),  # of the turn that is replied by
            ("worth", np.float64, (turns.MAX_NODES,)),
            ("num_worlds", np.int64),  # entered since `forget`; the last `KEPT` are kept
            ("number", np.int64),  # of the one seen last
            ("world", node, (KEPT + 1,)),  # the last for the one that is looked for
            ("foreseen", node, (KEPT,)),  # what it has come to
            ("seen", node, (1,)),  # the same, the seat's own things added
        ]
    )


@kernel
def forget(foresight):
    """Keep nothing of what was foreseen before."""
    foresight.num_worlds = 0


@kernel
def foresee(after, tables, seat, weights, traffic, survey, foresight):
    """Overwrite `foresight.seen[0]` with what becomes of `after`, a node between turns, until `seat` moves again.

    Call `forget` before another turn. `survey` is overwritten. Returns False if a turn has no room.
    """
    world = foresight.world[KEPT]
    copy_words(after, world)
    world.due = after.due
    empty_hands(world.state, seat)
    number = find_world(foresight, world)
    if number == foresight.num_worlds:
        if not reply(world, tables, seat, weights, traffic, survey, foresight):
            return False
        slot = number % KEPT
        copy_words(world, foresight.world[slot])
        copy_words(foresight.memory[0].node[0], foresight.foreseen[slot])
        foresight.num_worlds += 1
    foresight.number = number
    seen = foresight.seen[0]
    copy_words(foresight.foreseen[number % KEPT], seen)
    hand_over(after.state, seen.state, seat)
    return True


@kernel
def copy_words(node, other):
    """Overwrite the state of another node."""
    for place in range(len(node.words)):
        other.words[place] = node.words[place]


@kernel
def empty_hands(state, seat):
    """Take away all that the others do not look at."""
    state.position[seat] = 0
    state.rupees[seat] = 0
    for place in range(len(state.basket[seat])):
        state.basket[seat, place] = 0
    for place in range(len(state.city_tokens[seat])):
        state.city_tokens[seat, place] = 0


@kernel
def hand_over(state, seen, seat):
    """Give it back; what the seat has earned by the replies comes on top."""
    seen.position[seat] = state.position[seat]
    seen.rupees[seat] += state.rupees[seat]
    for place in range(len(state.basket[seat])):
        seen.basket[seat, place] = state.basket[seat, place]
    for place in range(len(state.city_tokens[seat])):
        seen.city_tokens[seat, place] = state.city_tokens[seat, place]


@kernel
def find_world(foresight, world):
    """The number of the same world among those kept; `num_worlds` if there is none."""
    for number in range(max(0, foresight.num_worlds - KEPT), foresight.num_worlds):
        if turns.same_words(foresight.world[number % KEPT].words, world.words):
            return np.int64(number)
    return np.int64(foresight.num_worlds)


@kernel
def reply(world, tables, seat, weights, traffic, survey, foresight):
    """Play the others' turns from `world`; where that leads to is node 0 of `memory`. Returns False if a turn has no room."""
    memory = foresight.memory[0]
    first = memory.node[0]
    copy_words(world, first)
    restock_due = world.due == turns.RESTOCK_DUE
    while not restock_due and first.state.current_player != NOBODY and first.state.current_player != seat:
        count = turns.lay_out(tables, memory)
        if count == turns.TOO_MANY:
            return False
        turn_values.value_outcomes(tables, weights, traffic, memory, survey, foresight.worth, count)
        best = turn_values.best_outcome(memory, foresight.worth, count)
        if memory.node[best].state.current_player == NOBODY:
            return True
        restock_due = memory.node[best].due == turns.RESTOCK_DUE
        copy_words(memory.node[best], first)
    return True
