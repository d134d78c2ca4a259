"""Nets as players: their files and what these refuse, turns by a value net or a value head, and value nets in searches."""

import dataclasses
import json

import numba
import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets import files, value_features, value_net_turns
from bombay_agents.nets.loading import make_net
from bombay_agents.nets.policy_net import Net
from bombay_agents.nets.policy_net_agent import NetAgent
from bombay_agents.nets.policy_turn_agent import NetOutcomeAgent
from bombay_agents.nets.value_net import ValueNet
from bombay_agents.nets.value_net_agent import ValueNetAgent
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.random import RandomAgent
from bombay_agents.scripted import lookahead, planner
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_agents.scripted.potential import potentials
from bombay_agents.search import evaluation
from bombay_agents.search.agent import SearchAgent
from bombay_env import Game, Rules
from bombay_env.jit.kernels import kernel
from bombay_env.rewards import seat_rewards
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY
from bombay_training.evaluation.audit import audit
from helpers.nets import HIDDEN, rewritten
from helpers.position import assert_fits, official, variant
from helpers.variants import random_board
from test_zero_net import random_net as random_zero_net

SLOW = numba.config.DISABLE_JIT  # evaluating a turn then takes a while
SHORT = {"actions_per_turn": 1, "sets": 2, "turns_per_set": 2}  # turns of a handful of outcomes
CHECKED = 4 if SLOW else 40  # outcomes of a turn
OTHER_BOARD = Game(Rules(3, **SHORT), random_board(3))


def table(n, **changes):
    """A game with n players by the official rules but for `changes`; with short turns if the compiler is off."""
    return variant(n, **(SHORT if SLOW else {}), **changes)


TABLES = [table(n) for n in (2, 3, 4, 5)]


def random_net(*games, **changes):
    """A value net of random weights, trained on `games`."""
    layout, rng = games[0].feature_layout, np.random.default_rng(1)
    size = value_features.num_features(layout)
    shapes = {"first": (size, HIDDEN), "first_bias": (HIDDEN,), "last": (HIDDEN, 10), "last_bias": (10,)}
    tensors = {name: rng.normal(0, 0.4, shape).astype(np.float32) for name, shape in shapes.items()}
    about = files.about_games(games)
    return ValueNet(**({**tensors, "features": value_features.digest(layout), "blend": 0.5, "about": about} | changes))


def policy_net(game, **about):
    """A policy net of random weights, trained on `game`; `about` may describe the rewards."""
    rng = np.random.default_rng(2)

    def layer(inputs, outputs):
        return rng.normal(0, 0.2, (outputs, inputs)).astype(np.float32), np.zeros(outputs, np.float32)

    parts = {
        "trunk": (layer(game.num_features, 4),),
        "policy": (layer(4, game.num_actions),),
        "value": (layer(4, 1),),
    }
    about = {**files.about_games([game]), **about}
    return Net(parts, "tanh", game.feature_layout.digest, "perfect_recall", about)


SHAPED = {"blend": 0.75, "shaping_weight": 0.5}


def positions(game, seed=0, every=1):
    """States of a random game at the start of every `every`-th turn."""
    states, rng, mover, count = game.new_states([seed]), np.random.default_rng(seed), -2, 0
    while not game.is_terminal(states)[0]:
        if states["current_player"][0] != mover:
            mover, count = states["current_player"][0], count + 1
            if count % every == 0:
                yield states.copy()
        game.step(states, RandomAgent().act(game, states, rng))


def chosen(agent, game, states):
    return int(agent.act(game, states, np.random.default_rng(0))[0])


# --- files ---


def test_a_value_net_survives_its_file(tmp_path):
    net = random_net(TABLES[0], blend=np.float32(0.25))
    net.save(tmp_path / "a")
    back = ValueNet.load(tmp_path / "a")
    back.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert back.record().tobytes() == net.record().tobytes()
    assert (back.features, back.blend, back.about) == (net.features, net.blend, net.about)
    record = net.record()[0]
    assert np.array_equal(record["last"][:, :10], net.last)
    assert not record["last"][:, 10:].any()


