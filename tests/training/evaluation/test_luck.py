"""Luck: games that draw parts of their randomness anew, and the shares of the variance that the parts explain."""

import json

import numba
import numpy as np
import pytest

from bombay_env.agent import lane_keys
from bombay_env.state import check_invariants
from bombay_training.evaluation.luck import REDRAWS, variance_shares
from bombay_training.matches.lineup import PARTS, SETUP_FIELDS, Lineup, Seating
from bombay_training.matches.run import run
from bombay_training.matches.store import Store, digest, read_matches
from helpers.failing_agents import First
from helpers.position import each_count, official, play, variant
from helpers.refusal import refusal

SHORT = variant(2, sets=2, turns_per_set=2)


def lineup(*redraw, agents=("greedy", "greedy"), deals=6, **options):
    return Lineup(SHORT, agents, deals, 5, Seating.FIXED, redraw=redraw, **options)


def setups(states):
    return np.concatenate([states[name] for name in SETUP_FIELDS], axis=None).tolist()


# --- games that draw parts anew ---


@each_count
def test_each_part_of_a_deal_is_shared_unless_it_is_redrawn(n):
    game = official(n)
    plain, setup, restocks, both = (
        Lineup(game, ("greedy",) * n, 9, 5, redraw=redraw)
        for redraw in ((), ("setup",), ("restocks",), ("restocks", "setup"))
    )
    rows = plain.rows(np.arange(3, 7))
    states = {one: one.dealt(rows) for one in (plain, setup, restocks, both)}
    for one, dealt in states.items():
        for state in dealt:
            check_invariants(state, game.rules, game.board)
        assert (one.rows(np.arange(3, 7)) == rows).all()
        assert one.keys(rows).tolist() == plain.keys(rows).tolist()
    assert (states[plain] == game.new_states(rows["deal"][:, 0])).all()
    assert setups(states[restocks]) == setups(states[plain]) != setups(states[setup]) == setups(states[both])
    for one, other in ((plain, setup), (restocks, both)):
        assert states[one]["market"].tolist() == states[other]["market"].tolist()
        assert states[one]["seed"].tolist() == states[other]["seed"].tolist()
    assert states[plain]["market"].tolist() != states[restocks]["market"].tolist()
    assert not set(states[plain]["seed"].tolist()) & set(states[restocks]["seed"].tolist())
    assert (states[both] == game.new_states(states[both]["seed"])).all()
    for name in game.state_dtype.names:
        if name not in ("market", "seed"):
            assert states[setup][name].tolist() == states[both][name].tolist(), name


def test_later_restocks_are_shared_too():
    later = []
    for redraw in ((), ("setup",), ("restocks",)):
        one = lineup(*redraw)
        states = play(SHORT, one.dealt(one.rows(np.arange(one.num_games))), *["end_turn"] * 4)
        assert (states["set"] == 1).all()
        later.append(states["market"].tolist())
    assert later[0] == later[1] != later[2]


class Spy(First):
    """Keeps the keys, the copies' seeds and the draws of its own that it decides with."""

    def __init__(self):
        self.heard = []

    def act(self, game, states, rng):
        own = rng.integers(1 << 62)
        self.heard.append((lane_keys(rng, len(states)).tolist(), states["seed"].tolist(), own))
        return super().act(game, states, rng)


def test_agents_decide_with_the_same_random_numbers_unless_play_is_redrawn():
    heard = []
    for redraw in ((), ("setup", "restocks"), ("play",)):
        spy = Spy()
        run([lineup(*redraw, agents=(spy, spy))])
        heard.append(spy.heard)
    plain, other_deals, other_play = heard
    assert other_deals == plain
    for one, other in zip(plain, other_play, strict=False):
        assert not set(one[0]) & set(other[0])
        assert not set(one[1]) & set(other[1])
        assert one[2] != other[2]


def test_a_store_keeps_redrawn_line_ups_apart(tmp_path):
    pytest.importorskip("pyarrow.parquet", reason="needs the extra `data`")
    lineups = [lineup(*redraw, deals=3) for redraw in REDRAWS]
    with Store(tmp_path / "s") as store:
        matches = run(lineups, store)
    found = read_matches(tmp_path / "s")
    assert [match.plan.redraw for match in found] == list(REDRAWS)
    assert digest(found) == digest(matches)
    assert len({one.id for one in lineups}) == 7
    forms = json.loads((tmp_path / "s" / "lineups.json").read_text())
    assert [form.get("redraw") for form in forms.values()] == [None, *map(list, REDRAWS[1:])], (
        "plain ones are as before"
    )
    with Store(tmp_path / "s") as store:
        assert all(store.known(one).sum() == 3 for one in lineups)


