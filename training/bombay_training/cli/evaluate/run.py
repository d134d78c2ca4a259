"""`bombay run`: play a study from its file."""

from pathlib import Path
from typing import Annotated

import typer

from bombay_training.cli import options, output, playing
from bombay_training.cli.runner import Result, command
from bombay_training.matches import statistics
from bombay_training.matches.spec import Study, read_toml
from bombay_training.matches.spec import cells as cells_of
from bombay_training.matches.store import digest

DEALS = "Deals of every line-up, in place of those that the study says."


@command
def run(
    spec: Annotated[Path, typer.Argument(help="The study: a TOML file.", metavar="SPEC")],
    deals: Annotated[int | None, options.count(DEALS)] = None,
    processes: options.Processes = None,
    turn_limit: options.TurnLimit = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    out: options.StoreFolder = None,
) -> Result:
    """Play a study: the line-ups, seatings and deals of a TOML file.

    With --out, every finished game is kept: a study that was stopped goes on where it was, and more deals continue it. The digest
    at the end is of all results; it is the same wherever the study is played.
    """
    study, text = read_toml(Study, spec)
    folder = spec.absolute().parent
    cells = cells_of(study, folder, deals)
    board = folder / study.board if study.board else None
    with (
        playing.open_store(out, text) as store,
        playing.open_engine(engine, address, processes, turn_limit) as players,
    ):
        played = playing.play(cells, store, players, board)
    data = {
        "command": "run",
        "study": str(spec),
        "matches": [statistics.summary(match) for match in played.matches],
        "digest": digest(played.matches),
        "stopped": played.ended is not None,
    }
    table = statistics.results_table(played.matches, str(spec), output.out.width)
    return Result(data, [table], [f"digest {data['digest']}"], played.faults, then=played.end_if_stopped)
