"""The tree of `search`: sums of visits and shares, priors, restocks, memory, and that each node maximises for its own mover."""

import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.scripted import evaluator as scripted_evaluator
from bombay_agents.scripted import planner
from bombay_agents.search import endgame, evaluation, rollouts, tree
from bombay_agents.search.proposals import MAX_PROPOSALS
from bombay_env import engine
from helpers.position import last_turn, official, position, variant
from helpers.searches import SLOW, midgame, planner_evaluator, short_game, without_seeds


def searched(game, states, size, rounds=0, params=None, restock=True, ranker=None):
    """A search of at most `size` nodes, started at a state."""
    evaluator = planner_evaluator(game)
    workspace = rollouts.new_workspace(game, planner.new_workspace(game), evaluator, rounds, restock)
    search = tree.Search(tree.new_tree(game, size), workspace, params or tree.SearchParams(), ranker)
    tree.init(without_seeds(states)[0], game.tables[0], search)
    return search


def run(game, search, key, each):
    """Run `each` simulations along every edge of the root; returns their number."""
    edges = np.arange(search.tree.num_edges[0])
    return tree.run(game.tables[0], search, np.uint64(key), edges, each)


def averages(found, n):
    return found.total[0, :n] / (found.visits[0] - 1)


def best_edge(found):
    edges = np.arange(found.num_edges[0])
    return found.first_edge[0] + int(np.argmax(tree.root_means(found, edges)))


def edges_of(found, node):
    return range(found.first_edge[node], found.first_edge[node] + found.num_edges[node])


def expanded(found):
    return [node for node in range(found.count[0]) if found.first_edge[node] != tree.NEW]


def assert_sound(game, found):
    n = game.num_players
    count = found.count[0]
    visits = found.visits[:count]
    assert (visits[1:] > 0).all()
    seen = visits - (np.arange(count) == 0)  # the root's own visit has no shares
    assert found.total[:count, :n].sum(axis=1) == pytest.approx(seen)
    assert (found.total[:count] >= 0).all()
    for node in expanded(found):
        edges = edges_of(found, node)
        assert 0 < len(edges) <= MAX_PROPOSALS
        assert visits[node] - 1 == sum(found.edge_visits[edge] for edge in edges)
        assert sum(found.edge_prior[edge] for edge in edges) == pytest.approx(1, rel=1e-5)
        assert all(0 <= found.edge_total[edge] <= found.edge_visits[edge] + 1e-9 for edge in edges)
    records = found.states[:count]
    assert len({record.tobytes() for record in records}) == count
    assert (records["seed"] == 0).all()
    assert (records["current_player"] == found.mover[:count]).all()


@pytest.mark.parametrize("n", [3] if SLOW else [2, 3, 4, 5])
def test_visits_and_shares_add_up(n):
    game = short_game(n)
    search = searched(game, midgame(game), 400, rounds=0)
    each = 1 if SLOW else 25
    simulations = each * int(search.tree.num_edges[0])
    assert run(game, search, 1, each) == simulations
    assert search.tree.visits[0] == 1 + simulations
    assert averages(search.tree, n).sum() == pytest.approx(1)
    assert_sound(game, search.tree)
    assert {int(search.tree.edge_visits[edge]) for edge in edges_of(search.tree, 0)} == {each}


def puct(found, params, node):
    """The edge to follow from a node, by the formula: mean share of its mover, and a bonus for the prior."""
    visits, mover = float(found.visits[node]), found.mover[node]
    edges = np.array(edges_of(found, node)[: 2 + int(params.widening * visits**0.5)])
    times, total = found.edge_visits[edges], found.edge_total[edges]
    mean = np.where(times > 0, total / np.maximum(times, 1), found.total[node, mover] / visits)
    return edges[np.argmax(mean + params.exploration * visits**0.5 * found.edge_prior[edges] / (1 + times))]


def test_the_edge_followed_is_the_best_for_its_mover_by_mean_share_and_bonus():
    game, params = short_game(3), tree.SearchParams(exploration=0.3, prior_rupees=5.0)
    search = searched(game, midgame(game), 400, params=params)
    run(game, search, 1, 8 if SLOW else 25)
    found = search.tree
    nodes = [node for node in expanded(found) if found.visits[node] > 1]
    assert len({int(found.mover[node]) for node in nodes}) > 1
    rng, count, edges = np.random.default_rng(1), found.count[0], found.count[1]
    for _ in range(20):
        followed = [tree.choose_edge(found, params, node) for node in nodes]
        assert followed == [puct(found, params, node) for node in nodes]
        found.visits[:count] = rng.integers(1, 80, count)
        found.total[:count] = found.visits[:count, None] * rng.random((count, 5))
        found.edge_visits[:edges], found.edge_prior[:edges] = rng.integers(0, 4, edges), rng.random(edges)
        found.edge_total[:edges] = found.edge_visits[:edges] * rng.random(edges)


