"""The PettingZoo environment: PettingZoo's own tests, arguments, spaces, episodes and illegal actions."""

import json
import warnings

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils import BaseWrapper

from bombay_env import IllegalActionError, Rules, bombay_v0
from bombay_env.record import Record
from bombay_env.rewards import seat_rewards
from helpers.aec_envs import SHORT, SLOW, act, ended, make, run, snapshot, started
from helpers.position import each_count
from helpers.refusal import refusal

# The warnings of PettingZoo's own tests that this environment cannot avoid, with the reasons.
EXPECTED_WARNINGS = {
    # The action mask is next to the features in a Dict, as in PettingZoo's own board games. PettingZoo's test has a list of the
    # environments that may do this.
    "Observation is not a NumPy array",
    # The same for the space.
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}


@pytest.mark.parametrize(("n", "mode"), [(2, "perfect_recall"), (5, "screened")])
def test_pettingzoos_tests_pass_with_the_listed_warnings(n, mode, capsys):
    cycles = 20 if SLOW else 200
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(bombay_v0.env(num_players=n, observation_mode=mode), num_cycles=cycles)
    assert {str(warning.message) for warning in caught} == EXPECTED_WARNINGS
    assert "Passed API test" in capsys.readouterr().out
    seed_test(lambda: bombay_v0.env(num_players=n, observation_mode=mode), num_cycles=cycles)


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
        assert np.isfinite([features.low, features.high]).all()
        assert (mask.shape, mask.dtype) == ((game.num_actions,), np.int8)
        assert env.action_space(agent) == spaces.Discrete(game.num_actions)
    assert len({id(env.action_space(agent)) for agent in env.possible_agents}) == n  # so each can be seeded separately
    assert env.state_space.shape == (game.num_features,)


def test_what_is_returned_can_be_changed_without_changing_the_game():
    env = started()
    before = snapshot(env)
    for agent in env.possible_agents:
        for part in env.observe(agent).values():
            part[:] = 1
    env.state()[:] = 0
    env.game_state["rupees"] = 99
    env.last()[0]["observation"][:] = 0
    assert snapshot(env) == before
    env.infos[env.agent_selection]["action_mask"][:] = 1
    assert snapshot(env) != before
    assert not env.last()[0]["action_mask"].all()


def test_after_the_end_agents_still_observe_and_step_with_none_only():
    env = ended()
    before = snapshot(env)
    refusal(lambda: env.step(0), "None")
    assert snapshot(env) == before
    everything = {agent: env.observe(agent)["observation"] for agent in env.possible_agents}
    while env.agents:
        env.step(None)
        for agent in env.possible_agents:
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            assert (seen["observation"] == everything[agent]).all()
            assert not seen["action_mask"].any()
    assert env.record()["result"] is not None


# --- course of an episode ---


@pytest.mark.parametrize(
    ("n", "mode", "reward"),
    [
        (2, "perfect_recall", "win"),
        (3, "screened", "rank"),
        (4, "perfect_recall", "margin"),
        (5, "screened", "win"),
    ],
)
def test_a_game_is_that_of_the_engine(n, mode, reward):
    """Compared with `Game` stepped by hand. Every seat can observe at any time; only the seat to act has a mask."""
    env, rng = make(n, observation_mode=mode, reward=reward), np.random.default_rng(n)
    env.reset(seed=n)
    game = env.game
    states, over = game.new_states([n]), False
    assert env.agents == env.possible_agents
    while True:
        assert env.game_state.tobytes() == states.tobytes()
        assert env.state_space.contains(env.state())
        assert (env.state() == game.observe(states, seats=0)[0]).all()
        assert set(env.terminations.values()) == {over}
        assert set(env.truncations.values()) == {False}
        assert over or env.agent_selection == f"player_{game.current_player(states)[0]}"
        for seat, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            assert list(seen) == ["observation", "action_mask"]
            assert env.observation_space(agent).contains(seen)
            assert (seen["observation"] == game.observe(states, seat, mode == "screened")[0]).all()
            acts = not over and agent == env.agent_selection
            assert (seen["action_mask"] == (game.legal_actions(states)[0] if acts else 0)).all()
            assert list(env.infos[agent]) == ["action_mask"]
            assert env.infos[agent]["action_mask"].dtype == seen["action_mask"].dtype == np.int8
            assert (env.infos[agent]["action_mask"] == seen["action_mask"]).all()
        if over:
            break
        assert set(env.rewards.values()) == {0.0}
        game.step(states, [act(env, rng)])
        over = bool(game.is_terminal(states)[0])
    assert list(env.rewards.values()) == seat_rewards(game.results(states), reward)[0].tolist()


