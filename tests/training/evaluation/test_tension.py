"""Tension: beliefs at the starts of turns, their calibration, and the figures of games; and replaying many records at once."""

import dataclasses

import numba
import numpy as np
import pytest

from bombay_agents import make
from bombay_training.evaluation.arena import run_fixed_seats
from bombay_training.evaluation.tension import Beliefs, beliefs, fit_temperature, tension, turn_starts
from helpers.position import each_count, official, variant
from helpers.refusal import refusal

GAMES = 3
SHORT = variant(3, sets=2, turns_per_set=1)


def recorded(game, agent, games, seed=0):
    records = []
    run_fixed_seats(game, [agent] * game.num_players, games, seed, records=records)
    return records


def starts_of(record):
    """The states in which turns begin, (T,), by the record's own replay."""
    starts, last = [], None
    for _, states in record.replay():
        now = states[["set", "turn", "current_player"]].tolist()
        if now != last and not record.game.is_terminal(states)[0]:
            starts.append(states)
            last = now
    return np.concatenate(starts)


# --- beliefs about real games ---


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="turns take seconds with the compiler off")
@each_count
def test_beliefs_are_the_nets_at_the_start_of_every_turn(n):
    game, agent = official(n), make("zero:rounds=0")
    records = recorded(game, "greedy", GAMES)
    found = beliefs(records)
    turns = game.rules.sets * game.rules.turns_per_set * n
    assert found.share.shape == (GAMES, turns, n)
    for number, record in enumerate(records):
        assert np.array_equal(found.share[number], agent.win_shares(game, starts_of(record)))
        assert found.win_share[number].tolist() == record.result["win_share"]


def test_beliefs_about_rules_that_the_net_has_not_learned_are_refused():
    refusal(lambda: beliefs(recorded(SHORT, "greedy", 1)), "trained")


# --- calibration ---


def simulated(games, seed, boldness=1.0, n=3):
    """Games of one round, whose results follow from the true shares, the same in each turn; beliefs are bolder by a power."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(n), (games, 1))
    winners = (rng.random(games)[:, None] > true[:, 0].cumsum(axis=1)[:, :-1]).sum(axis=1)
    shown = np.repeat(true, n, axis=1) ** boldness
    return Beliefs(shown / shown.sum(axis=2, keepdims=True), np.eye(n)[winners])


@pytest.mark.parametrize("boldness", [0.6, 1.0, 2.0])
def test_the_temperature_of_bold_beliefs_is_found(boldness):
    fitted, others = simulated(20_000, 1, boldness), simulated(20_000, 2, boldness)
    assert fit_temperature(fitted) == pytest.approx(boldness, rel=0.05)
    found = tension(fitted, others)
    assert found["calibration_error"] < 0.01
    assert (others.calibration_error > 0.03) == (boldness != 1)
    assert found["winner"][0]["mean"] == pytest.approx((others.at(boldness).share ** 2).sum(axis=2).mean(), abs=0.01)


def test_the_calibration_error_by_hand():
    """Beliefs and wins in the bins from 0.2: 0.65 and 1; from 0.8: 1.6 and 1; from 0.7: 0.75 and 1; and two more of one each."""
    share = np.array([[[0.2, 0.8]], [[0.2, 0.8]], [[0.25, 0.75]], [[0.6, 0.4]]])
    win_share = np.array([[0, 1], [1, 0], [0, 1], [0.5, 0.5]])
    found = Beliefs(share, win_share).calibration_error
    of_bins = [abs(0.65 - 1), abs(1.6 - 1), abs(0.75 - 1), abs(0.6 - 0.5), abs(0.4 - 0.5)]
    assert found == pytest.approx(sum(of_bins) / 8)


def test_beliefs_that_no_temperature_mends_give_no_figures():
    good = simulated(2000, 3)
    wrong = dataclasses.replace(good, share=good.share[:, :, ::-1])
    found = tension(good, wrong)
    assert (found["lead_changes"], found["decided"], found["winner"]) == (None, None, [])
    assert found["calibration_error"] > 0.02
    assert tension(good, simulated(2000, 4))["lead_changes"] is not None


def test_figures_by_hand():
    """Two games of two seats and two rounds of two turns: seat 0 wins the first, both share the second."""
    given = Beliefs(
        np.array(
            [[[0.6, 0.4], [0.3, 0.7], [0.55, 0.45], [0.9, 0.1]], [[0.5, 0.5], [0.2, 0.8], [0.9, 0.1], [0.3, 0.7]]]
        ),
        np.array([[1, 0], [0.5, 0.5]]),
    )
    assert given.decided.tolist() == [0.5, 1]
    assert given.lead_changes.tolist() == [2, 3]
    assert given.by_round.share[0] == pytest.approx(np.array([[0.45, 0.55], [0.725, 0.275]]))
    assert given.by_round.lead_changes.tolist() == [1, 1]
    assert given.winner == pytest.approx(np.array([[0.6, 0.3, 0.55, 0.9], [0.5] * 4]))
    won_at_once = Beliefs(np.full((1, 4, 2), (0.7, 0.3)), np.array([[1, 0]]))
    assert won_at_once.decided.tolist() == [0]


def test_the_figures_are_those_of_calibrated_beliefs():
    """They favour each mover a little, which changes the lead from turn to turn, but not from round to round."""
    fair = simulated(3000, 5, 1.3)
    share = np.tile(fair.share, (1, 2, 1)) * (1 + np.tile(np.eye(3), (2, 1)) / 10)
    given = Beliefs(share / share.sum(axis=2, keepdims=True), fair.win_share)
    found = tension(given, given)
    true = given.at(found["temperature"])
    assert found["decided"]["mean"] == pytest.approx(true.decided.mean())
    assert found["decided"]["low"] < found["decided"]["mean"] < found["decided"]["high"]
    assert [estimate["mean"] for estimate in found["winner"]] == pytest.approx(
        true.by_round.winner.mean(axis=0).tolist()
    )
    assert found["lead_changes"]["mean"] == 0 < true.lead_changes.mean()


# --- replaying records together ---


def test_turns_of_games_of_any_length_begin_as_they_were_played():
    records = recorded(SHORT, "random", 4)
    assert len({len(record.events) for record in records}) > 1
    for record, starts in zip(records, turn_starts(records), strict=True):
        assert starts.tobytes() == starts_of(record).tobytes()
