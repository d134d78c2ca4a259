"""What the games of `balance.py` say: estimates by seat with simultaneous intervals, tests, and reports as JSON and Markdown.

A family of intervals is the seats of one table (one number of players, one agent) for one quantity: all of them hold together
with 95 %, by Bonferroni's inequality. Games are independent, each being a deal of its own, so intervals are over games; what a
changed rule does is judged by the differences within deals. Needs SciPy (extra `analysis`), so it is imported only by the
command that uses it; `balance/plots.py` draws.
"""

import dataclasses
import io
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from scipy import stats

from bombay_env import __version__
from bombay_training.balance.study import SOURCES, SPENDING, USES, Books, Table
from bombay_training.matches.statistics import CONFIDENCE, Estimate, wilson
from bombay_training.rich_tables import cell, interval, new_table

FORMAT: Final = "bombay-balance/1"
P_COLUMNS: Final = ("p, shares", "p, margins")  # of the tests that all seats are equal
SUMS: Final = {"rupees": "final", "spent": "given"}  # what a table's means add up to
METHOD: Final = (
    "Every seat of a table is played by the same agent, one game a deal, the same deals for every agent and every variant. "
    "Intervals are simultaneous: the 95 % hold for all seats of one table together, for one quantity (Bonferroni; win shares by "
    "Wilson's interval at the effective sample size, rupees and differences by Student's t), over deals. Whether all seats are "
    "equal is tested by Hotelling's T² (p, for shares and for margins). What a changed rule does is the mean difference within "
    "deals. The books of every game were checked: the sources add up to the final rupees of each seat, and the actions spent to "
    "those that its turns gave."
)


# --- Judging ---


def comparisons(num_seats: int) -> int:
    """How many intervals a family has. Of two seats one's share and margin are the other's mirror image: that is one."""
    return 1 if num_seats == 2 else num_seats


def share_intervals(shares: np.ndarray, confidence: float = CONFIDENCE) -> list[Estimate]:
    """Mean win shares by seat, (G, n), with simultaneous intervals.

    Wilson's interval at the effective sample size p(1−p)/SE², as the arena's: shared wins make it larger than the number of
    games. Where all games agree it is that number.
    """
    games, seats = shares.shape
    means, variances = shares.mean(axis=0).tolist(), _variances(shares)
    each = 1 - (1 - confidence) / comparisons(seats)
    return [wilson(mean, math.sqrt(v / games), games, each) for mean, v in zip(means, variances, strict=True)]


def mean_intervals(values: np.ndarray, family: int, confidence: float = CONFIDENCE) -> list[Estimate]:
    """Means by seat of `values` (G, n), with Student's intervals that hold together for a family of so many."""
    games = len(values)
    means = values.mean(axis=0).tolist()
    if games == 1:  # one game does not tell
        return [Estimate(mean, -math.inf, math.inf) for mean in means]
    quantile = float(stats.t.isf((1 - confidence) / 2 / family, games - 1))
    halves = [quantile * math.sqrt(variance / games) for variance in _variances(values)]
    return [Estimate(mean, mean - half, mean + half) for mean, half in zip(means, halves, strict=True)]


def equality_test(values: np.ndarray) -> dict[str, Any] | None:
    """Hotelling's T² of whether all means by seat of `values` (G, n) are zero, where the seats of a game sum to zero.

    One seat is left out, since it follows from the others; which one changes nothing. None where so few games, or games so much
    alike, do not tell.

    Source: H. Hotelling, "The generalization of Student's ratio", Annals of Mathematical Statistics 2 (1931).
    """
    games, free = len(values), values.shape[1] - 1
    if games <= free:
        return None
    means, spread = values[:, :-1].mean(axis=0), np.atleast_2d(np.cov(values[:, :-1], rowvar=False))
    if np.linalg.matrix_rank(spread, hermitian=True) < free:
        return None
    statistic = float(games * means @ np.linalg.solve(spread, means)) * (games - free) / (free * (games - 1))
    return {"f": statistic, "degrees": [free, games - free], "p": float(stats.f.sf(statistic, free, games - free))}


def _variances(values: np.ndarray) -> list[float]:
    return values.var(axis=0, ddof=1).tolist() if len(values) > 1 else [math.inf] * values.shape[1]


# --- The report as plain JSON types ---


