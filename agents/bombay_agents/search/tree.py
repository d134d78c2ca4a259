"""The tree of all searches: max^n over whole turns, with the values and priors of an evaluator (`turns/evaluator.py`).

    node    a position between turns, after any restock
    edge    a turn from there: one of the outcomes that the evaluator values most, best first

A new node is expanded at once: its turn is laid out and the evaluator values its outcomes for every seat, so that one simulation
evaluates some two dozen positions. What the best of them is worth to each seat is the value of the node, and is added to the
edges on the path. At a node a simulation follows the edge that is best for the node's mover by PUCT: the mean utility so far,
which starts from the evaluator's own value of the edge, and a bonus for edges with a high prior and few visits. Where a set ends,
the search's own key draws a restock: a few in turn for each edge, similar ones for edges that differ little.

All memory is allocated beforehand, and a full tree stops growing. Nothing here knows of clocks: `search/agent.py` does.
`python_tree.py` is the same search in NumPy, for evaluators written in Python.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.turns.evaluator import NUM_OUTPUTS, new_turns, value_turn
from bombay_env import Game, batch, chance, streams
from bombay_env.jit.kernels import kernel, long_kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

MAX_EDGES: Final = 16  # of a node
MAX_DEPTH: Final = 64  # turns below the root
RESTOCKS: Final = 8  # different ones for each edge
NEW: Final = -1  # an edge without a node
DEFAULT_EXPLORATION: Final = 0.15
DEFAULT_TEMPERATURE: Final = 0.1


class SearchParams(NamedTuple):
    """The tunable numbers of the search, in units of utility: margin in tens of rupees + share weight · share of the win."""

    share_weight: np.float32  # weight of the share of the win beside the margin
    exploration: float = DEFAULT_EXPLORATION  # weight of the bonus in PUCT
    temperature: float = DEFAULT_TEMPERATURE  # of the prior: a softmax of what the edges are worth to the mover
    widening: float = 0.5  # a node with v visits considers 2 + widening · √v edges
    own_visits: float = 1.0  # how many simulations the evaluator's own value of an edge counts as


class Tree(NamedTuple):
    """Memory for one search; for one thread at a time. N nodes, E edges in all, P is MAX_PLAYERS."""

    mover: np.ndarray  # (N,) int8
    visits: np.ndarray  # (N,) int32
    first_edge: np.ndarray  # (N,) int64
    num_edges: np.ndarray  # (N,) int32
    edge_states: np.ndarray  # (E,) records: the turn's outcome, before any restock
    edge_due: np.ndarray  # (E,) int8, of `turns/enumeration.py`
    edge_child: np.ndarray  # (E,) int32, a node or NEW; where a restock is due, a row of `restocked` or NEW
    edge_prior: np.ndarray  # (E,) float32, sums to 1 over the edges of a node
    edge_value: np.ndarray  # (E, 2 P) float32, margins and shares of the outcome by the evaluator, seat 0 first
    edge_visits: np.ndarray  # (E,) int32
    edge_total: np.ndarray  # (E, 2 P) float64, sum of those where simulations ended
    restocked: np.ndarray  # (N, RESTOCKS) int32, the nodes after each restock of an edge, or NEW
    path: np.ndarray  # (MAX_DEPTH, 2) int64: nodes from the root, and the edges followed
    leaf: np.ndarray  # (2 P,) float32, margins and shares where the last simulation ended
    drawn: np.ndarray  # (4,) int64
    counts: np.ndarray  # (3,) int64: nodes, edges, rows of `restocked`


class Search(NamedTuple):
    """All that a simulation needs besides the tables."""

    tree: Tree
    evaluator: Any  # compiled, see `turns/evaluator.py`
    root: np.ndarray  # (1,) of `turns.evaluator.turn_dtype`: the turn of the root
    turn: np.ndarray  # (1,) of the same: the turn of the node that was added last below the root
    root_nodes: np.ndarray  # (MAX_EDGES,) int64: the node in the root's turn of each edge of the root
    best: np.ndarray  # (MAX_EDGES,) int64
    params: SearchParams


def new_tree(game: Game, max_nodes: int) -> Tree:
    """Memory for a tree with up to `max_nodes` nodes, some 6 kB each; the system provides it as it is first used."""
    num_edges = MAX_EDGES * max_nodes
    return Tree(
        np.zeros(max_nodes, np.int8),
        np.zeros(max_nodes, np.int32),
        np.zeros(max_nodes, np.int64),
        np.zeros(max_nodes, np.int32),
        np.zeros(num_edges, game.state_dtype),
        np.zeros(num_edges, np.int8),
        np.zeros(num_edges, np.int32),
        np.zeros(num_edges, np.float32),
        np.zeros((num_edges, NUM_OUTPUTS), np.float32),
        np.zeros(num_edges, np.int32),
        np.zeros((num_edges, NUM_OUTPUTS), np.float64),
        np.zeros((max_nodes, RESTOCKS), np.int32),
        np.zeros((MAX_DEPTH, 2), np.int64),
        np.zeros(NUM_OUTPUTS, np.float32),
        np.zeros(NUM_COLOURS, np.int64),
        np.zeros(3, np.int64),
    )


def new_search(game: Game, evaluator: Any, max_nodes: int, params: SearchParams) -> Search:
    """Memory for searches of `game` with up to `max_nodes` nodes."""
    room = np.zeros(MAX_EDGES, np.int64), np.zeros(MAX_EDGES, np.int64)
    return Search(new_tree(game, max_nodes), evaluator, new_turns(game, 1), new_turns(game, 1), *room, params)


@kernel
def init(state, tables, search):
    """Start a new tree at `state`, at the beginning or in the middle of a turn. Returns the root's edges or `turns.TOO_MANY`."""
    search.tree.counts[:] = 0
    search.root[0].memory.node[0].state = state
    number = add_node(tables, search, search.root[0])
    search.root_nodes[:] = search.best
    return number


