"""The tree of all searches, compiled and in NumPy, against a plain one that does what `docs/evaluators.md` says."""

import re

import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search import last_round, tree
from bombay_agents.search.agent import CompiledSearch, SearchAgent
from bombay_agents.search.python_tree import PythonSearch
from bombay_agents.search.tree import SearchParams
from bombay_env import batch, chance, engine, streams
from bombay_env.state import NOBODY
from helpers.nets import TABLES, outcomes_of, random_net, starts_of_turns
from helpers.position import last_turn, official, position, variant
from helpers.refusal import refusal
from helpers.searches import SLOW, after_turn, midgame, short_game, without_seeds


class LeadNow:
    """An evaluator in Python: the larger a seat's lead if the game ended now, the larger its share of the win."""

    def values(self, game, states):
        assert (states["seed"] == 0).all()
        assert not game.is_terminal(states).any()
        final = game.provisional_results(states)["final"].astype(float)
        weights = np.exp((final - final.max(axis=1, keepdims=True)) / 5)
        return weights / weights.sum(axis=1, keepdims=True)


MAKERS = {"net": lambda game: ValueNetAgent(random_net(game)), "planner": lambda game: PlannerAgent()}
each_kind = pytest.mark.parametrize("kind", [*MAKERS, "python"])


# --- A plain tree ---


def compiled_outcomes(game, evaluator):
    """A function that lists a turn's outcomes: states, whether restocks are due, worths to the mover, to each seat."""

    def outcomes(state):
        n, found = game.num_players, outcomes_of(game, evaluator, state)
        kept = found.values > -np.inf
        margins, shares = found.outputs[kept, :n].astype(float), found.outputs[kept, 5 : 5 + n]  # from the mover on
        utilities = np.roll(margins + evaluator.share_weight * shares, state["current_player"], axis=1)
        return found.states[kept], found.due[kept] == turns.RESTOCK_DUE, found.values[kept], utilities

    return outcomes


def python_outcomes(game, evaluator):
    """The same for an evaluator in Python. Games that are over count as their share of the win."""
    workspace = turns.new_workspace(game)

    def outcomes(state):
        found = turns.distinct_turns(game, np.array(state).reshape(1), workspace)
        states = without_seeds(np.concatenate([turn.state for turn in found]))
        over = states["current_player"] == NOBODY
        utilities = np.zeros((len(found), game.num_players))
        utilities[~over] = evaluator.values(game, states[~over])
        utilities[over] = game.results(states[over])["win_share"]
        return states, np.array([turn.restock_due for turn in found]), utilities[:, state["current_player"]], utilities

    return outcomes


class PlainNode:
    """A position between turns, and as its edges the outcomes of the turn, those of most worth to the mover first."""

    def __init__(self, state, outcomes):
        states, due, worths, utilities = outcomes(state)
        best = np.argsort(-worths, kind="stable")[:16]
        self.mover = int(state["current_player"])
        self.states, self.due, self.values = states[best], due[best], utilities[best]
        prior = np.exp((worths[best] - worths.max()) / 0.1)
        self.prior = prior / prior.sum()
        self.total, self.visits, self.children = np.zeros_like(self.values), np.zeros(len(best), int), {}

    def means(self):
        """What each edge is worth to the mover; the evaluator's own value counts as one simulation."""
        return (self.total + self.values)[:, self.mover] / (1 + self.visits)

    def edge_to_follow(self):
        visits = 1 + self.visits.sum()
        bonus = 0.15 * visits**0.5 * self.prior / (1 + self.visits)
        considered = 2 + int(0.5 * visits**0.5)
        return int((self.means() + bonus)[:considered].argmax())


class PlainTree:
    def __init__(self, game, outcomes, size, key):
        self.game, self.outcomes, self.size, self.key = game, outcomes, size, key

    def run(self, state, edges, each):
        """Simulate so often along each of these edges of the root."""
        self.root, self.num_nodes, self.depth = PlainNode(state, self.outcomes), 1, 0
        for edge in np.repeat(edges, each):
            if self.num_nodes < self.size:
                self.simulate(int(edge))

    def simulate(self, edge):
        node, path = self.root, []
        while True:
            path.append((node, edge))
            value = node.values[edge]
            if node.states[edge]["current_player"] == NOBODY or len(path) == tree.MAX_DEPTH:
                break
            number = int(node.visits[edge]) % 8 if node.due[edge] else 0
            if (edge, number) not in node.children:
                child = PlainNode(self.next_position(node, edge, number), self.outcomes)
                node.children[edge, number] = child
                self.num_nodes += 1
                value = child.values[0]
                break
            node = node.children[edge, number]
            edge = node.edge_to_follow()
        for node, edge in path:
            node.visits[edge] += 1
            node.total[edge] += value
        self.depth = max(self.depth, len(path))

    def next_position(self, node, edge, number):
        """The position after an edge. Where a set ends, the search's key and the number of the restock draw it."""
        state = node.states[edge : edge + 1].copy()
        if node.due[edge]:
            state["seed"] = chance.random_word(self.key, streams.TREE_RESTOCKS, np.uint64(number))
            batch.restock(state[0], self.game.tables[0], np.zeros(4, np.int64))
            state["seed"] = 0
        return state[0]


def assert_compiled_node(node, number, found, share_weight):
    """Assert that the node with this number in a compiled tree, and all below it, are those of the plain tree."""
    n, edges = node.values.shape[1], np.arange(found.num_edges[number]) + found.first_edge[number]
    assert (found.mover[number], found.visits[number]) == (node.mover, 1 + node.visits.sum())
    assert found.edge_visits[edges].tolist() == node.visits.tolist()
    assert found.edge_prior[edges] == pytest.approx(node.prior, abs=1e-5)
    total = found.edge_total[edges, :n] + share_weight * found.edge_total[edges, 5 : 5 + n]
    assert total == pytest.approx(node.total, abs=1e-4)
    for (edge, restock), child in node.children.items():
        place = found.edge_child[edges[edge]]
        assert_compiled_node(child, found.restocked[place, restock] if node.due[edge] else place, found, share_weight)


