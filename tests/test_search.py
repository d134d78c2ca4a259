"""`flat-mc` and `search` as players: options, budgets, plans, the end of the game, and that they see no seed."""

import itertools
import types

import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.scripted import planner
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_agents.search import agent as search_agent
from bombay_agents.search import flat_mc, halving
from bombay_agents.search.agent import SearchAgent
from bombay_agents.search.flat_mc import FlatMonteCarloAgent
from bombay_agents.shipped import make_zero
from bombay_agents.turns import enumeration
from bombay_env import Game, Rules, chance, streams
from bombay_training.evaluation.audit import audit
from helpers.nets import SHORT, SLOW, random_net
from helpers.position import MANY, assert_fits, last_turn, official, play, position, variant
from helpers.searches import after_turn, midgame, short_game, without_seeds
from helpers.variants import random_board

NODES = 6 if SLOW else 40
both = pytest.mark.parametrize(
    "spec", [f"flat-mc:rollouts={NODES},k=3,rounds=1", f"search:nodes={NODES}", f"zero-search:nodes={NODES},force=true"]
)


# --- Options ---


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("search:nodes=0", r"search: nodes is 0; it must be a whole number from 1 to \d+"),
        ("search:nodes=1000000001", r"search: nodes is 1000000001; it must be a whole number from 1 to \d+"),
        ("search:ms=0", r"search: ms is 0\.0; it must be above 0, up to \d+"),
        ("search:ms=5,nodes=5", r"search takes ms or nodes, not both"),
        ("zero-search:k=17", r"zero-search: k is 17; it must be a whole number from 1 to 16"),
        ("champion:exploration=nan", r"champion: exploration is nan; it must be a number from 0 to 1000"),
        ("search:temperature=0", r"search: temperature is 0\.0; it must be a number from 0\.001 to 1000"),
        ("search:value=[greedy]", r"search: 'greedy' values no positions; take an agent that does, .*"),
        ("zero-search:value=[ppo]", r"zero-search: 'ppo' values no positions; .*such as zero or planner-v1"),
        ("search:nodes=many", r".*'nodes'.*whole number.*"),
        ("search:rollouts=5", r".*no option 'rollouts'; its options are ms, nodes.*"),
        ("flat-mc:rollouts=0", r"flat-mc: rollouts is 0; it must be a whole number from 1 to \d+"),
        ("flat-mc:ms=-1", r"flat-mc: ms is -1\.0; it must be above 0, up to \d+"),
        ("flat-mc:k=1", r"flat-mc: k is 1; it must be a whole number from 2 to \d+"),
        ("flat-mc:k=1000", r"flat-mc: k is 1000; it must be a whole number from 2 to \d+"),
        ("flat-mc:rounds=-1", r"flat-mc: rounds is -1; it must be a whole number from 0 to \d+"),
        ("flat-mc:ms=5,rollouts=5", r"flat-mc takes ms or rollouts, not both"),
    ],
)
def test_options_out_of_range_are_refused_in_one_line(spec, reason):
    with pytest.raises(ValueError, match=f"^{reason}$") as caught:
        make(spec)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (
            lambda: SearchAgent(make_zero(), nodes=2.5),
            r"search: nodes is 2\.5; it must be a whole number from 1 to \d+",
        ),
        (lambda: SearchAgent(make_zero(), k=2.5), r"search: k is 2\.5; it must be a whole number from 1 to \d+"),
        (lambda: SearchAgent(make_zero(), ms="fast"), r"search: ms is 'fast'; it must be above 0, up to \d+"),
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
    agent = FlatMonteCarloAgent(ms=6, k=2, rounds=1) if spec.startswith("flat") else make("search:ms=6")
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
    make("search:ms=1000").act(game, midgame(game, 3), np.random.default_rng(0))
    assert next(looks) < 30


