"""Tables for a terminal: formatting that the commands share. It knows no command and no result."""

import io
import math
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

MARKDOWN_WIDTH: Final = 1000  # characters, so that no cell is folded


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


def new_table(title: str, columns: list[str]) -> Table:
    """A table without rows. Names are aligned left and numbers right; long cells are folded, never cut."""
    made = Table(title=cell(title))
    for column in columns:
        made.add_column(
            column,
            justify="left" if column in ("agent", "agents", "what", "a decision includes") else "right",
            overflow="fold",
        )
    return made


def format_ms(value: float | None) -> str:
    """A time in milliseconds with two significant digits, or whole from 100; a dash for None and NaN."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def markdown(table: Table) -> str:
    """A table as a Markdown table without its title."""
    table.title, table.box = None, box.MARKDOWN
    page = io.StringIO()
    Console(file=page, width=MARKDOWN_WIDTH, color_system=None).print(table)
    return "\n".join(line.strip() for line in page.getvalue().splitlines() if line.strip())
