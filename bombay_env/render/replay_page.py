"""A game record as one HTML file that needs no network: a slider, the list of events, each position, and a curve of win chances.

The background of the drawing and each part stand in the file once; a position is a list of parts. `replay.html` is the page
around them. Text from records reaches the page only as JSON, in which no tag can begin, and is shown as text.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bombay_env.record import Record
from bombay_env.render import shapes, svg
from bombay_env.render.picture import HEIGHT, WIDTH, document
from bombay_env.render.replay import moments

TEMPLATE: Final = Path(__file__).parent / "replay.html"
PLACE: Final = "{{data}}"
SHARE_DIGITS: Final = 3
DASHES: Final = (
    "",
    "9 4",
    "2 4",
    "12 4 2 4",
    "6 2 2 2 2 2",
)  # of the seats' curves, which are told apart without colours


def page(record: Record, shares: Sequence[Sequence[float]] = (), valued_by: str = "") -> str:
    """The page of a record.

    Args:
        record: the game.
        shares: each seat's share of the win at every position of `moments`, as some player values it; empty for no curve.
        valued_by: the name of that player.

    Raises:
        RecordError: as `Record.replay`.
        ValueError: the number of `shares` is not that of the positions.
    """
    positions = list(moments(record))
    if shares and len(shares) != len(positions):
        raise ValueError(f"there are shares for {len(shares)} positions; the record has {len(positions)}")
    sprites: dict[str, int] = {}
    parts: dict[tuple[int, int, int], int] = {}
    frames = []
    for moment in positions:
        drawing = svg.picture(record.game, moment.states, last=moment.last)
        frame = []
        for part in drawing.parts:
            if part.content:
                sprite = sprites.setdefault(part.content, len(sprites))
                frame.append(parts.setdefault((sprite, part.x, part.y), len(parts)))
        frames.append(frame)
    data = {
        "agents": list(record.agents),
        "background": document(drawing.background, (0, 0, WIDTH, HEIGHT)),
        "sprites": list(sprites),
        "parts": list(parts),
        "frames": frames,
        "events": [moment.words for moment in positions],
        "sets": [int(moment.states["set"][0]) for moment in positions],
        "fault": _fault(record),
        "shares": [[round(float(share), SHARE_DIGITS) for share in row] for row in shares],
        "valued_by": valued_by,
        "seats": [{"colour": colour, "dash": dash} for colour, dash in zip(shapes.SEATS, DASHES, strict=True)],
    }
    before, after = TEMPLATE.read_text(encoding="utf-8").split(PLACE)
    return before + as_json(data) + after


def _fault(record: Record) -> str:
    if record.fault is None:
        return ""
    return f"seat {record.fault['seat']} lost by the action {record.fault['action']}: {record.fault['reason']}"


def as_json(data: Any) -> str:
    """JSON for a script element: no tag or comment can begin or end in it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
