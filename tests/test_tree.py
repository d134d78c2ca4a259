"""The tree of all searches: its sums, PUCT, restocks and memory, and that each node maximises for its own mover.

Its slow twin in NumPy, for evaluators written in Python, takes the same decisions.
"""

import re

import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search import endgame, tree
from bombay_agents.search.agent import CompiledSearch, SearchAgent
from bombay_agents.search.tree import SearchParams
from bombay_env import engine
from bombay_env.state import NOBODY
from helpers.nets import TABLES, NetInPython, random_net, starts_of_turns
from helpers.position import last_turn, official, position, variant
from helpers.refusal import refusal
from helpers.searches import SLOW, midgame, short_game, without_seeds

EVALUATORS = {"net": lambda game: ValueNetAgent(random_net(game)), "planner": lambda game: PlannerAgent()}
each_evaluator = pytest.mark.parametrize("kind", EVALUATORS)


def searched(game, states, each, size=400, kind="planner", key=1, **params):
    """A search after `each` simulations along every edge of the root."""
    search = CompiledSearch(game, EVALUATORS[kind](game).evaluator(game), size, SearchParams(np.float32(1), **params))
    search.init(without_seeds(states.reshape(1))[0])
    search.run(np.uint64(key), all_edges(search), each)
    return search.search


def all_edges(search):
    return np.arange(len(search.root_nodes))[: int(search.search.tree.num_edges[0])]


def edges_of(found, node):
    return np.arange(found.first_edge[node], found.first_edge[node] + found.num_edges[node])


def best_edge(search):
    return int(np.argmax(tree.root_means(search, np.arange(search.tree.num_edges[0]))))


@each_evaluator
@pytest.mark.parametrize("n", [2, 4] if SLOW else [2, 3, 4, 5])
def test_visits_and_values_of_the_tree_add_up(n, kind):
    game = TABLES[n - 2]
    for state in starts_of_turns(game, 2 if SLOW else 8, 7):
        each = 1 if SLOW else 12
        search = searched(game, state, each, kind=kind)
        found = search.tree
        nodes, root = int(found.counts[0]), edges_of(found, 0)
        assert found.counts[1] == found.num_edges[:nodes].sum()
        assert found.edge_visits[root].tolist() == [each] * len(root)
        for node in range(nodes):
            edges, mover = edges_of(found, node), found.mover[node]
            assert 0 < len(edges) <= tree.MAX_EDGES
            assert found.visits[node] == 1 + found.edge_visits[edges].sum()
            assert found.edge_prior[edges].sum() == pytest.approx(1, abs=1e-5)
            values = found.edge_value[edges, mover] + 2 * found.edge_value[edges, 5 + mover]
            assert (np.diff(values) <= 1e-5).all(), "edges are in the order of the evaluator's values"
            assert found.edge_prior[edges] == pytest.approx(
                np.exp(values / 0.1) / np.exp(values / 0.1).sum(), rel=1e-3, abs=1e-6
            )
            assert found.edge_value[edges, :n].sum(axis=1) == pytest.approx(0, abs=1e-3)
            assert found.edge_value[edges, 5 : 5 + n].sum(axis=1) == pytest.approx(1, abs=1e-5)
            assert (found.edge_due[edges] != turns.TURN_GOES_ON).all()


def mean_utilities(found, edges, mover):
    """What edges are worth to a seat: 2 for a share of the win beside tens of rupees."""
    sums = found.edge_total[edges] + found.edge_value[edges]  # the evaluator's own value counts as one simulation
    return (sums[:, mover] + 2 * sums[:, 5 + mover]) / (found.edge_visits[edges] + 1)


def puct(found, params, node):
    """The edge to follow from a node, by the formula: mean utility for its mover, and a bonus for the prior."""
    visits, mover = float(found.visits[node]), int(found.mover[node])
    edges = edges_of(found, node)[: 2 + int(params.widening * visits**0.5)]
    bonus = params.exploration * visits**0.5 * found.edge_prior[edges] / (1 + found.edge_visits[edges])
    return edges[np.argmax(mean_utilities(found, edges, mover) + bonus)]


def test_the_edge_followed_is_the_best_for_its_mover_by_mean_utility_and_bonus():
    game = TABLES[1]
    search = searched(game, starts_of_turns(game, 8, 7)[0], 1 if SLOW else 20, kind="net")
    found, params = search.tree, search.params
    nodes = list(range(found.counts[0]))
    assert len({int(found.mover[node]) for node in nodes}) > 1
    rng, count, edges = np.random.default_rng(1), found.counts[0], found.counts[1]
    for _ in range(20):
        followed = [tree.choose_edge(found, params, node) for node in nodes]
        assert followed == [puct(found, params, node) for node in nodes]
        found.visits[:count], found.edge_visits[:edges] = rng.integers(1, 80, count), rng.integers(0, 4, edges)
        found.edge_prior[:edges], found.edge_total[:edges] = rng.random(edges), rng.random((edges, 10))
    edges = np.arange(found.num_edges[0])
    assert tree.root_means(search, edges) == pytest.approx(mean_utilities(found, edges, int(found.mover[0])))


