"""States that come from outside: whatever their bytes are, a call ends, and the process stays alive.

`helpers/hostile_states.py` makes the states and calls every method; here it runs in a process of its own.
"""

import inspect
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from bombay_agents.search.last_round import solve
from bombay_agents.turns.enumeration import distinct_turns
from bombay_env import Game, batch, registry
from bombay_env.batch import MIN_PARALLEL_CHECKS
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.render import svg
from bombay_env.text import describe_actions, describe_position
from helpers import TESTS
from helpers.game_states import GAME, played
from helpers.hostile_states import KINDS, ONE_STATE, calls
from helpers.position import official, position
from helpers.refusal import refusal

TIMEOUT = 1200  # seconds; a method that does not return fails the test
NO_JIT = bool(numba.config.DISABLE_JIT)


def try_states(count, seed, *kinds, **env):
    """Run `hostile_states` in a process of its own: the numbers of records tried and sound, by kind."""
    command = [sys.executable, "-m", "helpers.hostile_states", str(count), str(seed), *kinds]
    done = subprocess.run(
        command, cwd=TESTS, env=os.environ | env, capture_output=True, text=True, check=False, timeout=TIMEOUT
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    return {kind: (int(tried), int(sound)) for kind, tried, sound in map(str.split, done.stdout.splitlines())}


def parameters_of_methods():
    """The names of the parameters of every public method of `Game`."""
    found = inspect.getmembers(Game, inspect.isfunction)
    return {name: [*inspect.signature(method).parameters][1:] for name, method in found if name[0] != "_"}


def test_the_calls_cover_every_method_that_takes_states():
    takes_states = {
        name for name, parameters in parameters_of_methods().items() if {"states", "state"} & {*parameters[:1]}
    }
    names = calls(GAME, played(), np.random.default_rng(0))
    assert {name.partition(",")[0] for name in names} == takes_states - {"as_readings"}  # which only views the memory


def test_no_state_stops_the_process():
    found = try_states(20 if NO_JIT else 3000, 1, *KINDS)
    assert found.keys() == KINDS.keys()
    assert found["bytes"][1] == 0
    assert found["inside"][1] > 0.9 * found["inside"][0]


@pytest.mark.slow
@pytest.mark.skipif(NO_JIT, reason="nothing is compiled")
def test_no_index_leaves_its_array():
    """Numba's own checks of every index, since code that reads past an array need not crash."""
    found = try_states(100_000, 3, "bounds", "inside", "lanes", NUMBA_BOUNDSCHECK="1")
    assert found["inside"][1] > 90_000
    assert found["lanes"][0] >= 100_000


@pytest.mark.slow
@pytest.mark.skipif(NO_JIT, reason="nothing is compiled")
def test_agents_play_from_any_sound_state():
    assert try_states(20_000, 4, "bounds", "agents", NUMBA_BOUNDSCHECK="1")["agents"][0] >= 20_000


# --- messages ---

FAULTS = {
    "current_player": ((), 127, "current_player is 127; it must be -1 to 3"),
    "basket": ((2, 1), -128, "basket[2][1] is -128; it must be 0 to 2"),
    "position": ((3,), 24, "position[3] is 24; it must be 0 to 23"),
    "rupees": ((0,), -1, "rupees[0] is -1; it must be 0 to 16777215"),
    "clients": ((4,), 2**31 - 1, "clients[4] is 2147483647; it must be 0"),
    "palace": ((23,), 5, "palace[23] is 5; it must be 0 to 4"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_error_names_lane_field_value_and_range(name):
    place, value, message = FAULTS[name]
    states = played(lanes=6)
    states[name][(4, *place)] = value
    before = states.tobytes()
    for method, call in calls(GAME, states, np.random.default_rng(0)).items():
        if method not in ONE_STATE:
            assert refusal(call) == f"states, lane 4: {message}", method
    assert states.tobytes() == before


def test_a_pending_take_needs_a_bale_to_take():
    states = position(GAME, at="G4", basket=["blue"])
    GAME.step(states, [GAME.action_index("build:blue")])
    assert states["take_pending"] == 1
    states["market"] = 0
    message = "states, lane 0: take_pending is 1, but no market holds a bale; it must be 0"
    for call in calls(GAME, states, np.random.default_rng(0)).values():
        assert refusal(call) == message


def test_the_first_of_many_lanes_is_named():
    """With so many lanes, several threads count the unsound ones."""
    lanes = MIN_PARALLEL_CHECKS
    states = np.tile(played(lanes=1), lanes)
    states["turn"][[-2, -1]] = -7
    message = f"states, lane {lanes - 2}: turn is -7; it must be 0 to 3"
    assert batch.count_unsound(np.asarray(states), GAME._ranges) == 2
    for call in (lambda: GAME.legal_actions(states), lambda: GAME.step(states, [38] * lanes)):
        assert refusal(call) == message


def test_more_bales_on_elephants_than_there_are_make_no_restock():
    states = position(GAME, player=3, turn=3)
    states["basket"][0, :4, 0] = 1
    before = states.tobytes()
    refusal(lambda: GAME.restock_outcomes(states), "basket", "[4, 0, 0, 0]", "[3, 4, 5, 5]")
    refusal(
        lambda: GAME.step(states, [GAME.action_index("end_turn")], [[0, 0, 4, 5]]), "lane 0", "basket", "[4, 0, 0, 0]"
    )
    assert states.tobytes() == before


def test_words_drawings_and_agents_refuse_an_unsound_state():
    """Agents also where nobody asks them through `agent.ask`, which checks the states too."""
    states, rng = played(lanes=1), np.random.default_rng(0)
    states["current_player"] = 127
    before = states.tobytes()
    message = "states, lane 0: current_player is 127; it must be -1 to 3"
    agents = [registry.make(name) for name in registry.agent_names() if name not in ("net", "exec")]
    uses = (describe_position, describe_actions, svg.draw, distinct_turns, solve)
    for use in (*uses, *(lambda game, states, agent=agent: agent.act(game, states, rng) for agent in agents)):
        assert refusal(lambda use=use: use(GAME, states)) == message
    assert states.tobytes() == before


# --- out ---


def overlapping(shape, dtype):
    """An array of states, and an array to write to whose last byte is the first of the second state."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    first = GAME.new_states(range(shape[0]))
    memory = np.zeros(size + first.nbytes, np.uint8)
    states = memory[size - 1 : size - 1 + first.nbytes].view(first.dtype)
    states[:] = first
    return states, memory[:size].view(dtype).reshape(shape)


@pytest.mark.parametrize("name", [name for name, parameters in parameters_of_methods().items() if "out" in parameters])
def test_an_out_inside_the_states_is_refused(name):
    method, more = getattr(GAME, name), [np.arange(3)] if name in ("sample_actions", "scrub") else []
    usual = method(GAME.new_states(range(3)), *more)
    states, out = overlapping(usual.shape, usual.dtype)
    before = states.tobytes()
    refusal(lambda: method(states, *more, out=out), "out shares memory")
    assert states.tobytes() == before
    assert method(states.copy(), *more, out=out) is not None


def test_an_out_that_is_another_argument_is_refused():
    states = played()
    keys, before = np.arange(len(states)), states.tobytes()
    refusal(lambda: GAME.sample_actions(states, keys, out=keys), "out shares memory")
    refusal(lambda: GAME.scrub(states, range(len(states)), out=states), "out shares memory")
    memory = np.zeros((len(states), GAME.num_features), np.float32)
    seats = memory.reshape(-1).view(np.int64)[: len(states)]
    refusal(lambda: GAME.observe(states, seats, out=memory), "out shares memory")
    assert not memory.any()
    assert keys.tolist() == list(range(len(states)))
    assert states.tobytes() == before


def test_arrays_to_collect_into_must_be_apart():
    lanes = AutoresetGames(official(2), 8)
    shape = (1, 8, lanes.game.num_features)
    memory = np.zeros(shape, np.float32)
    masks = np.zeros((1, 8, lanes.game.num_actions), np.bool_)
    inside = memory.view(np.bool_).reshape(-1)[: masks.size].reshape(masks.shape)
    before = lanes.states.tobytes()
    refusal(lambda: lanes.collect(0, 0, memory, inside), "observations shares memory")
    keys = memory.view(np.uint64).reshape(-1)[:8]
    refusal(lambda: lanes.collect(keys, 0, memory, masks), "observations shares memory")
    flags = lanes.states.view(np.ndarray).view(np.bool_)[: masks.size].reshape(masks.shape)
    refusal(lambda: lanes.collect(0, 0, memory, flags), "action_masks shares memory")
    assert lanes.states.tobytes() == before
    assert lanes.collect(0, 0, memory, masks)[0].shape == (1, 8)
