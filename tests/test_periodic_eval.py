"""Periodic evaluation: the same deals each time, and a limited share of the time."""

import numpy as np
import pytest

from bombay_env import Game, Rules, streams
from bombay_env.agent import AgentFault
from bombay_env.chance import lane_words
from bombay_training.evaluation import arena
from bombay_training.learners.runs import periodic_eval
from bombay_training.learners.runs.periodic_eval import DEALS, PeriodicEvaluator


def short_games(*counts):
    return [Game(Rules(n, sets=1, turns_per_set=1, actions_per_turn=1)) for n in counts]


def test_evaluations_play_the_same_deals_and_use_no_global_randomness(monkeypatch):
    """They are the first ones of the arena with the seed `DEALS`, half of the blocks for each of two games, in all seatings."""
    games, deal, dealt = short_games(2, 3), Game.new_states, []

    def share(game, spec):
        match = arena.one_vs_rest(game, "planner-v1", spec, 4, DEALS)
        return match.of_agent(match.win_share).mean()

    expected = {spec: np.mean([share(game, spec) for game in games]) for spec in ("random", "greedy")}

    def new_states(self, seeds, *given, **named):
        dealt.extend(np.asarray(seeds).tolist())
        return deal(self, seeds, *given, **named)

    monkeypatch.setattr(Game, "new_states", new_states)
    evaluator = PeriodicEvaluator(games, ["random", "greedy"], blocks=8)
    before = np.random.get_state()[1].tolist()
    said = lane_words(np.full(4, DEALS, np.uint64), streams.DEALS, np.arange(4, dtype=np.uint64)).tolist()
    for _ in range(2):
        assert evaluator.evaluate("planner-v1") == expected
        assert set(dealt) == set(said)
        dealt.clear()
    evaluator.warm_up("planner-v1")
    assert set(dealt) == {said[0]}
    assert np.random.get_state()[1].tolist() == before


def test_an_agent_is_at_par_against_copies_of_itself():
    assert PeriodicEvaluator(short_games(2), ["greedy"], blocks=4).evaluate("greedy") == {"greedy": 0.5}


class Raising:
    name = "raising"

    def act(self, game, states, rng):
        raise ZeroDivisionError("it divided")


def test_warming_up_refuses_agents_that_fail():
    for player, reference in ((Raising(), "random"), ("random", "test_periodic_eval:Raising")):
        with pytest.raises(AgentFault, match=r"^agent '(test_periodic_eval:R|r)aising' with 2 players: .*it divided"):
            PeriodicEvaluator(short_games(2), [reference]).warm_up(player)


def test_evaluation_takes_its_share_of_the_time(monkeypatch):
    now = 0.0
    monkeypatch.setattr(periodic_eval.time, "monotonic", lambda: now)
    evaluator = PeriodicEvaluator(short_games(2), ["random"], blocks=1, time_share=0.25)
    assert not evaluator.due()
    now = periodic_eval.FIRST
    assert evaluator.due()

    def share(*_):
        nonlocal now
        now += 2.0
        return 0.5

    monkeypatch.setattr(evaluator, "_share", share)
    assert evaluator.evaluate("random") == {"random": 0.5}
    now += 5.9
    assert not evaluator.due()
    now += 0.1
    assert evaluator.due()
