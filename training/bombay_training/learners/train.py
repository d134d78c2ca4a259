"""Train with any learner: `train` starts a run, `resume` continues one; both find the learner by its name.

    train(ZeroSettings(minutes=3, players=(4,)), "runs/first")
    resume("runs/first")

What a run does is in `runs/run.py`; what a learner does is in its own module: `zero/run.py`, `ppo/run.py` and `best_response.py`.
A new learner is entered in `SETTINGS`, which also gives it a command.
"""

import os
from pathlib import Path
from typing import Final

from bombay_env.checks import shown
from bombay_training.learners.best_response import BestResponseSettings
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.runs import Progress, Run, run_files
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.zero.run import ZeroSettings

SETTINGS: Final[dict[str, type[RunSettings]]] = {
    settings.learner: settings for settings in (ZeroSettings, PPOSettings, BestResponseSettings)
}


def train(settings: RunSettings, out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Run a learner from the beginning; agent, checkpoint, settings and metrics are left in the folder `out`.

    The folder is created if necessary; an older run in it is removed. SIGINT (Ctrl-C) and SIGTERM stop the run after the current
    update and save it.

    Args:
        settings: the settings of a learner, such as `ZeroSettings` or `PPOSettings`.
        out: the folder.
        progress: who follows the run.
    Returns:
        The path of `agent.safetensors`.
    Raises:
        ValueError: the run cannot start with these settings, or another process uses the folder.
        OSError: a file cannot be written; see `Run.create` and `Run.loop`.
        KeyboardInterrupt: after saving, on Ctrl-C.
    """
    run: Run = settings.run_class()(settings)
    run.create(out)
    return run.loop(progress)


def resume(out: str | os.PathLike[str], progress: Progress | None = None) -> Path:
    """Continue the run in the folder `out` from its last checkpoint; see `train`.

    Raises:
        ValueError: the folder holds no run, its checkpoint is damaged or belongs to another one, or another process uses it.
        OSError: a file cannot be written.
        KeyboardInterrupt: after saving, on Ctrl-C.
    """
    return open_run(out).loop(progress)


def open_run(out: str | os.PathLike[str]) -> Run:
    """The run in the folder `out`, as its last checkpoint left it. Raises what `Run.open` raises."""
    learner = run_files.learner_of(Path(out))
    if learner not in SETTINGS:
        raise ValueError(f"there is no learner {shown(learner)}; the learners are {', '.join(SETTINGS)}")
    run: Run = SETTINGS[learner].run_class().open(out)
    return run