def test_ids_of_plain_line_ups_never_change():
    """Published games are found by them."""
    game = variant(3, sets=1, turns_per_set=2)
    assert Lineup(game, ("random", "greedy", "random"), 2, 5).id == "908a1948e577debb"
    assert lineup("play", "setup").id == lineup("setup", "play").id != lineup("setup").id


def test_what_cannot_be_redrawn_is_refused():
    refusal(lambda: lineup("luck"), "redraw", "'luck'", "setup, restocks, play")
    refusal(lambda: lineup("setup", records=True), "records", "redraw")


# --- shares of the variance ---


def simulated(function, deals, rng):
    """Results (deals, n) of a function of three numbers, by what is redrawn."""
    old, new = rng.standard_normal((2, deals, 3))
    taken = {redraw: [part in redraw for part in PARTS] for redraw in REDRAWS}
    return {redraw: function(*np.where(which, new, old).T) for redraw, which in taken.items()}


def additive(setup, restocks, play):
    """Two seats at different levels. The variances of the parts are 4, 1 and 0.25 at one, and 1 at the other."""
    return np.stack([50 + 2 * setup + restocks + play / 2, setup + restocks + play], axis=1)


def multiplicative(setup, restocks, play):
    """One seat; each factor has mean 1. The variances are 0.5, 0.2 and 0.1."""
    return np.prod([1 + x * np.sqrt(v) for x, v in zip((setup, restocks, play), (0.5, 0.2, 0.1), strict=True)], axis=0)[
        :, None
    ]


ADDED = [5 / 8.25, 2 / 8.25, 1.25 / 8.25]
WHOLE = 1.5 * 1.2 * 1.1 - 1
ALONE = [0.5 / WHOLE, 0.2 / WHOLE, 0.1 / WHOLE]
IN_ALL = [0.5 * 1.2 * 1.1 / WHOLE, 0.2 * 1.5 * 1.1 / WHOLE, 0.1 * 1.5 * 1.2 / WHOLE]


@pytest.mark.parametrize(
    ("function", "first", "total"), [(additive, ADDED, ADDED), (multiplicative, ALONE, IN_ALL)], ids=["sum", "product"]
)
def test_estimates_are_near_known_shares_and_intervals_cover_them(function, first, total):
    """Of 30 studies of 400 deals; 25 is three standard errors below 95 %."""
    rng, means, covered = np.random.default_rng(1), np.zeros((30, 2, 3)), np.zeros((30, 2, 3))
    for study in range(30):
        found = variance_shares(simulated(function, 400, rng), resamples=100)
        for place, (kind, true) in enumerate((("first", first), ("total", total))):
            estimates = [found[part][kind] for part in PARTS]
            means[study, place] = [estimate.mean for estimate in estimates]
            covered[study, place] = [one.low <= share <= one.high for one, share in zip(estimates, true, strict=True)]
    assert means.mean(axis=0) == pytest.approx(np.array([first, total]), abs=0.03)
    assert covered.sum(axis=0).min() >= 25


def test_a_part_without_effect_has_no_share():
    found = variance_shares(
        simulated(lambda setup, restocks, play: (setup + restocks)[:, None], 50, np.random.default_rng(2))
    )
    for estimate in (found["play"]["first"], found["play"]["total"]):
        assert (estimate.mean, estimate.low, estimate.high) == (0, 0, 0)
    equal = variance_shares({redraw: np.ones((5, 2)) for redraw in REDRAWS})
    assert np.isnan(equal["setup"]["total"].mean)


def measured(agent, deals):
    matches = run([lineup(*redraw, agents=(agent, agent), deals=deals) for redraw in REDRAWS])
    return [
        variance_shares({redraw: getattr(match, quantity) for redraw, match in zip(REDRAWS, matches, strict=True)})
        for quantity in ("margin", "win_share")
    ]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="turns take seconds with the compiler off")
def test_play_has_no_share_if_agents_draw_nothing():
    for shares in measured("planner-v1", 60):
        assert (shares["play"]["total"].high, shares["play"]["first"].high) == (0, 0)
        assert shares["setup"]["total"].low > 0
        assert shares["restocks"]["total"].low > 0
    assert measured("random", 20)[0]["play"]["total"].mean > 0.5
