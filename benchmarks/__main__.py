"""`python -m benchmarks`: speed."""

import json
from pathlib import Path
from typing import Annotated

import typer

from benchmarks import cases, cold_start
from benchmarks import report as reports
from bombay_env import checks
from bombay_env.jit.kernels import CONFIG
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.main import main
from bombay_training.cli.options import MAX_COUNT, Json, PlayerCount


def bench(
    players: PlayerCount = 4,
    threads: Annotated[
        str | None,
        typer.Option(help="Numbers of threads to measure with, such as 1 or 1,2. Default: 1 and all.", metavar="N"),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each row.", min=1, max=MAX_COUNT)] = 5,
    seconds: Annotated[float, typer.Option(help="Approximate length of a run.", min=0.01, max=600)] = 1.0,
    learners: Annotated[
        bool, typer.Option(help="Also measure how fast zero and PPO learn, and what they spend the time on.")
    ] = True,
    peers: Annotated[bool, typer.Option(help="Also measure other environments, if they are installed.")] = True,
    old: Annotated[
        Path | None,
        typer.Option("--compare", help="A report of `python -m benchmarks --json` to compare with.", metavar="FILE"),
    ] = None,
    signature: Annotated[
        bool,
        typer.Option(
            "--signature",
            help="Only print a digest of seeded random games for each number of players; it changes only with the rules.",
        ),
    ] = False,
    cold: Annotated[
        bool,
        typer.Option("--cold-start", help="Only measure the first use with no kernel compiled; takes a few minutes."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure the speed of every interface, next to the limit of this machine and next to other environments."""
    with user_input():
        counts = _thread_counts(threads)
        before = reports.read_report(old) if old else None
        if before and before["players"] != players:
            raise ValueError(f"{old} is for {before['players']} players; compare it with --players {before['players']}")
    if signature:
        _print_signatures(as_json)
        return
    if cold:
        with output.working("measuring the first use", as_json):
            data = cold_start.measure()
        output.show(data, cold_start.tables(data), as_json)
        return
    with output.working("measuring", as_json) as tell:
        data = reports.report(
            players,
            counts,
            repeats,
            seconds,
            learners,
            peers,
            lambda what: tell(f"measuring: {what}"),
        )
    if before:
        data["comparison"] = reports.compare(before, data)
    output.show(data, reports.tables(data), as_json)
    if not as_json:
        for line in data["absent"]:
            output.say(f"not measured: {line}")


def _thread_counts(threads: str | None) -> list[int]:
    """The numbers of threads in "1" or "1,2", ascending, each once. None: 1 and all that Numba has."""
    most = CONFIG.NUMBA_NUM_THREADS
    if threads is None:
        return sorted({1, most})
    parts = [part.strip() for part in threads.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= most for part in parts):
        raise ValueError(
            f"--threads is {checks.shown(threads)}; it must be numbers from 1 to {most}, the threads that Numba has here"
        )
    return sorted(set(map(int, parts)))


def _print_signatures(as_json: bool) -> None:
    signatures = {str(count): cases.signature(count) for count in range(MIN_PLAYERS, MAX_PLAYERS + 1)}
    if as_json:
        print(json.dumps({"command": "bench", "games": cases.SIGNATURE_GAMES, "signatures": signatures}))
    else:
        print(*(f"{count} {value}" for count, value in signatures.items()), sep="\n")


app = typer.Typer(add_completion=False)
app.command()(bench)

if __name__ == "__main__":
    main(app)
