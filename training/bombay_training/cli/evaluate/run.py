"""`bombay run`: play a study from its file."""

from pathlib import Path
from typing import Annotated

import typer

from bombay_training.cli import output, playing
from bombay_training.cli.errors import user_input
from bombay_training.cli.options import MAX_COUNT, Address, EngineName, Json, Processes, StoreFolder, TurnLimit
from bombay_training.matches import statistics
from bombay_training.matches.spec import Study, read_toml
from bombay_training.matches.spec import cells as cells_of
from bombay_training.matches.store import digest


def run(
    spec: Annotated[Path, typer.Argument(help="The study: a TOML file.", metavar="SPEC")],
    deals: Annotated[
        int | None,
        typer.Option(help="Deals of every line-up, in place of those that the study says.", min=1, max=MAX_COUNT),
    ] = None,
    processes: Processes = None,
    turn_limit: TurnLimit = None,
    engine: EngineName = "local",
    address: Address = None,
    out: StoreFolder = None,
    as_json: Json = False,
) -> None:
    """Play a study: the line-ups, seatings and deals of a TOML file.

    With --out, every finished game is kept: a study that was stopped goes on where it was, and more deals continue it. The digest
    at the end is of all results; it is the same wherever the study is played.
    """
    with user_input():
        study, text = read_toml(Study, spec)
        cells = cells_of(study, spec.absolute().parent, deals)
    with playing.open_store(out, text) as store:
        board = spec.absolute().parent / study.board if study.board else None
        playing.compile_for(cells, board, as_json)
        with playing.open_engine(engine, address, processes, turn_limit) as players:
            matches, ended = playing.play(cells, store, players, as_json)
    if matches:
        data = {
            "command": "run",
            "study": str(spec),
            "matches": [statistics.summary(match) for match in matches],
            "digest": digest(matches),
            "stopped": ended is not None,
        }
        output.show(data, [statistics.results_table(matches, str(spec), output.out.width)], as_json)
        output.report_faults([fault for match in matches for fault in match.faults])
        if not as_json:
            output.say(f"digest {data['digest']}")
    if ended is not None:
        playing.print_stopped(matches, cells)
        raise ended
