"""Pages of reports: a Jinja2 template and plain data make Markdown. A table takes rows, headings and the formats of its cells."""

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from bombay_training.rich_tables import format_ms, interval, markdown_table

LEFT: Final = {
    *("agent", "best agent", "second", "others", "scripted knowledge", "track", "learner", "learns by"),
    *("change", "rules", "starting rupees", "verdict", "what", "who agrees"),
}  # columns of words

Row = dict[str, Any]


class Cells(string.Formatter):
    """Formats of fields as in `str.format`; an estimate has its interval, and a dash stands for what is missing."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Any) -> Any:
        """The field, or None if it is missing."""
        try:
            return super().get_field(field_name, args, kwargs)
        except (KeyError, IndexError, TypeError):
            return None, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """The value in this format; besides Python's there are those of `NAMED`."""
        if value is None:
            return "–"
        if format_spec in NAMED:
            return str(NAMED[format_spec](value))
        if isinstance(value, dict):
            return interval(value, f"{{:{format_spec}}}")
        if isinstance(value, list):
            return ", ".join(map(str, value))
        return format(value, format_spec)

    def rows(self, rows: Iterable[Row], forms: str) -> list[list[str]]:
        """The cells of each row; bars separate their formats."""
        return [[self.vformat(form, (), row) for form in forms.split(" | ")] for row in rows]


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


NAMED: Final[Mapping[str, Any]] = {
    "code": lambda value: ", ".join(f"`{name}`" for name in ([value] if isinstance(value, str) else value)),
    "count": len,
    "ms": format_ms,
    "probability": lambda value: "> 0.99" if value > 0.99 else "< 0.01" if value < 0.01 else f"{value:.2f}",
    "p": _p,
    "one-sided": lambda value: "≥ 0.5" if value >= 0.5 else _p(value),  # not computed further: the estimate contradicts
    "rules": lambda change: change or "unchanged",
}
CELLS: Final = Cells()


def table(rows: Iterable[Row], columns: str, forms: str) -> Markup:
    """A Markdown table with these headings, which bars separate, and a final empty line; `forms` as for `Cells.rows`."""
    return Markup(markdown_table(columns.split(" | "), CELLS.rows(rows, forms), LEFT) + "\n\n")


def nested(rows: Iterable[Row], field: str) -> list[Row]:
    """A row for each of the rows in a field, with the fields of both; `of` is the outer row."""
    return [{**row, **inner, "of": row} for row in rows for inner in CELLS.get_field(field, (), row)[0]]


def render(template: Path, data: Mapping[str, Any], **names: Any) -> str:
    """The page of a template as Markdown, with `data` and further names for it. Values are escaped, unless they are Markup."""
    loader = jinja2.FileSystemLoader(template.parent)
    made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    text = made.get_template(template.name, globals={"table": table, "nested": nested, **names}).render(data)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