@long_kernel
def run(tables, search, key, edges, each):
    """Run `each` simulations along each of the root's `edges`, (k,) int64 counted from its first; none once the tree is full.

    Returns the number of simulations run, or `turns.TOO_MANY` if a turn does not fit in memory.
    """
    tree = search.tree
    done = 0
    for place in range(len(edges)):
        for _ in range(each):
            if tree.counts[0] < len(tree.visits):
                depth = simulate(tables, search, key, tree.first_edge[0] + edges[place])
                if depth == turns.TOO_MANY:
                    return turns.TOO_MANY
                back_up(tree, depth)
                done += 1
    return done


@kernel
def simulate(tables, search, key, edge):
    """Follow the tree from the root along `edge` to a new node, and overwrite `leaf` with its value.

    Returns the number of edges followed, or `turns.TOO_MANY` if a turn does not fit in memory.
    """
    tree = search.tree
    node, depth = np.int64(0), 0
    while True:
        tree.path[depth, 0] = node
        tree.path[depth, 1] = edge
        depth += 1
        if tree.edge_states[edge].current_player == NOBODY or depth >= MAX_DEPTH:
            tree.leaf[:] = tree.edge_value[edge]
            return depth
        child = child_of(tables, search, edge, key)
        if child == NEW:
            number = add_node(tables, search, search.turn[0])
            if number == turns.TOO_MANY:
                return np.int64(turns.TOO_MANY)
            tree.leaf[:] = tree.edge_value[tree.first_edge[tree.counts[0] - 1]]  # of the best edge
            return depth
        node = np.int64(child)
        edge = choose_edge(tree, search.params, node)


@kernel
def child_of(tables, search, edge, key):
    """The node that an edge leads to on its next visit. If there is none yet, NEW, with the position where turns are laid out.

    The next node to be added is then entered as the child.
    """
    tree, following = search.tree, search.tree.counts[0]
    first = search.turn[0].memory.node[0]
    if tree.edge_due[edge] != turns.RESTOCK_DUE:
        if tree.edge_child[edge] == NEW:
            first.state = tree.edge_states[edge]
            tree.edge_child[edge] = following
            return np.int64(NEW)
        return np.int64(tree.edge_child[edge])
    if tree.edge_child[edge] == NEW:
        tree.edge_child[edge] = tree.counts[2]
        tree.restocked[tree.counts[2], :] = NEW
        tree.counts[2] += 1
    row, number = tree.edge_child[edge], np.int64(tree.edge_visits[edge]) % RESTOCKS
    if tree.restocked[row, number] == NEW:
        first.state = tree.edge_states[edge]
        first.state.seed = chance.random_word(key, streams.TREE_RESTOCKS, np.uint64(number))
        batch.restock(first.state, tables, tree.drawn)
        first.state.seed = np.uint64(0)
        tree.restocked[row, number] = following
        return np.int64(NEW)
    return np.int64(tree.restocked[row, number])


