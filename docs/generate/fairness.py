"""The tables of docs/fairness.md, from the report of the project's study of balance."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bombay_env.files.reading import read_json
from bombay_training.rich_tables import interval, markdown_table

REPORT: Final = "report.json"


def verdicts(folder: Path) -> str:
    """A row for each number of players: the headline, and each agent's verdict with its largest deviation."""
    data = read_json(folder / REPORT)
    found = {(table["players"], table["agent"]): table["verdict"] for table in data["tables"]}
    agents, rows = list(dict.fromkeys(agent for _, agent in found)), []
    for line in data["headlines"]:
        if not line.get("change"):
            own = [found[line["players"], agent] for agent in agents]
            cells = [f"{verdict['reading']} ({verdict['deviation']:.0%})" for verdict in own]
            rows.append([line["players"], f"**{line['headline']}**", line["label"], *cells])
    columns = ["players", "verdict", "who agrees", *(f"`{agent}`" for agent in agents)]
    return markdown_table(columns, rows, left=columns[1:])


def seats(folder: Path) -> str:
    """The win share of every seat."""
    found, rows = read_json(folder / REPORT)["tables"], []
    most = max(len(table["seats"]) for table in found)
    for table in found:
        shares = [interval(row["win_share"], "{:.3f}") for row in table["seats"]]
        shares += [""] * (most - len(shares))
        rows.append([table["players"], f"`{table['agent']}`", f"{table['games']:,}", *shares])
    columns = ["players", "every seat played by", "games", *(f"seat {seat}" for seat in range(most))]
    return markdown_table(columns, rows, left=columns[1:2])


def boards(folder: Path) -> str:
    """The first seat on random boards and on the packaged one."""
    rows = []
    for part in read_json(folder / REPORT)["boards"]:
        row, par = part["seats"][0], 1 / part["players"]
        mean, low, high, packaged = (
            f"{row[name] / par - 1:+.1%}" for name in ("mean", "new_low", "new_high", "packaged")
        )
        best = f"{part['best_seat'][0]:g} of {part['boards']}"
        deviation = f"{row['sd'] / par:.1%}"
        rows.append([part["players"], f"`{part['agent']}`", mean, deviation, f"{low} to {high}", packaged, best])
    columns = ["players", "agent", "seat 0, mean of boards", "standard deviation", "a new board, 90 %"]
    return markdown_table([*columns, "this board", "boards on which seat 0 is best"], rows, left=("agent",))


def repair(folder: Path) -> str:
    """The starting rupees that were chosen, and what report deals say of them."""
    data, rows = read_json(folder / REPORT), []
    official = {(table["players"], table["agent"]): table["verdict"]["deviation"] for table in data["tables"]}
    for part in data["repair"]:
        rupees = [", ".join(map(str, each)) for each in (part["official"], part["chosen"]["starting_rupees"])]
        for one in part["confirmed"]:
            deviations = official[part["players"], one["agent"]], one["verdict"]["deviation"]
            shown = (f"{deviation:.1%}" for deviation in deviations)
            rows.append([part["players"], *rupees, f"`{one['agent']}`", *shown, one["verdict"]["reading"]])
    columns = ["players", "official rupees", "chosen", "agent", "largest deviation, official"]
    return markdown_table([*columns, "largest deviation, chosen", "verdict"], rows, left=("agent", "verdict"))


def what_ifs(folder: Path) -> str:
    """The changes after which the largest deviation is smallest, for the last agent that played them."""
    found, rows = [table for table in read_json(folder / REPORT)["tables"] if table["what_ifs"]], []
    for table in found:
        ranked = sorted(table["what_ifs"], key=lambda one: one["deviation_after"])
        for one in ranked[:3] if table["agent"] == found[-1]["agent"] else ():
            row = max(one["seats"], key=lambda row: abs(row["win_share_change"]["mean"]))
            gain = "–" if one["pairing_gain"] is None else f"{one['pairing_gain']:.1f}"
            change = interval(row["win_share_change"], "{:+.3f}")
            deviation = f"{one['deviation_before']:.0%} → {one['deviation_after']:.0%}"
            rows.append([table["players"], f"`{one['change']}`", row["seat"], change, deviation, gain])
    columns = ["players", "change", "most changed seat", "its change of win share [95 %]"]
    return markdown_table([*columns, "largest deviation of any seat", "pairing gain"], rows, left=("change",))


TABLES: Final[dict[str, Callable[[Path], str]]] = {
    "verdicts": verdicts,
    "seats": seats,
    "boards": boards,
    "repair": repair,
    "what-ifs": what_ifs,
}
