"""Looking ahead: planners play, and in the first round the seat whose turn ended does not interfere with them."""

import numba
import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.random import RandomTurnAgent
from bombay_agents.scripted import lookahead, planner
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_env.jit.kernels import kernel
from bombay_env.state import NOBODY
from helpers.position import official, variant

SLOW = numba.config.DISABLE_JIT
SHORT = {"actions_per_turn": 1, "sets": 2, "turns_per_set": 2}
LOOKED_AT = 2 if SLOW else 12  # outcomes of a turn
PRIVATE = ("position", "rupees", "basket", "city_tokens")


@kernel
def look_ahead(turn, number, tables, seat, workspace):
    """`lookahead.look_ahead` from a node; only kernels can pass nodes on."""
    return lookahead.look_ahead(turn.memory[0].node[number], tables[0], seat, workspace[0])


def new_workspace(game, rounds):
    workspace = np.zeros(1, lookahead.workspace_dtype(game.board.num_sites))
    lookahead.set_constants(workspace, game, rounds)
    return workspace


def clear_cache(workspace):
    """As `lookahead.clear_cache` does."""
    workspace["num_contexts"] = workspace["num_unshared"] = 0


def by_planners(game, state, due, seat, rounds, workspace):
    """The leaf that `look_ahead` should find, played turn by turn with the planner's own functions."""
    mine = {name: state[name][seat].copy() for name in PRIVATE}
    for name in PRIVATE:
        state[name][seat] = 0
    weights = WEIGHTS_V1[game.num_players]

    def play(state, due, weights):
        best = planner.plan_turn(state, game.tables[0], weights, workspace)
        return workspace.turn.states[best].copy(), workspace.turn.due[best]

    def is_on(state, due):
        return due != turns.RESTOCK_DUE and state["current_player"] != NOBODY

    while is_on(state, due) and state["current_player"] != seat:
        state, due = play(state, due, weights._replace(crowd=0.0))
    for name in PRIVATE:
        state[name][seat] = mine[name] + (state[name][seat] if name == "rupees" else 0)
    for _ in range(1, rounds):
        for _ in range(game.num_players):
            if is_on(state, due):
                state, due = play(state, due, weights)
    return state


@pytest.mark.parametrize("rounds", [1, 2] if SLOW else [1, 2, 7])
@pytest.mark.parametrize("n", [3] if SLOW else [2, 3, 4, 5])
def test_looking_ahead_finds_what_planners_play(n, rounds):
    game = variant(n, **SHORT) if SLOW else official(n)
    workspace, turn, own = new_workspace(game, rounds), turns.new_workspace(game), planner.new_workspace(game)
    states, rng, agent = game.new_states([3]), np.random.default_rng(3), RandomTurnAgent()
    earned, shared, ends = 0, 0, set()
    while not game.is_terminal(states)[0]:
        state = states.view(game.state_dtype, np.ndarray)[0].copy()
        state["seed"] = 0
        seat = np.int64(state["current_player"])
        count = turns.enumerate_turn(state, game.tables[0], turn)
        clear_cache(workspace)
        numbered = {}
        for node in rng.permutation(np.flatnonzero(turn.due[:count]))[:LOOKED_AT]:
            assert look_ahead(turn, node, game.tables, seat, workspace)
            after = turn.states[node].copy()
            wanted = by_planners(game, after.copy(), turn.due[node], seat, rounds, own)
            leaf = workspace["leaf"][0]["state"][0].copy()
            assert leaf.tobytes() == wanted.tobytes()
            earned += leaf["rupees"][seat] > after["rupees"][seat]
            ends.add(
                "over" if leaf["current_player"] == NOBODY else "mine" if leaf["current_player"] == seat else "set"
            )
            for name in PRIVATE:
                leaf[name][seat] = 0
            number = int(workspace["leaf_id"][0])
            shared += number in numbered
            assert numbered.setdefault(number, leaf.tobytes()) == leaf.tobytes()
        mover = states["current_player"][0]
        while states["current_player"][0] == mover and not game.is_terminal(states)[0]:
            game.step(states, agent.act(game, states, rng))
            if states["actions_left"][0] == game.rules.actions_per_turn:
                break
    assert {"over", "set"} <= ends
    assert SLOW or rounds > 2 or "mine" in ends
    assert SLOW or n == 2 or earned > 0
    assert SLOW or rounds > 1 or shared > 0


def test_a_turn_that_does_not_fit_in_memory_is_reported():
    game = variant(4, actions_per_turn=9, buys_per_turn=9, basket=9, market_rupees=(0, 0, 0))
    workspace, turn = new_workspace(game, 1), turns.new_workspace(game)
    turn.states[0] = game.new_states([1]).view(game.state_dtype, np.ndarray)[0]
    turn.due[0] = turns.TURN_OVER
    assert not look_ahead(turn, 0, game.tables, np.int64(3), workspace)
