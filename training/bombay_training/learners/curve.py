"""Learning curves: win shares against the references, losses, entropy and learning rate over the minutes of learning.

It reads a run's folder only: the lines of `metrics.jsonl`, which need not all have every metric, and the settings for par.
Several runs are drawn in the same panels. It draws on its own Matplotlib figure, without pyplot's global state and without a
screen. Needs Matplotlib (extra `analysis`). `learners/runs/run_files.py` writes the folder.
"""

import contextlib
import dataclasses
import functools
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from bombay_env import checks
from bombay_env.files.reading import read_json, read_jsonl
from bombay_training import figures
from bombay_training.learners.runs import run_files

COLUMNS: Final = 3  # panels per row below the win share
START: Final = 0.1  # minutes where the axis of the win shares begins, unless the runs are shorter than twice that
POINTS: Final = 20  # of the win shares for each factor of ten in time; quick matches between two of them are averaged
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito's
STYLES: Final = ("-", "--", ":", "-.")
MARKERS: Final = ("o", "s", "^", "D")
# Metrics that are drawn, in this order, if a run has them.
METRICS: Final = {
    "margin_loss": "squared error of margins, (10 rupees)²",
    "share_loss": "cross-entropy of win shares, nats",
    "value_loss": "squared error of values, reward²",
    "entropy": "entropy of the policy, nats",
    "learning_rate": "learning rate",
}