def rollouts_of(options, states, game, monkeypatch):
    """A flat-mc agent after one decision, and its rollouts: candidate and number of each."""
    agent = FlatMonteCarloAgent(**options)
    played, inner = [], flat_mc.simulate

    def simulate(tables, search, chosen, key, each):
        for candidate in chosen:
            done = int(search.num_rollouts[candidate])
            played.extend((int(candidate), number) for number in range(done, done + each))
        return inner(tables, search, chosen, key, each)

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
    assert agent.search.num_rollouts[:k].tolist() == counts.tolist()
    stages = int(np.ceil(np.log2(k)))
    assert len(set(counts)) == stages  # candidates that drop out together had the same number
    assert (np.sort(counts)[::-1][:2] == counts.max()).all()  # the last two had the same
    # The better of the last two is chosen.
    state = without_seeds(midgame(game))[0]
    chosen = agent.choose(game, state, np.uint64(9))
    counts = agent.search.num_rollouts[:k]
    means = agent.search.total[:k, state["current_player"]] / counts
    (place,) = np.flatnonzero(agent.search.candidates[:k] == chosen)
    assert means[place] == means[counts == counts.max()].max()


def test_candidates_share_random_numbers():
    """Two equal candidates get the same shares, which are those of the rollouts by the same keys."""
    game = short_game()
    state = without_seeds(midgame(game, 1))[0]
    agent = FlatMonteCarloAgent(rollouts=10, k=2, rounds=1)
    agent.prepare(game)
    search, mover = agent.search, int(state["current_player"])
    assert mover == 1
    assert flat_mc.propose(state, game.tables[0], agent.root, search, 2) == 2
    search.outcomes[1], search.due[1] = search.outcomes[0], search.due[0]
    rounds = 2 if SLOW else 5
    for _ in range(rounds):
        flat_mc.simulate(game.tables[0], search, np.arange(2), np.uint64(5), 1)
    expected = 0.0
    for number in range(rounds):
        key = chance.random_word(np.uint64(5), streams.ROLLOUT_KEYS, np.uint64(number))
        flat_mc.rollout(game.tables[0], search, np.uint64(key), 0)
        expected += search.evaluator.outputs[1, mover]
    assert search.total[:2, mover].tolist() == pytest.approx([expected, expected])
    assert search.num_rollouts[:2].tolist() == [rounds, rounds]


def test_the_rollouts_of_one_turn_do_not_count_in_the_next():
    game, found = short_game(), []
    states = [without_seeds(midgame(game, number))[0] for number in (1, 2)]
    for before in (states[:1], []):
        agent = FlatMonteCarloAgent(rollouts=10, k=2, rounds=1)
        agent.prepare(game)
        for state in before:
            agent.best_candidate(game, state, np.uint64(5))
        agent.best_candidate(game, states[1], np.uint64(6))
        found.append((agent.search.total[:2].tolist(), agent.search.num_rollouts[:2].tolist()))
    assert found[0] == found[1]


def test_a_later_turn_without_room_is_an_error(monkeypatch):
    if SLOW:
        monkeypatch.setattr(enumeration, "MAX_NODES", 100)
    game = variant(4, actions_per_turn=9, buys_per_turn=9, basket=9, market_rupees=(0, 0, 0))
    states, workspace = position(game, actions_left=1, elephants={1: "E3"}), turns.new_workspace(game)
    assert turns.enumerate_turn(without_seeds(states)[0], game.tables[0], workspace) != turns.TOO_MANY
    for agent in (FlatMonteCarloAgent(rollouts=24, rounds=1), make("search:nodes=60")):
        with pytest.raises(OverflowError, match="too many to plan it as a whole"):
            agent.act(game, states, np.random.default_rng(0))


# --- Rollouts of `flat-mc` ---


def after_rollout(game, agent, start, key, due=turns.TURN_OVER):
    """The state that a rollout from a position ends in, and the shares there."""
    agent.make_ready(game)
    agent.search.outcomes[0], agent.search.due[0] = without_seeds(start)[0], due
    assert flat_mc.rollout(game.tables[0], agent.search, np.uint64(key), 0)
    return agent.search.state.copy(), agent.search.evaluator.outputs[1, : game.num_players].copy()


def test_a_rollout_ends_after_its_rounds_or_with_the_game_and_depends_on_its_key():
    game, short = variant(2, **SHORT), FlatMonteCarloAgent(rollouts=1, rounds=2)
    agent, start, found = FlatMonteCarloAgent(rollouts=1, rounds=100), game.new_states([3]), []
    for key in (11, 11, *range(12, 14 if SLOW else 30)):
        state, shares = after_rollout(game, agent, start, key)
        assert shares.tolist() == game.results(state)["win_share"][0].tolist()
        found.append(state.tobytes())
    assert found[0] == found[1]
    assert len(set(found)) > 1
    state, shares = after_rollout(game, short, start, 11)
    assert (state["set"][0], state["turn"][0], state["current_player"][0]) == (1, 0, 1)
    assert shares.sum() == pytest.approx(1)