def wide(tensors, hidden):
    """Make the tensors those of a net that reads a word and has so many hidden units."""
    tensors["first"] = np.zeros((8, hidden), np.float32)
    tensors["first_bias"] = np.zeros(hidden, np.float32)
    tensors["last"] = np.zeros((hidden, 10), np.float32)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda header, tensors: header.update(format="bombay-value/9"), "its format is 'bombay-value/9'"),
        (lambda header, tensors: header.pop("features"), "features is None; it must be of type str"),
        (lambda header, tensors: header.update(blend=True), "blend is True; it must be of type float or int"),
        (lambda header, tensors: header.update(blend=1.5), "blend is 1.5; it must be from 0 to 1"),
        (lambda header, tensors: header.update(blend=10**40), "the number 1000.* has more than 30 characters"),
        (lambda header, tensors: header.update(hidden=9), "hidden is 9; the tensors say otherwise"),
        (lambda header, tensors: tensors.pop("last"), "missing: last"),
        (lambda header, tensors: tensors.update(extra=np.zeros(1, np.float32)), "unknown tensors: extra"),
        (lambda header, tensors: tensors.update(last_bias=np.zeros(10)), "'last_bias' is float64; it must be float32"),
        (lambda header, tensors: tensors.update(last_bias=np.zeros(16, np.float32)), r"last_bias has shape \(16,\)"),
        (lambda header, tensors: tensors["first"].fill(np.inf), "first holds numbers that are not finite"),
        (lambda header, tensors: wide(tensors, 0), r"first has shape \(8, 0\)"),
        (lambda header, tensors: wide(tensors, 1025), "1025 hidden units; there must be from 1 to 1024"),
    ],
)
def test_a_file_that_is_no_value_net_is_refused_in_one_line(tmp_path, change, complaint):
    path = tmp_path / "changed.safetensors"
    random_net(TABLES[0]).save(path)
    rewritten(path, path, change)
    with pytest.raises(ValueError, match=complaint) as caught:
        ValueNet.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_one_name_makes_the_player_for_every_kind_of_net(tmp_path):
    value, policy, other = (str(tmp_path / name) for name in ("value", "policy", "other"))
    random_net(TABLES[0]).save(value)
    policy_net(TABLES[0], training=SHAPED).save(policy)
    files.write_net(other, {"format": "bombay-dance/1"}, {"w": np.zeros(1, np.float32)})
    for options, kind in (
        ({"path": value}, ValueNetAgent),
        ({"path": value, "force": True}, ValueNetAgent),
        ({"path": policy}, NetAgent),
        ({"path": policy, "sample": True, "force": True}, NetAgent),
        ({"path": policy, "outcomes": True}, NetOutcomeAgent),
        ({"path": policy, "outcomes": True, "rounds": 3}, NetOutcomeAgent),
    ):
        agent = make_net(**options)
        assert type(agent) is kind
        given = [f"{key}={'true' if value is True else value}" for key, value in options.items()]
        assert agent.name == "net:" + ",".join(given)
    for options, complaint in (
        ({"path": value, "sample": True}, "sample=true is for policy nets played without outcomes=true"),
        ({"path": policy, "sample": True, "outcomes": True}, "sample=true is for policy nets"),
        ({"path": policy, "rounds": 2}, "rounds is for value nets and with outcomes=true"),
        ({"path": other}, "'bombay-dance/1'; this program reads 'bombay-net/2', 'bombay-value/2', 'bombay-zero/1'"),
        ({"path": __file__}, "not a safetensors file"),
    ):
        with pytest.raises(ValueError, match=complaint) as caught:
            make_net(**options)
        assert str(caught.value).startswith(options["path"])
    for path in (value, policy):
        with pytest.raises(ValueError, match=r"^rounds is 0; it must be a whole number from 1 to 100$"):
            make_net(path, outcomes=True, rounds=0)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        make_net("nowhere")


# --- the games it was trained on ---


def value_player(game, force=False, **changes):
    return ValueNetAgent(dataclasses.replace(random_net(game), **changes), force)


def policy_player(game, force=False, **changes):
    return NetAgent(dataclasses.replace(policy_net(game), **changes), force=force)


