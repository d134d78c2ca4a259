"""The rewards of a finished game, computed by hand: shared wins, tied places, and sums of zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bombay_env.rewards import REWARDS, check_reward, seat_rewards
from bombay_env.state import new_records, result_dtype

each_kind = pytest.mark.parametrize("kind", REWARDS)


def results(*tables):
    """Results of games with these final rupees and Clients; each game is a list of (rupees, Clients) by seat."""
    records = new_records(len(tables), result_dtype(len(tables[0])))
    for record, table in zip(records, tables, strict=True):
        best = max(table)
        record["final"], record["clients"] = zip(*table, strict=True)
        record["winners"] = [seat == best for seat in table]
        record["win_share"] = record["winners"] / record["winners"].sum()
    return records


def paid(kind, *table):
    return seat_rewards(results(table), kind)[0].tolist()


def test_the_three_rewards_and_their_default():
    assert REWARDS == ("win", "rank", "margin")
    table = results([(9, 0), (8, 0), (7, 0)])
    assert (seat_rewards(table) == seat_rewards(table, "win")).all()


@pytest.mark.parametrize(
    ("kind", "table", "expected"),
    [
        ("win", [(8, 0), (8, 1)], [-1, 1]),  # Clients break the tie
        ("win", [(8, 3), (8, 3)], [0, 0]),  # a win shared by both players
        ("win", [(9, 0), (8, 9), (7, 0)], [1, -1 / 2, -1 / 2]),
        ("win", [(9, 2), (9, 2), (7, 0)], [1 / 4, 1 / 4, -1 / 2]),
        ("win", [(9, 1), (9, 1), (9, 1), (3, 0)], [1 / 9, 1 / 9, 1 / 9, -1 / 3]),
        ("win", [(5, 0), (6, 0), (5, 0), (5, 0), (5, 0)], [-1 / 4, 1, -1 / 4, -1 / 4, -1 / 4]),
        ("rank", [(8, 3), (8, 4)], [-1, 1]),
        ("rank", [(9, 0), (8, 9), (7, 20)], [1, 0, -1]),  # rupees first; Clients only break ties
        ("rank", [(9, 2), (9, 2), (7, 0)], [1 / 2, 1 / 2, -1]),  # the mean of places 1 (+1) and 2 (0)
        ("rank", [(9, 2), (7, 0), (7, 0)], [1, -1 / 2, -1 / 2]),
        ("rank", [(6, 0), (9, 0), (7, 0), (8, 0)], [-1, 1, -1 / 3, 1 / 3]),
        ("rank", [(9, 0), (7, 1), (7, 1), (7, 1)], [1, -1 / 3, -1 / 3, -1 / 3]),
        ("rank", [(5, 1), (5, 1), (5, 0), (5, 0), (0, 0)], [3 / 4, 3 / 4, -1 / 4, -1 / 4, -1]),
        ("margin", [(8, 3), (8, 4)], [0, 0]),  # Clients do not count as rupees
        ("margin", [(10, 0), (20, 0), (30, 0), (0, 0)], [-0.5, 0.5, 1.5, -1.5]),
        ("margin", [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0)], [-0.2, -0.1, 0, 0.1, 0.2]),
    ],
)
def test_rewards_by_hand(kind, table, expected):
    assert paid(kind, *table) == pytest.approx(expected)


@each_kind
def test_a_batch_is_rewarded_game_by_game(kind):
    tables = [[(9, 0), (8, 0), (8, 1)], [(1, 0), (1, 0), (1, 0)], [(0, 5), (40, 0), (0, 5)]]
    rewards = seat_rewards(results(*tables), kind)
    assert (rewards.shape, rewards.dtype) == ((3, 3), np.float64)
    for row, table in zip(rewards, tables, strict=True):
        assert row.tolist() == paid(kind, *table)
    assert seat_rewards(results(*tables)[:0], kind).shape == (0, 3)


seat = st.tuples(st.integers(0, 8) | st.integers(0, 2**31 - 1), st.integers(0, 3) | st.integers(0, 2**31 - 1))


@given(st.lists(seat, min_size=2, max_size=5))
def test_rewards_are_zero_sum_and_monotonic(table):
    for kind in REWARDS:
        rewards = paid(kind, *table)
        assert sum(rewards) == pytest.approx(0, abs=1e-6)
        for mine, reward in zip(table, rewards, strict=True):
            for other, theirs in zip(table, rewards, strict=True):
                if mine > other:
                    assert reward >= theirs
                if mine == other:
                    assert reward == pytest.approx(theirs)
        if kind != "margin":
            assert max(map(abs, rewards)) <= 1
            assert (max(rewards) == pytest.approx(1)) == (table.count(max(table)) == 1)


@pytest.mark.parametrize("kind", ["Win", None, 1, ["win"]], ids=repr)
def test_an_unknown_kind_is_rejected(kind):
    for call in (lambda: check_reward(kind), lambda: seat_rewards(results([(1, 0), (2, 0)]), kind)):
        with pytest.raises(ValueError, match=r"reward is .*win, rank, margin"):
            call()