def test_simulations_through_an_edge_add_up_what_they_ended_in():
    """The first one ends in the value of the new node, its best edge's; the later ones go on along an edge of that node."""
    game = TABLES[1]
    found = searched(game, starts_of_turns(game, 8, 7)[0], 2 if SLOW else 20, kind="net").tree
    compared = 0
    for edge in np.flatnonzero(found.edge_visits[: found.counts[1]] > 1):
        if found.edge_due[edge] == turns.RESTOCK_DUE or found.edge_states[edge]["current_player"] == NOBODY:
            continue
        edges = edges_of(found, found.edge_child[edge])
        expected = found.edge_value[edges[0]] + found.edge_total[edges].sum(axis=0)
        assert found.edge_total[edge] == pytest.approx(expected, abs=1e-4)
        compared += 1
    assert compared > 0


def test_a_full_tree_stops_growing():
    game = short_game()
    search = searched(game, midgame(game), 50, size=4)
    found, count = search.tree, search.tree.counts[0]
    assert count == len(found.visits) == 4
    assert 3 <= found.visits[0] - 1 < 50 * found.num_edges[0]
    assert tree.run(game.tables[0], search, np.uint64(1), np.arange(2), 50) == 0


def test_a_new_search_in_the_same_memory_starts_from_nothing():
    game = short_game()
    states, steps = (midgame(game), midgame(game, 2)), 1 if SLOW else 2
    search, fresh = searched(game, states[0], steps), searched(game, states[1], steps, key=2).tree
    for _ in range(2):  # the second time at positions that the memory still holds
        number = tree.init(without_seeds(states[1])[0], game.tables[0], search)
        tree.run(game.tables[0], search, np.uint64(2), np.arange(number), steps)
        count = search.tree.counts[0]
        assert count == fresh.counts[0]
        assert search.tree.visits[:count].tolist() == fresh.visits[:count].tolist()


def test_restocks_in_the_tree_depend_on_the_searchs_key_only():
    """Where a set ends, an edge has several children. The search's key draws them, and not the seed of the state."""
    game = official(2) if not SLOW else short_game()
    states = last_turn(game, set=0, at="Bombay", actions_left=1)
    found = []
    for key, seed in ((1, 5), (1, 6), (2, 5)):
        search = searched(game, game.scrub(states, [seed]), 0, size=100)
        assert search.tree.edge_due[0] == turns.RESTOCK_DUE
        markets, children = {}, []
        for visit in range(3 * int(tree.RESTOCKS)):
            search.tree.edge_visits[0] = visit
            node = tree.child_of(game.tables[0], search, 0, np.uint64(key))
            if node == tree.NEW:
                node = int(search.tree.counts[0])
                first = search.turn["memory"]["node"]["state"][0, 0]
                markets[node] = first["market"].tobytes()
                assert (first["market"].sum(), first["seed"]) == (9, 0)
                search.tree.counts[0] += 1  # as if it had been added
            children.append(markets[node])
        assert 2 < len(set(children)) <= tree.RESTOCKS == len(markets)
        assert children[: int(tree.RESTOCKS)] == children[int(tree.RESTOCKS) : 2 * int(tree.RESTOCKS)]
        found.append(children)
    assert found[0] == found[1]
    assert found[0] != found[2]


ELEPHANTS, BASKETS = {0: "Bombay", 1: "Bombay"}, {0: ["purple"], 1: ["blue", "purple"]}
LAST_TWO = {"elephants": ELEPHANTS, "baskets": BASKETS, "actions_left": 1, "set": 3, "turn": 3, "player": 1}


@pytest.mark.parametrize("left", [1] if SLOW else [1, 2])
def test_every_node_of_a_tree_chooses_for_its_own_mover(left):
    """The search finds best play in the two endgames of `test_endgame.py` that a greedy player loses."""
    game = official(2)
    if left == 1:
        states = last_turn(at="Bombay", basket=["blue", "orange"], actions_left=1, rupees=[10, 10], clients=[0, 1])
    else:
        states = position(game, rupees=[2, 5], **LAST_TWO)
    search = searched(game, states, 16 if SLOW else 150, size=2000)
    solution, goal = endgame.solve(game, states), without_seeds(states)
    for action in solution.actions:
        engine.apply(goal[0], game.tables[0], action)
    best = best_edge(search)
    assert search.tree.edge_states[best].tobytes() == goal[0].tobytes()
    mover = int(states["current_player"][0])
    share = search.tree.edge_total[best, 5 + mover] / search.tree.edge_visits[best]
    assert share == pytest.approx(solution.win_share[mover], abs=0.3)


