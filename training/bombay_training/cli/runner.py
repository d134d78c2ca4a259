"""The one way in which commands run: what they find is a `Result`, which is printed as tables and lines or as one JSON object.

An error that the user can correct is one line on standard error, with exit code 2.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from bombay_env import checks
from bombay_training.cli import output
from bombay_training.matches.table import LostGame

# Files, wrong values, agents and processes that cannot play, and data from which nothing can be estimated.
ERRORS: Final = (OSError, ValueError, RuntimeError, ArithmeticError)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


class UserError(typer.BadParameter):
    """An error that the user can correct. The message stands alone: it need not be about the value of an option."""

    def format_message(self) -> str:
        """The message without the words that Typer puts before it."""
        return self.message


@contextmanager
def user_input() -> Iterator[None]:
    """Turn one of `ERRORS` into a `UserError` of one line: of an error of the system, the path and the reason."""
    try:
        yield
    except (typer.Exit, typer.Abort):  # they are RuntimeErrors
        raise
    except ERRORS as error:
        text = str(error)
        if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
            text = f"{checks.shown_path(error.filename)}: {error.strerror}"
        raise UserError(checks.message(text)) from error


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


def command(function: Callable[..., Result | None]) -> Callable[..., None]:
    """Make a command of a function, whose parameters are its options; one that returns a `Result` also has `--json`.

    Standard output belongs to the command, and an error that the user can correct is one line.
    """

    @functools.wraps(function)
    def run(*arguments: Any, as_json: bool = False, **options: Any) -> None:
        with output.reserved(as_json), user_input():
            result = function(*arguments, **options)
            if result is None:
                return
            output.show(result.data, result.tables)
            output.report_faults(result.faults)
            output.say(*result.lines)
            for line in result.then() or ():
                output.say(line)
            if result.code:
                raise typer.Exit(result.code)

    signature = inspect.signature(function)
    if signature.return_annotation is not None:
        own = list(signature.parameters.values())
        further = [own.pop()] if own[-1].kind == inspect.Parameter.VAR_KEYWORD else []
        json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
        signature = signature.replace(parameters=[*own, json, *further])
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run
