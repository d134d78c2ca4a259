"""The Gymnasium environments as DESIGN 5 has them: the libraries' own checkers, then each promise of the interface."""

import copy
import json
import pickle

import gymnasium
import numba
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import bombay_env
from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Board, Game, IllegalActionError, Rules, bombay_v0
from bombay_env.agent import AgentFault
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.record import History, Record
from bombay_env.rewards import seat_rewards
from helpers.position import official, position, setup_of

SLOW = bool(numba.config.DISABLE_JIT)
ID = "bombay/Bombay-v0"
MODES = ("perfect_recall", "screened")
SHORT = {"sets": 2, "turns_per_set": 1}  # a game that is over soon, with one restock on the way
LANES = 3 if SLOW else 5
STEPS = 12 if SLOW else 60
each_count = pytest.mark.parametrize("n", [2, 5] if SLOW else [2, 3, 4, 5])
each_mode = pytest.mark.parametrize("mode", MODES)
each_autoreset = pytest.mark.parametrize("autoreset", AutoresetMode)


class Keyed:
    """Any legal action, by the seed of the copy it is given: as good as random, and the same in any company."""

    def __init__(self, name="keyed"):
        self.name = name
        self.calls = []

    def act(self, game, states, rng):
        self.calls.append(states.copy())
        masks = game.legal_actions(states)
        chosen = (states["seed"] % masks.sum(axis=1).astype(np.uint64)).astype(np.int64)
        return (masks.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)


class Stubborn:
    """The same answer always."""

    name = "stubborn"

    def __init__(self, answer):
        self.answer = answer

    def act(self, game, states, rng):
        return self.answer(game, states) if callable(self.answer) else np.full(len(states), self.answer)


def arguments(n=4, short=True, **more):
    return {"rules": Rules(n, **SHORT) if short else Rules.official(n), "opponents": Keyed()} | more


def single(n=4, **more):
    return BombaySingleEnv(**arguments(n, **more))


def vector(n=4, lanes=LANES, **more):
    return BombayVectorEnv(lanes, **arguments(n, **more))


def pick(mask, rng):
    """A random legal action for each row of a mask; 0 where there is none."""
    mask = np.asarray(mask, bool)
    return (rng.random(mask.shape) * mask).argmax(axis=-1)


def play(env, seed=0, steps=10**6):
    """Random legal steps of one game until it ends; the last step's return."""
    rng = np.random.default_rng(seed)
    done = None
    for _ in range(steps):
        done = env.step(int(pick(env.unwrapped.action_masks(), rng)))
        if done[2]:
            break
    return done


