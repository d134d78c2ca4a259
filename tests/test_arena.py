"""The arena: blocks, deals, repeatability, faults, and the arithmetic of what it reports."""

import dataclasses
import io
import json
import math
import os
import signal
from contextlib import nullcontext

import numba
import numpy as np
import pytest
from rich.console import Console

from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Board, Game, Rules
from bombay_env.record import Record
from bombay_env.registry import make
from bombay_training.evaluation.arena import (
    cyclic_seatings,
    mixed,
    mixed_lineups,
    one_vs_rest,
    run_blocks,
    run_fixed_seats,
    team_seatings,
    two_vs_two,
)
from bombay_training.matches import pool as worker_module
from bombay_training.matches.pool import Workers
from bombay_training.matches.results import Fault, Match, Timing
from bombay_training.matches.statistics import (
    describe_lineup,
    final_with_interval,
    margin_with_interval,
    par,
    results_table,
    seat_rows,
    share_with_interval,
    summary,
)
from helpers.position import official

BLOCKS = 2 if numba.config.DISABLE_JIT else 12
TINY = Game(Rules(3, sets=1, turns_per_set=2))  # soon over
Z = 1.959963984540054  # of 95 %


class First:
    """Takes the lowest legal action."""

    def __init__(self, name="first"):
        self.name = name

    def act(self, game, states, rng):
        return game.legal_actions(states).argmax(axis=1)


def made_match(shares, finals=None):
    """A match of `a` against `b` with these win shares (blocks, games, 2) by seat; `a` has seat 0 in a block's even games."""
    shares = np.array(shares, float)
    block, seating = (part.ravel() for part in np.indices(shares.shape[:2]))
    return Match(
        game=official(2),
        lineup=("a", "b"),
        agents=("a", "b"),
        seed=0,
        deal=block.astype(np.uint64),
        block=block,
        seating=seating,
        seats=np.stack([seating % 2, 1 - seating % 2], axis=1),
        final=np.zeros((len(block), 2), np.int32) if finals is None else np.array(finals, np.int32),
        win_share=shares.reshape(-1, 2),
        timings=(Timing(), Timing()),
    )


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
        assert seats[0].tolist() == list(range(n))
        assert (np.sort(seats, axis=0) == np.arange(n)[:, None]).all()
        assert all((np.roll(seats[0], shift) == seats[shift]).all() for shift in range(n))
    assert len(set(match.deal.tolist())) == 3


def test_first_of_the_line_up_sits_in_the_seat_of_the_seatings_number():
    assert (cyclic_seatings(5).argmin(axis=1) == np.arange(5)).all()


def test_identical_agents_share_every_block_evenly():
    for lineup in ([First(), First(), First()], [First()] * 3):
        match = run_blocks(TINY, lineup, BLOCKS, seed=4)
        assert np.allclose(match.win_share.sum(axis=1), 1)
        for agent in range(len(match.agents)):
            assert np.allclose(match.of_agent(match.win_share, agent), 1 / 3)
            assert np.allclose(match.of_agent(match.margin, agent), 0)


def test_every_line_up_meets_the_same_deals():
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


def test_other_seatings_can_be_asked_for():
    seatings = [[0, 1, 2], [1, 0, 2]]
    match = run_blocks(TINY, [First("a"), First("b"), First("c")], 2, seatings=np.array(seatings))
    assert match.seats.tolist() == seatings * 2
    with pytest.raises(ValueError, match="permutations"):
        run_blocks(TINY, [First()] * 3, 2, seatings=np.array([[0, 0, 1]]))


def test_an_agent_in_several_seats_is_pooled():
    rest = RandomAgent()
    match = one_vs_rest(TINY, First(), rest, BLOCKS, seed=1)
    assert match.lineup == ("first", "random", "random")
    assert match.agents == ("first", "random")
    mine, theirs = (match.of_agent(match.win_share, agent) for agent in (0, 1))
    assert np.allclose(mine + 2 * theirs, 1)
    assert (match.of_agent(match.win_share, "random") == theirs).all()


# --- repeatability ---


