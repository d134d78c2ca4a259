"""The tables of docs/fairness.md, from the report of the project's study of balance."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bombay_training.rich_tables import markdown_table

Data = dict[str, Any]


def report(folder: Path) -> Data:
    """The report in a folder. Raises OSError or ValueError if it is not there."""
    data: Data = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return data


def verdicts(folder: Path) -> str:
    """A row for each number of players: the headline, and each agent's verdict with its largest deviation."""
    data = report(folder)
    agents = list(dict.fromkeys(table["agent"] for table in data["tables"]))
    rows = []
    for line in data["headlines"]:
        if line.get("change"):
            continue
        found = {table["agent"]: table["verdict"] for table in data["tables"] if table["players"] == line["players"]}
        cells = [f"{found[agent]['reading']} ({found[agent]['deviation']:.0%})" for agent in agents]
        rows.append([line["players"], f"**{line['headline']}**", line["label"], *cells])
    columns = ["players", "verdict", "who agrees", *(f"`{agent}`" for agent in agents)]
    return markdown_table(columns, rows, left=columns[1:])


def seats(folder: Path) -> str:
    """The win share of every seat."""
    data = report(folder)
    most = max(len(table["seats"]) for table in data["tables"])
    rows = [
        [
            table["players"],
            f"`{table['agent']}`",
            f"{table['games']:,}",
            *_padded([_interval(row["win_share"], "{:.3f}") for row in table["seats"]], most),
        ]
        for table in data["tables"]
    ]
    columns = ["players", "every seat played by", "games", *(f"seat {seat}" for seat in range(most))]
    return markdown_table(columns, rows, left=columns[1:2])


def boards(folder: Path) -> str:
    """The first seat on random boards and on the packaged one."""
    rows = []
    for part in report(folder)["boards"]:
        row, par = part["seats"][0], 1 / part["players"]
        rows.append(
            [
                part["players"],
                f"`{part['agent']}`",
                f"{row['mean'] / par - 1:+.1%}",
                f"{row['sd'] / par:.1%}",
                f"{row['new_low'] / par - 1:+.1%} to {row['new_high'] / par - 1:+.1%}",
                f"{row['packaged'] / par - 1:+.1%}",
                f"{part['best_seat'][0]:g} of {part['boards']}",
            ]
        )
    columns = ["players", "agent", "seat 0, mean of boards", "standard deviation", "a new board, 90 %"]
    return markdown_table([*columns, "this board", "boards on which seat 0 is best"], rows, left=("agent",))


def repair(folder: Path) -> str:
    """The starting rupees that were chosen, and what report deals say of them."""
    rows = []
    for part in report(folder)["repair"]:
        for one in part["confirmed"]:
            rows.append(
                [
                    part["players"],
                    ", ".join(map(str, part["official"])),
                    ", ".join(map(str, part["chosen"]["starting_rupees"])),
                    f"`{one['agent']}`",
                    f"{_official(folder, part['players'], one['agent']):.1%}",
                    f"{one['verdict']['deviation']:.1%}",
                    one["verdict"]["reading"],
                ]
            )
    columns = [
        "players",
        "official rupees",
        "chosen",
        "agent",
        "largest deviation, official",
        "largest deviation, chosen",
        "verdict",
    ]
    return markdown_table(columns, rows, left=("agent", "verdict"))


def what_ifs(folder: Path) -> str:
    """The changes after which the largest deviation is smallest, for the last agent that played them."""
    found = list(_tried(report(folder)))
    rows = [
        [players, f"`{change}`", seat, _interval(estimate, "{:+.3f}"), f"{before:.0%} → {after:.0%}", gain]
        for players, change, seat, estimate, before, after, gain in found
    ]
    columns = [
        *("players", "change", "most changed seat", "its change of win share [95 %]", "largest deviation of any seat"),
        "pairing gain",
    ]
    return markdown_table(columns, rows, left=("change",))


def _tried(data: Data) -> Iterator[Sequence[Any]]:
    agent = [table["agent"] for table in data["tables"] if table["what_ifs"]][-1]
    for table in data["tables"]:
        if table["agent"] != agent:
            continue
        ranked = sorted(table["what_ifs"], key=lambda one: one["deviation_after"])
        for one in ranked[:3]:
            row = max(one["seats"], key=lambda row: abs(row["win_share_change"]["mean"]))
            gain = "–" if one["pairing_gain"] is None else f"{one['pairing_gain']:.1f}"
            before, after = one["deviation_before"], one["deviation_after"]
            yield table["players"], one["change"], row["seat"], row["win_share_change"], before, after, gain


def _official(folder: Path, players: int, agent: str) -> float:
    """The largest deviation by the official rules."""
    return next(
        float(table["verdict"]["deviation"])
        for table in report(folder)["tables"]
        if (table["players"], table["agent"]) == (players, agent)
    )


def _interval(estimate: Data, form: str) -> str:
    return f"{form.format(estimate['mean'])} [{form.format(estimate['low'])}, {form.format(estimate['high'])}]"


def _padded(cells: list[str], count: int) -> list[str]:
    return cells + [""] * (count - len(cells))
