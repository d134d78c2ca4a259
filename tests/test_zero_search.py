"""`zero-search`: the bookkeeping of its tree, that it plays the last turn for the result, and that it repeats its decisions."""

import numba
import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.search import zero_tree
from bombay_agents.search.zero_agent import ZeroSearchAgent
from bombay_env.state import NOBODY
from bombay_training.evaluation.audit import audit
from helpers.position import position, variant
from test_zero_net import TABLES, random_net, starts_of_turns

SLOW = numba.config.DISABLE_JIT  # evaluating a turn then takes a while
NODES = 12 if SLOW else 200


def searched(game, state, nodes=NODES):
    """An agent after it searched from a state."""
    agent = ZeroSearchAgent(ZeroAgent(random_net(game)), nodes=nodes)
    agent.act(game, state.reshape(1), np.random.default_rng(0))
    return agent


@pytest.mark.parametrize("n", [2, 4] if SLOW else [2, 3, 4, 5])
def test_visits_and_values_of_the_tree_add_up(n):
    game = TABLES[n - 2]
    for state in starts_of_turns(game, 2 if SLOW else 8, 7):
        tree = searched(game, state).search.tree
        nodes = int(tree.count[0])
        assert tree.count[1] == tree.num_edges[:nodes].sum()
        for node in range(nodes):
            edges = slice(tree.first_edge[node], tree.first_edge[node] + tree.num_edges[node])
            assert tree.visits[node] == 1 + tree.edge_visits[edges].sum()
            assert tree.edge_prior[edges].sum() == pytest.approx(1, abs=1e-5)
            mover = tree.mover[node]
            values = tree.edge_value[edges, mover] + 2 * tree.edge_value[edges, 5 + mover]
            assert (np.diff(values) <= 1e-5).all(), "edges are in the order of the net's values"
            assert (tree.edge_due[edges] != turns.TURN_GOES_ON).all()


def mean_utilities(tree, edges, mover):
    """What edges are worth to a seat: 2 for a share of the win beside tens of rupees."""
    sums = tree.edge_total[edges] + tree.edge_value[edges]  # the net's own value counts as one simulation
    return (sums[:, mover] + 2 * sums[:, 5 + mover]) / (tree.edge_visits[edges] + 1)


def puct(tree, params, node):
    """The edge to follow from a node, by the formula: mean utility for its mover, and a bonus for the prior."""
    visits, mover = float(tree.visits[node]), int(tree.mover[node])
    considered = min(int(tree.num_edges[node]), 2 + int(params.widening * visits**0.5))
    edges = tree.first_edge[node] + np.arange(considered)
    bonus = params.exploration * visits**0.5 * tree.edge_prior[edges] / (1 + tree.edge_visits[edges])
    return edges[np.argmax(mean_utilities(tree, edges, mover) + bonus)]


def test_the_edge_followed_is_the_best_for_its_mover_by_mean_utility_and_bonus():
    game = TABLES[1]
    search = searched(game, starts_of_turns(game, 8, 7)[0]).search
    tree, params = search.tree, search.params
    nodes = [node for node in range(tree.count[0]) if tree.mover[node] != NOBODY]
    assert len({int(tree.mover[node]) for node in nodes}) > 1
    rng, count, edges = np.random.default_rng(1), tree.count[0], tree.count[1]
    for _ in range(20):
        followed = [zero_tree.choose_edge(tree, params, node) for node in nodes]
        assert followed == [puct(tree, params, node) for node in nodes]
        tree.visits[:count], tree.edge_visits[:edges] = rng.integers(1, 80, count), rng.integers(0, 4, edges)
        tree.edge_prior[:edges], tree.edge_total[:edges] = rng.random(edges), rng.random((edges, 10))
    edges = np.arange(tree.num_edges[0])
    assert zero_tree.root_means(search, edges) == pytest.approx(mean_utilities(tree, edges, int(tree.mover[0])))


def test_simulations_through_an_edge_add_up_what_they_ended_in():
    """The first one ends in the value of the new node, its best edge's; the later ones go on along an edge of that node."""
    game = TABLES[1]
    tree = searched(game, starts_of_turns(game, 8, 7)[0]).search.tree
    compared = 0
    for edge in np.flatnonzero(tree.edge_visits[: tree.count[1]] > 1):
        if tree.edge_due[edge] == turns.RESTOCK_DUE or tree.edge_states[edge]["current_player"] == NOBODY:
            continue
        child = tree.edge_child[edge]
        edges = slice(tree.first_edge[child], tree.first_edge[child] + tree.num_edges[child])
        expected = tree.edge_value[edges.start] + tree.edge_total[edges].sum(axis=0)
        assert tree.edge_total[edge] == pytest.approx(expected, abs=1e-4)
        compared += 1
    assert compared > 0