def test_a_seed_repeats_a_match():
    lineup = [RandomAgent(), GreedyAgent(), RandomAgent()]
    assert same(run_blocks(TINY, lineup, BLOCKS, seed=6), run_blocks(TINY, lineup, BLOCKS, seed=6))
    assert not same(run_blocks(TINY, lineup, BLOCKS, seed=6), run_blocks(TINY, lineup, BLOCKS, seed=7))


def test_chunks_change_nothing_for_agents_without_chance():
    whole = run_blocks(TINY, [First("a"), First("b"), First("c")], 7, seed=6)
    for size in (1, 6, 20):
        assert same(whole, run_blocks(TINY, [First("a"), First("b"), First("c")], 7, seed=6, chunk_games=size))


def test_chunks_have_chances_of_their_own():
    lineup = [RandomAgent()] * 3
    cut = run_blocks(TINY, lineup, 4, seed=6, chunk_games=6)
    assert same(cut, run_blocks(TINY, lineup, 4, seed=6, chunk_games=6))
    longer = run_blocks(TINY, lineup, 6, seed=6, chunk_games=6)
    assert (longer.final[: cut.num_games] == cut.final).all()


def test_agents_get_copies_with_other_seeds():
    class Spy(First):
        def __init__(self):
            super().__init__("spy")
            self.seen = []

        def act(self, game, states, rng):
            answer = super().act(game, states, rng)
            self.seen += states["seed"].tolist()
            states["rupees"] = 100
            states["seed"] = 0
            return answer

    spy = Spy()
    match = run_blocks(TINY, [spy, First(), First()], BLOCKS, seed=3)
    assert len(set(spy.seen)) == len(spy.seen) > 0
    assert not set(spy.seen) & set(match.deal.tolist())
    assert same(match, run_blocks(TINY, [First("spy"), First(), First()], BLOCKS, seed=3))


def test_progress_counts_every_game():
    finished = []
    run_blocks(TINY, [RandomAgent()] * 3, 5, progress=finished.append, chunk_games=6)
    assert sum(finished) == pytest.approx(15)
    assert min(finished) > 0
    assert len(finished) > 15  # it moves on while games run


def test_decisions_and_turns_are_clocked_after_the_first_call():
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
    assert Timing(decisions=4, turns=2, seconds=0.5).ms_per_turn == 250
    assert Timing().ms_per_turn is None


# --- faults ---


class Wrong(First):
    """Answers `answer(count)` from its third decision on."""

    def __init__(self, answer):
        super().__init__("wrong")
        self.answer, self.calls = answer, 0

    def act(self, game, states, rng):
        self.calls += 1
        return super().act(game, states, rng) if self.calls < 3 else self.answer(len(states))


def raising(count):
    raise KeyError("no idea")


def leaving(count):
    raise SystemExit(3)


def interrupting(count):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("answer", "action", "reason"),
    [
        (
            lambda count: np.full(count, 33),
            "take:yellow",
            "it chose action 33 (take:yellow), which is illegal; legal are",
        ),
        (lambda count: np.full(count, 999), "999", "it chose action 999, which is illegal"),
        (lambda count: np.full(count, -1), "-1", "it chose action -1, which is illegal"),
        (lambda count: np.full(count, 2**64 - 1, np.uint64), "-1", "which is illegal"),
        (lambda count: np.zeros(count + 1, np.int64), "ndarray", "not with integers of shape"),
        (lambda count: np.zeros(count), "ndarray", "it answered with float64 of shape"),
        (lambda count: [0] * count, "list", "it answered with a list"),
        (lambda count: None, "NoneType", "it answered with a NoneType"),
        (raising, "none", "it raised KeyError: 'no idea' ("),
        (leaving, "none", "it raised SystemExit: 3 ("),
    ],
)
def test_a_faulty_agent_loses_its_games_on_record(answer, action, reason):
    records = []
    match = run_blocks(TINY, [First(), Wrong(answer), First()], 2, seed=5, records=records)
    assert len(match.faults) == len(records) == 6
    for fault, record in zip(match.faults, records, strict=True):
        assert (fault.name, fault.agent, fault.game) == ("wrong", 1, match.faults.index(fault))
        assert f"agent 'wrong' in seat {fault.seat} of block {fault.block}, seating {fault.seating}" in str(fault)
        assert reason in str(fault)
        assert fault.seat == (1 + fault.seating) % 3
        assert record.fault == {"seat": fault.seat, "action": action, "reason": fault.reason}
        assert record.result is None
        assert TINY.current_player(Record.from_dict(record.to_dict()).verify()).tolist() == [fault.seat]
        assert match.win_share[fault.game].tolist() == [0 if seat == fault.seat else 0.5 for seat in range(3)]
        assert not match.final[fault.game].any()
    assert [row["faults"] for row in summary(match)["agents"]] == [0, 6, 0]
    assert share_with_interval(match, "wrong").mean == 0


