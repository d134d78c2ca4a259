"""Tables for a terminal: formatting that the commands share. It knows no command and no result."""

import math
from collections.abc import Container, Iterable, Sequence
from typing import Any, Final

from rich.table import Table
from rich.text import Text

NAME_WIDTH: Final = 10  # smallest width of a column of names; longer names are folded where there is no room


def cell(value: Any) -> Text:
    """A value as plain text, because names from files and arguments may contain rich's markup or control characters."""
    if value is None:
        return Text("–")
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return Text("".join(letter if letter.isprintable() else "?" for letter in words))


def interval(estimate: dict[str, float | None], form: str) -> str:
    """A mean and its bounds, as `Estimate.to_dict` gives them, each in this format; a dash for None."""
    mean, *bounds = ("–" if value is None else form.format(value) for value in estimate.values())
    return f"{mean} [{', '.join(bounds)}]"


def new_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]] = ()) -> Table:
    """A table. Names are aligned left and numbers right; long cells are folded, never cut. More rows may be added."""
    made = Table(title=cell(title))
    for column in columns:
        made.add_column(
            column,
            justify="left" if column in ("agent", "agents", "what", "a decision includes") else "right",
            overflow="fold",
        )
    for row in rows:
        made.add_row(*map(cell, row))
    return made


def fitting_table(
    title: str | None,
    columns: dict[str, list[str]],
    names: Sequence[str],
    optional: Sequence[str],
    width: int | None,
    notes: Iterable[str] = (),
) -> Table:
    """A table that fits a terminal: names are folded, never cut, and columns are left out, which the caption says.

    Args:
        title: its title.
        columns: the cells of each column by heading.
        names: the columns that hold names, aligned left.
        optional: the columns that may be left out, the first one first.
        width: the terminal's width; None for all columns.
        notes: more lines of the caption; empty ones are left out.
    """
    kept, left_out = dict(columns), list[str]()
    for heading in optional:
        if width is None or _least_width(kept, names) <= width:
            break
        if kept.pop(heading, None) is not None:
            left_out.append(heading)
    notes = [f"no room for: {', '.join(left_out)}" if left_out else "", *notes]
    table = Table(title=None if title is None else cell(title), caption=cell("; ".join(filter(None, notes))))
    for heading in kept:
        if heading in names:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in zip(*kept.values(), strict=True):
        table.add_row(*map(cell, row))
    return table


def _least_width(columns: dict[str, list[str]], names: Sequence[str]) -> int:
    """The smallest width of a table; borders take three characters for each column, and one more."""
    widths = {heading: max(map(len, (heading, *column))) for heading, column in columns.items()}
    return 1 + sum(3 + (min(width, NAME_WIDTH) if heading in names else width) for heading, width in widths.items())


def format_ms(value: float | None) -> str:
    """A time in milliseconds with two significant digits, or whole from 100; a dash for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[object]], left: Container[str] = ()) -> str:
    """A Markdown table without a final line break; the columns named in `left` are aligned left, all others right."""
    marks = [":--" if column in left else "--:" for column in columns]
    lines = [columns, marks, *([str(value).replace("|", "\\|") for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
