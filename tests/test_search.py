"""`flat-mc` and `search`: options, plans and budgets, what their trees add up to, and that they see no seed."""

import itertools
import types

import numba
import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.scripted import greedy, planner
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_agents.search import agent as search_agent
from bombay_agents.search import endgame, evaluation, flat_mc, halving, rollouts, tree
from bombay_agents.search.agent import SearchAgent
from bombay_agents.search.flat_mc import FlatMonteCarloAgent
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game, Rules, batch, chance, engine
from bombay_training.evaluation.audit import audit
from helpers.position import last_turn, official, play, position, variant
from helpers.variants import random_board

SLOW = numba.config.DISABLE_JIT  # a turn takes some 50 ms to value then
SHORT = {"actions_per_turn": 1, "sets": 2, "turns_per_set": 2}  # turns of a handful of outcomes
NODES = 6 if SLOW else 40
DUE = np.int64(turns.TURN_OVER)  # at positions that are valued
SPECS = [f"flat-mc:rollouts={NODES},k=3,rounds=1", f"search:nodes={NODES}"]
SPECS += [f"{spec},restock=false" for spec in SPECS]
both = pytest.mark.parametrize("spec", SPECS)


def table(n=2):
    """A game to think about: the printed one, with the compiler off one of short turns."""
    return variant(n, **SHORT) if SLOW else official(n)


def middle(game, turns_played=5):
    """A position after some planned turns, (1,)."""
    states, agent = game.new_states([7]), planner.make_planner_v1()
    for _ in range(turns_played):
        states = after_turn(game, states, agent)
    return states


def zeroed(states):
    """A copy as agents think about it, (1,) plain records without seeds."""
    records = np.array(states).view(states.dtype, np.ndarray)
    records["seed"] = 0
    return records


def after_turn(game, states, agent, rng=None):
    """The state after the agent's turn, decision by decision."""
    after = states.copy()
    left = endgame.turns_left(states[0], game.tables[0])
    while endgame.turns_left(after[0], game.tables[0]) == left:
        actions = agent.act(game, after, np.random.default_rng(0) if rng is None else rng)
        assert game.legal_actions(after)[0, actions[0]]
        game.step(after, actions)
    return after


# --- Options ---


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("search:nodes=0", r"search: nodes is 0; it must be from 1 to \d+"),
        ("search:nodes=1000000001", r"search: nodes is 1000000001; it must be from 1 to \d+"),
        ("search:ms=0", r"search: ms is 0\.0; it must be above 0, up to \d+"),
        ("search:rounds=-1", r"search: rounds is -1; it must be from 0 to \d+"),
        ("search:ms=5,nodes=5", r"search takes ms or nodes, not both"),
        ("search:nodes=many", r".*'nodes'.*whole number.*"),
        ("search:prior=0", r"search: prior is 0\.0; it must be from 0\.01 to 100"),
        ("search:prior=nan", r"search: prior is nan; it must be from 0\.01 to 100"),
        ("search:rollouts=5", r".*no option 'rollouts'; its options are ms, nodes.*"),
        ("flat-mc:rollouts=0", r"flat-mc: rollouts is 0; it must be from 1 to \d+"),
        ("flat-mc:ms=-1", r"flat-mc: ms is -1\.0; it must be from [\d.]+ to \d+"),
        ("flat-mc:k=1", r"flat-mc: k is 1; it must be from 2 to \d+"),
        ("flat-mc:k=1000", r"flat-mc: k is 1000; it must be from 2 to \d+"),
        ("flat-mc:rounds=-1", r"flat-mc: rounds is -1; it must be from 0 to \d+"),
        ("flat-mc:ms=5,rollouts=5", r"flat-mc takes ms or rollouts, not both"),
        ("flat-mc:policy=best", r"flat-mc: policy is 'best'; it must be planner or greedy"),
        ("search:ranker=[random]", r"search: 'random' values no positions; take one that does, such as planner"),
    ],
)
def test_options_out_of_range_are_refused_in_one_line(spec, reason):
    with pytest.raises(ValueError, match=f"^{reason}$") as caught:
        make(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "spec", ["search", "search:ms=5", "search:nodes=7", "flat-mc", "flat-mc:ms=5", "flat-mc:rollouts=7"]
)
def test_a_budget_is_either_of_time_or_of_work(spec):
    agent = make(spec)
    work = getattr(agent, "nodes", None) or getattr(agent, "rollouts", None)
    assert (work is None) == (agent.ms is not None)
    assert agent.name.startswith(spec)


