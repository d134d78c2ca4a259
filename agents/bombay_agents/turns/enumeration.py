"""All the ways to spend the rest of a turn: what every player above `greedy` chooses among.

A turn is a few decisions of one player with no chance in between, so it can be laid out whole: a node for every state that the
mover can bring about, each once however many ways lead to it, up to and including those in which the turn is over. Those are
its outcomes; a restock that may follow one is left out. An edge is a decision at a node: all are kept, also those that lead to a
node that was there. Nodes stand in the order of breadth-first search, so the way to an
outcome is one with as few decisions as any.

Knows the engine, and nothing of what an outcome is worth: `planner_value.py` does.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env import Game, engine
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.state import reading_dtype, state_dtype

MAX_NODES: Final = 4096  # of one turn; under the official rules a few hundred at most
MAX_EDGES: Final = 16 * MAX_NODES  # decisions that lead from one state of a turn to another
MAX_DECISIONS: Final = 256  # of one way through a turn: an action each, and a `take` after a palace
TOO_MANY: Final = -1  # instead of a number of nodes
NO_NODE: Final = -1

# What is due at a node.
TURN_GOES_ON: Final = 0
TURN_OVER: Final = 1  # the next player acts, or the game is over
RESTOCK_DUE: Final = 2  # a new set begins

WORD: Final = 8  # bytes of the words that states are hashed and compared by
SLOTS: Final = 4 * MAX_NODES  # of the hash table, a power of two

# Typed, as a literal would make signed numbers of unsigned ones; every product stays below 2**64.
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_MULTIPLY: Final = np.uint64(0x9E3779B1)
_KEYS: Final = np.random.default_rng(0).integers(1 << 64, size=128, dtype=np.uint64)  # arbitrary, one for each word
_SLOT_BITS: Final = np.uint64(SLOTS - 1)


EDGE: Final = record_dtype([("before", np.int32), ("after", np.int32), ("action", np.int32)])


class TurnWorkspace(NamedTuple):
    """Memory for the nodes of one turn; made by `new_workspace`, overwritten by `enumerate_turn`."""

    memory: np.ndarray  # (1,) of `memory_dtype`, all there is
    states: np.ndarray  # (MAX_NODES,) records: a view of it, as are those that follow
    parent: np.ndarray  # (MAX_NODES,) int32, the node before; NO_NODE for the first
    action: np.ndarray  # (MAX_NODES,) int32, what led here from there
    due: np.ndarray  # (MAX_NODES,) int8, TURN_GOES_ON, TURN_OVER or RESTOCK_DUE
    group: np.ndarray  # (MAX_NODES,) int32, for those who value nodes that are alike together


class Turn(NamedTuple):
    """One way to spend the rest of a turn."""

    actions: tuple[int, ...]
    state: np.ndarray  # (1,) the state then, before any restock
    restock_due: bool


def padded_records(count: int, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """`count` zeroed records that begin at full words, and the words they lie in, (count, W) uint64."""
    words = np.zeros((count, -(-dtype.itemsize // WORD)), np.uint64)
    return np.ndarray((count,), dtype, words, strides=(words.strides[0],)), words


def memory_dtype(num_sites: int) -> np.dtype[Any]:
    """What a turn is laid out in: one record, as kernels count references to arrays whenever they pass one on.

    That took them longer than all the rest.
    """
    dtype = state_dtype(num_sites)
    num_words = -(-dtype.itemsize // WORD)
    assert num_words <= len(_KEYS)
    fields: list[tuple[str, Any, int]] = [
        ("state", dtype, 0),
        ("reading", reading_dtype(num_sites), 0),  # the same bytes, for kernels that only read
        ("words", (np.uint64, (num_words,)), 0),  # and once more, with zeros behind
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
        ("slots", np.int64, (SLOTS,)),  # hash table: the round, and the node in its low half
        ("rounds", np.int64),  # turns laid out so far: entries of earlier ones are void
        ("edge", EDGE, (MAX_EDGES,)),
        ("num_edges", np.int64),
    ]
    return record_dtype(whole)


def new_workspace(game: Game) -> TurnWorkspace:
    """Memory for the turns of `game`, about two megabytes; for one thread at a time."""
    memory = np.zeros(1, memory_dtype(game.board.num_sites))
    node = memory["node"][0]
    return TurnWorkspace(memory, *(node[name] for name in ("state", "parent", "action", "due", "group")))


def turns(game: Game, state: np.ndarray, workspace: TurnWorkspace | None = None) -> list[Turn]:
    """The distinct outcomes of the mover's turn from `state`, (1,), each with a shortest way there; none once the game is over.

    Raises:
        ValueError: it is not one state of this game.
        OverflowError: the rules allow so much in a turn that it has more than `MAX_NODES` states.
    """
    workspace = workspace or new_workspace(game)
    count = check_count(enumerate_turn(game.as_record(state), game.tables[0], workspace))
    actions = np.empty(MAX_DECISIONS, np.int64)
    found = []
    for node in range(1, count):
        if workspace.due[node] != TURN_GOES_ON:
            way = actions[: way_to(workspace, node, actions)]
            after = workspace.states[node : node + 1].copy()
            found.append(Turn(tuple(way.tolist()), after, bool(workspace.due[node] == RESTOCK_DUE)))
    return found


def check_count(count: int) -> int:
    """`count`, what `enumerate_turn` returned, unless the turn had no room."""
    if count == TOO_MANY:
        raise OverflowError(
            f"a turn under these rules has more than {MAX_NODES} states or {MAX_EDGES} decisions at them: too many to plan it "
            "as a whole; "
            "allow fewer actions_per_turn"
        )
    return int(count)


def find_state(workspace: TurnWorkspace, count: int, state: Any) -> int:
    """The node, among the first `count`, with this state, a record.

    Raises:
        StopIteration: there is none.
    """
    wanted = state.tobytes()
    return next(node for node in range(count) if workspace.states[node].tobytes() == wanted)


@kernel
def enumerate_turn(state, tables, workspace):
    """Lay out the mover's turn from `state`, which becomes node 0. Returns the number of nodes or TOO_MANY."""
    workspace.states[0] = state
    return lay_out(tables, workspace.memory[0])


