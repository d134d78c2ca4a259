"""The plots of a balance report as PNG files: win shares, margins, rupees by source, use of actions, and changed rules.

It reads the plain data of `report.py` only. It draws on its own Matplotlib figures, without pyplot's global state and
without a screen. Needs Matplotlib (extra `analysis`).
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bombay_training import figures
from bombay_training.matches.accounts import SOURCES, SPENDING, USES

MARKERS: Final = "osD^vP*XhpH8"  # of series, each for ten colours
HATCHES: Final = ("", "//", "..", "xx", "\\\\", "oo", "--", "++")  # of bars, likewise
COLOURS: Final = 10  # in Matplotlib's cycle
HEIGHT: Final = 4.2  # inches
# Related sources have shades of one colour; costs and the start are grey.
SOURCE_COLOURS: Final = {
    "purchases": "#636363",
    "start": "#b9b9b9",
    "sales_top": "#08519c",
    "sales_middle": "#4292c6",
    "sales_bottom": "#9ecae1",
    "colour_bonus": "#f2c14e",
    "tolls": "#d95f0e",
    "consolidation": "#8c6bb1",
    "palace_tokens": "#fa9fb5",
    "empire": "#238b45",
    "fame": "#a1d99b",
}
SPENDING_COLOURS: Final = {
    "move": "#4292c6",
    "buy": "#636363",
    "sell": "#f2c14e",
    "build": "#238b45",
    "consolidate": "#8c6bb1",
    "wasted": "#dddddd",
}


def draw_all(folder: Path, data: dict[str, Any]) -> dict[int, dict[str, str]]:
    """Draw all plots into `folder`; returns the files' names by number of players and by the kind of table."""
    files: dict[int, dict[str, str]] = {}
    for players in sorted({table["players"] for table in data["tables"]}):
        found = [table for table in data["tables"] if table["players"] == players]
        for what, figure in _figures(found, players):
            file = f"{what}_{players}.png"
            figures.save_png(figure, folder / file)
            files.setdefault(players, {})[what] = file
    return files


def _figures(found: list[dict[str, Any]], players: int) -> Iterator[tuple[str, Figure]]:
    yield "seats", _seats(found, players)
    yield "rupees", _sources(found, players)
    yield "uses", _uses(found, players)
    yield "spent", _spending(found, players)
    if any(table["what_ifs"] for table in found):
        yield "what_ifs", _what_ifs(found, players)


def _seats(found: list[dict[str, Any]], players: int) -> Figure:
    figure, (shares, margins) = _figure(2, 12, f"Seats with {players} players, one agent in all seats")
    series = [(_label(table), table["seats"]) for table in found]
    _points(shares, series, "win_share", players)
    _line(shares, found[0]["par"], "par")
    shares.set_ylabel("win share")
    _points(margins, series, "margin", players)
    _line(margins, 0, "")
    margins.set_ylabel("rupees above the game's mean")
    _legend_outside(figure, shares)
    return figure


def _sources(found: list[dict[str, Any]], players: int) -> Figure:
    figure, panels = _figure(len(found), 2.4 + 2.9 * len(found), f"Rupees by source, {players} players", share=True)
    order = [name for name in SOURCE_COLOURS if name in SOURCES]
    for panel, table in zip(panels, found, strict=True):
        _stack(panel, table, "rupees", order, SOURCE_COLOURS, players)
        seats = range(players)
        finals = [row["final"]["mean"] for row in table["seats"]]
        panel.plot(seats, finals, linestyle="none", marker="D", markersize=5, color="black", label="final rupees")
        panel.axhline(0, color="black", linewidth=0.8)
    panels[0].set_ylabel("rupees, mean per game")
    _legend_outside(figure, panels[-1], reverse=True)
    return figure


