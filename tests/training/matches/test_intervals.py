"""Confidence intervals: how often they cover the true mean, that all have a width, and the tests made from them."""

import itertools

import numpy as np
import pytest
from scipy import stats

from bombay_training.matches.intervals import (
    LEAST_P,
    Moments,
    holm,
    mean_bounds,
    p_value,
    resampled,
    share_bounds,
)

REPEATS = 2000  # simulated matches of each cell
SEATINGS = 4  # games of a block


def moments(values):
    """The moments of each row of (repeats, blocks)."""
    return Moments.of(values.T)


def covered(bounds, mean):
    """How often bounds enclose the true mean."""
    low, high = bounds
    return float(((low <= mean + 1e-12) & (mean - 1e-12 <= high)).mean())


def demanded(found, many):
    """Check the coverage by cell, within a standard error: at least 0.94 in all, and at most 0.97 where `many` blocks differ.

    Intervals may cover more often where blocks are few or rarely differ: their means take few values then, and nothing tells
    blocks that are all alike from blocks of which one in fifty differs.
    """
    noise = np.sqrt(0.95 * 0.05 / REPEATS)
    assert not {cell: share for cell, share in found.items() if share < 0.94 - noise}
    assert not {cell: share for cell, share in found.items() if many(*cell) and share > 0.97 + noise}
    assert any(many(*cell) for cell in found)


# --- how often intervals of win shares cover ---


def odds_of(share, ties):
    """The probabilities of a win, a half and a loss."""
    halves = 2 * min(share, 1 - share) * ties
    return np.array([share - halves / 2, halves, 1 - share - halves / 2])


def block_means(rng, share, blocks, alike, ties):
    """Mean win shares of blocks, (repeats, blocks), with this mean; games of a block have their own odds (Dirichlet's).

    Args:
        alike: correlation of the games of a block, above 0 and below 1.
        ties: how much of the rarer of wins and losses comes as halves, from 0 to 1.
    """
    odds = rng.dirichlet(odds_of(share, ties) * (1 - alike) / alike + 1e-12, (REPEATS, blocks))
    return rng.multinomial(SEATINGS, odds) @ [1, 0.5, 0] / SEATINGS


def many_games(share, blocks, alike, ties):
    """Whether many games, counted as if they were independent, do not have the most frequent result."""
    games = blocks * SEATINGS / (1 + (SEATINGS - 1) * alike)
    return blocks >= 200 and (1 - max(odds_of(share, ties))) * games >= 100


@pytest.mark.slow
def test_intervals_of_win_shares_cover_the_true_mean_in_every_cell():
    rng, shares = np.random.default_rng(0), (0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999)
    cells = itertools.product(shares, (25, 50, 200, 1000), (1e-6, 0.2, 0.5, 0.8, 0.95, 1 - 1e-6), (0, 0.5, 1))
    demanded({cell: covered(share_bounds(moments(block_means(rng, *cell))), cell[0]) for cell in cells}, many_games)


# --- how often intervals of changes cover ---


def share_changes(rng, blocks, changed, kind, seats=4):
    """Changes of win shares, (repeats, blocks, seats), and their true means; a changed rule affects this part of games.

    Affected games have another winner: any seat alike (`redrawn`), seat 0 (`first`) or the next seat (`next`).
    """
    before = np.eye(seats)[rng.integers(seats, size=(REPEATS, blocks))]
    affected, means = rng.random((REPEATS, blocks, 1)) < changed, np.zeros(seats)
    if kind == "redrawn":
        after = np.eye(seats)[rng.integers(seats, size=(REPEATS, blocks))]
    elif kind == "first":
        after, means = np.broadcast_to(np.eye(seats)[0], before.shape), changed * (np.eye(seats)[0] - 1 / seats)
    else:
        after = np.roll(before, 1, axis=2)
    return np.where(affected, after - before, 0.0), means


def share_change_coverage(rng, blocks, changed, kind):
    """The joint coverage of Bonferroni's intervals of the changes of four seats."""
    values, means = share_changes(rng, blocks, changed, kind)
    low, high = share_bounds(Moments.of(values.swapaxes(0, 1)), 1 - 0.05 / 4, -1)
    return float(((low <= means) & (means <= high)).all(axis=1).mean())


