"""The audit: honest agents pass, and each kind of dishonest agent fails."""

import dataclasses
import json

import numba
import numpy as np
import pytest

from bombay_agents.random import RandomAgent
from bombay_env import Game, Rules
from bombay_env.registry import agent_names, make
from bombay_training.evaluation.audit import audit, sample_states
from helpers.failing_agents import Leaves

QUICK = bool(numba.config.DISABLE_JIT)
# Every palace token gives a `take`, so that few games are needed for one to occur.
GAMES = [Game(Rules(n, sets=2, turns_per_set=2, palace_tokens=(0, 0, 0, 8))) for n in ((2,) if QUICK else (2, 4))]
STATES = 12 if QUICK else 60


@pytest.fixture(autouse=True)
def few_games(monkeypatch):
    if QUICK:
        monkeypatch.setattr("bombay_training.evaluation.audit.GAMES_PER_ROUND", 1)


def without_options():
    """The installed agents that can be made without options."""
    names = []
    for name in agent_names():
        try:
            make(name)
        except ValueError:
            continue
        names.append(name)
    return names


@pytest.mark.parametrize("name", without_options())
def test_installed_agents_pass(name):
    spec = f"{name}:force=true" if name in ("zero", "ppo") else name  # nets trained on official games
    report = audit(lambda: make(spec), GAMES, STATES)
    assert report.verdict in ("passed", "not auditable"), str(report)
    assert (report.verdict == "not auditable") == (getattr(make(name), "ms", None) is not None)


def test_the_champion_with_a_budget_of_nodes_passes():
    report = audit(lambda: make("champion:nodes=9,force=true"), GAMES, 2 if QUICK else 40)
    assert report.verdict == "passed", str(report)


class Peeks(RandomAgent):
    def act(self, game, states, rng):
        keys = (states["seed"] % np.uint64(3)).astype(np.int64)
        legal = game.legal_actions(states)
        return np.array([np.flatnonzero(row)[key % row.sum()] for row, key in zip(legal, keys, strict=True)])


class Drifts(RandomAgent):
    def act(self, game, states, rng):
        return super().act(game, states, np.random.default_rng())


class Marks(RandomAgent):
    def act(self, game, states, rng):
        actions = super().act(game, states, rng)
        game.step(states, actions)
        return actions


class Cheats(RandomAgent):
    def act(self, game, states, rng):
        return np.full(len(states), game.action_index("end_turn"))


class Lost(RandomAgent):
    made = 0

    def __init__(self):
        Lost.made += 1
        if Lost.made == 3:
            raise ValueError("the file is gone")


@pytest.mark.parametrize(
    ("agent", "reason", "answers"),
    [
        (Peeks, "with another seed in the state, which no player may use", 2),
        (Drifts, "when the call was repeated", 2),
        (Marks, "it changed the state that it was given", 0),
        (Cheats, "(end_turn), which is illegal; legal are", 1),
        (Leaves, "it raised SystemExit: 3", 0),
        (Lost, "it raised ValueError: the file is gone", 0),
    ],
)
def test_the_report_names_the_reason_and_the_first_state(agent, reason, answers):
    report = audit(agent, GAMES[:1], STATES, seed=1)
    assert report.verdict == "failed"
    assert reason in report.reason
    assert "\n" not in report.reason
    assert len(report.answers) == answers
    json.dumps(dataclasses.asdict(report), allow_nan=False)
    if answers == 2:
        assert f"it chose {report.answers[0]}, but {report.answers[1]} " in report.reason
        assert report.state["current_player"] in (0, 1)


def test_agents_with_a_budget_of_milliseconds_are_not_auditable():
    agent = RandomAgent()
    agent.ms = 2.5
    report = audit(lambda: agent, GAMES)
    assert report.verdict == "not auditable"
    assert "2.5 ms" in report.reason


def test_samples_cover_all_phases_and_repeat():
    game = GAMES[-1]
    states = sample_states(game, 40, seed=2)
    assert len(states) == 40
    assert states["take_pending"].any()
    assert set(states["set"]) == {0, 1}
    assert (states["turn"] == 1).sum() >= 10
    assert not game.is_terminal(states).any()
    assert (states == sample_states(game, 40, seed=2)).all()