def refusal(call, *words, error=ValueError):
    """The message of the error that `call` raises: one line, with all the words in it."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert all(word in message for word in words), message
    return message


def same(one, other):
    """Whether two things that environments returned are equal in type, shape and every value."""
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return False
        return all(map(same, one, other)) if one.dtype == object else one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


# --- the libraries' own checkers ---


@each_count
@each_mode
def test_gymnasium_finds_nothing(n, mode):
    """Warnings are errors here, so there are none either."""
    env = gymnasium.make(ID, num_players=n, observation_mode=mode, seat="random")
    check_env(env.unwrapped)


@each_count
@each_mode
def test_stable_baselines_finds_nothing(n, mode):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    env = gymnasium.make(ID, num_players=n, observation_mode=mode, seat="random", render_mode="ansi")
    checker.check_env(env.unwrapped, skip_render_check=False)


def test_masks_reach_through_wrappers_as_sb3_contrib_asks_for_them():
    utils = pytest.importorskip("sb3_contrib.common.maskable.utils")
    from sb3_contrib.common.wrappers import ActionMasker
    from stable_baselines3.common.vec_env import DummyVecEnv

    env = gymnasium.make(ID, num_players=2)
    env.reset(seed=1)
    legal = env.unwrapped.action_masks()
    assert legal.dtype == np.bool_
    assert utils.is_masking_supported(env)
    assert (utils.get_action_masks(env) == legal).all()
    assert (utils.get_action_masks(ActionMasker(env, lambda inner: inner.unwrapped.action_masks())) == legal).all()
    many = DummyVecEnv([lambda seat=seat: gymnasium.make(ID, num_players=2, seat=seat) for seat in range(2)])
    many.seed(1)
    many.reset()
    assert utils.is_masking_supported(many)
    masks = utils.get_action_masks(many)
    assert masks.shape == (2, len(legal))
    assert (masks[0] == many.envs[0].unwrapped.action_masks()).all()


@pytest.mark.skipif(SLOW, reason="as fast as PyTorch, no faster for less")
def test_maskable_ppo_learns_on_it():
    contrib = pytest.importorskip("sb3_contrib")
    env = gymnasium.make(ID, rules=Rules(2, **SHORT), illegal_action="raise")  # so that an ignored mask would show
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=32, n_epochs=1, seed=1, device="cpu")
    model.learn(64)
    assert model.num_timesteps == 64


# --- making one ---


def test_it_is_registered_with_gymnasium():
    env = gymnasium.make(ID, num_players=4, opponents="greedy", seat="random", illegal_action="end_turn")
    assert isinstance(env.unwrapped, BombaySingleEnv)
    assert env.unwrapped.game == official(4)
    assert env.spec.id == ID
    assert not env.spec.nondeterministic
    observation, info = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    assert (info["action_mask"] == env.unwrapped.action_masks()).all()
    env.step(int(info["action_mask"].argmax()))
    env.close()
    for mode in ("vector_entry_point", None):
        many = gymnasium.make_vec(ID, num_envs=3, vectorization_mode=mode, num_players=2, reward="rank", seat=1)
        assert isinstance(many, BombayVectorEnv)
        assert (many.num_envs, many.game) == (3, official(2))
        assert many.spec.id == ID
        assert many.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        many.reset(seed=1)
        many.close()
    sync = gymnasium.make_vec(ID, num_envs=2, vectorization_mode="sync", num_players=2)
    sync.reset(seed=1)
    assert np.stack(sync.call("action_masks")).shape == (2, 39)
    with pytest.raises(TypeError, match="camels"):
        gymnasium.make(ID, camels=3)


@each_count
def test_arguments_reach_the_game(n):
    board = Board.random(5)
    for env in (single(n, rules=Rules.bga(n), board=board), vector(n, rules=Rules.bga(n), board=board)):
        assert env.game == Game(Rules.bga(n), board)
    assert BombaySingleEnv(num_players=n).game == BombayVectorEnv(num_players=n).game == official(n)


def test_spaces_are_as_promised():
    one, many = single(), vector()
    game = one.game
    assert one.observation_space.shape == (game.num_features,)
    assert np.isfinite([one.observation_space.low, one.observation_space.high]).all()
    assert one.action_space == gymnasium.spaces.Discrete(game.num_actions)
    assert many.single_observation_space == one.observation_space
    assert many.single_action_space == one.action_space
    assert many.observation_space.shape == (LANES, game.num_features)
    assert many.action_space == gymnasium.spaces.MultiDiscrete([game.num_actions] * LANES)


BAD = [
    ({"num_players": 1, "rules": None}, ("num_players", "1", "2", "5")),
    ({"num_players": "4", "rules": None}, ("num_players", "'4'", "2", "5")),
    ({"num_players": 3, "rules": Rules.official(2)}, ("num_players", "3", "2")),
    ({"rules": "official"}, ("rules", "Rules", "str")),
    ({"board": "reconstruction"}, ("board", "Board", "str")),
    ({"observation_mode": "full"}, ("observation_mode", "'full'", *MODES)),
    ({"reward": "money"}, ("reward", "'money'", "win", "rank", "margin")),
    ({"illegal_action": "terminate"}, ("illegal_action", "'terminate'", "end_turn", "raise")),
    ({"render_mode": "human"}, ("render_mode", "'human'", "None", "ansi", "svg")),
    ({"seat": 4}, ("seat", "4", "random", "0 to 3")),
    ({"seat": -1}, ("seat", "-1", "random", "0 to 3")),
    ({"seat": "first"}, ("seat", "'first'", "random", "0 to 3")),
    ({"seat": True}, ("seat", "True", "0 to 3")),
    ({"seat": None}, ("seat", "None", "random")),
    ({"opponents": "clever"}, ("clever", "greedy", "random")),
    ({"opponents": "greedy:depth=3"}, ("greedy", "depth")),
    ({"opponents": ""}, ("spec", "greedy")),
    ({"opponents": ["greedy"]}, ("opponents", "1", "3")),
    ({"opponents": ["greedy"] * 4}, ("opponents", "4", "3")),
    ({"opponents": ["greedy", 5, "greedy"]}, ("opponents", "int", "act")),
    ({"opponents": None}, ("opponents", "NoneType", "act")),
    ({"opponents": GreedyAgent}, ("opponents", "type", "act")),
    ({"opponents": {"greedy": 3}}, ("opponents", "dict", "act")),
]


@pytest.mark.parametrize(("wrong", "words"), BAD, ids=[repr(wrong) for wrong, _ in BAD])
def test_a_wrong_argument_is_named_with_what_is_allowed(wrong, words):
    refusal(lambda: single(**wrong), *words)
    refusal(lambda: vector(**wrong), *words)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"lanes": 0}, ("num_envs", "0", "1")),
        ({"lanes": -2}, ("num_envs", "-2", "1")),
        ({"lanes": 2.0}, ("num_envs", "2.0")),
        ({"lanes": True}, ("num_envs", "True")),
        ({"autoreset_mode": "Never"}, ("autoreset_mode", "'Never'", "NextStep", "SameStep", "Disabled")),
        ({"autoreset_mode": None}, ("autoreset_mode", "None", "NextStep")),
        ({"copy": "no"}, ("copy", "'no'", "True", "False")),
    ],
    ids=repr,
)
def test_a_wrong_argument_of_the_vector_is_named(wrong, words):
    refusal(lambda: vector(**wrong), *words)


# --- one game ---


@each_count
@each_mode
def test_a_game_shows_the_learner_its_own_view_until_it_pays_its_reward(n, mode):
    for seat in ("random", 0, n - 1):
        env = single(n, seat=seat, observation_mode=mode, reward="margin")
        observation, info = env.reset(seed=n)
        reward, over, rng = 0.0, False, np.random.default_rng(n)
        while True:
            state = env.game_state
            assert env.observation_space.contains(observation)
            assert (observation == env.game.observe(state, info["seat"], mode == "screened")[0]).all()
            assert list(info) == ["action_mask", "illegal_actions", "seat"]
            assert info["action_mask"].dtype == np.int8
            assert (info["action_mask"] == env.game.legal_actions(state)[0]).all()
            assert (info["action_mask"] == env.action_masks()).all()
            assert info["seat"] == (seat if seat != "random" else info["seat"]) == env._games.seats[0]
            if over:
                break
            assert state["current_player"][0] == info["seat"]
            assert (reward, type(reward)) == (0.0, float)
            observation, reward, over, truncated, info = env.step(int(pick(info["action_mask"], rng)))
            assert truncated is False
            assert over is bool(env.game.is_terminal(env.game_state)[0])
        results = env.game.results(env.game_state)
        assert reward == seat_rewards(results, "margin")[0, info["seat"]]
        assert not info["action_mask"].any()
        refusal(lambda env=env: env.step(0), "reset", error=ResetNeeded)


@pytest.mark.parametrize("reward", ["win", "rank", "margin"])
def test_the_reward_is_the_learners_of_the_results(reward):
    env = vector(3, lanes=4 if SLOW else 24, reward=reward)
    _, infos = env.reset(seed=9)
    rng, paid = np.random.default_rng(9), set()
    for _ in range(STEPS):
        _, rewards, ended, _, infos = env.step(pick(infos["action_mask"], rng))
        assert not rewards[~ended].any()
        if ended.any():
            states = env.game_states[ended]
            expected = seat_rewards(env.game.results(states), reward)[np.arange(len(states)), infos["seat"][ended]]
            assert (rewards[ended] == expected).all()
            paid |= set(expected.tolist())
    assert len(paid) > 1


def test_it_must_be_reset_first():
    for env, action in ((single(), 0), (vector(), np.zeros(LANES, int))):
        refusal(lambda env=env, action=action: env.step(action), "reset", error=ResetNeeded)
    refusal(lambda: single().record(), "reset", error=ResetNeeded)
    assert not single().action_masks().any()


# --- the same in a vector ---


@each_count
@each_autoreset
@pytest.mark.parametrize("mode", MODES[:1] if SLOW else MODES)
def test_each_lane_is_the_single_environment(n, autoreset, mode):
    """Observations, rewards, ends, masks and all other infos are those of Gymnasium's own vector of single environments."""
    more = {"observation_mode": mode, "reward": "rank"}
    many = vector(n, autoreset_mode=autoreset, **more)
    singles = SyncVectorEnv([lambda: single(n, **more) for _ in range(LANES)], autoreset_mode=autoreset)
    assert same(many.reset(seed=5), singles.reset(seed=5))
    rng, ends = np.random.default_rng(n), 0
    for _ in range(STEPS):
        masks = many.action_masks()
        actions = pick(masks, rng)
        actions[0] = rng.integers(many.game.num_actions)  # legal or not
        returned, expected = many.step(actions), singles.step(actions)
        assert same(returned, expected)
        assert many.observation_space.contains(returned[0])
        assert (many.action_masks() == singles.call("action_masks")).all()
        assert many.game_states.tobytes() == b"".join(state.tobytes() for state in singles.get_attr("game_state"))
        ended = returned[2]
        ends += ended.sum()
        if autoreset is AutoresetMode.DISABLED and ended.any():
            observations, infos = many.reset(options={"reset_mask": ended.copy()})
            expected, some = singles.reset(options={"reset_mask": ended.copy()})
            assert same(observations, expected)
            assert set(infos) == set(some)
            for name, values in some.items():
                assert same(values[ended], infos[name][ended])
    assert ends > LANES