def test_a_smaller_prior_looks_less_at_what_the_planner_ranks_low():
    agent, game, first = make("search:nodes=5,prior=0.1"), table(), []
    assert (agent.params.prior_rupees, agent.name) == (0.1, "search:nodes=5,prior=0.1")
    for params in (make("search").params, agent.params):
        grown = planted(game, middle(game), 2, params=params).tree
        shares = grown.edge_prior[: grown.num_edges[0]]
        assert shares.sum() == pytest.approx(1, abs=1e-5)
        first.append(shares[0])
    assert first[0] < first[1]


# --- Any game, no look at the seed ---


def audited_games():
    board = random_board(3)
    variants = [Game(Rules(3, sets=2, turns_per_set=2, basket=3, toll=2, fame=(0, 2, 5)), board)]
    return [official(n) for n in (2, 3, 4, 5)] + variants


@both
def test_with_a_count_budget_only_the_public_state_and_the_generator_matter(spec):
    games = [table()] if SLOW else audited_games()
    report = audit(lambda: make(spec), games, 2 if SLOW else 12 * len(games))
    assert str(report) == f"passed, asked in {report.states} states"


@pytest.mark.parametrize(
    "spec", ["flat-mc:rollouts=12,k=3,rounds=1,policy=greedy", "search:nodes=12,rounds=0,ranker=[planner]"]
)
def test_other_policies_and_rankers_see_no_more(spec):
    assert make(spec).name == spec
    report = audit(lambda: make(spec), [table(3)], 2 if SLOW else 20)
    assert str(report) == f"passed, asked in {report.states} states"


@both
def test_a_batch_is_answered_state_by_state(spec):
    game = table(3)
    states = np.concatenate([middle(game, number) for number in ((1, 2) if SLOW else range(1, 9))])
    actions = make(spec).act(game, states, np.random.default_rng(4))
    keys = np.random.default_rng(4).integers(1 << 64, size=len(states), dtype=np.uint64)
    agent = make(spec)
    for lane, key in enumerate(keys):
        same = types.SimpleNamespace(integers=lambda *bounds, key=key, **shape: np.array([key]))
        assert agent.act(game, states[lane : lane + 1], same)[0] == actions[lane]
    assert make(spec).act(game, states[:0], np.random.default_rng(4)).shape == (0,)


# --- Plans ---


class Counted(TurnAgent):
    """Plays for the last outcome of a turn, the longest way, and counts how often it thinks."""

    name = "counted"
    thought = 0

    def prepare(self, game):
        self.turn = turns.new_workspace(game)
        return self.turn

    def choose(self, game, state, key):
        assert state["seed"] == 0
        self.thought += 1
        count = turns.enumerate_turn(state, game.tables[0], self.turn)
        over = np.flatnonzero(self.turn.due[:count])
        return int(over[-1])


def test_a_plan_is_thought_out_once_and_carried_out():
    game = official(2)
    states = position(game, at="G4", basket=["blue", "yellow"])
    agent, rng = Counted(), np.random.default_rng(0)
    goal = turns.turns(game, states)[-1]
    assert len(goal.actions) > 2
    for number, action in enumerate(goal.actions):
        scrubbed = game.scrub(states, [number + 100])
        assert agent.act(game, scrubbed, rng)[0] == action
        assert agent.thought == 1
        states = play(game, states, game.action_name(action))
    agent.act(game, states, rng)  # a state to which no plan leads
    assert agent.thought == 2


def test_a_plan_for_one_game_is_none_for_another():
    games, agent, rng = (official(2), variant(2, toll=2)), Counted(), np.random.default_rng(0)
    states = position(games[0], at="G4", basket=["blue", "yellow"])
    first = agent.act(games[0], states, rng)[0]
    after = play(games[0], states, games[0].action_name(first))
    agent.act(games[1], after, rng)
    assert agent.thought == 2