@each_count
def test_agent_iter_rewards_each_agent_once_at_the_end(n):
    env = bombay_v0.env(rules=Rules(n, **SHORT))
    env.reset(seed=5)
    rng, paid = np.random.default_rng(5), {agent: [] for agent in env.possible_agents}
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        paid[agent].append((reward, terminated))
        assert type(reward) is float
        assert truncated is False
        assert (observation["action_mask"] == info["action_mask"]).all()
        env.step(None if terminated else int(rng.choice(np.flatnonzero(info["action_mask"]))))
    assert not env.agents
    final = seat_rewards(env.unwrapped.game.results(env.unwrapped.game_state), "win")[0]
    for seat, agent in enumerate(env.possible_agents):
        *before, last = paid[agent]
        assert all(entry == (0, False) for entry in before)
        assert last == (final[seat], True)


def test_a_wrapper_may_truncate_the_game():
    """PettingZoo has no time limit, so people write their own."""

    class TimeLimit(BaseWrapper):
        def step(self, action):
            super().step(action)
            if len(self.unwrapped.record()["events"]) > 5:
                self.unwrapped.truncations = dict.fromkeys(self.agents, True)

    env = TimeLimit(bombay_v0.env(3))
    env.reset(seed=1)
    calls = 0
    for _ in env.agent_iter():
        observation, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else int(observation["action_mask"].argmax()))
        calls += 1
    assert not env.agents
    assert 3 < calls < 12
    assert str(env.env) == "bombay_v0"


# --- illegal actions ---

ILLEGAL = [-1, 35, 2**70, 10**5000, np.uint64(2**64 - 1)]


@pytest.mark.parametrize("action", ILLEGAL, ids=lambda action: f"{float(min(action, 2**80)):.3g}")
def test_an_illegal_action_raises_and_changes_nothing(action):
    env = started()
    before = snapshot(env)
    refusal(lambda: env.step(action), "illegal", "legal are", error=IllegalActionError)
    assert snapshot(env) == before
    run(env)
    assert env.record()["result"] is not None


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.array], ids=lambda kind: kind.__name__)
def test_an_action_may_be_any_whole_number(kind):
    env, other = started(), started()
    action = int(env.infos[env.agent_selection]["action_mask"].argmax())
    env.step(action)
    other.step(kind(action))
    assert snapshot(env) == snapshot(other)


@each_count
@pytest.mark.parametrize("action", [-1, 35, 2**70])
def test_an_illegal_action_can_end_the_game(n, action, caplog):
    env = started(n, steps=5, illegal_action="terminate", reward="margin")
    offender, states = env.agent_selection, env.game_state
    env.step(action)
    assert "Illegal move made" in caplog.text  # PettingZoo's own warning
    assert env.game_state.tobytes() == states.tobytes()
    assert env.rewards == {agent: -1.0 if agent == offender else 1 / (n - 1) for agent in env.possible_agents}
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    assert not any(info["action_mask"].any() for info in env.infos.values())
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.possible_agents)
    record = env.record()
    assert record["result"] is None
    assert record["fault"]["seat"] == int(offender[-1])
    names = {-1: "-1", 35: env.game.action_name(35), 2**70: str(2**63 - 1)}
    assert record["fault"]["action"] == names[action]
    assert "illegal" in record["fault"]["reason"]
    assert Record.from_dict(json.loads(json.dumps(record))).verify().tobytes() == states.tobytes()
    paid = dict(env.rewards)
    for _ in range(n):
        assert env.last()[1] == paid[env.agent_selection]
        env.step(None)
    assert not env.agents
    env.reset(seed=1)
    assert "fault" not in env.record()
