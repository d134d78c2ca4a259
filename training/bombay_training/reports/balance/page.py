"""The report of a study of balance: as tables for a terminal, as Markdown, and as one page of HTML with charts.

`report.md.j2` says what stands in it. It calls `table` and `chart` with rows of the plain data of `study.py`. The page of HTML
is the same Markdown with charts, and needs nothing else.
"""

import base64
import functools
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup
from rich.table import Table

from bombay_env.files import atomic
from bombay_training.reports import charts, pages
from bombay_training.reports.balance.report import FAIR, NEARLY_FAIR
from bombay_training.reports.pages import CELLS, Row
from bombay_training.rich_tables import markdown_table, new_table

MARKDOWN, HTML = (Path(__file__).with_name(name) for name in ("report.md.j2", "page.html.j2"))
PICTURE: Final = Markup(
    '<figure><figcaption>{0}</figcaption><img alt="{0}" src="data:image/svg+xml;base64,{1}"></figure>\n\n'
)


def write_report(folder: Path, data: Row) -> None:
    """Write report.json, report.md and report.html into a folder, in place of older ones. Raises OSError."""
    texts = {"json": json.dumps(data, indent=1) + "\n", "md": markdown(data), "html": html(data)}
    for kind, text in texts.items():
        atomic.write_bytes(folder / f"report.{kind}", text.encode())


def tables(data: Row) -> list[Table]:
    """The tables that are not folded away, for a terminal."""
    found = list[Table]()
    markdown(data, found=found)
    return found


def markdown(data: Row, pictures: bool = False, found: list[Table] | None = None) -> str:
    """The report as Markdown; with pictures, it also has the tests and accounts of changed rules.

    `found` is given the tables that are not folded away.
    """
    names = {function.__name__: function for function in (escape, most_changed, by_entry, by_part)}
    table = functools.partial(_table, [] if found is None else found)
    chart = functools.partial(_chart, pictures)
    return pages.render(MARKDOWN, data, pictures=pictures, table=table, chart=chart, **names)


def html(data: Row) -> str:
    """The report as HTML."""
    reader, titles = MarkdownIt("commonmark", {"html": True}).enable("table"), list[str]()
    tokens = reader.parse(markdown(data, pictures=True))
    for token, inside in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            titles.append(inside.content)
            token.attrSet("id", f"part-{len(titles)}")
    body = Markup(reader.renderer.render(tokens, reader.options, {}))
    return pages.render(HTML, {"titles": titles, "body": body})


def escape(text: str) -> Markup:
    """Words as Markdown: names from elsewhere make no markup."""
    words = "".join(letter if letter.isprintable() else "?" for letter in text)
    return Markup(re.sub(r"([\\*`]|<(?! )|\](?=\())", r"\\\1", words))


def _table(
    found: list[Table], title: str, rows: Sequence[Row], columns: str, forms: str, folded: bool = False
) -> Markup:
    """A table as `pages.table`, with a title."""
    headings, cells = columns.split(" | "), CELLS.rows(rows, forms)
    if not folded:
        found.append(new_table(title, headings, cells))
    escaped = [[escape(text) for text in line] for line in cells]
    return Markup(f"### {title}\n\n{markdown_table(headings, escaped, pages.LEFT)}\n\n")


def _chart(pictures: bool, title: str, rows: Sequence[Row], label: str, value: str, form: str = "") -> Markup:
    """A picture for each number of players: a bar for each row, with its label and its estimate, if there is one.

    An estimate is a field, or three of them: mean, low and high. Without a `form` of its own it is of a win share, and the
    bar is its deviation from par.
    """
    bars: dict[int, dict[str, Row]] = {}
    for row in rows if pictures else ():
        players, (one, *bounds) = row["players"], (CELLS.get_field(name, (), row)[0] for name in value.split())
        estimate = dict(zip(("mean", "low", "high"), (one, *bounds), strict=True)) if bounds else one
        if estimate and not form:
            estimate = {name: None if one is None else one * players - 1 for name, one in estimate.items()}
        if estimate:
            bars.setdefault(players, {})[CELLS.vformat(label, (), row)] = estimate
    found, bands = Markup(), () if form else (NEARLY_FAIR, FAIR)
    for players in sorted(bars):
        image = charts.bars(bars[players], form or "{:+.1%}", bands)
        found += PICTURE.format(f"{players} players: {title}", base64.b64encode(image).decode())
    return found


# --- rows of tables and charts ---


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
