"""The report of `python -m benchmarks`: as plain data, as tables, and compared with an older report."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from benchmarks import learning
from benchmarks.cases import Row, facts, machine, measure_all, measure_peers
from bombay_env import Game, Rules, checks
from bombay_env.files.reading import read_json
from bombay_training.rich_tables import cell, new_table

FORMAT: Final = "bombay-bench/1"
COLUMNS: Final = (
    "what",
    "a decision includes",
    "games",
    "threads",
    "decisions/s",
    "range",
    "bytes",
    "limit/s",
    "of limit",
)


def report(
    num_players: int,
    threads: Sequence[int],
    repeats: int,
    seconds: float,
    with_learners: bool,
    with_peers: bool,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """Measure everything. Returns the report as plain JSON types."""
    game = Game(Rules.official(num_players))
    progress("start-up")
    start = facts(game)
    rows = measure_all(game, threads, repeats, seconds, progress)
    learners = learning.measure_all(game, threads, repeats, seconds, progress) if with_learners else []
    others, absent = measure_peers(repeats, seconds, progress) if with_peers else ([], [])
    return {
        "format": FORMAT,
        "players": num_players,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "repeats": repeats,
        "seconds": seconds,
        "facts": start,
        "rows": [row_to_dict(row) for row in rows],
        "learning": [{**dataclasses.asdict(row), "ratio": None} for row in learners],
        "peers": [row_to_dict(row) for row in others],
        "absent": absent,
    }


def row_to_dict(row: Row) -> dict[str, Any]:
    """A row of the report as plain JSON types."""
    return {**dataclasses.asdict(row), "ratio": row.ratio}


def read_report(path: Path) -> dict[str, Any]:
    """Read what `report` returned from a file.

    Raises:
        ValueError: the file cannot be read or is no such report. The message is one line.
    """
    where = checks.shown_path(path)
    try:
        data: dict[str, Any] = read_json(path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"{where}: its format is not {FORMAT!r}")
    except ValueError as error:
        raise ValueError(f"not a report of python -m benchmarks --json: {error}") from None
    return data


def _rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that reports are compared by; older reports have none of learning."""
    return data["rows"] + data.get("learning", [])


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    """For each row that both reports have: the rates, their quotient, and the quotient of the ratios to the limit.

    The latter depends less on other work on the machine.
    """
    before = {(row["name"], row["threads"]): row for row in _rows(old)}
    lines = []
    for row in _rows(new):
        was = before.get((row["name"], row["threads"]))
        if was is None:
            continue
        lines.append(
            {
                "name": row["name"],
                "threads": row["threads"],
                "old": was["rate"]["median"],
                "new": row["rate"]["median"],
                "change": row["rate"]["median"] / was["rate"]["median"],
                "change_of_ratio": row["ratio"] / was["ratio"] if row["ratio"] and was["ratio"] else None,
            }
        )
    return lines


def tables(data: dict[str, Any]) -> list[Table]:
    """The tables of a report."""
    known = new_table("sizes and start", ["what", "figure"])
    for what, figure in data["facts"].items():
        known.add_row(cell(what.replace("_", " ")), f"{figure:.2f}" if isinstance(figure, float) else f"{figure:,}")
    rates = new_table(f"{data['players']} players, {data['repeats']} runs of {data['seconds']:g} s", list(COLUMNS))
    for row in data["rows"] + data["peers"]:
        rates.add_row(*map(cell, cells(row)))
    shown = [known, rates]
    if data.get("learning"):
        shown.append(_learning_table(data["learning"]))
    if "comparison" in data:
        comparison = new_table(
            "compared with the older report", ["what", "threads", "old", "new", "new / old", "new / old of limit"]
        )
        for line in data["comparison"]:
            comparison.add_row(
                cell(line["name"]),
                str(line["threads"]),
                f"{line['old']:,.0f}",
                f"{line['new']:,.0f}",
                f"{line['change']:.2f}",
                "–" if line["change_of_ratio"] is None else f"{line['change_of_ratio']:.2f}",
            )
        shown.append(comparison)
    return shown


def cells(row: dict[str, Any]) -> list[str]:
    """A row of the report as text, by `COLUMNS`."""
    rate, limit = row["rate"], row["limit"]
    return [
        row["name"],
        row["includes"],
        "–" if row["games"] is None else str(row["games"]),
        f"{row['cores']:.1f} used" if row["threads"] is None else str(row["threads"]),
        f"{rate['median']:,.0f}",
        f"{rate['low']:,.0f}–{rate['high']:,.0f}",
        "–" if row["written"] is None else str(row["written"]),
        "–" if limit is None else f"{limit['median']:,.0f}",
        "–" if row["ratio"] is None else f"{row['ratio']:.3g}",
    ]


def learning_cells(rows: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The columns of the learners' table, and the cells of each row. A column that no row fills is left out."""
    units = list(dict.fromkeys(unit for row in rows for unit in row["rates"]))
    gain = ["× one thread"] if any(row["gain"] for row in rows) else []
    fixed = ["what", "threads", "per second", "range", "collected/s", "learned/s"]
    columns = [*fixed, *(f"{unit}/s" for unit in units), *gain, *rows[0]["shares"]]
    lines = []
    for row in rows:
        rate = row["rate"]
        line = [
            f"{row['name']}, {row['unit']}",
            str(row["threads"]),
            _number(rate),
            f"{rate['low']:,.0f}–{rate['high']:,.0f}",
            _number(row["collected"]),
            _number(row["learned"]),
            *(_number(row["rates"].get(unit)) for unit in units),
        ]
        if gain:
            line.append(f"{row['gain']:.2f}" if row["gain"] else "–")
        lines.append([*line, *(f"{share:.2f}" for share in row["shares"].values())])
    return columns, lines


def learning_notes(rows: list[dict[str, Any]]) -> list[str]:
    """What each part of a learner's time includes."""
    return list(dict.fromkeys(f"{row['name']}: {row['includes']}" for row in rows))


def _number(rate: dict[str, float] | None) -> str:
    """A median rate, a small one with three digits."""
    if rate is None:
        return "–"
    return f"{rate['median']:,.0f}" if rate["median"] >= 100 else f"{rate['median']:.3g}"


def _learning_table(rows: list[dict[str, Any]]) -> Table:
    columns, lines = learning_cells(rows)
    table = new_table("learning from a new net; parts of the time", columns)
    table.caption = Text("\n").join(map(cell, learning_notes(rows)))
    for line in lines:
        table.add_row(*map(cell, line))
    return table
