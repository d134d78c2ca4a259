"""`bombay tracks`: the learning curves of several entries of tracks."""

from pathlib import Path
from typing import Annotated

import typer

from bombay_training.cli.inputs import analysis_module, check_new_file
from bombay_training.cli.runner import Result, command

ENTRIES = "Folders of `bombay track`, or their files track.json."


@command
def tracks(
    entries: Annotated[list[Path], typer.Argument(help=ENTRIES, metavar="ENTRY...")],
    out: Annotated[Path | None, typer.Option(help="A new file for a picture of the curves (PNG).")] = None,
) -> Result:
    """Summarise entries of tracks by learner, with intervals over seeds and deals, and draw their curves.

    The curve of a learner is the interquartile mean of its scores over seeds, opponents and numbers of players.
    """
    module, charts = (analysis_module(f"reports.{name}") for name in ("tracks", "charts"))
    check_new_file(out)
    curves = module.summary(module.read_entries(entries))
    if out is not None:
        charts.figures.save_png(charts.curves(curves), out)
    return Result({"command": "tracks", "curves": curves}, lines=[module.table(curves)])
