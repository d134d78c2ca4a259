"""Looks ahead from the end of a turn: plays whole rounds of turns, every seat taking the outcome that `planner-v1` ranks first.

What matters about an outcome is the position when the mover's next turn comes. In the first round the other seats play as if the
mover could not interfere. Their turns then depend only on the context: all of a position except the mover's own site, rupees,
bales and City tokens. Most outcomes of a turn share a few contexts, so replies are cached by context. Further rounds start with
the mover's own turn and are played for each outcome separately. Looking ahead stops when the game ends, and after a turn that
ends a set, because the restock is random. Knows the scripted value (`planner_value.py`), but no nets;
`nets/value_net_turns.py` uses it.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import outcome_values, planner_survey
from bombay_agents.scripted.planner_weights import WEIGHTS_V1, PlannerWeights
from bombay_env import Game
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.state import NOBODY

CACHED: Final = 8  # contexts kept
MAX_ROUNDS: Final = 100
UNSHARED: Final = 1 << 32  # leaf ids from here on belong to one outcome each
MOVER: Final = 0  # index into `weights`
OTHERS: Final = 1


def workspace_dtype(num_sites: int) -> np.dtype[Any]:
    """Memory for looking ahead, for one thread at a time; `set_constants` fills in what never changes."""
    memory = turns.memory_dtype(num_sites)
    node = memory["node"].base
    return record_dtype(
        [
            ("rounds", np.int64),  # to look ahead, from 1 to `MAX_ROUNDS`
            (
                "weights",
                [(name, np.float64) for name in PlannerWeights._fields],
                (2,),
            ),  # MOVER's, and of OTHERS in round one
            ("traffic", np.float64, (num_sites,)),  # of `planner_survey.site_traffic`
            ("survey", planner_survey.survey_dtype(num_sites)),
            ("memory", memory),  # of the turn that is being played
            ("values", np.float64, (turns.MAX_NODES,)),  # of its outcomes
            ("num_contexts", np.int64),  # added since `clear_cache`; the last `CACHED` are kept
            ("num_unshared", np.int64),  # outcomes since `clear_cache` for which more than one round was played
            ("context", node, (CACHED + 1,)),  # the keys of the cache, then the one that is looked up
            ("reply", node, (CACHED,)),  # the position after the first round
            ("leaf", node, (1,)),  # the position that looking ahead led to
            ("leaf_id", np.int64),  # equal ids since `clear_cache`: leaves that differ only in what is the mover's own
        ]
    )


def set_constants(workspace: np.ndarray, game: Game, rounds: int) -> None:
    """Fill in what depends on the game and on the number of rounds to look ahead; any number of records."""
    weights = WEIGHTS_V1[game.num_players]
    workspace["rounds"] = rounds
    workspace["weights"] = [weights, weights._replace(crowd=0.0)]  # ignoring interference from other seats
    workspace["traffic"] = planner_survey.site_traffic(game)


@kernel
def clear_cache(workspace):
    """Empty the cache; call it before the outcomes of another turn."""
    workspace.num_contexts = 0
    workspace.num_unshared = 0


@kernel
def look_ahead(after, tables, seat, workspace):
    """Overwrite `workspace.leaf[0]` with the position to which `after`, the end of a turn of `seat`, leads.

    Call `clear_cache` before another turn. Returns False if a turn has more states than fit in memory.
    """
    context, leaf = workspace.context[CACHED], workspace.leaf[0]
    copy_node(after, context)
    clear_seat(context.state, seat)
    number = find_context(workspace, context)
    if number == workspace.num_contexts:
        if not play_until_turn_of(context, tables, seat, workspace.weights[OTHERS], workspace):
            return False
        slot = number % CACHED
        copy_node(context, workspace.context[slot])
        copy_node(workspace.memory.node[0], workspace.reply[slot])
        workspace.num_contexts += 1
    workspace.leaf_id = number
    copy_node(workspace.reply[number % CACHED], leaf)
    restore_seat(after.state, leaf.state, seat)
    if workspace.rounds > 1 and can_play_on(leaf):
        workspace.leaf_id = UNSHARED + workspace.num_unshared
        workspace.num_unshared += 1
        return play_further_rounds(leaf, tables, seat, workspace)
    return True


@kernel
def play_further_rounds(leaf, tables, seat, workspace):
    """Play all rounds but the first from `leaf`, where the seat's turn starts. Returns False if a turn does not fit in memory."""
    first = workspace.memory.node[0]
    for _ in range(1, workspace.rounds):
        if can_play_on(leaf):
            copy_node(leaf, first)
            if not play_best_turn(tables, workspace.weights[MOVER], workspace):
                return False
            copy_node(first, leaf)
            if not play_until_turn_of(leaf, tables, seat, workspace.weights[MOVER], workspace):
                return False
            copy_node(first, leaf)
    return True


@kernel
def can_play_on(node):
    """Whether a turn follows a node between turns, without a restock before it."""
    return node.due != turns.RESTOCK_DUE and node.state.current_player != NOBODY


@kernel
def copy_node(node, other):
    """Overwrite the state of another node, and what is due there."""
    for place in range(len(node.words)):
        other.words[place] = node.words[place]
    other.due = node.due


@kernel
def clear_seat(state, seat):
    """Zero what belongs to the seat alone and does not influence the other seats."""
    state.position[seat] = 0
    state.rupees[seat] = 0
    for place in range(len(state.basket[seat])):
        state.basket[seat, place] = 0
    for place in range(len(state.city_tokens[seat])):
        state.city_tokens[seat, place] = 0


@kernel
def restore_seat(state, leaf, seat):
    """Put back into `leaf` what `clear_seat` removed from `state`; rupees that the seat earned meanwhile are added."""
    leaf.position[seat] = state.position[seat]
    leaf.rupees[seat] += state.rupees[seat]
    for place in range(len(state.basket[seat])):
        leaf.basket[seat, place] = state.basket[seat, place]
    for place in range(len(state.city_tokens[seat])):
        leaf.city_tokens[seat, place] = state.city_tokens[seat, place]


@kernel
def find_context(workspace, context):
    """The number of the same context in the cache; `num_contexts` if it is not there."""
    for number in range(max(0, workspace.num_contexts - CACHED), workspace.num_contexts):
        if turns.same_words(workspace.context[number % CACHED].words, context.words):
            return np.int64(number)
    return np.int64(workspace.num_contexts)


@kernel
def play_until_turn_of(node, tables, seat, weights, workspace):
    """Play turns from `node` until it is the seat's turn; the position then is node 0 of `workspace.memory`.

    Returns False if a turn does not fit in memory.
    """
    first = workspace.memory.node[0]
    copy_node(node, first)
    while can_play_on(first) and first.state.current_player != seat:
        if not play_best_turn(tables, weights, workspace):
            return False
    return True


@kernel
def play_best_turn(tables, weights, workspace):
    """Overwrite node 0 of `workspace.memory` with the best outcome of its mover's turn. Returns False if it does not fit."""
    memory = workspace.memory
    count = turns.lay_out(tables, memory)
    if count == turns.TOO_MANY:
        return False
    outcome_values.value_outcomes(tables, weights, workspace.traffic, memory, workspace.survey, workspace.values, count)
    best = turns.best_outcome(memory, workspace.values, count)
    copy_node(memory.node[best], memory.node[0])
    return True
