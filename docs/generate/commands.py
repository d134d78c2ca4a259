"""The reference of the command line, from the commands' own help."""

import typer
from typer.cli import get_docs_for_click

from bombay_training.cli.main import app


def reference() -> str:
    """Every command as Markdown, with its arguments, options and defaults."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="bombay")
    commands = (root.get_command(context, name) for name in root.list_commands(context))
    shown = (command for command in commands if not command.hidden)
    text = "".join(get_docs_for_click(obj=one, ctx=context, indent=1, call_prefix="bombay") for one in shown)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
