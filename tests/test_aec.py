"""The PettingZoo environment as DESIGN 5 has it: PettingZoo's own tests, then each promise of the interface."""

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
import warnings

import numba
import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo.test import api_test, seed_test

from bombay_env import Board, Game, IllegalActionError, Rules, bombay_v0
from bombay_env.envs.one_game import OneGame
from bombay_env.record import Record, RecordError
from bombay_env.state import state_to_dict
from helpers.position import official, position, setup_of

SLOW = bool(numba.config.DISABLE_JIT)
MODES = ("perfect_recall", "screened")
SHORT = {"sets": 2, "turns_per_set": 1}  # a game that is over soon, with one restock on the way
each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])
each_mode = pytest.mark.parametrize("mode", MODES)

# The warnings of PettingZoo's own tests that this environment cannot avoid, each with its reason.
EXPECTED_WARNINGS = {
    # The mask travels beside the features, in a Dict, as PettingZoo's own card and board games have it; its test lists by
    # name the environments that may.
    "Observation is not a NumPy array",
    # The same Dict, seen as a space.
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}


def make(n=4, short=True, **arguments):
    """An environment without wrapper, of a short game unless told."""
    return bombay_v0.raw_env(rules=Rules(n, **SHORT) if short else Rules.official(n), **arguments)


def act(env, rng):
    """Step with a random legal action; the action taken."""
    action = int(rng.choice(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])))
    env.step(action)
    return action


def run(env, steps=10**6, seed=0):
    """Play until the end, or for some steps; the actions taken."""
    rng = np.random.default_rng(seed)
    actions = []
    while len(actions) < steps and not any(env.terminations.values()):
        actions.append(act(env, rng))
    return actions


def started(n=4, steps=6, seed=3, **arguments):
    env = make(n, **arguments)
    env.reset(seed=seed)
    run(env, steps)
    return env


def ended(n=4, seed=3, **arguments):
    return started(n, 10**6, seed, **arguments)


def snapshot(env):
    """Everything that may be asked of an environment, to compare two or one with itself later."""
    seats = env.possible_agents
    return pickle.dumps(
        [
            env.game_state.tobytes(),
            env.agent_selection,
            list(env.agents),
            dict(env.rewards),
            dict(env._cumulative_rewards),
            dict(env.terminations),
            dict(env.truncations),
            {agent: info["action_mask"].tobytes() for agent, info in env.infos.items()},
            [[part.tobytes() for part in env.observe(agent).values()] for agent in seats],
            env.state().tobytes(),
            json.dumps(env.record()),
        ]
    )