def test_an_edge_adds_up_the_shares_of_the_seat_that_moves_there():
    """The nodes of a path, all their seats' shares, and each edge its own mover's."""
    game = short_game(3)
    found = searched(game, midgame(game), 20).tree
    found.mover[:3], found.path[:3] = [2, 0, 1], [[0, 5], [1, 6], [2, tree.NEW]]
    before = [array.copy() for array in (found.visits, found.total, found.edge_visits, found.edge_total)]
    tree.back_up(game.tables[0], found, 2, np.array([0.5, 0.2, 0.3, 0.0, 0.0]))
    after = (found.visits, found.total, found.edge_visits, found.edge_total)
    visits, total, edge_visits, edge_total = (new - old for new, old in zip(after, before, strict=True))
    assert visits[:4].tolist() == [1, 1, 1, 0]
    assert total[:3, :3] == pytest.approx(np.tile([0.5, 0.2, 0.3], (3, 1)))
    assert edge_visits[5:7].tolist() == [1, 1]
    assert edge_visits.sum() == 2
    assert edge_total[5:7] == pytest.approx([0.3, 0.5])


def test_a_ranker_sorts_the_same_outcomes_by_their_movers_share():
    game, shares, moved = short_game(3), np.zeros(5), 0
    value = planner_evaluator(game)
    for number in (1, 4) if SLOW else range(10):
        states = midgame(game, number)
        mover = int(states["current_player"][0])
        plain = searched(game, states, 2).tree
        search = searched(game, states, 20, ranker=value)
        ranked, edges = search.tree, edges_of(search.tree, 0)
        found, worths = [], []
        for edge in edges:
            due = np.int64(ranked.edge_due[edge])
            evaluation.evaluate(ranked.edge_states[edge], due, game.tables[0], value, shares)
            found.append(shares[mover])
            # The mover's worth, less the softmax of the others'.
            scripted = value.scripted
            turns_left = scripted_evaluator.value_seats(ranked.edge_states[edge], game.tables[0], scripted)
            heat = scripted.temperature + scripted.temperature_per_turn * turns_left
            others = [scripted.worths[seat] / heat for seat in range(3) if seat != mover]
            worths.append(scripted.worths[mover] - heat * np.logaddexp(*others))
        assert found == sorted(found, reverse=True)
        rupees = tree.SearchParams().prior_rupees * np.log(ranked.edge_prior[: len(edges)] / ranked.edge_prior[0])
        assert rupees == pytest.approx(np.array(worths) - worths[0], abs=1e-3)
        prior = ranked.edge_prior[: len(edges)].tolist()
        assert prior == sorted(prior, reverse=True)
        order = [[state.tobytes() for state in found.edge_states[: len(edges)]] for found in (plain, ranked)]
        assert sorted(order[0]) == sorted(order[1])
        moved += order[0] != order[1]
        assert run(game, search, 1, 1) == len(edges)
    assert SLOW or moved


def test_a_full_tree_stops_growing():
    game = short_game()
    search = searched(game, midgame(game), 4)
    assert 3 <= run(game, search, 1, 50) < 50 * search.tree.num_edges[0]
    assert search.tree.count[0] == 4
    assert search.tree.count[1] <= len(search.tree.edge_visits)
    assert_sound(game, search.tree)
    assert run(game, search, 1, 50) == 0


def test_a_new_search_in_the_same_memory_starts_from_nothing():
    game = short_game()
    states = midgame(game), midgame(game, 2)
    search = searched(game, states[0], 30)
    steps = 1 if SLOW else 2
    run(game, search, 1, steps)
    for _ in range(2):  # the second time at positions that the memory still holds
        tree.init(without_seeds(states[1])[0], game.tables[0], search)
        fresh = searched(game, states[1], 30)
        for found in (search, fresh):
            run(game, found, 2, steps)
        count = search.tree.count[0]
        assert count == fresh.tree.count[0]
        assert search.tree.visits[:count].tolist() == fresh.tree.visits[:count].tolist()


def test_positions_that_several_paths_reach_are_one_node():
    #  A ── E1 ── G1 ── …: with one action a turn a seat can reach the same site by H1 or by E1, so that after two rounds
    #  there are fewer positions than paths.
    game = variant(2, actions_per_turn=1)
    wide = tree.SearchParams()._replace(widening=1e9, exploration=100.0, prior_rupees=1e9)
    search = searched(game, position(game), 3000, params=wide)
    run(game, search, 1, 1 if SLOW else 125)
    found = search.tree
    parents = [
        int(found.edge_child[edge])
        for node in expanded(found)
        for edge in edges_of(found, node)
        if found.edge_visits[edge]
    ]
    assert_sound(game, found)
    assert set(parents) == set(range(1, found.count[0]))
    if not SLOW:
        assert len(parents) > found.count[0] - 1


