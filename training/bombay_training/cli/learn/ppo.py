"""`bombay train ppo`: self-play PPO. The learner is imported when the command runs, because nothing else needs PyTorch."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from bombay_training.cli.errors import user_input
from bombay_training.cli.learn.training import (
    BLOCKS,
    Blocks,
    Minutes,
    RunFolder,
    Updates,
    common_settings,
    new_folder,
    train_and_evaluate,
)
from bombay_training.cli.options import MAX_COUNT, BoardFile, Json, Players, Seed
from bombay_training.learners.train import run_class


class Features(StrEnum):
    """What the net reads."""

    LOOKAHEAD = "lookahead"
    RAW = "raw"


def ppo(
    minutes: Minutes = 3.0,
    updates: Updates = None,
    players: Players = "2-5",
    seed: Seed = 0,
    board: BoardFile = None,
    features: Annotated[
        Features,
        typer.Option(
            help="What the net reads. lookahead: the planner's values of actions; the planner also shapes the rewards. "
            "raw: observations; the result if the game ended now shapes the rewards, and nothing is scripted."
        ),
    ] = Features.LOOKAHEAD,
    threads: Annotated[int, typer.Option(help="Threads of PyTorch.", min=1, max=MAX_COUNT)] = 1,
    out: RunFolder = None,
    blocks: Blocks = BLOCKS,
    as_json: Json = False,
) -> None:
    """Train a policy net by self-play PPO with Stable-Baselines3. Needs the extra `ppo`."""
    with user_input():
        common = common_settings(minutes, updates, players, seed, board)
        learner = run_class("ppo")
        settings_class: Any = learner.settings_class
        make = settings_class.raw if features is Features.RAW else settings_class
        settings = make(**common, threads=threads)
        run = learner(settings)
        folder = new_folder(out, settings.learner)
    train_and_evaluate(run, folder, blocks, as_json)
