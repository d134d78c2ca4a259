"""The gate: simulations confirm its error rates when one looks after every block, and it decides real matches."""

import types

import numba
import numpy as np
import pytest

from bombay_env import Game, Rules
from bombay_training.evaluation import gate
from bombay_training.evaluation.gate import Bounds
from bombay_training.matches.engines.local import WorkerPool
from helpers.draws import assert_disjoint

PAR, DELTA = 0.25, 0.05
MATCHES, BLOCKS = 1000, 1200
# Distributions of block means: 4 independent games; 4 games with the same result; and almost no variance.
SPREADS = {
    "binomial": lambda rng, mean: rng.binomial(4, mean, (MATCHES, BLOCKS)) / 4,
    "all or nothing": lambda rng, mean: (rng.random((MATCHES, BLOCKS)) < mean).astype(float),
    "narrow": lambda rng, mean: mean + rng.uniform(-0.02, 0.02, (MATCHES, BLOCKS)),
}


def decisions(spread, mean, delta=DELTA):
    """Whether each of many matches with this mean was decided for the new agent, None if undecided, and after how many blocks."""
    bounds = Bounds(PAR, delta)
    means = SPREADS[spread](np.random.default_rng(7), mean)
    found = [bounds.decide(row) for row in means]
    return [decision for decision, _ in found], np.array([blocks for _, blocks in found])


def most_errors(rate=0.05):
    """The number of errors that a rate of 0.05 exceeds once in a thousand trials."""
    return MATCHES * rate + 3.1 * np.sqrt(MATCHES * rate * (1 - rate))


@pytest.mark.parametrize("spread", SPREADS)
def test_an_agent_at_par_is_rarely_accepted_however_often_one_looks(spread):
    assert decisions(spread, PAR)[0].count(True) <= most_errors()


@pytest.mark.parametrize("spread", SPREADS)
def test_an_agent_better_by_delta_is_rarely_rejected(spread):
    assert decisions(spread, PAR + DELTA)[0].count(False) <= most_errors()


def test_large_differences_are_decided_soon():
    """The usual case, block means of four games, is decided within the blocks allowed, too."""
    strong, soon = decisions("binomial", 0.5)
    assert strong.count(True) > 0.999 * MATCHES
    assert np.median(soon) < 40
    weak, soon = decisions("binomial", 0.15)
    assert weak.count(False) > 0.999 * MATCHES
    assert np.median(soon) < 100
    assert decisions("binomial", PAR + DELTA)[0].count(True) > 0.9 * MATCHES
    assert decisions("binomial", PAR)[0].count(False) > 0.9 * MATCHES


def test_bets_are_fair_at_the_bound():
    """The expected wealth after a block equals the wealth before it: exact for a block with two outcomes."""
    history = np.array([0.0, 1.0, 0.25])

    def wealth(means):
        return np.exp(gate.log_wealth(means, 0.25, 0.05)[-1])

    after = 0.25 * wealth(np.append(history, 1.0)) + 0.75 * wealth(np.append(history, 0.0))
    assert after == pytest.approx(wealth(history))


def reached(means, bound, wealth):
    """After how many blocks a bettor's wealth reaches this."""
    return int(np.flatnonzero(np.exp(gate.log_wealth(means, bound, DELTA)) >= wealth)[0]) + 1


@pytest.mark.parametrize(("alpha", "beta"), [(0.2, 0.01), (0.01, 0.2)])
def test_alpha_is_the_rate_of_wrong_replacements_and_beta_that_of_wrong_rejections(alpha, beta):
    bounds, rng = Bounds(PAR, DELTA, alpha, beta), np.random.default_rng(7)
    better, worse = SPREADS["binomial"](rng, 0.5)[0], SPREADS["binomial"](rng, 0.1)[0]
    assert bounds.decide(better) == (True, reached(better, PAR, 1 / alpha))
    assert bounds.decide(worse) == (False, reached(1 - worse, 1 - PAR - DELTA, 1 / beta))


def test_the_interval_is_valid_whenever_the_match_ends():
    """Few intervals miss the true mean even if each match ends when it looks best for the new agent."""
    misses = 0
    for row in SPREADS["binomial"](np.random.default_rng(3), 0.3)[:100, :150]:
        best = 20 + int(np.argmax((np.cumsum(row) / np.arange(1, 151))[20:]))
        estimate = gate.interval(row[:best], DELTA)
        misses += not estimate.low <= 0.3 <= estimate.high
    assert misses <= 5
    assert gate.interval(np.full(200, 0.0), DELTA).high < 0.1