def test_only_the_latest_plans_are_kept(monkeypatch):
    monkeypatch.setattr("bombay_agents.turns.agent.MAX_KEPT", 3)
    game, agent = official(2), Counted()
    for site in ("A", "E1", "Bombay", "G2"):
        agent.act(game, position(game, at=site), np.random.default_rng(0))
        assert len(agent._kept) <= 3


@both
def test_agents_play_whole_turns_as_planned(spec):
    game = table(2)
    states, agent = middle(game, 4 if SLOW else 6), make(spec)
    chosen, inner = [], agent.choose

    def choose(game, state, key):
        node = inner(game, state, key)
        chosen.append(agent._turn.states[node].copy())
        return node

    agent.choose = choose
    after = after_turn(game, states, agent)
    assert len(chosen) == 1
    assert zeroed(after).tobytes() == chosen[0].tobytes()


# --- Budgets ---


@both
def test_milliseconds_are_kept(spec, monkeypatch):
    """A clock that goes on by one millisecond a look: the number of looks is that of the budget."""
    looks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(looks) / 1000)
    monkeypatch.setattr(search_agent, "time", clock)
    monkeypatch.setattr(halving, "time", clock)
    monkeypatch.setattr(halving, "SLICE", 1)
    game = table()
    agent = FlatMonteCarloAgent(ms=6, k=2, rounds=1) if spec.startswith("flat") else SearchAgent(ms=6, rounds=0)
    agent.act(game, middle(game, 3), np.random.default_rng(0))
    assert 6 <= next(looks) <= 9


@pytest.mark.parametrize(("seconds", "cost"), [(1.0, 0.001), (1.0, 0.03), (0.01, 0.01)])
def test_halving_goes_over_its_time_by_one_try_of_each_at_most(seconds, cost, monkeypatch):
    spent, tried = [0.0], np.zeros(8, np.int64)
    monkeypatch.setattr(halving, "time", types.SimpleNamespace(perf_counter=lambda: spent[0]))

    def play(candidates, each):
        spent[0] += cost * each * len(candidates)
        tried[candidates] += each
        return each * len(candidates)

    best = halving.best_by_halving(8, play, lambda candidates: -abs(candidates - 5.0), seconds=seconds)
    assert best == 5
    assert min(seconds, 8 * cost) <= spent[0] <= seconds + 8 * cost
    assert (tried >= 1).all()
    assert tried[5] == tried.max() > tried.min() or seconds < 8 * cost


def test_a_search_by_the_clock_ends_when_its_memory_is_full(monkeypatch):
    looks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(looks) / 1000)
    monkeypatch.setattr(search_agent, "time", clock)
    monkeypatch.setattr(halving, "time", clock)
    monkeypatch.setattr(search_agent, "NODES_PER_MS", 0)
    game = table()
    SearchAgent(ms=1000, rounds=0).act(game, middle(game, 3), np.random.default_rng(0))
    assert next(looks) < 30


def trials_of(spec_options, states, game, monkeypatch):
    """A flat-mc agent after one decision, and the rollouts it played: candidate and number of each."""
    agent = FlatMonteCarloAgent(**spec_options)
    tried, inner = [], flat_mc.try_all

    def try_all(tables, trials, candidates, key, each):
        for candidate in candidates:
            done = int(trials.tried[candidate])
            tried.extend((int(candidate), number) for number in range(done, done + each))
        return inner(tables, trials, candidates, key, each)

    monkeypatch.setattr(flat_mc, "try_all", try_all)
    agent.act(game, states, np.random.default_rng(0))
    return agent, tried


@pytest.mark.parametrize(("rollouts", "k"), [(12, 3)] if SLOW else [(12, 3), (150, 8), (96, 5), (300, 12)])
def test_sequential_halving_spends_what_it_has(rollouts, k, monkeypatch):
    game = table()
    agent, tried = trials_of({"rollouts": rollouts, "k": k, "rounds": 1}, middle(game), game, monkeypatch)
    assert 0.8 * rollouts <= len(tried) <= rollouts
    counts = np.bincount([candidate for candidate, _ in tried], minlength=k)
    assert len(counts) == k
    assert agent.trials.tried[:k].tolist() == counts.tolist()
    stages = int(np.ceil(np.log2(k)))
    assert len(set(counts)) == stages  # those that drop out together have had as many
    assert (np.sort(counts)[::-1][:2] == counts.max()).all()  # the last two had the same
    # Of the two that are left to the end, the better one is played for.
    state = zeroed(middle(game))[0]
    chosen = agent.choose(game, state, np.uint64(9))
    means, tried = agent.trials.total[:k, state["current_player"]] / agent.trials.tried[:k], agent.trials.tried[:k]
    goal = agent.turn.states[chosen].tobytes()
    (place,) = [place for place in range(k) if agent.trials.outcomes[place].tobytes() == goal]
    assert means[place] == means[tried == tried.max()].max()


