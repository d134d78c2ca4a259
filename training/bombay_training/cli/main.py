"""The `bombay` command: all its commands by name, and how it ends.

A command reads its options, calls the modules that do the work and returns a `Result`, which `runner.py` prints. Results go to
standard output, progress and errors to standard error. Exit codes: 0 for success, 1 for the verdict "no" (`gate`, `audit`,
`verify`), 2 for an error that the user can correct, 130 after Ctrl-C. `python -X dev -m bombay_training.cli` also shows where an
error was raised.
"""

import io
import os
import sys
import traceback
from typing import Annotated

import typer
from typer.exceptions import TyperException

from bombay_env import __version__, checks
from bombay_training.cli.games import check_board, draw_board, mcp, new_board, play, replay, simulate, watch
from bombay_training.cli.matches import arena, audit, gate, run, verify
from bombay_training.cli.playing import warm_up
from bombay_training.cli.reports import balance, card, leaderboard, ratings, tracks
from bombay_training.cli.training import command_of, resume, track
from bombay_training.learners.train import SETTINGS

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)
train = typer.Typer(no_args_is_help=True, help="Train an agent by self-play and compare it with reference agents.")
board = typer.Typer(no_args_is_help=True, help="Make a board of your own, such as the printed one.")

COMMANDS = {
    "Games": (play, watch, simulate, replay, mcp),
    "Evaluation": (arena, gate, run, ratings, leaderboard, card, verify, audit, balance),
    "Training": (track, tracks),
    "Project": (warm_up,),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(train, name="train", rich_help_panel="Training")
app.add_typer(board, name="board", rich_help_panel="Games")
for group, named in (
    (board, {"new": new_board, "check": check_board, "draw": draw_board}),
    (train, {**{name: command_of(settings) for name, settings in SETTINGS.items()}, "resume": resume}),
):
    for name, command in named.items():
        group.command(name, short_help=(command.__doc__ or "").split("\n\n")[0])(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"bombay {__version__}")
        raise typer.Exit


@app.callback()
def bombay(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Bombay, the board game, as a reinforcement-learning environment."""


def main(commands: typer.Typer = app) -> None:
    """Run the command, once in a process. An error that the user can correct ends in one line on stderr and exit code 2."""
    # Users' own agents are found in the current folder. It comes last, so that no file there replaces an installed module.
    sys.path.append(os.getcwd())
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace", line_buffering=True)  # no character costs a result, nor the help
    try:
        code = commands(standalone_mode=False)
    except TyperException as error:
        if sys.flags.dev_mode and error.__cause__:
            traceback.print_exception(error.__cause__)
        message = error.format_message()
        if message:  # empty if the help has been printed because no command was given
            print(f"bombay: {checks.message(message)}", file=sys.stderr)
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        print("bombay: stopped", file=sys.stderr)
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
