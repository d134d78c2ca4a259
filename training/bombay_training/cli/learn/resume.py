"""`bombay train resume`: continue a run that was stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import check_spec_path
from bombay_training.cli.learn.best_response import respond_and_evaluate
from bombay_training.cli.learn.expert import iterate_and_gate
from bombay_training.cli.learn.training import Blocks, train_and_evaluate
from bombay_training.cli.options import Json
from bombay_training.learners.train import open_run

# How the command ends, by learner. Other learners end with the table against the reference agents.
ENDINGS: Final[dict[str, Callable[..., None]]] = {
    "best-response": respond_and_evaluate,
    "expert": iterate_and_gate,
}


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the run.", metavar="FOLDER")],
    blocks: Blocks = 250,
    as_json: Json = False,
) -> None:
    """Continue a run from its last checkpoint, with its own settings, and end it as usual."""
    with user_input():
        check_spec_path(folder)
        run = open_run(folder)
    end = ENDINGS.get(run.settings.learner, train_and_evaluate)
    end(run, folder, blocks, as_json)
