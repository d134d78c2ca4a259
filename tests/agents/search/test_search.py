"""`flat-mc` and `search` as players: options, budgets, plans, the end of the game, and that they see no seed."""

import re
import types

import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search import agent as search_agent
from bombay_agents.search import flat_mc, halving, tree
from bombay_agents.search.agent import SearchAgent
from bombay_agents.search.flat_mc import FlatMonteCarloAgent
from bombay_agents.shipped import make_zero
from bombay_agents.turns import enumeration
from bombay_env import Game, Rules
from bombay_training.evaluation.audit import audit
from helpers.nets import SHORT, SLOW, random_net
from helpers.position import MANY, assert_fits, last_turn, official, play, position, variant
from helpers.refusal import refusal
from helpers.searches import after_turn, midgame, short_game, valued_turn, without_seeds
from helpers.variants import random_board

NODES = 6 if SLOW else 40
both = pytest.mark.parametrize(
    "spec", [f"flat-mc:rollouts={NODES},k=3,rounds=1", f"search:nodes={NODES}", f"zero-search:nodes={NODES},force=true"]
)


# --- Options ---


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: make("search:nodes=0"), r"search: nodes is 0; it must be a whole number from 1 to \d+"),
        (lambda: make("search:ms=0"), r"search: ms is 0\.0; it must be above 0, up to \d+"),
        (lambda: make("search:ms=5,nodes=5"), r"search takes ms or nodes, not both"),
        (lambda: make("zero-search:k=17"), r"zero-search: k is 17; it must be a whole number from 1 to 16"),
        (lambda: make("champion:exploration=nan"), r"champion: exploration is nan; it must be a number from 0 to 1000"),
        (lambda: make("search:temperature=0"), r"search: temperature is 0\.0; it must be a number from 0\.001 to 1000"),
        (lambda: make("search:value=[greedy]"), r"search: 'greedy' values no positions; .*such as zero or planner-v1"),
        (lambda: make("zero-search:value=[ppo]"), r"zero-search: 'ppo' values no positions; .*"),
        (lambda: make("flat-mc:k=1"), r"flat-mc: k is 1; it must be a whole number from 2 to 12"),
        (lambda: make("flat-mc:rounds=-1"), r"flat-mc: rounds is -1; it must be a whole number from 0 to 100"),
        (lambda: make("flat-mc:ms=5,rollouts=5"), r"flat-mc takes ms or rollouts, not both"),
        (
            lambda: SearchAgent(make_zero(), nodes=2.5),
            r"search: nodes is 2\.5; it must be a whole number from 1 to \d+",
        ),
        (lambda: SearchAgent(make_zero(), ms="fast"), r"search: ms is 'fast'; it must be above 0, up to \d+"),
        (lambda: SearchAgent(NoKernel), r"search: 'type' values no positions; .*"),
    ],
)
def test_options_out_of_range_are_refused_in_one_line(made, reason):
    assert re.fullmatch(reason, refusal(made))


# --- Any game, and no use of the seed ---


def test_decisions_of_flat_mc_depend_on_the_public_state_and_the_generator_only():
    """`test_audit.py` audits a tree search, and its evaluators."""
    games = [short_game()]
    if not SLOW:
        games = [official(n) for n in (2, 3, 4, 5)]
        games.append(Game(Rules(3, sets=2, turns_per_set=2, basket=3, toll=2, fame=(0, 2, 5)), random_board(3)))
    spec = f"flat-mc:rollouts={NODES},k=3,rounds=1"
    report = audit(lambda: make(spec), games, 2 if SLOW else 12 * len(games))
    assert str(report) == f"passed in {report.states} states"


@both
def test_a_decision_does_not_depend_on_the_turns_before(spec):
    """One agent decides for a batch, another for its states one by one in reverse order."""
    game = short_game(3)
    states = np.concatenate([midgame(game, number) for number in ((1, 2) if SLOW else range(1, 9))])
    actions = make(spec).act(game, states, np.random.default_rng(4))
    keys = np.random.default_rng(4).integers(1 << 64, size=len(states), dtype=np.uint64)
    agent = make(spec)
    for lane in reversed(range(len(states))):
        same = types.SimpleNamespace(integers=lambda *bounds, key=keys[lane], **shape: np.array([key]))
        assert agent.act(game, states[lane : lane + 1], same)[0] == actions[lane]
    assert agent.act(game, states[:0], np.random.default_rng(4)).shape == (0,)


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


