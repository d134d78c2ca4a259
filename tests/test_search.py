"""`flat-mc` and `search` as players: options, budgets, plans, the end of the game, and that they see no seed."""

import itertools
import types

import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.search import agent as search_agent
from bombay_agents.search import endgame, flat_mc, halving, rollouts
from bombay_agents.search.agent import SearchAgent
from bombay_agents.search.flat_mc import FlatMonteCarloAgent
from bombay_agents.turns import enumeration
from bombay_env import Game, Rules, chance
from bombay_training.evaluation.audit import audit
from helpers.position import official, play, position, variant
from helpers.searches import SLOW, after_turn, midgame, short_game, without_seeds
from helpers.variants import random_board

NODES = 6 if SLOW else 40
SPECS = [f"flat-mc:rollouts={NODES},k=3,rounds=1", f"search:nodes={NODES}"]
SPECS += [f"{spec},restock=false" for spec in SPECS]
both = pytest.mark.parametrize("spec", SPECS)


# --- Options ---


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("search:nodes=0", r"search: nodes is 0; it must be a whole number from 1 to \d+"),
        ("search:nodes=1000000001", r"search: nodes is 1000000001; it must be a whole number from 1 to \d+"),
        ("search:ms=0", r"search: ms is 0\.0; it must be above 0, up to \d+"),
        ("search:rounds=-1", r"search: rounds is -1; it must be a whole number from 0 to \d+"),
        ("search:ms=5,nodes=5", r"search takes ms or nodes, not both"),
        ("search:nodes=many", r".*'nodes'.*whole number.*"),
        ("search:prior=0", r"search: prior is 0\.0; it must be from 0\.01 to 100"),
        ("search:prior=nan", r"search: prior is nan; it must be from 0\.01 to 100"),
        ("search:rollouts=5", r".*no option 'rollouts'; its options are ms, nodes.*"),
        ("flat-mc:rollouts=0", r"flat-mc: rollouts is 0; it must be a whole number from 1 to \d+"),
        ("flat-mc:ms=-1", r"flat-mc: ms is -1\.0; it must be above 0, up to \d+"),
        ("flat-mc:k=1", r"flat-mc: k is 1; it must be a whole number from 2 to \d+"),
        ("flat-mc:k=1000", r"flat-mc: k is 1000; it must be a whole number from 2 to \d+"),
        ("flat-mc:rounds=-1", r"flat-mc: rounds is -1; it must be a whole number from 0 to \d+"),
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
    ("made", "reason"),
    [
        (lambda: SearchAgent(nodes=2.5), r"search: nodes is 2\.5; it must be a whole number from 1 to \d+"),
        (lambda: SearchAgent(k=2.5), r"search: k is 2\.5; it must be a whole number from 1 to \d+"),
        (lambda: SearchAgent(ms="fast"), r"search: ms is 'fast'; it must be above 0, up to \d+"),
        (lambda: FlatMonteCarloAgent(rounds=1.0), r"flat-mc: rounds is 1\.0; it must be a whole number from 0 to \d+"),
    ],
)
def test_in_python_too_numbers_must_be_whole(made, reason):
    with pytest.raises(ValueError, match=f"^{reason}$"):
        made()


@pytest.mark.parametrize(
    "spec", ["search", "search:ms=5", "search:nodes=7", "flat-mc", "flat-mc:ms=5", "flat-mc:rollouts=7"]
)
def test_a_budget_is_either_in_milliseconds_or_in_simulations(spec):
    agent = make(spec)
    count = getattr(agent, "nodes", None) or getattr(agent, "rollouts", None)
    assert (count is None) == (agent.ms is not None)
    assert agent.name.startswith(spec)


# --- Any game, and no use of the seed ---


def audited_games():
    board = random_board(3)
    variants = [Game(Rules(3, sets=2, turns_per_set=2, basket=3, toll=2, fame=(0, 2, 5)), board)]
    return [official(n) for n in (2, 3, 4, 5)] + variants


@both
def test_decisions_depend_on_the_public_state_and_the_generator_only(spec):
    games = [short_game()] if SLOW else audited_games()
    report = audit(lambda: make(spec), games, 2 if SLOW else 12 * len(games))
    assert str(report) == f"passed in {report.states} states"


@pytest.mark.parametrize(
    "spec", ["flat-mc:rollouts=12,k=3,rounds=1,policy=greedy", "search:nodes=12,rounds=0,ranker=[planner]"]
)
def test_other_policies_and_rankers_use_no_more(spec):
    assert make(spec).name == spec
    report = audit(lambda: make(spec), [short_game(3)], 2 if SLOW else 20)
    assert str(report) == f"passed in {report.states} states"


