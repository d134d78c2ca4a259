"""A position as one picture: whose turn it is, what is legal, the map, markets, bag, legend and what each seat has.

Draws any valid board for two to five seats, from a state's named facts. The picture has a background of its own, so it
reads the same on dark and light pages. `board_map.py` draws the map, `panels.py` what is around it. Attributes named `data-…`
tell every fact of `state_to_dict` but the seed, and besides it which actions are legal and which was the last. No drawing library
is needed.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bombay_env.board import Board
from bombay_env.game import Game
from bombay_env.render import board_map, layout, panels, shapes
from bombay_env.render.picture import HEIGHT, WIDTH, Picture, layer
from bombay_env.render.view import LastAction, view


def draw(
    game: Game,
    states: np.ndarray,
    viewer: int | None = None,
    last: LastAction | None = None,
    names: Sequence[str] = (),
) -> str:
    """Draw the (1,) state as an SVG document.

    Args:
        game: what is played.
        states: one state.
        viewer: the seat that looks at it in `screened` mode, where the others' rupees and tokens show as "?"; without one
            all holdings show.
        last: the action that led to the state, to be shown; see `view.last_action`.
        names: what the seats are called; empty: by their numbers.
    """
    return picture(game, states, viewer, last, names).svg()


def picture(
    game: Game,
    states: np.ndarray,
    viewer: int | None = None,
    last: LastAction | None = None,
    names: Sequence[str] = (),
) -> Picture:
    """The drawing of `draw` in its parts, from which pixels and pages are made."""
    seen = view(game, states, viewer, last, names)
    layers = (
        layer(panels.header(seen), data_part="header", **panels.course(seen)),
        layer(panels.choices(seen), data_part="legal"),
        layer(board_map.parts(seen), data_part="map"),
        layer(panels.side(seen), data_part="side"),
        *(layer(panels.seat(holding, seen), **panels.told(holding, seen)) for holding in seen.holdings),
    )
    return Picture(_background(game.board), layers)


def draw_map(game: Game, states: np.ndarray, viewer: int | None = None, last: LastAction | None = None) -> str:
    """The map alone as an SVG document, for pages that tell all else in words of their own; arguments as for `draw`."""
    seen = view(game, states, viewer, last)
    box = layout.MAP_BOX
    room = (round(box.left), round(box.top), round(box.right), round(box.bottom))
    return Picture(_map(game.board), (layer(board_map.parts(seen), data_part="map"),), room).svg()


@lru_cache(maxsize=64)
def _background(board: Board) -> str:
    return shapes.rectangle(0, 0, WIDTH, HEIGHT, shapes.PAPER, rx=18, stroke=shapes.EDGE) + "\n" + _map(board)


def _map(board: Board) -> str:
    box = layout.MAP_BOX
    land = shapes.rectangle(box.left, box.top, box.width, box.height, shapes.LAND, rx=10, stroke=shapes.EDGE)
    return shapes.element("g", land, board_map.background(board), data_part="map")
