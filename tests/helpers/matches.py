"""Matches made without any play, and matches that are changed."""

import dataclasses

import numpy as np

from bombay_training.matches.cells import Cell
from bombay_training.matches.results import Match
from bombay_training.matches.table import ROW, DecisionTimes, Table


def made_match(game, lineup, seats, block, faults=(), **columns):
    """A match with these columns, (G,) or (G, n) each; those that are not given are zero.

    `seats` (G, n) are indices into the different agents of the line-up.
    """
    rows = np.zeros(np.shape(seats), ROW)
    rows["seat"], rows["game"] = np.arange(rows.shape[1]), np.arange(len(rows))[:, None]
    cell = Cell(game, tuple(lineup), 1 + int(np.max(block)))
    match = Match(cell, Table(rows, [DecisionTimes() for _ in cell.players]))
    return edited(match, faults=faults, seats=seats, block=block, **columns)


def edited(match, faults=None, lineup=None, format=None, **columns):
    """The match with other columns, faults, names or format."""
    rows = match.table.rows.copy()
    for name, values in columns.items():
        rows["agent" if name == "seats" else name] = values if np.ndim(values) == 2 else np.asarray(values)[:, None]
    given = {"lineup": lineup, "format": format}
    cell = dataclasses.replace(match.cell, **{name: value for name, value in given.items() if value is not None})
    kept = match.table.faults if faults is None else {lost.game: lost for lost in faults}
    return Match(cell, dataclasses.replace(match.table, rows=rows, faults=kept))
