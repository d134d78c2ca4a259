"""`bombay train zero`: self-play from the rules alone."""

from typing import Annotated

import typer

from bombay_agents.nets.zero.net import MAX_HIDDEN
from bombay_training.cli.errors import user_input
from bombay_training.cli.learn.training import (
    BLOCKS,
    Blocks,
    Minutes,
    RunFolder,
    Threads,
    Updates,
    common_settings,
    new_folder,
    train_and_evaluate,
)
from bombay_training.cli.options import BoardFile, Json, Players, Seed
from bombay_training.learners.zero import ZeroRun, ZeroSettings


def zero(
    minutes: Minutes = 3.0,
    updates: Updates = None,
    players: Players = "2-5",
    seed: Seed = 0,
    board: BoardFile = None,
    threads: Threads = None,
    hidden: Annotated[
        int, typer.Option(help="Width of the net's first layer, a multiple of 4.", min=4, max=MAX_HIDDEN)
    ] = ZeroSettings.hidden,
    out: RunFolder = None,
    blocks: Blocks = BLOCKS,
    as_json: Json = False,
) -> None:
    """Train a value net by self-play TD(λ) from the rules alone; nothing scripted takes part. Needs no PyTorch.

    The net values all distinct outcomes of a turn for every seat. `net:path=FILE` plays it.
    """
    with user_input():
        common = common_settings(minutes, updates, players, seed, board)
        settings = ZeroSettings(**common, hidden=hidden, threads=threads or 0)
        run = ZeroRun(settings)
        folder = new_folder(out, settings.learner)
    train_and_evaluate(run, folder, blocks, as_json)
