"""Render modes in PettingZoo and Gymnasium: frames, a window without a screen, videos, notebooks."""

import copy
import functools
import pickle
import sys
from types import ModuleType

import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from gymnasium.utils import env_checker
from pettingzoo.test import render_test

from bombay_env import bombay_v0
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.render import raster, svg, window
from helpers.failing_agents import First

ID = "bombay/Bombay-v0"
SHAPE = (926, 1000, 3)


@pytest.fixture
def no_screen(monkeypatch):
    """SDL's driver without a screen; windows that a test leaves open are closed."""
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    yield pygame
    for open_window in list(window.Window._open.values()):
        open_window.close()
    assert not pygame.display.get_init()


def first_legal(mask):
    return int(np.asarray(mask).argmax())


# --- frames ---


@pytest.mark.parametrize("make", [bombay_v0.env, BombaySingleEnv, BombayVectorEnv])
def test_a_screened_environment_hides_what_the_viewer_does_not_see(make):
    for mode, hidden in (("perfect_recall", False), ("screened", True)):
        env = make(num_players=3, observation_mode=mode, render_mode="ansi")
        env.reset(seed=1)
        shown = env.render()
        text = shown if isinstance(shown, str) else shown[0]
        assert ("?" in text) == hidden
        assert ("?" in env.unwrapped._repr_html_()) == hidden


def test_the_petting_zoo_environment_draws_frames_with_the_last_action():
    env = bombay_v0.env(num_players=3, render_mode="rgb_array")
    env.reset(seed=1)
    raw = env.unwrapped
    frame = env.render()
    assert (frame.shape, frame.dtype) == (SHAPE, np.uint8)
    assert (frame == raster.draw(raw.game, raw.game_state)).all()
    action = first_legal(env.last()[0]["action_mask"])
    origin = raw.game.board.sites[int(raw.game_state["position"][0, 0])].name
    env.step(action)
    assert (raw._last.seat, raw._last.action, raw._last.origin) == (0, raw.game.action_name(action), origin)
    assert (env.render() == raster.draw(raw.game, raw.game_state, last=raw._last)).all()
    assert (env.render() != raster.draw(raw.game, raw.game_state)).any(), "the last action shows"
    env.reset(seed=2)
    assert (env.render() == raster.draw(raw.game, raw.game_state)).all()


def test_the_gymnasium_environment_draws_frames_with_the_last_action():
    env = gymnasium.make(ID, num_players=2, seat=0, render_mode="rgb_array")
    env.reset(seed=1)
    assert env.render().shape == SHAPE
    drawing = BombaySingleEnv(num_players=2, seat=1, render_mode="svg")
    drawing.reset(seed=1)
    actions = [event for event in drawing.record()["events"] if not event.startswith("restock")]
    for _ in range(6):
        assert f'data-last="{actions[-1][2:]}" data-last-seat="{actions[-1][0]}"' in drawing.render()
        drawing.step(first_legal(drawing.action_masks()))
        actions = [event for event in drawing.record()["events"] if not event.startswith("restock")]


def test_lanes_draw_frames_with_their_last_actions():
    options = {"num_players": 2, "seat": 0, "opponents": First(), "render_mode": "svg"}
    many, singles = BombayVectorEnv(3, **options), [BombaySingleEnv(**options) for _ in range(3)]
    many.reset(seed=4)
    for lane, env in enumerate(singles):
        env.reset(seed=4 + lane)
    for _ in range(6):
        actions = np.array([first_legal(mask) for mask in many.action_masks()])
        many.step(actions)
        for env, action in zip(singles, actions, strict=True):
            env.step(int(action))
        assert many.render() == tuple(env.render() for env in singles)
    many.set_attr("render_mode", "rgb_array")
    frames = many.render()
    assert [frame.shape for frame in frames] == [SHAPE] * 3
    assert (frames[0] == raster.draw(many.game, many.game_states[:1], last=many._games.last[0])).all()
    many.reset(options={"reset_mask": np.array([True, False, False])})
    assert many._games.last[0] is None
    assert many._games.last[1] is not None


# --- the window ---


def test_petting_zoo_checks_all_modes(no_screen):
    render_test(lambda **options: bombay_v0.env(num_players=2, **options))


def test_gymnasium_checks_frames_and_the_window(no_screen):
    for mode in ("rgb_array", "human"):
        env_checker.check_env(gymnasium.make(ID, num_players=2, render_mode=mode))


def shown_frames(monkeypatch):
    shown = []
    whole = window.Window.show

    def show(self, frames, fps):
        shown.append(list(frames))
        whole(self, frames, fps)

    monkeypatch.setattr(window.Window, "show", show)
    return shown


