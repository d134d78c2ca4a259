"""All distinct outcomes of a turn: what every player stronger than `greedy` chooses among.

A turn is a few decisions of one player with no chance in between, so it can be enumerated. A node is a state that the mover can
reach, each once however many paths lead to it. The nodes in which the turn is over are its outcomes; the restock that may follow
is not drawn. Nodes are in the order of breadth-first search, so the path to an outcome is a shortest one.

Knows the engine, but not what an outcome is worth; for that read `evaluator.py`.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env import Game, engine
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.state import reading_dtype, state_dtype

MAX_NODES: Final = 4096  # of one turn; under the official rules a few hundred at most
MAX_DECISIONS: Final = 256  # on one path through a turn: at most two for each action, as a `take` can follow a palace
TOO_MANY: Final = -1  # returned instead of a number of nodes
NO_NODE: Final = -1

# What is due at a node.
TURN_GOES_ON: Final = 0
TURN_OVER: Final = 1  # the next player acts, or the game is over
RESTOCK_DUE: Final = 2  # a new set begins

WORD: Final = 8  # bytes of the words that states are hashed and compared by
SLOTS: Final = 4 * MAX_NODES  # of the hash table, a power of two

# Typed, as a literal would make unsigned numbers signed; every product stays below 2**64.
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_MULTIPLY: Final = np.uint64(0x9E3779B1)
_KEYS: Final = np.random.default_rng(0).integers(1 << 64, size=128, dtype=np.uint64)  # arbitrary, one for each word
_SLOT_BITS: Final = np.uint64(SLOTS - 1)


class TurnWorkspace(NamedTuple):
    """Memory for the nodes of one turn, from `new_workspace`; `enumerate_turn` overwrites it. For one thread at a time."""

    memory: np.ndarray  # (1,) of `memory_dtype`; the other fields are views of it
    states: np.ndarray  # (MAX_NODES,) records
    parent: np.ndarray  # (MAX_NODES,) int32, the previous node on a shortest path; NO_NODE for the first
    action: np.ndarray  # (MAX_NODES,) int32, the decision at the parent
    due: np.ndarray  # (MAX_NODES,) int8, TURN_GOES_ON, TURN_OVER or RESTOCK_DUE
    group: np.ndarray  # (MAX_NODES,) int32, for callers that value similar nodes together


class Turn(NamedTuple):
    """One outcome of a turn, with a shortest way to reach it."""

    actions: tuple[int, ...]
    state: np.ndarray  # (1,) record: the outcome, before any restock
    restock_due: bool


def memory_dtype(num_sites: int) -> np.dtype[Any]:
    """The memory of a turn as one record.

    Kernels count references to an array each time they pass it on; with one array for each field that took most of their time.
    """
    dtype = state_dtype(num_sites)
    num_words = -(-dtype.itemsize // WORD)
    assert num_words <= len(_KEYS)
    fields: list[tuple[str, Any, int]] = [
        ("state", dtype, 0),
        ("reading", reading_dtype(num_sites), 0),  # the same bytes, for kernels that only read states
        ("words", (np.uint64, (num_words,)), 0),  # the same bytes as words, padded with zeros
        ("parent", np.int32, num_words * WORD),
        ("action", np.int32, num_words * WORD + 4),
        ("due", np.int8, num_words * WORD + 8),
        ("group", np.int32, num_words * WORD + 12),
    ]
    names, formats, offsets = zip(*fields, strict=True)
    itemsize = (num_words + 2) * WORD
    layout: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": itemsize}
    node = record_dtype(layout)
    whole = [
        ("node", node, (MAX_NODES,)),
        ("slots", np.int64, (SLOTS,)),  # hash table: the generation, and the node in the low half
        ("generation", np.int64),  # turns enumerated so far: entries of earlier ones are void
    ]
    return record_dtype(whole)


def new_workspace(game: Game) -> TurnWorkspace:
    """Memory for a turn of `game`, about one megabyte; for one thread at a time."""
    return workspace_in(np.zeros(1, memory_dtype(game.board.num_sites)))


def workspace_in(memory: np.ndarray) -> TurnWorkspace:
    """A workspace in existing memory, (1,) of `memory_dtype`."""
    node = memory["node"][0]
    return TurnWorkspace(memory, *(node[name] for name in ("state", "parent", "action", "due", "group")))


def distinct_turns(game: Game, state: np.ndarray, workspace: TurnWorkspace | None = None) -> list[Turn]:
    """The distinct outcomes of the rest of the mover's turn, each with a shortest way to reach it; none after the game.

    Args:
        game: that of the state.
        state: (1,) record, unchanged.
        workspace: of `new_workspace`, to reuse; overwritten.

    Raises:
        ValueError: `state` is not one state of this game.
        OverflowError: the turn has more than `MAX_NODES` states.
    """
    workspace = workspace or new_workspace(game)
    count = check_count(enumerate_turn(game.as_record(state), game.tables[0], workspace))
    return [outcome(workspace, node) for node in range(1, count) if workspace.due[node] != TURN_GOES_ON]


def outcome(workspace: TurnWorkspace, node: int) -> Turn:
    """The outcome at a node of an enumerated turn."""
    actions = np.empty(MAX_DECISIONS, np.int64)
    path = actions[: way_to(workspace, node, actions)]
    after = workspace.states[node : node + 1].copy()
    return Turn(tuple(path.tolist()), after, bool(workspace.due[node] == RESTOCK_DUE))


def check_count(count: int) -> int:
    """Return `count`, a result of `enumerate_turn` or of a kernel that calls it.

    Raises:
        OverflowError: `count` is TOO_MANY.
    """
    if count == TOO_MANY:
        raise OverflowError(
            f"a turn under these rules has more than {MAX_NODES} states, too many to plan it as a whole; "
            "allow fewer actions_per_turn"
        )
    return int(count)


@kernel
def enumerate_turn(state, tables, workspace):
    """Enumerate the rest of the mover's turn from `state`, which becomes node 0. Returns the number of nodes or TOO_MANY."""
    workspace.states[0] = state
    return lay_out(tables, workspace.memory[0])


