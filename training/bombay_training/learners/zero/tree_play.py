"""Self-play by tree search for `zero`: every turn is chosen by a search with the current net, which learns what the search finds.

A search values several outcomes of a turn better than the net does at once: by what the simulations through them ended in. Each
outcome of the root with enough simulations becomes a sample with that mean as its target (the idea of TreeStrap: Veness, Silver,
Uther and Blair, "Bootstrapping from Game Tree Search", 2009). The outcome played becomes a sample with a λ-return as well,
computed from what the searches of later turns found and from the result. A game is a function of the run's key, its number and
the net.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets.zero import valuation
from bombay_agents.search import zero_tree
from bombay_agents.search.zero_tree import MAX_EDGES, SearchParams, ZeroSearch
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import kernel, piece_kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY
from bombay_training.learners import lambda_returns
from bombay_training.learners.zero.self_play import (
    CHOICE,
    EXPLORES,
    GAMES,
    TO_UNIT,
    PlayOptions,
    SelfPlay,
    max_samples,
    sample_dtype,
    store_sample,
)

SEARCHES: Final = np.uint64(3103)  # stream of keyed chance: keys of searches
PIECES: Final = 8  # pieces of work, whatever the number of threads


class TreePlay(SelfPlay):
    """Plays games in which one net has all seats and searches before each turn; see `SelfPlay`.

    Args:
        games: one for each player count.
        each: games that are played at a time, of each player count.
        hidden: width of the net.
        second: width of its second hidden layer.
        nodes: simulations a turn.
        min_visits: simulations through an outcome from which on it is learned from.
    """

    def __init__(self, games: Sequence[Game], each: int, hidden: int, second: int, nodes: int, min_visits: int) -> None:
        super().__init__(games, each, hidden, second)
        self.nodes, self.min_visits = nodes, min_visits
        self.most_played = max(max_samples(game.rules) for game in games)
        room = self.most_played * (1 + MAX_EDGES)  # for the turns played, then for what was found at roots
        self.samples = np.zeros((len(games), each, room), sample_dtype(games[0].board.num_sites))
        self.found = np.zeros((len(games), each), np.int64)  # samples of outcomes of roots
        self.searches = tuple(
            ZeroSearch(
                zero_tree.new_tree(games[0], nodes + 1),
                np.zeros(0),
                valuation.new_turn_workspaces(games[0], hidden, second, 1),
                np.zeros(MAX_EDGES, np.int64),
                SearchParams(np.float32(2)),
            )
            for _ in range(PIECES)
        )

    def play(self, net: np.ndarray, key: int, first: int, options: PlayOptions) -> np.ndarray:
        """Play the games numbered from `first` on with `net`; see `SelfPlay.play`."""
        params = SearchParams(options.share_weight)
        searches = tuple(search._replace(net=net, params=params) for search in self.searches)
        for number, game in enumerate(self.games):
            play_tree_piece(
                PIECES, searches, self.workspaces, game.tables, options, (self.nodes, self.min_visits), np.uint64(key),
                first, self.samples[number], (self.counts[number], self.found[number]),
            )  # fmt: skip
            turns.check_count(self.counts[number].min())
        return self.sample_indices()

    def sample_indices(self) -> np.ndarray:
        """Indices of the samples of the last games, into the flattened `samples`."""
        place = np.arange(self.samples.shape[-1])
        played = place < self.counts[..., None]
        found = (place >= self.most_played) & (place < self.most_played + self.found[..., None])
        return np.flatnonzero((played | found).reshape(-1))


@piece_kernel
def play_tree_piece(piece, searches, workspaces, tables, options, limits, key, first, samples, counts):
    """Play the games of a piece with the search and the workspace of its number.

    `counts` are two arrays with an entry for each game: the numbers of samples of turns played and of outcomes at roots.
    """
    played, found = counts
    for number in batch.lanes_of(piece, len(searches), len(played)):
        index = np.uint64(first + number) * np.uint64(MAX_PLAYERS) + np.uint64(tables[0].num_players - 1)
        seed = chance.random_word(key, GAMES, index)
        played[number], found[number] = play_game(
            seed, tables[0], searches[piece], options, limits, workspaces[piece], samples[number]
        )


@kernel
def play_game(seed, tables, search, options, limits, workspace, samples):
    """Play a game and store its samples. Returns two numbers of samples: of turns played, or `turns.TOO_MANY`, and at roots."""
    state, tree = workspace.current.state, search.tree
    drawn = np.empty(NUM_COLOURS, np.int64)
    batch.start(state, tables, seed, drawn)
    first_found = len(samples) // (1 + MAX_EDGES)
    count, found, move = np.int64(0), np.int64(0), np.uint64(0)
    while state.current_player != NOBODY:
        key = chance.random_word(seed, SEARCHES, move)
        root = workspace.turn.memory.node[1]
        root.state = state
        root.state.seed = np.uint64(0)
        if not search_turn(root.state, tables, search, key, limits[0]):
            return np.int64(turns.TOO_MANY), found
        best = best_edge(tree)
        chosen = best
        is_last = tree.edge_states[best].current_player == NOBODY
        if not is_last and np.float64(chance.random_word(seed, EXPLORES, move)) * TO_UNIT < options.epsilon:
            word = chance.random_word(seed, CHOICE, move)
            chosen = tree.first_edge[0] + np.int64(word % np.uint64(tree.num_edges[0]))
        found = store_roots(tables, search, limits[1], workspace, samples, first_found, found)
        if tree.edge_states[chosen].current_player != NOBODY:
            store_edge(tables, search, best, chosen, workspace, samples[count])
            count += 1
        real_seed = state.seed
        workspace.current.state = tree.edge_states[chosen]
        state.seed = real_seed
        if tree.edge_due[chosen] == turns.RESTOCK_DUE:
            batch.restock(state, tables, drawn)
        move += np.uint64(1)
    lambda_returns.set_final_targets(tables, options.td_lambda, workspace, samples, count)
    return count, found


@kernel
def search_turn(state, tables, search, key, nodes):
    """Search from a state. Returns False if a turn does not fit in memory."""
    if zero_tree.init(state, tables, search) == turns.TOO_MANY:
        return False
    if search.tree.num_edges[0] > 1:
        for _ in range(nodes):
            edge = zero_tree.choose_edge(search.tree, search.params, np.int64(0))
            depth = zero_tree.simulate(tables, search, key, edge)
            if depth == turns.TOO_MANY:
                return False
            zero_tree.back_up(search.tree, depth)
    return True


@kernel
def best_edge(tree):
    """The root's edge with most simulations; ties go to the first."""
    best = tree.first_edge[0]
    for edge in range(tree.first_edge[0], tree.first_edge[0] + tree.num_edges[0]):
        if tree.edge_visits[edge] > tree.edge_visits[best]:
            best = edge
    return best


