"""The arena: blocks, deals, repeatability and faults."""

import contextlib
import itertools
import json
from collections import Counter

import numba
import numpy as np
import pytest
from scipy import stats

from bombay_agents import make
from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Game, Rules
from bombay_env.record import Record, read_records
from bombay_env.rewards import seat_places
from bombay_training.cli import matches as command
from bombay_training.cli import playing
from bombay_training.evaluation.arena import (
    one_vs_rest,
    run_blocks,
    run_fixed_seats,
)
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.play import Here
from bombay_training.matches.run import run
from bombay_training.matches.statistics import par, share_with_interval, summary
from bombay_training.matches.store import Store
from bombay_training.matches.study import selections
from bombay_training.matches.table import Times
from helpers.failing_agents import First, Raises, Wrong, leaving, raising
from helpers.refusal import refusal

BLOCKS = 2 if numba.config.DISABLE_JIT else 12
TINY = Game(Rules(3, sets=1, turns_per_set=2))  # a short game


def same(one, other):
    fields = ("deal", "block", "seating", "seats", "final", "win_share")
    return all(np.array_equal(getattr(one, field), getattr(other, field)) for field in fields)


# --- blocks ---


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_block_has_one_deal_in_every_cyclic_seating(n):
    game = Game(Rules(n, sets=1, turns_per_set=1))
    match = run_blocks(game, [First(f"agent {seat}") for seat in range(n)], 3, seed=n)
    assert match.num_games == 3 * n
    assert match.num_blocks == 3
    for block in range(3):
        games = match.block == block
        assert len(set(match.deal[games].tolist())) == 1
        assert match.seating[games].tolist() == list(range(n))
        seats = match.seats[games]
        assert sorted(seats[0].tolist()) == list(range(n))
        assert all((np.roll(seats[0], shift) == seats[shift]).all() for shift in range(n))
    assert len(set(match.deal.tolist())) == 3


def test_every_line_up_plays_the_same_deals():
    one = run_blocks(TINY, [First(), RandomAgent(), RandomAgent()], 5, seed=9)
    other = run_blocks(TINY, [GreedyAgent(), First(), RandomAgent()], 5, seed=9)
    longer = run_blocks(TINY, [First()] * 3, 7, seed=9)
    assert (one.deal == other.deal).all()
    assert (one.deal == longer.deal[:15]).all()
    assert not set(one.deal.tolist()) & set(run_blocks(TINY, [First()] * 3, 5, seed=10).deal.tolist())


def test_results_are_those_of_the_games():
    match = run_fixed_seats(TINY, [First()] * 3, BLOCKS, seed=2)
    states = TINY.new_states(match.deal)
    while not TINY.is_terminal(states).all():
        TINY.step(states, First().act(TINY, states, None))
    assert (match.final == TINY.results(states)["final"]).all()
    assert (match.win_share == TINY.results(states)["win_share"]).all()
    assert (match.place == seat_places(TINY.results(states))).all()
    assert (match.clients == TINY.results(states)["clients"]).all()


def test_rotating_seats_play_each_deal_once_and_every_seat_as_often():
    agents = [First("a"), First("b"), First("c")]
    match = run_blocks(TINY, agents, 6, seating=Seating.ROTATE)
    assert match.num_games == match.num_blocks == len(set(match.deal.tolist())) == 6
    assert (match.seats == 0).argmax(axis=1).tolist() == [0, 1, 2] * 2
    every = run_blocks(TINY, agents, 6)
    for name in ("deal", "seats", "final"):  # one of the games of `all`
        chosen = getattr(every, name).reshape(6, 3, -1)[np.arange(6), np.arange(6) % 3]
        assert (getattr(match, name).reshape(6, -1) == chosen).all()


def seats_of(lineup):
    return lineup.rows(np.arange(lineup.num_games))["agent"]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("seating", [Seating.ALL, Seating.ROTATE])
