"""What environments show of their games: text, pictures, pixels or a window, depending on the render mode.

| mode | what `render()` returns |
| --- | --- |
| None | None |
| "ansi" | the position as text |
| "svg" | a drawing as an SVG document |
| "rgb_array" | the drawing as pixels, (926, 1000, 3) uint8 |
| "human" | None; the drawing is shown in a window, after each reset and step |
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bombay_env.envs import common
from bombay_env.game import Game
from bombay_env.render import svg
from bombay_env.render.drawing import framed
from bombay_env.render.view import LastAction
from bombay_env.render.window import Window

FPS: Final = 2  # frames in a second of windows and videos
LIVE: Final = "human"  # the mode that shows each reset and step at once

Rendered = str | np.ndarray | None


def shows_last(mode: str | None) -> bool:
    """Whether a render mode shows the last action, so that the environment must remember it."""
    return mode is not None and mode != "ansi"


class Renderer:
    """Shows the games of one environment. A mode may be set on an environment at any time, so it is given each time.

    Args:
        mode: the first render mode, which is checked.

    Raises:
        UnsupportedRenderModeError: the mode does not exist.
        DependencyNotInstalled: the mode is "human", and pygame-ce is missing.
    """

    def __init__(self, mode: Any) -> None:
        common.check_render_mode(mode)
        self._window = Window() if mode == LIVE else None

    def render(
        self,
        mode: Any,
        game: Game,
        states: np.ndarray,
        viewers: Sequence[int | None],
        last: Sequence[LastAction | None],
    ) -> list[Rendered]:
        """What `render()` returns for each game. A window is updated.

        Args:
            mode: the render mode.
            game: what is played.
            states: (k,) records.
            viewers: the seat that looks at each game in `screened` mode; None where nothing is hidden.
            last: the last action of each game, if it is known.

        Raises:
            UnsupportedRenderModeError, DependencyNotInstalled: as the constructor.
        """
        common.check_render_mode(mode)
        drawn = [common.draw(mode, game, states[i : i + 1], viewers[i], last[i]) for i in range(len(states))]
        if mode != LIVE:
            return drawn
        if self._window is None:
            self._window = Window()
        self._window.show([frame for frame in drawn if isinstance(frame, np.ndarray)], FPS)
        return [None] * len(states)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()


def html(game: Game, states: np.ndarray, viewers: Sequence[int | None], last: Sequence[LastAction | None]) -> str:
    """Games as notebooks show them: their drawings, several beside each other. `viewers` and `last` as for `Renderer.render`."""
    width = 960 if len(states) == 1 else 480
    return "".join(framed(svg.draw(game, states[i : i + 1], viewers[i], last[i]), width) for i in range(len(states)))