@each_count
def test_a_lane_does_not_depend_on_its_neighbours(n):
    """Lane 2 of five is lane 0 of one, whatever the others do, and a batch of one is one with random opponents too."""
    many, alone = vector(n, lanes=5), vector(n, lanes=1)
    many.reset(seed=[7, 8, 9, 10, 11])
    alone.reset(seed=[9])
    rng = np.random.default_rng(n)
    for _ in range(STEPS):
        actions = pick(many.action_masks(), rng)
        returned, expected = many.step(actions), alone.step(actions[2:3])
        for part, other in zip(returned[:4], expected[:4], strict=True):
            assert same(part[2:3], other)
    lane, one = vector(n, lanes=1, opponents="random"), single(n, opponents="random")
    assert lane.reset(seed=4)[0].tobytes() == one.reset(seed=4)[0].tobytes()
    for _ in range(STEPS):
        action = int(pick(one.action_masks(), rng))
        returned, expected = lane.step(np.array([action])), one.step(action)
        assert returned[0].tobytes() == expected[0].tobytes()
        if expected[2]:
            break


# --- seeds ---


@pytest.mark.parametrize("opponents", ["random"] if SLOW else ["random", ["greedy", "random", "greedy"]], ids=repr)
def test_seeds_repeat(opponents):
    for copies in range(2):
        one, other = (vector(opponents=opponents, copy=bool(copies)) for _ in range(2))
        for seed in (3, None, [5, 1, 2**64 - 1, 0, 9][:LANES], None):
            rng = np.random.default_rng(2)
            assert same(one.reset(seed=seed), other.reset(seed=seed))
            for _ in range(STEPS // 3):
                actions = pick(one.action_masks(), rng)
                assert same(one.step(actions), other.step(actions))


def test_lane_i_is_dealt_by_seed_plus_i_and_then_by_its_own_stream():
    env = vector(seat=0, lanes=3)
    env.reset(seed=40)
    assert env.game_states.tobytes() == env.game.new_states([40, 41, 42]).tobytes()
    env.reset()
    following = env.game_states["seed"].tolist()
    one = single(seat=0)
    for lane, seed in enumerate(following):
        one.reset(seed=40 + lane)
        one.reset()
        assert one.game_state["seed"].tolist() == [seed]
    assert second_seed_in_pettingzoo(42) == following[2]
    env.reset(seed=[42, 40, None])
    assert env.game_states["seed"][:2].tolist() == [42, 40]
    third = env.game_states["seed"][2]
    one.reset()
    assert one.game_state["seed"][0] == third  # the third lane's stream went on
    env.reset(seed=2**64 - 1)
    assert env.game_states["seed"].tolist() == [2**64 - 1, 0, 1]


def second_seed_in_pettingzoo(seed):
    env = bombay_v0.raw_env(rules=Rules(4, **SHORT))
    env.reset(seed=seed)
    env.reset()
    return int(env.game_state["seed"][0])


def test_without_seeds_no_two_environments_or_lanes_play_alike():
    seeds = []
    for env in (vector(), vector()):
        for _ in range(2):
            env.reset()
            seeds += env.game_states["seed"].tolist()
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", [1, 2]], ids=repr)
def test_a_wrong_seed_is_refused_and_the_games_go_on(seed):
    for env in (single(), vector()):
        env.reset(seed=1)
        before = pickle.dumps(env._games)
        refusal(lambda env=env: env.reset(seed=seed), "seed")
        assert pickle.dumps(env._games) == before
    refusal(lambda: vector(lanes=2).reset(seed=[1, -4]), "seed", "-4")


@each_count
def test_the_random_seat_is_the_seeds(n):
    count = 200
    games, lanes = vector(n, lanes=count)._games, np.arange(count)
    games.deal(lanes, range(count))
    seats = games.seats.copy()
    assert set(seats) == set(range(n))
    assert np.bincount(seats).min() > len(seats) / n / 2
    games.deal(lanes, range(1, count + 1))
    assert (games.seats[:-1] == seats[1:]).all()
    for seat in (0, n - 1, np.int64(1)):
        fixed = vector(n, seat=seat)
        _, infos = fixed.reset(seed=1)
        assert (infos["seat"] == seat).all()
        assert (fixed.game_states["current_player"] == seat).all()


# --- autoreset ---


def until_some_end(env, seed=2, rng=None):
    """Play until the step in which a game ends, not all of them; that step's return."""
    rng = rng or np.random.default_rng(seed)
    env.reset(seed=seed)
    while True:
        returned = env.step(pick(env.action_masks(), rng))
        if returned[2].any():
            assert not returned[2].all()
            return returned


def test_next_step_ignores_the_action_and_pays_nothing():
    for action in (-5, 0, 10**6):
        env = vector(autoreset_mode="NextStep", illegal_action="raise", reward="margin")
        observations, rewards, ended, truncated, infos = until_some_end(env)
        assert rewards[ended].all()
        assert not truncated.any()
        assert env.game.is_terminal(env.game_states).tolist() == ended.tolist()
        assert not infos["action_mask"][ended].any()
        assert infos["action_mask"][~ended].any(axis=1).all()
        assert (observations == env.game.observe(env.game_states, infos["seat"])).all()
        assert not {"final_obs", "final_info"} & set(infos)
        actions = np.where(ended, action, env.action_masks().argmax(axis=1))
        _, rewards, again, _, infos = env.step(actions)
        assert not rewards[ended].any()
        assert not again[ended].any()
        assert infos["action_mask"][ended].any(axis=1).all()
        assert (env.game_states["current_player"] == infos["seat"])[ended].all()


def test_same_step_deals_at_once_and_leaves_the_end_in_final_obs_and_final_info():
    env, twin = (vector(autoreset_mode=mode, reward="margin") for mode in ("SameStep", "NextStep"))
    observations, rewards, ended, _, infos = until_some_end(env)
    last, twin_rewards, twin_ended, _, twin_infos = until_some_end(twin)
    assert same((rewards, ended), (twin_rewards, twin_ended))
    assert infos["action_mask"].any(axis=1).all()
    assert not env.game.is_terminal(env.game_states).any()
    assert (observations == env.game.observe(env.game_states, infos["seat"])).all()
    assert same((infos["_final_obs"], infos["_final_info"]), (ended, ended))
    for lane in range(LANES):
        if ended[lane]:
            assert same(infos["final_obs"][lane], last[lane])
        else:
            assert infos["final_obs"][lane] is None
    for name in ("action_mask", "illegal_actions", "seat"):
        assert same(infos["final_info"][name][ended], twin_infos[name][ended])
        assert not infos["final_info"][name][~ended].any()
        assert same(infos["final_info"]["_" + name], ended)
    *_, ended, _, infos = env.step(env.action_masks().argmax(axis=1))
    assert ("final_obs" in infos) == ended.any()


def test_disabled_asks_for_a_reset_of_the_lanes_that_are_over():
    env = vector(autoreset_mode=AutoresetMode.DISABLED)
    ended = until_some_end(env)[2]
    before = env.game_states
    actions = env.action_masks().argmax(axis=1)
    refusal(lambda: env.step(actions), "reset_mask", str(np.flatnonzero(ended)[0]), error=ResetNeeded)
    assert env.game_states.tobytes() == before.tobytes()
    options = {"reset_mask": ended.copy()}
    observations, infos = env.reset(seed=70, options=options)
    assert list(options) == ["reset_mask"]
    assert (env.game_states["seed"] == np.where(ended, 70 + np.arange(LANES), before["seed"])).all()
    assert env.game_states[~ended].tobytes() == before[~ended].tobytes()
    assert infos["_action_mask"].all()  # of the other lanes too: what holds there now
    assert (infos["action_mask"] == env.action_masks()).all()
    assert (observations == env.game.observe(env.game_states, infos["seat"])).all()
    env.step(env.action_masks().argmax(axis=1))


def test_a_reset_mask_works_in_the_other_modes_too():
    for mode in ("NextStep", "SameStep"):
        env = vector(autoreset_mode=mode)
        ended = until_some_end(env)[2]
        before, mask = env.game_states, ~ended
        env.reset(options={"reset_mask": mask})
        assert env.game_states[ended].tobytes() == before[ended].tobytes()
        assert (env.game_states["seed"] != before["seed"])[mask].all()
        env.step(env.action_masks().argmax(axis=1))


@pytest.mark.parametrize(
    "mask",
    [5, [True] * LANES, np.ones(LANES + 1, bool), np.ones(LANES), np.zeros(LANES, bool), np.ones((LANES, 1), bool)],
    ids=lambda mask: f"{type(mask).__name__}{getattr(mask, 'shape', '')}",
)
def test_a_wrong_reset_mask_is_refused(mask):
    env = vector()
    env.reset(seed=1)
    before = pickle.dumps(env._games)
    refusal(lambda: env.reset(options={"reset_mask": mask}), "reset_mask")
    assert pickle.dumps(env._games) == before


def test_the_first_reset_is_of_all_lanes():
    mask = np.arange(LANES) == 0
    refusal(lambda: vector().reset(options={"reset_mask": mask}), "first", error=ResetNeeded)


# --- whose arrays ---


def arrays(returned):
    """All arrays in what a step or a reset returned."""
    parts = returned.values() if isinstance(returned, dict) else returned
    for part in parts:
        if isinstance(part, np.ndarray):
            yield part
        elif isinstance(part, dict):
            yield from arrays(part)


@each_autoreset
def test_copy_hands_out_arrays_of_ones_own(autoreset):
    env = vector(autoreset_mode=autoreset)
    returns = [env.reset(seed=1)]
    for _ in range(4):
        returns.append(env.step(env.action_masks().argmax(axis=1)))
    everything = [array for returned in returns for array in arrays(returned)] + [env.action_masks()]
    kept = pickle.dumps(env._games)
    for number, array in enumerate(everything):
        assert not any(np.shares_memory(array, other) for other in everything[:number])
        array[...] = 1
    assert pickle.dumps(env._games) == kept


def test_no_copy_hands_out_the_same_arrays_again():
    env, twin = vector(copy=False), vector(copy=True)
    assert same(env.reset(seed=1), twin.reset(seed=1))
    first = env.step(env.action_masks().argmax(axis=1))
    twin.step(twin.action_masks().argmax(axis=1))
    masks = env.action_masks()
    for _ in range(STEPS // 2):
        actions = twin.action_masks().argmax(axis=1)
        returned = env.step(actions)
        assert same(returned, twin.step(actions))
        assert all(part is other for part, other in zip(returned[:4], first[:4], strict=True))
        for name in ("action_mask", "illegal_actions", "seat"):
            assert np.shares_memory(returned[4][name], first[4][name])
        assert np.shares_memory(env.action_masks(), masks)


# --- illegal actions ---


@pytest.mark.parametrize("action", [-1, 39, 10**6, 2**63, -(2**70), np.int64(-5), "some move"], ids=str)
def test_an_illegal_action_becomes_end_turn_and_is_counted(action):
    env, twin = single(), single()
    for other in (env, twin):
        other.reset(seed=3)
    end_turn = env.game.action_index("end_turn")
    if action == "some move":
        action = int(np.flatnonzero(~env.action_masks())[0])
    for count in (1, 2):
        *returned, info = env.step(action)
        *expected, _ = twin.step(end_turn)
        assert same(returned, expected)
        assert info["illegal_actions"] == count
        if returned[2]:
            break
    env.reset()
    assert env.step(end_turn)[-1]["illegal_actions"] == 0


def test_while_a_take_is_pending_it_becomes_the_lowest_legal_action():
    """A bale to take: end_turn is illegal, and is an illegal action like another."""
    for action in ("end_turn", "buy", "take:orange"):
        env = single(2, seat=0, short=False)
        env.reset(seed=1)
        env._games.states[:] = position(env.game, at="G4", basket=["blue"])
        env._games.history = History(env.game, env._games.states, None)
        env._games.advance()
        _, _, _, _, info = env.step(env.game.action_index("build:blue"))
        legal = [env.game.action_name(number) for number in np.flatnonzero(info["action_mask"])]
        assert all(name.startswith("take:") for name in legal)
        _, _, _, _, info = env.step(env.game.action_index(action))
        played = next(event for event in env.record()["events"] if event.startswith("0 take:"))
        assert played == f"0 {action if action in legal else legal[0]}"
        assert info["illegal_actions"] == (action not in legal)


def test_illegal_actions_are_counted_lane_by_lane():
    env = vector(lanes=4, short=False)
    env.reset(seed=1)
    legal = env.action_masks().argmax(axis=1)
    for count in (1, 2):
        infos = env.step(np.where([False, True, False, True], -1, legal))[-1]
        assert infos["illegal_actions"].tolist() == [0, count, 0, count]
        assert infos["_illegal_actions"].all()
        legal = env.action_masks().argmax(axis=1)


def test_raise_names_the_lanes_and_changes_nothing():
    env = vector(illegal_action="raise")
    env.reset(seed=1)
    before = pickle.dumps(env._games)
    actions = env.action_masks().argmax(axis=1)
    actions[[1, 2]] = -1, 99
    with pytest.raises(IllegalActionError, match="lane 1") as caught:
        env.step(actions)
    assert caught.value.lanes == (1, 2)
    assert pickle.dumps(env._games) == before
    one = single(illegal_action="raise")
    one.reset(seed=1)
    before = pickle.dumps(one._games)
    refusal(lambda: one.step(-1), "illegal", "legal are", error=IllegalActionError)
    assert pickle.dumps(one._games) == before
    one.step(int(one.action_masks().argmax()))


@pytest.mark.parametrize("mode", ["raise", "end_turn"])
@pytest.mark.parametrize("action", [None, 1.0, "buy", [1], np.array([1, 2]), np.float64(2)], ids=repr)
def test_what_is_no_action_at_all_is_refused(mode, action):
    env, many = single(illegal_action=mode), vector(illegal_action=mode)
    env.reset(seed=1)
    many.reset(seed=1)
    kept = pickle.dumps((env._games, many._games))
    refusal(lambda: env.step(action), "whole number", error=IllegalActionError)
    for wrong in (action, np.zeros(LANES), np.zeros(LANES + 1, int), np.zeros((LANES, 1), int), 0):
        refusal(lambda wrong=wrong: many.step(wrong), "actions", str(LANES))
    assert pickle.dumps((env._games, many._games)) == kept


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint64, list])
def test_actions_may_be_integers_of_any_type(dtype):
    env, twin = vector(), vector()
    env.reset(seed=1)
    twin.reset(seed=1)
    actions = env.action_masks().argmax(axis=1)
    given = actions.tolist() if dtype is list else actions.astype(dtype)
    assert same(env.step(given), twin.step(actions))
    if dtype is np.uint64:
        assert env.step(np.full(LANES, 2**64 - 1, np.uint64))[-1]["illegal_actions"].any()


