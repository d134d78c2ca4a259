"""The report of a balance study: estimates by seat with simultaneous intervals, and tests, as JSON, tables and Markdown.

A family of intervals is all seats of one setting for one quantity. Its intervals hold simultaneously with 95 %, by Bonferroni's
inequality. Games are independent, because each has its own deal, so intervals are over games. The effect of a changed rule is
estimated by the differences within deals. Sentences about seats are tested over the whole study, because one of many tables
shows a difference by chance. Needs SciPy (extra `analysis`), so only the command that uses it imports this module.
`plan.py` says what is played, and `plots.py` draws.
"""

import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.table import Table as RichTable
from scipy import stats

from bombay_env import Rules, __version__
from bombay_env.files import atomic
from bombay_training import rich_tables
from bombay_training.matches.accounts import SOURCES, SPENDING, USES
from bombay_training.matches.intervals import (
    CONFIDENCE,
    Bounds,
    Estimate,
    Moments,
    change_bounds,
    estimates,
    holm,
    mean_bounds,
    mean_change_bounds,
    p_value,
    share_bounds,
)
from bombay_training.matches.results import Match
from bombay_training.reports.balance.plan import Setting
from bombay_training.rich_tables import cell, interval, new_table

FORMAT: Final = "bombay-balance/2"
P_COLUMNS: Final = ("p, shares", "p, margins")  # p values of the tests that all seats are equal
CHANGE_P_COLUMNS: Final = ("p, share changes", "p, margin changes")  # and that a changed rule has no effect
SUMS: Final = {"rupees": "final", "spent": "all actions"}  # names of the sums of a table's means
METHOD: Final = (
    "One agent plays all seats, one game per deal, with the same deals for every agent and every variant of the rules. Intervals "
    "are over deals and simultaneous: 95 % holds for all seats of a table together, for one quantity (Bonferroni; Wilson's "
    "interval at the effective sample size for win shares and their changes, Student's t for rupees). Hotelling's T² tests "
    "whether all seats are equal (p, for shares and for margins). The effect of a changed rule is the mean difference within "
    "deals; its p is the smallest error rate at which the interval of some seat excludes zero. Sentences that a seat wins more "
    "or less than par are tested over all seats and tables of the study (Holm): where every seat is fair, the probability of any "
    "such sentence is at most 5 %, so a seat whose interval excludes par may be missing. The accounts of every game were "
    "checked: the sources add up to each seat's final rupees, and the actions spent to the actions of its turns."
)


# --- estimates ---


def comparisons(num_seats: int) -> int:
    """The number of independent intervals of a family: one for two seats, whose shares and margins mirror each other."""
    return 1 if num_seats == 2 else num_seats


def share_intervals(shares: np.ndarray, confidence: float = CONFIDENCE) -> list[Estimate]:
    """Mean win shares by seat of `shares` (G, n), with simultaneous intervals."""
    moments = Moments.of(shares)
    return estimates(moments, share_bounds(moments, _each(confidence, comparisons(shares.shape[1]))))


def mean_intervals(values: np.ndarray, family: int, confidence: float = CONFIDENCE) -> list[Estimate]:
    """Means by seat of `values` (G, n), with Student's intervals that are simultaneous for a family of this size."""
    moments = Moments.of(values)
    return estimates(moments, mean_bounds(moments, _each(confidence, family)))