def test_a_node_takes_the_value_of_its_best_edge():
    """After one simulation, the total of the root's first edge is what the best turn after it is worth to each seat."""
    game = TABLES[1]
    state = starts_of_turns(game, 8, 9)[0]
    agent = searched(game, state, nodes=1)
    search, tables = agent.search, game.tables[0]
    zero_tree.init(state, tables, search)
    edges = np.arange(search.tree.num_edges[0])
    tree = search.tree
    assert len(tree.visits) == 2  # a budget of one node leaves room for the root and one child
    assert zero_tree.run(tables, search, np.uint64(1), edges[:1], 1) == 1
    child = int(tree.edge_child[0]) if tree.edge_due[0] != turns.RESTOCK_DUE else int(tree.restocked[0, 0])
    best = tree.first_edge[child]
    assert tree.edge_total[0] == pytest.approx(tree.edge_value[best], abs=1e-6)
    by_place = search.turn["outputs"][0, search.best[0]]  # the best outcome of the child, in seat order from its mover
    for seats, kind in ((tree.edge_value[best, :3], by_place[:3]), (tree.edge_value[best, 5:8], by_place[5:8])):
        assert np.roll(seats, -int(tree.mover[child])) == pytest.approx(kind)
    assert zero_tree.run(tables, search, np.uint64(1), edges[:1], 1) == 0, "a full tree stops growing"


@pytest.mark.skipif(SLOW, reason="searching is slow without the compiler")
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_it_passes_the_audit(n):
    """Legal, repeatable, blind to the seed and to the order of the lanes."""
    game = TABLES[n - 2]
    report = audit(lambda: ZeroSearchAgent(ZeroAgent(random_net(game)), nodes=20), [game], 20, seed=4)
    assert report.verdict == "passed", report


def test_the_last_turn_of_a_game_is_played_for_its_result():
    game = variant(2, sets=1, turns_per_set=1)
    states = position(game, player=1, elephants={1: "Bombay"}, baskets={1: ["blue"]}, rupees=[5, 0])
    results = game.results(np.concatenate([turn.state for turn in turns.distinct_turns(game, np.asarray(states))]))
    worth = (results["final"][:, 1] - results["final"].mean(axis=1)) / 10 + 2 * results["win_share"][:, 1]
    agent, rng = ZeroSearchAgent(ZeroAgent(random_net(game)), nodes=8), np.random.default_rng(0)
    while not game.is_terminal(states)[0]:
        game.step(states, agent.act(game, states, rng))
    result = game.results(states)[0]
    assert (result["final"][1] - result["final"].mean()) / 10 + 2 * result["win_share"][1] == pytest.approx(worth.max())
    assert states["current_player"][0] == NOBODY


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("zero-search:ms=5,nodes=5", "zero-search takes ms or nodes, not both"),
        ("zero-search:nodes=0", "zero-search: nodes is 0; it must be a whole number from 1 to 1000000"),
        ("zero-search:ms=0", "zero-search: ms is 0.0; it must be above 0, up to 60000"),
        ("zero-search:k=17", "zero-search: k is 17; it must be a whole number from 1 to 16"),
        ("zero-search:value=[td]", "zero-search: 'td' has no net of zero; take one that has, such as zero"),
    ],
)
def test_unsuitable_options_are_refused(spec, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        make(spec)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"depth": 100}, "depth is 100; it must be a whole number from 1 to 64"),
        ({"temperature": 0.0}, "temperature is 0.0; it must be from 0.001 to 1000"),
        ({"own_visits": 0}, "own_visits is 0; it must be from 0.001 to 1e"),
        ({"exploration": float("nan")}, "exploration is nan; it must be from 0 to 1000"),
    ],
)
def test_numbers_that_kernels_do_not_check_are_refused(params, reason):
    with pytest.raises(ValueError, match=f"^zero-search: {reason}"):
        ZeroSearchAgent(ZeroAgent(random_net(TABLES[2])), nodes=8, **params)
    with pytest.raises(ValueError, match=r"^zero-search has no number 'speed'; it has depth, exploration"):
        ZeroSearchAgent(ZeroAgent(random_net(TABLES[2])), nodes=8, speed=1)


def test_its_name_is_its_spec(tmp_path):
    random_net(TABLES[2]).save(tmp_path / "net.safetensors")
    for spec in (
        "zero-search",
        "zero-search:nodes=50,k=4",
        f"zero-search:ms=5,value=[net:path={tmp_path}/net.safetensors]",
    ):
        assert make(spec).name == spec
