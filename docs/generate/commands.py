"""The page on the command line, from the commands' own help."""

import typer
from typer.cli import get_docs_for_click

from bombay_training.cli.main import app

INTRODUCTION = """# The command line

Written by `make pages` from the commands' own help. Nearly all commands have `--json`, and most that play have `--players` and
`--seed`. Results go to standard output, progress and errors to standard error. Progress is shown in terminals only, tables
fit the terminal's width, and the variable `NO_COLOR` switches colours off. `bombay --install-completion` lets the shell complete
commands, options and agents.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | the verdict is "no" (`gate`, `audit`, `verify`), a kernel does not compile (`warm-up`) |
| 2 | the command could not do its work (a wrong argument, a damaged file, a full disk), or has no verdict (`gate`, `audit`) |
| 130 | Ctrl-C |

Ctrl-C and SIGTERM stop a command; what it leaves differs:

| command | what is left | how to go on |
| --- | --- | --- |
| `train` | the run as it is at that moment; a second Ctrl-C ends it without saving | `bombay train resume FOLDER` |
| `run`, `arena`, `balance` with `--out` | all games that were finished | the same command again |
| `run`, `arena` without | the first deals of each match ([evaluation](evaluation.md#faults)); SIGTERM leaves nothing | – |
| all others | nothing, except files that were finished | the same command again |

"""


def page() -> str:
    """Every command as Markdown, with its arguments, options and defaults."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="bombay")
    sections = [
        get_docs_for_click(obj=command, ctx=context, indent=1, call_prefix="bombay")
        for name in root.list_commands(context)
        if not (command := root.get_command(context, name)).hidden
    ]
    text = INTRODUCTION + "".join(sections).strip() + "\n"
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
