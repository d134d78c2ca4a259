"""Decisions as a Parquet file: a row for each decision, in the order of the games and of play.

    column        type                 meaning
    game          int64                number of the game
    players       int8                 number of players
    decision      int32                number of the decision in its game
    seat          int8                 who decided
    agent         dictionary of string the agent in that seat
    observation   F × float32          as that seat saw it
    action_mask   A × bool             what was legal
    action        int16                what it did
    reward        float32              what it was paid until its next decision: zero but for its last
    terminated    bool                 whether it is the seat's last decision

The metadata of the schema has the key `bombay`: JSON with the format, the observation mode, the reward, the board and the rules.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bombay_env import Game
from bombay_env.files import atomic
from bombay_training.datasets.decisions import Decisions, View

FORMAT: Final = "bombay-decisions/1"
GROUP_ROWS: Final = 16_384  # of a row group; 38 MB of observations are in memory


def write(path: Path, found: Iterable[Decisions], games: list[Game], view: View) -> int:
    """Write a file, a row group at a time. Returns the number of rows.

    Args:
        path: the new file.
        found: the games' decisions.
        games: the variants that occur, all on one board.
        view: what they show.

    Raises:
        OSError: it cannot be written. No file is left.
    """
    schema = _schema(games, view)
    rows, waiting = 0, list[Any]()
    with (
        atomic.replacing(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", use_dictionary=["agent"]) as writer,
    ):
        for each in found:
            waiting.append(_batch(each, schema))
            if sum(batch.num_rows for batch in waiting) >= GROUP_ROWS:
                rows += _flush(writer, waiting)
        rows += _flush(writer, waiting)
    return rows


def _flush(writer: Any, waiting: list[Any]) -> int:
    """Write the batches that wait as one row group."""
    table = pa.Table.from_batches(waiting, writer.schema)
    if table.num_rows:
        writer.write_table(table, row_group_size=table.num_rows)
    waiting.clear()
    return int(table.num_rows)


def _schema(games: list[Game], view: View) -> Any:
    game = games[0]
    about = {
        "format": FORMAT,
        "observation_mode": view.observation_mode,
        "reward": view.reward,
        "board": game.board.to_dict(),
        "rules": [each.rules.to_dict() for each in games],
    }
    fields = [
        ("game", pa.int64()),
        ("players", pa.int8()),
        ("decision", pa.int32()),
        ("seat", pa.int8()),
        ("agent", pa.dictionary(pa.int32(), pa.string())),
        ("observation", pa.list_(pa.float32(), game.num_features)),
        ("action_mask", pa.list_(pa.bool_(), game.num_actions)),
        ("action", pa.int16()),
        ("reward", pa.float32()),
        ("terminated", pa.bool_()),
    ]
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in fields], {"bombay": json.dumps(about)})


def _batch(found: Decisions, schema: Any) -> Any:
    count, agents = len(found.seats), found.record.agents
    columns = [
        pa.array(np.full(count, found.number, np.int64)),
        pa.array(np.full(count, found.game.num_players, np.int8)),
        pa.array(np.arange(count, dtype=np.int32)),
        pa.array(found.seats),
        pa.DictionaryArray.from_arrays(pa.array(found.seats.astype(np.int32)), pa.array(agents)),
        pa.FixedSizeListArray.from_arrays(pa.array(found.observations.ravel()), found.game.num_features),
        pa.FixedSizeListArray.from_arrays(pa.array(found.masks.ravel()), found.game.num_actions),
        pa.array(found.actions.astype(np.int16)),
        pa.array(found.rewards),
        pa.array(found.last),
    ]
    return pa.RecordBatch.from_arrays(
        [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