def share_changes(
    before: np.ndarray, after: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[list[Estimate], float]:
    """Mean changes of win shares by seat on the same deals, with simultaneous intervals.

    Args:
        before, after: (G, n) win shares.
        confidence: of the intervals.

    Returns:
        The estimates, and the p value of the test that no seat's share changes.
    """
    moments, family = Moments.of(after - before), comparisons(before.shape[1])
    return _changes(moments, lambda level: change_bounds(moments, _each(level, family)), confidence)


def mean_changes(
    before: np.ndarray, after: np.ndarray, family: int, confidence: float = CONFIDENCE
) -> tuple[list[Estimate], float]:
    """Mean changes of rupees by seat, for a family of this size; otherwise as `share_changes`."""
    moments = Moments.of(after - before)
    unrelated = Moments.of(before).variance + Moments.of(after).variance
    return _changes(moments, lambda level: mean_change_bounds(moments, unrelated, _each(level, family)), confidence)


def _changes(moments: Moments, bounds: Callable[[float], Bounds], confidence: float) -> tuple[list[Estimate], float]:
    def excludes_zero(level: float) -> bool:
        low, high = bounds(level)
        return bool(((low > 0) | (high < 0)).any())

    return estimates(moments, bounds(confidence)), p_value(excludes_zero)


def _each(confidence: float, family: int) -> float:
    """The confidence of each interval of a family, by Bonferroni's inequality."""
    return 1 - (1 - confidence) / family


def par_tests(shares: np.ndarray) -> list[float]:
    """The p values by seat of the tests that the mean of `shares` (G, n) is par; one for two seats, which mirror each other."""
    moments, seats = Moments.of(shares), shares.shape[1]

    def excludes_par(seat: int, confidence: float) -> bool:
        low, high = share_bounds(moments, confidence)
        return not low[seat] <= 1 / seats <= high[seat]

    return [p_value(functools.partial(excludes_par, seat)) for seat in range(comparisons(seats))]


def equality_test(values: np.ndarray) -> dict[str, Any] | None:
    """Hotelling's T² test that all means by seat of `values` (G, n) are zero, where each game's values sum to zero.

    The last seat is left out, because it follows from the others; which one is left out changes nothing. None if there are
    too few games or their covariance is singular.

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


# --- the report as plain JSON types ---


def make_report(
    settings: Sequence[Setting],
    matches: Sequence[Match],
    seed: int,
    notes: Sequence[str],
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """The results of a study as plain JSON types.

    Args:
        settings: from `plan`, in its order.
        matches: of each setting, with accounts.
        seed: the study's seed.
        notes: lines to print below the tables.
        confidence: of the intervals.
    """
    found: list[dict[str, Any]] = []
    tests: list[list[float]] = []
    for setting, played in zip(settings, matches, strict=True):
        if not setting.change:
            base = played
            found.append(_summary(setting, played, confidence) | {"what_ifs": []})
            tests.append(par_tests(played.win_share))
        else:
            found[-1]["what_ifs"].append(_what_if(setting, base, played, confidence))
    _compare_with_par(found, tests, 1 - confidence)
    return {
        "command": "balance",
        "format": FORMAT,
        "version": __version__,
        "seed": seed,
        "confidence": confidence,
        "method": METHOD,
        "games": sum(played.num_games for played in matches),
        "notes": list(notes),
        "tables": found,
    }


def _compare_with_par(found: list[dict[str, Any]], tests: Sequence[Sequence[float]], error: float) -> None:
    """Enter for each seat of each table whether it wins `more` or `less` than par, or None, and the p value of its test.

    Over all seats and tables, any is told from par wrongly with a probability of at most `error`.
    """
    told = iter(holm(list(itertools.chain.from_iterable(tests)), error))
    for table, p_values in zip(found, tests, strict=True):
        answers = [next(told) for _ in p_values]
        for row in table["seats"]:
            place = min(row["seat"], len(answers) - 1)  # of two seats, which mirror each other, one is tested
            way = "more" if row["win_share"]["mean"] > table["par"] else "less"
            row["par_p"], row["than_par"] = p_values[place], way if answers[place] else None


def _summary(setting: Setting, match: Match, confidence: float) -> dict[str, Any]:
    players = setting.game.num_players
    return {
        "players": players,
        "agent": setting.tier.spec,
        "games": match.num_games,
        "board": setting.game.board.name,
        "rules": setting.game.rules.to_dict(),
        "par": 1 / players,
        "intervals_in_a_family": comparisons(players),
        "all_seats_equal": {
            "win_share": equality_test(match.win_share - 1 / players),
            "margin": equality_test(match.margin),
        },
        "seats": _seats(_estimates(match, confidence), match),
    }


def _what_if(setting: Setting, base: Match, match: Match, confidence: float) -> dict[str, Any]:
    """The effect of a changed rule: its games' results and their differences from `base`, the same deals by the given rules."""
    seats = setting.game.num_players
    shares, no_shares = share_changes(base.win_share, match.win_share, confidence)
    margins, no_margins = mean_changes(base.margin, match.margin, comparisons(seats), confidence)
    finals, _ = mean_changes(base.final, match.final, seats, confidence)
    changes = {"win_share_change": shares, "margin_change": margins, "final_change": finals}
    return {
        "change": setting.change,
        "games": match.num_games,
        "all_seats_equal": {
            "win_share": equality_test(match.win_share - 1 / seats),
            "margin": equality_test(match.margin),
        },
        "nothing_changes": {"win_share": {"p": no_shares}, "margin": {"p": no_margins}},
        "seats": _seats(_estimates(match, confidence) | changes, match),
    }


def _estimates(match: Match, confidence: float) -> dict[str, list[Estimate]]:
    seats = match.final.shape[1]
    return {
        "win_share": share_intervals(match.win_share, confidence),
        "margin": mean_intervals(match.margin, comparisons(seats), confidence),
        "final": mean_intervals(match.final, seats, confidence),
    }


def _seats(estimates: dict[str, list[Estimate]], match: Match) -> list[dict[str, Any]]:
    accounts = (("rupees", SOURCES), ("uses", USES), ("spent", SPENDING))
    rows = []
    for seat in range(match.final.shape[1]):
        row: dict[str, Any] = {"seat": seat}
        row |= {name: found[seat].to_dict() for name, found in estimates.items()}
        for account, names in accounts:
            assert match.accounts is not None
            row[account] = dict(zip(names, match.accounts[account][:, seat].mean(axis=0).tolist(), strict=True))
        rows.append(row)
    return rows


# --- tables ---


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A table of the report.

    Args:
        what: the kind of table, which is also the key of its plot.
        heading: what it shows, in words.
        players: number of players.
        subject: the agent and the change it is about; empty if it is about all agents.
        columns: headings.
        rows: cells by column.
    """

    what: str
    heading: str
    players: int
    subject: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def rich(self) -> RichTable:
        """As a table of rich."""
        title = ", ".join([f"{self.players} players", *self.subject, self.heading])
        table = new_table(title, list(self.columns))
        for row in self.rows:
            table.add_row(*map(cell, row))
        return table


def tables(data: dict[str, Any]) -> list[RichTable]:
    """The tables of a report, as `make_report` gives it."""
    return [sheet.rich() for players in _player_counts(data) for sheet in _sheets(data, players)]


def _player_counts(data: dict[str, Any]) -> list[int]:
    return sorted({table["players"] for table in data["tables"]})


def _sheets(data: dict[str, Any], players: int) -> Iterator[Sheet]:
    """The sheets for one number of players."""
    found = [table for table in data["tables"] if table["players"] == players]
    yield _seat_sheet(found)
    for table in found:
        for tried in table["what_ifs"]:
            yield _change_sheet(table, tried)
    for what, names, heading in (
        ("rupees", SOURCES, "rupees by source, mean per game"),
        ("uses", USES, "actions by kind, mean number per game"),
        ("spent", SPENDING, "what actions are spent on, mean number per game"),
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
    p_shares, p_margins = CHANGE_P_COLUMNS
    columns = ("seat", "win share", "change [95 %]", p_shares, "margin", "change [95 %]", p_margins)
    rows = []
    for row in tried["seats"]:
        small_shares, small_margins = _p_values(tried["nothing_changes"], row["seat"])
        shares = f"{row['win_share']['mean']:.3f}", interval(row["win_share_change"], "{:+.3f}"), small_shares
        margins = f"{row['margin']['mean']:+.2f}", interval(row["margin_change"], "{:+.2f}"), small_margins
        rows.append((str(row["seat"]), *shares, *margins))
    subject = (table["agent"], tried["change"])
    return Sheet(
        "what_ifs", "effect of a changed rule on the same deals", table["players"], subject, columns, tuple(rows)
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
    """The p values of tests of all seats together, which stand in the row of seat 0."""
    return ["" if seat else "–" if test is None else _small(test["p"]) for test in tests.values()]


def _small(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


# --- files ---


def write_report(folder: Path, data: dict[str, Any]) -> None:
    """Write report.json, report.md and the plots into a folder, in place of older ones. Raises OSError."""
    from bombay_training.reports.balance import (
        plots,
    )  # Matplotlib takes a second to import; only this function needs it

    files = plots.draw_all(folder, data)
    atomic.write_bytes(folder / "report.json", (json.dumps(data, indent=1) + "\n").encode())
    atomic.write_bytes(folder / "report.md", markdown(data, files).encode())


def markdown(data: dict[str, Any], plots: dict[int, dict[str, str]]) -> str:
    """The report as Markdown; `plots` are the names of the plots' files by number of players and kind of table."""
    agents = list(dict.fromkeys(f"`{table['agent']}`" for table in data["tables"]))
    blocks = [
        "# Is the game fair to every seat?",
        f"{', '.join(agents)}; {data['games']:,} games in all, seed {data['seed']}, bombay_env {data['version']}. "
        "Seats are numbered from 0 in the order of play of the first set.",
        data["method"],
    ]
    for table in data["tables"]:
        official = Rules.official(table["players"]).to_dict()
        changed = {name: value for name, value in table["rules"].items() if value != official[name]}
        if changed:
            line = f"Rules with {table['players']} players that differ from the official ones: `{json.dumps(changed)}`."
            blocks += [line] if line not in blocks else []
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
            blocks.append(rich_tables.markdown(sheet.rich()))
    return "\n\n".join(blocks) + "\n"


def _verdict(table: dict[str, Any]) -> str:
    """A sentence that names the seats found to differ from par."""
    off = [f"seat {row['seat']} wins {row['than_par']}" for row in table["seats"] if row["than_par"]]
    verdict = f"{', '.join(off)} than par" if off else "no seat is distinguishable from par"
    return f"`{table['agent']}`, {table['games']:,} games, par {table['par']:.3f}: {verdict}."
