"""Learning curves of tracks: the entries of several seeds and learners, summarised. `charts.curves` draws them.

A curve is the interquartile mean over seeds, opponents and numbers of players of the scores at so many decisions. Its interval of
95 % is from resamples: first of the seeds, then of the deals, whose effect on a mean share is drawn from its standard error. All
seeds play the same deals, so their effect is taken to be the same for all seeds and points: the interval is rather too wide than
too narrow. With a single seed it says nothing about other seeds.

Source: R. Agarwal et al., "Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021 (rliable).
Needs Jinja2 (extra `analysis`).
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy import stats

from bombay_env import checks
from bombay_env.files.forms import Form, parse
from bombay_env.files.reading import read_bytes
from bombay_training.learners.track import FIRST, RESULTS, TRACKS, area, steps
from bombay_training.matches.intervals import CONFIDENCE, Estimate
from bombay_training.matches.statistics import FaultCount, fault_note
from bombay_training.reports import pages

RESAMPLES: Final = 2000
TRIM: Final = 0.25  # of the scores on each side


class Share(Form):
    """A win share with its interval."""

    mean: float
    low: float
    high: float


class Task(Form):
    """An agent against copies of one opponent at one number of players."""

    players: int
    opponent: str
    games: int
    win_share: Share
    faults: int


class Point(Form):
    """A snapshot of an entry."""

    decisions: int
    score: float
    matches: list[Task]


class Entry(Form):
    """What `bombay track` writes of a run."""

    command: str
    track: str
    learner: str
    seed: int
    learning: str
    outcomes: int | None
    final: float
    area: float
    points: list[Point]

    @property
    def group(self) -> tuple[str, str, str]:
        """Entries with equal groups are seeds of one curve."""
        return self.track, self.learner, self.learning


def read_entries(paths: Sequence[Path]) -> list[Entry]:
    """The entries in these folders or files.

    Raises:
        ValueError: a file is no result of `bombay track`, or two are the same seed of the same learner.
        OSError: one cannot be read.
    """
    files = [path / RESULTS if path.is_dir() else path for path in paths]
    entries = [parse(Entry, read_bytes(path), checks.shown_path(path)) for path in files]
    seen = set()
    for entry, path in zip(entries, files, strict=True):
        tasks = {tuple((task.players, task.opponent) for task in point.matches) for point in entry.points}
        if len(tasks) != 1:
            raise ValueError(f"{checks.shown_path(path)} has no points, or points with other opponents than the rest")
        checks.one_of(entry.track, "track", tuple(TRACKS))
        if (entry.group, entry.seed) in seen:
            raise ValueError(f"{checks.shown_path(path)} is seed {entry.seed} of {entry.group[1]} a second time")
        seen.add((entry.group, entry.seed))
    return entries


def summary(entries: Sequence[Entry], resamples: int = RESAMPLES, seed: int = 0) -> list[dict[str, Any]]:
    """A curve for each learner of each track, as plain JSON types.

    Raises:
        ValueError: seeds of a learner met different opponents.
    """
    tracks = list(TRACKS)
    ordered = sorted(entries, key=lambda entry: (tracks.index(entry.track), entry.group, entry.seed))
    groups = itertools.groupby(ordered, lambda entry: entry.group)
    return [_curve(list(group), resamples, np.random.default_rng(seed)) for _, group in groups]


def _curve(entries: list[Entry], resamples: int, rng: np.random.Generator) -> dict[str, Any]:
    tasks = {tuple((task.players, task.opponent) for task in entry.points[0].matches) for entry in entries}
    if len(tasks) != 1:
        raise ValueError(f"the seeds of {entries[0].group[1]} in {entries[0].track} met different opponents")
    at = _grid(entries)
    scores, errors = (np.array(part) for part in zip(*(_scores(entry, at) for entry in entries), strict=True))
    seeds = rng.integers(len(entries), size=(resamples, len(entries)))
    luck = rng.normal(size=(resamples, 1, scores.shape[1], 1))  # of the deals
    curves, means = _iqm(scores[seeds] + luck * errors[seeds]), _iqm(scores)
    points = [
        {"decisions": decisions, **_estimate(mean, column).to_dict()}
        for decisions, mean, column in zip(at, means.tolist(), curves.T, strict=True)
    ]
    played = [task for entry in entries for point in entry.points for task in point.matches]
    outcomes = [entry.outcomes for entry in entries if entry.outcomes is not None]
    track, learner, learning = entries[0].group
    return {
        "track": track,
        "learner": learner,
        "learning": learning,
        "seeds": [entry.seed for entry in entries],
        "outcomes": sum(outcomes) // len(outcomes) if outcomes else None,
        "games": sum(task.games for task in played),
        "faults": sum(task.faults for task in played),
        "final": _estimate(float(means[-1]), curves[:, -1]).to_dict(),
        "area": _estimate(area(at, means.tolist()), np.array([area(at, row.tolist()) for row in curves])).to_dict(),
        "points": points,
    }


def _grid(entries: list[Entry]) -> list[int]:
    """The points of a curve: 1, 2 and 5 times powers of ten for which all seeds have snapshots before and after, and the last."""
    first = max(FIRST, *(entry.points[0].decisions for entry in entries))
    last = min(entry.points[-1].decisions for entry in entries)
    return [*steps(first, 0.99 * last), last]


def _scores(entry: Entry, at: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The scores (tasks, points) of an entry and their standard errors, between its snapshots in log decisions.

    The last ones are those of its last snapshot, which after training by the clock has a number of decisions of its own.
    """
    at = [*at[:-1], entry.points[-1].decisions]
    z, logs = stats.norm.ppf((1 + CONFIDENCE) / 2), np.log([point.decisions for point in entry.points])
    rows = []
    for tasks in zip(*(point.matches for point in entry.points), strict=True):
        par = 1 / tasks[0].players
        shares = [(task.win_share.mean - par) / (1 - par) for task in tasks]
        errors = [(task.win_share.high - task.win_share.low) / (2 * z) / (1 - par) for task in tasks]
        rows.append([np.interp(np.log(at), logs, values) for values in (shares, errors)])
    table = np.array(rows)
    return table[:, 0], table[:, 1]


def _iqm(scores: np.ndarray) -> np.ndarray:
    """The interquartile mean (…, points) of scores (…, seeds, tasks, points)."""
    return np.asarray(stats.trim_mean(scores.reshape(*scores.shape[:-3], -1, scores.shape[-1]), TRIM, axis=-2))


def _estimate(mean: float, drawn: np.ndarray) -> Estimate:
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(mean, float(low), float(high))


def table(curves: Sequence[dict[str, Any]]) -> str:
    """The scores of all curves as a Markdown table."""
    columns = "track | learner | learns by | seeds | final [95 %] | area [95 %] | simulated outcomes | faults"
    forms = (
        "{track} | {learner:code} | {learning} | {seeds:count} | {final:+.3f} | {area:+.3f} | {outcomes:,} | {faults:,}"
    )
    lost = {
        f"`{curve['learner']}` on {curve['track']}": FaultCount(curve["games"], curve["faults"]) for curve in curves
    }
    return (pages.table(curves, columns, forms) + fault_note(lost, "these games count as lost.")).strip()
