"""How speed is measured: several runs of about a second, of which the report has the median and the range.

The figures hold for this machine at this moment, and only ratios within one report are comparable.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

# Sets everything up, then plays and yields without end how many decisions it made since, or a function that counts them after
# the clock has stopped, because counting can take as long as playing.
Play = Iterator[int | Callable[[], int]]
Row = dict[str, Any]  # of the report
Job = tuple[str, Callable[[], Row]]  # the name of what is measured, and what measures it


class Case(NamedTuple):
    """What is measured, as a row of the report names it."""

    name: str
    includes: str  # what the time of a decision covers
    play: Callable[..., Play]
    threaded: bool = False  # whether it can use several threads
    games: int | None = None  # side by side; None for a peer
    returned: str | None = None  # by a decision, in the words of `Interfaces.sizes`; its state if it returns nothing


def add_to(
    cases: list[Case], name: str, includes: str, *rest: Any
) -> Callable[[Callable[..., Play]], Callable[..., Play]]:
    """Make the decorated function a case."""

    def add(play: Callable[..., Play]) -> Callable[..., Play]:
        cases.append(Case(name, includes, play, *rest))
        return play

    return add


class Run(NamedTuple):
    """One timed run: decisions of players, wall time in seconds, and the mean number of busy processors."""

    decisions: int
    seconds: float
    cores: float


def clock(play: Play, seconds: float) -> Run:
    """Play for this long, at least until the next decisions are made."""
    counts, spent = [], 0.0
    cpu, start = time.process_time(), time.perf_counter()
    while not counts or spent < seconds:
        counts.append(next(play))
        spent = time.perf_counter() - start
    cores = (time.process_time() - cpu) / spent
    return Run(sum(count() if callable(count) else count for count in counts), spent, cores)


def row(case: Case, threads: int | None, runs: Sequence[Run]) -> Row:
    """A row of the report. Threads: None for as many as a library uses."""
    rates = [run.decisions / run.seconds for run in runs]
    rate = {"median": statistics.median(rates), "low": min(rates), "high": max(rates)}
    about = {"name": case.name, "includes": case.includes, "games": case.games, "threads": threads, "rate": rate}
    cores = statistics.median(run.cores for run in runs)
    return {**about, "cores": cores, "written": None, "limit": None, "ratio": None}
