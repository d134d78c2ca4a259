"""The pictures of reports, drawn by Matplotlib from plain data. adjustText places the labels."""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
from adjustText import adjust_text
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from bombay_training import figures

BLUE, ORANGE = "#08519c", "#d95f0e"  # agents without and with scripted knowledge
ABOVE, BELOW = "#2f6f9f", "#b5562b"  # bars above and below zero
ROOM: Final = 12  # times the longest time per turn: where that axis ends, for labels
CLEAR: Final = 4  # points between a mark and a label
SVG: Final[Any] = {"svg.fonttype": "none", "svg.hashsalt": "bombay"}  # the same picture each time

Row = Mapping[str, Any]


def ratings(counts: Sequence[Row]) -> Figure:
    """Rating against time per turn: a panel for each number of players. Agents without a bounded interval are left out."""
    figure, panels = figures.panels(len(counts), 6.5, 5.2)
    shown = [[row for row in count["agents"] if None not in (row["ms"], *row["rating"].values())] for count in counts]
    for panel, count, rows in zip(panels, counts, shown, strict=True):
        for row in rows:
            mean, low, high = (row["rating"][name] for name in ("mean", "low", "high"))
            colour, face = (BLUE, BLUE) if row["knowledge"] == "none" else (ORANGE, "white")
            bar = [[mean - low], [high - mean]]
            panel.errorbar(row["ms"], mean, bar, color=colour, marker="o", markerfacecolor=face, capsize=3)
        left_out = ", ".join(row["agent"] for row in count["agents"] if row not in rows)
        title = f"{count['players']} players" + (f" (not shown: {left_out})" if left_out else "")
        panel.set_title(figures.plain(title), fontsize=10)
        panel.set(xscale="log", xlabel="milliseconds per turn", ylabel="rating")
        panel.xaxis.set_major_formatter("{x:g}")
        panel.margins(0.1)
        panel.set_xlim(right=ROOM * panel.get_xlim()[1])
    figure.draw_without_rendering()  # now the panels have their places
    for panel, rows in zip(panels, shown, strict=True):
        _label(panel, rows)
    return figure


def _label(panel: Axes, rows: Sequence[Row]) -> None:
    """Write each agent's name beside its point, clear of other names and of intervals."""
    data, clear = panel.transData, CLEAR * panel.figure.dpi / 72
    points = [(row["ms"], row["rating"]["mean"]) for row in rows]
    bars = [data.transform([(row["ms"], row["rating"][end]) for end in ("low", "high")]) for row in rows]
    names = [figures.plain(row["agent"]) for row in rows]
    adjust_text(
        [panel.text(1.2 * x, y, name, fontsize=8, va="center") for (x, y), name in zip(points, names, strict=True)],
        objects=[Bbox(bar).padded(clear).transformed(data.inverted()) for bar in bars],
        target_x=[x for x, _ in points],
        target_y=[y for _, y in points],
        avoid_self=False,
        force_text=(0.3, 0.6),
        force_explode=(0.01, 0.5),
        iter_lim=200,
        ax=panel,
        arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "grey"},
    )


def curves(found: Sequence[Row]) -> Figure:
    """Learning curves with their intervals: a panel for each track, two in a row."""
    tracks, learners = (list(dict.fromkeys(curve[name] for curve in found)) for name in ("track", "learner"))
    figure, panels = figures.panels(len(tracks), 7, 4.6)
    for track, panel in zip(tracks, panels, strict=True):
        for curve in (one for one in found if one["track"] == track):
            decisions, mean, low, high = (
                [point[name] for point in curve["points"]] for name in ("decisions", "mean", "low", "high")
            )
            colour, count = f"C{learners.index(curve['learner'])}", len(curve["seeds"])
            label = f"{curve['learner']} ({curve['learning']}, {count} seed{'s' if count > 1 else ''})"
            panel.plot(decisions, mean, color=colour, marker="o", label=figures.plain(label))
            panel.fill_between(decisions, low, high, color=colour, alpha=0.2)
        panel.axhline(0, color="black", linewidth=1, linestyle="--")
        panel.set_title(figures.plain(track))
        panel.set(xscale="log", xlabel="decisions of all seats", ylabel="score (0: as strong as the opponents)")
        panel.legend(fontsize=8)
    return figure


def bars(estimates: Mapping[str, Row], form: str, bands: Sequence[float] = ()) -> bytes:
    """Bars from top to bottom as SVG, each with its label, interval and number; and bands of these half widths around zero."""
    figure = Figure(figsize=(9, 0.5 + 0.23 * len(estimates)), layout="constrained")
    panel = figure.subplots()
    for band in bands:
        panel.axvspan(-band, band, color=ABOVE, alpha=0.12, linewidth=0)
    for place, estimate in enumerate(estimates.values()):
        mean, low, high = (estimate[name] for name in ("mean", "low", "high"))
        panel.barh(place, mean, 0.65, color=ABOVE if mean >= 0 else BELOW)
        if low is not None and high is not None:
            panel.hlines(place, low, high, color="black", linewidth=1.2)
        panel.text(1.01, place, form.format(mean), transform=panel.get_yaxis_transform(), va="center")
    panel.axvline(0, color="black", linewidth=0.8)
    panel.set_yticks(range(len(estimates)), map(figures.plain, estimates))
    panel.set_ylim(len(estimates) - 0.5, -0.5)
    panel.xaxis.set_major_formatter(form.replace(":", "x:"))
    panel.spines[["top", "right", "left"]].set_visible(False)
    image = io.BytesIO()
    with mpl.rc_context(SVG):
        figure.savefig(image, format="svg", metadata={"Date": None})
    return image.getvalue()
