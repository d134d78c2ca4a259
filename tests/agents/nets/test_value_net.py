"""The value net: that updating it equals computing it in full, its file, and the players that use it."""

import dataclasses
import itertools
import re
import tomllib

import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.nets import files
from bombay_agents.nets.loading import make_net
from bombay_agents.nets.value import evaluator as value_evaluator
from bombay_agents.nets.value import features
from bombay_agents.nets.value import net as value_net
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.nets.value.net import ValueNet
from bombay_agents.random import RandomTurnAgent
from bombay_agents.search.agent import SearchAgent
from bombay_env import Board, Game, Rules, batch, chance, streams
from bombay_env.state import NOBODY, new_records
from bombay_training.evaluation import arena
from bombay_training.learners.zero import ZeroRun, ZeroSettings
from helpers.draws import interpreted
from helpers.nets import (
    HIDDEN,
    SECOND,
    SHORT,
    SLOW,
    TABLES,
    outcomes_of,
    random_net,
    rewritten,
    starts_of_turns,
    value_of,
)
from helpers.position import neighbours, variant
from helpers.refusal import refusal
from helpers.variants import larger_board, random_board


def test_no_two_features_share_a_name_or_a_row():
    described, first = features.all_features(24), features.first_rows(24)
    assert len({feature.name for feature in described}) == len(described) == len(first)
    assert (np.diff(first) == [feature.size for feature in described[:-1]]).all()
    assert first[-1] + described[-1].size == features.num_rows(24)
    assert len(described) == features.num_shared_features(24) + features.num_own_features()


def test_the_digest_covers_sizes_and_no_prose(monkeypatch):
    before = features.digest(24)
    real = features.all_features
    monkeypatch.setattr(
        features, "all_features", lambda sites: [feature._replace(about="other words") for feature in real(sites)]
    )
    assert features.digest(24) == before
    monkeypatch.setattr(
        features, "all_features", lambda sites: [feature._replace(size=feature.size + 1) for feature in real(sites)]
    )
    assert features.digest(24) != before


# --- Evaluation ---


OTHER_BOARD = Game(Rules(3, **SHORT), random_board(3))
LARGER_BOARD = pytest.param(
    Game(Rules(3, **SHORT), Board.from_dict(tomllib.loads(larger_board()))),
    marks=pytest.mark.skipif(not SLOW, reason="its kernels take long to compile; `make coverage` runs it"),
)


@pytest.mark.parametrize(
    "game", [*TABLES, OTHER_BOARD, LARGER_BOARD], ids=["2", "3", "4", "5", "other board", "larger board"]
)
def test_updating_the_accumulator_equals_computing_it_in_full(game):
    evaluator, n = value_evaluator.new_evaluator(game, random_net(game)), game.num_players
    compared, entries = 0, 0
    for state in starts_of_turns(game, 3 if SLOW else 12, 5):
        mover, found = int(state["current_player"]), outcomes_of(game, evaluator, state)
        entries = max(entries, int(evaluator.memory["encoding"]["num_entries"][0]))
        for place in range(0, len(found.nodes), 4 if SLOW else 1):
            margin, share = value_of(game, evaluator, found.states[place], mover)
            assert found.outputs[place, :n].tolist() == margin.tolist()  # whole numbers round nothing
            assert found.outputs[place, 5 : 5 + n].tolist() == share.tolist()
            assert found.values[place] == pytest.approx(margin[0] + 2 * share[0], abs=1e-4)
            assert margin.sum() == pytest.approx(0, abs=1e-4)
            assert share.sum() == pytest.approx(1, abs=1e-5)
            compared += 1
    assert compared > (1 if SLOW else 20)
    assert SLOW or entries > 1


@pytest.mark.parametrize("game", TABLES, ids=["2", "3", "4", "5"])
def test_the_shares_of_a_turns_outcomes_are_by_seat_whoever_moves(game):
    agent, n = ValueNetAgent(random_net(game)), game.num_players
    evaluator, movers = agent.evaluator(game), set()
    for state in starts_of_turns(game, 3 if SLOW else 12, 5):
        states, mover = np.array([state]), int(state["current_player"])
        if mover not in movers:
            movers.add(mover)
            outcomes, shares = agent.turn_shares(game, states)
            for outcome, row in list(zip(outcomes, shares, strict=True))[:3]:
                _, expected = value_of(game, evaluator, outcome.state, mover)  # in seat order from the mover
                assert row.tolist() == pytest.approx([expected[(seat - mover) % n] for seat in range(n)], abs=1e-6)
            assert agent.win_shares(game, states)[0].tolist() == shares[0].tolist()
    assert SLOW or len(movers) > 1


def test_a_turn_is_valued_by_the_net_given_whatever_net_valued_the_last_one():
    """The training's workspaces outlive the weights: nothing in them may be of another net."""
    game, net = TABLES[1], random_net(TABLES[1])
    other = dataclasses.replace(net, first=-net.first, first_bias=2 * net.first_bias)
    state = starts_of_turns(game, 3, 5)[0]
    values = []
    for nets in ((net, other), (other,)):
        evaluator = value_evaluator.new_evaluator(game, net)
        for each in nets:
            found = outcomes_of(game, evaluator._replace(net=each.quantized(features.first_rows(24))), state)
        values.append(found.values.tolist())
    assert values[0] == values[1]


