"""Tables for a terminal: what the commands that print them share."""

import math
from typing import Any

from rich.table import Table
from rich.text import Text


def cell(value: Any) -> Text:
    """A value as plain text: names from files and arguments may look like rich's markup, or steer a terminal."""
    if value is None:
        return Text("–")
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return Text("".join(letter if letter.isprintable() else "?" for letter in words))


def interval(estimate: dict[str, float | None], form: str) -> str:
    """A mean and its bounds, as `Estimate.to_dict` gives them, each in this form; a dash for a bound there is not."""
    mean, *bounds = ("–" if value is None else form.format(value) for value in estimate.values())
    return f"{mean} [{', '.join(bounds)}]"


def new_table(title: str, columns: list[str]) -> Table:
    """A table without rows: agents and names to the left, figures to the right. What finds no room is folded, never cut."""
    made = Table(title=cell(title))
    for column in columns:
        made.add_column(
            column,
            justify="left" if column in ("agent", "agents", "what", "a decision includes") else "right",
            overflow="fold",
        )
    return made


def milliseconds(value: float | None) -> str:
    """A time in two digits, or in whole milliseconds; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"
