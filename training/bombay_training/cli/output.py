"""What commands print: results on standard output, as tables or as one JSON object; progress and faults on standard error.

Standard output belongs to the command: what agents, their native code and their child processes write there goes to standard
error.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, TextIO

from rich import progress
from rich.console import Console
from rich.table import Table

from bombay_training.matches.provenance import read_provenance
from bombay_training.matches.table import LostGame
from bombay_training.rich_tables import cell

PIPE_WIDTH: Final = 1000  # more than any table needs: in files and pipes no cell is folded

as_json: Final = ContextVar("as_json", default=False)  # whether results are JSON: then there is no progress

# Without emoji: the name of an agent such as mine:Leaves is no picture.
out = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, emoji=False)
err = Console(stderr=True, emoji=False)


@contextmanager
def reserved(json_wanted: bool) -> Iterator[None]:
    """Meanwhile `out` alone prints to standard output, and `sys.stdout` is standard error.

    Descriptor 1 is standard error from now on, also in child processes and at the end of this one. A caller in this process that
    has set another `sys.stdout` keeps it.
    """
    own = sys.__stdout__ is not None and sys.stdout is sys.__stdout__
    results, before = _taken() if own else sys.stdout, as_json.set(json_wanted)
    out.file = results
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        out.file = None  # type: ignore[assignment]  # whatever sys.stdout is
        as_json.reset(before)
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


def show(data: dict[str, Any], tables: Sequence[Table]) -> None:
    """Print the data if JSON is wanted, or else the tables."""
    if as_json.get():
        print(json.dumps(data), file=out.file)
        return
    for table in tables:
        out.print(table)


def say(*lines: str) -> None:
    """Print plain lines on standard output, as they are, unless JSON is wanted."""
    if lines and not as_json.get():
        out.print(*lines, sep="\n", soft_wrap=True, markup=False, highlight=False)


def note(line: str) -> None:
    """Print a plain line on standard error."""
    err.print(cell(line), soft_wrap=True, highlight=False)


def quantity(count: int, noun: str) -> str:
    """`1 record`, `2,000 records`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def description() -> progress.TextColumn:
    """The column of a bar that says what it is about, as plain text: specs of agents may look like rich's markup."""
    return progress.TextColumn("{task.description}", markup=False)


def new_progress(*columns: progress.ProgressColumn, transient: bool = False) -> progress.Progress:
    """Bars with these columns on standard error, only in a terminal and not with JSON; `transient` ones vanish at the end."""
    return progress.Progress(*columns, console=err, transient=transient, disable=as_json.get() or not err.is_terminal)


@contextmanager
def progress_bar(unit: str, total: int) -> Iterator[Callable[[float], None]]:
    """A bar, as `new_progress`, that vanishes at the end. Yields the function that advances it."""
    columns = (description(), progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeRemainingColumn())
    with new_progress(*columns, transient=True) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Likewise a line with what is being done, where no bar can tell how much is left. Yields the function that changes it."""
    with new_progress(progress.SpinnerColumn(), description(), transient=True) as line:
        task = line.add_task(what)
        yield lambda text: line.update(task, description=text)


def note_changed(folder: Path) -> None:
    """Say on standard error which agents of a store have changed since its games."""
    for spec in read_provenance(folder).changed():
        note(f"{spec} has changed since its games in {folder}")


def report_faults(faults: Sequence[LostGame]) -> None:
    """Print the first fault of each agent on standard error."""
    for name in dict.fromkeys(fault.name for fault in faults):
        own = [fault for fault in faults if fault.name == name]
        note(f"{name} lost {quantity(len(own), 'game')} by faults; the first: {own[0]}")