def test_restocks_in_the_tree_depend_on_the_searchs_key_only():
    """Where a set ends, an edge has several children. The search's key draws them, and not the seed of the state."""
    game = official(2) if not SLOW else short_game()
    states = last_turn(game, set=0, at="Bombay", actions_left=1)
    found = []
    for key, seed in ((1, 5), (1, 6), (2, 5)):
        search = searched(game, game.scrub(states, [seed]), 100)
        edge, children = 0, []
        assert search.tree.edge_due[edge] == turns.RESTOCK_DUE
        for visit in range(3 * int(tree.RESTOCKS)):
            search.tree.edge_visits[edge] = visit
            node = tree.child_of(game.tables[0], search.tree, edge, np.uint64(key))
            children.append(search.tree.states[node].tobytes())
        assert 2 < len(set(children)) <= tree.RESTOCKS
        assert children[: int(tree.RESTOCKS)] == children[int(tree.RESTOCKS) : 2 * int(tree.RESTOCKS)]
        found.append(children)
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert {search.tree.states[node]["market"].sum() for node in range(1, search.tree.count[0])} == {9}


@pytest.mark.parametrize("left", [1] if SLOW else [1, 2])
def test_every_node_of_a_tree_chooses_for_its_own_mover(left):
    """The search finds best play in the two endgames of `test_endgame.py` that a greedy player loses."""
    game = official(2)
    if left == 1:
        states = last_turn(at="Bombay", basket=["blue", "orange"], actions_left=1, rupees=[10, 10], clients=[0, 1])
    else:
        elephants, baskets = {0: "Bombay", 1: "Bombay"}, {0: ["purple"], 1: ["blue", "purple"]}
        facts = {"elephants": elephants, "baskets": baskets, "actions_left": 1, "rupees": [2, 5]}
        states = position(game, set=3, turn=3, player=1, **facts)
    search = searched(game, states, 2000)
    run(game, search, 1, 16 if SLOW else 150)
    best = search.tree.edge_states[best_edge(search.tree)]
    solution = endgame.solve(game, states)
    goal = without_seeds(states)
    for action in solution.actions:
        engine.apply(goal[0], game.tables[0], action)
    assert best.tobytes() == goal[0].tobytes()
    mover = int(states["current_player"][0])
    share = tree.root_means(search.tree, np.array([best_edge(search.tree) - search.tree.first_edge[0]]))[0]
    assert share == pytest.approx(solution.win_share[mover], abs=0.3)


@pytest.mark.skipif(SLOW, reason="hundreds of turns, tens of milliseconds each with the compiler off")
def test_a_reply_maximises_for_the_seat_that_replies():
    """Seat 0 wins whatever seat 1 does, but only with the right reply; a tree that chose replies for seat 1 would find no win."""
    game = official(2)
    elephants, baskets = {0: "Bombay", 1: "Bombay"}, {0: ["purple"], 1: ["blue", "purple"]}
    facts = {"elephants": elephants, "baskets": baskets, "actions_left": 1, "rupees": [4, 5]}
    states = position(game, set=3, turn=3, player=1, **facts)
    assert endgame.solve(game, states).win_share.tolist() == [1, 0]
    search = searched(game, states, 2000)
    run(game, search, 1, 150)
    answers = [node for node in expanded(search.tree) if node > 0 and search.tree.visits[node] > 50]
    worst = []
    for node in answers:
        edges = edges_of(search.tree, node)
        own = [game.results(search.tree.edge_states[edge : edge + 1])["win_share"][0, 0] for edge in edges]
        assert own[np.argmax(search.tree.edge_visits[edges])] == 1
        worst.append(min(own))
    assert min(worst) < 1  # the reply matters somewhere
    assert averages(search.tree, 2)[0] > 0.7


def test_a_smaller_prior_prefers_the_turns_that_the_planner_ranks_high():
    agent, game, first = make("search:nodes=5,prior=0.1"), short_game(), []
    assert (agent.params.prior_rupees, agent.name) == (0.1, "search:nodes=5,prior=0.1")
    for params in (make("search").params, agent.params):
        found = searched(game, midgame(game), 2, params=params).tree
        shares = found.edge_prior[: found.num_edges[0]]
        assert shares.sum() == pytest.approx(1, abs=1e-5)
        first.append(shares[0])
    assert first[0] < first[1]


def test_a_tree_without_restocks_stays_in_the_set():
    game = short_game()
    states = midgame(game, 3 if SLOW else 7)  # the last turn of a set
    for restock in (True, False):
        search = searched(game, states, 60, restock=restock)
        assert run(game, search, 3, 4) == 4 * search.tree.num_edges[0]
        found = search.tree
        sets = set(found.states["set"][: found.count[0]].tolist())
        assert sets == ({0, 1} if restock else {0})
        assert found.visits[0] == 1 + 4 * found.num_edges[0]
        assert found.edge_visits[: found.num_edges[0]].tolist() == [4] * found.num_edges[0]
        assert averages(found, 2).sum() == pytest.approx(1)