def assert_python_node(node, found):
    assert (found.mover, found.visits.tolist()) == (node.mover, node.visits.tolist())
    assert found.prior == pytest.approx(node.prior)
    assert found.total == pytest.approx(node.total)
    assert found.children.keys() == node.children.keys()
    for place, child in node.children.items():
        assert_python_node(child, found.children[place])


def assert_as_plain(game, kind, states, each, size):
    """Assert that a search of each state grows the plain tree. Returns the plain tree of the last one."""
    key, params = np.uint64(5), SearchParams(np.float32(1))
    if kind == "python":
        search, plain = PythonSearch(game, LeadNow(), size, params), python_outcomes(game, LeadNow())
    else:
        search = CompiledSearch(game, MAKERS[kind](game).evaluator(game), size, params)
        plain = compiled_outcomes(game, MAKERS[kind](game).evaluator(game))
    plain = PlainTree(game, plain, size, key)
    for state in without_seeds(np.array(states)):
        edges = np.arange(search.init(state))
        search.run(key, edges[:2], each)
        plain.run(state, edges[:2], each)
        if kind == "python":
            assert search.num_nodes == plain.num_nodes
            assert_python_node(plain.root, search.root)
        else:
            found = search.search.tree
            assert found.counts[0] == plain.num_nodes
            assert_compiled_node(plain.root, 0, found, search.search.params.share_weight)
        assert search.root_means(edges) == pytest.approx(plain.root.means(), abs=1e-5)
    return plain


@each_kind
@pytest.mark.parametrize("n", [2, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 5))])
def test_a_search_grows_the_plain_tree(n, kind):
    """Also where a set ends, and when the tree is full; nothing is left of the search before."""
    game, each = TABLES[n - 2], 3 if SLOW else 60
    states = [*starts_of_turns(game, 2 if SLOW else 3, 7), np.asarray(last_turn(game, set=0, actions_left=1))[0]]
    plain = assert_as_plain(game, kind, states, each, size=1000)
    assert any(restock > 0 for _, restock in plain.root.children)
    assert plain.depth > 3 or SLOW
    assert_as_plain(game, kind, states[:1], each, size=10)


@each_kind
def test_a_simulation_goes_down_at_most_64_turns(kind):
    """In a game in which nothing can be done every turn has one outcome, so each simulation goes one turn deeper."""
    game = variant(5, sets=1, turns_per_set=20, actions_per_turn=1, move_cost=2, buys_per_turn=0, consolidate_rupees=0)
    plain = assert_as_plain(game, kind, np.asarray(game.new_states([0])), each=70, size=1000)
    assert plain.root.visits.tolist() == [70]
    assert (plain.depth, plain.num_nodes) == (64, 64)


# --- Best play ---


@pytest.mark.parametrize("left", [1] if SLOW else [1, 2])
def test_a_search_finds_best_play(left):
    """In the two endgames of `test_last_round.py` that a greedy player loses: every node chooses for its own mover."""
    game = official(2)
    if left == 1:
        states = last_turn(at="Bombay", basket=["blue", "orange"], actions_left=1, rupees=[10, 10], clients=[0, 1])
    else:
        facts = {"elephants": {0: "Bombay", 1: "Bombay"}, "baskets": {0: ["purple"], 1: ["blue", "purple"]}}
        states = position(game, rupees=[2, 5], actions_left=1, set=3, turn=3, player=1, **facts)
    goal = without_seeds(states)
    for action in last_round.solve(game, states).actions:
        engine.apply(goal[0], game.tables[0], action)
    after = after_turn(game, states, make(f"search:nodes={100 if SLOW else 2000},k=16"))
    assert without_seeds(after).tobytes() == goal.tobytes()


# --- Evaluators in Python ---


class Worths:
    """An evaluator whose values for `k` states are made by a function of (k, n)."""

    def __init__(self, made):
        self.made = made

    def values(self, game, states):
        return self.made(len(states), game.num_players)


def wrong(k, n):
    raise RuntimeError("no\nGPU")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda k, n: np.zeros((k, n + 1)), r"an array of shape \(\d+, 3\); it must be of shape \(\d+, 2\): a row"),
        (lambda k, n: np.full((k, n), np.nan), "returned numbers that are not finite$"),
        (lambda k, n: "many", "ValueError: could not convert string to float: 'many'$"),
        (wrong, "RuntimeError: no GPU$"),
    ],
)
def test_values_that_are_of_no_use_are_an_error_in_one_line(made, reason):
    game = short_game()
    agent = SearchAgent(Worths(made), nodes=5)
    found = refusal(lambda: agent.act(game, midgame(game), np.random.default_rng(0)), "Worths.values")
    assert re.search(reason, found)


def test_a_search_by_an_evaluator_in_python_wins_where_it_can():
    """Games that are over count as their share of the win, so values that are all the same are enough."""
    game = official(2)
    states = last_turn(at="Bombay", basket=["blue", "orange"], actions_left=1, rupees=[10, 10], clients=[0, 1])
    agent = SearchAgent(Worths(lambda k, n: np.full((k, n), 1 / n)), nodes=20)
    while not game.is_terminal(states)[0]:
        game.step(states, agent.act(game, states, np.random.default_rng(0)))
    assert game.results(states)["win_share"][0].tolist() == [1, 0]
