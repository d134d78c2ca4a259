"""`bombay warm-up`: compile everything now. `prepare` compiles what another command needs."""

import contextlib
from collections.abc import Sequence

import typer

from bombay_env import checks
from bombay_env.jit import kernels
from bombay_training import warm_up as warm_ups
from bombay_training.cli import output
from bombay_training.cli.options import Processes
from bombay_training.cli.runner import Result, command


@command
def warm_up(processes: Processes = None) -> Result:
    """Compile all kernels now, for environments, agents and learners, so that no command has to compile later."""
    jobs = warm_ups.all_jobs()
    try:
        if problem := kernels.obstacle():
            raise RuntimeError(f"compiled code cannot be kept: {problem}")
        with output.progress_bar("compiling", len(jobs)) as advance:
            warm_ups.compile_all(jobs, processes, advance)
    except (RuntimeError, OSError) as error:
        output.note(checks.message(f"bombay: {error}"))
        raise typer.Exit(1) from None
    names = [job.name for job in jobs]
    return Result({"command": "warm-up", "jobs": names}, lines=[f"Compiled everything: {', '.join(names)}"])


def prepare(jobs: Sequence[warm_ups.Job]) -> None:
    """Do the jobs that were not done before, with a bar on stderr. If one fails, the command compiles itself."""
    if kernels.obstacle():
        return
    with contextlib.suppress(RuntimeError, OSError):
        due = [job for job in jobs if not warm_ups.done_file(job).exists()]
        if due and not output.as_json.get() and not output.err.is_terminal:  # where no bar is shown
            output.note(f"bombay: compiling, only the first time: {', '.join(job.name for job in due)}")
        if due:
            with output.progress_bar("compiling", len(due)) as advance:
                warm_ups.compile_all(due, None, advance)