def test_every_order_of_a_line_up_is_equally_likely_and_drawn_by_the_deal_alone(n, seating):
    """Play depends on who sits next to whom: in rotations of one order alone, equal agents would not be equally strong."""
    game, deals = Game(Rules(n)), 6000
    lineup = Lineup(game, tuple("abcde"[:n]), deals, 3, seating)
    seats = seats_of(lineup)
    orders = Counter(map(tuple, seats.tolist()))
    assert set(orders) == set(itertools.permutations(range(n)))
    expected = len(seats) / len(orders)
    statistic = sum((count - expected) ** 2 / expected for count in orders.values()) / lineup.games_per_deal
    assert statistic < stats.chi2.ppf(0.9999, len(orders) - 1)
    assert (seats_of(Lineup(game, tuple("vwxyz"[:n]), 9, 3, seating)) == seats[: 9 * lineup.games_per_deal]).all()
    assert n == 2 or (seats_of(Lineup(game, lineup.agents, deals, 4, seating)) != seats).any()


def test_copies_of_an_agent_against_one_are_seated_as_ever():
    """Published games of one against the rest, of pairs and of two players stay what they were."""
    one = seats_of(Lineup(Game(Rules(4)), ("a", "b", "b", "b"), 2, 3, Seating.ALL))
    assert one.tolist() == [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]] * 2
    pairs = seats_of(Lineup(Game(Rules(4)), ("a", "a", "b", "b"), 1, 3, Seating.PAIRS))
    assert {tuple(row) for row in pairs.tolist()} == set(itertools.permutations([0, 0, 1, 1]))


def test_results_of_an_agent_in_several_seats_are_pooled():
    match = one_vs_rest(TINY, First(), RandomAgent(), BLOCKS, seed=1)
    assert (match.lineup, match.agents) == (("first", "random", "random"), ("first", "random"))
    mine, theirs = (match.of_agent(match.win_share, agent) for agent in (0, 1))
    assert np.allclose(mine + 2 * theirs, 1)
    assert (match.of_agent(match.win_share, "random") == theirs).all()
    two = run_blocks(TINY, [First(), First(), RandomAgent()], 2)  # two objects with one name are two agents
    assert [row["seats"] for row in summary(two)["agents"]] == [1, 1, 1]


# --- repeatability ---


def test_a_seed_repeats_a_match():
    lineup = [RandomAgent(), GreedyAgent(), RandomAgent()]
    assert same(run_blocks(TINY, lineup, BLOCKS, seed=6), run_blocks(TINY, lineup, BLOCKS, seed=6))
    assert not same(run_blocks(TINY, lineup, BLOCKS, seed=6), run_blocks(TINY, lineup, BLOCKS, seed=7))


@pytest.mark.parametrize(
    "agent", [First, RandomAgent, GreedyAgent, lambda: make("random-turn"), lambda: make("greedy:epsilon=0.5")]
)
def test_chunks_change_no_result_of_agents_that_draw_from_the_keys_of_their_lanes(agent):
    lineup = [agent(), agent(), RandomAgent()]
    whole = run_blocks(TINY, lineup, 7, seed=6)
    for size in (1, 6, 20):
        assert same(whole, run_blocks(TINY, lineup, 7, seed=6, chunk_games=size))


def test_an_agent_that_draws_from_its_generator_has_other_draws_in_each_chunk():
    class Drawing(First):
        def act(self, game, states, rng):
            masks = game.legal_actions(states)
            return (rng.random(masks.shape) * masks).argmax(axis=1)

    lineup = [Drawing("a"), Drawing("b"), Drawing("c")]
    cut = run_blocks(TINY, lineup, 4, seed=6, chunk_games=6)
    assert same(cut, run_blocks(TINY, lineup, 4, seed=6, chunk_games=6))
    longer = run_blocks(TINY, lineup, 6, seed=6, chunk_games=6)
    assert (longer.final[: cut.num_games] == cut.final).all()


