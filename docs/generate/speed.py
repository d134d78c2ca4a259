"""Tables of speed, made from saved reports of `python -m benchmarks --json`."""

from pathlib import Path
from typing import Any

from benchmarks import cold_start, report
from bombay_env.files.reading import read_json
from bombay_training.rich_tables import markdown_table

# The README's lines: what is compared, and the rows of ours and of the peer.
COMPARISONS = (
    ("random play", "random play", "OpenSpiel crazy_eights, 5 players, C++ random bots"),
    ("observation, mask, autoreset", "collect", "Pgx connect_four, batch 4096, CPU"),
    ("one game at a time, from Python", "AEC loop", "PettingZoo connect_four, AEC loop"),
)
PEERS = ("pettingzoo", "open_spiel", "pgx", "jax")


def speed(folder: Path) -> str:
    """Three interfaces next to the peer that is most like each, on one thread; for the README."""
    data = read_json(folder / "bench.json")
    rates = {row["name"]: row["rate"] for row in data["rows"] + data["peers"] if row["threads"] == 1}
    rows = []
    for what, name, peer in COMPARISONS:
        ours, theirs = rates[name], rates[peer]
        factor = f"{ours['median'] / theirs['median']:.1f} ×"
        extremes = f"{ours['low'] / theirs['high']:.1f}–{ours['high'] / theirs['low']:.1f}"
        rows.append([what, f"{ours['median']:,.0f}", f"{theirs['median']:,.0f}", factor, extremes, peer])
    columns = ["what", "decisions/s", "peer's decisions/s", "factor", "range of the factor", "peer"]
    table = markdown_table(columns, rows, left=("what", "peer"))
    return f"One thread of {_when(data)}, medians of {data['repeats']} runs:\n\n{table}"


def speed_all(folder: Path) -> str:
    """Every row of the report."""
    data = read_json(folder / "bench.json")
    versions = ", ".join(f"{name} {data['machine'][name]}" for name in PEERS)
    return f"Measured on {_when(data)}, with {versions}.\n\n{report.speed(data)}"


def first_use(folder: Path) -> str:
    """Seconds until the first use, with nothing compiled and with all."""
    data = read_json(folder / "cold_start.json")
    return f"Measured on {_when(data)}.\n\n{cold_start.table(data)}"


def _when(data: dict[str, Any]) -> str:
    """The processor and the day."""
    return f"{data['machine']['processor']}, {data['time'][:10]}"
