"""The page on the command line, from the commands' own help."""

from typing import Any

import typer
from typer.cli import get_docs_for_click

INTRODUCTION = """# The command line

Written by `bombay docs` from the commands' own help. Nearly all commands have `--json`, and most that play have `--players`
and `--seed`.
Results go to standard output, progress and errors to standard error.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | the verdict is "no" (`gate`, `audit`), or a document is out of date (`docs --check`) |
| 2 | an error in the arguments, or no verdict is possible (`gate`, `audit`) |
| 130 | Ctrl-C |

"""


def page(root: Any) -> str:
    """Every command of the group `root` as Markdown, with its arguments, options and defaults."""
    context = typer.Context(root, info_name="bombay")
    sections = [
        get_docs_for_click(obj=command, ctx=context, indent=1, call_prefix="bombay")
        for name in root.list_commands(context)
        if not (command := root.get_command(context, name)).hidden
    ]
    text = INTRODUCTION + "".join(sections).strip() + "\n"
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
