"""Tables for a terminal: what the commands that print them share."""

from typing import Any

from rich.table import Table
from rich.text import Text


def cell(value: Any) -> Text:
    """A value as plain text: names from files and arguments may look like rich's markup, or steer a terminal."""
    if value is None:
        return Text("–")
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return Text("".join(letter if letter.isprintable() else "?" for letter in words))


def new_table(title: str, columns: list[str]) -> Table:
    """A table without rows: agents and names to the left, figures to the right."""
    made = Table(title=cell(title))
    for column in columns:
        made.add_column(
            column, justify="left" if column in ("agent", "agents", "what", "a decision includes") else "right"
        )
    return made
