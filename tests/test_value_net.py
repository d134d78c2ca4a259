"""The value net: what it reads, that updating it equals computing it in full, its file, and the players that use it."""

import dataclasses

import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.nets import files
from bombay_agents.nets.loading import make_net
from bombay_agents.nets.value import evaluator as value_evaluator
from bombay_agents.nets.value import features
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.nets.value.net import ValueNet
from bombay_agents.random import RandomTurnAgent
from bombay_agents.search.agent import SearchAgent
from bombay_agents.turns.evaluator import MARGIN_UNIT, new_turns
from bombay_env import Game, Rules, batch, chance, streams
from bombay_env.rules import COLOUR_NAMES
from bombay_env.state import NOBODY
from bombay_training.evaluation import arena
from bombay_training.learners.zero import ZeroRun, ZeroSettings
from helpers.nets import (
    HIDDEN,
    SECOND,
    SHORT,
    SLOW,
    TABLES,
    lay_out,
    random_net,
    read,
    rewritten,
    starts_of_turns,
    values_of,
)
from helpers.position import play, position, variant
from helpers.refusal import refusal
from helpers.variants import random_board

OTHER_BOARD = Game(Rules(3, **SHORT), random_board(3))
each_table = pytest.mark.parametrize("game", [*TABLES, OTHER_BOARD], ids=["2", "3", "4", "5", "other board"])


# --- What it reads ---


@each_table
def test_every_value_of_a_feature_is_in_its_range_and_absent_seats_have_none(game):
    n = game.num_players
    sizes = {feature.name: feature.size for feature in features.all_features(game.board.num_sites)}
    seen = {}
    for state in starts_of_turns(game, 4 if SLOW else 60, 3):
        mover = int(state["current_player"])
        for name, value in read(game, state.reshape(1), (mover + n - 1) % n).items():
            absent = name[-1].isdigit() and ", place " in name and int(name[-1]) >= n
            assert (value is None) == absent, name
            assert value is None or 0 <= value < sizes[name], (name, value)
            seen.setdefault(name, set()).add(value)
    varied = sum(len(values) > 1 for values in seen.values())
    assert SLOW or varied > 0.5 * sum(values != {None} for values in seen.values())


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


def test_ways_and_prices_of_a_position():
    """Seat 0 stands in Bombay with two blue bales: 4 rupees for the first, which then is at the bottom, 1 for the second."""
    game = variant(4)
    held = read(
        game,
        position(game, player=1, elephants={0: "Bombay"}, baskets={0: ["blue", "blue"]}),
    )
    assert [held[f"own sale {steps}"] for steps in (1, 2)] == [4, 5]
    assert held["own new city way"] == 1
    many_turns, ways = features.BUCKETS - 1, features.MAX_SALE_WAY + 1
    assert held["own sale way"] == (many_turns * features.LOADS + 2) * ways + 1
    assert held["own client way"] == 0 or held["own client way"] > 1  # blue on top brings no Client token
    assert held["own basket"] == 1 + 4 + 4 + 3  # of the pairs: yellow 4, purple 3, then blue and blue
    alone = read(
        game,
        position(game, player=1, elephants={0: "Bombay"}, baskets={0: ["purple", "blue"]}),
    )
    assert [alone[f"own sale {steps}"] for steps in (1, 2)] == [4, 8]  # purple in the middle moves up when blue is sold
    assert alone["own client way"] == 1  # purple brings one wherever it stands