def outcome_player(game, force=False, about=None, **changes):
    facts = {**(files.about_games([game]) if about is None else about), "training": SHAPED}
    return NetOutcomeAgent(dataclasses.replace(policy_net(game), about=facts, **changes), force)


@pytest.mark.parametrize("player", [value_player, policy_player, outcome_player])
def test_other_games_than_a_net_was_trained_on_need_force(player):
    game = Game(Rules(2, **SHORT))
    states = game.new_states([1])
    about = files.about_games([game, Game(Rules(3, **SHORT))])
    foreign = {"rules": about["rules"], "board": json.loads(json.dumps(random_board(5).to_dict()))}
    assert game.legal_actions(states)[0, chosen(player(game, about=about), game, states)]
    for facts, complaint in (
        (files.about_games([official(2)]), "was not trained on these rules for 2 players; force=true plays"),
        (foreign, f"was not trained on the board {game.board.name}; force=true"),
        ({}, "does not say which rules and board it was trained on; force=true"),
    ):
        agent = player(game, about=facts)
        for _ in range(2):
            with pytest.raises(ValueError, match=f"^{agent.name} {complaint}"):
                chosen(agent, game, states)
        forced = player(game, force=True, about=facts)
        assert game.legal_actions(states)[0, chosen(forced, game, states)]
        assert forced.name.endswith("force=true")
    with pytest.raises(ValueError, match="was trained on features 0123; this game's are"):
        chosen(player(game, force=True, features="0123"), game, states)


def zero_player(game, force=False):
    return ZeroAgent(random_zero_net(game), force, rounds=0)


@pytest.mark.parametrize("player", [value_player, policy_player, outcome_player, zero_player])
def test_a_net_of_the_packaged_board_needs_force_on_any_other(player):
    """A board with the packaged one's name and other trails is another board."""
    game = Game(Rules(2, **SHORT))
    assert game.board.is_packaged
    for name in (game.board.name, "elsewhere"):
        other = Game(game.rules, dataclasses.replace(random_board(5), name=name))
        states = other.new_states([1])
        with pytest.raises(ValueError, match=f"was not trained on the board {name}; force=true plays"):
            chosen(player(game), other, states)
        assert other.legal_actions(states)[0, chosen(player(game, force=True), other, states)]


def test_a_board_that_is_not_packaged_is_compared_as_a_whole():
    about = json.loads(json.dumps(files.about_games([OTHER_BOARD])))
    files.check_trained_on("net", about, OTHER_BOARD)
    same_name = dataclasses.replace(random_board(5), name=OTHER_BOARD.board.name)
    with pytest.raises(ValueError, match=f"on the board {same_name.name}"):
        files.check_trained_on("net", about, Game(OTHER_BOARD.rules, same_name))


# --- turns ---


@kernel
def evaluate_outcome(tables, net, turn, number):
    """Evaluate an outcome of a turn with empty caches; only kernels can pass nodes on. `net` is a `NetEvaluator`."""
    evaluation = net.evaluation[0]
    seat = np.int64(turn.states[0].current_player)
    value_features.clear_cache(evaluation.features)
    after = turn.memory[0].node[number]
    value_net_turns.evaluate_after(after, tables[0], net.lookups[0], seat, net.net[0], evaluation)


@kernel
def evaluate_position(tables, net, states, seat):
    """Evaluate a position itself, without looking ahead."""
    evaluation = net.evaluation[0]
    evaluation.node.state = states[0]
    value_net_turns.evaluate(evaluation.node.reading, tables[0], net.lookups[0], seat, net.net[0], evaluation)


def by_hand(workspace, net, game, turn, node):
    """What the mover expects of an outcome of a turn that is laid out, computed with empty caches."""
    evaluate_outcome(game.tables, workspace, turn, node)
    forward = workspace.evaluation["forward"]
    return (1 - net.blend) * forward["margin"][0, 0] + net.blend * forward["share"][0, 0]