def test_a_window_shows_every_reset_and_step(no_screen, monkeypatch):
    shown = shown_frames(monkeypatch)
    env = bombay_v0.env(num_players=2, render_mode="human")
    assert window.Window._open == {}
    env.reset(seed=1)
    raw = env.unwrapped
    assert len(shown) == 1
    assert len(window.Window._open) == 1
    env.step(first_legal(env.last()[0]["action_mask"]))
    assert (shown[-1][0] == raster.draw(raw.game, raw.game_state, last=raw._last)).all()
    assert len(shown) == 2
    assert env.render() is None
    env.close()
    assert window.Window._open == {}
    env.close()
    single = gymnasium.make(ID, num_players=2, render_mode="human")
    single.reset(seed=1)
    single.step(first_legal(single.unwrapped.action_masks()))
    surface = single.unwrapped._window._window.get_surface()
    pixels, frame = no_screen.surfarray.array3d(surface).transpose(1, 0, 2), shown[-1][0]
    assert (pixels == frame).all() if pixels.shape == frame.shape else abs(pixels.mean() - frame.mean()) < 8  # scaled
    assert single.render() is None
    single.close()
    assert len(shown) == 6
    many = gymnasium.make_vec(ID, num_envs=5, num_players=2, render_mode="human")
    many.reset(seed=1)
    assert many.render() is None
    assert len(shown[-1]) == 5
    many.close()
    assert window.Window._open == {}


def test_each_environment_has_its_own_window_and_copies_too(no_screen):
    first, second = (bombay_v0.env(num_players=2, render_mode="human") for _ in range(2))
    first.reset(seed=1)
    second.reset(seed=2)
    assert len(window.Window._open) == 2
    first.close()
    assert len(window.Window._open) == 1
    twin = second.unwrapped.clone()
    again = pickle.loads(pickle.dumps(second.unwrapped))
    for copied in (twin, again, copy.deepcopy(second)):
        assert copied.render() is None
        copied.close()
    assert len(window.Window._open) == 1
    second.close()


def test_a_window_that_the_reader_closes_stays_closed(no_screen):
    env = bombay_v0.env(num_players=2, render_mode="human")
    env.reset(seed=1)
    shown = env.unwrapped._window
    no_screen.event.post(no_screen.event.Event(no_screen.WINDOWCLOSE, window=shown._window))
    env.render()
    assert shown.closed_by_reader
    env.reset(seed=2)
    assert window.Window._open == {}
    env.step(first_legal(env.last()[0]["action_mask"]))
    env.close()


def test_frames_side_by_side():
    frames = [np.full((40, 60, 3), value, np.uint8) for value in range(5)]
    assert window.tiled(frames[:1]) is frames[0]
    grid = window.tiled(frames)
    assert grid.shape == (2 * 14, 3 * 20, 3)
    assert grid[5::14, 5::20, 0].tolist() == [[0, 1, 2], [3, 4, 0]]


@pytest.mark.parametrize("pygame", [None, ModuleType("pygame")], ids=["missing", "old"])
def test_a_window_without_pygame_ce_names_the_extra(pygame, monkeypatch):
    """At once, before anything is played; the old pygame is not enough. No other mode imports pygame."""
    monkeypatch.setitem(sys.modules, "pygame", pygame)
    for make in (bombay_v0.env, functools.partial(gymnasium.make, ID)):
        with pytest.raises(DependencyNotInstalled, match=r"extra `human`.*pip install '\.\[human\]'"):
            make(render_mode="human")
    for mode in ("svg", "rgb_array"):
        env = bombay_v0.env(render_mode=mode)
        env.reset(seed=1)
        assert env.render() is not None


# --- notebooks ---


def test_notebooks_show_the_drawing():
    zoo = bombay_v0.env(num_players=2)
    assert zoo._repr_html_() is None
    zoo.reset(seed=1)
    drawing = svg.draw(zoo.unwrapped.game, zoo.unwrapped.game_state)
    assert drawing in zoo._repr_html_()
    assert zoo.unwrapped._repr_html_() == zoo._repr_html_()
    single = gymnasium.make(ID, num_players=2, seat=0)
    assert single._repr_html_() is None
    single.reset(seed=1)
    assert drawing in single._repr_html_()
    many = gymnasium.make_vec(ID, num_envs=6, num_players=2, seat=0)
    assert many._repr_html_() is None
    many.reset(seed=1)
    assert drawing in many._repr_html_()
    assert many._repr_html_().count("<svg") == 4
