"""Whole turns: the limit of the enumeration, and plans. `test_whole_turns` compares the outcomes with a plain search."""

import numba
import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.random import RandomTurnAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.turns import enumeration
from bombay_env import engine
from bombay_env.agent import LaneGenerator
from helpers.position import assert_fits, neighbours, official, play, position, variant
from helpers.refusal import refusal

SLOW = numba.config.DISABLE_JIT


# --- Too much for one turn ---


@pytest.mark.parametrize("agent", [None, RandomTurnAgent(), PlannerAgent()], ids=["turns", "random-turn", "planner"])
def test_a_turn_with_too_many_states_is_refused_in_one_line(agent, monkeypatch):
    if SLOW:
        monkeypatch.setattr(enumeration, "MAX_NODES", 100)
    game = variant(4, actions_per_turn=9, buys_per_turn=9, basket=9, market_rupees=(0, 0, 0))
    states = position(game, at="E3")
    plan = turns.distinct_turns if agent is None else lambda *given: agent.act(*given, np.random.default_rng(0))
    words = f"more than {enumeration.MAX_NODES} states", "; allow fewer actions_per"
    refusal(lambda: plan(game, states), *words, error=OverflowError)


# --- random-turn and greedy with epsilon ---


class Counted(RandomTurnAgent):
    planned = 0

    def choose(self, game, state, key):
        assert state["seed"] == 0
        self.planned += 1
        return super().choose(game, state, key)


def outcomes_played(game, states, agent, count=200 if SLOW else 5_000):
    """The outcomes in which the agent ends the turn of `states`, played in so many games at once."""
    rng, after, running = LaneGenerator(np.random.PCG64(0)), np.repeat(states, count), np.arange(count)
    while running.size:
        rng.keys, rng.games = rng.integers(1 << 64, size=len(running), dtype=np.uint64), running.astype(np.uint64)
        for lane, action in zip(running, agent.act(game, after[running], rng), strict=True):
            engine.apply(after[lane], game.tables[0], action)
        running = running[(after[running][["current_player", "set"]] == states[["current_player", "set"]])]
    return [outcome.tobytes() for outcome in after]


def test_random_turn_takes_each_outcome_equally_often_and_keeps_to_its_plan():
    #  G4 has a bale token; two actions are left, and one is enough to build and take
    game, agent = official(4), Counted()
    states = position(game, at="G4", basket=["blue", "yellow"], actions_left=2)
    outcomes = [turn.state.tobytes() for turn in turns.distinct_turns(game, states)]
    assert len(outcomes) > 10
    played = outcomes_played(game, states, agent)
    assert agent.planned == len(played)
    assert_fits(played, dict.fromkeys(outcomes, 1 / len(outcomes)))


@pytest.mark.parametrize("epsilon", [0.25, 0.75])
def test_greedy_with_epsilon_plays_that_share_of_turns_at_random_and_the_others_as_greedy(epsilon):
    game = official(4)
    states = position(game, at="Bombay", basket=["blue", "yellow"])
    outcomes = [turn.state.tobytes() for turn in turns.distinct_turns(game, states)]
    (best,) = set(outcomes_played(game, states, GreedyAgent(), 20))
    law = {outcome: epsilon / len(outcomes) + (1 - epsilon) * (outcome == best) for outcome in outcomes}
    assert_fits(outcomes_played(game, states, GreedyAgent(epsilon)), law)


def test_greedy_with_epsilon_breaks_ties_at_random_as_greedy_does():
    #  Bombay ── G5 ── E1 and Bombay ── H1 ── E1 have the same length
    game = official(2)
    states = position(game, at="Bombay", markets=({"yellow": 3}, {}, {}), actions_left=1)
    outcomes = set(outcomes_played(game, states, GreedyAgent(), 100))
    assert len(outcomes) > 1
    assert set(outcomes_played(game, states, GreedyAgent(1e-12), 100)) == outcomes


# --- Plans ---


class LastOutcome(Counted):
    """Takes the last outcome of a turn, one with the most decisions."""

    def choose(self, game, state, key):
        return super().choose(game, state, np.uint64(2**64 - 1))


def test_a_turn_is_planned_once_and_carried_out():
    game = official(2)
    states = position(game, at="G4", basket=["blue", "yellow"])
    agent, rng = LastOutcome(), np.random.default_rng(0)
    goal = turns.distinct_turns(game, states)[-1]
    assert len(goal.actions) > 2
    for number, action in enumerate(goal.actions):
        scrubbed = game.scrub(states, [number + 100])
        assert agent.act(game, scrubbed, rng)[0] == action
        assert agent.planned == 1
        states = play(game, states, game.action_name(action))
    agent.act(game, states, rng)  # on no planned path
    assert agent.planned == 2


def test_a_plan_for_one_game_is_not_used_in_another():
    """Neither under other rules, nor in another game of a batch, nor in a position that differs in one entry of one field."""
    game, rng = variant(3, actions_per_turn=2), LaneGenerator(np.random.PCG64(0))
    rng.keys = rng.games = np.zeros(1, np.uint64)
    states = position(game, at="G4", basket=["blue", "yellow"])

    def planned_again(game, after, number=0):
        agent = LastOutcome()
        rng.games = np.zeros(1, np.uint64)
        first = agent.act(variant(3, actions_per_turn=2), states, rng)[0]
        rng.games = np.array([number], np.uint64)
        agent.act(game, play(game, states, game.action_name(first)) if after is None else after, rng)
        return agent.planned == 2

    assert not planned_again(game, None)
    assert planned_again(game, None, number=1)
    assert planned_again(variant(3, actions_per_turn=2, toll=2), None)
    first = LastOutcome().act(game, states, rng)[0]
    after, seen = play(game, states, game.action_name(first)), set()
    assert not planned_again(game, after)
    for name, other in neighbours(game, after[0]):
        if name not in (
            "actions_left",
            "take_pending",
            "current_player",
        ):  # no turn could be planned from some of these
            assert planned_again(game, other), name
            seen.add(name)
    assert seen >= {"set", "turn", "market", "rupees", "basket", "position", "post", "demand", "clients", "city_tokens"}


def test_plans_survive_other_variants_and_batches_larger_than_the_cache(monkeypatch):
    """An agent that draws its turn would otherwise draw again in the middle of it, which is another player."""
    monkeypatch.setattr("bombay_agents.turns.agent.MAX_CACHED", 3)
    rng, agent, planned = np.random.default_rng(0), LastOutcome(), 0
    for count in (2, 3):
        game = official(count)
        states = game.new_states(range(40))
        game.step(states, agent.act(game, states, rng))
        planned += 40
        assert agent.planned == planned
        agent.act(official(5), official(5).new_states([1]), rng)
        planned += 1
        rest = states[game.current_player(states) == 0]
        assert len(rest) > 20
        agent.act(game, rest, rng)
        assert agent.planned == planned


def test_only_the_latest_plans_are_kept(monkeypatch):
    monkeypatch.setattr("bombay_agents.turns.agent.MAX_CACHED", 3)
    monkeypatch.setattr("bombay_agents.turns.agent.LANE_CACHED", 3)
    game, agent, rng = official(2), LastOutcome(), np.random.default_rng(0)
    for number, site in enumerate(("A", "E1", "Bombay", "G2"), 1):
        states = position(game, at=site)
        action = agent.act(game, states, rng)[0]
        assert len(agent._cached) <= 3
        agent.act(game, play(game, states, game.action_name(action)), rng)
        assert agent.planned == number
