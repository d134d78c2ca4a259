"""`bombay ladder`: the table of strength of the project's agents."""

import functools
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from bombay_training.cli import output
from bombay_training.cli.errors import MATCH_ERRORS, one_line, user_input
from bombay_training.cli.inputs import player_counts
from bombay_training.cli.options import MAX_COUNT, MAX_SEED, Json, Players, Processes
from bombay_training.evaluation import ladder as ladders
from bombay_training.matches.pool import WorkerPool


def ladder(
    out: Annotated[Path, typer.Option(help="The file of parts played; an existing file is continued.")] = Path(
        "runs/ladder.jsonl"
    ),
    players: Players = "2-5",
    only: Annotated[str, typer.Option(help="Only the rows whose agent begins with this.", metavar="SPEC")] = "",
    against: Annotated[str, typer.Option(help="Only the rows against this agent.", metavar="SPEC")] = "",
    blocks: Annotated[
        int | None,
        typer.Option(help="Most deals per row. Default: 1000, or enough for 400 games.", min=1, max=MAX_COUNT),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="The seed of the deals. Default: that of the rows.", min=0, max=MAX_SEED)
    ] = None,
    selection: Annotated[
        bool, typer.Option("--selection", help="The tournament that champion was chosen by, instead of the ladder.")
    ] = False,
    processes: Processes = None,
    show: Annotated[bool, typer.Option("--show", help="Play nothing; print what the file holds.")] = False,
    as_json: Json = False,
) -> None:
    """Play the missing rows of the ladder, in which each agent meets weaker ones, and print the table.

    It takes hours for the searching agents. A run that was stopped continues where it was.
    """
    counts = _check(out, players, only, against, show, selection)
    wanted = ladders.select(counts, only, blocks, seed, selection, against)
    parts = ladders.read_parts(out)
    digests = ladders.official_digests(counts)
    done: list[tuple[ladders.Row, list[dict[str, Any]]]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with (
        WorkerPool(processes) as pool,
        output.new_progress(*columns, quiet=show or as_json) as bar,
        user_input(*MATCH_ERRORS),
    ):
        for row in wanted:
            played = ladders.parts_of(row, parts, digests[row.players].of([row.agent, row.rest]))
            task = bar.add_task(f"{row.players} players, {row.agent} against {row.rest}", total=row.blocks)
            bar.update(task, completed=sum(part["kept"]["blocks"] for part in played))
            if not show:
                ladders.play_missing(row, digests[row.players], played, out, pool, functools.partial(bar.advance, task))
            if played:
                done.append((row, played))
    results = [ladders.summary(row, parts) for row, parts in done]
    data = {"command": "ladder", "file": str(out), "rows": results}
    output.show(data, [ladders.results_table(done, output.out.width)], as_json)


def _check(path: Path, players: str, only: str, against: str, show: bool, selection: bool) -> tuple[int, ...]:
    """The numbers of players. Ends the command if the options are not valid, or the file cannot be read or written."""
    with user_input():
        counts = player_counts(players)
        for option, rest in (("--only", ""), ("--against", against)):
            try:
                ladders.select(counts, only, selection=selection, rest=rest)
            except ValueError as error:
                raise ValueError(f"{option}: {error}") from None
        try:
            ladders.read_parts(path)
            if not show:
                ladders.check_writable(path)
        except (ValueError, OSError) as error:
            raise ValueError(f"--out: {one_line(error)}") from None
        return counts
