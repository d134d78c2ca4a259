"""Where seats play: sales by colour and place, visits and palaces, and the difference of a seat from the mean."""

import random

import numba
import numpy as np
import pytest

from bombay_env.rules import COLOUR_NAMES
from bombay_training.evaluation.whereabouts import Whereabouts, whereabouts
from bombay_training.matches.accounts import BONUS, BUILDS, MOVES, SALES, Accountant
from bombay_training.matches.cells import Cell, Seating
from bombay_training.matches.observers import replay
from bombay_training.matches.run import run
from bombay_training.reports.balance import stories
from helpers.position import each_count, official, position, variant
from helpers.variants import random_game

GAMES = 2 if numba.config.DISABLE_JIT else 25
AGENTS = ("greedy", "random", "greedy", "random-turn", "greedy")


def match_of(game, games, agents=AGENTS):
    cell = Cell(game, agents[: game.num_players], games, 3, Seating.FIXED, accounts=True, records=True)
    (match,) = run([cell])
    return match


@each_count
@pytest.mark.parametrize("changed", [False, True], ids=["official", "changed"])
def test_sales_add_up_to_the_accounts(n, changed):
    """Moves and palaces do, too, and accounts kept from the records are those of the match."""
    game = random_game(random.Random(n), n) if changed else official(n)
    match = match_of(game, GAMES)
    found, booked = whereabouts(match.records), match.accounts["rupees"]
    assert (found.sales.sum(axis=(2, 3)) == booked[:, :, SALES : BONUS + 1].sum(axis=2)).all()
    assert (found.visits.sum(axis=2) == match.accounts["uses"][:, :, MOVES]).all()
    assert (found.palaces.sum(axis=2) == match.accounts["uses"][:, :, BUILDS]).all()
    accountant = Accountant(game, match.deal)
    replay(match.records, accountant)
    assert (accountant.accounts == match.accounts).all()
    assert found.visits.any()
    assert changed or found.sales.any()


def test_sales_are_entered_by_place_and_colour():
    """Without bonuses, sales by place are the accounts'. With bonuses only, sales by colour are those of the bonus."""
    match = match_of(variant(3, colour_rupees=(0, 0, 0, 0)), GAMES)
    found = whereabouts(match.records)
    assert (found.sales.sum(axis=2) == match.accounts["rupees"][:, :, SALES:BONUS]).all()
    assert found.sales.any()
    match = match_of(variant(3, sale_rupees=(0, 0, 0), colour_rupees=(0, 0, 5, 0)), GAMES)
    found = whereabouts(match.records).sales.sum(axis=(0, 1))
    assert found[COLOUR_NAMES.index("blue")].sum() == found.sum() == match.accounts["rupees"][:, :, BONUS].sum()


def test_a_game_made_by_hand():
    """Seat 0 sells blue at the top and orange in the middle, and moves; seat 1 builds on G4 and moves to E2 and G6."""
    game = variant(2, sets=1, turns_per_set=2, colour_rupees=(1, 0, 2, 0))
    baskets = {0: ["blue", "orange"], 1: ["purple"]}
    states = position(game, elephants={0: "Bombay", 1: "G4"}, baskets=baskets, tokens={"G4": "rupees"})
    found = Whereabouts(game, 1)
    names = ("sell:blue", "sell:orange", "move:H1", "build:purple", "move:E2", "move:G6", "consolidate", "consolidate")
    for name in names:
        action = np.array([game.action_index(name)])
        found.before_step(np.zeros(1, np.int64), states, action)
        game.step(states, action)
    found.after_end(np.zeros(1, np.int64), states, game.results(states))
    blue, orange = COLOUR_NAMES.index("blue"), COLOUR_NAMES.index("orange")
    assert {tuple(place): int(found.sales[tuple(place)]) for place in np.argwhere(found.sales)} == {
        (0, 0, blue, 0): 6,
        (0, 0, orange, 1): 3,
    }
    sites = [site.name for site in game.board.sites]
    assert {(int(seat), sites[site]) for _, seat, site in np.argwhere(found.visits)} == {
        (0, "H1"),
        (1, "E2"),
        (1, "G6"),
    }
    assert [(int(seat), sites[site]) for _, seat, site in np.argwhere(found.palaces)] == [(1, "G4")]


def means(found):
    return np.array([difference["mean"] for difference in found.values()])


def test_why_a_seat_differs():
    match = match_of(official(3), GAMES, ("greedy", "random", "random"))
    found, *others = (stories._why(match, seat) for seat in range(3))
    sources = means(found["sources"])
    assert sources.sum() == pytest.approx(match.margin[:, 0].mean())
    assert means(found["sales"]).sum() == pytest.approx(sources[SALES : BONUS + 1].sum())
    assert [len(found[part]) for part in ("sources", "sales", "visits", "palaces")] == [11, 12, 24, 24]
    blue = whereabouts(match.records).sales[:, :, COLOUR_NAMES.index("blue"), 0]
    assert found["sales"]["blue, top"]["mean"] == pytest.approx(blue[:, 0].mean() - blue.mean())
    assert sources[SALES] > 0
    assert sources + sum(means(other["sources"]) for other in others) == pytest.approx(np.zeros(11))


def test_intervals_of_differences_are_students():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(0).normal(size=(30, 2, 3))
    found = stories._differences("abc", values, 1)
    half = (values[:, 1] - values[:, 0]) / 2
    low, high = stats.t.interval(0.95, 29, half.mean(axis=0), stats.sem(half))
    assert means(found) == pytest.approx(half.mean(axis=0))
    assert [found[name]["low"] for name in "abc"] == pytest.approx(low, rel=0.01)
    assert [found[name]["high"] for name in "abc"] == pytest.approx(high, rel=0.01)
    assert stories._differences("a", np.zeros((5, 2, 1)), 0) == {"a": {"mean": 0, "low": None, "high": None}}