def test_candidates_are_tried_against_the_same_luck():
    """Twice the same candidate: the mover's shares of the same games, rollout by rollout."""
    game = table()
    state = zeroed(middle(game, 1))[0]
    agent = FlatMonteCarloAgent(rollouts=10, k=2, rounds=1)
    agent.prepare(game)
    trials, mover = agent.trials, int(state["current_player"])
    assert mover == 1
    assert flat_mc.propose(state, game.tables[0], trials, 2) == 2
    trials.outcomes[1], trials.due[1] = trials.outcomes[0], trials.due[0]
    rounds = 2 if SLOW else 5
    for _ in range(rounds):
        flat_mc.try_all(game.tables[0], trials, np.arange(2), np.uint64(5), 1)
    expected = 0.0
    for number in range(rounds):
        trials.playout.state[0] = trials.outcomes[0]
        luck = chance.random_word(np.uint64(5), flat_mc.LUCK, np.uint64(number))
        rollouts.play_on(game.tables[0], trials.playout, np.uint64(luck), np.int8(turns.TURN_OVER))
        expected += trials.playout.shares[mover]
    assert trials.total[:2, mover].tolist() == pytest.approx([expected, expected])
    assert trials.tried[:2].tolist() == [rounds, rounds]


# --- What positions are worth ---


@pytest.mark.parametrize("n", [2, 5] if SLOW else [2, 3, 4, 5])
def test_shares_of_a_position_are_a_distribution_and_at_the_end_those_of_the_result(n):
    game = variant(n, **SHORT)
    agent = planner.make_planner_v1()
    evaluator = planner.make_planner_v1().evaluator(game)
    shares = np.full(5, 7.0)
    states = game.new_states([n])
    while not game.is_terminal(states)[0]:
        evaluation.evaluate(states[0], DUE, game.tables[0], evaluator, shares)
        assert shares[:n].sum() == pytest.approx(1)
        assert shares[:n].min() > 0
        assert shares[n:].tolist() == [7.0] * (5 - n)
        states = after_turn(game, states, agent)
    evaluation.evaluate(states[0], DUE, game.tables[0], evaluator, shares)
    assert shares[:n].tolist() == game.results(states)["win_share"][0].tolist()


def test_more_rupees_are_worth_more_and_the_more_so_the_later():
    game = official(3)
    evaluator, worth = planner.make_planner_v1().evaluator(game), []
    for set, rupees in ((0, [2, 2, 2]), (0, [2, 9, 2]), (2, [2, 9, 2])):
        shares = np.zeros(5)
        state = position(game, set=set, player=set, turn=4, rupees=rupees)[0]
        evaluation.evaluate(state, DUE, game.tables[0], evaluator, shares)
        worth.append(shares[1])
    assert worth == sorted(worth)
    assert worth[2] > worth[0] + 0.1


def test_playing_on_ends_with_the_game_and_is_keyed():
    game = variant(2, **SHORT)
    playout = rollouts.new_playout(game, planner.new_workspace(game), planner.make_planner_v1().evaluator(game), 100)
    start = game.new_states([3])
    found = []
    for luck in (11, 11, *range(12, 14 if SLOW else 30)):
        playout.state[0] = start[0]
        rollouts.play_on(game.tables[0], playout, np.uint64(luck), np.int8(turns.TURN_OVER))
        assert playout.state["current_player"][0] == -1
        assert playout.shares[:2].sum() == pytest.approx(1)
        found.append(playout.state[0].tobytes())
    assert found[0] == found[1]
    assert len(set(found)) > 1


