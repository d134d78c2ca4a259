"""Matches made without any play, and matches that are changed."""

import dataclasses

import numpy as np

from bombay_training.matches.lineup import Lineup
from bombay_training.matches.match import Match
from bombay_training.matches.table import blank_rows


def made_match(game, lineup, seats, block, faults=(), **columns):
    """A match with these columns, (G,) or (G, n) each; those that are not given are zero.

    `seats` (G, n) are indices into the different agents of the line-up.
    """
    rows = blank_rows(*np.shape(seats), accounts=False)
    rows["seat"], rows["game"] = np.arange(rows.shape[1]), np.arange(len(rows))[:, None]
    match = Match(Lineup(game, tuple(lineup), 1 + int(np.max(block))), rows)
    return edited(match, faults=faults, seats=seats, block=block, **columns)


def edited(match, faults=None, lineup=None, format=None, **columns):
    """The match with other columns, faults, names or format."""
    rows = match.rows.copy()
    for name, values in columns.items():
        rows["agent" if name == "seats" else name] = values if np.ndim(values) == 2 else np.asarray(values)[:, None]
    if faults is not None:
        rows["action"], rows["fault"] = "", ""
        for lost in faults:
            index = int(np.flatnonzero(rows["game"][:, 0] == lost.game)[0])
            rows["action"][index, lost.seat], rows["fault"][index, lost.seat] = lost.action, lost.reason
    given = {"agents": lineup, "format": format}
    plan = dataclasses.replace(match.plan, **{name: value for name, value in given.items() if value is not None})
    return Match(plan, rows)
