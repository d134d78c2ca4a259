"""The Gymnasium vector environment: lanes, seeds, autoreset modes and its arrays."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from bombay_env import bombay_v0
from helpers.gym_envs import ID, LANES, MODES, STEPS, each_autoreset, each_count, pick, same, single, vector
from helpers.refusal import refusal

# --- comparison with single environments ---


@pytest.mark.filterwarnings("ignore:.*actions in a game were illegal")
@each_count
@each_autoreset
@pytest.mark.parametrize("limit", [-1, 5], ids=["whole games", "truncated"])
def test_each_lane_behaves_like_the_single_environment(n, autoreset, limit):
    """All returned values are equal to those of Gymnasium's `SyncVectorEnv` of single environments, with its `TimeLimit`, too."""

    def one():
        env = single(n, **more)
        return env if limit == -1 else TimeLimit(env, limit)

    more = {"observation_mode": MODES[n % 2], "reward": "rank"}
    many = vector(n, autoreset_mode=autoreset, max_episode_steps=limit, **more)
    singles = SyncVectorEnv([one for _ in range(LANES)], autoreset_mode=autoreset)
    assert same(many.reset(seed=5), singles.reset(seed=5))
    rng, ends, cuts = np.random.default_rng(n), 0, 0
    for _ in range(STEPS):
        masks = many.action_masks()
        actions = pick(masks, rng)
        actions[0] = rng.integers(many.game.num_actions)  # possibly illegal
        returned, expected = many.step(actions), singles.step(actions)
        assert same(returned, expected)
        assert many.observation_space.contains(returned[0])
        assert (many.action_masks() == singles.call("action_masks")).all()
        assert many.game_states.tobytes() == b"".join(state.tobytes() for state in singles.get_attr("game_state"))
        ended = returned[2] | returned[3]
        ends += ended.sum()
        cuts += (returned[3] & ~returned[2]).sum()
        if autoreset is AutoresetMode.DISABLED and ended.any():
            observations, infos = many.reset(options={"reset_mask": ended.copy()})
            expected, some = singles.reset(options={"reset_mask": ended.copy()})
            assert same(observations, expected)
            assert set(infos) == set(some)
            for name, values in some.items():
                assert same(values[ended], infos[name][ended])
    assert ends > LANES
    assert bool(cuts) == (limit > 0)


def test_an_illegal_action_after_a_truncation_is_ignored_like_any_other():
    env = vector(illegal_action="raise", max_episode_steps=1)
    env.reset(seed=1)
    for action in (None, -5, None, 10**6):
        lanes = env.action_masks().argmax(axis=1) if action is None else np.full(LANES, action)
        *_, truncated, _ = env.step(lanes)
        assert (truncated == (action is None)).all()


@pytest.mark.parametrize("mode", [None, "sync"])
def test_make_vec_takes_what_gymnasiums_tutorial_gives_it(mode):
    """`max_episode_steps`, like `make`, which also takes `disable_env_checker`."""
    given = {"num_players": 2, "max_episode_steps": 2, "disable_env_checker": True}
    env = gymnasium.make_vec(ID, num_envs=3, vectorization_mode=mode, **given)
    _, infos = env.reset(seed=1)
    cut = []
    for _ in range(6):
        _, _, _, truncated, infos = env.step(infos["action_mask"].argmax(axis=1))
        cut.append(truncated.tolist())
    assert cut == [[False] * 3, [True] * 3, [False] * 3] * 2


def test_what_make_vec_cannot_pass_on_is_refused_in_one_line():
    for given in ({"wrappers": [TimeLimit]}, {"vector_kwargs": {"copy": False}}):
        refusal(lambda given=given: gymnasium.make_vec(ID, **given), next(iter(given)), error=gymnasium.error.Error)


# --- seeds ---


