"""The gate: its error rates hold under looks after every block, by simulation, and it decides matches."""

import numba
import numpy as np
import pytest

from bombay_env import Game, Rules
from bombay_training.evaluation import gate
from bombay_training.evaluation.gate import Bounds
from bombay_training.matches.pool import Workers
from bombay_training.matches.results import Fault

PAR, DELTA = 0.25, 0.05
MATCHES, BLOCKS = 1000, 1200
# Block means of 4 games: each won or lost alone; all four alike; and such that hardly ever anything happens.
SPREADS = {
    "binomial": lambda rng, mean: rng.binomial(4, mean, (MATCHES, BLOCKS)) / 4,
    "all or nothing": lambda rng, mean: (rng.random((MATCHES, BLOCKS)) < mean).astype(float),
    "narrow": lambda rng, mean: mean + rng.uniform(-0.02, 0.02, (MATCHES, BLOCKS)),
}


def decisions(spread, mean, delta=DELTA):
    """Whether each of many matches with this mean was decided for the new agent, None without a decision; and when."""
    bounds = Bounds(PAR, delta)
    means = SPREADS[spread](np.random.default_rng(7), mean)
    found = [bounds.decide(row) for row in means]
    return [decision for decision, _ in found], np.array([blocks for _, blocks in found])


def most_errors(rate=0.05):
    """That a rate of 0.05 comes to but once in a thousand."""
    return MATCHES * rate + 3.1 * np.sqrt(MATCHES * rate * (1 - rate))


@pytest.mark.parametrize("spread", SPREADS)
def test_an_agent_at_par_replaces_rarely_however_often_one_looks(spread):
    assert decisions(spread, PAR)[0].count(True) <= most_errors()


@pytest.mark.parametrize("spread", SPREADS)
def test_an_agent_better_by_delta_is_rarely_turned_down(spread):
    assert decisions(spread, PAR + DELTA)[0].count(False) <= most_errors()


def test_what_is_much_better_or_worse_is_told_soon():
    """And the usual case, block means of four games, within the blocks allowed."""
    strong, soon = decisions("binomial", 0.5)
    assert strong.count(True) > 0.999 * MATCHES
    assert np.median(soon) < 40
    weak, soon = decisions("binomial", 0.15)
    assert weak.count(False) > 0.999 * MATCHES
    assert np.median(soon) < 100
    assert decisions("binomial", PAR + DELTA)[0].count(True) > 0.9 * MATCHES
    assert decisions("binomial", PAR)[0].count(False) > 0.9 * MATCHES


def test_bets_are_fair_at_the_bound():
    """Wealth is no more than it was, on average, and never below 0: here exactly, over all blocks of a small kind."""
    history = np.array([0.0, 1.0, 0.25])
    wealth = [
        np.exp(gate.log_wealth(np.append(history, last), 0.25, 0.05)[-1]) * chance
        for last, chance in ((1.0, 0.25), (0.0, 0.75))
    ]
    assert sum(wealth) == pytest.approx(np.exp(gate.log_wealth(history, 0.25, 0.05)[-1]))


def test_the_interval_holds_at_any_end():
    """Of matches ended when they look best to the new agent, few have an interval that misses the truth."""
    misses = 0
    for row in SPREADS["binomial"](np.random.default_rng(3), 0.3)[:100, :150]:
        best = 20 + int(np.argmax((np.cumsum(row) / np.arange(1, 151))[20:]))
        estimate = gate.interval(row[:best], DELTA)
        misses += not estimate.low <= 0.3 <= estimate.high
    assert misses <= 5
    assert gate.interval(np.full(200, 0.0), DELTA).high < 0.1


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"delta": 0.0}, "delta is 0; it must be above 0 and below 0.75"),
        ({"delta": 0.75}, "delta is 0.75; it must be above 0 and below 0.75"),
        ({"alpha": 0.5}, "alpha is 0.5; it must be above 0 and below 0.5"),
        ({"beta": -1.0}, "beta is -1; it must be above 0 and below 0.5"),
    ],
)
def test_bounds_out_of_range_are_refused(options, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        Bounds(PAR, **options)


class Silent:
    """Plays nothing."""

    def act(self, game, states, rng):
        raise RuntimeError("not today")


def test_nobody_replaces_an_agent_that_does_not_play():
    games = [Game(Rules(2, sets=1, turns_per_set=2))]
    with pytest.raises(
        ValueError, match=r"^the old agent cannot be played against: agent .*Silent' in seat .*: not today"
    ):
        gate.gate(games, "random", "test_gate:Silent", Bounds(0.5), 2)
    assert not gate.gate(games, "test_gate:Silent", "random", Bounds(0.5), 2).replaced


def fault(agent, block):
    return Fault(agent, "name", 0, 0, block, 0, "none", f"in block {block}")


def test_of_the_old_agents_faults_the_first_is_told_and_the_new_ones_are_its_own_affair():
    gate.refuse_to_go_on([fault(0, 1), fault(0, 2)])
    with pytest.raises(ValueError, match=r"in block 3$"):
        gate.refuse_to_go_on([fault(0, 1), fault(1, 18), fault(1, 3)])


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="plays hundreds of games; the bounds are tested without any")
def test_matches_are_decided_alike_by_any_number_of_processes():
    games = [Game(Rules(n, sets=1, turns_per_set=2)) for n in (2, 3)]
    bounds = Bounds(gate.par_of(games))
    assert bounds.par == pytest.approx(5 / 12)
    here = gate.gate(games, "greedy", "random", bounds, 200, seed=1)
    with Workers(2) as workers:
        assert gate.gate(games, "greedy", "random", bounds, 200, 1, workers).to_dict() == here.to_dict()
    assert here.replaced
    assert here.blocks in (16, 32)
    turned_down = gate.gate(games, "random", "greedy", bounds, 200)
    assert not turned_down.replaced
    assert str(turned_down).startswith(f"not replaced after {turned_down.blocks} blocks: it falls short of par 0.417")
    undecided = gate.gate(games, "random", "random-turn", bounds, 2)
    assert not undecided.replaced
    assert str(undecided) == "not replaced after 2 blocks: the blocks allowed do not tell"
