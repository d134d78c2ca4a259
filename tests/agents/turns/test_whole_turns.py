"""Whole turns as arrays: outcomes against a plain search with `Game.step`, playing them, restocks and refusals."""

import random
import re

import numba
import numpy as np
import pytest

from bombay_agents import play_turns, turn_outcomes
from bombay_agents.random import RandomAgent
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.turns import distinct_turns
from bombay_env import Game, IllegalActionError, Rules
from helpers.position import assert_fits, official, position
from helpers.refusal import refusal
from helpers.variants import random_board, random_game

SLOW = numba.config.DISABLE_JIT
TURN = ["set", "turn", "current_player"]


def sampled(game: Game, seed: int) -> np.ndarray:
    """Positions of games played at random or by the planner, at any decision, the last one of each game included."""
    rng, states, seen = random.Random(seed), game.new_states(range(seed, seed + 3)), []
    chance, agents = np.random.default_rng(seed), [RandomAgent(), RandomAgent() if SLOW else PlannerAgent()]
    while not game.is_terminal(states).any():
        seen.append(states.copy())
        game.step(states, agents[rng.random() < seed % 3 / 3].act(game, states, chance))
    chosen = np.concatenate(seen)
    pending = np.flatnonzero(chosen["take_pending"])[:2].tolist()
    return chosen[sorted({*rng.sample(range(len(chosen)), 2 if SLOW else 15), *pending, len(chosen) - 1})]


