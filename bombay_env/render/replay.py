"""The positions of a game record one after the other, and the record as an animated GIF."""

import io
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env.record import RESTOCK, Record
from bombay_env.render import raster
from bombay_env.render.picture import HEIGHT, WIDTH
from bombay_env.render.view import LastAction, last_action
from bombay_env.rules import COLOUR_NAMES

GIF_WIDTH: Final = 800  # pixels
FRAME_MS, LAST_FRAME_MS = 500, 3000
COLOURS: Final = 96  # of the GIF's palette; the drawing has some thirty, and the edges of shapes blend them
SAMPLES: Final = 4  # frames that the palette is made from


class Moment(NamedTuple):
    """A position of a record.

    Attributes:
        words: the event that led to it.
        states: (1,) the state after the event.
        last: the action, None after a restock.
    """

    words: str
    states: np.recarray[Any, Any]
    last: LastAction | None


def moments(record: Record) -> Iterator[Moment]:
    """The positions of a record after each event.

    Raises:
        RecordError: as `Record.replay`.
    """
    before: np.ndarray | None = None
    for number, states in record.replay():
        event, last = record.events[number], None
        if event.startswith(RESTOCK):
            words = restock_words(event)
        else:
            assert before is not None  # the first event is a restock
            last = last_action(record.game, before, record.game.action_index(event.partition(" ")[2]))
            words = f"seat {last.seat}: {last.words}"
        yield Moment(words, states, last)
        before = states


def restock_words(event: str) -> str:
    """A restock in words, such as "restock: 2 yellow, 1 blue"."""
    counts = zip(COLOUR_NAMES, event.removeprefix(RESTOCK).split(","), strict=True)
    return "restock: " + (", ".join(f"{int(count)} {colour}" for colour, count in counts if int(count)) or "nothing")


def gif(record: Record, progress: Callable[[int], None] = lambda count: None) -> bytes:
    """An animated GIF of a record, 800 pixels wide, with two positions a second.

    Args:
        record: the game.
        progress: called with 1 after each frame.

    Raises:
        RecordError: as `Record.replay`.
    """
    from PIL import Image

    shown = list(moments(record))
    size = (GIF_WIDTH, round(GIF_WIDTH * HEIGHT / WIDTH))

    def frame(moment: Moment) -> Any:
        drawn = raster.draw(record.game, moment.states, last=moment.last)
        return Image.fromarray(drawn).resize(size, Image.Resampling.LANCZOS)

    step = max(1, len(shown) // SAMPLES)
    samples = [np.asarray(frame(moment)) for moment in (*shown[::step], shown[-1])]
    palette = Image.fromarray(np.concatenate(samples)).quantize(
        COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
    )

    def reduced() -> Iterator[Any]:
        for moment in shown:
            yield frame(moment).quantize(palette=palette, dither=Image.Dither.NONE)
            progress(1)

    frames, file = reduced(), io.BytesIO()
    durations = [FRAME_MS] * (len(shown) - 1) + [LAST_FRAME_MS]
    next(frames).save(
        file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, disposal=1, optimize=True
    )
    return file.getvalue()
