"""The Gymnasium environments: the last info of a game, and one learner in all seats."""

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from bombay_env import Rules
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.record import Record
from bombay_env.rewards import seat_places, seat_rewards
from helpers.gym_envs import ID, SHORT, each_autoreset, each_count, pick, play, same, single

OUTCOME = {"final", "win_share", "place", "is_success"}


@pytest.mark.parametrize(
    ("finals", "clients", "expected"),
    [([5, 9, 7], [0, 0, 0], [3, 1, 2]), ([5, 5, 3], [1, 2, 9], [2, 1, 3]), ([5, 5, 3, 6], [1, 1, 9, 0], [2, 2, 4, 1])],
)
def test_places_are_by_rupees_then_clients_and_tied_seats_share_the_better_one(finals, clients, expected):
    results = np.zeros(1, [("final", np.int16, len(finals)), ("clients", np.int16, len(finals))])
    results["final"], results["clients"] = finals, clients
    assert seat_places(results).tolist() == [expected]


@each_count
def test_the_last_info_and_no_other_says_how_the_game_ended(n):
    env, places = single(n), set()
    for seed in range(10):
        _, info = env.reset(seed=seed)
        rng, over = np.random.default_rng(seed), False
        while not over:
            assert not OUTCOME & set(info)
            _, _, over, _, info = env.step(int(pick(info["action_mask"], rng)))
        ended, seat = env.game.results(env.game_state)[0], int(info["seat"])
        ranking = [(ended["final"][other], ended["clients"][other]) for other in range(n)]
        assert info["final"] == ended["final"][seat]
        assert info["win_share"] == ended["win_share"][seat]
        assert info["place"] == 1 + sum(other > ranking[seat] for other in ranking)
        assert type(info["is_success"]) is bool
        assert info["is_success"] == ended["winners"][seat] == (info["place"] == 1)
        assert "seat_rewards" not in info
        places.add(int(info["place"]))
    assert len(places) > 1


# --- one learner in all seats ---


def all_seats(n, **more):
    return BombaySingleEnv(rules=Rules(n, **SHORT), seat="all", **more)


@each_count
@pytest.mark.parametrize("mode", ["perfect_recall", "screened"])
def test_with_all_seats_the_learner_sees_and_acts_for_the_seat_to_act(n, mode):
    env = all_seats(n, observation_mode=mode, reward="margin")
    observation, info = env.reset(seed=n)
    rng, acted, over = np.random.default_rng(n), [], False
    while not over:
        state = env.game_state
        assert info["seat"] == state["current_player"][0]
        assert (observation == env.game.observe(state, screened=mode == "screened")[0]).all()
        assert (info["action_mask"] == env.game.legal_actions(state)[0]).all()
        acted.append(int(info["seat"]))
        observation, reward, over, _, info = env.step(int(pick(info["action_mask"], rng)))
        assert over or reward == 0
    assert set(acted) == set(range(n))
    assert any(one == other for one, other in itertools.pairwise(acted))  # no strict alternation
    paid = seat_rewards(env.game.results(env.game_state), "margin")[0]
    assert info["seat"] == acted[-1]
    assert reward == paid[acted[-1]]
    assert (info["seat_rewards"] == paid).all()
    assert info["final"] == env.game.results(env.game_state)[0]["final"][acted[-1]]
    record = env.record()
    assert record["agents"] == ["learner"] * n
    assert Record.from_dict(record).verify().tobytes() == env.game_state.tobytes()


@each_autoreset
def test_with_all_seats_each_lane_behaves_like_the_single_environment(autoreset):
    many = BombayVectorEnv(4, rules=Rules(3, **SHORT), seat="all", autoreset_mode=autoreset)
    singles = SyncVectorEnv([lambda: all_seats(3)] * 4, autoreset_mode=autoreset)
    assert same(many.reset(seed=5), singles.reset(seed=5))
    rng, ends = np.random.default_rng(1), 0
    for _ in range(50):
        actions = pick(many.action_masks(), rng)
        returned = many.step(actions)
        assert same(returned, singles.step(actions))
        ends += returned[2].sum()
        if autoreset is AutoresetMode.DISABLED and returned[2].any():
            for env in (many, singles):
                env.reset(options={"reset_mask": returned[2].copy()})
    assert ends > 4


def test_with_all_seats_no_agent_is_looked_up(monkeypatch):
    monkeypatch.setattr("bombay_env.registry._entries", dict)
    env = all_seats(2)
    env.reset(seed=1)
    assert "seat_rewards" in play(env)[-1]


def test_gymnasiums_checker_finds_no_problems_with_all_seats():
    check_env(gymnasium.make(ID, num_players=3, seat="all").unwrapped)
