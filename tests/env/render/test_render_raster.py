"""Frames: the pixels of the drawing, the same as one pass of resvg over the whole SVG, quickly, without a system font."""

import os
import subprocess
import sys
import zlib

import numpy as np
import pytest
from test_render import any_position
from test_render_facts import random_state

from bombay_env import Game, Rules
from bombay_env.render import picture, raster, svg


def whole(drawing: picture.Picture) -> np.ndarray:
    """The drawing by one pass of resvg over its SVG document."""
    document = drawing.svg()
    content = document[document.index("\n") : document.rindex("</svg>")]
    return np.asarray(raster.rasterise(content, (0, 0, picture.WIDTH, picture.HEIGHT), "#f8f2e4").convert("RGB"))


@pytest.mark.parametrize("drawn", [0, 30, "64 sites with long names", "wide letters"])
def test_a_frame_is_the_drawing(drawn: int | str) -> None:
    """Of random positions, and of unusual boards."""
    game, states, last = random_state(drawn) if isinstance(drawn, int) else (*any_position(drawn), None)
    frame = raster.draw(game, states, last=last)
    assert frame.shape == (picture.HEIGHT, picture.WIDTH, 3)
    assert frame.dtype == np.uint8
    assert frame.flags.writeable
    assert frame.flags.c_contiguous
    difference = np.abs(frame.astype(np.int16) - whole(svg.picture(game, states, last=last)))
    assert difference.max() <= 24, "parts are rounded one by one where they overlap"
    assert (difference > 4).mean() < 1e-3


def test_frames_share_no_memory_and_do_not_depend_on_what_was_drawn_before() -> None:
    game, states, _ = random_state(3)
    first = raster.draw(game, states)
    kept = first.copy()
    first[:] = 0
    assert (raster.draw(game, states) == kept).all()
    raster.draw(*any_position("random"))
    assert (raster.draw(game, states) == kept).all()


def test_no_system_font_is_needed(tmp_path) -> None:
    """A process without any fonts draws the same pixels."""
    code = """
import zlib
from bombay_env import Game, Rules
from bombay_env.render import raster
game = Game(Rules.official(2))
print(zlib.crc32(raster.draw(game, game.new_states([1])).tobytes()))
"""
    no_fonts = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "FONTCONFIG_FILE": os.devnull}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=os.environ | no_fonts, capture_output=True, text=True, check=True)
    game = Game(Rules.official(2))
    assert int(done.stdout) == zlib.crc32(raster.draw(game, game.new_states([1])).tobytes())


def test_letters_are_drawn() -> None:
    """Latin, Greek and Cyrillic letters and the signs that the drawing uses are in the fonts; each looks different."""
    room = (0, 0, 40, 40)
    for weight in ("normal", "bold"):
        letters = "Aéßłşωф₹×–→…?0"
        drawn = {
            raster.rasterise(
                f'<text x="4" y="30" font-size="24" font-weight="{weight}">{letter}</text>', room
            ).tobytes()
            for letter in letters
        }
        assert len(drawn) == len(letters)