@pytest.fixture
def spent(monkeypatch):
    """Seconds that searches spend: a minute for the first call of a kernel, as when it is compiled, then a millisecond each."""
    spent = [0.0]

    def timed(inner):
        def call(*arguments):
            spent[0] += 0.001 if spent[0] else 60.0
            return inner(*arguments)

        return call

    monkeypatch.setattr(flat_mc, "simulate", timed(flat_mc.simulate))
    monkeypatch.setattr(tree, "run", timed(tree.run))
    for module in (search_agent, halving):
        monkeypatch.setattr(module, "time", types.SimpleNamespace(perf_counter=lambda: spent[0]))
    return spent


@pytest.mark.parametrize(
    ("spec", "simulations"),
    [
        ("flat-mc:ms=20,k=2,rounds=1", lambda agent: agent.search.num_rollouts[:2].sum()),
        ("search:ms=20,k=2", lambda agent: agent.search.search.tree.edge_visits[:2].sum()),
    ],
)
def test_each_turn_has_its_milliseconds_and_no_more_also_the_first(spec, simulations, spent):
    game, agent = short_game(), make(spec)
    agent.act(game, midgame(game, 3), np.random.default_rng(0))
    first, before = simulations(agent), spent[0]
    agent.choose(game, midgame(game, 3)[0], np.uint64(0))
    assert first == simulations(agent) > 20
    assert 0.0199 < spent[0] - before < 0.0231


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


def test_a_search_with_a_budget_in_milliseconds_ends_when_its_memory_is_full(spent, monkeypatch):
    monkeypatch.setattr(search_agent, "NODES_PER_MS", 0)
    game = short_game()
    make("search:ms=1000").act(game, midgame(game, 3), np.random.default_rng(0))
    assert spent[0] < 60.03


@pytest.mark.parametrize(("simulations", "count"), [(12, 3), (150, 8), (96, 5), (300, 12)])
def test_sequential_halving_spends_its_simulations(simulations, count):
    means, simulated = np.random.default_rng(count).random(count), np.zeros(count, np.int64)

    def simulate(candidates, each):
        simulated[candidates] += each
        return each * len(candidates)

    best = halving.best_by_halving(count, simulate, lambda candidates: means[candidates], simulations)
    assert best == means.argmax()
    assert 0.8 * simulations <= simulated.sum() <= simulations
    stages = int(np.ceil(np.log2(count)))
    assert len(set(simulated)) == stages, "candidates that drop out together had the same number"
    assert (np.sort(simulated)[-2:] == simulated.max()).all(), "the last two had the same number"


def test_agents_spend_their_budget_in_simulations():
    game = short_game()
    flat, search = make("flat-mc:rollouts=12,k=3,rounds=1"), make("search:nodes=12,k=3")
    assert (make("flat-mc").rollouts, make("search").nodes) == (None, None)  # milliseconds by default
    for agent in (flat, search):
        assert agent.ms is None
        agent.act(game, midgame(game), np.random.default_rng(0))
    assert flat.search.num_rollouts[:3].sum() == 12
    assert search.search.search.tree.visits[0] == 1 + 12


def test_candidates_share_random_numbers():
    """Two equal candidates get the same shares, which are those of the rollouts of a third alone."""
    game = short_game()
    state = without_seeds(midgame(game, 1))[0]
    agent = FlatMonteCarloAgent(rollouts=10, k=2, rounds=1)
    agent.prepare(game)
    search, mover = agent.search, int(state["current_player"])
    assert mover == 1
    assert flat_mc.propose(state, game.tables[0], agent.root, search, 2) == 2
    search.outcomes[1:3], search.due[1:3], search.total[2], search.num_rollouts[2] = (
        search.outcomes[0],
        search.due[0],
        0,
        0,
    )
    rounds, expected = 2 if SLOW else 5, 0.0
    for _ in range(rounds):
        flat_mc.simulate(game.tables[0], search, np.arange(2), np.uint64(5), 1)
    for _ in range(rounds):
        flat_mc.simulate(game.tables[0], search, np.full(1, 2), np.uint64(5), 1)
        expected += search.evaluator.outputs[1, mover]
    assert search.total[:2, mover].tolist() == pytest.approx([expected, expected])
    assert search.num_rollouts[:2].tolist() == [rounds, rounds]


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


