"""`bombay train ppo`: self-play PPO. The learner is imported when the command runs, because nothing else needs PyTorch."""

from typing import Any

from bombay_training.cli.errors import user_input
from bombay_training.cli.learn.options import options_of, settings_from
from bombay_training.cli.learn.training import BLOCKS, Blocks, RunFolder, new_folder, train_and_evaluate
from bombay_training.cli.options import BoardFile, Json, Players
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.train import run_class


@options_of(PPOSettings)
def ppo(
    players: Players = "2-5",
    board: BoardFile = None,
    out: RunFolder = None,
    blocks: Blocks = BLOCKS,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Train a policy net by self-play PPO with Stable-Baselines3. Needs the extra `ppo`."""
    with user_input():
        run = run_class(PPOSettings.learner)(PPOSettings(**settings_from(options, players, board)))
        folder = new_folder(out, PPOSettings.learner)
    train_and_evaluate(run, folder, blocks, as_json)
