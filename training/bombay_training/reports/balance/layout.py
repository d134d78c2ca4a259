"""The layout of a report: sections of words, bars, maps and tables, as Markdown and as one HTML page. It knows no result.

The page needs no network; every bar has its number. Needs Jinja2 (extra `analysis`).
"""

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import jinja2
from rich.table import Table as RichTable

from bombay_training import rich_tables
from bombay_training.rich_tables import cell, new_table

LABEL_WIDTH, PLOT_WIDTH, NUMBER_WIDTH, ROW_HEIGHT = 250, 400, 150, 22  # of a chart, in pixels
LETTER_WIDTH: Final = 7  # of a label, with a little to spare
TEMPLATE: Final = "page.html.j2"


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A table.

    Args:
        heading: what it shows, in words.
        columns: headings.
        rows: cells by column.
    """

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def rich(self) -> RichTable:
        """As a table of rich."""
        table = new_table(self.heading, list(self.columns))
        for row in self.rows:
            table.add_row(*map(cell, row))
        return table


@dataclasses.dataclass(frozen=True)
class Bar:
    """A number with its interval; `low` and `high` are None where there is none."""

    label: str
    value: float
    low: float | None
    high: float | None
    text: str


@dataclasses.dataclass(frozen=True)
class Chart:
    """Bars from a common zero.

    Args:
        heading: what it shows, in words.
        bars: from top to bottom.
        bands: half the widths of bands around zero, the widest first.
    """

    heading: str
    bars: tuple[Bar, ...]
    bands: tuple[float, ...] = ()

    @property
    def height(self) -> int:
        """In pixels."""
        return ROW_HEIGHT * len(self.bars) + 8

    @property
    def label_width(self) -> int:
        """In pixels; more than `LABEL_WIDTH` for long labels."""
        return max([LABEL_WIDTH, *(LETTER_WIDTH * len(bar.label) + 8 for bar in self.bars)])

    @property
    def width(self) -> int:
        """In pixels."""
        return self.label_width + PLOT_WIDTH + NUMBER_WIDTH

    def x(self, value: float) -> float:
        """Where a value lies, in pixels from the left."""
        ends = [end for bar in self.bars for end in (bar.value, bar.low, bar.high) if end is not None]
        low, high = min([0.0, *ends, *(-band for band in self.bands)]), max([0.0, *ends, *self.bands])
        return round(self.label_width + PLOT_WIDTH * (value - low) / ((high - low) or 1), 1)


@dataclasses.dataclass(frozen=True)
class Map:
    """A number for each site of a board.

    Args:
        heading: what they are, in words.
        sites: by name: x and y in the board's units, and the number.
        trails: names of the two sites that each joins.
    """

    heading: str
    sites: dict[str, tuple[float, float, float]]
    trails: tuple[tuple[str, str], ...]

    def radius(self, value: float) -> float:
        """Of the circle of a number, in the board's units."""
        largest = max(abs(number) for _, _, number in self.sites.values())
        return round(1 + 4 * math.sqrt(abs(value) / (largest or 1)), 2)


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of the report.

    Args:
        title: its heading.
        words: paragraphs.
        charts: bars, which only the HTML page shows.
        maps: likewise.
        sheets: tables.
        details: tables for those who want to know more; the page folds them away, and a terminal does not show them.
    """

    title: str
    words: tuple[str, ...]
    charts: tuple[Chart, ...] = ()
    maps: tuple[Map, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    details: tuple[Sheet, ...] = ()


def markdown(title: str, sections: Sequence[Section]) -> str:
    """The sections as Markdown, below a title."""
    page = [f"# {title}"]
    for section in sections:
        page += [f"## {section.title}", *section.words]
        for sheet in (*section.sheets, *section.details):
            page += [f"### {sheet.heading}", rich_tables.markdown(sheet.rich())]
    return "\n\n".join(page) + "\n"


def html(title: str, sections: Sequence[Section]) -> str:
    """The sections as a page of HTML that needs nothing else."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(TEMPLATE).render(title=title, sections=sections)