def test_playing_on_without_restocks_ends_where_the_set_does():
    game = variant(2, **SHORT)
    evaluator = planner.make_planner_v1().evaluator(game)
    playout = rollouts.new_playout(game, planner.new_workspace(game), evaluator, 100, restock=False)
    playout.state[0] = game.new_states([3])[0]
    rollouts.play_on(game.tables[0], playout, np.uint64(1), np.int8(turns.TURN_OVER))
    ended, shares = playout.state[0].copy(), playout.shares.copy()
    assert ended["set"] == 1
    assert ended["turn"] == 0
    assert not ended["market"].any(), "nothing was drawn"
    rollouts.play_on(game.tables[0], playout, np.uint64(2), np.int8(turns.RESTOCK_DUE))
    assert playout.state[0]["set"] == 1
    assert not playout.state[0]["market"].any()
    assert (playout.shares == shares).all(), "valued as it is"
    playout.state[0] = ended
    through = playout._replace(restock=True)
    rollouts.play_on(game.tables[0], through, np.uint64(2), np.int8(turns.RESTOCK_DUE))
    assert through.state["current_player"][0] == -1


def test_a_tree_without_restocks_has_no_position_of_the_next_set():
    game = table()
    states = middle(game, 3 if SLOW else 7)  # the last turn of a set
    for restock in (True, False):
        made = planted(game, states, 60, restock=restock)
        assert grow(game, made, 3, 4) == 4 * made.tree.num_edges[0]
        grown = made.tree
        sets = set(grown.states["set"][: grown.count[0]].tolist())
        assert sets == ({0, 1} if restock else {0})
        assert grown.visits[0] == 1 + 4 * grown.num_edges[0]
        assert grown.edge_visits[: grown.num_edges[0]].tolist() == [4] * grown.num_edges[0]
        assert averages(grown, 2).sum() == pytest.approx(1)


def test_greedy_playouts_take_the_turns_that_greedy_takes():
    game, agent = table(), GreedyAgent()
    playout = rollouts.new_playout(game, planner.new_workspace(game), agents_value(game), 1, policy="greedy")
    restocks = several = 0
    for number in (0, 3) if SLOW else range(12):
        start = zeroed(middle(game, number))
        drawn = set()
        for luck in range(4 if SLOW else 40):
            played = start.copy()
            due = greedy.play_turn(played, game.tables[0], playout.greedy, np.uint64(luck), 0)
            assert due in (turns.TURN_OVER, turns.RESTOCK_DUE)
            restocks += due == turns.RESTOCK_DUE
            if due == turns.RESTOCK_DUE:
                batch.restock(played[0], game.tables[0], np.zeros(4, np.int64))
            drawn.add(played.tobytes())
        taken = {
            zeroed(after_turn(game, start, agent, np.random.default_rng(seed)))[0].tobytes()
            for seed in range(8 if SLOW else 120)
        }
        assert drawn <= taken
        several += len(drawn) > 1
    assert SLOW or (restocks and several)


def test_playing_on_by_greedy_players_ends_with_the_game_and_is_keyed():
    game, found = variant(2, **SHORT), []
    playout = rollouts.new_playout(game, planner.new_workspace(game), agents_value(game), 100, policy="greedy")
    for luck in (11, 11, *range(12, 14 if SLOW else 30)):
        playout.state[0] = game.new_states([3])[0]
        assert rollouts.play_on(game.tables[0], playout, np.uint64(luck), np.int8(turns.TURN_OVER))
        assert playout.state["current_player"][0] == -1
        found.append(playout.state[0].tobytes())
    assert found[0] == found[1]
    assert len(set(found)) > 1


def test_a_turn_without_room_further_on_is_told(monkeypatch):
    if SLOW:
        monkeypatch.setattr(turns, "MAX_NODES", 100)
    game = variant(4, actions_per_turn=9, buys_per_turn=9, basket=9, market_rupees=(0, 0, 0))
    states, workspace = position(game, actions_left=1, elephants={1: "E3"}), turns.new_workspace(game)
    assert turns.enumerate_turn(zeroed(states)[0], game.tables[0], workspace) != turns.TOO_MANY
    for agent in (FlatMonteCarloAgent(rollouts=24, rounds=1), SearchAgent(nodes=60, rounds=0)):
        with pytest.raises(OverflowError, match="too many to plan it as a whole"):
            agent.act(game, states, np.random.default_rng(0))


