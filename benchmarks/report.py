"""The report of `python -m benchmarks`: plain data, and its tables, which are those of docs/performance.md."""

import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

import bombay_env
from benchmarks import cases, peers
from benchmarks.measuring import Row
from bombay_env import Game, Rules
from bombay_training.matches.engines.local import num_cores
from bombay_training.rich_tables import markdown_table

PACKAGES: Final = ("numpy", "numba", "pettingzoo", "pygame-ce", "open_spiel", "pgx", "jax", "jaxlib")
FORMAT: Final = "bombay-bench/1"
PARTS: Final = {"rows": cases.jobs, "peers": peers.jobs}


def report(players: int, repeats: int, seconds: float, parts: set[str], progress: Callable[[str], None]) -> Row:
    """Measure some of `PARTS`."""
    about = {"format": FORMAT, "players": players, "repeats": repeats, "seconds": seconds, **when_and_where()}
    game, absent = Game(Rules.official(players)), []

    def rows(part: str) -> Iterator[Row]:
        for name, measure in PARTS[part](game, repeats, seconds):
            progress(name)
            try:
                yield measure()
            except Exception as error:  # for one, a package that is not installed; the rest can be measured
                absent.append(f"{name}: {error}")

    return {**about, **{part: list(rows(part)) if part in parts else [] for part in PARTS}, "absent": absent}


def when_and_where() -> Row:
    """The time, the machine, and the versions of packages."""
    names = Path("/proc/cpuinfo")  # of Linux
    found = re.search(r"^model name\s*: (.*)", names.read_text() if names.exists() else "", re.MULTILINE)
    processor = f"{found[1] if found else platform.machine()}, {num_cores()} cores"
    own = {"python": platform.python_version(), "bombay_env": bombay_env.__version__}
    versions = {found.name: found.version for found in distributions() if found.name in PACKAGES}
    machine = {"system": platform.system(), "processor": processor, "cores": os.cpu_count(), **own, **versions}
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine}


def speed(data: Row) -> str:
    """All rows, ours and the peers'."""
    rows = []
    for row in data["rows"] + data["peers"]:
        limits = [f"{row['limit']['median']:,.0f}", f"{row['ratio']:.3g}"] if row["limit"] else ["–", "–"]
        threads = row["threads"] or f"{row['cores']:.1f} used"
        rate = f"{row['rate']['median']:,.0f}", f"{row['rate']['low']:,.0f}–{row['rate']['high']:,.0f}"
        rows.append([row["name"], row["includes"], row["games"] or "–", threads, *rate, row["written"] or "–", *limits])
    left = ["what", "a decision includes"]
    columns = [*left, "games", "threads", "decisions/s", "range", "bytes", "limit/s", "of limit"]
    return markdown_table(columns, rows, left)


def comparison(old: Row, new: Row) -> str:
    """Both rates and their quotient for each row of both reports. The quotient to the limit depends less on other work."""
    before, rows = {(row["name"], row["threads"]): row for row in old["rows"]}, []
    for row in new["rows"]:
        if was := before.get((row["name"], row["threads"])):
            rates = was["rate"]["median"], row["rate"]["median"]
            change = f"{rates[1] / rates[0]:.2f}", f"{row['ratio'] / was['ratio']:.2f}" if row["ratio"] else "–"
            rows.append([row["name"], row["threads"], *(f"{rate:,.0f}" for rate in rates), *change])
    return markdown_table(["what", "threads", "old", "new", "new / old", "new / old of limit"], rows, ["what"])
