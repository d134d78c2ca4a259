"""What is likely to happen before a seat's next turn, and before the ones after it, were all to play as `planner-v1` does.

What matters of an outcome is where it leaves its mover when the turn comes round again. In the first round the others reply as
if the mover were in nobody's way: their replies then hang on the world alone, which is all of a position but the seat's own
place, rupees, bales and first City tokens. Most outcomes of a turn share a few worlds, and what has been foreseen is kept.
Further rounds begin with the seat's own turn and are foreseen for each outcome by itself. It ends with the game, or after a turn
that ends a set: no restock is foreseen. Knows the scripted value; nothing of nets.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import outcome_values
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.state import NOBODY

KEPT: Final = 8  # worlds of one turn
MAX_ROUNDS: Final = 100
FURTHER: Final = 1 << 32  # numbers from here on are of what was foreseen for one outcome alone


def foresight_dtype(num_sites: int) -> np.dtype[Any]:
    """Memory for what is foreseen; for one thread at a time. Set `rounds` once it is made."""
    memory = turns.memory_dtype(num_sites)
    node = memory["node"].base
    return record_dtype(
        [
            ("rounds", np.int64),  # of turns that are foreseen, from 1 to `MAX_ROUNDS`
            ("memory", memory, (1,)),  # of the turn that is played
            ("worth", np.float64, (turns.MAX_NODES,)),
            ("num_worlds", np.int64),  # entered since `forget`; the last `KEPT` are kept
            ("num_further", np.int64),  # outcomes since `forget` that more than one round was foreseen for
            (
                "number",
                np.int64,
            ),  # of what was foreseen last: all but the seat's own things is equal under equal numbers
            ("world", node, (KEPT + 1,)),  # the last for the one that is looked for
            ("foreseen", node, (KEPT,)),  # what it has come to
            ("seen", node, (1,)),  # the same, the seat's own things added, and further rounds played
        ]
    )


@kernel
def forget(foresight):
    """Keep nothing of what was foreseen before."""
    foresight.num_worlds = 0
    foresight.num_further = 0


@kernel
def foresee(after, tables, seat, weights, others, traffic, survey, foresight):
    """Overwrite `foresight.seen[0]` with what becomes of `after`, a node between turns, in the rounds that are foreseen.

    `others` are the weights of those who reply in the first round, `weights` of all later. Call `forget` before another turn.
    `survey` is overwritten. Returns False if a turn has no room.
    """
    world, seen = foresight.world[KEPT], foresight.seen[0]
    copy_node(after, world)
    empty_hands(world.state, seat)
    number = find_world(foresight, world)
    if number == foresight.num_worlds:
        if not play_until(world, tables, seat, others, traffic, survey, foresight):
            return False
        slot = number % KEPT
        copy_node(world, foresight.world[slot])
        copy_node(foresight.memory[0].node[0], foresight.foreseen[slot])
        foresight.num_worlds += 1
    foresight.number = number
    copy_node(foresight.foreseen[number % KEPT], seen)
    hand_over(after.state, seen.state, seat)
    if foresight.rounds > 1 and goes_on(seen):
        foresight.number = FURTHER + foresight.num_further
        foresight.num_further += 1
        return play_further(seen, tables, seat, weights, traffic, survey, foresight)
    return True


@kernel
def play_further(seen, tables, seat, weights, traffic, survey, foresight):
    """Play all rounds but the first from `seen`, at the beginning of the seat's turn. Returns False if a turn has no room."""
    first = foresight.memory[0].node[0]
    for _ in range(1, foresight.rounds):
        if goes_on(seen):
            copy_node(seen, first)
            if not reply(tables, weights, traffic, survey, foresight):
                return False
            copy_node(first, seen)
            if not play_until(seen, tables, seat, weights, traffic, survey, foresight):
                return False
            copy_node(first, seen)
    return True


@kernel
def goes_on(node):
    """Whether a turn can be played from a node between turns without chance."""
    return node.due != turns.RESTOCK_DUE and node.state.current_player != NOBODY


@kernel
def copy_node(node, other):
    """Overwrite the state of another node, and what is due there."""
    for place in range(len(node.words)):
        other.words[place] = node.words[place]
    other.due = node.due


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
def play_until(node, tables, seat, weights, traffic, survey, foresight):
    """Play turns from `node` on, until it is the seat's; where that leads to is node 0 of `memory`.

    Returns False if a turn has no room.
    """
    first = foresight.memory[0].node[0]
    copy_node(node, first)
    while goes_on(first) and first.state.current_player != seat:
        if not reply(tables, weights, traffic, survey, foresight):
            return False
    return True


@kernel
def reply(tables, weights, traffic, survey, foresight):
    """Overwrite node 0 of `memory` with the outcome of its mover's turn that is worth most. Returns False without room."""
    memory = foresight.memory[0]
    count = turns.lay_out(tables, memory)
    if count == turns.TOO_MANY:
        return False
    outcome_values.value_outcomes(tables, weights, traffic, memory, survey, foresight.worth, count)
    best = outcome_values.best_outcome(memory, foresight.worth, count)
    copy_node(memory.node[best], memory.node[0])
    return True
