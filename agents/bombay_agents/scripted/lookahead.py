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


def workspace_dtype(num_sites: int) -> np.dtype[Any]:
    """Memory for what is foreseen; for one thread at a time. Set `rounds` once it is made."""
    memory = turns.memory_dtype(num_sites)
    node = memory["node"].base
    return record_dtype(
        [
            ("rounds", np.int64),  # of turns that are foreseen, from 1 to `MAX_ROUNDS`
            ("memory", memory, (1,)),  # of the turn that is played
            ("worth", np.float64, (turns.MAX_NODES,)),
            ("num_worlds", np.int64),  # entered since `clear_cache`; the last `KEPT` are kept
            ("num_further", np.int64),  # outcomes since `clear_cache` that more than one round was foreseen for
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
def clear_cache(workspace):
    """Keep nothing of what was foreseen before."""
    workspace.num_worlds = 0
    workspace.num_further = 0


@kernel
def look_ahead(after, tables, seat, weights, others, traffic, survey, workspace):
    """Overwrite `workspace.seen[0]` with what becomes of `after`, a node between turns, in the rounds that are foreseen.

    `others` are the weights of those who reply in the first round, `weights` of all later. Call `clear_cache` before another
    turn. `survey` is overwritten. Returns False if a turn has no room.
    """
    world, seen = workspace.world[KEPT], workspace.seen[0]
    copy_node(after, world)
    empty_hands(world.state, seat)
    number = find_world(workspace, world)
    if number == workspace.num_worlds:
        if not play_until_turn_of(world, tables, seat, others, traffic, survey, workspace):
            return False
        slot = number % KEPT
        copy_node(world, workspace.world[slot])
        copy_node(workspace.memory[0].node[0], workspace.foreseen[slot])
        workspace.num_worlds += 1
    workspace.number = number
    copy_node(workspace.foreseen[number % KEPT], seen)
    hand_over(after.state, seen.state, seat)
    if workspace.rounds > 1 and goes_on(seen):
        workspace.number = FURTHER + workspace.num_further
        workspace.num_further += 1
        return play_further(seen, tables, seat, weights, traffic, survey, workspace)
    return True


@kernel
def play_further(seen, tables, seat, weights, traffic, survey, workspace):
    """Play all rounds but the first from `seen`, at the beginning of the seat's turn. Returns False if a turn has no room."""
    first = workspace.memory[0].node[0]
    for _ in range(1, workspace.rounds):
        if goes_on(seen):
            copy_node(seen, first)
            if not reply(tables, weights, traffic, survey, workspace):
                return False
            copy_node(first, seen)
            if not play_until_turn_of(seen, tables, seat, weights, traffic, survey, workspace):
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
def find_world(workspace, world):
    """The number of the same world among those kept; `num_worlds` if there is none."""
    for number in range(max(0, workspace.num_worlds - KEPT), workspace.num_worlds):
        if turns.same_words(workspace.world[number % KEPT].words, world.words):
            return np.int64(number)
    return np.int64(workspace.num_worlds)


@kernel
def play_until_turn_of(node, tables, seat, weights, traffic, survey, workspace):
    """Play turns from `node` on, until it is the seat's; where that leads to is node 0 of `memory`.

    Returns False if a turn has no room.
    """
    first = workspace.memory[0].node[0]
    copy_node(node, first)
    while goes_on(first) and first.state.current_player != seat:
        if not reply(tables, weights, traffic, survey, workspace):
            return False
    return True


@kernel
def reply(tables, weights, traffic, survey, workspace):
    """Overwrite node 0 of `memory` with the outcome of its mover's turn that is worth most. Returns False without room."""
    memory = workspace.memory[0]
    count = turns.lay_out(tables, memory)
    if count == turns.TOO_MANY:
        return False
    outcome_values.value_outcomes(tables, weights, traffic, memory, survey, workspace.worth, count)
    best = outcome_values.best_outcome(memory, workspace.worth, count)
    copy_node(memory.node[best], memory.node[0])
    return True
