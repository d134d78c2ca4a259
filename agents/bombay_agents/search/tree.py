"""The tree that `search` builds: max^n over whole turns, backing up a share of the win for every seat.

    node    a position between turns, with the mean shares of the simulations that visited it
    edge    a turn from there: one of the outcomes that the mover's scripted value ranks highest, in the order of that value or of
            a ranker's

A simulation follows a given edge of the root. At each node below it follows the edge that is best for that node's mover by PUCT:
the mover's mean share so far, and a bonus for edges with a high prior and few visits. It stops at a new position, evaluates it
after a rollout (`rollouts.py`), and adds the shares to all nodes and edges on the path. All edges of the root are simulated with
the same random numbers. A node's turn is enumerated on its second visit, and the more visits it has, the more of its edges are
considered. Positions that several paths reach are one node. Where a set ends, the search's own key draws a restock: a few in
turn for each edge, similar ones for edges that differ little. Without `restock` the position before it is evaluated instead.

All memory is allocated beforehand, and a full tree stops growing. Nothing here knows of clocks: `search/agent.py` does.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner_survey
from bombay_agents.search import evaluation, proposals, rollouts
from bombay_agents.search.evaluation import Evaluator
from bombay_agents.search.proposals import MAX_PROPOSALS
from bombay_agents.search.rollouts import RolloutWorkspace
from bombay_agents.turns.enumeration import padded_records
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

MAX_DEPTH: Final = 64  # turns below the root; deeper positions are evaluated as they are
RESTOCKS: Final = np.int64(8)  # different ones for each edge
RESTOCK_SEEDS: Final = np.uint64(2001)  # streams of keyed chance; those below 1000 are the game's
ROLLOUT_KEYS: Final = np.uint64(2004)
MIN_SHARE: Final = 1e-6  # of the win: a ranker's share is kept this far from 0 and 1
NEW: Final = -1  # an edge without a node, a node whose turn is not enumerated


class SearchParams(NamedTuple):
    """The tunable numbers of the search."""

    exploration: float = 0.1  # weight of the bonus in PUCT, in shares of the win
    prior_rupees: float = (
        0.5  # temperature of the softmax of what the edges are worth to the mover, which is their prior
    )
    widening: float = 0.25  # a node with v visits considers 2 + widening · √v edges


class Tree(NamedTuple):
    """Memory for one search; for one thread at a time. N nodes, E edges in all, P is MAX_PLAYERS."""

    states: np.ndarray  # (N,) records, seeds zero
    words: np.ndarray  # (N, W) uint64, the same memory
    mover: np.ndarray  # (N,) int8, NOBODY after the game
    visits: np.ndarray  # (N,) int32
    total: np.ndarray  # (N, P) float64, sum of the shares
    first_edge: np.ndarray  # (N,) int64, or NEW
    num_edges: np.ndarray  # (N,) int32
    slots: np.ndarray  # (power of two,) int64, hash table: the search's number, and the node in the low half
    edge_states: np.ndarray  # (E,) records: the turn's outcome, before any restock
    edge_due: np.ndarray  # (E,) int8, of `turns/enumeration.py`
    edge_child: np.ndarray  # (E,) int32, a node or NEW; unused where a restock is due
    edge_prior: np.ndarray  # (E,) float32, sums to 1 over the edges of a node
    edge_visits: np.ndarray  # (E,) int32
    edge_total: np.ndarray  # (E,) float64, sum of the mover's shares
    path: np.ndarray  # (MAX_DEPTH, 2) int64: nodes from the root, and the edges followed
    drawn: np.ndarray  # (4,) int64
    count: np.ndarray  # (3,) int64: nodes, edges, searches so far


class Search(NamedTuple):
    """All that a simulation needs besides the tables."""

    tree: Tree
    rollout: RolloutWorkspace
    params: SearchParams
    ranker: Evaluator | None = None  # orders the proposed outcomes; the planner's value if None


def new_tree(game: Game, max_nodes: int) -> Tree:
    """Memory for a tree with up to `max_nodes` nodes, some 3 kB each; the system provides it as it is first used."""
    states, words = padded_records(
        max_nodes + 1, game.state_dtype
    )  # the last one is a spare: new positions are made there
    num_edges = MAX_PROPOSALS * max_nodes
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
def init(state, tables, search):
    """Start a new tree at `state`, at the beginning or in the middle of a turn. Returns the root's edges or `turns.TOO_MANY`."""
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
def run(tables, search, key, edges, each):
    """Run `each` simulations along each of the root's `edges`, (k,) int64 counted from its first; none once the tree is full.

    Returns the number of simulations run, or `turns.TOO_MANY` if a turn has no room.
    """
    tree = search.tree
    done = 0
    for place in range(len(edges)):
        for _ in range(each):
            if tree.count[0] < len(tree.visits) and tree.count[1] + MAX_PROPOSALS <= len(tree.edge_visits):
                depth = simulate(tables, search, key, tree.first_edge[0] + edges[place])
                if depth == turns.TOO_MANY:
                    return turns.TOO_MANY
                back_up(tables, tree, depth, search.rollout.shares)
                done += 1
    return done


