"""`bombay warm-up`: compile everything now."""

import json
import sys

import typer

from bombay_env import checks
from bombay_env.jit.cache import CONFIG, STORE
from bombay_training import warm_up as warm_ups
from bombay_training.cli.options import Json, Processes
from bombay_training.cli.output import say


def warm_up(processes: Processes = None, as_json: Json = False) -> None:
    """Compile all kernels now, for environments, agents and learners, so that no command has to compile later."""
    if CONFIG.DISABLE_JIT or STORE.obstacle():
        reason = "NUMBA_DISABLE_JIT is set" if CONFIG.DISABLE_JIT else STORE.obstacle()
        print(checks.message(f"bombay: compiled code cannot be kept: {reason}"), file=sys.stderr)
        raise typer.Exit(1)
    try:
        names = warm_ups.compile_all(warm_ups.all_jobs(), processes, as_json)
    except warm_ups.WarmUpError as error:
        print(f"bombay: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    if as_json:
        print(json.dumps({"command": "warm-up", "compiled": names}))
    else:
        say(f"Compiled {len(names)} functions" if names else "Everything was compiled already")