def test_outcomes_are_drawn_by_a_softmax_of_their_values():
    """At the temperature of rollouts the frequencies fit; a low one draws the best turn."""
    game = short_game()
    workspace, state = planner.new_workspace(game), midgame(game, 2)[0]
    count = planner.lay_out_and_value(state, game.tables[0], WEIGHTS_V1[2], workspace)
    over = np.flatnonzero(workspace.turn.due[:count])
    values = workspace.values[over]
    for temperature in (flat_mc.TEMPERATURE, 3.0):
        law = np.exp((values - values.max()) / temperature)
        law /= law.sum()
        likely = law > 0.01
        drawn = [flat_mc.draw_outcome(workspace, count, temperature, np.uint64(3), turn) for turn in range(MANY)]
        assert set(drawn) <= set(over)
        kinds = [node if node in over[likely] else -1 for node in drawn]
        wanted = dict(zip(over[likely].tolist(), law[likely].tolist(), strict=True)) | {-1: law[~likely].sum()}
        assert_fits(kinds, {kind: share for kind, share in wanted.items() if share > 1e-9 or kind >= 0})
    best = flat_mc.draw_outcome(workspace, count, 1e-9, np.uint64(3), 0)
    assert workspace.values[best] == values.max()


# --- Turns with their values ---


def test_best_turns_begin_with_the_one_that_is_played():
    game, agent = short_game(3), make(f"search:nodes={NODES}")
    states = midgame(game, 4)
    found = agent.best_turns(game, states, np.random.default_rng(3), most=4)
    chosen = agent.choose(game, without_seeds(states)[0], np.random.default_rng(3).integers(1 << 64, dtype=np.uint64))
    assert without_seeds(found[0].state).tobytes() == agent.search.workspace.states[chosen].tobytes()
    assert [turn.visits for turn in found[1:]] == sorted((turn.visits for turn in found[1:]), reverse=True)
    for turn in found:
        assert turn.win_share.sum() == pytest.approx(1, abs=1e-5)
        assert turn.margin.sum() == pytest.approx(0, abs=1e-4)
        after = play(game, states, *map(game.action_name, turn.actions[:-1]))
        assert game.legal_actions(after)[0, turn.actions[-1]]
    own = make("search:nodes=3,value=[test_agents:Even]")
    with pytest.raises(ValueError, match=r"compares turns only with a compiled evaluator, such as that of zero$"):
        own.best_turns(game, states, np.random.default_rng(3))
    ended = play(game, last_turn(game), "end_turn")
    with pytest.raises(ValueError, match=r"^the game is over"):
        agent.best_turns(game, ended, np.random.default_rng(3))


# --- Evaluators that are unusual ---


class EmptyEvaluator:
    """Values every seat alike, and is false as a truth value."""

    def __len__(self):
        return 0

    def values(self, game, states):
        return np.full((len(states), game.num_players), 1 / game.num_players)


class NoKernel:
    """Has an evaluator without a kernel."""

    def evaluator(self, game):
        return 1


def test_an_evaluator_without_a_kernel_is_named():
    game = official(2)
    with pytest.raises(
        ValueError, match=r"^search: a compiled evaluator has value_turn and share_weight; a int has not$"
    ):
        SearchAgent(NoKernel(), nodes=1).act(game, game.new_states([0]), np.random.default_rng(0))


def test_an_evaluator_that_counts_as_false_is_not_replaced():
    agent = make("search:nodes=2,value=[test_search:EmptyEvaluator]")
    assert isinstance(agent.value, EmptyEvaluator)
    with pytest.raises(ValueError, match="values no positions"):
        SearchAgent(EmptyEvaluator, nodes=2)


def test_a_net_that_values_everything_at_minus_infinity_still_plays():
    game = short_game(3)
    net = random_net(game, last_bias=np.array([0, 3e38, 3e38, 3e38, 3e38, 0, 0, 0, 0, 0], np.float32))
    states = midgame(game)
    with np.errstate(all="ignore"):
        action = SearchAgent(ValueNetAgent(net), nodes=5).act(game, states, np.random.default_rng(0))
    assert game.legal_actions(states)[0, action[0]]