def rupee_change_coverage(rng, blocks, changed, kind):
    """The coverage of intervals of changes of rupees: affected games have another final, or one that is 10 higher."""
    before, other = rng.gamma(4, 5, (2, REPEATS, blocks)).round()
    affected = rng.random((REPEATS, blocks)) < changed
    after, mean = (other, 0.0) if kind == "redrawn" else (before + 10, 10 * changed)
    after = np.where(affected, after, before)
    unrelated = moments(before).variance + moments(after).variance
    return covered(mean_bounds(moments(after - before), unrelated=unrelated), mean)


def many_changes(blocks, changed, kind):
    """Whether many games change, but not all."""
    return 100 <= blocks * changed < blocks and blocks >= 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("coverage", "kinds"),
    [(share_change_coverage, ("redrawn", "first", "next")), (rupee_change_coverage, ("redrawn", "higher"))],
)
def test_intervals_of_changes_cover_the_true_mean_in_every_cell(coverage, kinds):
    rng = np.random.default_rng(0)
    cells = itertools.product((25, 50, 200, 1000), (0.005, 0.02, 0.1, 0.5, 1), kinds)
    demanded({cell: coverage(rng, *cell) for cell in cells}, many_changes)


# --- bounds ---


def test_no_interval_is_without_width():
    for value in (0.0, 0.25, 1.0):
        low, high = share_bounds(Moments.of(np.full(100, value)))
        assert low <= value <= high
        assert high - low > 0.01
        low, high = share_bounds(Moments.of(np.full(100, value)), least=-1)
        assert high - low > 0.01
    low, high = mean_bounds(Moments.of(np.zeros(400)), unrelated=50.0)
    assert low < -0.05 < 0.05 < high
    nothing, one = Moments.of(np.zeros(400)), Moments.of(np.zeros(1))
    for bounds in (mean_bounds(nothing), mean_bounds(one), mean_bounds(one, unrelated=np.inf)):
        assert bounds == (-np.inf, np.inf)


TWO = stats.chi2.cdf(4, 1)  # the confidence of two standard errors
TWO_SIDED = (1 - TWO) / 2


def test_the_interval_of_win_shares_by_hand():
    """Block means 1, 1, 1, ½, ½, 0: share ⅔, spread ⅚."""
    low, high = share_bounds(Moments.of(np.array([1, 1, 1, 0.5, 0.5, 0])), TWO)
    unseen = 1 / (1 + 5 / 6)
    size = 6 * (6 * 2 / 9 + unseen) / (5 / 6 + unseen) * (2 / stats.t.isf(TWO_SIDED, 5)) ** 2
    assert low == pytest.approx(stats.beta.ppf(TWO_SIDED, size * 2 / 3, size / 3 + 1))
    assert high == pytest.approx(stats.beta.isf(TWO_SIDED, size * 2 / 3 + 1, size / 3))
    mirrored = share_bounds(Moments.of(np.array([0, 0, 0, 0.5, 0.5, 1])), TWO)
    assert mirrored == (pytest.approx(1 - high), pytest.approx(1 - low))


def test_the_interval_of_changes_of_rupees_by_hand():
    """Changes 0, 0, 6: mean 2, spread 24."""
    low, high = mean_bounds(Moments.of(np.array([0, 0, 6])), TWO, 3.0)
    error = np.sqrt((24 + 12**2 / (12 + 24)) / 2 / 3)
    assert (low, high) == (pytest.approx(2 - 4.5265 * error, rel=1e-4), pytest.approx(2 + 4.5265 * error, rel=1e-4))


# --- parts ---


def test_the_p_value_is_the_smallest_error_rate_that_excludes():
    assert p_value(lambda confidence: confidence < 0.99) == pytest.approx(0.01)
    assert p_value(lambda _: False) == pytest.approx(1)
    assert p_value(lambda _: True) == LEAST_P


def test_holm_rejects_one_after_the_other():
    assert holm([0.03, 0.001, 0.04], 0.05) == [False, True, False]
    assert holm([0.02, 0.001, 0.03], 0.05) == [True, True, True]
    assert holm([0.02, 0.001], 0.05) == [True, True]
    assert holm([0.03, 0.2], 0.05) == [False, False]
    assert holm([]) == []


def test_resamples_weigh_every_deal():
    weights = resampled(5, 2000, np.random.default_rng(1))
    assert weights.shape == (2000, 5)
    assert weights.min() > 0
    assert weights.sum(axis=1) == pytest.approx(np.full(2000, 5))
    assert weights.var() == pytest.approx(4 / 6, rel=0.05)  # that of independent ones with the variance 1, nearly
