"""`bombay replay`: verify game records."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env.record import Record, RecordError, read_records
from bombay_env.render import text
from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.options import Json
from bombay_training.rich_tables import cell, new_table

COLUMNS = ("game", "players", "agents", "events", "final", "winners")


def replay(
    path: Annotated[Path, typer.Argument(help="A file of game records (.jsonl).", metavar="FILE")],
    number: Annotated[
        int | None,
        typer.Option("--show", help="Also print the positions of this game, counted from 1.", min=1, metavar="GAME"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay game records and verify that each one follows the rules."""
    rows: list[dict[str, Any]] = []
    with user_input():
        for place, record in enumerate(read_records(path), start=1):
            try:
                record.verify()
            except RecordError as error:
                raise RecordError(f"{path}, record {place}: {error}") from None
            rows.append(_row(place, record))
            if place == number and not as_json:
                _print_positions(record)
        if number is not None and number > len(rows):
            raise ValueError(f"{path} holds {len(rows)} records; there is no record {number} to show")
        if not rows:
            raise ValueError(f"{path} holds no records")
    table = new_table(f"{path}: every record follows the rules", list(COLUMNS))
    for row in rows:
        table.add_row(*(cell(row[column]) for column in COLUMNS))
    output.show({"command": "replay", "file": str(path), "records": rows}, [table], as_json)


def _row(place: int, record: Record) -> dict[str, Any]:
    result = record.result or {}
    return {
        "game": place,
        "players": record.game.num_players,
        "agents": list(record.agents),
        "events": len(record.events),
        "final": result.get("final"),
        "winners": result.get("winners"),
    }


def _print_positions(record: Record) -> None:
    for number, states in record.replay():
        output.out.print(cell(f"event {number}: {record.events[number]}"), style="bold", highlight=False)
        output.out.print(text.draw(record.game, states), markup=False, highlight=False)
        output.out.print()
