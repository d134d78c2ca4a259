"""Regret in the last round: none for best play, more for random turns than for planned ones."""

import json

import numba
import numpy as np
import pytest
from typer.testing import CliRunner

from bombay_agents import make
from bombay_agents.random import RandomAgent
from bombay_agents.search import endgame
from bombay_training.cli.main import app
from bombay_training.evaluation import regret
from bombay_training.matches.intervals import Estimate, Moments, share_bounds
from helpers.position import official

SLOW = numba.config.DISABLE_JIT


@pytest.fixture(autouse=True)
def quick_sampling(monkeypatch):
    """With the compiler off, a game among planners takes seconds: random players sample the positions."""
    if SLOW:
        monkeypatch.setattr(regret, "PlannerAgent", RandomAgent)


class Solver:
    """Plays the solution of `endgame.solve`, decision by decision."""

    name = "solver"

    def act(self, game, states, rng):
        return np.array([endgame.solve(game, states[lane : lane + 1]).actions[0] for lane in range(len(states))])


def test_best_play_has_no_regret_and_random_turns_have_more_than_planned_ones():
    game = official(2)
    sample = list(regret.endings(game, 3 if SLOW else 40, 1 if SLOW else 2, 1000, seed=1))
    assert {ending.turns for ending in sample} == ({1} if SLOW else {1, 2})
    assert [endgame.turns_left(ending.state[0], game.tables[0]) for ending in sample] == [end.turns for end in sample]
    given = regret.regrets(game, [Solver(), make("random"), make("planner-v1")], sample, seed=1)
    assert np.abs(given[0]).max() < regret.SAME
    if not SLOW:
        assert (given[1].mean(axis=0) > given[2].mean(axis=0)).all()
        assert given[..., 0].min() >= -regret.SAME
    best, rest = regret.summary("solver", given[0]), regret.summary("random", given[1])
    assert best["best"] == 1
    assert rest["best"] < 1
    assert rest["rupees"]["low"] < rest["rupees"]["mean"] < rest["rupees"]["high"]


def test_regret_has_the_intervals_of_shares_and_of_rupees():
    given = np.array([[0.0, 0.0], [0.75, 2.0], [0.0, 4.0]])
    share, rupees = regret.mean_regrets(given)
    assert share == Estimate(0.25, *share_bounds(Moments.of(given[:, 0])))
    half = 4.302653 * 2 / np.sqrt(3)  # Student's t, and the standard deviation over the root of the number of positions
    assert (rupees.mean, rupees.low, rupees.high) == pytest.approx((2, 2 - half, 2 + half))


def test_a_wrong_limit_is_not_taken_for_a_position_that_is_too_large():
    with pytest.raises(ValueError, match=r"^limit is 9223372036854775808; it must be a whole number from 1 to \d+$"):
        next(regret.endings(official(2), 1, 1, 2**63, seed=1))


def test_the_command_prints_a_table_or_json():
    def run(*arguments):
        return CliRunner().invoke(app, ["regret", *arguments])

    options = ["random", "--players", "2", "--positions", "2", "--turns", "1"]
    assert run(*options).exit_code == 0
    data = json.loads(run(*options, "--json").stdout)
    assert data["positions"] == 2
    assert [row["agent"] for row in data["agents"]] == ["random"]
    assert set(data["agents"][0]) == {"players", "agent", "win_share", "rupees", "best"}
    if not SLOW:
        tight = run("random", "--players", "2", "--positions", "2", "--turns", "2", "--limit", "1")
        assert tight.exit_code == 2
        assert "limit=1" in tight.stderr
    (row,) = json.loads(run("random", "--players", "2", "--positions", "1", "--turns", "1", "--json").stdout)["agents"]
    assert row["rupees"]["low"] is None  # one position has no interval
    assert run("nobody").exit_code == 2
    failed = run("helpers.failing_agents:Leaves", "--players", "2", "--positions", "1", "--turns", "1")
    assert failed.exit_code == 2
    assert "agent 'first': it raised SystemExit: 3" in failed.stderr