def _uses(found: list[dict[str, Any]], players: int) -> Figure:
    figure, (panel,) = _figure(1, 8, f"Actions by kind per seat and game, {players} players")
    figure.set_figheight(2.2 + 0.28 * len(USES) * max(len(found), 2) / 2)
    width = 0.8 / len(found)
    for index, table in enumerate(found):
        means = [sum(row["uses"][name] for row in table["seats"]) / players for name in USES]
        places = [place + (index - (len(found) - 1) / 2) * width for place in range(len(USES))]
        hatch = HATCHES[index // COLOURS % len(HATCHES)]
        bars = panel.barh(places, means, width, color=f"C{index % COLOURS}", hatch=hatch, label=_label(table))
        panel.bar_label(bars, fmt="%.2f", padding=2, fontsize=7)
    panel.set_yticks(range(len(USES)), [name.replace("_", " ") for name in USES])
    panel.invert_yaxis()
    panel.margins(x=0.08)
    panel.set_xlabel("mean number per seat and game")
    panel.legend(loc="lower right")  # the longest bars, those of moves, are at the top
    return figure


def _spending(found: list[dict[str, Any]], players: int) -> Figure:
    figure, panels = _figure(
        len(found), 2.4 + 2.9 * len(found), f"What actions are spent on, {players} players", share=True
    )
    for panel, table in zip(panels, found, strict=True):
        _stack(panel, table, "spent", list(SPENDING), SPENDING_COLOURS, players)
    panels[0].set_ylabel("actions, mean per game")
    _legend_outside(figure, panels[-1], reverse=True)
    return figure


def _what_ifs(found: list[dict[str, Any]], players: int) -> Figure:
    """A row of panels for each agent, in which every changed rule has the same mark."""
    figure, panels = _figure(2, 13, f"Effect of a changed rule, {players} players, same deals", rows=len(found))
    for shares, margins, table in zip(panels[::2], panels[1::2], found, strict=True):
        series = [(figures.plain(tried["change"]), tried["seats"]) for tried in table["what_ifs"]]
        for panel, field, label in (
            (shares, "win_share_change", "change of win share"),
            (margins, "margin_change", "change of rupees above the game's mean"),
        ):
            _points(panel, series, field, players)
            _line(panel, 0, "")
            panel.set_title(_label(table), fontsize=10)
            panel.set_ylabel(label)
    _legend_outside(figure, panels[0])
    return figure


# --- shared parts ---


def _figure(panels: int, width: float, title: str, share: bool = False, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with this number of panels in each row; `share`: the panels of a row have one scale."""
    figure = Figure(figsize=(max(width, 6.5), HEIGHT * rows), layout="constrained")
    figure.suptitle(title)
    axes = figure.subplots(rows, panels, squeeze=False, sharey="row" if share else False).ravel()
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def _label(table: dict[str, Any]) -> str:
    return figures.plain(str(table["agent"]))


def _seat_axis(panel: Axes, players: int) -> None:
    panel.set_xticks(range(players), [str(seat) for seat in range(players)])
    panel.set_xlim(-0.6, players - 0.4)
    panel.set_xlabel("seat")


def _points(panel: Axes, series: list[tuple[str, list[dict[str, Any]]]], field: str, players: int) -> None:
    """The estimates of each series side by side for each seat, with their intervals; an infinite one is not drawn."""
    for index, (label, rows) in enumerate(series):
        means = [row[field]["mean"] for row in rows]
        bounds = [[row[field][bound] for row in rows] for bound in ("low", "high")]
        errors = [
            [math.nan if bound is None else abs(mean - bound) for mean, bound in zip(means, side, strict=True)]
            for side in bounds
        ]
        places = [seat + (index - (len(series) - 1) / 2) * 0.7 / max(len(series), 3) for seat in range(players)]
        again = index // COLOURS
        panel.errorbar(
            places,
            means,
            yerr=errors,
            linestyle="none",
            marker=MARKERS[again % len(MARKERS)],
            markerfacecolor="none" if again % 2 else None,
            markersize=4 if len(series) <= COLOURS else 5,
            capsize=3 if len(series) <= COLOURS else 1.5,
            color=f"C{index % COLOURS}",
            label=label,
        )
    _seat_axis(panel, players)
    panel.yaxis.set_major_locator(MaxNLocator(8))
    panel.grid(axis="y", alpha=0.25)


def _line(panel: Axes, height: float, label: str) -> None:
    panel.axhline(height, color="black", linewidth=1, linestyle="--", zorder=0, label=label or None)


def _stack(
    panel: Axes, table: dict[str, Any], kind: str, order: list[str], colours: dict[str, str], players: int
) -> None:
    """Stacked bars by seat: positive values upwards from zero, negative ones downwards."""
    top, bottom = [0.0] * players, [0.0] * players
    for name in order:
        means = [row[kind][name] for row in table["seats"]]
        floors = [bottom[seat] if mean < 0 else top[seat] for seat, mean in enumerate(means)]
        panel.bar(range(players), means, 0.7, floors, color=colours[name], label=name.replace("_", " "))
        for seat, mean in enumerate(means):
            (bottom if mean < 0 else top)[seat] += mean
    panel.set_title(_label(table), fontsize=10)
    _seat_axis(panel, players)


def _legend_outside(figure: Figure, panel: Axes, reverse: bool = False) -> None:
    """Place a legend to the right of all panels; `reverse` for stacks, whose last entry is on top."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", fontsize=8, reverse=reverse)