def test_a_purchase_and_sale():
    """A yellow bale costs 2 rupees in the right market; from its post the best city is some actions away."""
    game = variant(2)
    seen = read(game, position(game, player=1, elephants={0: "E1"}, rupees=[5, 5]))
    ways = [seen[f"own post way {colour}"] for colour in range(len(COLOUR_NAMES))]
    per_market, room = features.MAX_POST_WAY + 1, 1 + 3 * (features.MAX_POST_WAY + 1)
    assert ways[0] == room + 1 + 2 * per_market  # at the post of yellow, which the right market offers
    assert all(way > room for way in ways)
    assert seen["own sale way"] == (features.BUCKETS - 1) * features.LOADS * (
        features.MAX_SALE_WAY + 1
    )  # no bales, no sale
    tables, best = game.tables[0], {}
    for step in features.TRADE_STEPS:
        profits = []
        for post, colour in zip(tables["post_sites"][:4], range(4), strict=True):
            market = (2, 1, 0, 0)[colour]
            spent = tables["distance"][game.board.site_index("E1"), post] + tables["market_actions"][market] + 1
            for city, column in zip(tables["city_sites"], tables["demand_columns"], strict=True):
                if colour in column and spent + tables["distance"][post, city] <= step:
                    place = list(column).index(colour)
                    profits.append(tables["sale_rupees"][place, colour] - tables["market_rupees"][market])
        best[step] = features.MAX_PROFIT + 3 + (2 + max(-1, min(features.MAX_PROFIT, max(profits))) if profits else 0)
    assert {step: seen[f"own trade {step}"] for step in features.TRADE_STEPS} == best


def test_a_rivals_features_are_its_own_seen_from_the_viewer():
    """What a seat reads of itself, the others read of it."""
    game = variant(4)
    states = position(game, player=2, elephants=dict(enumerate(("E1", "F2", "G3", "Bombay"))), rupees=[3, 7, 0, 12])
    for viewer in range(4):
        seen = read(game, states, viewer)
        for place in range(1, 4):
            own = read(game, states, (viewer + place) % 4)
            for feature in features.seat_features(game.board.num_sites):
                assert seen[f"{feature.name}, place {place}"] == own[f"own {feature.name}"]


def test_leads_and_turns_to_come_are_those_of_the_game():
    """The viewer's turns are counted by ending turns one by one; a lead is by the result if the game ended now."""
    for game in (variant(3, sets=2, turns_per_set=2), variant(4, sets=2, turns_per_set=2, rotate_first_player=False)):
        n, leads = game.num_players, set()
        for state in starts_of_turns(game, 3 if SLOW else 8, 4):
            movers, states = [], state.reshape(1).copy()
            final = game.provisional_results(states)["final"][0].astype(int)
            while not game.is_terminal(states)[0]:
                movers.append(int(states["current_player"][0]))
                states = play(game, states, "end_turn")
            for viewer in range(n):
                seen, left = read(game, state.reshape(1), viewer), movers.count(viewer)
                assert seen["time"] == (n - 2) * (features.MAX_TURNS + 1) + left
                bucket = left if left <= 2 else 3 if left <= 4 else 4
                for place in range(1, n):
                    lead = np.clip(final[viewer] - final[(viewer + place) % n], -features.MAX_LEAD, features.MAX_LEAD)
                    leads.add(int(lead))
                    assert seen[f"lead, place {place}"] == (lead + features.MAX_LEAD) * features.BUCKETS + bucket
        assert len(leads) > 2


# --- Evaluation ---


@each_table
def test_updating_the_accumulator_equals_computing_it_in_full(game):
    evaluator, turn = value_evaluator.new_evaluator(game, random_net(game)), new_turns(game, 1)
    compared, entries, n = 0, 0, game.num_players
    for state in starts_of_turns(game, 3 if SLOW else 12, 5):
        mover, count = int(state["current_player"]), lay_out(state, game.tables, evaluator, turn)
        entries = max(entries, int(evaluator.memory["encoding"]["num_entries"][0]))
        for node in np.flatnonzero(turn["memory"]["node"]["due"][0, :count])[:: 4 if SLOW else 1]:
            after = turn["memory"]["node"]["state"][0, node : node + 1]
            margin, share = np.roll(values_of(game, evaluator, after, [mover])[0], -mover, axis=1)
            assert turn["outputs"][0, node, :n] == pytest.approx(margin, abs=1e-4)
            assert turn["outputs"][0, node, 5 : 5 + n] == pytest.approx(share, abs=1e-4)
            assert turn["values"][0, node] == pytest.approx(margin[0] + 2 * share[0], abs=1e-4)
            assert margin.sum() == pytest.approx(0, abs=1e-4)
            assert share.sum() == pytest.approx(1, abs=1e-5)
            compared += 1
    assert compared > (1 if SLOW else 20)
    assert SLOW or entries > 1