@pytest.mark.skipif(SLOW, reason="hundreds of turns, tens of milliseconds each with the compiler off")
def test_a_reply_maximises_for_the_seat_that_replies():
    """Seat 0 wins whatever seat 1 does, but only with the right reply; a tree that chose replies for seat 1 would find no win."""
    game = official(2)
    states = position(game, rupees=[4, 5], **LAST_TWO)
    assert endgame.solve(game, states).win_share.tolist() == [1, 0]
    found = searched(game, states, 150, size=2000).tree
    worst = []
    for node in np.flatnonzero(found.visits[1 : found.counts[0]] > 50) + 1:
        edges = edges_of(found, node)
        own = [game.results(found.edge_states[edge : edge + 1])["win_share"][0, 0] for edge in edges]
        assert own[np.argmax(found.edge_visits[edges])] == 1
        worst.append(min(own))
    assert min(worst) < 1  # the reply matters somewhere
    root = edges_of(found, 0)
    assert found.edge_total[root, 5].sum() / found.edge_visits[root].sum() > 0.7


@each_evaluator
def test_the_last_turn_of_a_game_is_played_for_its_result(kind):
    """Whatever the evaluator says, no other outcome has a better margin and share of the win."""
    game = variant(2, sets=1, turns_per_set=1)
    states = position(game, player=1, elephants={1: "Bombay"}, baskets={1: ["blue"]}, rupees=[5, 0])
    results = game.results(np.concatenate([turn.state for turn in turns.distinct_turns(game, np.asarray(states))]))
    worth = (results["final"][:, 1] - results["final"].mean(axis=1)) / 10 + 2 * results["win_share"][:, 1]
    agent, rng = SearchAgent(EVALUATORS[kind](game), nodes=8), np.random.default_rng(0)
    while not game.is_terminal(states)[0]:
        game.step(states, agent.act(game, states, rng))
    result = game.results(states)[0]
    assert (result["final"][1] - result["final"].mean()) / 10 + 2 * result["win_share"][1] == pytest.approx(worth.max())


# --- The twin in NumPy ---


def positions(game, count):
    """Positions of one game each between greedy players, all through the game; every other one in the middle of a turn."""
    whole = game.rules.sets * game.rules.turns_per_set * game.num_players
    greedy, rng = make("greedy"), np.random.default_rng(0)
    for number in range(count):
        states = midgame(game, (number + 1) * (whole - 1) // count, greedy, seed=1000 * game.num_players + number)
        if number % 2:
            game.step(states, greedy.act(game, states, rng))
        yield without_seeds(states)[0]


@pytest.mark.skipif(SLOW, reason="thousands of turns")
@pytest.mark.parametrize("count", [5, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_an_evaluator_in_python_chooses_as_the_compiled_tree_does(n, count):
    """With the values of the net of `zero`, handed over as an evaluator of one's own."""
    game, chosen = official(n), []
    for value in (make("zero"), NetInPython(make("zero"))):
        agent = SearchAgent(value, nodes=100)
        agent.make_ready(game)
        chosen.append([agent.choose(game, state, np.uint64(key)) for key, state in enumerate(positions(game, count))])
        assert len(chosen[-1]) == count
    assert chosen[0] == chosen[1]


class Worths:
    """An evaluator whose values for `k` states are made by a function of (k, n)."""

    def __init__(self, made):
        self.made = made

    def values(self, game, states):
        assert (states["seed"] == 0).all()
        assert not game.is_terminal(states).any()
        return self.made(len(states), game.num_players)


def wrong(k, n):
    raise RuntimeError("no\nGPU")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (
            lambda k, n: np.zeros((k, n + 1)),
            r"returned an array of shape \(\d+, 3\); it must be of shape \(\d+, 2\): a row",
        ),
        (lambda k, n: np.zeros(k), r"returned an array of shape \(\d+,\); it must be of shape"),
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


def test_a_search_by_an_evaluator_in_python_needs_no_second_method():
    """Games that are over count as their share of the win: a search by values that are all the same wins where it can."""
    game = official(2)
    states = last_turn(at="Bombay", basket=["blue", "orange"], actions_left=1, rupees=[10, 10], clients=[0, 1])
    agent = SearchAgent(Worths(lambda k, n: np.full((k, n), 1 / n)), nodes=20)
    while not game.is_terminal(states)[0]:
        game.step(states, agent.act(game, states, np.random.default_rng(0)))
    assert game.results(states)["win_share"][0].tolist() == [1, 0]
