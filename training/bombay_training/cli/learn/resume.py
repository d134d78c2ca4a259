"""`bombay train resume`: continue a run that was stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from bombay_env.agent import AgentFault
from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import check_spec_path
from bombay_training.cli.learn.best_response import RESPONSE_BLOCKS, respond_and_evaluate
from bombay_training.cli.learn.training import BLOCKS, train_and_evaluate
from bombay_training.cli.options import MAX_COUNT, Json
from bombay_training.learners.train import open_run

# How the command ends, by learner, and on how many deals. Other learners end with the table against the reference agents.
ENDINGS: Final[dict[str, tuple[Callable[..., None], int]]] = {
    "best-response": (respond_and_evaluate, RESPONSE_BLOCKS),
}


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the run.", metavar="FOLDER")],
    blocks: Annotated[
        int | None,
        typer.Option(help="Deals for each row of the closing table. Default: as for a new run.", min=1, max=MAX_COUNT),
    ] = None,
    as_json: Json = False,
) -> None:
    """Continue a run from its last checkpoint, with its own settings, and end it as usual."""
    with user_input(AgentFault, ValueError, OSError):
        check_spec_path(folder)
        run = open_run(folder)
    end, usual_blocks = ENDINGS.get(run.settings.learner, (train_and_evaluate, BLOCKS))
    end(run, folder, blocks or usual_blocks, as_json)