def test_a_turn_is_valued_by_the_net_given_whatever_net_valued_the_last_one():
    """The training's workspaces outlive the weights: nothing in them may be of another net."""
    game, net = TABLES[1], random_net(TABLES[1])
    other = dataclasses.replace(net, first=-net.first, first_bias=2 * net.first_bias)
    state = starts_of_turns(game, 3, 5)[0]
    values = []
    for nets in ((net, other), (other,)):
        evaluator, turn = value_evaluator.new_evaluator(game, net), new_turns(game, 1)
        for each in nets:
            count = lay_out(state, game.tables, evaluator._replace(net=each.record()), turn)
        values.append(turn["values"][0, :count].tolist())
    assert values[0] == values[1]


def test_the_outcomes_that_the_net_values_are_counted():
    """Each outcome of a turn counts once; none of a turn that ends the game does, since the result is known."""
    game = variant(3, sets=1, turns_per_set=1, actions_per_turn=2)
    evaluator, turn, total = value_evaluator.new_evaluator(game, random_net(game)), new_turns(game, 1), 0
    for player in range(3):
        count = lay_out(position(game, player=player)[0], game.tables, evaluator, turn)
        outcomes = (turn["memory"]["node"]["due"][0, 1:count] != turns.TURN_GOES_ON).sum()
        assert outcomes > 1
        total += outcomes * (player < 2)
        assert evaluator.memory["evaluated"] == total


def test_a_finished_game_is_worth_its_result():
    game = variant(3, sets=1, turns_per_set=1)
    states = play(game, position(game, player=2, rupees=[4, 9, 1]), "end_turn")
    margin, share = values_of(game, value_evaluator.new_evaluator(game, random_net(game)), np.asarray(states), [1])[0]
    result = game.results(states)[0]
    assert margin == pytest.approx((result["final"] - result["final"].mean()) / MARGIN_UNIT)
    assert share.tolist() == result["win_share"].tolist()


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
        ({"second_bias": np.full(SECOND, np.nan, np.float32)}, "second_bias holds numbers that are not finite"),
        ({"first": np.zeros((5, HIDDEN))}, "first is float64; it must be float32"),
        (
            {"second": np.zeros((HIDDEN, 6), np.float32), "second_bias": np.zeros(6, np.float32)}
            | {"last": np.zeros((6, 10), np.float32)},
            "a layer has 6 units; it must have a multiple of 4, up to 1024",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_refused(changes, reason):
    with pytest.raises(ValueError, match=reason):
        random_net(TABLES[0], **changes)


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
            lambda header, tensors: header.update(share_weight=True),
            "share_weight is True; it must be of type float or int",
        ),
        (
            lambda header, tensors: header.update(share_weight=10**40),
            "share_weight is 1000.*; it must be from 0 to 100",
        ),
        (lambda header, tensors: tensors.pop("last"), "missing: last"),
        (lambda header, tensors: tensors.update(extra=np.zeros(1, np.float32)), "unknown tensors: extra"),
        (lambda header, tensors: tensors.update(last_bias=np.zeros(10)), "'last_bias' is float64; it must be float32"),
        (lambda header, tensors: tensors["first"].fill(np.inf), "first holds numbers that are not finite"),
        (lambda header, tensors: wide(tensors, 0), r"first has shape \(\d+, 0\)"),
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
    assert refusal(lambda: ValueNet.load(path)).startswith(f"{path}: ")
    with pytest.raises(ValueError, match=complaint):
        ValueNet.load(path)


@pytest.mark.parametrize(
    "use",
    [
        lambda player, *position: player.act(*position),
        lambda player, game, states, rng: player.win_shares(game, states),
        lambda player, *position: SearchAgent(player, nodes=1).act(*position),
    ],
    ids=["act", "win_shares", "search"],
)
def test_a_net_that_lacks_rows_is_refused_before_kernels_read_beyond_the_last(use):
    game, net = TABLES[0], random_net(TABLES[0])
    player = ValueNetAgent(dataclasses.replace(net, first=net.first[:-1]), force=True)
    rows = len(net.first)
    with pytest.raises(ValueError, match=f"was trained on rows {rows - 1}; this game's are {rows}"):
        use(player, game, game.new_states([0]), np.random.default_rng(0))


