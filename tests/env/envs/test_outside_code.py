"""Other people's code runs on the Gymnasium and PettingZoo environments as it is: first lines, wrappers, readers of infos.

Warnings are errors in all tests, so none of this code is warned of anything either.
"""

import pickle

import gymnasium
import pettingzoo
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from bombay_env import IllegalActionError, Rules
from bombay_env.agent import AgentFault
from bombay_env.board import BoardError
from bombay_env.envs.rendering import UnsupportedRenderModeError
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.record import RecordError
from bombay_env.text import AnswerError

IDS = ("bombay/Bombay-v0", "bombay/bombay-v0")
ID = IDS[0]
SHORT = {"rules": Rules(2, sets=2, turns_per_set=1)}  # a game that is over soon


# --- registration ---


@pytest.mark.parametrize("spelling", IDS)
def test_both_spellings_of_the_id_work_in_both_libraries(spelling):
    one = gymnasium.make(spelling, num_players=3)
    many = gymnasium.make_vec(spelling, num_envs=2, num_players=3)
    assert isinstance(one.unwrapped, BombaySingleEnv)
    assert isinstance(many.unwrapped, BombayVectorEnv)
    assert one.spec.id == many.spec.id == spelling
    table = pettingzoo.make("aec", spelling, num_players=3)
    assert table.unwrapped.game == one.unwrapped.game
    for env in (one, many, table):
        env.reset(seed=1)


def test_modes_that_collect_what_is_drawn_work_by_id():
    env = gymnasium.make(ID, render_mode="svg_list", **SHORT)
    env.reset(seed=1)
    env.step(env.unwrapped.game.action_index("end_turn"))
    assert [drawing[:4] for drawing in env.render()] == ["<svg"] * 2
    assert gymnasium.make(env.spec).render_mode == "svg_list"


@pytest.mark.parametrize("mode", ["depth_array", "human_list", 5])
def test_a_mode_that_is_not_offered_is_refused_as_both_kinds_of_error(mode):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(
            UnsupportedRenderModeError, match=r"render_mode.*must be one of None, ansi, svg, rgb_array, human"
        ) as caught:
            make(ID, render_mode=mode)
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, TypeError)


# --- Stable-Baselines3 and sb3_contrib ---


@pytest.mark.parametrize("name", ["MaskablePPO", "PPO", "DQN"])
def test_stable_baselines_makes_the_environment_by_id_and_learns(name):
    library = pytest.importorskip("sb3_contrib" if name == "MaskablePPO" else "stable_baselines3")
    options = {"learning_starts": 8} if name == "DQN" else {"n_steps": 16, "batch_size": 16, "n_epochs": 1}
    model = getattr(library, name)("MlpPolicy", ID, device="cpu", **options)
    assert isinstance(model.get_env().envs[0].unwrapped, BombaySingleEnv)
    model.learn(16)
    assert model.num_timesteps == 16


def test_action_masker_finds_the_masks_by_name():
    wrappers = pytest.importorskip("sb3_contrib.common.wrappers")
    from sb3_contrib import MaskablePPO

    env = gymnasium.make(ID, illegal_action="raise", **SHORT)  # so that an ignored mask would show
    masked = wrappers.ActionMasker(env, "action_masks")
    model = MaskablePPO("MlpPolicy", masked, n_steps=32, batch_size=32, n_epochs=1, device="cpu")
    model.learn(64)
    assert model.num_timesteps == 64


# --- Gymnasium ---