@kernel
def lay_out(tables, memory):
    """Lay out the turn of the state at node 0 of `memory`, with its edges. Returns the number of nodes or TOO_MANY."""
    memory.rounds += 1
    first = memory.node[0]
    first.parent = NO_NODE
    first.due = TURN_OVER if first.state.current_player < 0 else TURN_GOES_ON
    memory.num_edges = 0
    enter(memory, 0)
    count = 1
    node = 0
    while node < count:
        if memory.node[node].due == TURN_GOES_ON:
            before = memory.node[node].state
            moves, others = engine.legal_moves(before, tables), engine.legal_others(before, tables)
            count = add_all(memory, tables, node, moves, 0, count)
            count = add_all(memory, tables, node, others, tables.num_sites, count)
            if count >= MAX_NODES:
                return TOO_MANY
        node += 1
    return count


@kernel
def add_all(memory, tables, node, actions, first, count):
    """Add what the `actions`, bits counted from action `first`, make of `node`. Returns the number of nodes then."""
    action = np.int64(first)
    before = memory.node[node]
    while actions != engine.NO_BITS:
        if actions & engine.ONE != engine.NO_BITS:
            if count >= MAX_NODES or memory.num_edges >= MAX_EDGES:
                return np.int64(MAX_NODES)
            after = memory.node[count]
            for place in range(len(before.words)):
                after.words[place] = before.words[place]
            restock_due = engine.apply(after.state, tables, action)
            # With two players a set may end and the next begin with the same player.
            over = after.state.current_player != before.state.current_player or after.state.set != before.state.set
            number = enter(memory, count)
            if number == count:
                after.parent = node
                after.action = action
                after.due = RESTOCK_DUE if restock_due else TURN_OVER if over else TURN_GOES_ON
                count += 1
            edge = memory.edge[memory.num_edges]
            edge.before, edge.after, edge.action = node, number, action
            memory.num_edges += 1
        actions >>= engine.ONE
        action += 1
    return count


@kernel
def enter(memory, node):
    """Enter `node`, the last, in the hash table. Returns the node with the same state that is there already, or else `node`."""
    mark = memory.rounds << 32
    slot = np.int64(hash_words(memory.node[node].words) & _SLOT_BITS)
    while memory.slots[slot] >= mark:
        if same_words(memory.node[node].words, memory.node[memory.slots[slot] - mark].words):
            return memory.slots[slot] - mark
        slot = (slot + 1) % SLOTS
    memory.slots[slot] = mark + node
    return np.int64(node)


@kernel
def hash_words(words):
    """A 64-bit hash of an array of words. None waits for the one before, so that processors take several at once."""
    value = engine.NO_BITS
    for place in range(len(words)):
        word = words[place] ^ _KEYS[place]
        value ^= (word & _LOW) * (word >> _HALF)
    value = (value >> _HALF) ^ ((value & _LOW) * _MULTIPLY)
    return (value >> _HALF) ^ ((value & _LOW) * _MULTIPLY)


@kernel
def same_words(words, others):
    """Whether two arrays of as many words are equal."""
    differ = engine.NO_BITS
    for place in range(len(words)):
        differ |= words[place] ^ others[place]
    return differ == engine.NO_BITS


@kernel
def way_to(workspace, node, actions):
    """Write the actions that lead from node 0 to `node` into `actions`, (MAX_DECISIONS,) int64. Returns their number."""
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