def test_the_interval_holds_the_means_at_which_no_bettor_has_won_forty_times_its_wealth():
    """Each of both bettors does so with a probability of at most 1/40 if the mean is true: together 5 %."""
    means = SPREADS["binomial"](np.random.default_rng(3), 0.3)[0, :150]
    estimate, step = gate.interval(means, DELTA), 1 / gate.GRID

    def most(values, bound):
        return np.exp(gate.log_wealth(values, bound, DELTA)).max()

    assert most(means, estimate.low) >= 40 > most(means, estimate.low + step)
    assert most(1 - means, 1 - estimate.high) >= 40 > most(1 - means, 1 - estimate.high + step)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_the_interval_has_a_width_where_every_candidate_is_refuted(value, monkeypatch):
    monkeypatch.setattr(gate, "GRID", 10)
    estimate = gate.interval(np.full(200, value), DELTA)
    assert estimate.mean == value
    assert estimate.high - estimate.low == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"delta": 0.75}, "delta is 0.75; it must be above 0 and below 0.75"),
        ({"alpha": 0.0}, "alpha is 0; it must be above 0 and below 0.5"),
        ({"beta": 0.5}, "beta is 0.5; it must be above 0 and below 0.5"),
    ],
)
def test_bounds_out_of_range_are_refused(options, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        Bounds(PAR, **options)


def test_a_gate_has_at_least_one_block():
    with pytest.raises(ValueError, match=r"^max_blocks is 0; it must be a whole number from 1"):
        gate.gate([Game(Rules.official(2))], "random", "random", gate.Bounds(0.5), max_blocks=0)


def test_the_mean_over_numbers_of_players_decides(monkeypatch):
    """Here the new agent wins all games with 2 players and loses all with 3."""

    def results(lineup):
        shares = np.full(lineup.deals, float(lineup.game.num_players == 2))
        return types.SimpleNamespace(win_share=None, faults=(), of_agent=lambda values: shares)

    monkeypatch.setattr(gate, "run", lambda lineups, *options: list(map(results, lineups)))
    games = [Game(Rules(n)) for n in (2, 3)]
    verdict = gate.gate(games, "greedy", "random", Bounds(0.7, 0.05), 400)
    assert (verdict.replaced, verdict.decided) == (False, True)
    assert verdict.estimate.mean == 0.5
    assert gate.gate(games, "greedy", "random", Bounds(0.3, 0.05), 400).replaced


def test_every_round_plays_new_deals_only(monkeypatch):
    real, played = gate.run, []

    def run(lineups, store, *options):
        before = store.known(lineups[0]).sum()
        matches = real(lineups, store, *options)
        played.append(set(matches[0].deal[before:].tolist()))
        return matches

    monkeypatch.setattr(gate, "run", run)
    games, blocks = [Game(Rules(2, sets=1, turns_per_set=1, actions_per_turn=1))], 3 * gate.CHUNK_BLOCKS
    verdict = gate.gate(games, "random", "random", Bounds(0.5), blocks)
    assert (verdict.blocks, len(played)) == (blocks, 3)
    assert_disjoint(played)
    assert len(set.union(*played)) == blocks


def test_an_old_agent_that_fails_is_an_error_and_a_new_one_is_rejected():
    games, failing = [Game(Rules(2, sets=1, turns_per_set=2))], "helpers.failing_agents:Raises"
    with pytest.raises(ValueError, match=r"^the old agent lost a game by a fault: agent .*Raises' in seat .*: never"):
        gate.gate(games, "random", failing, Bounds(0.5), 2)
    assert not gate.gate(games, failing, "random", Bounds(0.5), 2).replaced


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="plays hundreds of games; the bounds are tested without any")
def test_the_verdict_is_the_same_for_any_number_of_processes():
    games = [Game(Rules(n, sets=1, turns_per_set=2)) for n in (2, 3)]
    bounds = Bounds(gate.par_of(games))
    assert bounds.par == pytest.approx(5 / 12)
    here = gate.gate(games, "greedy", "random", bounds, 200, seed=1)
    with WorkerPool(2) as pool:
        assert gate.gate(games, "greedy", "random", bounds, 200, 1, pool).to_dict() == here.to_dict()
    assert here.replaced
    assert here.blocks in (16, 32)
    rejected = gate.gate(games, "random", "greedy", bounds, 200)
    assert not rejected.replaced
    assert str(rejected).startswith(f"not replaced after {rejected.blocks} blocks: it falls short of par 0.417")
    undecided = gate.gate(games, "random", "random-turn", bounds, 2)
    assert not undecided.replaced
    assert str(undecided) == "not replaced after 2 blocks: undecided after the last block allowed"