def test_ctrl_c_stops_a_match_and_is_no_fault_unless_the_process_is_deaf_to_it(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        run_blocks(TINY, [First(), Wrong(interrupting), First()], 1)
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    match = run_blocks(TINY, [First(), Wrong(interrupting), First()], 1)
    assert [fault.reason.split(" (")[0] for fault in match.faults] == ["it raised KeyboardInterrupt"] * 3


def test_an_agent_that_fails_has_nothing_by_any_of_its_seats():
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


def test_only_the_games_of_bad_answers_are_lost():
    """`Picky` raises for a whole batch when it sees the one game; asked alone it fails in that one only."""
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
        spoilt = {fault.game for fault in match.faults}
        assert {6, 7, 8} <= spoilt < set(range(12))
        kept = [game for game in range(12) if game not in spoilt]
        assert (match.final[kept] == plain.final[kept]).all()
        assert [record.seed for record in records] == match.deal.tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lineup": [First()] * 2}, "the line-up has 2 agents; this game has 3 seats"),
        ({"blocks": 0}, "blocks is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "it must be from 0 to 18446744073709551615"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    arguments = {"lineup": [First()] * 3, "blocks": 1, "seed": 0} | change
    with pytest.raises(ValueError, match=message):
        run_blocks(TINY, **arguments)


# --- formats ---


def test_two_against_two_sits_in_all_six_ways():
    game = Game(Rules(4, sets=1, turns_per_set=1))
    match = two_vs_two(game, First("a"), First("b"), 2, seed=1)
    assert sorted(map(tuple, match.seats[match.block == 0].tolist())) == sorted(
        {tuple(row) for row in match.seats.tolist()}
    )
    assert len({tuple(row) for row in match.seats.tolist()}) == len(team_seatings()) == 6
    assert (match.seats.sum(axis=1) == 2).all()
    assert par(match) == 0.5
    assert share_with_interval(match).mean == pytest.approx(0.5)  # equal play
    assert (match.deal[::6] == run_blocks(game, [First()] * 4, 2, seed=1).deal[::4]).all()
    with pytest.raises(ValueError, match="2v2 is for 4 players, not 3"):
        two_vs_two(TINY, First(), First(), 1)


def test_mixed_tables_seat_every_choice_of_the_agents():
    assert mixed_lineups("abcd", 3) == [tuple(word) for word in ("abc", "abd", "acd", "bcd")]
    assert mixed_lineups("ab", 5) == [tuple("ababa")]
    matches = mixed(TINY, [First("a"), First("b"), First("c"), First("d")], 1)
    assert [match.lineup for match in matches] == mixed_lineups("abcd", 3)
    assert all((match.deal == matches[0].deal).all() for match in matches)


# --- processes ---


class Hangs(First):
    """Never answers in the second turn of games in which city 0 wants a certain colour first; a spec of its own."""

    def __init__(self):
        super().__init__("hangs")

    def act(self, game, states, rng):
        while ((states["turn"] > 0) & (states["demand"][:, 0, 0] == 1)).any():
            pass
        return super().act(game, states, rng)


class Dies(First):
    def act(self, game, states, rng):
        os._exit(7)


class Raises(First):
    def act(self, game, states, rng):
        raise ValueError("never")


class Leaves(First):
    def act(self, game, states, rng):
        leaving(len(states))


class Interrupts(First):
    def act(self, game, states, rng):
        interrupting(len(states))


def same_records(one, other):
    return [record.to_dict() for record in one] == [record.to_dict() for record in other]


def test_results_do_not_depend_on_the_number_of_processes():
    specs, kept = ["random", "greedy", "test_arena:Raises"], {}
    for count in (0, 1, 2):
        with Workers(count) if count else nullcontext() as pool:
            records, moved = [], []
            first = run_blocks(
                TINY, ["random", "greedy", "random"], 4, 3, moved.append, chunk_games=5, records=records, workers=pool
            )
            second = run_blocks(TINY, specs, 2, seed=3, records=records, workers=pool)
        kept[count] = (first, second, records)
        assert sum(moved) == pytest.approx(12)
    for count in (1, 2):
        assert same(kept[0][0], kept[count][0])
        assert same(kept[0][1], kept[count][1])
        assert kept[0][1].faults == kept[count][1].faults
        assert same_records(kept[0][2], kept[count][2])
    assert len(kept[0][1].faults) == 6


def test_an_agent_that_hangs_or_ends_its_process_loses_that_game_on_record(monkeypatch):
    monkeypatch.setattr(worker_module, "FIRST_CALL_SECONDS", 20.0)
    records = []
    lineup = ["test_arena:Hangs", "greedy", "greedy"]
    with Workers(1, turn_limit=0.5 if numba.config.DISABLE_JIT else 0.2) as pool:
        match = run_fixed_seats(TINY, lineup, 4, seed=1, workers=pool, records=records, chunk_games=2)
        dead = run_fixed_seats(TINY, ["greedy", "test_arena:Dies", "greedy"], 1, workers=pool)
    spoilt = TINY.new_states(match.deal)["demand"][:, 0, 0] == 1
    assert 0 < spoilt.sum() < 4
    assert [fault.game for fault in match.faults] == np.flatnonzero(spoilt).tolist()
    for fault in match.faults:
        assert "it took longer than" in fault.reason
        assert records[fault.game].fault == {"seat": 0, "action": "none", "reason": fault.reason}
        assert records[fault.game].verify()["turn"].tolist() == [1]
    assert [fault.reason for fault in dead.faults] == ["its process ended (exit code 7)"]
    assert pool.running == []


def test_an_agent_that_leaves_or_interrupts_does_not_end_its_process():
    processes = []
    with Workers(1) as pool:
        for spec, reason in (("Leaves", "it raised SystemExit: 3 ("), ("Interrupts", "it raised KeyboardInterrupt (")):
            match = run_fixed_seats(TINY, ["random", f"test_arena:{spec}", "random"], 2, workers=pool)
            assert [fault.reason.startswith(reason) for fault in match.faults] == [True, True]
            processes.append(pool.running[0].process.pid)
    assert len(set(processes)) == 1


def test_a_call_in_many_games_may_take_longer_than_a_system_waits():
    with Workers(1, turn_limit=worker_module.MAX_TURN_LIMIT) as pool:
        match = run_fixed_seats(TINY, ["random"] * 3, 30, workers=pool)
    assert (match.num_games, match.faults) == (30, ())


def test_objects_play_in_this_process_only():
    with Workers(1) as pool, pytest.raises(ValueError, match="'first' is an object"):
        run_blocks(TINY, [First()] * 3, 1, workers=pool)
    limits = [
        ({"turn_limit": limit}, f"turn_limit is {limit}.*at most 86400") for limit in (0.0, 1e12, math.inf, math.nan)
    ]
    for options, message in [({"processes": 0}, "processes is 0"), *limits]:
        with pytest.raises(ValueError, match=message):
            Workers(**options)


def test_agents_that_think_play_game_by_game():
    class Thinker(First):
        nodes = 10

        def act(self, game, states, rng):
            assert len(states) == 1
            return super().act(game, states, rng)

    assert not run_blocks(TINY, [Thinker(), First(), First()], 2).faults
    assert make("test_arena:Thinks").name == "test_arena:Thinks"


class Thinks:
    def act(self, game, states, rng): ...


# --- judging ---


def test_interval_is_wilsons_at_the_effective_sample_size():
    # Block means of a: 1, ½, ½, 0. Mean ½, variance ⅙, squared standard error 1/24: ¼ / (1/24) = 6 games' worth.
    win, loss = [1, 0], [0, 1]
    match = made_match([[win, loss], [win, win], [loss, loss], [loss, win]])
    share = share_with_interval(match)
    size, p = 6, 0.5
    centre = (p + Z**2 / (2 * size)) / (1 + Z**2 / size)
    half = Z * math.sqrt(p * (1 - p) / size + Z**2 / (4 * size**2)) / (1 + Z**2 / size)
    assert share.mean == p
    assert share.low == pytest.approx(centre - half)
    assert share.high == pytest.approx(centre + half)
    assert share.low == pytest.approx(0.187616, abs=1e-6)
    wider = share_with_interval(match, confidence=0.99)
    assert wider.low < share.low
    assert wider.high > share.high


def test_interval_keeps_its_width_where_all_blocks_agree():
    always = share_with_interval(made_match([[[1, 0], [0, 1]]] * 100))
    assert always.mean == always.high == 1
    assert always.low == pytest.approx(1 / (1 + Z**2 / 100))
    never = share_with_interval(made_match([[[0, 1], [1, 0]]] * 100))
    assert never.mean == never.low == 0
    assert never.high == pytest.approx(1 - always.low)
    even = share_with_interval(made_match([[[1, 0], [1, 0]]] * 100))
    assert even.low < even.mean == 0.5 < even.high
    assert 0.05 < share_with_interval(made_match([[[1, 0], [0, 1]]])).low < 0.3


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(400):
        strength = rng.uniform(0.5, 1, (100, 1))  # of `a` on each deal: games of a block are alike
        wins = rng.random((100, 2)) < strength
        first = np.stack([wins[:, 0], ~wins[:, 1]], axis=1)  # seat 0's win, in each of both seatings
        share = share_with_interval(made_match(np.stack([first, ~first], axis=2)))
        covered += share.low <= 0.75 <= share.high
    assert 0.92 < covered / 400 < 0.98


def test_margin_and_final_have_intervals_over_blocks():
    # Block 0: 10 against 6, then, in seat 1, 6 against 10; block 1: 9 against 3, 9 against 5. Margins 2, −2 and 3, 2.
    match = made_match([[[1, 0], [1, 0]], [[1, 0], [0, 1]]], finals=[[10, 6], [10, 6], [9, 3], [5, 9]])
    margin, final = margin_with_interval(match), final_with_interval(match)
    error = math.sqrt(((0 - 1.25) ** 2 + (2.5 - 1.25) ** 2) / 1 / 2)
    assert margin.mean == 1.25
    assert margin.low == pytest.approx(1.25 - Z * error)
    assert margin.high == pytest.approx(1.25 + Z * error)
    assert final.mean == 8.5
    assert margin_with_interval(match, "b").mean == -1.25


def test_one_block_tells_no_spread_of_rupees():
    match = made_match([[[1, 0], [0, 1]]])
    assert margin_with_interval(match).to_dict() == {"mean": 0, "low": None, "high": None}


def test_games_that_faults_ended_count_for_no_means_of_rupees():
    # Block 0: 10 against 6, and a fault; block 1: two faults.
    match = made_match([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], finals=[[10, 6], [0, 0], [0, 0], [0, 0]])
    faults = tuple(Fault(0, "a", 0, game, game // 2, game % 2, "none", "it is lost") for game in range(4))
    some, all_lost = dataclasses.replace(match, faults=faults[1:]), dataclasses.replace(match, faults=faults)
    assert [share_with_interval(one).mean for one in (match, some, all_lost)] == [0.5] * 3
    assert (margin_with_interval(some).mean, final_with_interval(some).mean) == (2, 10)
    assert margin_with_interval(some, "b").mean == -2
    assert [(row["final"], row["faults"]) for row in seat_rows(some)] == [(10, 3), (6, 0)]
    assert [row["final"] for row in seat_rows(all_lost)] == [None, None]
    for row in summary(all_lost)["agents"]:
        assert row["margin"] == row["final"] == {"mean": None, "low": None, "high": None}
    assert shown(results_table([all_lost]), 200).count("– │     – │") == 2


def test_an_agent_not_in_the_match_is_refused():
    match = made_match([[[1, 0], [0, 1]]])
    for agent in ("c", 2, -1):
        with pytest.raises(ValueError, match="there are a, b"):
            share_with_interval(match, agent)


# --- telling ---


def shown(table, width):
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_a_match_as_json_and_as_a_table():
    match = one_vs_rest(TINY, First(), RandomAgent(), BLOCKS, seed=1)
    told = json.loads(json.dumps(summary(match), allow_nan=False))
    assert (told["players"], told["blocks"], told["games"]) == (3, BLOCKS, 3 * BLOCKS)
    assert told["lineup"] == ["first", "random", "random"]
    assert told["rules"] == TINY.rules.to_dict()
    assert [row["agent"] for row in told["agents"]] == ["first", "random"]
    assert [row["seats"] for row in told["agents"]] == [1, 2]
    share = share_with_interval(match)
    assert told["agents"][0]["win_share"] == dataclasses.asdict(share)
    for everyone, rows in ((False, 2), (True, 3)):
        other = dataclasses.replace(match, format="mixed") if everyone else match
        table = results_table([match, other], "title")
        assert table.row_count == rows
        told = shown(table, 200)
        assert f"{share.mean:.3f} [{share.low:.3f}, {share.high:.3f}]" in told
        assert ("line-up" in told, "first, 2 × random" in told) == (everyone, everyone)
        assert ("against" in told, "│ 2 × random" in told) == (not everyone, not everyone)


@pytest.mark.parametrize("faults", [0, 1200])
@pytest.mark.parametrize(
    ("width", "left_out"),
    [(80, "p99, final, ms/turn, margin ± 95 %"), (100, "p99, final, ms/turn"), (200, "")],
)
def test_a_narrow_table_cuts_no_name_and_no_share(width, left_out, faults):
    names = ("champion:nodes=4500,a=1", "net:path=runs/td-20280101-120000/agent.safetensors")
    match = dataclasses.replace(made_match([[[1, 0], [0, 1]]] * 4), agents=names, lineup=names, format="1vrest")
    match = dataclasses.replace(match, faults=(Fault(1, names[1], 0, 0, 0, 0, "none", "it is lost"),) * faults)
    told = shown(results_table([match], width=width), width)
    rows = [line.strip("│").split("│") for line in told.splitlines() if line.startswith("│")]
    folded = ["".join(cell.strip() for cell in column) for column in zip(*rows, strict=True)]
    assert folded[:2] == list(names)
    assert all(len(row[0]) >= 12 and len(row[1]) >= 12 for row in rows)  # ten letters and space on both sides
    assert str(share_with_interval(match)) in folded
    assert "0.50" in folded
    assert f"0 / {faults}" in folded
    assert left_out in told
    assert ("no room for" in told) == bool(left_out)


def test_faults_of_the_rest_are_told_beside_an_agents_own():
    assert "0 / 3 │" in shown(results_table([one_vs_rest(TINY, First(), Raises("lost"), 1)]), 200)
    assert "3 / 0 │" in shown(results_table([one_vs_rest(TINY, Raises("lost"), First(), 1)]), 200)


def test_agents_of_one_name_are_kept_apart():
    match = run_blocks(TINY, [First(), First(), RandomAgent()], 2)
    assert [row["seats"] for row in summary(match)["agents"]] == [1, 1, 1]
    assert match.agents == ("first", "first", "random")


def test_line_ups_are_told_by_counts():
    assert describe_lineup(["a", "b", "a", "c"]) == "2 × a, b, c"


def test_the_arena_takes_any_board():
    match = one_vs_rest(Game(Rules(2, sets=1, turns_per_set=2), Board.random(3)), GreedyAgent(), RandomAgent(), 2)
    assert summary(match)["board"] == "random-3"
