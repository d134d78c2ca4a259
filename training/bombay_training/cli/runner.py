"""The one way in which commands run: what they find is a `Result`, which is printed as tables and lines or as one JSON object.

Results go to standard output, progress and faults to standard error. An error that the user can correct is one line on standard
error, with exit code 2. Standard output belongs to the command: what agents, their native code and their child processes write
there goes to standard error.
"""

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer
from rich import progress
from rich.console import Console
from rich.table import Table

from bombay_env import checks
from bombay_training.matches.provenance import read_provenance
from bombay_training.matches.table import LostGame
from bombay_training.rich_tables import cell

# Files, wrong values, agents and processes that cannot play, and data from which nothing can be estimated.
ERRORS: Final = (OSError, ValueError, RuntimeError, ArithmeticError)
PIPE_WIDTH: Final = 1000  # more than any table needs: in files and pipes no cell is folded
# Without markup: specs of agents may look like it.
DESCRIPTION: Final = progress.TextColumn("{task.description}", markup=False)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]

# Without emoji: the name of an agent such as mine:Leaves is no picture. With --json, `out` is quiet.
out = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, emoji=False)
err = Console(stderr=True, emoji=False)


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
        lines: plain lines below them. A generator does the rest of the work after all else is printed, so that nothing is lost if
            it fails.
        faults: games that agents lost by faults, for standard error.
        code: the exit code.
        ended: what ended the command early. It is raised at the end.
    """

    data: dict[str, Any]
    tables: Sequence[Table] = ()
    lines: Iterable[str] = ()
    faults: Sequence[LostGame] = ()
    code: int = 0
    ended: BaseException | None = None


def command(function: Callable[..., Result | None]) -> Callable[..., None]:
    """Make a command of a function, whose parameters are its options; one that returns a `Result` also has `--json`."""

    @functools.wraps(function)
    def run(*arguments: Any, as_json: bool = False, **options: Any) -> None:
        with reserved(as_json), user_input():
            result = function(*arguments, **options)
            if result is None:
                return
            if as_json:
                print(json.dumps(result.data), file=out.file)
            for table in result.tables:
                out.print(table)
            report_faults(result.faults)
            for line in result.lines:
                say(line)
            if result.ended:
                raise result.ended
            if result.code:
                raise typer.Exit(result.code)

    signature = inspect.signature(function)
    if signature.return_annotation is not None:
        option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
        signature = signature.replace(parameters=[*signature.parameters.values(), option])
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


@contextmanager
def reserved(as_json: bool) -> Iterator[None]:
    """Meanwhile `out` alone prints to standard output, and `sys.stdout` is standard error.

    Descriptor 1 is standard error from now on, also in child processes and at the end of this one. A caller in this process that
    has set another `sys.stdout` keeps it.
    """
    own = sys.__stdout__ is not None and sys.stdout is sys.__stdout__
    results = _taken() if own else sys.stdout
    out.file, out.quiet = results, as_json
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        out.file, out.quiet = None, False  # type: ignore[assignment]  # whatever sys.stdout is
        if own:
            with suppress(OSError):  # the line that could not be written has raised it
                results.close()


def _taken() -> TextIO:
    """Standard output in place of descriptor 1. A character that the encoding lacks is replaced."""
    if sys.stderr is None:  # closed, as by 2>&-
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    results = open(os.dup(1), "w", buffering=1, encoding=sys.stdout.encoding, errors="replace")  # noqa: SIM115 - the caller closes it
    os.dup2(2, 1)
    return results


def say(line: str) -> None:
    """Print a plain line on standard output, as it is, unless JSON is wanted."""
    out.print(line, soft_wrap=True, markup=False, highlight=False)


def note(line: str) -> None:
    """Print a plain line on standard error."""
    err.print(cell(line), soft_wrap=True, highlight=False)


def note_changed(folder: Path) -> None:
    """Say on standard error which agents of a store have changed since its games."""
    for spec in read_provenance(folder).changed():
        note(f"{spec} has changed since its games in {folder}")


def report_faults(faults: Sequence[LostGame]) -> None:
    """Print the first fault of each agent on standard error."""
    for name in dict.fromkeys(fault.name for fault in faults):
        own = [fault for fault in faults if fault.name == name]
        note(f"{name} lost {quantity(len(own), 'game')} by faults; the first: {own[0]}")


def quantity(count: int, noun: str) -> str:
    """`1 record`, `2,000 records`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def new_progress(*columns: progress.ProgressColumn, transient: bool = False) -> progress.Progress:
    """Bars with these columns on standard error, only in a terminal and not with JSON; `transient` ones vanish at the end."""
    return progress.Progress(*columns, console=err, transient=transient, disable=out.quiet or not err.is_terminal)


@contextmanager
def progress_bar(unit: str, total: int) -> Iterator[Callable[[float], None]]:
    """A bar, as `new_progress`, that vanishes at the end. Yields the function that advances it."""
    columns = (DESCRIPTION, progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
    with new_progress(*columns, transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Likewise a line with what is being done, where no bar can tell how much is left. Yields the function that changes it."""
    with new_progress(progress.SpinnerColumn(), DESCRIPTION, transient=True) as line:
        task = line.add_task(what)
        yield lambda text: line.update(task, description=text)