@kernel
def simulate(tables, search, key, edge):
    """Follow the tree from the root along `edge` to a new position and overwrite `rollout.shares` with its value.

    Returns the depth, or `turns.TOO_MANY` if a turn has no room.
    """
    tree, workspace = search.tree, search.rollout
    rollout_key = chance.random_word(key, ROLLOUT_KEYS, np.uint64(tree.edge_visits[edge]))
    tree.path[0, 0] = 0
    tree.path[0, 1] = edge
    depth = 0
    while True:
        if tree.edge_due[edge] == turns.RESTOCK_DUE and not workspace.restock:
            workspace.state[0] = tree.edge_states[edge]
            return depth if rollouts.rollout(tables, workspace, rollout_key, tree.edge_due[edge]) else turns.TOO_MANY
        node = child_of(tables, tree, edge, key)
        depth += 1
        tree.path[depth, 0] = node
        tree.path[depth, 1] = NEW
        at_end = tree.mover[node] == NOBODY
        wanted = tree.first_edge[node] == NEW and tree.visits[node] > 0 and not at_end
        if wanted and expand(tables, search, node) == turns.TOO_MANY:
            return turns.TOO_MANY
        if tree.first_edge[node] == NEW or depth + 1 == MAX_DEPTH:
            workspace.state[0] = tree.states[node]
            return (
                depth if rollouts.rollout(tables, workspace, rollout_key, np.int8(turns.TURN_OVER)) else turns.TOO_MANY
            )
        edge = choose_edge(tree, search.params, node)
        tree.path[depth, 1] = edge


@kernel
def child_of(tables, tree, edge, key):
    """The node that an edge leads to on its next visit, which may be a new one."""
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
    """The node of the position in the spare record, added if there is none."""
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
    """Enumerate the turn of `node` and add its edges, best first. Returns their number or `turns.TOO_MANY`."""
    tree, workspace = search.tree, search.rollout.planner
    weights = search.rollout.evaluator.scripted.weights
    first = tree.count[1]
    number = proposals.propose(tree.states[node], tables, weights, workspace, MAX_PROPOSALS)
    if number == turns.TOO_MANY:
        return number
    if not rerank(tables, workspace, search.ranker, search.rollout.shares, number):
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
    return number


@inlined
def rerank(tables, workspace, ranker, shares, number):
    """Sort the first `number` outcomes in `workspace.ranked` by the ranker's value, if there is a ranker.

    Returns False if a turn has no room while it looks ahead.
    """
    if ranker is not None:  # decided when this is compiled, by the type of the argument
        for place in range(number):
            outcome = workspace.ranked[place]
            due = np.int64(workspace.turn.due[outcome])
            if not evaluation.evaluate(workspace.turn.states[outcome], due, tables, ranker, shares):
                return False
            workspace.values[outcome] = worth_by_shares(tables, workspace, ranker, shares, outcome)
            proposals.move_up(workspace, place)
    return True


@kernel
def worth_by_shares(tables, workspace, ranker, shares, outcome):
    """The worth in rupees of an outcome to its mover, from the `shares` of the win that `ranker` gives.

    This inverts the softmax of `scripted/evaluator.py`: it is the mover's worth there, up to a constant, if the outcome is worth
    the same to all others.
    """
    mover = np.int64(workspace.turn.states[0].current_player)
    scripted = ranker.scripted
    turns_left = 0
    for seat in range(tables.num_players):
        in_set, later = planner_survey.turns_to_come(workspace.turn.states[outcome], tables, seat)
        turns_left += in_set + later
    temperature = scripted.temperature + scripted.temperature_per_turn * turns_left / tables.num_players
    return temperature * np.log(max(shares[mover], MIN_SHARE) / max(1.0 - shares[mover], MIN_SHARE))


@kernel
def choose_edge(tree, params, node):
    """The edge to follow from `node`: the best for its mover by mean share and bonus, among those considered so far."""
    mover = tree.mover[node]
    visits = np.float64(tree.visits[node])
    considered = min(np.int64(tree.num_edges[node]), 2 + np.int64(params.widening * np.sqrt(visits)))
    unknown = tree.total[node, mover] / visits  # what an unvisited edge is taken to be worth
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
    """Add the `shares` of the leaf to the nodes and edges on the path to it."""
    for step in range(depth + 1):
        node, edge = tree.path[step, 0], tree.path[step, 1]
        tree.visits[node] += 1
        for seat in range(tables.num_players):
            tree.total[node, seat] += shares[seat]
        if edge != NEW:
            tree.edge_visits[edge] += 1
            tree.edge_total[edge] += shares[tree.mover[node]]


def root_means(tree: Tree, edges: np.ndarray) -> np.ndarray:
    """The mover's mean shares over simulations along `edges` of the root, counted from its first, (k,) float64."""
    places = tree.first_edge[0] + edges
    return np.asarray(tree.edge_total[places] / np.maximum(1, tree.edge_visits[places]))
