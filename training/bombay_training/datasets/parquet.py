"""Decisions as a Parquet file: a row for each decision, in the order of the games and of play.

`_schema` lists the columns. Its metadata have the key `bombay`: JSON with the format, the observation mode, the reward, the board
and the rules.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bombay_env import Game
from bombay_env.files import atomic
from bombay_env.record import Record
from bombay_training.datasets.decisions import Decisions, View, all_decisions

FORMAT: Final = "bombay-decisions/1"
GROUP_ROWS: Final = 16_384  # of a row group, and a little more; 38 MB of observations are in memory


def write(path: Path, records: Iterable[Record], games: Sequence[Game], view: View) -> int:
    """Write the decisions of all games that have a result, a row group at a time. Returns the number of rows.

    Args:
        path: the new file.
        records: the games.
        games: the variants that occur, all on one board.
        view: what to show.

    Raises:
        OSError: it cannot be written. No file is left.
    """
    schema, rows, waiting = _schema(games, view), 0, list[Any]()
    with (
        atomic.replacing(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=["agent"]) as writer,
    ):

        def flush(least: int) -> int:
            table = pa.Table.from_batches(waiting, schema)
            if table.num_rows < least:
                return 0
            writer.write_table(table, row_group_size=table.num_rows)
            waiting.clear()
            return int(table.num_rows)

        for found in all_decisions(records, view):
            waiting.append(_batch(found, schema))
            rows += flush(GROUP_ROWS)
        return rows + flush(1)


def _schema(games: Sequence[Game], view: View) -> Any:
    game = games[0]
    about = {
        "format": FORMAT,
        "observation_mode": view.observation_mode,
        "reward": view.reward,
        "board": game.board.to_dict(),
        "rules": [each.rules.to_dict() for each in games],
    }
    fields = [
        ("game", pa.int64()),  # number of the game
        ("players", pa.int8()),  # number of players
        ("decision", pa.int32()),  # number of the decision in its game
        ("seat", pa.int8()),  # who decided
        ("agent", pa.dictionary(pa.int32(), pa.string())),  # in that seat
        ("observation", pa.list_(pa.float32(), game.num_features)),  # as that seat saw it
        ("action_mask", pa.list_(pa.bool_(), game.num_actions)),  # what was legal
        ("action", pa.int16()),  # what it did
        ("reward", pa.float32()),  # what it was paid until its next decision; only its last is not zero
        ("terminated", pa.bool_()),  # whether it is the seat's last decision
    ]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields], {"bombay": json.dumps(about)})


def _batch(found: Decisions, schema: Any) -> Any:
    count, game = len(found.seats), found.record.game
    columns = [
        pa.array(np.full(count, found.number)),
        pa.array(np.full(count, game.num_players)),
        pa.array(np.arange(count)),
        pa.array(found.seats),
        pa.DictionaryArray.from_arrays(pa.array(found.seats.astype(np.int32)), pa.array(found.record.agents)),
        pa.FixedSizeListArray.from_arrays(pa.array(found.observations.ravel()), game.num_features),
        pa.FixedSizeListArray.from_arrays(pa.array(found.masks.ravel()), game.num_actions),
        pa.array(found.actions),
        pa.array(found.rewards),
        pa.array(found.last),
    ]
    cast = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(cast, schema=schema)