@both
def test_states_of_a_batch_are_independent(spec):
    game = short_game(3)
    states = np.concatenate([midgame(game, number) for number in ((1, 2) if SLOW else range(1, 9))])
    actions = make(spec).act(game, states, np.random.default_rng(4))
    keys = np.random.default_rng(4).integers(1 << 64, size=len(states), dtype=np.uint64)
    agent = make(spec)
    for lane, key in enumerate(keys):
        same = types.SimpleNamespace(integers=lambda *bounds, key=key, **shape: np.array([key]))
        assert agent.act(game, states[lane : lane + 1], same)[0] == actions[lane]
    assert make(spec).act(game, states[:0], np.random.default_rng(4)).shape == (0,)


# --- Plans ---


@both
def test_agents_play_the_turn_they_planned(spec):
    game = short_game(2)
    states, agent = midgame(game, 4 if SLOW else 6), make(spec)
    chosen, inner = [], agent.choose

    def choose(game, state, key):
        node = inner(game, state, key)
        chosen.append(agent._turn.states[node].copy())
        return node

    agent.choose = choose
    after = after_turn(game, states, agent)
    assert len(chosen) == 1
    assert without_seeds(after).tobytes() == chosen[0].tobytes()


# --- Budgets ---


@both
def test_a_budget_in_milliseconds_is_kept(spec, monkeypatch):
    """By a clock that advances one millisecond at each look, the number of looks is the budget."""
    looks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(looks) / 1000)
    monkeypatch.setattr(search_agent, "time", clock)
    monkeypatch.setattr(halving, "time", clock)
    monkeypatch.setattr(halving, "SLICE", 1)
    game = short_game()
    agent = FlatMonteCarloAgent(ms=6, k=2, rounds=1) if spec.startswith("flat") else SearchAgent(ms=6, rounds=0)
    agent.act(game, midgame(game, 3), np.random.default_rng(0))
    assert 6 <= next(looks) <= 9


@pytest.mark.parametrize(("seconds", "cost"), [(1.0, 0.001), (1.0, 0.03), (0.01, 0.01)])
def test_halving_exceeds_its_time_by_at_most_one_simulation_of_each(seconds, cost, monkeypatch):
    spent, simulated = [0.0], np.zeros(8, np.int64)
    monkeypatch.setattr(halving, "time", types.SimpleNamespace(perf_counter=lambda: spent[0]))

    def simulate(candidates, each):
        spent[0] += cost * each * len(candidates)
        simulated[candidates] += each
        return each * len(candidates)

    best = halving.best_by_halving(8, simulate, lambda candidates: -abs(candidates - 5.0), seconds=seconds)
    assert best == 5
    assert min(seconds, 8 * cost) <= spent[0] <= seconds + 8 * cost
    assert (simulated >= 1).all()
    assert simulated[5] == simulated.max() > simulated.min() or seconds < 8 * cost


def test_a_search_with_a_budget_in_milliseconds_ends_when_its_memory_is_full(monkeypatch):
    looks = itertools.count()
    clock = types.SimpleNamespace(perf_counter=lambda: next(looks) / 1000)
    monkeypatch.setattr(search_agent, "time", clock)
    monkeypatch.setattr(halving, "time", clock)
    monkeypatch.setattr(search_agent, "NODES_PER_MS", 0)
    game = short_game()
    SearchAgent(ms=1000, rounds=0).act(game, midgame(game, 3), np.random.default_rng(0))
    assert next(looks) < 30


def rollouts_of(options, states, game, monkeypatch):
    """A flat-mc agent after one decision, and its rollouts: candidate and number of each."""
    agent = FlatMonteCarloAgent(**options)
    played, inner = [], flat_mc.simulate

    def simulate(tables, candidates, chosen, key, each):
        for candidate in chosen:
            done = int(candidates.num_rollouts[candidate])
            played.extend((int(candidate), number) for number in range(done, done + each))
        return inner(tables, candidates, chosen, key, each)

    monkeypatch.setattr(flat_mc, "simulate", simulate)
    agent.act(game, states, np.random.default_rng(0))
    return agent, played


