"""The one way in which commands run: what they find is a `Result`, which is printed as tables and lines or as one JSON object."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from rich.table import Table

from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.options import Json
from bombay_training.matches.table import LostGame


@dataclass(frozen=True)
class Result:
    """What a command found.

    Attributes:
        data: all of it, as plain JSON types.
        tables: what is printed without `--json`.
        lines: plain lines below them.
        faults: games that agents lost by faults, for standard error.
        code: the exit code.
        then: done after all is printed, so that nothing is lost if it fails. It may return further lines.
    """

    data: dict[str, Any]
    tables: Sequence[Table] = ()
    lines: Sequence[str] = ()
    faults: Sequence[LostGame] = ()
    code: int = 0
    then: Callable[[], Iterable[str] | None] = tuple

    def end(self) -> None:
        """Print it, do what comes then, and end the command."""
        output.show(self.data, self.tables)
        output.report_faults(self.faults)
        output.say(*self.lines)
        with user_input():
            for line in self.then() or ():
                output.say(line)
        if self.code:
            raise typer.Exit(self.code)


def command(function: Callable[..., Result | None]) -> Callable[..., None]:
    """Make a command of a function, whose parameters are its options; one that returns a `Result` also has `--json`.

    Standard output belongs to the command, and an error that the user can correct is one line.
    """

    @functools.wraps(function)
    def run(*arguments: Any, as_json: bool = False, **options: Any) -> None:
        with output.reserved(as_json):
            with user_input():
                result = function(*arguments, **options)
            if result is not None:
                result.end()

    signature = inspect.signature(function)
    if signature.return_annotation is not None:
        own = list(signature.parameters.values())
        further = [own.pop()] if own[-1].kind == inspect.Parameter.VAR_KEYWORD else []
        json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
        signature = signature.replace(parameters=[*own, json, *further])
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run