@kernel
def add_node(tables, search, turn):
    """Add the position at node 0 of `turn` as a node, with its edges. Returns their number or `turns.TOO_MANY`."""
    tree, params = search.tree, search.params
    count = value_turn(tables, search.evaluator, turn)
    if count == turns.TOO_MANY:
        return np.int64(turns.TOO_MANY)
    number = turns.best_outcomes(turn.memory, turn.values, count, MAX_EDGES, search.best)
    if number == 0:  # all are −∞, as with a net of huge weights: any outcome is as good as another
        search.best[0] = turns.best_outcome(turn.memory, turn.values, count)
        turn.values[search.best[0]] = np.float32(0)
        number = 1
    node, first = tree.counts[0], tree.counts[1]
    mover, n = np.int64(turn.memory.node[0].state.current_player), np.int64(tables.num_players)
    tree.counts[0] += 1
    tree.counts[1] += number
    tree.mover[node] = mover
    tree.visits[node] = 1
    tree.first_edge[node] = first
    tree.num_edges[node] = number
    best, total = turn.values[search.best[0]], 0.0
    for place in range(number):
        edge, outcome = first + place, search.best[place]
        tree.edge_states[edge] = turn.memory.node[outcome].state
        tree.edge_due[edge] = turn.memory.node[outcome].due
        tree.edge_child[edge] = NEW
        tree.edge_visits[edge] = 0
        tree.edge_total[edge, :] = 0.0
        tree.edge_value[edge, :] = np.float32(0)
        for offset in range(n):
            seat = (mover + offset) % n
            tree.edge_value[edge, seat] = turn.outputs[outcome, offset]
            tree.edge_value[edge, MAX_PLAYERS + seat] = turn.outputs[outcome, MAX_PLAYERS + offset]
        tree.edge_prior[edge] = np.exp((turn.values[outcome] - best) / params.temperature)
        total += tree.edge_prior[edge]
    for place in range(number):
        tree.edge_prior[first + place] /= total
    return np.int64(number)


@kernel
def mean_utility(tree, params, edge, mover):
    """What an edge is worth to its node's mover: the mean of its simulations and of the evaluator's own value."""
    margin = tree.edge_total[edge, mover] + params.own_visits * tree.edge_value[edge, mover]
    share = tree.edge_total[edge, MAX_PLAYERS + mover] + params.own_visits * tree.edge_value[edge, MAX_PLAYERS + mover]
    return (margin + params.share_weight * share) / (tree.edge_visits[edge] + params.own_visits)


@kernel
def choose_edge(tree, params, node):
    """The edge to follow from `node`: the best for its mover by mean utility and bonus, among those considered so far."""
    mover, visits = np.int64(tree.mover[node]), np.float64(tree.visits[node])
    considered = min(np.int64(tree.num_edges[node]), 2 + np.int64(params.widening * np.sqrt(visits)))
    bonus = params.exploration * np.sqrt(visits)
    chosen, best = tree.first_edge[node], -np.inf
    for edge in range(tree.first_edge[node], tree.first_edge[node] + considered):
        worth = mean_utility(tree, params, edge, mover)
        worth += bonus * tree.edge_prior[edge] / (1 + tree.edge_visits[edge])
        if worth > best:
            best = worth
            chosen = edge
    return chosen


@kernel
def back_up(tree, depth):
    """Add `leaf` to the nodes and edges on the path."""
    for step in range(depth):
        node, edge = tree.path[step, 0], tree.path[step, 1]
        tree.visits[node] += 1
        tree.edge_visits[edge] += 1
        for place in range(len(tree.leaf)):
            tree.edge_total[edge, place] += tree.leaf[place]


def root_means(search: Search, edges: np.ndarray) -> np.ndarray:
    """The mover's mean utilities of `edges` of the root, counted from its first, (k,) float64."""
    tree = search.tree
    places = tree.first_edge[0] + edges
    return np.array([mean_utility(tree, search.params, place, int(tree.mover[0])) for place in places])
