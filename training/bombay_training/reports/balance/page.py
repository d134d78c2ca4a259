"""The report of a study of balance: as tables for a terminal, as Markdown, and as one page of HTML with charts.

`report.md.j2` says what stands in it. It calls `table` and `chart` with rows of the plain data of `study.py`. The page of HTML
is the same Markdown with charts, and needs nothing else.
"""

import base64
import io
import itertools
import json
import re
import string
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import jinja2
import matplotlib as mpl
from markdown_it import MarkdownIt
from markupsafe import Markup
from matplotlib.figure import Figure
from rich.table import Table

from bombay_env.files import atomic
from bombay_training import figures
from bombay_training.reports.balance.verdicts import FAIR, NEARLY_FAIR
from bombay_training.rich_tables import cell, interval, markdown_table, new_table

LEFT: Final = ("agent", "change", "rules", "starting rupees", "verdict", "what", "who agrees")  # columns of words
SVG: Final[Any] = {"svg.fonttype": "none", "svg.hashsalt": "bombay"}  # the same picture each time
ABOVE, BELOW = "#2f6f9f", "#b5562b"  # colours of bars
PICTURE: Final = Markup(
    '<figure><figcaption>{0}</figcaption><img alt="{0}" src="data:image/svg+xml;base64,{1}"></figure>\n\n'
)
Row = dict[str, Any]


def write_report(folder: Path, data: Row) -> None:
    """Write report.json, report.md and report.html into a folder, in place of older ones. Raises OSError."""
    atomic.write_bytes(folder / "report.json", (json.dumps(data, indent=1) + "\n").encode())
    atomic.write_bytes(folder / "report.md", Report(data).markdown().encode())
    atomic.write_bytes(folder / "report.html", Report(data, pictures=True).page().encode())


def tables(data: Row) -> list[Table]:
    """The main tables, for a terminal."""
    report = Report(data)
    report.markdown()
    return report.tables


class Report:
    """A report with or without pictures.

    Attributes:
        tables: those that are not folded away, once the report is written.
    """

    def __init__(self, data: Row, pictures: bool = False) -> None:
        self.data, self.pictures, self.tables = data, pictures, list[Table]()
        self.templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )

    def markdown(self) -> str:
        """The report as Markdown."""
        names = {function.__name__: function for function in (self.table, self.chart, *FUNCTIONS)}
        text = self.templates.get_template("report.md.j2", globals=names).render(self.data)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def page(self) -> str:
        """The report as HTML."""
        reader, titles = MarkdownIt("commonmark", {"html": True}).enable("table"), list[str]()
        tokens = reader.parse(self.markdown())
        for token, inside in itertools.pairwise(tokens):
            if token.type == "heading_open" and token.tag == "h2":
                titles.append(inside.content)
                token.attrSet("id", f"part-{len(titles)}")
        body = Markup(reader.renderer.render(tokens, reader.options, {}))
        return self.templates.get_template("page.html.j2").render(titles=titles, body=body)

    def table(self, title: str, rows: Sequence[Row], columns: str, cells: str, folded: bool = False) -> Markup:
        """A table with these headings and cells, which bars separate. A cell is a format of the fields of a row."""
        headings, forms = columns.split(" | "), cells.split(" | ")
        lines = [[CELLS.vformat(form, (), row) for form in forms] for row in rows]
        if not folded:
            self.tables.append(new_table(title, headings))
            for line in lines:
                self.tables[-1].add_row(*map(cell, line))
        escaped = [[escape(text) for text in line] for line in lines]
        return Markup(f"### {title}\n\n{markdown_table(headings, escaped, LEFT)}\n\n")

    def chart(self, title: str, rows: Sequence[Row], label: str, value: str, form: str = "") -> Markup:
        """A picture for each number of players: a bar for each row, with its label and its estimate, if there is one.

        An estimate is a field, or three of them: mean, low and high. Without a `form` of its own it is of a win share, and the
        bar is its deviation from par.
        """
        found = Markup()
        for players in sorted({row["players"] for row in rows}) if self.pictures else []:
            bars = {}
            for row in rows:
                one, *bounds = (CELLS.get_field(name, (), row)[0] for name in value.split())
                estimate = dict(zip(("mean", "low", "high"), (one, *bounds), strict=True)) if bounds else one
                if row["players"] == players and estimate:
                    bars[CELLS.vformat(label, (), row)] = estimate if form else _deviation(estimate, players)
            if bars:
                image = draw(bars, form or "{:+.1%}", () if form else (NEARLY_FAIR, FAIR))
                found += PICTURE.format(f"{players} players: {title}", base64.b64encode(image).decode())
        return found


