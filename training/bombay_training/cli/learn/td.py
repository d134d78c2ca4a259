"""`bombay train td`: self-play TD."""

from typing import Annotated

import typer

from bombay_agents.nets.value_net import MAX_HIDDEN
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
from bombay_training.learners.td import TDRun, TDSettings


def td(
    minutes: Minutes = 3.0,
    updates: Updates = None,
    players: Players = "2-5",
    seed: Seed = 0,
    board: BoardFile = None,
    threads: Threads = None,
    hidden: Annotated[int, typer.Option(help="Width of the net.", min=1, max=MAX_HIDDEN)] = TDSettings.hidden,
    out: RunFolder = None,
    blocks: Blocks = BLOCKS,
    as_json: Json = False,
) -> None:
    """Train a value net by self-play TD(λ). The planner proposes outcomes of turns and looks ahead. Needs no PyTorch."""
    with user_input():
        common = common_settings(minutes, updates, players, seed, board)
        settings = TDSettings(**common, hidden=hidden, threads=threads or 0)
        run = TDRun(settings)
        folder = new_folder(out, settings.learner)
    train_and_evaluate(run, folder, blocks, as_json)
