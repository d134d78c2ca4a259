"""`bombay leaderboard`: the page of a league, from the store in which it was played."""

from pathlib import Path
from typing import Annotated

import typer

from bombay_env import checks
from bombay_env.files import atomic
from bombay_training.cli import options, output
from bombay_training.cli.inputs import analysis_module
from bombay_training.cli.runner import Result, command
from bombay_training.matches import published

OUT = "A file for the page (Markdown); a chart with the same name, .png, is written beside it."
PUBLISH = "First write the finished study of the store into this new folder, in few files."
TIMES = "With --publish: another store of the same study, from which to take the times of turns."
MACHINE = "With --publish: on what and when times were measured, for the page."


@command
def leaderboard(
    folder: options.GamesFolder = published.LEAGUE,
    out: Annotated[Path | None, typer.Option(help=OUT)] = None,
    publish: Annotated[Path | None, typer.Option(help=PUBLISH)] = None,
    times: Annotated[Path | None, typer.Option(help=TIMES)] = None,
    machine: Annotated[str, typer.Option(help=MACHINE)] = "",
) -> Result:
    """Write the leaderboard of a league: ratings at each number of players, cross tables, the best agent by time limit."""
    if publish is None and (times or machine):
        raise ValueError("--times and --machine are for --publish")
    if out is not None and out.suffix != ".md":
        raise ValueError(f"--out is {checks.shown_path(out)}; its name must end with .md")
    boards, charts = (analysis_module(f"reports.{name}") for name in ("leaderboard", "charts"))
    if publish is not None:
        published.publish(folder, publish, machine, times)
        folder = publish
    data = boards.league_data(folder)
    output.note_changed(folder)
    text = boards.page(data, folder, out.with_suffix(".png").name if out else "leaderboard.png")
    if out is not None:
        charts.figures.save_png(charts.ratings(data["counts"]), out.with_suffix(".png"))
        atomic.write_bytes(out, text.encode())
    return Result({"command": "leaderboard", **data}, lines=[f"The leaderboard is in {out}" if out else text])
