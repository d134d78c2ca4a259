"""The positions of a game record one after the other, and the record as an animated GIF."""

import io
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env.record import RESTOCK, Record
from bombay_env.render import raster
from bombay_env.render.picture import HEIGHT, WIDTH
from bombay_env.render.view import LastAction, called, last_action
from bombay_env.state import turn_of

GIF_WIDTH: Final = 800  # pixels
FRAME_MS, TURN_MS, LAST_FRAME_MS = 500, 800, 3000  # of a position after an action, after a turn, and at the end
COLOURS: Final = 80  # of the GIF's palette; the drawing has some thirty, and the edges of shapes blend them
SAMPLES: Final = 4  # frames that the palette is made from


class Moment(NamedTuple):
    """A position of a record.

    Attributes:
        states: (1,) the state after an event.
        last: the action that the event is, None for a restock.
    """

    states: np.recarray[Any, Any]
    last: LastAction | None

    @property
    def turn(self) -> tuple[int, ...]:
        """The set, the turn and the seat to act, which a turn's positions share."""
        return turn_of(self.states)


def moments(record: Record) -> Iterator[Moment]:
    """The positions of a record after each event.

    Raises:
        RecordError: as `Record.replay`.
    """
    before: np.ndarray | None = None
    for number, states in record.replay():
        event, last = record.events[number], None
        if not event.startswith(RESTOCK):
            assert before is not None  # the first event is a restock
            last = last_action(record.game, before, record.game.action_index(event.partition(" ")[2]))
        yield Moment(states, last)
        before = states


def gif(record: Record, progress: Callable[[int], None] = lambda count: None, by_turn: bool = False) -> bytes:
    """An animated GIF of a record, 800 pixels wide.

    Args:
        record: the game. Its seats are called by their agents.
        progress: called with 1 after each frame.
        by_turn: whether to show only the position after each turn.

    Raises:
        RecordError: as `Record.replay`.
    """
    from PIL import Image

    shown, names = list(moments(record)), called(record.agents)
    if by_turn:
        shown = [next(turn) for _, turn in itertools.groupby(shown, key=lambda moment: moment.turn)]
    size = (GIF_WIDTH, round(GIF_WIDTH * HEIGHT / WIDTH))

    def frame(moment: Moment) -> Any:
        drawn = raster.draw(record.game, moment.states, last=moment.last, names=names)
        return Image.fromarray(drawn).resize(size, Image.Resampling.LANCZOS)

    step = max(1, len(shown) // SAMPLES)
    samples = [np.asarray(frame(moment)) for moment in (*shown[::step], shown[-1])]
    palette = Image.fromarray(np.concatenate(samples)).quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=3)

    def reduced() -> Iterator[Any]:
        for moment in shown:
            yield frame(moment).quantize(palette=palette, dither=Image.Dither.NONE)
            progress(1)

    frames, file = reduced(), io.BytesIO()
    durations = [TURN_MS if by_turn else FRAME_MS] * (len(shown) - 1) + [LAST_FRAME_MS]
    next(frames).save(
        file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, disposal=1, optimize=True
    )
    return file.getvalue()