def proposals(game, state, turn):
    """The nodes of the outcomes that the planner ranks twelfth or higher; the turn is laid out in `turn`."""
    workspace = planner.new_workspace(game)._replace(turn=turn)
    count = planner.value_turn(state, game.tables[0], WEIGHTS_V1[game.num_players], workspace)
    outcomes = np.flatnonzero(turn.due[:count])
    worth = workspace.values[outcomes]
    return outcomes[worth >= np.sort(worth)[-12:].min()]


@pytest.mark.parametrize("rounds", [1] if SLOW else [1, 3])
@pytest.mark.parametrize("game", [*TABLES, OTHER_BOARD], ids=lambda game: f"{game.num_players} on {game.board.name}")
def test_updated_accumulators_and_caches_give_the_same_as_full_computation(game, rounds):
    net = random_net(game, blend=0.25)
    agent = ValueNetAgent(net, rounds=rounds)
    workspace = agent.evaluator(game)
    agent.prepare(game)
    turn, rng, checked = turns.new_workspace(game), np.random.default_rng(3), 0
    for states in positions(game, seed=4, every=3):
        state = states.view(game.state_dtype, np.ndarray)[0]
        agent.choose(game, state, np.uint64(0))
        proposed = proposals(game, state, turn)
        for node in rng.permutation(proposed)[:CHECKED]:
            expected = by_hand(workspace, net, game, turn, node)
            assert agent.workspace.turn["values"][0, node] == pytest.approx(expected, abs=1e-4)
            checked += 1
    assert checked >= 4


def test_a_position_is_read_anew_whatever_position_was_read_before():
    """Two positions that differ in another seat's site only; within a turn no other seat moves."""
    game = TABLES[1]
    agent, states = ValueNetAgent(random_net(game)), game.new_states([1, 1])
    states["position"][1, 1] = states["position"][0, 1] + 1
    values = []
    for lanes in ((0, 1), (0,), (1,)):
        workspace = agent.evaluator(game)
        for lane in lanes:
            evaluate_position(game.tables, workspace, states[lane : lane + 1], 0)
        values.append(workspace.evaluation["forward"]["share"][0].tolist())
    assert values[0] == values[2] != values[1]


@pytest.mark.parametrize("game", TABLES[::2] if SLOW else TABLES, ids=lambda game: str(game.num_players))
def test_the_outcome_taken_is_the_best_of_those_proposed(game):
    net = random_net(*TABLES)
    agent, again = ValueNetAgent(net), ValueNetAgent(net)
    workspace, turn, actions = agent.evaluator(game), turns.new_workspace(game), np.empty(256, np.int64)
    most = 0
    for state in positions(game, every=3):
        record, worth = state.view(game.state_dtype, np.ndarray)[0], {}
        proposed = proposals(game, record, turn)
        most = max(most, np.count_nonzero(turn.due[: proposed.max() + 1]) - len(proposed))
        for node in proposed:
            found = by_hand(workspace, net, game, turn, node)
            turns.way_to(turn, node, actions)
            worth[actions[0]] = max(found, worth.get(actions[0], -np.inf))
        action = chosen(agent, game, state)
        assert worth[action] == pytest.approx(max(worth.values()), abs=1e-5)
        assert chosen(again, game, state) == action
    assert SLOW or most > 0, "everything was proposed"


@pytest.mark.parametrize("kind", [ValueNetAgent, NetOutcomeAgent, NetAgent])
def test_nets_use_only_what_players_may_see(kind):
    games = TABLES[:1] if SLOW else [*TABLES]
    of_policy = policy_net(games[0], training=SHAPED)
    net, force = (random_net(*games), False) if kind is ValueNetAgent else (of_policy, True)
    report = audit(lambda: kind(net, force=force), games, 2 if SLOW else 48)
    assert str(report) == f"passed in {report.states} states"


def test_a_policy_net_that_samples_draws_by_its_logits():
    game, net = TABLES[0], policy_net(TABLES[0])
    ((weight, bias),) = net.parts["policy"]
    net = dataclasses.replace(net, parts={**net.parts, "policy": ((5 * weight, bias),)})
    states = game.new_states([3] * (300 if SLOW else 5_000))
    actions = NetAgent(net, sample=True).act(game, states, np.random.default_rng(1))
    legal = np.flatnonzero(game.legal_actions(states[:1])[0])
    weights = np.exp(net.forward(game.observe(states[:1]))[0][0, legal].astype(np.float64))
    assert weights.max() > 5 * weights.min()
    assert_fits(actions.tolist(), dict(zip(legal.tolist(), weights / weights.sum(), strict=True)))


