"""`planner-v1`: it takes the outcome that it values most, by public facts only, and its decisions never change."""

import hashlib
import random

import numba
import numpy as np
import pytest

from bombay_agents.random import RandomAgent
from bombay_agents.scripted import evaluator as planner_evaluator
from bombay_agents.scripted import planner, planner_value
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_env import Game, Rules, engine
from helpers.nets import outcomes_of
from helpers.position import last_turn, official
from helpers.searches import valued_turn
from helpers.variants import random_board

SLOW = numba.config.DISABLE_JIT
LANES = 1 if SLOW else 40

# Digests of decisions of planner-v1, which never change; the second is for runs with the compiler off.
DIGEST = "0a1159f1cdb5a8f2c0227cab89f9e7b2210383d4cb38714e934167d7a53e518e"
DIGEST_OF_FEW = "5e2e2f627e39d77838721de4cf83d7e6951cc10f474bcbabe431bd790abdcbb0"


def midgame(game, lanes, seed):
    """States of random games, each stopped at another step, so that all phases of a turn and of the game occur."""
    rng = np.random.default_rng(seed)
    states = game.new_states(range(seed, seed + lanes))
    for step in range(100):
        running = np.flatnonzero((np.arange(lanes) * 100 > step * lanes) & ~game.is_terminal(states))
        some = states[running]
        game.step(some, RandomAgent().act(game, some, rng))
        states[running] = some
    return states[~game.is_terminal(states)]


def decide(n, lanes, digest, every=1):
    """Add the decisions of planner-v1 in seeded games to `digest`, one in `every` steps. Returns their number.

    The planner and a random player alternate by seat; if `every` is above 1, the random player plays all seats.
    """
    game, agent, rng, count = official(n), PlannerAgent(), random.Random(n), 0
    states = game.new_states(range(lanes))
    step = 0
    while len(states) > 0:
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in game.legal_actions(states)])
        if step % every == 0:
            decided = agent.act(game, states, None)
            digest.update(decided.astype("<i8").tobytes())
            count += len(decided)
            played = (np.arange(len(states)) + states.current_player) % 2 == 0
            actions = np.where(played & (every == 1), decided, actions)
        game.step(states, actions)
        states = states[~game.is_terminal(states)]
        step += 1
    return count


def test_no_decision_of_version_1_has_changed():
    digest = hashlib.sha256()
    if SLOW:
        assert sum(decide(n, 1, digest, every=20) for n in (2, 3, 4, 5)) > 20
        assert digest.hexdigest() == DIGEST_OF_FEW
    else:
        assert sum(decide(n, 24, digest) for n in (2, 3, 4, 5)) > 10_000
        assert digest.hexdigest() == DIGEST


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_it_depends_on_neither_seed_nor_generator_nor_the_number_of_bales(n):
    game = official(n)
    states = midgame(game, 5 * LANES, n)
    actions = PlannerAgent().act(game, states, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    seeds = rng.integers(2**64, size=len(states), dtype=np.uint64)
    assert (PlannerAgent().act(game, game.scrub(states, seeds), rng) == actions).all()
    fuller = Game(Rules(n, bales=(9, 9, 9, 9)), game.board)  # the same position with a fuller bag
    assert (PlannerAgent().act(fuller, states, rng) == actions).all()


@pytest.mark.parametrize("board", [None, 11])
def test_decision_by_decision_it_reaches_the_outcome_it_values_most(board):
    for n in (2, 3, 4, 5):
        game = official(n) if board is None else Game(Rules.official(n), random_board(board))
        agent = PlannerAgent()
        for state in midgame(game, LANES, n):
            workspace = valued_turn(game, state)
            outcomes = np.flatnonzero(workspace.turn.due)
            best = outcomes[workspace.values[outcomes].argmax()]
            goal = workspace.turn.states[best].copy()
            after = np.array([state]).view(np.recarray)
            while (after.current_player[0], after.set[0]) == (state["current_player"], state["set"]):
                action = agent.act(game, after, None)[0]
                assert game.legal_actions(after)[0, action]
                engine.apply(after[0], game.tables[0], action)
            assert after[0].tobytes() == goal.tobytes()


# --- The evaluator ---


def worth_of(game, state, seat, workspace):
    """The planner's value of a position to one seat, with a survey of its own, and the seat's turns to come."""
    tables, weights, survey = game.tables[0], WEIGHTS_V1[game.num_players], workspace.survey[0]
    planner_value.survey_seat(state, tables, seat, weights, workspace.traffic, survey)
    return planner_value.value(state, tables, seat, survey, weights), int(survey.turns)


def read_slowly(game, state, workspace):
    """Margins and shares of a position between turns by seat, from the formula; of a game that is over its result."""
    if game.is_terminal(state.reshape(1))[0]:
        result = game.results(state.reshape(1))[0]
        return (result["final"] - result["final"].mean()) / 10, result["win_share"]
    worths, left = np.transpose([worth_of(game, state, seat, workspace) for seat in range(game.num_players)])
    shares = np.exp((worths - worths.max()) / (1.25 + 0.2 * left.mean()))
    return (worths - worths.mean()) / 10, shares / shares.sum()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_its_evaluator_values_the_twelve_outcomes_of_most_worth_to_the_mover(n):
    game = official(n)
    workspace, evaluator, over = planner.new_workspace(game), PlannerAgent().evaluator(game), 0
    last = last_turn(game, at="Bombay", basket=["blue", "purple"])
    for state in (*midgame(game, 2 if SLOW else 20, n), np.asarray(last)[0]):
        mover, found = int(state["current_player"]), outcomes_of(game, evaluator, state)
        worths = np.array([worth_of(game, after, mover, workspace)[0] for after in found.states])
        best = np.argsort(-worths, kind="stable")[: planner_evaluator.MAX_VALUED]
        assert np.flatnonzero(found.values > -np.inf).tolist() == sorted(best)
        for place in best:
            after, outputs = found.states[place], found.outputs[place]
            margin, share = (np.roll(part, -mover) for part in read_slowly(game, after, workspace))
            assert outputs[:n] == pytest.approx(margin, abs=1e-5)
            assert outputs[5 : 5 + n] == pytest.approx(share, abs=1e-5)
            assert found.values[place] == pytest.approx(margin[0] + 2 * share[0], abs=1e-5)
            over += after["current_player"] < 0
    assert over > 1
