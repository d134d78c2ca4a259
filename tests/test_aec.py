"""The PettingZoo environment (DESIGN 5): PettingZoo's own tests, arguments, spaces, episodes and illegal actions."""

import json
import warnings

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, seed_test

from bombay_env import Board, Game, IllegalActionError, Rules, bombay_v0
from bombay_env.record import Record
from helpers.aec_envs import (
    MODES,
    SHORT,
    SLOW,
    act,
    each_count,
    each_mode,
    ended,
    make,
    run,
    snapshot,
    started,
)
from helpers.bad_actions import NOT_AN_ACTION
from helpers.position import official
from helpers.refusal import refusal

# The warnings of PettingZoo's own tests that this environment cannot avoid, with the reasons.
EXPECTED_WARNINGS = {
    # The action mask is next to the features in a Dict, as in PettingZoo's own board games. PettingZoo's test has a list of the
    # environments that may do this.
    "Observation is not a NumPy array",
    # The same for the space.
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}


# --- PettingZoo's own tests ---


@each_count
@each_mode
def test_pettingzoos_tests_give_only_the_listed_warnings(n, mode, capsys):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(bombay_v0.env(num_players=n, observation_mode=mode), num_cycles=20 if SLOW else 200)
    assert {str(warning.message) for warning in caught} <= EXPECTED_WARNINGS
    assert "Passed API test" in capsys.readouterr().out


def test_every_listed_warning_still_occurs(capsys):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(bombay_v0.env(rules=Rules(2, **SHORT)), num_cycles=500)
    assert {str(warning.message) for warning in caught} == EXPECTED_WARNINGS
    assert capsys.readouterr().out


@each_count
@each_mode
def test_pettingzoos_seed_test_passes(n, mode):
    seed_test(lambda: bombay_v0.env(num_players=n, observation_mode=mode), num_cycles=20 if SLOW else 200)


# --- construction ---


def test_the_module_has_the_names_that_pettingzoo_users_expect():
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
def test_the_message_names_a_wrong_argument_and_what_is_allowed(arguments, words):
    refusal(lambda: bombay_v0.env(**arguments), *words)
    refusal(lambda: bombay_v0.raw_env(**arguments), *words)


# --- spaces and observations ---


@each_count
def test_spaces_are_as_documented(n):
    env = make(n)
    game = env.game
    for agent in env.possible_agents:
        space = env.observation_space(agent)
        assert space is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert isinstance(space, spaces.Dict)
        assert list(space.spaces) == ["action_mask", "observation"]  # Gymnasium sorts the keys
        features, mask = space["observation"], space["action_mask"]
        assert (features.shape, features.dtype) == ((game.num_features,), np.float32)
        assert np.isfinite(features.low).all()
        assert np.isfinite(features.high).all()
        assert (mask.shape, mask.dtype) == ((game.num_actions,), np.int8)
        assert env.action_space(agent) == spaces.Discrete(game.num_actions)
    assert len({id(env.action_space(agent)) for agent in env.possible_agents}) == n  # so each can be seeded separately
    assert env.state_space.shape == (game.num_features,)


@each_count
@each_mode
def test_spaces_contain_all_observations_and_only_the_mover_has_a_mask(n, mode):
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


def test_observations_are_new_arrays():
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


def test_screened_hides_opponents_only():
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


def test_state_is_the_perfect_recall_observation_of_seat_0():
    for mode in MODES:
        env = started(observation_mode=mode)
        assert (env.state() == env.game.observe(env.game_state, seats=0)[0]).all()
        assert callable(env.state)


# --- course of an episode ---


@each_count
def test_agents_act_in_the_order_of_the_game(n):
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
def test_agent_iter_rewards_each_agent_once_at_the_end(n):
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


def test_a_terminated_agent_steps_only_with_none():
    env = ended()
    before = snapshot(env)
    refusal(lambda: env.step(0), "None")
    assert snapshot(env) == before


@each_count
@pytest.mark.parametrize("reward", ["win", "rank", "margin"])
def test_rewards_are_zero_sum_and_do_not_depend_on_the_last_mover(n, reward):
    """Seat 0 moves last, starts with nothing and loses. The seats that start with most win or share the win."""
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
@pytest.mark.parametrize("what", NOT_AN_ACTION)
def test_an_action_that_is_not_a_whole_number_raises_in_both_modes(mode, what):
    """It is an error of the program, not an illegal move."""
    env = started(illegal_action=mode)
    before = snapshot(env)
    refusal(lambda: env.step(NOT_AN_ACTION[what]), "whole number", error=IllegalActionError)
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
def test_an_illegal_action_can_end_the_game(n, reward, action):
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


def test_illegal_action_does_not_affect_legal_games():
    assert snapshot(ended(illegal_action="terminate")) == snapshot(ended())