@kernel
def look_ahead(tables, workspaces, turn, number):
    """`lookahead.look_ahead` with an empty cache."""
    seat = np.int64(turn.states[0].current_player)
    lookahead.clear_cache(workspaces[0])
    lookahead.look_ahead(turn.memory[0].node[number], tables[0], seat, workspaces[0])


@pytest.mark.parametrize("rounds", [1] if SLOW else [1, 5])
def test_a_value_head_adds_what_was_paid_to_what_it_expects_at_the_leaf(rounds):
    game = Game(Rules(3, **SHORT))
    agent = NetOutcomeAgent(policy_net(game, training=SHAPED), rounds=rounds)
    workspace, actions = turns.new_workspace(game), np.empty(256, np.int64)
    ahead = np.zeros(1, lookahead.workspace_dtype(game.board.num_sites))
    lookahead.set_constants(ahead, game, rounds)
    leaf = ahead["leaf"]["state"][0]
    kinds = set()
    for state in positions(game):
        seat, worth = int(state["current_player"][0]), {}
        record = state.view(game.state_dtype, np.ndarray)[0]
        for node in proposals(game, record, workspace):
            look_ahead(game.tables, ahead, workspace, node)
            over = game.is_terminal(leaf)[0]
            to_come = agent.net.forward(game.observe(leaf, seats=[seat]))[1][0]
            found = to_come + 0.5 * potentials(game, leaf, 0.75)[0, seat]
            if over:
                margin, win = (seat_rewards(game.results(leaf), kind)[0, seat] for kind in ("margin", "win"))
                found = 0.25 * margin + 0.75 * win
            turns.way_to(workspace, node, actions)
            worth[actions[0]] = max(found, worth.get(actions[0], -np.inf))
            kinds.add((bool(over), bool(workspace.states["current_player"][node] < 0)))
        assert worth[chosen(agent, game, state)] == pytest.approx(max(worth.values()), abs=1e-5)
    assert kinds == {(False, False), (True, False), (True, True)}
    assert agent.act(game, state[:0], np.random.default_rng(0)).shape == (0,)


@pytest.mark.parametrize("shaping", ["planner", "result"])
def test_a_value_head_adds_the_potential_that_shaped_its_rewards(shaping):
    game = Game(Rules(3, **SHORT))
    agent = NetOutcomeAgent(policy_net(game, training={**SHAPED, "shaping": shaping}))
    states = np.concatenate(list(positions(game)))
    rows, seats = np.arange(len(states)), np.arange(len(states)) % 3
    result = seat_rewards(game.provisional_results(states), "margin")
    paid = {"planner": potentials(game, states, 0.75), "result": result}[shaping][rows, seats]
    wanted = agent.net.forward(game.observe(states, seats=seats))[1] + 0.5 * paid
    np.testing.assert_allclose(agent.values(game, states, seats), wanted, atol=1e-6)


@pytest.mark.parametrize(
    "training", [None, {}, {"blend": 0.5}, {"blend": 2, "shaping_weight": 1}, {**SHAPED, "shaping": "fun"}]
)
def test_a_value_head_with_an_unknown_reward_is_refused(training):
    with pytest.raises(ValueError, match=r"does not say what its value was trained on .*blend.*shaping_weight"):
        NetOutcomeAgent(policy_net(TABLES[0], training=training))


# --- in searches ---


