"""`bombay train resume`: continue a run that was stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from bombay_training.cli.inputs import check_spec_path
from bombay_training.cli.learn.best_response import RESPONSE_BLOCKS, respond_and_evaluate
from bombay_training.cli.learn.training import BLOCKS, train_and_evaluate
from bombay_training.cli.options import count
from bombay_training.cli.runner import Result, command
from bombay_training.learners.train import open_run

# How the command ends, by learner, and on how many deals. Other learners end with the table against the reference agents.
ENDINGS: Final[dict[str, tuple[Callable[..., Result], int]]] = {
    "best-response": (respond_and_evaluate, RESPONSE_BLOCKS),
}


@command
def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the run.", metavar="FOLDER")],
    blocks: Annotated[int | None, count("Deals for each row of the closing table. Default: as for a new run.")] = None,
) -> Result:
    """Continue a run from its last checkpoint, with its own settings, and end it as usual."""
    check_spec_path(folder)
    run = open_run(folder)
    end, usual_blocks = ENDINGS.get(run.settings.learner, (train_and_evaluate, BLOCKS))
    return end(run, folder, blocks or usual_blocks)