@pytest.mark.parametrize(("rollouts", "k"), [(12, 3)] if SLOW else [(12, 3), (150, 8), (96, 5), (300, 12)])
def test_sequential_halving_spends_its_budget(rollouts, k, monkeypatch):
    game = short_game()
    agent, played = rollouts_of({"rollouts": rollouts, "k": k, "rounds": 1}, midgame(game), game, monkeypatch)
    assert 0.8 * rollouts <= len(played) <= rollouts
    counts = np.bincount([candidate for candidate, _ in played], minlength=k)
    assert len(counts) == k
    assert agent.candidates.num_rollouts[:k].tolist() == counts.tolist()
    stages = int(np.ceil(np.log2(k)))
    assert len(set(counts)) == stages  # candidates that drop out together had the same number
    assert (np.sort(counts)[::-1][:2] == counts.max()).all()  # the last two had the same
    # The better of the last two is chosen.
    state = without_seeds(midgame(game))[0]
    chosen = agent.choose(game, state, np.uint64(9))
    counts = agent.candidates.num_rollouts[:k]
    means = agent.candidates.total[:k, state["current_player"]] / counts
    goal = agent.turn.states[chosen].tobytes()
    (place,) = [place for place in range(k) if agent.candidates.outcomes[place].tobytes() == goal]
    assert means[place] == means[counts == counts.max()].max()


def test_candidates_share_random_numbers():
    """Two equal candidates get the same shares, which are those of the rollouts by the same keys."""
    game = short_game()
    state = without_seeds(midgame(game, 1))[0]
    agent = FlatMonteCarloAgent(rollouts=10, k=2, rounds=1)
    agent.prepare(game)
    candidates, mover = agent.candidates, int(state["current_player"])
    assert mover == 1
    assert flat_mc.propose(state, game.tables[0], candidates, 2) == 2
    candidates.outcomes[1], candidates.due[1] = candidates.outcomes[0], candidates.due[0]
    rounds = 2 if SLOW else 5
    for _ in range(rounds):
        flat_mc.simulate(game.tables[0], candidates, np.arange(2), np.uint64(5), 1)
    expected = 0.0
    for number in range(rounds):
        candidates.rollout.state[0] = candidates.outcomes[0]
        key = chance.random_word(np.uint64(5), flat_mc.ROLLOUT_KEYS, np.uint64(number))
        rollouts.rollout(game.tables[0], candidates.rollout, np.uint64(key), np.int8(turns.TURN_OVER))
        expected += candidates.rollout.shares[mover]
    assert candidates.total[:2, mover].tolist() == pytest.approx([expected, expected])
    assert candidates.num_rollouts[:2].tolist() == [rounds, rounds]


def test_the_rollouts_of_one_turn_do_not_count_in_the_next():
    game, found = short_game(), []
    states = [without_seeds(midgame(game, number))[0] for number in (1, 2)]
    for before in (states[:1], []):
        agent = FlatMonteCarloAgent(rollouts=10, k=2, rounds=1)
        agent.prepare(game)
        for state in before:
            agent.best_candidate(game, state, np.uint64(5))
        agent.best_candidate(game, states[1], np.uint64(6))
        found.append((agent.candidates.total[:2].tolist(), agent.candidates.num_rollouts[:2].tolist()))
    assert found[0] == found[1]


def test_a_later_turn_without_room_is_an_error(monkeypatch):
    if SLOW:
        monkeypatch.setattr(enumeration, "MAX_NODES", 100)
    game = variant(4, actions_per_turn=9, buys_per_turn=9, basket=9, market_rupees=(0, 0, 0))
    states, workspace = position(game, actions_left=1, elephants={1: "E3"}), turns.new_workspace(game)
    assert turns.enumerate_turn(without_seeds(states)[0], game.tables[0], workspace) != turns.TOO_MANY
    for agent in (FlatMonteCarloAgent(rollouts=24, rounds=1), SearchAgent(nodes=60, rounds=0)):
        with pytest.raises(OverflowError, match="too many to plan it as a whole"):
            agent.act(game, states, np.random.default_rng(0))


# --- The last round ---


@pytest.mark.parametrize(("n", "left"), [(2, 1)] if SLOW else [(2, 1), (2, 2), (4, 1), (4, 2)])
def test_search_plays_the_last_round_exactly(n, left):
    game = official(n)
    last, agent = game.rules.sets - 1, SearchAgent(nodes=200)
    player = (last % n + n - left) % n
    facts = {"elephants": {0: "Bombay", 1: "G5"}, "baskets": {0: ["blue", "orange"], 1: ["purple"]}, "rupees": [6, 8]}
    states = position(game, set=last, turn=game.rules.turns_per_set - 1, player=player, **facts)
    best = play(game, states, *map(game.action_name, endgame.solve(game, states).actions))
    assert (after_turn(game, states, agent) == best).all()
    assert agent.search.tree.count[0] == 0  # no tree was needed


def test_search_builds_a_tree_where_the_endgame_is_too_large():
    game = short_game()
    states = position(game, set=game.rules.sets - 1, turn=game.rules.turns_per_set - 1, player=1)
    agent = SearchAgent(nodes=1)
    action = agent.act(game, states, np.random.default_rng(0))[0]
    assert game.legal_actions(states)[0, action]
    assert agent.search.tree.visits[0] == 2