@dataclasses.dataclass(frozen=True)
class RunHistory:
    """The metrics of a run.

    Args:
        name: the folder's name.
        lines: the metrics, one line per update.
        par: the win share of an agent as strong as the others, the mean over the player counts; None if these are unknown.
    """

    name: str
    lines: Sequence[dict[str, Any]]
    par: float | None

    def points(self, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """Minutes and values of a metric, from the lines that have it."""
        found = [(line["seconds"] / 60, line[metric]) for line in self.lines if metric in line]
        minutes, values = np.array(found, float).reshape(-1, 2).T
        return minutes, values

    @functools.cached_property
    def last(self) -> dict[str, Any]:
        """The last value of each metric."""
        return {name: value for line in self.lines for name, value in line.items()}

    @property
    def group(self) -> str:
        """The name without its seed: runs that differ in nothing else have the same colour."""
        return re.sub(r"-seed\d+$", "", self.name)


def read_run(folder: Path) -> RunHistory:
    """Read the run in a folder, which may still be running or may have been killed.

    Raises:
        ValueError: there is no complete line of metrics.
    """
    path = folder / run_files.METRICS
    lines = [line for line in read_jsonl(path) if {"update", "seconds"} <= line.keys()]
    if not lines:
        raise ValueError(f"{checks.shown_path(path)} holds no complete update of a run")
    return RunHistory(folder.resolve().name, lines, _par(folder))


def _par(folder: Path) -> float | None:
    """The mean of 1/n over the player counts in the settings, if they are there."""
    with contextlib.suppress(ValueError, KeyError):
        return float(np.mean([1 / count for count in read_json(folder / run_files.SETTINGS)["settings"]["players"]]))
    return None


def draw(found: Sequence[RunHistory], file: Path) -> None:
    """Draw runs into one PNG file, which is written atomically; see `figure_of`.

    Raises:
        OSError: the file cannot be written.
    """
    figures.save_png(figure_of(found), file)


def figure_of(found: Sequence[RunHistory], metrics: bool = True) -> Figure:
    """A figure with the win shares on top and, unless `metrics` is false, a panel for each metric below."""
    names = [name for name in METRICS if metrics and any(name in run.last for run in found)]
    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(10, 4.2 + 2.5 * rows), layout="constrained")
    figure.suptitle(figures.plain(found[0].name) if len(found) == 1 else "Learning curves")
    grid = figure.add_gridspec(1 + rows, COLUMNS, height_ratios=[4.2, *[2.5] * rows])
    _win_shares(figure.add_subplot(grid[0, :]), found)
    for place, name in enumerate(names):
        _metric(figure.add_subplot(grid[1 + place // COLUMNS, place % COLUMNS]), found, name)
    for panel in figure.axes:
        figures.tidy(panel, "y").set_xlabel("minutes of learning")
    return figure


def _win_shares(panel: Axes, found: Sequence[RunHistory]) -> None:
    """A line per reference and run, in the logarithm of time.

    A reference has its own line style; colours are by reference for one run, else by group.
    """
    references = list(dict.fromkeys(name for run in found for name in run_files.win_shares(run.last)))
    colours, alone = _colours(found), len(found) == 1
    end = max(run.lines[-1]["seconds"] for run in found) / 60 or START  # after the first update no time has passed
    start = min(START, end / 2)
    styles: list[dict[str, Any]] = [
        {"linestyle": line, "marker": marker, "markersize": 4, "linewidth": 1.4, "clip_on": False}
        | ({"color": colour} if alone else {})
        for _, line, marker, colour in zip(references, *map(itertools.cycle, (STYLES, MARKERS, COLOURS)), strict=False)
    ]
    for run in found:
        for name, style in zip(references, styles, strict=True):
            minutes, shares = log_time_means(*run.points(run_files.AGAINST + name), start)
            panel.plot(minutes, shares, **{"color": colours[run.group]} | style)
    groups = {} if alone else colours
    handles = [Line2D([], [], color=colour, label=_label(name, found)) for name, colour in groups.items()]
    handles += [
        Line2D([], [], **{"color": "dimgrey"} | style, label=figures.plain(f"against {name}"))
        for name, style in zip(references, styles, strict=True)
    ]
    for par in dict.fromkeys(run.par for run in found if run.par is not None):
        handles.append(panel.axhline(par, color="black", linewidth=1, linestyle=(0, (1, 3)), label=f"par {par:.2f}"))
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.set(xlim=(start, end), ylim=(0, 1.02), ylabel="win share in evaluations")
    if not references:
        panel.text(0.5, 0.6, "no evaluation", transform=panel.transAxes, ha="center")
    panel.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9, frameon=False)


def _metric(panel: Axes, found: Sequence[RunHistory], name: str) -> None:
    """A running mean for each run; for a single run also every update, in a pale colour."""
    for run in found:
        minutes, values = run.points(name)
        colour = _colours(found)[run.group]
        if len(found) == 1:
            panel.plot(minutes, values, color=colour, alpha=0.25, linewidth=0.6)
        panel.plot(minutes, smooth(values), color=colour, linewidth=1.4)
    panel.set_xlim(left=0)
    panel.set_title(METRICS[name], fontsize=9)
    panel.tick_params(labelsize=8)
    panel.xaxis.label.set_fontsize(8)


def _colours(found: Sequence[RunHistory]) -> dict[str, str]:
    """A colour for each group, in the order of the runs."""
    return dict(zip(dict.fromkeys(run.group for run in found), itertools.cycle(COLOURS), strict=False))


def _label(group: str, found: Sequence[RunHistory]) -> str:
    """A group in the legend, with the number of its runs if there are several."""
    runs = sum(run.group == group for run in found)
    return figures.plain(f"{group}, {runs} seeds" if runs > 1 else group)


def log_time_means(minutes: np.ndarray, values: np.ndarray, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Minutes and values (T,) from `start` on, of which those close to each other on a logarithmic axis are averaged."""
    minutes, values = minutes[minutes >= start], values[minutes >= start]
    _, place, counts = np.unique(np.floor(POINTS * np.log10(minutes)), return_inverse=True, return_counts=True)
    return np.bincount(place, minutes) / counts, np.bincount(place, values) / counts


def smooth(values: np.ndarray) -> np.ndarray:
    """Running means (T,) of `values` (T,) over a sixtieth of the run on each side, cut at its ends."""
    reach = len(values) // 60
    totals = np.concatenate([[0.0], values.cumsum()])
    places = np.arange(len(values))
    low, high = np.maximum(places - reach, 0), np.minimum(places + reach + 1, len(values))
    return np.asarray((totals[high] - totals[low]) / (high - low))
