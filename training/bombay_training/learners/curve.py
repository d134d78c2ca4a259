"""How runs went, as one picture: win share against the references, losses, entropy and learning rate over minutes of learning.

Reads nothing but what a run leaves in its folder: the lines of `metrics.jsonl`, where a figure stands in those lines that have
it, and the settings for par. Several runs share their panels, to be compared. Draws on a Matplotlib figure of its own, without
its global state and without a screen. Needs Matplotlib (extra `analysis`).
"""

import contextlib
import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bombay_training.learners import run_files

FILE: Final = "learning_curve.png"  # of a run's folder
DPI: Final = 150
COLUMNS: Final = 3  # panels in a row below the win share
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito's
STYLES: Final = ("-", "--", ":", "-.")
MARKERS: Final = ("o", "s", "^", "D")
# What is drawn besides, in this order, where a run has it.
FIGURES: Final = {
    "margin_loss": "squared error of margins, (10 rupees)²",
    "share_loss": "cross-entropy of win shares, nats",
    "value_loss": "squared error of values, reward²",
    "entropy": "entropy of the policy, nats",
    "learning_rate": "learning rate",
}


@dataclasses.dataclass(frozen=True)
class History:
    """A run as its folder tells it.

    Args:
        name: of the folder.
        lines: of the metrics, one an update.
        par: win share of an agent no better than the others, the mean over its kinds of table; None if they are not known.
    """

    name: str
    lines: Sequence[dict[str, Any]]
    par: float | None

    def points(self, figure: str) -> tuple[np.ndarray, np.ndarray]:
        """Minutes and values of a figure, from the lines that have it."""
        found = [(line["seconds"] / 60, line[figure]) for line in self.lines if figure in line]
        minutes, values = np.array(found, float).reshape(-1, 2).T
        return minutes, values

    @property
    def references(self) -> list[str]:
        """Those whom it has been matched with, by their specs."""
        return [name.removeprefix(run_files.AGAINST) for name in self._names if name.startswith(run_files.AGAINST)]

    @property
    def figures(self) -> list[str]:
        """What else there is to draw."""
        return [name for name in FIGURES if name in self._names]

    def summary(self) -> dict[str, Any]:
        """How far it is, and its last quick match with each reference; as plain JSON types."""
        return {
            "run": self.name,
            "updates": self.lines[-1]["update"],
            "minutes": self.lines[-1]["seconds"] / 60,
            "win_shares": {name: float(self.points(run_files.AGAINST + name)[1][-1]) for name in self.references},
        }

    @property
    def _names(self) -> dict[str, None]:
        return dict.fromkeys(name for line in self.lines for name in line)


def read_run(folder: Path) -> History:
    """The run in a folder, also one that is under way or was killed.

    Raises:
        ValueError: there is no whole line of metrics.
    """
    path, lines = folder / run_files.METRICS, []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as the metrics of a run: {error}") from None
    for line in text.splitlines():
        with contextlib.suppress(ValueError, RecursionError):  # a line may be torn
            found = json.loads(line)
            if isinstance(found, dict) and all(isinstance(figure, int | float) for figure in found.values()):
                lines.append(found)
    lines = [line for line in lines if {"update", "seconds"} <= set(line)]
    if not lines:
        raise ValueError(f"{path} holds no whole update of a run")
    return History(folder.resolve().name, lines, _par(folder))


def _par(folder: Path) -> float | None:
    """Mean of 1/n over the kinds of table that the settings name."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, ZeroDivisionError, RecursionError):
        settings = json.loads((folder / run_files.SETTINGS).read_text(encoding="utf-8"))["settings"]
        return float(np.mean([1 / count for count in settings["players"]]))
    return None


def draw(found: Sequence[History], file: Path) -> None:
    """Draw runs into one PNG file.

    Raises:
        OSError: the file cannot be written.
    """
    figure_of(found).savefig(file, format="png", dpi=DPI)


def figure_of(found: Sequence[History]) -> Figure:
    """The picture: win share above, everything else below."""
    names = [name for name in FIGURES if any(name in run.figures for run in found)]
    rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(10, 4.2 + 2.5 * rows), layout="constrained")
    figure.suptitle(found[0].name if len(found) == 1 else f"{len(found)} runs")
    grid = figure.add_gridspec(1 + rows, COLUMNS, height_ratios=[4.2, *[2.5] * rows])
    _win_shares(_tidy(figure.add_subplot(grid[0, :])), found)
    for place, name in enumerate(names):
        row, column = divmod(place, COLUMNS)
        _figures(_tidy(figure.add_subplot(grid[1 + row, column])), found, name)
    return figure


def _tidy(panel: Axes) -> Axes:
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", alpha=0.25)
    panel.set_xlabel("minutes of learning")
    return panel


def _win_shares(panel: Axes, found: Sequence[History]) -> None:
    """A line a reference, in its own style; colours tell the references of one run apart, and otherwise the runs."""
    references = list(dict.fromkeys(name for run in found for name in run.references))
    alone = len(found) == 1
    for number, run in enumerate(found):
        for place, reference in enumerate(references):
            minutes, shares = run.points(run_files.AGAINST + reference)
            panel.plot(minutes, shares, color=_colour(place if alone else number), **_style(place))
    handles = [Line2D([], [], color=_colour(number), label=run.name) for number, run in enumerate(found) if not alone]
    for place, name in enumerate(references):
        handles.append(
            Line2D([], [], color=_colour(place) if alone else "dimgrey", label=f"against {name}", **_style(place))
        )
    for par in dict.fromkeys(run.par for run in found if run.par is not None):
        handles.append(panel.axhline(par, color="black", linewidth=1, linestyle=(0, (1, 3)), label=f"par {par:.2f}"))
    panel.set_ylim(0, 1.02)
    panel.set_xlim(left=0, right=max(run.lines[-1]["seconds"] for run in found) / 60)
    panel.set_ylabel("win share in quick matches")
    if not references:
        panel.text(0.5, 0.6, "no quick match was played", transform=panel.transAxes, ha="center")
    panel.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=9, frameon=False)


def _figures(panel: Axes, found: Sequence[History], name: str) -> None:
    """Every update pale, and a running mean."""
    for number, run in enumerate(found):
        minutes, values = run.points(name)
        if len(found) == 1:
            panel.plot(minutes, values, color=_colour(number), alpha=0.25, linewidth=0.6)
        panel.plot(minutes, smooth(values), color=_colour(number), linewidth=1.4)
    panel.set_xlim(left=0)
    panel.set_title(FIGURES[name], fontsize=9)
    panel.tick_params(labelsize=8)
    panel.xaxis.label.set_size(8)


def smooth(values: np.ndarray) -> np.ndarray:
    """Means over a sixtieth of the run to both sides of each value, or as far as it reaches."""
    reach = len(values) // 60
    totals = np.concatenate([[0.0], values.cumsum()])
    places = np.arange(len(values))
    low, high = np.maximum(places - reach, 0), np.minimum(places + reach + 1, len(values))
    return np.asarray((totals[high] - totals[low]) / (high - low))


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _style(place: int) -> dict[str, Any]:
    return {
        "linestyle": STYLES[place % len(STYLES)],
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 4,
        "linewidth": 1.4,
        "clip_on": False,
    }