@interpreted
@pytest.mark.parametrize("game", [TABLES[0], TABLES[3]], ids=["2", "5"])
def test_no_two_positions_are_taken_for_one(game):
    """Positions that differ in a single entry are valued as they are without the cache of accumulators.

    With the compiler off only: a kernel that values such positions in one cache would be compiled for this test alone.
    """
    evaluator, viewer = value_evaluator.new_evaluator(game, random_net(game)), game.num_players - 1
    node, memory = new_records(1, turns.memory_dtype(game.board.num_sites)["node"].base), evaluator.memory[0]

    def value(states):
        node["state"] = states
        value_evaluator.value_position(node[0], game.tables[0], viewer, evaluator.net[0], memory)
        return memory.forward.margin.tolist(), memory.forward.share.tolist()

    state = max(starts_of_turns(game, 6, 5), key=lambda state: (state["set"], state["basket"].sum()))
    first, different = np.array([state]), 0
    for _, group in itertools.groupby(neighbours(game, state), key=lambda found: found[0]):
        others = [other for _, other in group]
        for other in (
            others[0],
            others[-1],
        ):  # of fields with a number for each seat: of another seat, and of the viewer
            value_evaluator.clear_cache(memory)
            before, found, again = value(first), value(other), value(first)
            value_evaluator.clear_cache(memory)
            assert value(other) == found
            assert again == before
            different += found != before
    assert different > 20


def test_whole_numbers_fill_the_range_of_int16_and_no_sum_leaves_it():
    """The largest sum of a row of each feature, also for a unit without weights, and where a weight or a bias is huge."""
    net, first_rows = random_net(TABLES[0]), features.first_rows(24)
    net.first[:, 0] = net.first_bias[0] = 0
    net.first[:, 1] *= np.float32(1e30)
    net.first[-1, 2] = net.first_bias[3] = 10
    played = net.quantized(first_rows)
    rows, bias = played["first"][0].astype(np.int64), played["first_bias"][0].astype(np.int64)
    farthest = np.maximum.reduceat(abs(rows), first_rows).sum(axis=0) + abs(bias)
    assert farthest[0] == 0
    assert farthest[1:].min() > 32000
    assert farthest.max() <= 32767
    assert np.isfinite(played["second"]).all()


# --- Files ---


def test_a_number_too_large_for_a_file_is_refused_and_the_old_file_stays(tmp_path):
    path, tensor = tmp_path / "net.safetensors", np.ones(2, np.float32)
    files.write_net(path, {"format": "any"}, {"first": tensor}, half=("first",))
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"^'first' holds numbers that are not finite in float16$"):
        files.write_net(path, {"format": "any"}, {"first": 70_000 * tensor}, half=("first",))
    assert path.read_bytes() == before


def test_a_net_is_the_same_after_saving_and_loading(tmp_path):
    net = random_net(*TABLES)
    net.save(tmp_path / "net.safetensors")
    loaded = ValueNet.load(tmp_path / "net.safetensors")
    assert loaded.record().tobytes() == net.record().tobytes()
    assert (loaded.features, loaded.share_weight, loaded.about) == (net.features, net.share_weight, dict(net.about))
    assert isinstance(make_net(str(tmp_path / "net.safetensors")), ValueNetAgent)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"share_weight": -1.0}, "share_weight is -1.0; it must be from 0 to 100"),
        ({"last_bias": np.zeros(9, np.float32)}, r"last_bias has shape \(9,\)"),
        ({"first": np.zeros((5, HIDDEN))}, "first is float64; it must be float32"),
        ({"second": np.full((HIDDEN, SECOND), -7e4, np.float32)}, "second holds weights beyond 65504"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(changes, reason):
    with pytest.raises(ValueError, match=reason):
        random_net(TABLES[0], **changes)


def test_outputs_are_finite_with_the_largest_weights():
    game, net = TABLES[0], random_net(TABLES[0])
    signs = {name: np.sign(getattr(net, name)) for name in value_net.TENSORS}
    largest = dataclasses.replace(net, **{name: sign * np.float32(65504) for name, sign in signs.items()})
    dead = dataclasses.replace(largest, first_bias=np.full(HIDDEN, -65504, np.float32))
    for each in (largest, dead):
        found = outcomes_of(game, value_evaluator.new_evaluator(game, each), starts_of_turns(game, 3, 5)[0])
        assert np.isfinite(found.outputs).all()


def wide(tensors, hidden):
    """Make the tensors those of a net with so many units in its first hidden layer."""
    tensors["first"] = np.zeros((len(tensors["first"]), hidden), np.float16)
    tensors["first_bias"] = np.zeros(hidden, np.float32)
    tensors["second"] = np.zeros((hidden, SECOND), np.float32)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda header, tensors: header.update(format="bombay-zero/9"), "its format is 'bombay-zero/9'"),
        (lambda header, tensors: header.pop("slots"), "slots is None; it must be of type str"),
        (
            lambda header, tensors: header.update(share_weight=10**40),
            "share_weight is 1000.*; it must be from 0 to 100",
        ),
        (lambda header, tensors: tensors.pop("last"), "missing: last"),
        (lambda header, tensors: tensors.update(extra=np.zeros(1, np.float32)), "unknown tensors: extra"),
        (lambda header, tensors: tensors.update(last_bias=np.zeros(10)), "'last_bias' is float64; it must be float32"),
        (lambda header, tensors: tensors["first"].fill(np.inf), "first holds numbers that are not finite"),
        (
            lambda header, tensors: wide(tensors, 1028),
            "a layer has 1028 units; it must have a multiple of 4, up to 1024",
        ),
    ],
)
def test_a_file_that_is_no_value_net_is_refused_in_one_line(tmp_path, change, complaint):
    path = tmp_path / "changed.safetensors"
    random_net(TABLES[0]).save(path)
    rewritten(path, path, change)
    assert re.match(f"{path}: .*{complaint}", refusal(lambda: ValueNet.load(path)))