# --- opponents ---


def test_opponents_go_by_name_by_object_or_in_a_list():
    assert isinstance(single(opponents="greedy")._games.opponents[0], GreedyAgent)
    agent = RandomAgent()
    assert single(opponents=agent)._games.opponents == [agent] * 3
    mixed = single(opponents=["greedy", agent, "greedy"])._games
    assert mixed.opponents[1] is agent
    assert mixed.opponents[0] is mixed.opponents[2]  # one agent, so that its lanes are one batch
    assert len(mixed.agents) == 2
    assert single(opponents=("greedy", agent, "random"))._games.opponents[1] is agent


def test_importing_and_making_it_needs_no_agents_package(monkeypatch):
    """Names are found through the entry points; where there are none, agents can still be given."""
    monkeypatch.setattr("bombay_env.registry.entry_points", lambda group: [])
    refusal(lambda: BombaySingleEnv(), "random", "bombay_env.agents")
    BombaySingleEnv(opponents=Keyed()).reset(seed=1)


@each_count
def test_a_list_is_of_the_seats_after_the_learners(n):
    agents = [Keyed(f"next {k + 1}") for k in range(n - 1)]
    for seat in range(n):
        env = single(n, seat=seat, opponents=agents)
        env.reset(seed=seat)
        play(env)
        names = env.record()["agents"]
        assert names[seat] == "learner"
        for k, agent in enumerate(agents, 1):
            assert names[(seat + k) % n] == agent.name
            assert {int(mover) for call in agent.calls for mover in call["current_player"]} == {(seat + k) % n}
            agent.calls.clear()


