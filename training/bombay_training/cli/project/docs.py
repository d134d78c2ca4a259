"""`bombay docs`: write the generated documentation."""

from pathlib import Path
from typing import Annotated

import typer

from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.options import Json


def docs(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="The folder docs of a checkout.")] = Path("docs"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 if a document is out of date.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the generated pages, and the generated tables in the other pages and the README."""
    from bombay_training.docs import pages  # no other command needs all agents and results

    with user_input():
        if not (out / "data").is_dir():
            raise ValueError(f"--out is {out}; it must be the folder docs of a checkout, which holds data/")
        with output.working("writing the pages", as_json):
            found = pages.outdated(out, context.find_root().command)
        if not check:
            for page, text in found.items():
                page.write_text(text, encoding="utf-8")
    names = [str(page) for page in found]
    output.show({"command": "docs", "outdated" if check else "written": names}, [], as_json)
    if not as_json:
        what = "out of date" if check else "written"
        output.say(*(f"{what}: {name}" for name in names) if names else ("every document is up to date",))
    raise typer.Exit(1 if check and names else 0)