def test_agents_get_copies_that_they_may_change():
    class Marks(First):
        def act(self, game, states, rng):
            answer = super().act(game, states, rng)
            states["rupees"], states["seed"] = 100, 0
            return answer

    match = run_blocks(TINY, [Marks("marks"), First(), First()], BLOCKS, seed=3)
    assert same(match, run_blocks(TINY, [First("marks"), First(), First()], BLOCKS, seed=3))


def test_a_decision_counts_once_where_a_batch_fails_and_is_asked_again_game_by_game():
    class Single(First):
        def act(self, game, states, rng):
            if len(states) > 1:
                raise ValueError("one at a time")
            return super().act(game, states, rng)

    game = Game(Rules(2, sets=1, turns_per_set=4))
    one, other = (run_fixed_seats(game, [First("a"), agent], 4) for agent in (First("b"), Single("b")))
    assert (one.final == other.final).all()
    assert abs(other.timings[1].decisions - one.timings[1].decisions) <= 4, "all but the first call count"


def test_decisions_and_turns_are_timed_after_the_first_call():
    class Counter(First):
        calls = 0

        def act(self, game, states, rng):
            self.calls += 1
            return super().act(game, states, rng)

    agents = [Counter("a"), Counter("b")]
    match = run_fixed_seats(Game(Rules(2, sets=1, turns_per_set=4)), agents, 1)
    assert [timing.decisions for timing in match.timings] == [agent.calls - 1 for agent in agents]
    assert [timing.turns for timing in match.timings] == [3, 3]
    assert all(timing.seconds > 0 for timing in match.timings)
    assert Times(0, 0, 0.0).ms_per_turn is None
    assert Times(5, 2, 0.5).ms_per_turn == 250


# --- faults ---


@pytest.mark.parametrize(
    ("answer", "action", "reason"),
    [
        (lambda count: np.full(count, 33), "take:yellow", "it chose action 33 (take:yellow), which is illegal"),
        (lambda count: np.full(count, 999), "999", "it chose action 999, which is illegal"),
        (lambda count: None, "NoneType", "its actions are a NoneType, not integers of shape"),
        (raising, "none", "it raised KeyError: 'no idea' ("),
        (leaving, "none", "it raised SystemExit: 3 ("),
    ],
)
def test_a_fault_loses_the_game_and_is_recorded(answer, action, reason):
    records = []
    match = run_blocks(TINY, [First(), Wrong(answer), First()], 2, seed=5, records=records)
    assert len(match.faults) == len(records) == 6
    for fault, record in zip(match.faults, records, strict=True):
        assert (fault.name, fault.agent, fault.game) == ("wrong", 1, match.faults.index(fault))
        assert f"agent 'wrong' in seat {fault.seat} of block {fault.block}, seating {fault.seating}" in str(fault)
        assert reason in str(fault)
        assert fault.seat == match.seats[fault.game].tolist().index(1)
        assert record.fault == {"seat": fault.seat, "action": action, "reason": fault.reason}
        assert record.result is None
        assert TINY.current_player(Record.from_dict(record.to_dict()).verify()).tolist() == [fault.seat]
        assert match.win_share[fault.game].tolist() == [0 if seat == fault.seat else 0.5 for seat in range(3)]
        assert not match.final[fault.game].any()
    assert [row["faults"] for row in summary(match)["agents"]] == [0, 6, 0]
    assert share_with_interval(match, "wrong").mean == 0


class StopsAt(First):
    """Presses Ctrl-C in one game: the one of a deal in which it has a certain seat."""

    def __init__(self, deal, seat):
        super().__init__("stops")
        self.demand, self.seat = TINY.new_states([deal])["demand"], seat

    def act(self, game, states, rng):
        here = (states["demand"] == self.demand).all(axis=(1, 2)) & (states["current_player"] == self.seat)
        if here.any():
            raise KeyboardInterrupt
        return super().act(game, states, rng)


