"""What environments show of their games: text, pictures, pixels or a window, depending on the render mode.

| mode | what `render()` returns |
| --- | --- |
| None | None |
| "ansi" | the position as text |
| "svg" | a drawing as an SVG document |
| "rgb_array" | the drawing as pixels, (926, 1000, 3) uint8 |
| "human" | None; the drawing is shown in a window, after each reset and step |
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium.error import ResetNeeded

from bombay_env import checks
from bombay_env.game import Game
from bombay_env.render import raster, svg
from bombay_env.render.drawing import framed
from bombay_env.render.view import LastAction
from bombay_env.render.window import Window
from bombay_env.text import describe_position

RENDER_MODES: Final = ("ansi", "svg", "rgb_array", "human")
FPS: Final = 2  # frames in a second of windows and videos
LIVE: Final = "human"  # the mode that shows each reset and step at once
MAX_SHOWN_LANES: Final = 4  # in a notebook

Rendered = str | np.ndarray | None


class Scene(NamedTuple):
    """What there is to show."""

    game: Game
    states: np.ndarray  # (k,) records
    viewers: Sequence[int | None]  # the seat whose view a drawing shows (RULES 6); None where nothing is hidden
    last: Sequence[LastAction | None]  # the last action of each game, if it is known


class UnsupportedRenderModeError(TypeError, ValueError):
    """The render mode does not exist.

    It is a ValueError, like the error of every other wrong argument. It is also a TypeError, after which Stable-Baselines3 tries
    again without a render mode.
    """


class Shown:
    """The part of an environment that shows its games. `render_mode` may be set on an environment at any time."""

    render_mode: str | None
    _window: Window | None = None

    @abstractmethod
    def _scene(self) -> Scene:
        """What there is to show. Raises ResetNeeded before the first reset."""

    def _set_mode(self, mode: Any) -> None:
        """Set the render mode.

        Raises:
            UnsupportedRenderModeError: the mode does not exist.
            DependencyNotInstalled: the mode is "human", and pygame-ce is missing.
        """
        _check_mode(mode)
        window = Window() if mode == LIVE else None
        self._close_window()
        self._window, self.render_mode = window, mode

    def _shows_last(self) -> bool:
        """Whether the mode shows the last action, so that the environment must remember it."""
        return self.render_mode is not None and self.render_mode != "ansi"

    def _drawn(self) -> list[Rendered]:
        """What `render` returns for each game. A window is updated. Raises the errors of `_scene` and `_set_mode`."""
        game, states, viewers, last = self._scene()
        mode = self.render_mode
        _check_mode(mode)
        each = [(game, states[i : i + 1], viewers[i]) for i in range(len(states))]
        if mode is None:
            return [None] * len(each)
        if mode == "ansi":
            return [describe_position(*one) for one in each]
        if mode == "svg":
            return [svg.draw(*one, action) for one, action in zip(each, last, strict=True)]
        frames = [raster.draw(*one, action) for one, action in zip(each, last, strict=True)]
        if mode != LIVE:
            return [*frames]
        if self._window is None:
            self._window = Window()
        self._window.show(frames, FPS)
        return [None] * len(each)

    def _show(self) -> None:
        """Update the window, if the mode says so."""
        if self.render_mode == LIVE:
            self._drawn()

    def _close_window(self) -> None:
        if self._window is not None:
            self._window.close()

    def _repr_html_(self) -> str | None:
        """What a notebook shows: drawings of the first games beside each other; None before the first reset."""
        try:
            game, states, viewers, last = self._scene()
        except ResetNeeded:
            return None
        width = 960 if len(states) == 1 else 480
        first = range(min(len(states), MAX_SHOWN_LANES))
        return "".join(framed(svg.draw(game, states[i : i + 1], viewers[i], last[i]), width) for i in first)


def _check_mode(mode: Any) -> None:
    try:
        checks.one_of(mode, "render_mode", (None, *RENDER_MODES))
    except ValueError as error:
        raise UnsupportedRenderModeError(str(error)) from None