@pytest.mark.parametrize(
    "error",
    [
        IllegalActionError("action 5 is illegal", [1]),
        RecordError("record.format is missing"),
        BoardError("sites has 3 entries"),
        AgentFault("opponent 'bad'", "it raised RuntimeError: boom"),
        AnswerError("fly is no action", 3),
        UnsupportedRenderModeError("render_mode is 5"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_can_be_made_from_itself(error):
    """As Gymnasium's `AsyncVectorEnv` does with the errors of its processes."""
    again = type(error)(error)
    assert str(again) == str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_lanes_answer_calls_as_environments_in_a_sync_vector_do():
    arguments = {**SHORT, "seat": 0, "render_mode": "ansi"}  # seat 0 begins, so chance alone made the positions
    many = gymnasium.make_vec(ID, num_envs=3, **arguments)
    singles = SyncVectorEnv([lambda: BombaySingleEnv(**arguments)] * 3)
    for env in (many, singles):
        env.reset(seed=5)
    for name in ("action_masks", "game_state"):
        for one, other in zip(many.call(name), singles.call(name), strict=True):
            assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape)
            assert one.tobytes() == other.tobytes()
    assert many.call("render") == singles.call("render")
    for name in ("game", "observation_space", "action_space", "render_mode"):
        assert many.call(name) == many.get_attr(name) == singles.get_attr(name)
    assert [metadata["render_modes"] for metadata in many.get_attr("metadata")] == [
        ["ansi", "svg", "rgb_array", "human"]
    ] * 3
    assert many.get_attr("spec")[2].id == ID
    for values in ("svg", ["svg"] * 3):
        for env in (many, singles):
            env.set_attr("render_mode", "ansi")
            env.set_attr("render_mode", values)
        assert many.call("render") == singles.call("render")
        assert many.call("render")[0].startswith("<svg")
    many.set_attr("render_mode", None)
    assert many.call("render") == (None,) * 3


def test_what_lanes_cannot_answer_is_refused():
    env = BombayVectorEnv(2, **SHORT)
    env.reset(seed=1)
    with pytest.raises(AttributeError, match=r"'camels'.*action_masks, game_state, render, game"):
        env.call("camels")
    with pytest.raises(TypeError, match="action_masks of a lane takes no arguments"):
        env.call("action_masks", 3)
    with pytest.raises(AttributeError, match=r"'seat'.*only render_mode"):
        env.set_attr("seat", 1)
    for wrong in (["svg"], ["svg", "ansi"]):
        with pytest.raises(ValueError, match=r"render_mode is .*2 lanes"):
            env.set_attr("render_mode", wrong)
    with pytest.raises(UnsupportedRenderModeError, match="'movie'"):
        env.set_attr("render_mode", "movie")
    assert env.render_mode is None


@pytest.mark.parametrize("mode", AutoresetMode)
def test_autoreset_modes_go_by_name_or_value_in_any_spelling(mode):
    for spelling in (mode, mode.value, mode.name, mode.name.lower(), mode.name.lower().replace("_", "-")):
        env = gymnasium.make_vec(ID, num_envs=2, autoreset_mode=spelling, **SHORT)
        assert env.metadata["autoreset_mode"] is mode


# --- TorchRL ---


def infos_of_a_game():
    env = gymnasium.make(ID, **SHORT)
    yield env.reset(seed=1)[1]
    over = False
    while not over:
        _, _, over, _, info = env.step(int(env.action_masks().argmax()))
        if not over:  # the last info has further keys
            yield info


def test_every_info_has_the_same_keys_with_numpy_values_of_the_same_type():
    kinds = {tuple((name, value.dtype.str, value.shape) for name, value in info.items()) for info in infos_of_a_game()}
    assert kinds == {(("action_mask", "|i1", (35 + 4,)), ("illegal_actions", "<i8", ()), ("seat", "<i8", ()))}


@pytest.mark.filterwarnings("ignore:.*actions in a game were illegal")  # `check_env_specs` uses no mask
def test_torchrl_reads_the_infos():
    reason = "TorchRL is no dependency: pip install torchrl to run this"
    torchrl = pytest.importorskip("torchrl.envs", reason=reason)
    import torch

    env = torchrl.GymWrapper(gymnasium.make(ID, seat=1, **SHORT), categorical_action_encoding=True)
    env.set_info_dict_reader(torchrl.default_info_dict_reader())
    torchrl.check_env_specs(env)
    start = env.reset()
    assert start["seat"].item() == 1
    assert start["action_mask"].dtype == torch.int8
    rollout = env.rollout(5, break_when_any_done=True)
    counts = rollout["next", "illegal_actions"].flatten().tolist()
    assert counts == sorted(counts)
    assert rollout["next", "action_mask"].shape[-1] == env.action_spec.n