def report(
    tables: Sequence[Table], books: Sequence[Books], seed: int, notes: Sequence[str], confidence: float = CONFIDENCE
) -> dict[str, Any]:
    """All that is found, as plain JSON types; tables and books as `plan` ordered and `run` filled them."""
    found: list[dict[str, Any]] = []
    for table, played in zip(tables, books, strict=True):
        if not table.change:
            base = played
            found.append(_summary(table, played, confidence) | {"what_ifs": []})
        else:
            found[-1]["what_ifs"].append(_what_if(table, base, played, confidence))
    return {
        "command": "balance",
        "format": FORMAT,
        "version": __version__,
        "seed": seed,
        "confidence": confidence,
        "method": METHOD,
        "games": sum(played.num_games for played in books),
        "notes": list(notes),
        "tables": found,
    }


def _summary(table: Table, books: Books, confidence: float) -> dict[str, Any]:
    players = table.game.num_players
    return {
        "players": players,
        "agent": table.tier.spec,
        "games": books.num_games,
        "board": table.game.board.name,
        "rules": table.game.rules.to_dict(),
        "par": 1 / players,
        "intervals_in_a_family": comparisons(players),
        "all_seats_equal": {
            "win_share": equality_test(books.win_share - 1 / players),
            "margin": equality_test(books.margin),
        },
        "seats": _seats(_estimates(books, confidence), books),
    }


def _what_if(table: Table, base: Books, books: Books, confidence: float) -> dict[str, Any]:
    """What a changed rule does: how its games end, and how they differ from those of the same deals under the usual rules."""
    players = table.game.num_players
    pairs = {
        "win_share": books.win_share - base.win_share,
        "margin": books.margin - base.margin,
        "final": books.final - base.final,
    }
    family = {"win_share": comparisons(players), "margin": comparisons(players), "final": players}
    changes = {f"{name}_change": mean_intervals(values, family[name], confidence) for name, values in pairs.items()}
    return {
        "change": table.change,
        "games": books.num_games,
        "all_seats_equal": {
            "win_share": equality_test(books.win_share - 1 / players),
            "margin": equality_test(books.margin),
        },
        "nothing_changes": {name: equality_test(pairs[name]) for name in ("win_share", "margin")},
        "seats": _seats(_estimates(books, confidence) | changes, books),
    }


def _estimates(books: Books, confidence: float) -> dict[str, list[Estimate]]:
    seats = books.final.shape[1]
    return {
        "win_share": share_intervals(books.win_share, confidence),
        "margin": mean_intervals(books.margin, comparisons(seats), confidence),
        "final": mean_intervals(books.final, seats, confidence),
    }


def _seats(estimates: dict[str, list[Estimate]], books: Books) -> list[dict[str, Any]]:
    kinds = (("rupees", SOURCES, books.rupees), ("uses", USES, books.uses), ("spent", SPENDING, books.spent))
    rows = []
    for seat in range(books.final.shape[1]):
        row: dict[str, Any] = {"seat": seat}
        row |= {name: found[seat].to_dict() for name, found in estimates.items()}
        for kind, names, pages in kinds:
            row[kind] = dict(zip(names, pages[:, seat].mean(axis=0).tolist(), strict=True))
        rows.append(row)
    return rows


