"""The command of a learner, made from its settings: `bombay train zero`, `bombay train ppo`."""

from collections.abc import Callable
from typing import Any

from bombay_training.cli.learn.options import options_of, settings_from
from bombay_training.cli.learn.training import BLOCKS, Blocks, RunFolder, new_folder, train_and_evaluate
from bombay_training.cli.options import BoardFile, Players
from bombay_training.cli.runner import Result, command
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.train import run_class


def command_of(settings_class: type[RunSettings]) -> Callable[..., None]:
    """The command that trains by these settings."""

    @options_of(settings_class)
    @command
    def learner(
        players: Players = "2-5",
        board: BoardFile = None,
        out: RunFolder = None,
        blocks: Blocks = BLOCKS,
        **options: Any,
    ) -> Result:
        run = run_class(settings_class.learner)(settings_class(**settings_from(options, players, board)))
        return train_and_evaluate(run, new_folder(out, settings_class.learner), blocks)

    learner.__doc__ = settings_class.help
    return learner