def test_lanes_that_wait_for_one_agent_are_one_call():
    agent = Keyed()
    env = vector(2, lanes=8, seat=1, opponents=agent, short=False)
    env.reset(seed=1)
    assert len(agent.calls[0]) == 8
    assert len(agent.calls) <= 2 * 3 + 1  # the longest first turn, not the sum of all
    assert [len(call) for call in agent.calls] == sorted((len(call) for call in agent.calls), reverse=True)


@pytest.mark.parametrize("many", [False, True])
def test_opponents_get_copies_with_other_seeds(many):
    """Never the game's own seed nor the same one twice, and what they do to their copy is their own affair."""

    class Spoiler(Keyed):
        def act(self, game, states, rng):
            actions = super().act(game, states, rng)
            assert isinstance(rng, np.random.Generator)
            assert not own & set(np.atleast_1d(rng.bit_generator.seed_seq.entropy).tolist())
            assert states.dtype == game.state_dtype
            states["rupees"] = 99
            return actions

    agent = Spoiler()
    env = vector(opponents=agent) if many else single(opponents=agent)
    twin = vector() if many else single()
    rng, own = np.random.default_rng(1), {5 + lane for lane in range(LANES)}
    assert same(env.reset(seed=5), twin.reset(seed=5))
    for _ in range(STEPS // 2):
        own |= set((env.game_states if many else env.game_state)["seed"].tolist())
        actions = pick(env.action_masks(), rng)
        returned = env.step(actions)
        assert same(returned, twin.step(actions))
        if not many and returned[2]:
            break
    seen = [int(seed) for call in agent.calls for seed in call["seed"]]
    assert len(seen) >= 8
    assert len(set(seen)) == len(seen)
    assert not own & set(seen)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (-1, ("illegal", "legal are")),
        (10**6, ("illegal", "legal are")),
        (np.nan, ("actions", "float")),
        (lambda game, states: np.zeros(len(states) + 1, int), ("actions", "shape")),
        (lambda game, states: None, ("actions",)),
    ],
    ids=["negative", "too large", "float", "too many", "nothing"],
)
def test_an_opponents_illegal_action_names_it(answer, words):
    for env in (single(2, seat=0, opponents=Stubborn(answer)), vector(2, seat=0, opponents=Stubborn(answer))):
        env.reset(seed=1)
        end_turn = env.game.action_index("end_turn")
        actions = end_turn if isinstance(env, BombaySingleEnv) else np.full(LANES, end_turn)
        message = refusal(
            lambda env=env, actions=actions: env.step(actions), "opponent 'stubborn'", *words, error=IllegalActionError
        )
        assert ("lane 0" in message) == ("legal are" in message)
        refusal(lambda env=env, actions=actions: env.step(actions), "reset", error=ResetNeeded)
        if isinstance(env, BombayVectorEnv):
            some = {"reset_mask": np.arange(LANES) == 0}
            refusal(lambda env=env, some=some: env.reset(options=some), "all lanes", error=ResetNeeded)
        env._games.agents = [Keyed()]
        env.reset(seed=1)
        env.step(actions)
    many = vector(2, seat=0, opponents=Stubborn(-1))
    many.reset(seed=1)
    actions = many.action_masks().argmax(axis=1)
    actions[LANES - 1] = many.game.action_index("end_turn")
    with pytest.raises(IllegalActionError) as caught:
        many.step(actions)
    assert caught.value.lanes == (LANES - 1,)


