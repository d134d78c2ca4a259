"""Following a run by matches: the same deals each time, and seldom enough."""

import numpy as np
import pytest

from bombay_agents.random import RandomAgent
from bombay_env import Game, Rules
from bombay_training.learners import periodic_eval
from bombay_training.learners.periodic_eval import PeriodicEvaluator


def short_games(*counts):
    return [Game(Rules(n, sets=1, turns_per_set=1, actions_per_turn=1)) for n in counts]


def test_win_shares_are_of_the_same_deals_each_time_and_draw_nothing_from_elsewhere():
    judge = PeriodicEvaluator(short_games(2, 3), ["random", "greedy"], blocks=8)
    before = np.random.get_state()[1].tolist()
    shares = judge.judge(RandomAgent())
    assert list(shares) == ["random", "greedy"]
    assert all(0 <= share <= 1 for share in shares.values())
    assert judge.judge(RandomAgent()) == shares
    assert np.random.get_state()[1].tolist() == before


def test_an_agent_is_at_par_among_its_likes():
    assert PeriodicEvaluator(short_games(2), ["greedy"], blocks=4).judge("greedy") == {"greedy": 0.5}


class Raising:
    name = "raising"

    def act(self, game, states, rng):
        raise ZeroDivisionError("it divided")


def test_who_cannot_play_is_refused_before_lost_games_look_like_a_figure():
    for player, reference in ((Raising(), "random"), ("random", "test_live:Raising")):
        with pytest.raises(ValueError, match=r"^(test_live:R|r)aising cannot play with 2 players: .*it divided"):
            PeriodicEvaluator(short_games(2), [reference]).warm_up(player)


def test_judging_takes_its_part_of_the_time(monkeypatch):
    now = 0.0
    monkeypatch.setattr(periodic_eval.time, "monotonic", lambda: now)
    judge = PeriodicEvaluator(short_games(2), ["random"], blocks=1, part=0.25)
    assert not judge.due()
    now = periodic_eval.FIRST
    assert judge.due()

    def share(*_):
        nonlocal now
        now += 2.0
        return 0.5

    monkeypatch.setattr(judge, "_share", share)
    assert judge.judge("random") == {"random": 0.5}
    now += 5.9
    assert not judge.due()
    now += 0.1
    assert judge.due()
