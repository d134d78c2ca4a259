"""`bombay replay`: verify game records, print a game, or draw it as a GIF or a page."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env.files import atomic
from bombay_env.record import Record, RecordError, read_records
from bombay_env.render import replay as replays
from bombay_env.text import describe_position
from bombay_training.cli import options, output
from bombay_training.cli.inputs import check_new_file
from bombay_training.cli.runner import Result, command
from bombay_training.play.web import film
from bombay_training.rich_tables import cell, new_table

COLUMNS = ("game", "players", "agents", "events", "final", "winners")
HTML = "A new file for the game as a page, which needs no network."
VALUES = "Who values the turns of the page. Default: zero, if it knows the game."


@command
def replay(
    path: options.RecordsFile,
    number: Annotated[int | None, options.one_game("--show", "Also print the positions of this game", "GAME")] = None,
    drawn: Annotated[int, options.one_game("--game", "The game to draw with --gif and --html")] = 1,
    gif: Annotated[Path | None, typer.Option(help="A new file for the game as an animated GIF.")] = None,
    html: Annotated[Path | None, typer.Option(help=HTML)] = None,
    values: Annotated[str | None, typer.Option(help=VALUES, metavar="AGENT")] = None,
) -> Result:
    """Replay game records and verify that each one follows the rules. Draw one as a GIF or a page."""
    check_new_file(gif, "--gif")
    check_new_file(html, "--html")
    if gif is not None and html is not None and gif.absolute() == html.absolute():
        raise ValueError(f"--gif and --html both name {gif}; name two files")
    if values is not None and html is None:
        raise ValueError("--values needs --html, the page that shows them")
    rows: list[dict[str, Any]] = []
    chosen: Record | None = None
    with output.working("verifying records") as tell:
        for place, record in enumerate(_verified(path), start=1):
            tell(f"verifying records: {place:,}")
            rows.append(_row(place, record))
            chosen = record if place == drawn else chosen
            if place == number:
                _print_positions(record)
    for wanted, use in ((number, "show"), (drawn if gif or html else None, "draw")):
        if wanted is not None and wanted > len(rows):
            raise ValueError(f"{path} holds {len(rows)} records; there is no record {wanted} to {use}")
    if not rows:
        raise ValueError(f"{path} holds no records")
    if chosen is not None:
        _draw(chosen, gif, html, values)
    table = new_table(f"{path}: every record follows the rules", COLUMNS, [list(row.values()) for row in rows])
    files = {name: str(file) for name, file in (("gif", gif), ("html", html)) if file is not None}
    data = {"command": "replay", "file": str(path), "records": rows, **files}
    return Result(data, [table], [f"game {drawn} is drawn in {file}" for file in files.values()])


def _verified(path: Path) -> Iterator[Record]:
    """The records of a file. Raises RecordError for the first that breaks the rules."""
    for place, record in enumerate(read_records(path), start=1):
        try:
            record.verify()
        except RecordError as error:
            raise RecordError(f"{path}, record {place}: {error}") from None
        yield record


def _draw(record: Record, gif: Path | None, html: Path | None, values: str | None) -> None:
    """Write the files that are wanted; what takes long shows its progress."""
    if html is not None:
        with output.progress_bar("positions", len(record.events)) as advance:
            atomic.write_bytes(html, film.page(film.film(record, values, advance=advance)).encode())
    if gif is not None:
        with output.progress_bar("frames", len(record.events)) as advance:
            atomic.write_bytes(gif, replays.gif(record, advance))


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
    if output.as_json.get():
        return
    for number, states in record.replay():
        output.out.print(cell(f"event {number}: {record.events[number]}"), style="bold", highlight=False)
        output.out.print(describe_position(record.game, states), markup=False, highlight=False)
        output.out.print()
