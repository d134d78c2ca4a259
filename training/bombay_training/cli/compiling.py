"""`bombay warm-up`: compile everything now. `prepare` compiles what another command needs."""

import contextlib
from collections.abc import Sequence

import typer

from bombay_env.jit import kernels
from bombay_training import warm_up as warm_ups
from bombay_training.cli import output
from bombay_training.cli.options import Json, Processes


def warm_up(processes: Processes = None, as_json: Json = False) -> None:
    """Compile all kernels now, for environments, agents and learners, so that no command has to compile later."""
    jobs = warm_ups.all_jobs()
    try:
        if problem := kernels.obstacle():
            raise RuntimeError(f"compiled code cannot be kept: {problem}")
        with output.progress_bar("compiling", len(jobs), as_json) as advance:
            warm_ups.compile_all(jobs, processes, advance)
    except (RuntimeError, OSError) as error:
        output.err.print(f"bombay: {error}"[:500], markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None
    if as_json:
        output.show({"command": "warm-up", "jobs": [job.name for job in jobs]}, [], as_json)
    else:
        output.say(f"Compiled everything: {', '.join(job.name for job in jobs)}")


def prepare(jobs: Sequence[warm_ups.Job], quiet: bool = False) -> None:
    """Do the jobs that were not done before, with a bar on stderr unless `quiet`. If one fails, the command compiles itself."""
    if kernels.obstacle():
        return
    with contextlib.suppress(RuntimeError, OSError):
        due = [job for job in jobs if not warm_ups.done_file(job).exists()]
        if due and not quiet and not output.err.is_terminal:  # where no bar is shown
            names = ", ".join(job.name for job in due)
            output.err.print(f"bombay: compiling, only the first time: {names}", soft_wrap=True, highlight=False)
        if due:
            with output.progress_bar("compiling", len(due), quiet) as advance:
                warm_ups.compile_all(due, None, advance)