def test_a_net_that_lacks_rows_is_refused_before_kernels_read_beyond_the_last():
    game, net = TABLES[0], random_net(TABLES[0])
    player = ValueNetAgent(dataclasses.replace(net, first=net.first[:-1]), force=True)
    rows, states, rng = len(net.first), game.new_states([0]), np.random.default_rng(0)
    for use in (
        lambda: player.act(game, states, rng),
        lambda: player.win_shares(game, states),
        lambda: SearchAgent(player, nodes=1).act(game, states, rng),
    ):
        with pytest.raises(ValueError, match=f"was trained on rows {rows - 1}; this game's are {rows}"):
            use()


# --- Players ---


def looked_ahead(game, evaluator, after, due, seat, seed):
    """What a seat expects of an outcome after its own next turn, played turn by turn, and whether chance took part."""
    states, drawn = np.array([after]), False
    states["seed"] = seed
    while states["current_player"][0] != NOBODY:
        if due == turns.RESTOCK_DUE:
            batch.restock(states[0], game.tables[0], np.zeros(4, np.int64))
            drawn = True
        found = outcomes_of(game, evaluator, states[0])
        best = int(found.values.argmax())
        if states["current_player"][0] == seat:
            return found.values[best], drawn
        states[0], due = found.states[best], found.due[best]
    result = game.results(states)[0]
    return (result["final"][seat] - result["final"].mean()) / 10 + 2 * result["win_share"][seat], drawn


def test_looking_ahead_plays_on_by_the_net_until_the_movers_next_turn_has_ended():
    """The few outcomes that are worth most at once, the mean over two restocks where a set ends on the way."""
    game, width = variant(3, **(SHORT if SLOW else {"sets": 3, "turns_per_set": 2})), 4
    agent = ValueNetAgent(random_net(game), width=width, draws=2)
    evaluator, key = agent.evaluator(game), np.uint64(5)
    agent.prepare(game)
    chances = set()
    states, rng, number = game.new_states([5]), np.random.default_rng(5), 0
    while not game.is_terminal(states)[0]:
        state, seat = np.asarray(states)[0].copy(), int(states["current_player"][0])
        game.step(states, RandomTurnAgent().act(game, states, rng))
        number += 1
        if state["actions_left"] < game.rules.actions_per_turn or number % (2 if SLOW else 4):
            continue
        taken = agent.choose(game, state, key)
        values = agent._workspace.turn["values"][0]
        outcomes = outcomes_of(game, evaluator, state)
        found = {}
        for place in np.argsort(-outcomes.values, kind="stable")[:width]:
            worth = []
            for draw in range(2):
                seed = chance.random_word(key, streams.LOOKAHEAD, np.uint64(draw))
                after, due = outcomes.states[place], outcomes.due[place]
                value, drawn = looked_ahead(game, evaluator, after, due, seat, seed)
                worth.append(value)
                chances.add(drawn)
            found[int(outcomes.nodes[place])] = np.mean(worth if drawn else worth[:1])
        assert [int(node) for node in outcomes.nodes if values[node] > -np.inf] == sorted(found)
        assert {node: float(values[node]) for node in found} == pytest.approx(found, abs=1e-4)
        assert found[taken] == pytest.approx(max(found.values()), abs=1e-4)
    assert chances == {False, True}


@pytest.mark.skipif(SLOW, reason="a match takes minutes without the compiler")
def test_an_untrained_net_loses_to_greedy():
    """So what a trained one knows it has learned."""
    game = variant(4)
    untrained = ZeroRun(ZeroSettings(players=(4,))).net()
    match = arena.one_vs_rest(game, ValueNetAgent(untrained, rounds=0), "greedy", 30, seed=1)
    assert match.of_agent(match.win_share).mean() <= 0.05