class Cells(string.Formatter):
    """Formats of fields as in `str.format`; an estimate has its interval, and a dash stands for what is missing."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Any) -> Any:
        """The field, or None if it is missing."""
        try:
            return super().get_field(field_name, args, kwargs)
        except (KeyError, IndexError, TypeError):
            return None, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        """The value; p values have the format `p` or `one-sided`, and an empty text stands for the unchanged rules."""
        if value is None or value == "":
            return "–" if value is None else "unchanged"
        if isinstance(value, dict):
            return interval(value, f"{{:{format_spec}}}")
        if isinstance(value, list):
            return ", ".join(map(str, value))
        if format_spec == "one-sided" and value >= 0.5:  # not computed further: the estimate contradicts the claim
            return "≥ 0.5"
        if format_spec in ("p", "one-sided"):
            return "< 0.0001" if value < 0.0001 else f"{value:.4f}"
        return format(value, format_spec)


CELLS: Final = Cells()


def escape(text: str) -> Markup:
    """Words as Markdown: names from elsewhere make no markup."""
    words = "".join(letter if letter.isprintable() else "?" for letter in text)
    return Markup(re.sub(r"([\\*`]|<(?! )|\](?=\())", r"\\\1", words))


def draw(bars: dict[str, Row], form: str, bands: Sequence[float] = ()) -> bytes:
    """Bars from top to bottom as SVG, each with its label, interval and number; and bands of these half widths around zero."""
    figure = Figure(figsize=(9, 0.5 + 0.23 * len(bars)), layout="constrained")
    axes = figure.subplots()
    for band in bands:
        axes.axvspan(-band, band, color=ABOVE, alpha=0.12, linewidth=0)
    for place, estimate in enumerate(bars.values()):
        mean, low, high = (estimate[name] for name in ("mean", "low", "high"))
        axes.barh(place, mean, 0.65, color=ABOVE if mean >= 0 else BELOW)
        if low is not None and high is not None:
            axes.hlines(place, low, high, color="black", linewidth=1.2)
        axes.text(1.01, place, form.format(mean), transform=axes.get_yaxis_transform(), va="center")
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(bars)), map(figures.plain, bars))
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.xaxis.set_major_formatter(form.replace(":", "x:"))
    axes.spines[["top", "right", "left"]].set_visible(False)
    image = io.BytesIO()
    with mpl.rc_context(SVG):
        figure.savefig(image, format="svg", metadata={"Date": None})
    return image.getvalue()


def _deviation(share: Row, players: int) -> Row:
    return {name: None if value is None else value * players - 1 for name, value in share.items()}


# --- rows of tables and charts ---


def nested(rows: Sequence[Row], name: str) -> list[Row]:
    """A row for each of the rows in a field, with the fields of both; `of` is the outer row."""
    return [{**row, **inner, "of": row} for row in rows for inner in row[name]]


def most_changed(rows: Sequence[Row]) -> list[Row]:
    """The changed games, the smallest q first, each with the fields of the seat whose win share changes most."""
    found = [row | max(row["seats"], key=lambda seat: abs(seat["win_share_change"]["mean"])) for row in rows]
    return sorted(found, key=lambda row: (row["q"], -abs(row["win_share_change"]["mean"])))


def by_entry(rows: Sequence[Row], account: str) -> Iterator[Row]:
    """A row for each entry of an account and each game, with its means by seat, and one for their sum."""
    for row in rows:
        entries = {what: [seat[account][what] for seat in row["seats"]] for what in row["seats"][0][account]}
        entries["sum"] = [sum(column) for column in zip(*entries.values(), strict=True)]
        yield from (row | {"what": what.replace("_", " "), "means": means} for what, means in entries.items())


def by_part(rows: Sequence[Row]) -> list[Row]:
    """A row for each random part of games, with its shares of the variance."""
    return [
        row | {"what": part, "share": row["win_share"][part], "margin": row["margin"][part]}
        for row in rows
        for part in row["margin"]
    ]


FUNCTIONS: Final = (escape, nested, most_changed, by_entry, by_part)
