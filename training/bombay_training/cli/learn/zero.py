"""`bombay train zero`: self-play from the rules alone."""

from typing import Any

from bombay_training.cli.errors import user_input
from bombay_training.cli.learn.options import options_of, settings_from
from bombay_training.cli.learn.training import BLOCKS, Blocks, RunFolder, new_folder, train_and_evaluate
from bombay_training.cli.options import BoardFile, Json, Players
from bombay_training.learners.zero import ZeroRun, ZeroSettings


@options_of(ZeroSettings)
def zero(
    players: Players = "2-5",
    board: BoardFile = None,
    out: RunFolder = None,
    blocks: Blocks = BLOCKS,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Train a value net by self-play TD(λ) from the rules alone; nothing scripted takes part. Needs no PyTorch.

    The net values all distinct outcomes of a turn for every seat. `net:path=FILE` plays it.
    """
    with user_input():
        run = ZeroRun(ZeroSettings(**settings_from(options, players, board)))
        folder = new_folder(out, ZeroSettings.learner)
    train_and_evaluate(run, folder, blocks, as_json)
