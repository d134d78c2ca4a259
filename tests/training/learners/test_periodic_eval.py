"""Quick matches during a run: the same deals each time, and no failing agent that would look like a result."""

import numpy as np
import pytest

from bombay_env import Game, Rules, streams
from bombay_env.agent import AgentFault
from bombay_env.chance import lane_words
from bombay_training.evaluation import arena
from bombay_training.learners.runs import run as runs
from bombay_training.learners.runs.run import DEALS, quick_matches


def short_games(*counts):
    return [Game(Rules(n, sets=1, turns_per_set=1, actions_per_turn=1)) for n in counts]


def test_quick_matches_play_the_same_deals_and_use_no_global_randomness(monkeypatch):
    """They are the first ones of the arena with the seed `DEALS`, half of the blocks for each of two games, in all seatings."""
    games, deal, dealt = short_games(2, 3), Game.new_states, []

    def share(game, spec):
        match = arena.one_vs_rest(game, "planner-v1", spec, 4, DEALS)
        return match.of_agent(match.win_share).mean()

    expected = {f"against_{spec}": np.mean([share(game, spec) for game in games]) for spec in ("random", "greedy")}

    def new_states(self, seeds, *given, **named):
        dealt.extend(np.asarray(seeds).tolist())
        return deal(self, seeds, *given, **named)

    monkeypatch.setattr(Game, "new_states", new_states)
    monkeypatch.setattr(runs, "BLOCKS", 8)
    before = np.random.get_state()[1].tolist()
    said = lane_words(np.full(4, DEALS, np.uint64), streams.DEALS, np.arange(4, dtype=np.uint64)).tolist()
    for _ in range(2):
        assert quick_matches("planner-v1", games, ["random", "greedy"]) == expected
        assert set(dealt) == set(said)
        dealt.clear()
    assert np.random.get_state()[1].tolist() == before


def test_an_agent_is_at_par_against_copies_of_itself():
    assert quick_matches("greedy", short_games(2), ["greedy"]) == {"against_greedy": 0.5}


class Raising:
    name = "raising"

    def act(self, game, states, rng):
        raise ZeroDivisionError("it divided")


def test_agents_that_fail_are_refused():
    for player, reference in ((Raising(), "random"), ("random", "test_periodic_eval:Raising")):
        with pytest.raises(AgentFault, match=r"^agent '(test_periodic_eval:R|r)aising' with 2 players: .*it divided"):
            quick_matches(player, short_games(2), [reference])