@kernel
def lay_out(tables, memory):
    """Enumerate the turn of the state at node 0 of `memory`. Returns the number of nodes or TOO_MANY."""
    memory.generation += 1
    first = memory.node[0]
    first.parent = NO_NODE
    first.due = TURN_OVER if first.state.current_player < 0 else TURN_GOES_ON
    insert(memory, 0)
    count = 1
    node = 0
    while node < count:
        if memory.node[node].due == TURN_GOES_ON:
            before = memory.node[node].state
            moves, others = engine.legal_moves(before, tables), engine.legal_others(before, tables)
            count = add_successors(memory, tables, node, moves, 0, count)
            count = add_successors(memory, tables, node, others, tables.num_sites, count)
            if count >= MAX_NODES:
                return TOO_MANY
        node += 1
    return count


@kernel
def add_successors(memory, tables, node, actions, first, count):
    """Add the successors of `node` by `actions`, bits counted from action `first`. Returns the new number of nodes."""
    action = np.int64(first)
    before = memory.node[node]
    while actions != engine.NO_BITS:
        if actions & engine.ONE != engine.NO_BITS:
            if count >= MAX_NODES:
                return np.int64(MAX_NODES)
            after = memory.node[count]
            for place in range(len(before.words)):
                after.words[place] = before.words[place]
            restock_due = engine.apply(after.state, tables, action)
            over = after.state.current_player != before.state.current_player
            if insert(memory, count) == count:
                after.parent = node
                after.action = action
                after.due = RESTOCK_DUE if restock_due else TURN_OVER if over else TURN_GOES_ON
                count += 1
        actions >>= engine.ONE
        action += 1
    return count


@kernel
def insert(memory, node):
    """Insert `node`, the last, in the hash table. Returns the node that already has the same state, or else `node`."""
    mark = memory.generation << 32
    slot = np.int64(hash_words(memory.node[node].words) & _SLOT_BITS)
    while memory.slots[slot] >= mark:
        if same_words(memory.node[node].words, memory.node[memory.slots[slot] - mark].words):
            return memory.slots[slot] - mark
        slot = (slot + 1) % SLOTS
    memory.slots[slot] = mark + node
    return np.int64(node)


@kernel
def hash_words(words):
    """A 64-bit hash of an array of words. The steps do not depend on one another, so that a processor overlaps them."""
    value = engine.NO_BITS
    for place in range(len(words)):
        word = words[place] ^ _KEYS[place]
        value ^= (word & _LOW) * (word >> _HALF)
    value = (value >> _HALF) ^ ((value & _LOW) * _MULTIPLY)
    return (value >> _HALF) ^ ((value & _LOW) * _MULTIPLY)


@kernel
def same_words(words, others):
    """Whether two arrays of the same number of words are equal."""
    differ = engine.NO_BITS
    for place in range(len(words)):
        differ |= words[place] ^ others[place]
    return differ == engine.NO_BITS


@kernel
def best_outcome(memory, values, count):
    """The outcome of highest value among the first `count` nodes; ties go to the first."""
    best = -1
    for node in range(count):
        if memory.node[node].due != TURN_GOES_ON and (best < 0 or values[node] > values[best]):
            best = node
    return best


@kernel
def best_outcomes(memory, values, count, most, best):
    """Write the outcomes of highest value among the first `count` nodes into `best`, best first. Returns their number.

    At most `most` are written, and none of value −∞. Ties go to the outcome found first.
    """
    number = 0
    for node in range(count):
        if memory.node[node].due == TURN_GOES_ON or values[node] == -np.inf:
            continue
        if number == most and values[node] <= values[best[number - 1]]:
            continue
        place = min(number, most - 1)
        while place > 0 and values[node] > values[best[place - 1]]:
            best[place] = best[place - 1]
            place -= 1
        best[place] = node
        number = min(number + 1, most)
    return number


@kernel
def way_to(workspace, node, actions):
    """Write the actions from node 0 to `node` into `actions`, (MAX_DECISIONS,) int64. Returns their number."""
    length = 0
    place = node
    while workspace.parent[place] != NO_NODE:
        length += 1
        place = workspace.parent[place]
    place = node
    for step in range(length - 1, -1, -1):
        actions[step] = workspace.action[place]
        place = workspace.parent[place]
    return length