@pytest.mark.parametrize("begins", [True, False])
@pytest.mark.parametrize("game", TABLES, ids=lambda game: str(game.num_players))
def test_shares_sum_to_one_and_go_to_the_seats_they_are_for(game, begins):
    """The net's bias favours seats in order from the viewer: the mover at the start of a set, else the seat before it."""
    n, net = game.num_players, random_net(*TABLES)
    bias = np.zeros(10, np.float32)
    bias[MAX_PLAYERS:] = np.arange(0, -4 * MAX_PLAYERS, -4)
    agent = ValueNetAgent(dataclasses.replace(net, last=0 * net.last, last_bias=bias))
    evaluator = evaluation.new_evaluator(game, agent)
    for mover in range(n):
        states, shares = game.new_states([mover]), np.full(MAX_PLAYERS, 7.0)
        states["current_player"] = mover
        states["first_player"] = mover if begins else (mover + 1) % n
        assert evaluation.evaluate(states[0], np.int64(turns.TURN_OVER), game.tables[0], evaluator, shares)
        assert shares[:n].sum() == pytest.approx(1)
        assert shares[n:].tolist() == [7.0] * (MAX_PLAYERS - n)
        viewer = mover if begins else (mover - 1) % n
        assert np.argsort(-shares[:n]).tolist() == [(viewer + place) % n for place in range(n)]


@pytest.mark.parametrize("rounds", [1] if SLOW else [1, 2])
@pytest.mark.parametrize("game", TABLES[::2] if SLOW else [*TABLES, table(3, rotate_first_player=False)])
def test_searches_get_the_nets_shares_at_ends_of_turns_and_starts_of_sets(game, rounds):
    net, shares, met = random_net(game), np.zeros(MAX_PLAYERS), []
    agent = ValueNetAgent(net, rounds=rounds)
    evaluator, workspace = evaluation.new_evaluator(game, agent), agent.evaluator(game)
    turn, rng, n = turns.new_workspace(game), np.random.default_rng(3), game.num_players

    def check(state, due, seat):
        assert evaluation.evaluate(state, np.int64(due), game.tables[0], evaluator, shares)
        assert np.roll(shares[:n], -seat) == pytest.approx(workspace.evaluation["forward"]["share"][0, :n])

    begun = game.new_states([1]).view(game.state_dtype, np.ndarray)
    evaluate_position(game.tables, workspace, begun, np.int64(0))
    check(begun[0], turns.TURN_OVER, 0)
    for states in positions(game, seed=4, every=2):
        state = states.view(game.state_dtype, np.ndarray)[0]
        count = turns.enumerate_turn(state, game.tables[0], turn)
        for node in rng.permutation(np.flatnonzero(turn.due[:count] != turns.TURN_GOES_ON))[:CHECKED]:
            if turn.states[node]["current_player"] != NOBODY:
                evaluate_outcome(game.tables, workspace, turn, node)
                check(turn.states[node], turn.due[node], int(state["current_player"]))
                met.append(int(turn.due[node]))
    assert len(met) >= 4
    assert set(met) == {turns.TURN_OVER, turns.RESTOCK_DUE}


@pytest.mark.parametrize(
    "spec", ["search:nodes={},rounds={}", "flat-mc:rollouts={},k=3,rounds={}"], ids=["tree", "flat"]
)
def test_searches_with_a_net_repeat_and_differ_from_those_without(spec, tmp_path):
    game = TABLES[0]
    path = tmp_path / "net.safetensors"
    net = random_net(game)
    dataclasses.replace(net, last=4 * net.last).save(path)
    states = np.concatenate(list(positions(game, every=1 if SLOW else 3)))
    decisions = {}
    for rounds in (0,) if SLOW else (0, 1):
        for value in ("", f",value=[net:path={path}]", f",value=[net:path={path}]"):
            agent = make(spec.format(6 if SLOW else 24, rounds) + value)
            found = [chosen(agent, game, states[lane : lane + 1]) for lane in range(len(states))]
            assert decisions.setdefault((rounds, value), found) == found
            assert agent.name.endswith(value)
        assert decisions[rounds, ""] != decisions[rounds, value]
    other = Game(Rules(2, sets=1))
    with pytest.raises(ValueError, match="force=true"):
        chosen(agent, other, other.new_states([1]))


def test_a_policy_net_cannot_evaluate_positions_for_a_search():
    with pytest.raises(ValueError, match="values no positions"):
        SearchAgent(nodes=5, value=NetAgent(policy_net(TABLES[0])))