@kernel
def store_roots(tables, search, min_visits, workspace, samples, first_found, found):
    """Store samples of the root's edges with enough simulations, after the first `found`. Returns the number then."""
    tree = search.tree
    for edge in range(tree.first_edge[0], tree.first_edge[0] + tree.num_edges[0]):
        running = tree.edge_states[edge].current_player != NOBODY
        if running and tree.edge_visits[edge] >= min_visits:
            store_edge(tables, search, edge, edge, workspace, samples[first_found + found])
            found += 1
    return found


@kernel
def store_edge(tables, search, best, edge, workspace, sample):
    """Overwrite a sample with the outcome of a root's edge and what the search expects there."""
    tree, evaluation = search.tree, workspace.turn.evaluation
    node, seat, n = workspace.turn.memory.node[1], np.int64(tree.mover[0]), np.int64(tables.num_players)
    node.state = tree.edge_states[edge]
    node.due = tree.edge_due[edge]
    valuation.clear_cache(evaluation)
    slot = valuation.evaluate(node, tables, seat, search.net[0], evaluation)
    store_sample(tables, seat, slot, evaluation, sample)
    sample.explored = edge != best
    for place in range(n):
        player = (seat + place) % n
        if tree.edge_visits[edge] > 0:
            sample.margin[place] = tree.edge_total[edge, player] / tree.edge_visits[edge]
            sample.share[place] = tree.edge_total[edge, MAX_PLAYERS + player] / tree.edge_visits[edge]
        visits = max(np.int64(1), np.int64(tree.edge_visits[best]))
        sample.best_margin[place] = tree.edge_total[best, player] / visits
        sample.best_share[place] = tree.edge_total[best, MAX_PLAYERS + player] / visits
