"""The tree that `search` grows: max^n over whole turns, a share of the win for every seat backed up.

    node    a position between turns, with what its visits found for each seat on average
    edge    a turn from there: one of the outcomes that the mover's own value ranks highest, by that rank or by a ranker's

One iteration goes along an edge of the root that it is told, then at each node along the one that looks best for that node's
mover (PUCT: the average so far for the mover, and a bonus for edges ranked high and visited little), until it meets a position
that is new. That is valued, and the shares are added to all nodes and edges on the way. The edges of the root are tried against
the same luck. A node's turn is laid out on its second visit; the more visits, the more
of its edges are considered. A new position is played on from by planners for some turns before the value is asked
(`rollouts.py`). Positions reached by several ways are one node. Where a set ends, a restock is drawn by the search's
own key: a few in turn for each edge, the same for edges that differ little; or the position before it is valued at once.

All memory is made beforehand; a tree that fills it stops growing. Nothing here knows of clocks: `search/agent.py` does.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner, planner_value
from bombay_agents.search import evaluation, rollouts
from bombay_agents.search.evaluation import Evaluator
from bombay_agents.search.rollouts import Playout
from bombay_agents.turns.enumeration import padded_records
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

EDGES_PER_NODE: Final = 12  # at most
MAX_DEPTH: Final = 64  # turns below the root; deeper nodes are not looked into
RESTOCKS: Final = np.int64(8)  # that are drawn for one edge
RESTOCK_SEEDS: Final = np.uint64(2001)  # streams of keyed chance; those below 1000 are the game's
LUCK: Final = np.uint64(2004)
LEAST_SHARE: Final = 1e-6  # of the win: a ranker's that is nearer to 0 or 1 counts as this
NEW: Final = -1  # an edge without a node, a node whose turn is not laid out


class SearchParams(NamedTuple):
    """The few numbers of the search that are judgement."""

    exploration: float = 0.1  # how much the bonus of edges visited little counts
    prior_rupees: float = 0.5  # an edge worth so much less to the mover gets 1/e of the bonus
    widening: float = 0.25  # edges considered: 2 and this for each square root of a visit


class Tree(NamedTuple):
    """Memory for one search; for one thread at a time. N nodes, E edges in all, P is MAX_PLAYERS."""

    states: np.ndarray  # (N,) records, seeds zero
    words: np.ndarray  # (N, W) uint64, the same memory
    mover: np.ndarray  # (N,) int8, NOBODY once over
    visits: np.ndarray  # (N,) int32
    total: np.ndarray  # (N, P) float64, shares added up
    first_edge: np.ndarray  # (N,) int64, or NEW
    num_edges: np.ndarray  # (N,) int32
    slots: np.ndarray  # (power of two,) int64, hash table: the round, and the node in its low half
    edge_states: np.ndarray  # (E,) records: the turn's outcome, before any restock
    edge_due: np.ndarray  # (E,) int8, of `turns/enumeration.py`
    edge_child: np.ndarray  # (E,) int32, a node or NEW; unused where a restock is due
    edge_prior: np.ndarray  # (E,) float32, of the edges of a node, 1 together
    edge_visits: np.ndarray  # (E,) int32
    edge_total: np.ndarray  # (E,) float64, the mover's shares added up
    way: np.ndarray  # (MAX_DEPTH, 2) int64: nodes from the root, and the edges taken
    drawn: np.ndarray  # (4,) int64
    count: np.ndarray  # (3,) int64: nodes, edges, rounds


class Search(NamedTuple):
    """All that an iteration needs besides the tables."""

    tree: Tree
    playout: Playout
    params: SearchParams
    ranker: Evaluator | None = None  # says what outcomes are worth to their mover; the planner's value if None


def new_tree(game: Game, max_nodes: int) -> Tree:
    """Memory for a tree with up to `max_nodes` nodes, some 3 kB each; the system provides it as the tree grows."""
    states, words = padded_records(max_nodes + 1, game.state_dtype)  # the last one is where new positions are made
    num_edges = EDGES_PER_NODE * max_nodes
    return Tree(
        states,
        words,
        np.zeros(max_nodes, np.int8),
        np.zeros(max_nodes, np.int32),
        np.zeros((max_nodes, MAX_PLAYERS), np.float64),
        np.zeros(max_nodes, np.int64),
        np.zeros(max_nodes, np.int32),
        np.zeros(1 << int(4 * max_nodes).bit_length(), np.int64),
        np.zeros(num_edges, game.state_dtype),
        np.zeros(num_edges, np.int8),
        np.zeros(num_edges, np.int32),
        np.zeros(num_edges, np.float32),
        np.zeros(num_edges, np.int32),
        np.zeros(num_edges, np.float64),
        np.zeros((MAX_DEPTH, 2), np.int64),
        np.zeros(NUM_COLOURS, np.int64),
        np.zeros(3, np.int64),
    )


@kernel
def plant(state, tables, search):
    """Begin a tree at `state`, in the middle of a turn or at its beginning. Returns the nodes of the turn or `turns.TOO_MANY`."""
    tree = search.tree
    tree.count[0] = 0
    tree.count[1] = 0
    tree.count[2] += 1
    spare = len(tree.visits)
    tree.states[spare] = state
    root = find_or_add(tree)
    tree.visits[root] = 1
    return expand(tables, search, root)


@kernel
def grow(tables, search, key, edges, each):
    """Walk `each` times along each of the root's `edges`, (k,) int64 counted from its first; nowhere once the tree is full.

    Returns the number of walks, or `turns.TOO_MANY` if a turn has no room.
    """
    tree = search.tree
    walks = 0
    for place in range(len(edges)):
        for _ in range(each):
            if tree.count[0] < len(tree.visits) and tree.count[1] + EDGES_PER_NODE <= len(tree.edge_visits):
                depth = walk(tables, search, key, tree.first_edge[0] + edges[place])
                if depth == turns.TOO_MANY:
                    return turns.TOO_MANY
                back_up(tables, tree, depth, search.playout.shares)
                walks += 1
    return walks


@kernel
def walk(tables, search, key, edge):
    """Go from the root along `edge` to a position that is valued; its shares are left in `playout.shares`.

    Returns the depth, or `turns.TOO_MANY` if a turn has no room.
    """
    tree = search.tree
    luck = chance.random_word(key, LUCK, np.uint64(tree.edge_visits[edge]))
    tree.way[0, 0] = 0
    tree.way[0, 1] = edge
    depth = 0
    while True:
        if tree.edge_due[edge] == turns.RESTOCK_DUE and not search.playout.restock:
            search.playout.state[0] = tree.edge_states[edge]
            return depth if rollouts.play_on(tables, search.playout, luck, tree.edge_due[edge]) else turns.TOO_MANY
        node = follow(tables, tree, edge, key)
        depth += 1
        tree.way[depth, 0] = node
        tree.way[depth, 1] = NEW
        at_end = tree.mover[node] == NOBODY
        wanted = tree.first_edge[node] == NEW and tree.visits[node] > 0 and not at_end
        if wanted and expand(tables, search, node) == turns.TOO_MANY:
            return turns.TOO_MANY
        if tree.first_edge[node] == NEW or depth + 1 == MAX_DEPTH:
            search.playout.state[0] = tree.states[node]
            return depth if rollouts.play_on(tables, search.playout, luck, np.int8(turns.TURN_OVER)) else turns.TOO_MANY
        edge = choose_edge(tree, search.params, node)
        tree.way[depth, 1] = edge


@kernel
def follow(tables, tree, edge, key):
    """The node that an edge leads to this time, which may be a new one."""
    restock_due = tree.edge_due[edge] == turns.RESTOCK_DUE
    if not restock_due and tree.edge_child[edge] != NEW:
        return np.int64(tree.edge_child[edge])
    spare = len(tree.visits)
    tree.states[spare] = tree.edge_states[edge]
    if restock_due:
        number = np.uint64(np.int64(tree.edge_visits[edge]) % RESTOCKS)
        tree.states[spare].seed = chance.random_word(key, RESTOCK_SEEDS, number)
        batch.restock(tree.states[spare], tables, tree.drawn)
        tree.states[spare].seed = 0
    node = find_or_add(tree)
    tree.edge_child[edge] = node
    return node


@kernel
def find_or_add(tree):
    """The node of the position in the spare record, made if there is none."""
    spare = len(tree.visits)
    mark = tree.count[2] << 32
    last = len(tree.slots) - 1
    slot = np.int64(turns.hash_words(tree.words[spare]) & np.uint64(last))
    while tree.slots[slot] >= mark:
        if turns.same_words(tree.words[spare], tree.words[tree.slots[slot] - mark]):
            return tree.slots[slot] - mark
        slot = (slot + 1) & last
    node = tree.count[0]
    tree.slots[slot] = mark + node
    tree.count[0] += 1
    tree.states[node] = tree.states[spare]
    tree.mover[node] = tree.states[node].current_player
    tree.visits[node] = 0
    tree.total[node] = 0.0
    tree.first_edge[node] = NEW
    return node


@kernel
def expand(tables, search, node):
    """Lay out the turn of `node` and give it its edges, best first. Returns the nodes of the turn or `turns.TOO_MANY`."""
    tree, workspace = search.tree, search.playout.planner
    count = planner.value_turn(tree.states[node], tables, search.playout.evaluator.weights, workspace)
    if count == turns.TOO_MANY:
        return count
    first = tree.count[1]
    number = 0
    for outcome in range(count):
        if workspace.turn.due[outcome] != turns.TURN_GOES_ON:
            number = rank_outcome(workspace, outcome, number)
    if not rank_anew(tables, workspace, search.ranker, search.playout.shares, number):
        return np.int64(turns.TOO_MANY)
    tree.first_edge[node] = first
    tree.num_edges[node] = number
    tree.count[1] += number
    best = workspace.values[workspace.ranked[0]]
    total = 0.0
    for place in range(number):
        edge, outcome = first + place, workspace.ranked[place]
        tree.edge_states[edge] = workspace.turn.states[outcome]
        tree.edge_due[edge] = workspace.turn.due[outcome]
        tree.edge_child[edge] = NEW
        tree.edge_prior[edge] = np.exp((workspace.values[outcome] - best) / search.params.prior_rupees)
        tree.edge_visits[edge] = 0
        tree.edge_total[edge] = 0.0
        total += tree.edge_prior[edge]
    for place in range(number):
        tree.edge_prior[first + place] /= total
    return count


@kernel
def rank_outcome(workspace, outcome, number):
    """Put an outcome among the `number` in `workspace.ranked`, best value first. Returns how many there are then."""
    place = min(number, EDGES_PER_NODE - 1)
    if number == EDGES_PER_NODE and workspace.values[outcome] <= workspace.values[workspace.ranked[place]]:
        return number
    while place > 0 and workspace.values[outcome] > workspace.values[workspace.ranked[place - 1]]:
        workspace.ranked[place] = workspace.ranked[place - 1]
        place -= 1
    workspace.ranked[place] = outcome
    return min(number + 1, EDGES_PER_NODE)


@inlined
def rank_anew(tables, workspace, ranker, shares, number):
    """Let the ranker, if there is one, value the first `number` outcomes in `workspace.ranked`, and order them by that.

    Returns False if a turn that it foresees has no room.
    """
    if ranker is not None:  # decided when this is compiled, by the type of an argument
        for place in range(number):
            outcome = workspace.ranked[place]
            due = np.int64(workspace.turn.due[outcome])
            if not evaluation.evaluate(workspace.turn.states[outcome], due, tables, ranker, shares):
                return False
            workspace.values[outcome] = worth_by_shares(tables, workspace, ranker, shares, outcome)
            while place > 0 and workspace.values[outcome] > workspace.values[workspace.ranked[place - 1]]:
                workspace.ranked[place] = workspace.ranked[place - 1]
                place -= 1
            workspace.ranked[place] = outcome
    return True


@kernel
def worth_by_shares(tables, workspace, ranker, shares, outcome):
    """What an outcome is worth to its mover by the `shares` of the win that `ranker` gives it, in rupees.

    By as much as one outcome is worth more than another, `evaluation.py` would have the mover's own worth differ for such shares
    if it were the same to all others.
    """
    mover = np.int64(workspace.turn.states[0].current_player)
    turns_left = 0
    for seat in range(tables.num_players):
        in_set, later = planner_value.turns_to_come(workspace.turn.states[outcome], tables, seat)
        turns_left += in_set + later
    temperature = ranker.temperature + ranker.temperature_per_turn * turns_left / tables.num_players
    return temperature * np.log(max(shares[mover], LEAST_SHARE) / max(1.0 - shares[mover], LEAST_SHARE))


@kernel
def choose_edge(tree, params, node):
    """The edge to follow from `node`: the best for its mover by average and bonus, among those considered so far."""
    mover = tree.mover[node]
    visits = np.float64(tree.visits[node])
    considered = min(np.int64(tree.num_edges[node]), 2 + np.int64(params.widening * np.sqrt(visits)))
    unknown = tree.total[node, mover] / visits  # what an edge not yet visited is taken to be worth
    bonus = params.exploration * np.sqrt(visits)
    best = -np.inf
    chosen = tree.first_edge[node]
    for edge in range(tree.first_edge[node], tree.first_edge[node] + considered):
        times = tree.edge_visits[edge]
        worth = tree.edge_total[edge] / times if times > 0 else unknown
        worth += bonus * tree.edge_prior[edge] / (1 + times)
        if worth > best:
            best = worth
            chosen = edge
    return chosen


@kernel
def back_up(tables, tree, depth, shares):
    """Add the `shares` of the leaf to the nodes and edges on the way to it."""
    for step in range(depth + 1):
        node, edge = tree.way[step, 0], tree.way[step, 1]
        tree.visits[node] += 1
        for seat in range(tables.num_players):
            tree.total[node, seat] += shares[seat]
        if edge != NEW:
            tree.edge_visits[edge] += 1
            tree.edge_total[edge] += shares[tree.mover[node]]


def root_averages(tree: Tree, edges: np.ndarray) -> np.ndarray:
    """What walks along `edges` of the root, counted from its first, found for the mover, (k,) float64."""
    places = tree.first_edge[0] + edges
    return np.asarray(tree.edge_total[places] / np.maximum(1, tree.edge_visits[places]))