def test_a_cold_playout_takes_the_best_turn_and_a_hot_one_any():
    game = official(2)
    workspace = planner.new_workspace(game)
    count = planner.value_turn(middle(game, 2)[0], game.tables[0], planner.WEIGHTS_V1[2], workspace)
    over = np.flatnonzero(workspace.turn.due[:count])
    drawn = {}
    for temperature in (1e-9, 1e9):
        drawn[temperature] = [
            rollouts.draw_outcome(workspace, count, temperature, np.uint64(3), turn) for turn in range(2_000)
        ]
    assert len({rollouts.draw_outcome(workspace, count, 1e9, np.uint64(luck), 0) for luck in range(20)}) > 5
    best = workspace.values[over].max()
    assert (workspace.values[drawn[1e-9]] == best).all()
    assert set(drawn[1e9]) == set(over)


# --- The tree ---


def planted(game, states, size, rounds=0, params=None, restock=True, ranker=None):
    """A tree of `size` nodes at most, begun at a state."""
    evaluator = planner.make_planner_v1().evaluator(game)
    playout = rollouts.new_playout(game, planner.new_workspace(game), evaluator, rounds, restock)
    made = tree.Search(tree.new_tree(game, size), playout, params or tree.SearchParams(), ranker)
    tree.plant(zeroed(states)[0], game.tables[0], made)
    return made


def agents_value(game):
    """The planner's value, as searches take it."""
    return planner.make_planner_v1().evaluator(game)


def grow(game, made, key, each):
    """Walk `each` times along every edge of the root; how many walks that were."""
    edges = np.arange(made.tree.num_edges[0])
    return tree.grow(game.tables[0], made, np.uint64(key), edges, each)


def averages(grown, n):
    return grown.total[0, :n] / (grown.visits[0] - 1)


def best_edge(grown):
    edges = np.arange(grown.num_edges[0])
    return grown.first_edge[0] + int(np.argmax(tree.root_averages(grown, edges)))


def edges_of(grown, node):
    return range(grown.first_edge[node], grown.first_edge[node] + grown.num_edges[node])


def laid_out(grown):
    return [node for node in range(grown.count[0]) if grown.first_edge[node] != tree.NEW]


def assert_sound(game, grown):
    n = game.num_players
    count = grown.count[0]
    visits = grown.visits[:count]
    assert (visits[1:] > 0).all()
    seen = visits - (np.arange(count) == 0)  # nothing was found on the root's own visit
    assert grown.total[:count, :n].sum(axis=1) == pytest.approx(seen)
    assert (grown.total[:count] >= 0).all()
    for node in laid_out(grown):
        edges = edges_of(grown, node)
        assert 0 < len(edges) <= tree.EDGES_PER_NODE
        assert visits[node] - 1 == sum(grown.edge_visits[edge] for edge in edges)
        assert sum(grown.edge_prior[edge] for edge in edges) == pytest.approx(1, rel=1e-5)
        assert all(0 <= grown.edge_total[edge] <= grown.edge_visits[edge] + 1e-9 for edge in edges)
    records = grown.states[:count]
    assert len({record.tobytes() for record in records}) == count
    assert (records["seed"] == 0).all()
    assert (records["current_player"] == grown.mover[:count]).all()


@pytest.mark.parametrize("n", [3] if SLOW else [2, 3, 4, 5])
def test_a_trees_visits_and_shares_add_up(n):
    game = table(n)
    made = planted(game, middle(game), 400, rounds=0)
    each = 1 if SLOW else 25
    walks = each * int(made.tree.num_edges[0])
    assert grow(game, made, 1, each) == walks
    assert made.tree.visits[0] == 1 + walks
    assert averages(made.tree, n).sum() == pytest.approx(1)
    assert_sound(game, made.tree)
    assert {int(made.tree.edge_visits[edge]) for edge in edges_of(made.tree, 0)} == {each}