def without_restock(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Copies of states after turns, without the restock where a set has ended."""
    bare = after.copy()
    bare["market"][bare["set"] != before["set"]] = 0
    return bare


def plain_search(game: Game, state: np.ndarray) -> dict[bytes, int]:
    """Every end of the turn of (1,) state, by legal actions alone, and the fewest actions that lead to it."""
    ends: dict[bytes, int] = {}
    seen, level, depth = set(), [state], 0
    while level:
        before, level, depth = level, [], depth + 1
        for one in before:
            for action in np.flatnonzero(game.legal_actions(one)[0]):
                after = one.copy()
                game.step(after, [action])
                if after[TURN] != state[TURN]:
                    ends.setdefault(without_restock(state, after).tobytes(), depth)
                elif after.tobytes() not in seen:
                    seen.add(after.tobytes())
                    level.append(after)
    return ends


@pytest.mark.parametrize("number", range(12))
def test_outcomes_are_all_ends_of_the_turn_once_each_and_playing_leads_there(number):
    n = 2 + number % 4
    wide = Game(Rules(n, actions_per_turn=4, basket=3, buys_per_turn=2), random_board(number))
    game = (official(n), random_game(random.Random(number), n), wide)[number // 4]
    states = sampled(game, number)
    before, outcomes = states.copy(), turn_outcomes(game, states)
    assert (states == before).all()
    assert (np.diff(outcomes.lanes) >= 0).all()
    for lane in range(len(states)):
        mine = outcomes.lanes == lane
        found = [state.tobytes() for state in outcomes.states[mine]]
        assert len(set(found)) == len(found)
        taken = (outcomes.actions[mine] >= 0).sum(axis=1).tolist()
        assert dict(zip(found, taken, strict=True)) == plain_search(game, states[lane : lane + 1])
        for place, turn in zip(np.flatnonzero(mine), distinct_turns(game, states[lane : lane + 1]), strict=True):
            assert list(turn.actions) == [action for action in outcomes.actions[place].tolist() if action >= 0]
            assert turn.state.tobytes() == outcomes.states[place].tobytes()
            assert turn.restock_due == outcomes.restock_due[place]
    starts = states[outcomes.lanes]
    after, one_by_one = starts.copy(), starts.copy()
    play_turns(game, after, outcomes.actions)
    for lane, actions in enumerate(outcomes.actions):
        for action in actions[: (actions >= 0).sum()]:  # −1 only at the end
            game.step(one_by_one[lane : lane + 1], [action])
    assert (after == one_by_one).all()
    assert (without_restock(starts, after) == outcomes.states).all()
    assert (outcomes.restock_due == ((after["set"] != starts["set"]) & ~game.is_terminal(after))).all()


@pytest.mark.parametrize("begins", [1, official(2).rules.sets - 1])
def test_restocks_after_an_outcome_are_those_that_playing_it_draws(begins):
    """Also where the last set begins, and where the turn changes what is in the bag."""
    game = official(2)
    last = begins - 1
    states = position(game, at="E3", set=last, turn=game.rules.turns_per_set - 1, player=1 - last % 2)
    outcomes = turn_outcomes(game, states)
    bought = int(outcomes.states["basket"].sum(axis=(1, 2)).argmax())
    assert outcomes.states["basket"][bought].sum() > states["basket"].sum()
    assert outcomes.restock_due.all()
    draws, chances = outcomes.restocks(game, bought)
    after = np.repeat(states, 500 if SLOW else 5_000)
    after["seed"] = np.arange(len(after))
    play_turns(game, after, np.tile(outcomes.actions[bought], (len(after), 1)))
    law = dict(zip(map(tuple, draws.tolist()), chances.tolist(), strict=True))
    assert_fits([tuple(drawn) for drawn in after["market"].sum(axis=1).tolist()], law)
    forced = np.repeat(states, len(draws))
    play_turns(game, forced, np.tile(outcomes.actions[bought], (len(draws), 1)), restocks=draws)
    assert forced["market"].sum(axis=1).tolist() == draws.tolist()
    goes_on = turn_outcomes(game, game.new_states([1]))
    assert [len(part) for part in goes_on.restocks(game, 0)] == [0, 0]


def test_the_best_outcome_of_each_state_is_the_first_of_highest_value():
    outcomes = turn_outcomes(official(3), official(3).new_states(range(4)))
    values = np.random.default_rng(0).integers(4, size=len(outcomes.lanes))  # many ties
    wanted = []
    for lane in range(4):
        mine = np.flatnonzero(outcomes.lanes == lane)
        wanted.append(mine[values[mine].argmax()])
    assert outcomes.best(values).tolist() == wanted
    assert outcomes.best(np.where(values < 3, -np.inf, values)).tolist() == wanted
    for wrong in (values[1:], values[:, None], np.where(values, np.nan, 1)):
        assert re.match(rf"values must be {len(values)} numbers, one for each", refusal(lambda: outcomes.best(wrong)))  # noqa: B023


def test_no_states_have_no_outcomes():
    outcomes = turn_outcomes(official(2), official(2).new_states([]))
    assert [len(part) for part in outcomes] == [0, 0, 0, 0]
    play_turns(official(2), official(2).new_states([]), outcomes.actions[outcomes.best([])])


CONSOLIDATE, END, SELL = (official(2).action_index(name) for name in ("consolidate", "end_turn", "sell:blue"))


@pytest.mark.parametrize(
    ("actions", "error", "message"),
    [
        ([[CONSOLIDATE, -1], [-1, -1]], ValueError, "actions, lane 1: they end before the turn does"),
        ([[CONSOLIDATE, -1], [CONSOLIDATE, END]], ValueError, "actions, lane 1: they go on after the end of the turn"),
        (
            [[CONSOLIDATE], [SELL]],
            IllegalActionError,
            r"actions, lane 1: it chose action \d+ \(sell:blue\), which is illegal",
        ),
        ([[-1, CONSOLIDATE], [-2, -1]], IllegalActionError, "actions, lane 1: it chose action -2, which is illegal"),
        ([CONSOLIDATE, CONSOLIDATE], ValueError, r"integers of shape \(2, longest\), not int64 of shape \(2,\)"),
        ([[CONSOLIDATE]], ValueError, r"integers of shape \(2, longest\), not int64 of shape \(1, 1\)"),
        ([[1.0], [1.0]], ValueError, "not float64"),
        ([[1], [1, 2]], ValueError, "actions must be integers"),
    ],
)
def test_actions_that_are_no_whole_turn_change_nothing(actions, error, message):
    game = official(2)
    states = game.new_states([1, 2])
    before = states.copy()
    with pytest.raises(error, match=message) as caught:
        play_turns(game, states, actions)
    assert getattr(caught.value, "lanes", (1,)) == (1,)
    assert (states == before).all()


def test_a_game_that_is_over_has_no_turn():
    game = official(2)
    states = game.new_states([1, 2])
    game.rollout(states[1:], [1])
    for call in (lambda: turn_outcomes(game, states), lambda: play_turns(game, states, [[CONSOLIDATE]] * 2)):
        assert refusal(call) == "states, lane 1: the game is over, so there is no turn"
