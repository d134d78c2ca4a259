"""`bombay curve`: learning curves as a picture."""

from pathlib import Path
from typing import Annotated

import typer

from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import analysis_module, check_new_file
from bombay_training.cli.options import Json
from bombay_training.learners.runs import run_files
from bombay_training.rich_tables import cell, new_table


def curve(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of runs; a run may still be in progress.", metavar="FOLDER…")
    ],
    out: Annotated[
        Path | None, typer.Option(help="A new .png file. Default: learning_curve.png in the folder of a single run.")
    ] = None,
    win_shares: Annotated[bool, typer.Option("--win-shares", help="Draw only the win shares.")] = False,
    as_json: Json = False,
) -> None:
    """Draw the learning curves of one or more runs in one picture: win share, losses and learning rate.

    Runs whose folders differ only in an ending such as -seed0 have one colour.
    """
    with user_input():
        curves = analysis_module("learners.curve")
        if out is None and len(folders) > 1:
            raise ValueError("several runs need a new file for their picture; name a .png file with --out")
        if out is not None and out.suffix != ".png":
            raise ValueError(f"{out} is not a .png file; name one with --out")
        found = [curves.read_run(folder) for folder in folders]
        check_new_file(out)
        file = out or folders[0] / run_files.CURVE
        curves.draw(found, file, metrics=not win_shares)
    data = {"command": "curve", "file": str(file), "runs": [run.summary() for run in found]}
    table = new_table("runs", ["run", "updates", "minutes", "against", "last win share"])
    for row in data["runs"]:
        for reference, share in row["win_shares"].items() or [("–", None)]:
            figures = f"{row['updates']:,}", f"{row['minutes']:.1f}", cell(reference)
            table.add_row(cell(row["run"]), *figures, "–" if share is None else f"{share:.2f}")
    output.show(data, [table], as_json)
    if not as_json:
        output.say(f"The curve is in {file}")
