"""What happened in a session, in words, with a line for each turn."""

import itertools

from bombay_training.play.messages import log
from bombay_training.play.session import Session


def news(session: Session, start: int = 0) -> list[str]:
    """The events of the log from `start` on, as `session.viewer` may know them.

    The actions of a turn stand in one line, with the place where the first of them was taken.
    """
    viewer = session.viewer if session.screened and not session.over else None
    events = list(zip(session.log, log(session.log, viewer), strict=True))[start:]
    lines: list[str] = []
    for seat, turn in itertools.groupby(events, key=lambda event: event[0].seat):
        actions, told = zip(*turn, strict=True)
        words = [event["words"] for event in told]
        lines += words if seat is None else [f"seat {seat} at {actions[0].action.origin}: {'; '.join(words)}"]
    return lines