def after_rollout(game, agent, start, key):
    """The state that a rollout from a position ends in, and the shares there."""
    agent.make_ready(game)
    agent.search.outcomes[0], agent.search.due[0] = without_seeds(start)[0], turns.TURN_OVER
    agent.search.num_rollouts[0] = 0
    assert flat_mc.simulate(game.tables[0], agent.search, np.zeros(1, np.int64), np.uint64(key), 1) == 1
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
    game = short_game()
    workspace = valued_turn(game, midgame(game, 2)[0])
    over = np.flatnonzero(workspace.turn.due)
    count = over.max() + 1
    values = workspace.values[over]
    law = np.exp((values - values.max()) / 3.0)
    law /= law.sum()
    drawn = [flat_mc.draw_outcome(workspace, count, 3.0, np.uint64(3), turn) for turn in range(MANY)]
    assert_fits(drawn, dict(zip(over.tolist(), law.tolist(), strict=True)))
    best = flat_mc.draw_outcome(workspace, count, 1e-9, np.uint64(3), 0)
    assert workspace.values[best] == values.max()


# --- Turns with their values ---


def assert_expected(game, turn, mover):
    """The turns that follow are legal, of one seat after the other, and end with the mover's next turn or a restock."""
    after = turn.state.copy()
    assert len(turn.line) <= game.num_players
    for number, actions in enumerate(turn.line):
        assert after["current_player"][0] == (mover + 1 + number) % game.num_players
        for action in actions:
            assert game.legal_actions(after)[0, action]
            game.step(after, [action])


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
        assert_expected(game, turn, int(states["current_player"][0]))
    root, edges = agent.search.search.tree, agent.search.search.tree.edge_states
    edge = next(e for e in range(root.num_edges[0]) if edges[e].tobytes() == without_seeds(found[0].state).tobytes())
    first = int(root.first_edge[root.edge_child[edge]])
    most = first + int(root.edge_visits[first : first + root.num_edges[root.edge_child[edge]]].argmax())
    after = play(game, found[0].state, *map(game.action_name, found[0].line[0]))
    assert without_seeds(after).tobytes() == edges[most].tobytes(), "the next seat's turn that was simulated most"
    own = make("search:nodes=3,value=[helpers.searches:Even]")
    with pytest.raises(ValueError, match=r"compares turns only with a compiled evaluator, such as that of zero$"):
        own.best_turns(game, states, np.random.default_rng(3))
    ended = play(game, last_turn(game), "end_turn")
    with pytest.raises(ValueError, match=r"^the game is over"):
        agent.best_turns(game, ended, np.random.default_rng(3))


# --- The last turn ---


@pytest.mark.parametrize(
    "make_agent",
    [
        lambda game: SearchAgent(PlannerAgent(), nodes=8),
        lambda game: SearchAgent(ValueNetAgent(random_net(game)), nodes=8),
        lambda game: ValueNetAgent(random_net(game), rounds=0),
        lambda game: ValueNetAgent(random_net(game), rounds=1),
    ],
    ids=["planner", "search by a net", "net", "net that looks ahead"],
)
def test_the_last_turn_of_a_game_is_played_for_its_result(make_agent):
    """Whatever the evaluator says, no other outcome has a better margin and share of the win."""
    game = variant(2, sets=1, turns_per_set=1)
    states = position(game, player=1, elephants={1: "Bombay"}, baskets={1: ["blue"]}, rupees=[5, 0])
    results = game.results(np.concatenate([turn.state for turn in turns.distinct_turns(game, states)]))
    worths = (results["final"][:, 1] - results["final"].mean(axis=1)) / 10 + 2 * results["win_share"][:, 1]
    assert worths.max() > np.median(worths)
    result = game.results(after_turn(game, states, make_agent(game)))[0]
    worth = (result["final"][1] - result["final"].mean()) / 10 + 2 * result["win_share"][1]
    assert worth == pytest.approx(worths.max())


# --- Evaluators that are unusual ---


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


def test_a_search_by_values_that_are_all_minus_infinity_still_plays():
    game = short_game(3)
    net = random_net(game)
    net.last_bias[1:5] = 3e38  # such a net would be refused, but other evaluators can do so
    states = midgame(game)
    with np.errstate(all="ignore"):
        action = SearchAgent(ValueNetAgent(net), nodes=5).act(game, states, np.random.default_rng(0))
    assert game.legal_actions(states)[0, action[0]]