def test_a_ranker_orders_the_same_outcomes_by_what_it_gives_their_mover():
    game, shares, moved = table(3), np.zeros(5), 0
    value = agents_value(game)
    for number in (1, 4) if SLOW else range(10):
        states = middle(game, number)
        mover = int(states["current_player"][0])
        plain = planted(game, states, 2).tree
        made = planted(game, states, 20, ranker=value)
        ranked, edges = made.tree, edges_of(made.tree, 0)
        found, worths = [], []
        for edge in edges:
            due = np.int64(ranked.edge_due[edge])
            evaluation.evaluate(ranked.edge_states[edge], due, game.tables[0], value, shares)
            found.append(shares[mover])
            # The mover's worth, less what the others' come to together.
            heat = value.temperature + value.temperature_per_turn * evaluation.value_seats(
                ranked.edge_states[edge], game.tables[0], value
            )
            others = [value.worths[seat] / heat for seat in range(3) if seat != mover]
            worths.append(value.worths[mover] - heat * np.logaddexp(*others))
        assert found == sorted(found, reverse=True)
        rupees = tree.SearchParams().prior_rupees * np.log(ranked.edge_prior[: len(edges)] / ranked.edge_prior[0])
        assert rupees == pytest.approx(np.array(worths) - worths[0], abs=1e-3)
        prior = ranked.edge_prior[: len(edges)].tolist()
        assert prior == sorted(prior, reverse=True)
        order = [[state.tobytes() for state in grown.edge_states[: len(edges)]] for grown in (plain, ranked)]
        assert sorted(order[0]) == sorted(order[1])
        moved += order[0] != order[1]
        assert grow(game, made, 1, 1) == len(edges)
    assert SLOW or moved


def test_a_full_tree_stops_growing():
    game = table()
    made = planted(game, middle(game), 4)
    assert 3 <= grow(game, made, 1, 50) < 50 * made.tree.num_edges[0]
    assert made.tree.count[0] == 4
    assert made.tree.count[1] <= len(made.tree.edge_visits)
    assert_sound(game, made.tree)
    assert grow(game, made, 1, 50) == 0


def test_a_tree_is_planted_anew_in_the_same_memory():
    game = table()
    states = middle(game), middle(game, 2)
    made, fresh = planted(game, states[0], 30), planted(game, states[1], 30)
    steps = 1 if SLOW else 2
    grow(game, made, 1, steps)
    tree.plant(zeroed(states[1])[0], game.tables[0], made)
    for grown in (made, fresh):
        grow(game, grown, 2, steps)
    count = made.tree.count[0]
    assert count == fresh.tree.count[0]
    assert made.tree.visits[:count].tolist() == fresh.tree.visits[:count].tolist()


def test_positions_reached_in_several_ways_are_one_node():
    #  A ── E1 ── G1 ── …: with one action a turn each seat goes its own way; seat 0 by H1 or E1 to where both lead,
    #  seat 1 likewise, so that after two rounds there are fewer positions than ways.
    game = variant(2, actions_per_turn=1)
    wide = tree.SearchParams()._replace(widening=1e9, exploration=100.0, prior_rupees=1e9)
    made = planted(game, position(game), 3000, params=wide)
    grow(game, made, 1, 1 if SLOW else 125)
    grown = made.tree
    parents = [
        int(grown.edge_child[edge])
        for node in laid_out(grown)
        for edge in edges_of(grown, node)
        if grown.edge_visits[edge]
    ]
    assert_sound(game, grown)
    assert set(parents) == set(range(1, grown.count[0]))
    if not SLOW:
        assert len(parents) > grown.count[0] - 1


def test_a_restock_in_the_tree_comes_from_the_searchs_key_alone():
    """Where a set ends an edge leads to some children, drawn by the key; the state's own seed draws another."""
    game = official(2) if not SLOW else table()
    states = last_turn(game, set=0, at="Bombay", actions_left=1)
    found = []
    for key, seed in ((1, 5), (1, 6), (2, 5)):
        made = planted(game, game.scrub(states, [seed]), 100)
        edge, children = 0, []
        assert made.tree.edge_due[edge] == turns.RESTOCK_DUE
        for visit in range(3 * int(tree.RESTOCKS)):
            made.tree.edge_visits[edge] = visit
            node = tree.follow(game.tables[0], made.tree, edge, np.uint64(key))
            children.append(made.tree.states[node].tobytes())
        assert 2 < len(set(children)) <= tree.RESTOCKS
        assert children[: int(tree.RESTOCKS)] == children[int(tree.RESTOCKS) : 2 * int(tree.RESTOCKS)]
        found.append(children)
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert {made.tree.states[node]["market"].sum() for node in range(1, made.tree.count[0])} == {9}