def test_an_opponents_exception_names_it():
    def raising(game, states):
        raise OSError("no file")

    for env in (single(2, seat=0, opponents=Stubborn(raising)), vector(2, seat=0, opponents=Stubborn(raising))):
        env.reset(seed=1)
        end_turn = env.game.action_index("end_turn")
        actions = end_turn if isinstance(env, BombaySingleEnv) else np.full(LANES, end_turn)
        with pytest.raises(AgentFault, match=r"^opponent 'stubborn': it raised OSError: no file \(") as caught:
            env.step(actions)
        assert isinstance(caught.value.__cause__, OSError)
        refusal(lambda env=env, actions=actions: env.step(actions), "reset", error=ResetNeeded)


def test_lanes_share_no_state():
    env = vector(lanes=2, seat=0, short=False)
    env.reset(seed=[6, 6])
    assert env.game_states[0] == env.game_states[1]
    before = env.game_states[1]
    legal = np.flatnonzero(env.action_masks()[0])
    env.step(np.array([legal[0], legal[-1]]))
    assert env.game_states[0] != env.game_states[1]
    assert env.game_states[0] != before
    own = env.game_states
    own["rupees"] = 77
    assert not (env.game_states["rupees"] == 77).any()


# --- options, records, copies, drawings ---


def test_setup_gives_the_deal():
    setup = setup_of(official(4))
    one, many = single(seat=0), vector(seat=0, lanes=2)
    one.reset(seed=1, options={"setup": setup, "camels": 3})
    many.reset(seed=1, options={"setup": setup})
    expected = one.game.new_states([1, 2], setup=setup)
    assert one.game_state.tobytes() == expected[:1].tobytes()
    assert many.game_states.tobytes() == expected.tobytes()
    assert one.record()["seed"] is None


