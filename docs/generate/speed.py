"""Tables of speed, made from saved reports of `python -m benchmarks --json`."""

from pathlib import Path
from typing import Any

from benchmarks import cold_start, report
from bombay_env.files.reading import read_json
from bombay_training.rich_tables import markdown_table

# The README's lines: what is compared, and the rows of ours and of the peer, by name and number of threads.
COMPARISONS = (
    ("random play", "random play", "OpenSpiel crazy_eights, 5 players, C++ random bots"),
    ("observation, mask, autoreset", "collect", "Pgx connect_four, batch 4096, CPU"),
    ("one game at a time, from Python", "AEC loop", "PettingZoo connect_four, AEC loop"),
)
PEERS = ("pettingzoo", "open_spiel", "pgx", "jax")


class Speed:
    """The saved reports in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> Any:
        """A report, by its name without the ending."""
        return read_json(self.folder / f"{name}.json")

    def speed(self) -> str:
        """Three interfaces next to the peer that is most like each, on one thread; for the README."""
        data = self.read("bench")
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

    def speed_all(self) -> str:
        """Every row of the report."""
        data = self.read("bench")
        rows = [report.cells(row) for row in data["rows"] + data["peers"]]
        table = markdown_table(report.COLUMNS, rows, left=report.COLUMNS[:2])
        versions = ", ".join(f"{name} {data['machine'][name]}" for name in PEERS)
        return f"Measured on {_when(data)}, with {versions}.\n\n{table}"

    def speed_learning(self) -> str:
        """How fast learners learn, and the parts of their time."""
        rows = self.read("bench")["learning"]
        columns, lines = report.learning_cells(rows)
        notes = "".join(f"- {note}\n" for note in report.learning_notes(rows))
        return f"{markdown_table(columns, lines, left=('what',))}\n\n{notes}".rstrip()

    def cold_start(self) -> str:
        """Seconds until the first use, with nothing compiled and with all."""
        data = self.read("cold_start")
        rows = [
            [name, f"{found['first use']:.1f}", f"{found['first use, compiled']:.1f}"]
            for name, found in data["environments"].items()
        ]
        rows.append([cold_start.training_row(data["learner"]), f"{data['train']['first update']:.1f}", "–"])
        what = "seconds of the first use"
        table = markdown_table([what, "nothing compiled", "all compiled"], rows, left=(what,))
        return f"Measured on {_when(data)}.\n\n{table}"


def _when(report: dict[str, Any]) -> str:
    """The processor and the day."""
    return f"{report['machine']['processor']}, {report['time'][:10]}"