# --- Players ---


def turn_of(game, state, evaluator, turn):
    """The nodes of the outcomes of a turn, what they are worth to its mover at once, their states, and what is due there."""
    count = lay_out(state, game.tables, evaluator, turn)
    node = turn["memory"]["node"][0, :count]
    nodes = np.flatnonzero(node["due"] != turns.TURN_GOES_ON)
    return nodes, turn["values"][0, nodes].copy(), node["state"][nodes].copy(), node["due"][nodes].copy()


def looked_ahead(game, evaluator, after, due, seat, seed, turn):
    """What a seat expects of an outcome when its own next turn has ended, played turn by turn, and whether chance took part."""
    states, drawn = np.array([after]), False
    states["seed"] = seed
    while states["current_player"][0] != NOBODY:
        if due == turns.RESTOCK_DUE:
            batch.restock(states[0], game.tables[0], np.zeros(4, np.int64))
            drawn = True
        _, values, ends, dues = turn_of(game, states[0], evaluator, turn)
        best = int(values.argmax())
        if states["current_player"][0] == seat:
            return values[best], drawn
        states[0], due = ends[best], dues[best]
    result = game.results(states)[0]
    return (result["final"][seat] - result["final"].mean()) / 10 + 2 * result["win_share"][seat], drawn


def test_looking_ahead_plays_on_by_the_net_until_the_movers_next_turn_has_ended():
    """The few outcomes that are worth most at once, the mean over two restocks where a set ends on the way."""
    game, width = variant(3, **(SHORT if SLOW else {"sets": 3, "turns_per_set": 2})), 4
    agent = ValueNetAgent(random_net(game), width=width, draws=2)
    evaluator, turn, key = agent.evaluator(game), new_turns(game, 1), np.uint64(5)
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
        nodes, at_once, ends, dues = turn_of(game, state, evaluator, turn)
        wanted = np.argsort(-at_once, kind="stable")[:width]
        found = {}
        for place in wanted:
            worth = []
            for draw in range(2):
                seed = chance.random_word(key, streams.LOOKAHEAD, np.uint64(draw))
                value, drawn = looked_ahead(game, evaluator, ends[place], dues[place], seat, seed, turn)
                worth.append(value)
                chances.add(drawn)
            found[int(nodes[place])] = np.mean(worth if drawn else worth[:1])
        assert [int(node) for node in nodes if values[node] > -np.inf] == sorted(found)
        assert {node: float(values[node]) for node in found} == pytest.approx(found, abs=1e-4)
        assert found[taken] == pytest.approx(max(found.values()), abs=1e-4)
    assert chances == {False, True}


@pytest.mark.skipif(SLOW, reason="a match takes minutes without the compiler")
def test_an_untrained_net_loses_to_greedy():
    """So what a trained one knows it has learned."""
    game = variant(4)
    untrained = ZeroRun(ZeroSettings(players=(4,))).net()
    match = arena.one_vs_rest(game, ValueNetAgent(untrained, rounds=0), "greedy", 100, seed=1)
    assert match.of_agent(match.win_share).mean() <= 0.05


@pytest.mark.parametrize("rounds", [0, 1])
def test_the_last_turn_of_a_game_is_played_for_its_result(rounds):
    """Whatever the net says, no other outcome has a better margin and share of the win."""
    game = variant(2, sets=1, turns_per_set=1)
    states = position(game, player=1, elephants={1: "Bombay"}, baskets={1: ["blue"]}, rupees=[5, 0])
    ends = [turn.state for turn in turns.distinct_turns(game, np.asarray(states))]
    results = game.results(np.concatenate(ends))
    worth = (results["final"][:, 1] - results["final"].mean(axis=1)) / 10 + 2 * results["win_share"][:, 1]
    agent, rng = ValueNetAgent(random_net(game), rounds=rounds), np.random.default_rng(0)
    while not game.is_terminal(states)[0]:
        game.step(states, agent.act(game, states, rng))
    result = game.results(states)[0]
    assert (result["final"][1] - result["final"].mean()) / 10 + 2 * result["win_share"][1] == pytest.approx(worth.max())
    assert worth.max() > np.median(worth)