@pytest.mark.parametrize("opponents", ["random-turn", "greedy:epsilon=0.5", "flat-mc:rollouts=8"])
def test_lanes_in_equal_positions_do_not_share_plans(opponents):
    """All lanes begin in the same position, but with different seeds, so the agent plans in each of them anew."""
    more = {"short": False, "seat": 1, "opponents": opponents, "reward": "margin"}
    env = single(2, **more)
    env.reset(seed=3)
    for _ in range(5):
        env.step(int(env.action_masks().argmax()))
    many, record = vector(2, lanes=8, **more), env.record()
    many.reset(seed=10, options={"record": record})
    for _ in range(10):
        many.step(many.action_masks().argmax(axis=1))
    for lane in range(8):
        env.reset(seed=10 + lane, options={"record": record})
        for _ in range(10):
            env.step(int(env.action_masks().argmax()))
        assert env.game_state.tobytes() == many.game_states[lane : lane + 1].tobytes()


def test_seeds_repeat():
    one, other = (vector(opponents=["greedy", "random", "greedy"]) for _ in range(2))
    for seed in (3, None, [5, 1, 2**64 - 1, 0, 9][:LANES], None):
        rng = np.random.default_rng(2)
        assert same(one.reset(seed=seed), other.reset(seed=seed))
        for _ in range(STEPS // 3):
            actions = pick(one.action_masks(), rng)
            assert same(one.step(actions), other.step(actions))


def test_lane_i_is_dealt_from_seed_plus_i_and_then_from_its_own_stream():
    env = vector(seat=0, lanes=3)
    env.reset(seed=np.array(40))  # as good as a number
    assert env.game_states.tobytes() == env.game.new_states([40, 41, 42]).tobytes()
    env.reset()
    following = env.game_states["seed"].tolist()
    one = single(seat=0)
    for lane, seed in enumerate(following):
        one.reset(seed=40 + lane)
        one.reset()
        assert one.game_state["seed"].tolist() == [seed]
    table = bombay_v0.raw_env(rules=env.game.rules)
    table.reset(seed=42)
    table.reset()
    assert table.game_state["seed"].tolist() == following[2:], "the streams are those of PettingZoo's environment"
    env.reset(seed=[42, 40, None])
    assert env.game_states["seed"][:2].tolist() == [42, 40]
    third = env.game_states["seed"][2]
    one.reset()
    assert one.game_state["seed"][0] == third  # the third lane's stream continues
    env.reset(seed=2**64 - 1)
    assert env.game_states["seed"].tolist() == [2**64 - 1, 0, 1]


def test_unseeded_environments_and_lanes_differ():
    seeds = []
    for env in (vector(), vector()):
        for _ in range(2):
            env.reset()
            seeds += env.game_states["seed"].tolist()
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("seed", [[1, 2], [1] * (LANES - 1) + [-4]], ids=repr)
def test_a_wrong_list_of_seeds_is_rejected_and_the_games_continue(seed):
    env = vector()
    env.reset(seed=1)
    before = pickle.dumps(env._games)
    refusal(lambda: env.reset(seed=seed), "seed")
    assert pickle.dumps(env._games) == before


@each_count
def test_the_random_seat_depends_on_the_seed(n):
    count = 200
    env, one = vector(n, lanes=count), vector(n, lanes=1)
    seats = env.reset(seed=0)[1]["seat"].copy()
    assert np.bincount(seats, minlength=n).min() > count / n / 2
    assert (env.reset(seed=1)[1]["seat"][:-1] == seats[1:]).all()
    seats = env.reset()[1]["seat"]  # in the next games of the lanes' streams, too
    for lane in range(3):
        assert one.reset(seed=[int(env.game_states["seed"][lane])])[1]["seat"] == seats[lane]
    for seat in (0, n - 1, np.int64(1)):
        fixed = vector(n, seat=seat)
        _, infos = fixed.reset(seed=1)
        assert (infos["seat"] == seat).all()
        assert (fixed.game_states["current_player"] == seat).all()


# --- autoreset ---


def options_of_a_reset(game):
    """A set-up, and the record of a running game, as options of a reset."""
    env = bombay_v0.raw_env(rules=game.rules)
    env.reset(seed=99)
    yield {"setup": env.record()["setup"]}
    for _ in range(6):
        env.step(int(env.infos[env.agent_selection]["action_mask"].argmax()))
    yield {"record": env.record()}


@each_autoreset
def test_the_options_of_a_reset_apply_to_that_reset_only(autoreset):
    """As in Gymnasium's `SyncVectorEnv`: each game that follows is the next one of its lane's stream, as without options."""
    env, plain = vector(autoreset_mode=autoreset, max_episode_steps=1), vector()
    plain.reset(seed=5)
    plain.reset()
    for options in options_of_a_reset(env.game):
        env.reset(seed=5, options=options)
        assert (env.game_states["demand"] == env.game_states["demand"][0]).all(), "every lane has the given set-up"
        for _ in range(2 if autoreset is AutoresetMode.NEXT_STEP else 1):
            env.step(env.action_masks().argmax(axis=1))
        if autoreset is AutoresetMode.DISABLED:
            env.reset(options={"reset_mask": np.ones(LANES, bool)})
        assert env.game_states.tobytes() == plain.game_states.tobytes()


def until_some_end(env):
    """Play until the step in which some games end, but not all. Returns what this step returned."""
    rng = np.random.default_rng(2)
    env.reset(seed=2)
    while True:
        returned = env.step(pick(env.action_masks(), rng))
        if returned[2].any():
            assert not returned[2].all()
            return returned


@pytest.mark.parametrize("action", [-5, 10**6])
def test_next_step_ignores_the_action_and_gives_no_reward(action):
    env = vector(autoreset_mode="NextStep", illegal_action="raise", reward="margin")
    _, rewards, ended, truncated, infos = until_some_end(env)
    assert rewards[ended].all()
    assert not truncated.any()
    assert not infos["action_mask"][ended].any()
    assert not {"final_obs", "final_info"} & set(infos)
    actions = np.where(ended, action, env.action_masks().argmax(axis=1))
    _, rewards, again, _, infos = env.step(actions)
    assert not rewards[ended].any()
    assert not again[ended].any()
    assert infos["action_mask"][ended].any(axis=1).all()
    assert (env.game_states["current_player"] == infos["seat"])[ended].all()


def test_disabled_requires_a_reset_of_the_lanes_that_are_over():
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
    assert infos["_action_mask"].all()  # the other lanes have infos too
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


@pytest.mark.parametrize("mask", [[True] * LANES, np.ones(LANES + 1, bool), np.ones(LANES), np.zeros(LANES, bool)])
def test_a_wrong_reset_mask_is_rejected(mask):
    env = vector()
    env.reset(seed=1)
    before = pickle.dumps(env._games)
    refusal(lambda: env.reset(options={"reset_mask": mask}), "reset_mask")
    assert pickle.dumps(env._games) == before


def test_the_first_reset_must_include_all_lanes():
    mask = np.arange(LANES) == 0
    refusal(lambda: vector().reset(options={"reset_mask": mask}), "first", error=ResetNeeded)


# --- the returned arrays ---


def arrays(returned):
    """All arrays in the values that a step or a reset returned."""
    parts = returned.values() if isinstance(returned, dict) else returned
    for part in parts:
        if isinstance(part, np.ndarray):
            yield part
        elif isinstance(part, dict):
            yield from arrays(part)


@each_autoreset
def test_copy_true_returns_new_arrays(autoreset):
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


def test_copy_false_returns_the_same_array_of_observations_again():
    """As Gymnasium's own: rewards, flags and infos are new arrays."""
    env, twin = vector(copy=False), vector(copy=True)
    assert same(env.reset(seed=1), twin.reset(seed=1))
    first = env.step(env.action_masks().argmax(axis=1))
    twin.step(twin.action_masks().argmax(axis=1))
    masks = env.action_masks()
    for _ in range(STEPS // 2):
        actions = twin.action_masks().argmax(axis=1)
        returned = env.step(actions)
        assert same(returned, twin.step(actions))
        assert returned[0] is first[0]
        assert not any(part is other for part, other in zip(returned[1:4], first[1:4], strict=True))
        for name in ("action_mask", "illegal_actions", "seat"):
            assert not np.shares_memory(returned[4][name], first[4][name])
        assert not np.shares_memory(env.action_masks(), masks)
