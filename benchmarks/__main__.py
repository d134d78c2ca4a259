"""`python -m benchmarks`: speed."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks import cold_start, report
from benchmarks.signature import signature
from bombay_env.files.reading import read_json
from bombay_training.cli import runner
from bombay_training.cli.main import main
from bombay_training.cli.options import PlayerCount, count
from bombay_training.cli.runner import Result, command

app = typer.Typer(add_completion=False)


@app.command()
@command
def bench(
    players: PlayerCount = 4,
    repeats: Annotated[int, count("Runs of each row.")] = 5,
    seconds: Annotated[float, typer.Option(help="Approximate length of a run.", min=0.01, max=600)] = 1.0,
    parts: Annotated[str, typer.Option(help="What to measure.")] = ",".join(report.PARTS),
    compare: Annotated[Path | None, typer.Option(help="A report of --json to compare with.")] = None,
    digests: Annotated[bool, typer.Option("--signature", help="Only print digests of the rules.")] = False,
    cold: Annotated[bool, typer.Option("--cold-start", help="Only measure a first use with nothing compiled.")] = False,
) -> Result:
    """Measure the speed of every interface, next to the limit of this machine and next to other environments."""
    old = read_json(compare) if compare else {"format": report.FORMAT, "players": players}
    if not isinstance(old, dict) or (old.get("format"), old.get("players")) != (report.FORMAT, players):
        raise ValueError(f"{compare} is no report of python -m benchmarks --json for {players} players")
    if digests:
        lines = [f"{count} {signature(count)}" for count in range(2, 6)]
        return Result({"command": "bench", "signature": lines}, lines=lines)
    with runner.working("measuring") as tell:
        if cold:
            data = cold_start.measure()
            return Result(data, lines=[cold_start.table(data)])
        data = report.report(players, repeats, seconds, set(parts.split(",")), tell)
    tables = [report.speed(data), *(f"not measured: {line}" for line in data["absent"])]
    tables += [report.comparison(old, data)] if compare else []
    return Result(data, lines=["\n\n".join(tables)])


if __name__ == "__main__":
    main(app)
