"""The report of a study of balance in sections: for a terminal, as Markdown, and as one HTML page.

It reads the plain data of `study.py` or `report.py` and plays nothing. `layout.py` knows how sections look.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table as RichTable

from bombay_env.files import atomic
from bombay_training.matches.accounts import SOURCES, SPENDING, USES
from bombay_training.reports.balance import layout
from bombay_training.reports.balance.layout import Bar, Chart, Map, Section, Sheet
from bombay_training.reports.balance.verdicts import FAIR, NEARLY_FAIR
from bombay_training.rich_tables import interval

SUMS: Final = {"rupees": "final", "spent": "all actions"}  # names of the sums of a table's means
BANDS: Final = (NEARLY_FAIR, FAIR)  # drawn around par
MEANINGS: Final = {
    "all agents": "every agent's verdict includes this",
    "strong agents": "every strong agent's verdict includes this",
    "depends on the agent": "agents give different verdicts",
    "undecided": "there are too few games for a verdict that all agents, or all strong agents, share",
    "no agent": "no agent has a verdict, because of games lost by faults",
}

Data = dict[str, Any]


# --- files ---


def write_report(folder: Path, data: Data) -> None:
    """Write report.json, report.md and report.html into a folder, in place of older ones. Raises OSError."""
    atomic.write_bytes(folder / "report.json", (json.dumps(data, indent=1) + "\n").encode())
    atomic.write_bytes(folder / "report.md", markdown(data).encode())
    atomic.write_bytes(folder / "report.html", html(data).encode())


def tables(data: Data) -> list[RichTable]:
    """The main tables of a report, for a terminal."""
    return [sheet.rich() for section in sections(data) for sheet in section.sheets]


def markdown(data: Data) -> str:
    """The report as Markdown."""
    return layout.markdown(TITLE, sections(data))


def html(data: Data) -> str:
    """The report as a page of HTML that needs nothing else."""
    return layout.html(TITLE, sections(data))


TITLE: Final = "Is Bombay fair to every seat?"


# --- sections ---


def sections(data: Data) -> list[Section]:
    """All parts of a report that has been played."""
    keys = {key for key, value in data.items() if value}
    if any(line["change"] for line in data["headlines"]):
        keys.add("what_ifs")
    parts = [make(data) for key, make in PARTS if key in keys]
    return [_summary(data), _verdicts(data), *parts, _accounts(data), Section("Method", (data["method"],))]


def _rows(data: Data, changed: bool | None = None) -> list[Data]:
    """A row for each agent and game, those without a verdict last; only of unchanged or of changed games if asked for."""
    tables = [row for table in data["tables"] for row in (table, *table["what_ifs"])]
    return [row for row in (*tables, *data["excluded"]) if changed in (None, bool(row["change"]))]


def _rules(row: Data) -> str:
    return row["change"] or "unchanged"


def _of(row: Data) -> str:
    return f"{row['players']} players, {row['agent']}, {_rules(row)}"


def _summary(data: Data) -> Section:
    """The headlines, with the meaning of their labels, which names the agents that differ from the strong ones."""
    rows = []
    for line in data["headlines"]:
        mine = [row for row in _rows(data) if (row["players"], row["change"]) == (line["players"], line["change"])]
        words = {row["agent"]: row["verdict"]["word"] for row in mine}
        meaning = MEANINGS[line["label"]]
        others = [f"{agent} ({word})" for agent, word in words.items() if not line["headline"].startswith(word)]
        if line["label"] in ("all agents", "strong agents") and others:
            meaning = f"{meaning}; not shared by {', '.join(others)}"
        if len(mine) < sum(row["players"] == line["players"] for row in _rows(data, changed=False)):
            meaning = f"{meaning}; played by {', '.join(words)} only"
        rows.append((str(line["players"]), _rules(line), line["headline"], f"{line['label']}: {meaning}"))
    agents = ", ".join(dict.fromkeys(row["agent"] for row in _rows(data, changed=False)))
    introduction = (
        f"In each game one agent plays all seats. Agents: {agents}. {data['games']:,} games in total, seed {data['seed']}, "
        f"bombay_env {data['version']}. Seats are numbered from 0 in the order of play of the first set."
    )
    sheet = Sheet("Is the game fair?", ("players", "rules", "verdict", "who agrees"), tuple(rows))
    return Section("Summary", (introduction, *data["notes"]), sheets=(sheet,))


def _verdicts(data: Data) -> Section:
    words = (
        "A seat's deviation is how far its mean win share is above or below an equal share (par), in percent of par. Fair: every "
        f"seat surely deviates by less than {FAIR:.0%}. Nearly fair: by less than {NEARLY_FAIR:.0%}. Biased: some seat surely "
        f"deviates by more than {NEARLY_FAIR:.0%}. Undecided: none of these; the table says how many games would decide it. "
        "“p for fair”, in the table by seat, is of all seats together and belongs to the verdict “fair”, and so on: a small p "
        "is strong evidence for the verdict. For each verdict, the probability that it is wrong anywhere in the table is at "
        "most 5 %. Intervals are 95 % for all seats of an agent together. “Faults” are games that the agent lost by a fault. "
        "They are left out, and an agent "
        "that lost more than 1 % of its games by faults has no verdict.",
    )
    charts = [
        Chart(
            f"{players} players: deviation of each seat from par; the bands are {FAIR:.0%} and {NEARLY_FAIR:.0%}",
            tuple(
                _bar(f"{table['agent']}, seat {row['seat']}", row["win_share"], _relative(table["par"]), "{:+.1%}")
                for table in found
                for row in table["seats"]
            ),
            BANDS,
        )
        for players, found in _by_players(data["tables"])
    ]
    sheet = _verdict_sheet("Verdicts by agent", _rows(data, changed=False))
    return Section("Verdicts", words, tuple(charts), sheets=(sheet,), details=(_seat_sheet(data["tables"]),))


def _verdict_sheet(heading: str, found: Sequence[Data]) -> Sheet:
    rows = []
    for row in found:
        verdict, count = row["verdict"], f"{row['games']:,}"
        about = (str(row["players"]), _rules(row), row["agent"], count, f"{row['faults']:,}", verdict["reading"])
        if "tests" not in verdict:  # because of faults
            rows.append((*about, "–", "–"))
            continue
        needed = verdict["games_needed"]
        unknown = "more than 10,000,000" if verdict["word"] == "undecided" else ""
        deviation = interval(row["largest_deviation"], "{:.1%}")
        rows.append((*about, deviation, f"{needed:,}" if needed else unknown))
    columns = ("players", "rules", "agent", "games", "faults", "verdict", "largest deviation [95 %]", "games needed")
    return Sheet(heading, columns, tuple(rows))


def _seat_sheet(found: Sequence[Data]) -> Sheet:
    columns = (
        *("players", "rules", "agent", "seat", "win share [95 %]", "against par", "margin [95 %]", "final rupees"),
        *("p for unequal shares", "p for unequal margins", "p for fair", "p for nearly fair", "p for biased"),
    )
    rows = [
        (
            str(table["players"]),
            _rules(table),
            table["agent"],
            str(row["seat"]),
            interval(row["win_share"], "{:.3f}"),
            row["than_par"] or "–",
            interval(row["margin"], "{:+.2f}"),
            f"{row['final']['mean']:.2f}",
            *_p_values(table["all_seats_equal"], row["seat"]),
            *("" if row["seat"] else _one_sided(p) for p in table["verdict"]["tests"].values()),
        )
        for table in found
        for row in table["seats"]
    ]
    return Sheet("Win share and margin by seat", columns, tuple(rows))


def _boards(data: Data) -> Section:
    columns = (
        *("players", "agent", "seat", "mean of boards [95 %]", "standard deviation", "new board [90 %]"),
        *("this board", "percentile", "best on boards"),
    )
    rows, charts = [], []
    for part in data["boards"]:
        for row, best in zip(part["seats"], part["best_seat"], strict=True):
            rows.append(
                (
                    str(part["players"]),
                    part["agent"],
                    str(row["seat"]),
                    f"{row['mean']:.3f} [{row['mean_low']:.3f}, {row['mean_high']:.3f}]",
                    f"{row['sd']:.3f}",
                    f"[{row['new_low']:.3f}, {row['new_high']:.3f}]",
                    f"{row['packaged']:.3f}",
                    "–" if row["percentile"] is None else f"{row['percentile']:.0f}",
                    f"{best:g} of {part['boards']}",
                )
            )
    for players, found in _by_players(data["boards"]):
        bars = []
        for part in found:
            for row in part["seats"]:
                on_boards = {"mean": row["mean"], "low": row["new_low"], "high": row["new_high"]}
                relative = _relative(1 / players)
                bars.append(_bar(f"{part['agent']}, seat {row['seat']}, boards", on_boards, relative, "{:+.1%}"))
                here = {"mean": row["packaged"], "low": None, "high": None}
                bars.append(_bar(f"{part['agent']}, seat {row['seat']}, this board", here, relative, "{:+.1%}"))
        charts.append(
            Chart(
                f"{players} players: deviation from par over boards, with the 90 % interval for a new board",
                tuple(bars),
                BANDS,
            )
        )
    part = data["boards"][0]
    words = (
        f"{part['boards']} random boards with {part['games']:,} games each. The standard deviation is that of the true win "
        "shares between boards: the noise of the games is removed. The true share of a new board lies in the interval “new "
        "board” with a probability of 90 %. “This board” is the packaged board; the percentile is its place among random boards. "
        "“Best on boards” counts the boards on which the seat wins most.",
    )
    return Section(
        "Other boards", words, tuple(charts), sheets=(Sheet("Win share by seat over boards", columns, tuple(rows)),)
    )


def _repair(data: Data) -> Section:
    rows, lines, charts = [], [], []
    for part in data["repair"]:
        chosen = part["chosen"]
        rupees = ", ".join(map(str, chosen["starting_rupees"]))
        official = ", ".join(map(str, part["official"]))
        if not part["exists"]:
            lines.append(
                f"{part['players']} players: no starting rupees were found that are fair or nearly fair for all agents tested. "
                f"Of {len(part['vectors'])} combinations, {rupees} was chosen."
            )
        else:
            lines.append(f"{part['players']} players: start with **{rupees}** rupees instead of {official}.")
        before = next(one for one in part["vectors"] if one["starting_rupees"] == part["official"])
        for place, one in enumerate(part["confirmed"]):
            rows.append(
                (
                    str(part["players"]),
                    official,
                    rupees,
                    one["agent"],
                    *(
                        f"{max(abs(share * part['players'] - 1) for share in vector['win_shares'][place]):.1%}"
                        for vector in (before, chosen)
                    ),
                    f"{one['verdict']['deviation']:.1%}",
                    f"{one['games']:,}",
                    one["verdict"]["reading"],
                )
            )
        bars = [
            _bar(f"{one['agent']}, seat {seat}", share, _relative(1 / part["players"]), "{:+.1%}")
            for one in part["confirmed"]
            for seat, share in enumerate(one["seats"])
        ]
        charts.append(
            Chart(f"{part['players']} players: deviation from par when starting with {rupees}", tuple(bars), BANDS)
        )
    columns = (
        *("players", "official rupees", "chosen", "agent", "largest deviation in trial games, official"),
        *("in trial games, chosen", "in confirming games, chosen", "confirming games", "verdict"),
    )
    tried = tuple(_tried_sheet(part) for part in data["repair"])
    words = (
        *lines,
        "Rupees are listed from seat 0 on. The choice was made in trial games. For each combination of rupees, the figure to "
        "compare is its largest deviation, of any seat and agent tested. Among all combinations within a standard error of the "
        "smallest figure, the one that changes least is chosen. Other games then give the verdict on the choice.",
    )
    return Section(
        "Other starting rupees",
        words,
        tuple(charts),
        sheets=(Sheet("The choice", columns, tuple(rows)),),
        details=tried,
    )


def _tried_sheet(part: Data) -> Sheet:
    rows = tuple((", ".join(map(str, one["starting_rupees"])), f"{one['deviation']:.1%}") for one in part["vectors"])
    heading = f"{part['players']} players: the combinations that were tried, {part['games']:,} trial games each"
    return Sheet(heading, ("starting rupees", "largest deviation"), rows)


def _what_ifs(data: Data) -> Section:
    tried = [row for row in _rows(data, changed=True) if "seats" in row]
    tried.sort(key=lambda one: (one["q"], -abs(_most_changed(one)["win_share_change"]["mean"])))
    rows, bars = [], []
    for one in tried:
        seat = _most_changed(one)
        gain = one["pairing_gain"]
        rows.append(
            (
                str(one["players"]),
                one["agent"],
                one["change"],
                f"{one['deals_compared']:,}",
                str(seat["seat"]),
                interval(seat["win_share_change"], "{:+.3f}"),
                _small(one["nothing_changes"]["win_share"]["p"]),
                _small(one["q"]),
                f"{one['deviation_before']:.1%} → {one['deviation_after']:.1%}",
                "–" if gain is None else f"{gain:.1f}",
            )
        )
        if one["q"] < 0.05:
            label = f"{one['players']}p {one['agent']}: {one['change']}, seat {seat['seat']}"
            bars.append(_bar(label, seat["win_share_change"], _same, "{:+.3f}"))
    columns = (
        *("players", "agent", "change", "deals compared", "most changed seat", "its change of win share [95 %]", "p"),
        *("q", "largest deviation, unchanged → changed", "pairing gain"),
    )
    words = (
        "The same deals are played with changed rules. A change is written as an option of the command. `toll=2` sets a field "
        "of the rules. `starting_rupees.0=1` and `starting_rupees.last=3` set the entry of the first and of the last seat, and "
        "`starting_rupees.last+1` adds to it. `;` joins changes. `fame=[0]` removes the award for fame. Changes are ranked by q, "
        "which is p corrected for the number of changes: of all changes with a q of at most 5 %, on average at most 5 % have no "
        "effect (Benjamini–Hochberg). A pairing gain of 3 means: with separate deals for the two rules, the same precision would "
        "need three times as many games. The agents did not learn the changed rules.",
    )
    charts = (Chart("Changes of win share with q below 5 %, the seat that changes most", tuple(bars)),) if bars else ()
    sheets = (
        _verdict_sheet("Verdicts on the changed games", _rows(data, changed=True)),
        Sheet("What the changes do, on the same deals", columns, tuple(rows)),
    )
    details = [_seat_sheet(tried)]
    for one in tried:
        details += [_change_sheet(one), *_account_sheets(one)]
    return Section("What if a rule changes?", words, charts, sheets=sheets, details=tuple(details))


def _retrained(data: Data) -> Section:
    rows, bars = [], []
    for part in data["retrained"]:
        for row in part["seats"]:
            rows.append(
                (
                    str(part["players"]),
                    part["change"],
                    str(row["seat"]),
                    f"{row['given']:.3f}",
                    f"{row['changed']:.3f}",
                    interval(row["change"], "{:+.3f}"),
                    "" if row["seat"] else "–" if part["p"] is None else _small(part["p"]),
                )
            )
            label = f"{part['players']} players, {part['change']}, seat {row['seat']}"
            bars.append(_bar(label, row["change"], _same, "{:+.3f}"))
    columns = ("players", "change", "seat", "given rules", "changed rules", "change [95 %]", "p for any change")
    part = data["retrained"][0]
    words = (
        f"{part['nets']} nets learned the given rules, and {part['nets']} nets learned each changed rule, {part['minutes']:g} "
        f"minutes each. Every net plays {part['games']:,} deals by the rules that it learned. Nets that learned the same rules "
        "differ, too. So the intervals and p are over nets, not over games.",
    )
    charts = (Chart("Changes of win share among nets that learned the rules", tuple(bars)),)
    return Section(
        "What if players learn the changed rule?", words, charts, sheets=(Sheet("By seat", columns, tuple(rows)),)
    )


def _most_changed(what_if: Data) -> Data:
    found: Data = max(what_if["seats"], key=lambda row: abs(row["win_share_change"]["mean"]))
    return found


def _change_sheet(tried: Data) -> Sheet:
    columns = (
        *("seat", "win share", "its change [95 %]", "p for any change of shares"),
        *("margin", "its change [95 %] ", "p for any change of margins"),
    )
    rows = []
    for row in tried["seats"]:
        small_shares, small_margins = _p_values(tried["nothing_changes"], row["seat"])
        shares = f"{row['win_share']['mean']:.3f}", interval(row["win_share_change"], "{:+.3f}"), small_shares
        margins = f"{row['margin']['mean']:+.2f}", interval(row["margin_change"], "{:+.2f}"), small_margins
        rows.append((str(row["seat"]), *shares, *margins))
    return Sheet(f"{_of(tried)}: changes by seat", columns, tuple(rows))


def _accounts(data: Data) -> Section:
    words = (
        "Every rupee and every action of the games for the verdicts and the changed rules was recorded. The sources add up to "
        "each seat's final rupees. Those of changed games stand beside their verdicts.",
    )
    return Section("Accounts", words, details=tuple(sheet for row in data["tables"] for sheet in _account_sheets(row)))


def _account_sheets(row: Data) -> list[Sheet]:
    return [
        _mean_sheet(row, what, names, heading)
        for what, names, heading in (
            ("rupees", SOURCES, "rupees by source, mean per game"),
            ("uses", USES, "actions by kind, mean number per game"),
            ("spent", SPENDING, "what actions are spent on, mean number per game"),
        )
    ]


def _mean_sheet(table: Data, what: str, names: Sequence[str], heading: str) -> Sheet:
    columns = ("what", *(f"seat {row['seat']}" for row in table["seats"]))
    lines = [[row[what][name] for row in table["seats"]] for name in names]
    rows = [
        (name.replace("_", " "), *(f"{value:.2f}" for value in line)) for name, line in zip(names, lines, strict=True)
    ]
    if what in SUMS:
        rows.append((SUMS[what], *(f"{sum(column):.2f}" for column in zip(*lines, strict=True))))
    return Sheet(f"{_of(table)}: {heading}", columns, tuple(rows))


def _why(data: Data) -> Section:
    charts, maps, details = [], [], []
    trails = tuple((one, other) for one, other in data["map"]["trails"])
    places = {site["name"]: (site["x"], site["y"]) for site in data["map"]["sites"]}
    for row in data["stories"]:
        found = row["why"]
        of = f"{row['players']} players, {row['agent']}, seat {found['seat']}"
        for what, heading in (("sources", "rupees by source"), ("sales", "rupees from sales by colour and place")):
            bars = [_bar(name.replace("_", " "), one, _same, "{:+.2f}") for name, one in found[what].items()]
            charts.append(Chart(f"{of}: {heading}", tuple(bars)))
            details.append(_difference_sheet(f"{of}: {heading}", found[what]))
        for what, heading in (("palaces", "palaces at the end"), ("visits", "moves to the site")):
            sites = {name: (*places[name], one["mean"]) for name, one in found[what].items()}
            maps.append(Map(f"{of}: {heading}", sites, trails))
            details.append(_difference_sheet(f"{of}: {heading}", found[what]))
    words = (
        "The tables show how the seat that wins most differs from the mean of all seats, per game, in recorded games. Intervals "
        "are 95 % for each number by itself.",
    )
    return Section("Why: what the favoured seat does more", words, tuple(charts), tuple(maps), details=tuple(details))


def _difference_sheet(heading: str, found: Data) -> Sheet:
    rows = tuple((name, interval(one, "{:+.3f}")) for name, one in found.items())
    return Sheet(heading, ("what", "difference [95 %]"), rows)


def _luck(data: Data) -> Section:
    rows = []
    for row in data["luck"]:
        for part, shares in row["win_share"].items():
            margin = row["margin"][part]
            rows.append(
                (
                    str(row["players"]),
                    row["agent"],
                    part,
                    *(
                        interval(one, "{:.2f}")
                        for one in (shares["first"], shares["total"], margin["first"], margin["total"])
                    ),
                )
            )
    columns = (
        "players",
        "agent",
        "what",
        "win share, by itself [95 %]",
        "with interactions",
        "margin, by itself [95 %]",
        "with interactions ",
    )
    words = (
        "What decides who wins? A game has three random parts: the set-up, the restocks and the agents' own random choices. "
        "Games are replayed with one or more of these parts drawn again. “By itself” is the share of the variance that a part "
        "explains alone. “With interactions” adds what it explains together with the other parts. Each row has "
        f"{data['luck'][0]['games']:,} deals. If the true share is 0, its estimate can be a little below 0. If “by itself” is "
        "near 0 and “with interactions” is near 1, no part decides alone: a change of any part leads to another game.",
    )
    return Section("Luck", words, sheets=(Sheet("Shares of the variance", columns, tuple(rows)),))


def _tension(data: Data) -> Section:
    rows, bars = [], []
    for row in data["stories"]:
        found = row["tension"]
        figures = ("–", "–", "–")
        if found["decided"]:
            winner = [one["mean"] for one in found["winner"]]
            middle = winner[len(winner) // 2]
            figures = (interval(found["lead_changes"], "{:.2f}"), interval(found["decided"], "{:.0%}"), f"{middle:.2f}")
            bars.append(_bar(f"{row['players']} players, {row['agent']}", found["decided"], _same, "{:.0%}"))
        rows.append(
            (str(row["players"]), row["agent"], f"{found['games']:,}", f"{found['calibration_error']:.3f}", *figures)
        )
    columns = (
        *("players", "agent", "games", "calibration error", "lead changes [95 %]", "decided after this part [95 %]"),
        "win share expected for the winner at half-time",
    )
    words = (
        "At every turn the net of `zero` estimates the probability that each seat wins. These probabilities are calibrated on "
        "other games. If the calibration error is more than .02 on average, no figure is given. The leader is the seat with the "
        "highest probability; the lead changes if another seat led in the round before. A game is decided when the probability "
        "of the winner stays above one half from then on. The table shows the part of the game that was over by then.",
    )
    charts = (Chart("The part of the game after which it is decided", tuple(bars)),) if bars else ()
    return Section("Tension", words, charts, sheets=(Sheet("Lead changes and decisions", columns, tuple(rows)),))


def _kingmaking(data: Data) -> Section:
    rows, bars = [], []
    for row in data["stories"]:
        found = row["kingmaking"]
        if not found or not found["games"]:
            continue
        positions = sum(place["positions"] for place in found["places"])
        settled, kingmakers = (sum(place[name] for place in found["places"]) for name in ("settled", "kingmakers"))
        rows.append(
            (
                str(row["players"]),
                row["agent"],
                f"{found['games']:,}",
                f"{found['unsolved']:,}",
                f"{settled / positions:.1%}",
                f"{kingmakers / positions:.1%}",
                interval(found["could_choose"], "{:.3f}"),
                *(f"{found['winners_differ'][name] / found['games']:.1%}" for name in ("plain_help", "plain_hurt")),
            )
        )
        bars.append(_bar(f"{row['players']} players, {row['agent']}", found["could_choose"], _same, "{:.1%}"))
    columns = (
        *("players", "agent", "games", "left out", "own result fixed", "kingmakers"),
        *("games with a choice of winner [95 %]", "winner changes by helping the leader", "by hurting the leader"),
    )
    words = (
        "The last round has no chance and is solved exactly. A player is a kingmaker if no choice changes its own share of the "
        "win, but its choice changes who wins. The columns “own result fixed” and “kingmakers” are shares of the positions at "
        "the start of a turn of the last round. Players for whom choices are equally good may help the leader or hurt it. "
        "“Games with a choice of winner” are those in which the winner differs between two cases: all these players help, or all "
        "of them hurt. The last two columns compare each case with a third one, in which these players choose the largest margin "
        "for themselves. Games whose last round is too large to solve are left out.",
    )
    charts = (Chart("Games in which players whose own result is fixed choose the winner", tuple(bars)),) if bars else ()
    return Section("Kingmaking", words, charts, sheets=(Sheet("The last round, solved", columns, tuple(rows)),))


def _same(value: float) -> float:
    return value


PARTS: Final[tuple[tuple[str, Callable[[Data], Section]], ...]] = (
    ("boards", _boards),
    ("repair", _repair),
    ("what_ifs", _what_ifs),
    ("retrained", _retrained),
    ("stories", _why),
    ("luck", _luck),
    ("stories", _tension),
    ("stories", _kingmaking),
)


# --- formats ---


def _by_players(rows: Sequence[Data]) -> Iterator[tuple[int, list[Data]]]:
    for players in sorted({row["players"] for row in rows}):
        yield players, [row for row in rows if row["players"] == players]


def _relative(par: float) -> Callable[[float], float]:
    return lambda share: share / par - 1


def _bar(label: str, estimate: dict[str, float | None], scale: Callable[[float], float], form: str) -> Bar:
    """A bar of an estimate, as `Estimate.to_dict` gives it, on another scale."""
    mean, low, high = (
        None if estimate[name] is None else scale(estimate[name])  # type: ignore[arg-type] # not None
        for name in ("mean", "low", "high")
    )
    value = math.nan if mean is None else mean
    return Bar(label, value, low, high, "–" if mean is None else form.format(value))


def _p_values(tests: Data, seat: int) -> list[str]:
    """The p values of tests of all seats together, which stand in the row of seat 0."""
    return ["" if seat else "–" if test is None else _small(test["p"]) for test in tests.values()]


def _small(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _one_sided(p: float) -> str:
    """The p value of a test with one side, which is not computed beyond ½: then the estimate contradicts the claim."""
    return "≥ 0.5" if p >= 0.5 else _small(p)