@each_count
def test_a_record_has_everybodys_moves(n):
    env = single(n)
    for seed in (n, None):
        _, info = env.reset(seed=seed)
        rng, over = np.random.default_rng(n), False
        while not over:
            record = env.record()
            assert record["result"] is None
            assert Record.from_dict(json.loads(json.dumps(record))).verify().tobytes() == env.game_state.tobytes()
            over, _, info = env.step(int(pick(info["action_mask"], rng)))[2:]
        record = env.record()
        assert record["agents"].count("learner") == 1
        assert record["agents"][info["seat"]] == "learner"
        assert Record.from_dict(json.loads(json.dumps(record))).verify().tobytes() == env.game_state.tobytes()
        assert record["result"]["final"] == env.game.results(env.game_state)[0]["final"].tolist()


def test_a_record_can_be_continued():
    env = single(3, seat=1)
    env.reset(seed=5)
    env.step(int(env.action_masks().argmax()))
    record, state = env.record(), env.game_state
    other, many = single(3, seat=1), vector(3, seat=1, lanes=2)
    other.reset(options={"record": record})
    assert other.game_state.tobytes() == state.tobytes()
    assert other.record()["events"] == record["events"]
    many.reset(options={"record": record})
    assert many.game_states.tobytes() == state.tobytes() * 2
    many.reset(seed=[None, 8], options={"record": record})
    assert many.game_states["seed"].tolist() == [5, 8]
    play(other)
    Record.from_dict(other.record()).verify()
    refusal(lambda: env.reset(options={"record": other.record()}), "over")