# --- Tables ---


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A table of the report: what it shows, under which heading, for how many players, and for which agent and change alone."""

    what: str
    heading: str
    players: int
    subject: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def rich(self, **form: Any) -> RichTable:
        """As rich draws it."""
        title = ", ".join([f"{self.players} players", *self.subject, self.heading])
        made = new_table(title, list(self.columns))
        for row in self.rows:
            made.add_row(*map(cell, row))
        for name, value in form.items():
            setattr(made, name, value)
        return made


def tables(data: dict[str, Any]) -> list[RichTable]:
    """A report for people."""
    return [sheet.rich() for players in _player_counts(data) for sheet in _sheets(data, players)]


def _player_counts(data: dict[str, Any]) -> list[int]:
    return sorted({table["players"] for table in data["tables"]})


def _sheets(data: dict[str, Any], players: int) -> Iterator[Sheet]:
    """The tables for one number of players."""
    found = [table for table in data["tables"] if table["players"] == players]
    yield _seat_sheet(found)
    for table in found:
        for tried in table["what_ifs"]:
            yield _change_sheet(table, tried)
    for what, names, heading in (
        ("rupees", SOURCES, "rupees by source, mean of a game"),
        ("uses", USES, "how often each action is taken in a game"),
        ("spent", SPENDING, "what actions are spent on in a game"),
    ):
        for table in found:
            yield _mean_sheet(table, what, names, heading)


def _seat_sheet(found: list[dict[str, Any]]) -> Sheet:
    columns = ("agent", "games", "seat", "win share [95 %]", "margin [95 %]", "final", *P_COLUMNS)
    rows = [
        (
            table["agent"],
            f"{table['games']:,}",
            str(row["seat"]),
            interval(row["win_share"], "{:.3f}"),
            interval(row["margin"], "{:+.2f}"),
            f"{row['final']['mean']:.2f}",
            *_p_values(table["all_seats_equal"], row["seat"]),
        )
        for table in found
        for row in table["seats"]
    ]
    heading = f"win share and margin by seat, par {found[0]['par']:.3f}"
    return Sheet("seats", heading, found[0]["players"], (), columns, tuple(rows))


def _change_sheet(table: dict[str, Any], tried: dict[str, Any]) -> Sheet:
    columns = ("seat", "win share", "its change [95 %]", "margin", "its change [95 %]", *P_COLUMNS)
    rows = [
        (
            str(row["seat"]),
            f"{row['win_share']['mean']:.3f}",
            interval(row["win_share_change"], "{:+.3f}"),
            f"{row['margin']['mean']:+.2f}",
            interval(row["margin_change"], "{:+.2f}"),
            *_p_values(tried["all_seats_equal"], row["seat"]),
        )
        for row in tried["seats"]
    ]
    subject = (table["agent"], tried["change"])
    return Sheet(
        "what_ifs", "what a changed rule does on the same deals", table["players"], subject, columns, tuple(rows)
    )


def _mean_sheet(table: dict[str, Any], what: str, names: Sequence[str], heading: str) -> Sheet:
    columns = ("what", *(f"seat {row['seat']}" for row in table["seats"]))
    lines = [[row[what][name] for row in table["seats"]] for name in names]
    rows = [
        (name.replace("_", " "), *(f"{value:.2f}" for value in line)) for name, line in zip(names, lines, strict=True)
    ]
    if what in SUMS:
        rows.append((SUMS[what], *(f"{sum(column):.2f}" for column in zip(*lines, strict=True))))
    return Sheet(what, heading, table["players"], (table["agent"],), columns, tuple(rows))


def _p_values(tests: dict[str, Any], seat: int) -> list[str]:
    """p of the tests that all seats are equal, in the table's row of seat 0."""
    return ["" if seat else "–" if test is None else _small(test["p"]) for test in tests.values()]


def _small(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


# --- Files ---


def write_report(folder: Path, data: dict[str, Any]) -> None:
    """Write report.json, report.md and the plots into a folder, which is made where there is none."""
    from bombay_training.balance import plots  # Matplotlib takes a second to import, and only files need it

    folder.mkdir(parents=True, exist_ok=True)
    files = plots.draw_all(folder, data)
    (folder / "report.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (folder / "report.md").write_text(markdown(data, files), encoding="utf-8")


def markdown(data: dict[str, Any], plots: dict[int, dict[str, str]]) -> str:
    """The report as Markdown; `plots` are the files' names by number of players and by what they show."""
    agents = list(dict.fromkeys(f"`{table['agent']}`" for table in data["tables"]))
    blocks = [
        "# Is the game fair to every seat?",
        f"{', '.join(agents)}; {data['games']:,} games in all, seed {data['seed']}, bombay_env {data['version']}. "
        "Seats count from 0, in the order of play of the first set.",
        data["method"],
    ]
    if data["notes"]:
        blocks.append("\n".join(f"- {note}" for note in data["notes"]))
    for players in _player_counts(data):
        blocks.append(f"## {players} players")
        blocks += [_verdict(table) for table in data["tables"] if table["players"] == players]
        shown = ""
        for sheet in _sheets(data, players):
            if sheet.what != shown:
                shown = sheet.what
                blocks.append(f"### {sheet.heading[0].upper()}{sheet.heading[1:]}")
                if shown in plots.get(players, {}):
                    blocks.append(f"![{sheet.heading}, {players} players]({plots[players][shown]})")
            if sheet.subject:
                blocks.append(", ".join(f"`{part}`" for part in sheet.subject) + ":")
            blocks.append(_markdown_table(sheet))
    return "\n\n".join(blocks) + "\n"


def _verdict(table: dict[str, Any]) -> str:
    """Which seats' intervals leave par out, in a sentence."""
    off = [
        f"seat {row['seat']} wins {'more' if row['win_share']['low'] > table['par'] else 'less'}"
        for row in table["seats"]
        if not row["win_share"]["low"] <= table["par"] <= row["win_share"]["high"]
    ]
    told = f"{', '.join(off)} than par" if off else "no seat's interval leaves out par"
    return f"`{table['agent']}`, {table['games']:,} games, par {table['par']:.3f}: {told}."


def _markdown_table(sheet: Sheet) -> str:
    """A table as Markdown; rich has a box of that form."""
    page = io.StringIO()
    Console(file=page, width=1000, color_system=None).print(sheet.rich(title=None, box=box.MARKDOWN))
    return "\n".join(line.strip() for line in page.getvalue().splitlines() if line.strip())