@pytest.mark.parametrize("chunk", [1, 4])
@pytest.mark.parametrize("seat", [0, 2])
def test_a_match_that_was_stopped_has_its_first_complete_deals(chunk, seat):
    deals = run_fixed_seats(TINY, [First()] * 3, 5).deal
    agents = (StopsAt(deals[3], seat), First("b"), First("c"))
    lineup, store = Lineup(TINY, agents, 5, records=True, chunk_games=chunk), Store()
    with pytest.raises(KeyboardInterrupt):
        run([lineup], store)
    match, records = store.match(lineup), []
    whole = run_blocks(TINY, [First("stops"), *agents[1:]], 3, chunk_games=chunk, records=records)
    before = 9 + seat  # games of three deals, and those in which it has a lower seat
    complete = 3 if before // chunk * chunk >= 9 else 2
    assert match.num_blocks == complete
    assert (match.final == whole.final[: 3 * complete]).all()
    assert match.lineup == whole.lineup
    assert list(match.records) == records[: 3 * complete]
    assert summary(match)["games"] == match.num_games == 3 * complete


def test_a_match_that_was_stopped_in_its_first_deal_has_no_result():
    (deal,) = run_fixed_seats(TINY, [First()] * 3, 1).deal
    lineup, store = Lineup(TINY, (StopsAt(deal, 2), First(), First()), 5), Store()
    with pytest.raises(KeyboardInterrupt):
        run([lineup], store)
    assert store.match(lineup) is None


class StopsAfter(First):
    """Presses Ctrl-C in a certain call of all its objects."""

    calls, last = 0, 0
    nodes = 1  # its games are played one by one

    def act(self, game, states, rng):
        StopsAfter.calls += 1
        if StopsAfter.calls == StopsAfter.last:
            raise KeyboardInterrupt
        return super().act(game, states, rng)


@pytest.mark.parametrize(("last", "games"), [(1, []), (20, [4]), (100, [10, 10, 4])])
def test_the_command_prints_and_saves_what_was_played_before_ctrl_c(monkeypatch, tmp_path, capsys, last, games):
    monkeypatch.setattr(StopsAfter, "calls", 0)
    monkeypatch.setattr(StopsAfter, "last", last)
    monkeypatch.setattr(playing, "WorkerPool", lambda *options: contextlib.nullcontext(Here()))
    monkeypatch.setattr(playing, "prepare", lambda jobs: None)
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 2, "actions_per_turn": 2}')
    options = {"players": "2", "blocks": 5, "rules": tmp_path / "rules.json", "records": tmp_path / "r.jsonl"}
    with pytest.raises(KeyboardInterrupt):
        command.arena(["test_arena:StopsAfter", "greedy", "random"], **options, as_json=True)
    done = capsys.readouterr()
    assert f"stopped: {sum(games)} of 60 games count" in done.err
    if not games:
        assert done.out == ""
        assert not (tmp_path / "r.jsonl").exists()
        return
    data = json.loads(done.out)
    assert data["stopped"] is True
    assert [match["games"] for match in data["matches"]] == games
    assert len(list(read_records(tmp_path / "r.jsonl"))) == sum(games)


def test_an_agent_that_fails_gets_no_win_share_in_any_of_its_seats():
    lost = Raises("lost")
    for match in (
        two_vs_two(Game(Rules(4, sets=1, turns_per_set=1)), First(), lost, 1),
        one_vs_rest(TINY, First(), lost, 1),
    ):
        assert len(match.faults) == match.num_games
        assert share_with_interval(match, "lost").mean == 0
        assert share_with_interval(match, "first").mean == 1
        assert np.allclose(match.win_share.sum(axis=1), 1)
    alone = run_blocks(TINY, [lost] * 3, 1)
    assert alone.win_share.tolist() == [[0, 0.5, 0.5]] * 3