@pytest.mark.parametrize("options", [{"setup": 5}, {"record": 5}, {"record": {}}, 5], ids=repr)
def test_wrong_options_are_refused_and_the_games_go_on(options):
    for env in (single(), vector()):
        env.reset(seed=1)
        before = pickle.dumps(env._games)
        refusal(lambda env=env: env.reset(seed=3, options=options))
        assert pickle.dumps(env._games) == before
        env.reset(options={"setup": None, "record": None, "reset_mask": None})


@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"]
)
@pytest.mark.parametrize("opponents", ["random", Keyed()], ids=["random", "keyed"])
def test_a_copy_stands_where_the_original_does_and_goes_its_own_way(way, opponents):
    for env in (single(opponents=opponents), vector(opponents=opponents)):
        env.reset(seed=3)
        env.step(env.action_masks().argmax(axis=-1))
        twin = way(env)
        assert twin.game == env.game
        before = env._games.states.tobytes()
        assert twin._games.states.tobytes() == before
        actions = pick(env.action_masks(), np.random.default_rng(1))
        theirs = twin.step(actions)
        assert env._games.states.tobytes() == before
        assert same(env.step(actions), theirs)
        assert same(env.reset(), twin.reset())


def test_wrapped_environments_can_be_copied_too():
    env = gymnasium.make(ID, num_players=2)
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    action = int(env.unwrapped.action_masks().argmax())
    assert same(env.step(action), twin.step(action))


def test_drawings():
    for mode, start in (("ansi", "set"), ("svg", "<svg")):
        one, many = single(render_mode=mode), vector(lanes=2, render_mode=mode)
        one.reset(seed=1)
        many.reset(seed=1)
        assert one.render().startswith(start)
        assert many.render()[0] == one.render()
        assert len(many.render()) == 2
    for env in (single(), vector()):
        env.reset(seed=1)
        assert env.render() is None
    listed = gymnasium.make(ID, num_players=2, render_mode="ansi_list")
    listed.reset(seed=1)
    assert len(listed.render()) == 1


@pytest.mark.parametrize("mode", [None, "ansi", "svg"])
def test_nothing_can_be_drawn_before_the_first_reset(mode):
    """A board without a game looks like a game that is over."""
    end_turn = official(2).action_index("end_turn")
    envs = (
        single(render_mode=mode),
        vector(render_mode=mode),
        gymnasium.make(ID, render_mode=mode),
        gymnasium.make_vec(ID, num_envs=2, render_mode=mode),
    )
    for env in envs:
        refusal(env.render, "reset", error=ResetNeeded)
        env.reset(seed=1)
        assert (env.render() is None) == (mode is None)
    failed = single(2, seat=0, opponents=Stubborn(-1), render_mode=mode)
    failed.reset(seed=1)
    with pytest.raises(IllegalActionError):
        failed.step(end_turn)
    assert (failed.render() is None) == (mode is None)  # where the opponent failed can be looked at


def test_the_package_says_what_it_registers():
    assert ID in gymnasium.registry
    assert ID in bombay_env.__doc__
