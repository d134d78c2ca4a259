"""`bombay ladder`: the table of strength of the project's agents."""

import functools
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, TimeRemainingColumn

from bombay_env.checks import MAX_SEED
from bombay_training.cli import output
from bombay_training.cli.errors import MATCH_ERRORS, message_of, user_input
from bombay_training.cli.inputs import player_counts
from bombay_training.cli.options import MAX_COUNT, Json, Players, Processes
from bombay_training.evaluation import ladder as ladders
from bombay_training.matches.pool import WorkerPool

Out = Annotated[Path, typer.Option(help="The file of results (JSON Lines); an existing file is continued.")]
Only = Annotated[
    str,
    typer.Option(
        help="Only the matches of exactly this agent, or of all agents with this name, whatever their options.",
        metavar="SPEC",
    ),
]
Against = Annotated[str, typer.Option(help="Only the matches against exactly this agent.", metavar="SPEC")]
Blocks = Annotated[
    int | None,
    typer.Option(
        help="Play a match up to this many deals. Default: 1000; enough for 400 games if the agent searches, 30 with "
        "--selection.",
        min=1,
        max=MAX_COUNT,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="The seed of the deals. Default: 2028; 4031 with --selection.", min=0, max=MAX_SEED),
]
Selection = Annotated[
    bool,
    typer.Option(
        "--selection", help="Instead of the ladder, the matches by which the settings of champion are chosen."
    ),
]
Show = Annotated[bool, typer.Option("--show", help="Play nothing; print what the file holds of the present agents.")]


def ladder(
    out: Out = Path("runs/ladder.jsonl"),
    players: Players = "2-5",
    only: Only = "",
    against: Against = "",
    blocks: Blocks = None,
    seed: Seed = None,
    selection: Selection = False,
    processes: Processes = None,
    show: Show = False,
    as_json: Json = False,
) -> None:
    """Play the ladder, a fixed list of matches of one agent against copies of another, and print the table.

    It takes hours for agents that search. Matches that are in the file already are not played again.
    """
    counts = _check(out, players, only, against, show, selection)
    wanted = ladders.select(counts, only, blocks, seed, selection, against)
    parts = ladders.read_parts(out)
    digests = ladders.official_digests(counts)
    done: list[tuple[ladders.Row, list[dict[str, Any]]]] = []
    columns = (output.description(), BarColumn(), TimeRemainingColumn())
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
            raise ValueError(f"--out: {message_of(error)}") from None
        return counts