@pytest.mark.parametrize("left", [1] if SLOW else [1, 2])
def test_every_node_of_a_tree_chooses_for_its_own_mover(left):
    """Best play is found without being told: the two endings of `test_endgame.py` that greed loses."""
    game = official(2)
    if left == 1:
        states = last_turn(at="Bombay", basket=["blue", "orange"], actions_left=1, rupees=[10, 10], clients=[0, 1])
    else:
        elephants, baskets = {0: "Bombay", 1: "Bombay"}, {0: ["purple"], 1: ["blue", "purple"]}
        facts = {"elephants": elephants, "baskets": baskets, "actions_left": 1, "rupees": [2, 5]}
        states = position(game, set=3, turn=3, player=1, **facts)
    made = planted(game, states, 2000)
    grow(game, made, 1, 16 if SLOW else 150)
    best = made.tree.edge_states[best_edge(made.tree)]
    solution = endgame.solve(game, states)
    goal = zeroed(states)
    for action in solution.actions:
        engine.apply(goal[0], game.tables[0], action)
    assert best.tobytes() == goal[0].tobytes()
    mover = int(states["current_player"][0])
    share = tree.root_averages(made.tree, np.array([best_edge(made.tree) - made.tree.first_edge[0]]))[0]
    assert share == pytest.approx(solution.win_share[mover], abs=0.3)


@pytest.mark.skipif(SLOW, reason="hundreds of turns, tens of milliseconds each with the compiler off")
def test_a_reply_is_chosen_for_the_one_who_replies():
    """Seat 0 wins whatever seat 1 does, though not with any reply: a tree that takes those which seat 1 likes finds no win."""
    game = official(2)
    elephants, baskets = {0: "Bombay", 1: "Bombay"}, {0: ["purple"], 1: ["blue", "purple"]}
    facts = {"elephants": elephants, "baskets": baskets, "actions_left": 1, "rupees": [4, 5]}
    states = position(game, set=3, turn=3, player=1, **facts)
    assert endgame.solve(game, states).win_share.tolist() == [1, 0]
    made = planted(game, states, 2000)
    grow(game, made, 1, 150)
    replies = [node for node in laid_out(made.tree) if node > 0 and made.tree.visits[node] > 50]
    worst = []
    for node in replies:
        edges = edges_of(made.tree, node)
        own = [game.results(made.tree.edge_states[edge : edge + 1])["win_share"][0, 0] for edge in edges]
        assert own[np.argmax(made.tree.edge_visits[edges])] == 1
        worst.append(min(own))
    assert min(worst) < 1  # it mattered somewhere
    assert averages(made.tree, 2)[0] > 0.7


# --- The end of the game ---


@pytest.mark.parametrize(("n", "left"), [(2, 1)] if SLOW else [(2, 1), (2, 2), (4, 1), (4, 2)])
def test_search_plays_the_last_turns_exactly(n, left):
    game = official(n)
    last, agent = game.rules.sets - 1, SearchAgent(nodes=200)
    player = (last % n + n - left) % n
    facts = {"elephants": {0: "Bombay", 1: "G5"}, "baskets": {0: ["blue", "orange"], 1: ["purple"]}, "rupees": [6, 8]}
    states = position(game, set=last, turn=game.rules.turns_per_set - 1, player=player, **facts)
    best = play(game, states, *map(game.action_name, endgame.solve(game, states).actions))
    assert (after_turn(game, states, agent) == best).all()
    assert agent.search.tree.count[0] == 0  # no tree was needed


def test_search_grows_a_tree_where_the_ending_is_too_large():
    game = table()
    states = position(game, set=game.rules.sets - 1, turn=game.rules.turns_per_set - 1, player=1)
    agent = SearchAgent(nodes=1)
    action = agent.act(game, states, np.random.default_rng(0))[0]
    assert game.legal_actions(states)[0, action]
    assert agent.search.tree.visits[0] == 2