def refusal(call, *words, error=ValueError):
    """The message of the error that `call` raises: one line, with all the words in it."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert all(word in message for word in words), message
    return message


# --- PettingZoo's own tests ---


@each_count
@each_mode
def test_pettingzoo_finds_nothing_but_the_listed_warnings(n, mode, capsys):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(bombay_v0.env(num_players=n, observation_mode=mode), num_cycles=20 if SLOW else 200)
    assert {str(warning.message) for warning in caught} <= EXPECTED_WARNINGS
    assert "Passed API test" in capsys.readouterr().out


def test_every_listed_warning_is_still_given(capsys):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(bombay_v0.env(rules=Rules(2, **SHORT)), num_cycles=500)
    assert {str(warning.message) for warning in caught} == EXPECTED_WARNINGS
    assert capsys.readouterr().out


@each_count
@each_mode
def test_pettingzoo_finds_the_same_game_under_the_same_seed(n, mode):
    seed_test(lambda: bombay_v0.env(num_players=n, observation_mode=mode), num_cycles=20 if SLOW else 200)


# --- making one ---


def test_the_module_has_what_pettingzoo_users_expect():
    env = bombay_v0.env()
    assert isinstance(env.unwrapped, bombay_v0.raw_env)
    assert env.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
    assert env.metadata["name"] == "bombay_v0"
    assert env.metadata["is_parallelizable"] is False
    assert "ansi" in env.metadata["render_modes"]
    assert env.max_num_agents == 4
    assert str(env)


def test_it_is_registered_with_pettingzoo():
    env = pettingzoo.make("aec", "bombay/bombay-v0", num_players=3, reward="rank", observation_mode="screened")
    assert env.unwrapped.game == official(3)
    assert env.unwrapped.reward == "rank"
    assert env.unwrapped.observation_mode == "screened"
    env.reset(seed=1)
    env.step(int(env.infos["player_0"]["action_mask"].argmax()))


@each_count
def test_arguments_reach_the_game(n):
    assert bombay_v0.env(num_players=n).unwrapped.game == official(n)
    board = Board.random(5)
    env = bombay_v0.env(rules=Rules.bga(n), board=board).unwrapped
    assert env.game == Game(Rules.bga(n), board)
    assert env.possible_agents == [f"player_{seat}" for seat in range(n)]
    assert bombay_v0.env(num_players=n, rules=Rules.bga(n)).unwrapped.game.rules == Rules.bga(n)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_players": 1}, ("num_players", "1", "2", "5")),
        ({"num_players": 6}, ("num_players", "6", "2", "5")),
        ({"num_players": "4"}, ("num_players", "'4'", "2", "5")),
        ({"num_players": None}, ("num_players", "2", "5")),
        ({"num_players": 4.0}, ("num_players", "4.0")),
        ({"num_players": 3, "rules": Rules.official(2)}, ("num_players", "3", "2")),
        ({"rules": {"num_players": 2}}, ("rules", "Rules", "dict")),
        ({"rules": "official"}, ("rules", "Rules", "str")),
        ({"board": "reconstruction"}, ("board", "Board", "str")),
        ({"observation_mode": "full"}, ("observation_mode", "'full'", "perfect_recall", "screened")),
        ({"observation_mode": None}, ("observation_mode", "None", "perfect_recall", "screened")),
        ({"observation_mode": ["screened"]}, ("observation_mode", "perfect_recall")),
        ({"reward": "money"}, ("reward", "'money'", "win", "rank", "margin")),
        ({"reward": None}, ("reward", "win", "rank", "margin")),
        ({"illegal_action": "ignore"}, ("illegal_action", "'ignore'", "raise", "terminate")),
        ({"illegal_action": True}, ("illegal_action", "raise", "terminate")),
        ({"render_mode": "human2"}, ("render_mode", "'human2'", "None", "ansi")),
    ],
    ids=repr,
)
def test_a_wrong_argument_is_named_with_what_is_allowed(arguments, words):
    refusal(lambda: bombay_v0.env(**arguments), *words)
    refusal(lambda: bombay_v0.raw_env(**arguments), *words)


# --- spaces and observations ---


@each_count
def test_spaces_are_as_promised(n):
    env = make(n)
    game = env.game
    for agent in env.possible_agents:
        space = env.observation_space(agent)
        assert space is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert isinstance(space, spaces.Dict)
        assert list(space.spaces) == ["action_mask", "observation"]  # gymnasium sorts them
        features, mask = space["observation"], space["action_mask"]
        assert (features.shape, features.dtype) == ((game.num_features,), np.float32)
        assert np.isfinite(features.low).all()
        assert np.isfinite(features.high).all()
        assert (mask.shape, mask.dtype) == ((game.num_actions,), np.int8)
        assert env.action_space(agent) == spaces.Discrete(game.num_actions)
    assert len({id(env.action_space(agent)) for agent in env.possible_agents}) == n  # each seeded on its own
    assert env.state_space.shape == (game.num_features,)


@each_count
@each_mode
def test_spaces_contain_all_that_is_emitted_and_only_the_mover_has_a_mask(n, mode):
    env = make(n, observation_mode=mode)
    env.reset(seed=n)
    rng = np.random.default_rng(n)
    while True:
        over = any(env.terminations.values())
        for seat, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            assert list(seen) == ["observation", "action_mask"]
            assert env.observation_space(agent).contains(seen)
            legal = env.game.legal_actions(env.game_state)[0]
            acts = not over and agent == env.agent_selection
            assert seen["action_mask"].dtype == np.int8
            assert (seen["action_mask"] == (legal if acts else 0)).all()
            assert seen["action_mask"].any() == acts
            assert (seen["observation"] == env.game.observe(env.game_state, seat, mode == "screened")[0]).all()
            assert list(env.infos[agent]) == ["action_mask"]
            assert env.infos[agent]["action_mask"].dtype == np.int8
            assert (env.infos[agent]["action_mask"] == seen["action_mask"]).all()
        assert env.state_space.contains(env.state())
        if over:
            break
        act(env, rng)


def test_observations_are_fresh_arrays():
    env = started()
    before = snapshot(env)
    for agent in env.possible_agents:
        for part in env.observe(agent).values():
            part[:] = 1
    env.state()[:] = 0
    env.game_state["rupees"] = 99
    env.last()[0]["observation"][:] = 0
    assert snapshot(env) == before


def test_any_agent_can_be_observed_at_any_time():
    env = ended()
    everything = {agent: env.observe(agent)["observation"] for agent in env.possible_agents}
    while env.agents:
        env.step(None)
        for agent in env.possible_agents:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            assert (seen["observation"] == everything[agent]).all()
            assert not seen["action_mask"].any()
    assert env.game.is_terminal(env.game_state)[0]
    assert env.record()["result"] is not None
    assert env.state_space.contains(env.state())


def test_screened_hides_opponents_and_shows_oneself():
    env = make(3, observation_mode="screened")
    env.reset(seed=1)
    full = make(3)
    full.reset(seed=1)
    rupees = env.game.feature_layout["rupees"]
    for agent in env.possible_agents:
        shown, everything = env.observe(agent)["observation"][rupees], full.observe(agent)["observation"][rupees]
        assert shown[0] == everything[0] > 0
        assert not shown[1:].any()
        assert everything[:3].all()


def test_state_is_seat_0_with_perfect_memory_in_either_mode():
    for mode in MODES:
        env = started(observation_mode=mode)
        assert (env.state() == env.game.observe(env.game_state, seats=0)[0]).all()
        assert callable(env.state)


# --- course of an episode ---


@each_count
def test_agents_take_their_turns_as_the_game_has_it(n):
    env = make(n)
    env.reset(seed=2)
    assert env.agents == env.possible_agents
    assert env.agent_selection == "player_0"
    states = Game(Rules(n, **SHORT)).new_states([2])
    rng = np.random.default_rng(1)
    while not any(env.terminations.values()):
        assert env.game_state.tobytes() == states.tobytes()
        assert env.agent_selection == f"player_{env.game.current_player(states)[0]}"
        assert set(env.rewards.values()) == {0.0}
        assert not any(env.truncations.values())
        env.game.step(states, [act(env, rng)])
    assert env.game_state.tobytes() == states.tobytes()
    assert all(env.terminations.values())
    assert not any(env.truncations.values())


@each_count
def test_agent_iter_pays_each_agent_once_at_the_end(n):
    env = bombay_v0.env(rules=Rules(n, **SHORT))
    env.reset(seed=5)
    rng, paid = np.random.default_rng(5), {agent: [] for agent in env.possible_agents}
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        paid[agent].append((reward, terminated))
        assert truncated is False
        assert (observation["action_mask"] == info["action_mask"]).all()
        env.step(None if terminated else int(rng.choice(np.flatnonzero(info["action_mask"]))))
    assert not env.agents
    results = env.unwrapped.game.results(env.unwrapped.game_state)
    for seat, agent in enumerate(env.possible_agents):
        *before, last = paid[agent]
        assert all(entry == (0, False) for entry in before)
        assert last == (pytest.approx((n * results["win_share"][0, seat] - 1) / (n - 1)), True)


def test_a_dead_agent_steps_with_none_only():
    env = ended()
    before = snapshot(env)
    refusal(lambda: env.step(0), "None")
    assert snapshot(env) == before


@each_count
@pytest.mark.parametrize("reward", ["win", "rank", "margin"])
def test_rewards_are_zero_sum_and_each_seats_own_whoever_moved_last(n, reward):
    """Seat 0, the last to move, starts with nothing and loses; who starts with most shares the win or has it."""
    unequal = Rules(n, **SHORT, starting_rupees=(0, 90, 40, 90, 40)[:n])
    for seed in range(2 if SLOW else 6):
        env = bombay_v0.raw_env(rules=unequal, reward=reward)
        env.reset(seed=seed)
        run(env)
        assert env.agent_selection == "player_0"
        results = env.game.results(env.game_state)[0]
        final, share = results["final"].astype(float), results["win_share"]
        paid = [env.rewards[agent] for agent in env.possible_agents]
        assert paid == [env._cumulative_rewards[agent] for agent in env.possible_agents]
        assert all(type(value) is float for value in paid)
        assert sum(paid) == pytest.approx(0, abs=1e-12)
        assert paid[0] == min(paid) < 0 < paid[1]
        if reward == "win":
            assert paid == pytest.approx((n * share - 1) / (n - 1))
        if reward == "margin":
            assert paid == pytest.approx((final - final.mean()) / 10)
        if reward == "rank":
            assert paid[0] == -1
            assert [value == max(paid) for value in paid] == results["winners"].tolist()


# --- illegal actions ---

ILLEGAL = [-1, 10**6, 2**63, -(2**70), 2**70, 10**5000, 35, np.int64(-5), np.uint64(2**64 - 1)]


@pytest.mark.parametrize("action", ILLEGAL, ids=lambda action: f"{float(min(action, 2**80)):.3g}")
def test_an_illegal_action_raises_and_changes_nothing(action):
    env = started()
    before = snapshot(env)
    refusal(lambda: env.step(action), "illegal", "legal are", error=IllegalActionError)
    assert snapshot(env) == before
    run(env)
    assert env.record()["result"] is not None


@pytest.mark.parametrize("mode", ["raise", "terminate"])
@pytest.mark.parametrize("action", [None, 1.0, "buy", [1], np.array([1, 2]), np.float64(2)], ids=repr)
def test_what_is_no_number_at_all_raises_in_either_mode(mode, action):
    """That is a mistake of the program, not a move."""
    env = started(illegal_action=mode)
    before = snapshot(env)
    refusal(lambda: env.step(action), "whole number", error=IllegalActionError)
    assert snapshot(env) == before


@pytest.mark.parametrize("kind", [int, np.int8, np.int32, np.int64, np.uint8, np.array], ids=lambda kind: kind.__name__)
def test_an_action_may_be_any_whole_number(kind):
    env, other = started(), started()
    action = int(env.infos[env.agent_selection]["action_mask"].argmax())
    env.step(action)
    other.step(kind(action))
    assert snapshot(env) == snapshot(other)


@each_count
@pytest.mark.parametrize("reward", ["win", "rank", "margin"])
@pytest.mark.parametrize("action", [-1, 35, 2**70])
def test_an_illegal_action_may_end_the_game_instead(n, reward, action):
    env = started(n, steps=5, illegal_action="terminate", reward=reward)
    offender, states = env.agent_selection, env.game_state
    env.step(action)
    assert env.game_state.tobytes() == states.tobytes()
    assert env.rewards == {agent: -1.0 if agent == offender else 1 / (n - 1) for agent in env.possible_agents}
    assert env._cumulative_rewards == env.rewards
    assert sum(env.rewards.values()) == pytest.approx(0)
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    assert not any(info["action_mask"].any() for info in env.infos.values())
    record = env.record()
    assert record["result"] is None
    assert record["fault"]["seat"] == int(offender[-1])
    names = {-1: "-1", 35: env.game.action_name(35), 2**70: str(2**63 - 1)}
    assert record["fault"]["action"] == names[action]
    assert "illegal" in record["fault"]["reason"]
    assert Record.from_dict(json.loads(json.dumps(record))).verify().tobytes() == states.tobytes()
    for _ in range(n):
        env.step(None)
    assert not env.agents
    env.reset(seed=1)
    assert "fault" not in env.record()


def test_a_legal_game_ends_alike_under_both_ways_with_illegal_actions():
    assert snapshot(ended(illegal_action="terminate")) == snapshot(ended())


# --- reset ---


def dealt(env, **arguments):
    env.reset(**arguments)
    return int(env.game_state["seed"][0])


def test_a_seed_deals_that_game_and_stands_in_the_record():
    env = make(short=False)
    for seed in (0, 7, 2**63, 2**64 - 1, np.int64(3), np.uint64(2**64 - 1)):
        env.reset(seed=seed)
        assert env.game_state.tobytes() == env.game.new_states([int(seed)]).tobytes()
        assert env.record()["seed"] == int(seed)
        assert type(env.record()["seed"]) is int


def test_resets_without_a_seed_go_on_in_the_stream_of_the_last_seed():
    one, other = make(), make()
    first = [dealt(one, seed=5), dealt(one), dealt(one), dealt(one)]
    again = [dealt(other, seed=5)]
    run(other)  # how the game goes has no say in it
    again += [dealt(other), dealt(other), dealt(other)]
    assert first == again
    assert len(set(first)) == 4
    assert first[0] == 5
    assert [dealt(one, seed=6), dealt(one)] != first[:2]
    assert dealt(one, seed=5) == 5
    assert dealt(one) == first[1]


def test_environments_never_seeded_differ():
    assert dealt(make()) != dealt(make())


def test_a_dealt_seed_can_be_given_again():
    env = make()
    env.reset(seed=5)
    env.reset()
    seed, before = int(env.game_state["seed"][0]), env.game_state.tobytes()
    assert env.record()["seed"] == seed
    assert make().reset(seed=seed) is None
    again = make()
    again.reset(seed=seed)
    assert again.game_state.tobytes() == before


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", [7]], ids=repr)
def test_other_seeds_are_refused_and_the_game_goes_on(seed):
    env = started()
    before = snapshot(env)
    refusal(lambda: env.reset(seed=seed), "seed")
    assert snapshot(env) == before


def test_a_setup_can_be_given():
    env = make(4)
    setup = setup_of(env.game)
    env.reset(seed=5, options={"setup": setup})
    facts = state_to_dict(env.game_state[0], env.game.rules, env.game.board)
    assert facts["posts"] == setup["posts"]
    assert facts["palace_tokens"] == setup["palace_tokens"]
    assert facts["demand"] == {city: list(column) for city, column in setup["demand"].items()}
    record = env.record()
    assert record["seed"] is None  # chance was given
    assert Record.from_dict(json.loads(json.dumps(record))).verify().tobytes()[8:] == env.game_state.tobytes()[8:]
    run(env)
    assert Record.from_dict(json.loads(json.dumps(env.record()))).verify()["current_player"] == -1


@pytest.mark.parametrize(
    "options",
    [
        {"setup": 5},
        {"setup": {"posts": {}}},
        {"setup": {"weather": 1}},
        {"setup": [{}, {}]},
        {"record": 5},
        {"record": "file.jsonl"},
        {"record": {}},
        {"record": []},
    ],
    ids=repr,
)
def test_wrong_options_are_refused_and_the_game_goes_on(options):
    env = started()
    before, following = snapshot(env), dealt(copy.deepcopy(env))
    refusal(lambda: env.reset(options=options), "setup" if "setup" in options else "record")
    refusal(lambda: env.reset(seed=4, options=options), "setup" if "setup" in options else "record")
    assert snapshot(env) == before
    assert dealt(env) == following  # a failed reset uses no seed up


@pytest.mark.parametrize("options", [None, {}, {"camels": 3}, {"setup": None, "record": None}])
def test_unknown_and_empty_options_are_ignored(options):
    env = make()
    env.reset(seed=4, options=options)
    assert env.game_state.tobytes() == env.game.new_states([4]).tobytes()
    assert env.record()["seed"] == 4


# --- records ---


@each_count
def test_a_record_of_the_running_game_can_be_had_at_every_step(n):
    env = make(n)
    env.reset(seed=n)
    rng = np.random.default_rng(n)
    while True:
        record = env.record()
        read = Record.from_dict(json.loads(json.dumps(record)))
        assert read.verify().tobytes() == env.game_state.tobytes()
        assert read.to_dict() == record
        assert record["agents"] == env.possible_agents
        if any(env.terminations.values()):
            assert record["result"]["final"] == env.game.results(env.game_state)[0]["final"].tolist()
            break
        assert record["result"] is None
        act(env, rng)


def test_a_record_is_a_copy():
    env = started()
    before = snapshot(env)
    record = env.record()
    record["setup"]["demand"]["Bombay"].reverse()
    record["setup"]["posts"].clear()
    record["events"].clear()
    record["rules"]["bales"][0] = 99
    record["agents"][0] = "me"
    assert snapshot(env) == before


@pytest.mark.parametrize("form", ["dict", "json", "Record"])
def test_a_record_can_be_continued(form):
    env = started(3, steps=9)
    record = env.record()
    if form == "json":
        record = json.loads(json.dumps(record))
    other = make(3)
    other.reset(options={"record": Record.from_dict(record) if form == "Record" else record})
    assert other.game_state.tobytes() == env.game_state.tobytes()
    assert snapshot(other) == snapshot(env)
    assert run(other, seed=4) == run(env, seed=4)
    assert snapshot(other) == snapshot(env)
    assert other.record()["result"] is not None


def test_a_continued_game_goes_on_with_the_seed_given():
    env = started(3, steps=4)
    other = make(3)
    other.reset(seed=77, options={"record": env.record()})
    assert other.game_state["seed"] == 77
    assert other.game_state.tobytes()[8:] == env.game_state.tobytes()[8:]
    run(other)
    assert other.record()["seed"] is None  # no one seed deals this game
    Record.from_dict(other.record()).verify()


def test_a_record_whose_chance_was_given_can_be_continued():
    env = make(3)
    env.reset(seed=5, options={"setup": setup_of(env.game)})
    run(env, 4)
    assert env.record()["seed"] is None
    one, two = make(3), make(3)
    for other in (one, two):
        other.reset(seed=5)
        other.reset(options={"record": env.record()})
        run(other)
        Record.from_dict(other.record()).verify()
    assert snapshot(one) == snapshot(two)  # the seed comes from the stream, not from the air


def test_what_cannot_be_continued_is_refused():
    env = started(3)
    before = snapshot(env)
    over, fault = ended(3), started(3, illegal_action="terminate")
    fault.step(-1)
    broken = env.record() | {"events": [*env.record()["events"], "0 move:Z9"]}
    refusal(lambda: env.reset(options={"record": over.record()}), "over")
    refusal(lambda: env.reset(options={"record": fault.record()}), "over")
    refusal(lambda: env.reset(options={"record": started(4).record()}), "record", "players")
    refusal(lambda: env.reset(options={"record": started(3, short=False).record()}), "record", "rules")
    refusal(lambda: env.reset(options={"record": broken}), "event", error=RecordError)
    assert snapshot(env) == before


# --- copies ---

COPIES = {
    "clone": lambda env: env.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("moment", ["start", "middle", "over", "half dead", "dead"])
def test_a_copy_stands_where_the_original_does_and_goes_its_own_way(way, moment):
    env = started(3, steps=0 if moment == "start" else 7) if moment in ("start", "middle") else ended(3)
    for _ in range({"half dead": 2, "dead": 3}.get(moment, 0)):
        env.step(None)
    twin = COPIES[way](env)
    assert type(twin) is type(env)
    assert twin.game == env.game
    before = snapshot(env)
    assert snapshot(twin) == before
    if moment in ("start", "middle"):
        run(twin, seed=1)
        assert snapshot(env) == before  # the original has not moved
        run(env, seed=1)
        assert snapshot(env) == snapshot(twin)
    while env.agents:
        env.step(None)
        twin.step(None)
        assert snapshot(env) == snapshot(twin)
    assert dealt(env) == dealt(twin)  # and the stream of episodes goes on alike
    assert dealt(env) == dealt(twin)


@pytest.mark.parametrize("way", ["deepcopy", "pickle"])
def test_the_wrapped_environment_can_be_copied_too(way):
    env = bombay_v0.env(rules=Rules(3, **SHORT))
    env.reset(seed=3)
    run(env, 5)
    twin = COPIES[way](env)
    assert type(twin) is type(env)
    assert twin.unwrapped is not env.unwrapped
    run(twin)
    run(env)
    assert snapshot(twin.unwrapped) == snapshot(env.unwrapped)


def test_an_environment_not_yet_reset_can_be_copied():
    env = make(3)
    for way in COPIES.values():
        twin = way(env)
        assert dealt(twin) == dealt(way(env))  # the same stream of episodes
        assert dealt(twin, seed=4) == 4


def test_game_state_is_a_fresh_copy_seed_included():
    env = started(seed=2**64 - 1)
    states = env.game_state
    assert isinstance(states, np.recarray)
    assert (states.shape, states.dtype) == ((1,), env.game.state_dtype)
    assert states["seed"] == 2**64 - 1
    before = snapshot(env)
    env.game.step(states, [int(env.infos[env.agent_selection]["action_mask"].argmax())])
    assert snapshot(env) == before


# --- the wrapper, drawing, processes ---


def test_calls_out_of_order_are_refused_by_the_wrapper():
    env = bombay_v0.env()
    with pytest.raises(Exception, match="reset"):
        env.step(0)
    with pytest.raises(AttributeError, match="reset"):
        _ = env.agent_selection


@pytest.mark.parametrize("mode", [None, "ansi", "svg"])
def test_there_is_nothing_to_see_before_the_first_reset(mode):
    env = bombay_v0.env(render_mode=mode)
    with pytest.raises(AssertionError, match="reset"):
        env.render()
    raw = env.unwrapped
    for look in (raw.render, raw.state, raw.record, lambda: raw.game_state):
        refusal(look, "no game", "reset", error=ResetNeeded)
    env.reset(seed=1)
    assert (env.render() is None) == (mode is None)


@each_count
def test_ansi_gives_the_position_as_text(n):
    env = started(n, render_mode="ansi")
    text = env.render()
    assert isinstance(text, str)
    for word in ("left", "centre", "right", "bag", "Bombay", f"seat {n - 1}", "rupees"):
        assert word in text
    assert ended(n, render_mode="ansi").render().startswith("game over")
    assert env.close() is None


def test_ansi_tells_of_a_pending_take():
    env = make(2, short=False, render_mode="ansi")
    env.reset(seed=1)
    states = position(env.game, at="G4", basket=["blue"])
    env.game.step(states, [env.game.action_index("build:blue")])
    env._play = OneGame(env.game, states)
    assert "must take a bale" in env.render()


def test_without_a_render_mode_nothing_is_drawn():
    assert started().render() is None


def digest_of_episodes():
    """A digest of two episodes with everything that an agent sees in them."""
    digest = hashlib.sha256()
    for n, mode in ((2, "screened"), (5, "perfect_recall")):
        env = bombay_v0.env(rules=Rules(n, **SHORT), observation_mode=mode, reward="rank")
        for seed in (9, None):
            env.reset(seed=seed)
            for turn, _ in enumerate(env.agent_iter()):
                observation, reward, terminated, _, info = env.last()
                digest.update(observation["observation"].tobytes() + info["action_mask"].tobytes())
                digest.update(f"{env.agent_selection} {reward} {terminated} {env.agents}".encode())
                legal = np.flatnonzero(info["action_mask"])
                env.step(None if terminated else int(legal[(7 * turn + 3) % len(legal)]))
            digest.update(json.dumps(env.unwrapped.record()).encode())
    return digest.hexdigest()


def test_the_same_seed_is_the_same_game_in_processes_of_other_hash_seeds():
    digests = set()
    for hash_seed in ("0", "31337"):
        done = subprocess.run(
            [sys.executable, "-c", "from test_aec import digest_of_episodes; print(digest_of_episodes())"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout.strip())
    assert digests == {digest_of_episodes()}