def test_only_games_with_bad_answers_are_lost():
    """`Picky` raises for a whole batch if it holds a certain deal, and then for each game alone only in that one."""
    deal = run_fixed_seats(TINY, [First()] * 3, 4).deal[2]
    demand = TINY.new_states([deal])["demand"]

    class Picky(First):
        def act(self, game, states, rng):
            if (states["demand"] == demand).all(axis=(1, 2))[states["turn"] > 0].any():
                raise RuntimeError
            return super().act(game, states, rng)

    class Illegal(First):
        def act(self, game, states, rng):
            hit = (states["demand"] == demand).all(axis=(1, 2)) & (states["turn"] > 0)
            return np.where(hit, 99, super().act(game, states, rng))

    plain = run_blocks(TINY, [First(), First("x"), First()], 4)
    for agent in (Picky("x"), Illegal("x")):
        records = []
        match = run_blocks(TINY, [First(), agent, First()], 4, records=records)
        lost = {fault.game for fault in match.faults}
        assert {6, 7, 8} <= lost < set(range(12))
        kept = [game for game in range(12) if game not in lost]
        assert (match.final[kept] == plain.final[kept]).all()
        assert [record.seed for record in records] == match.deal.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lineup": [First()] * 2}, "the line-up has 2 agents; this game has 3 seats"),
        ({"blocks": 0}, "blocks is 0"),
        ({"seed": 2**64}, "it must be a whole number from 0 to 18446744073709551615"),
        ({"chunk_games": -1}, "chunk_games is -1; it must be a whole number from 1"),
    ],
)
def test_invalid_arguments_are_refused(change, message):
    arguments = {"lineup": [First()] * 3, "blocks": 1, "seed": 0} | change
    with pytest.raises(ValueError, match=message):
        run_blocks(TINY, **arguments)


# --- formats ---


def two_vs_two(game, one, other, blocks, seed=0):
    return run_blocks(game, [one, one, other, other], blocks, seed, seating=Seating.PAIRS, format="2v2")


def test_two_against_two_plays_all_six_seatings():
    game = Game(Rules(4, sets=1, turns_per_set=1))
    match = two_vs_two(game, First("a"), First("b"), 2, seed=1)
    assert match.num_games == 12
    for block in range(2):
        assert len({tuple(seats) for seats in match.seats[match.block == block].tolist()}) == 6
    assert (match.seats.sum(axis=1) == 2).all()
    assert par(match) == 0.5
    assert share_with_interval(match).mean == pytest.approx(0.5)  # equal agents
    assert (match.deal[::6] == run_blocks(game, [First()] * 4, 2, seed=1).deal[::4]).all()
    with pytest.raises(ValueError, match="2v2 is for 4 players, not 3"):
        two_vs_two(TINY, First(), First(), 1)


def test_selections_are_all_combinations_of_the_agents():
    assert selections("abcd", 3) == [tuple(word) for word in ("abc", "abd", "acd", "bcd")]
    assert selections("ab", 5) == [tuple("ababa")]


def test_games_of_agents_that_search_are_played_one_by_one():
    class Counts(First):
        def __init__(self, name, nodes=None):
            super().__init__(name)
            self.nodes, self.sizes = nodes, set()

        def act(self, game, states, rng):
            self.sizes.add(len(states))
            return super().act(game, states, rng)

    searcher, other, alone = Counts("searcher", nodes=10), Counts("other"), Counts("alone")
    run_blocks(TINY, [searcher, other, First()], 2)
    run_blocks(TINY, [alone, First(), First()], 2)
    assert searcher.sizes == other.sizes == {1}
    assert max(alone.sizes) > 1


def test_an_agent_that_cannot_play_the_rules_is_refused_before_the_first_game():
    game = Game(Rules(2, toll=2))
    refusal(lambda: one_vs_rest(game, "zero", "random", 1), "not trained on these rules", "force=true")
    refusal(lambda: one_vs_rest(game, "random", "zero-search:nodes=8", 1), "force=true")
