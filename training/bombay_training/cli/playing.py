"""What the commands that play matches share: they play cells into a store, and show what they found."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bombay_training import warm_up
from bombay_training.cli import output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import MATCH_ERRORS, UserError, user_input
from bombay_training.matches.cells import Cell
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.engines.ray import RayEngine
from bombay_training.matches.results import Match
from bombay_training.matches.run import Engine, check, run
from bombay_training.matches.store import FolderStore, Store

Ended = KeyboardInterrupt | UserError | None  # what ended the play early


def open_store(out: Path | None, study: str | None = None) -> Store:
    """A store in a folder, or in memory if there is none. Ends the command if the folder cannot be used."""
    with user_input():
        return Store() if out is None else FolderStore(out, study)


def compile_for(cells: Sequence[Cell], board: Path | None, quiet: bool) -> None:
    """Compile what the players of the cells need."""
    specs = dict.fromkeys(str(player) for cell in cells for player in cell.players)
    prepare(warm_up.jobs_of_agents(list(specs), board), quiet)


@contextlib.contextmanager
def open_engine(
    engine: str, address: str | None = None, processes: int | None = None, turn_limit: float | None = None
) -> Iterator[Engine]:
    """What plays the games. Ends the command if it cannot be had."""
    with contextlib.ExitStack() as stack:
        with user_input():
            if address is not None and processes is not None:
                raise ValueError("--processes is for this machine, and not for --address")
            if engine == "local" and address is not None:
                raise ValueError("--address is for --engine ray")
            if engine == "ray" and turn_limit is not None:
                raise ValueError("--turn-limit is for --engine local")
            made: Any = RayEngine(address, processes) if engine == "ray" else WorkerPool(processes, turn_limit)
            opened: Engine = stack.enter_context(made)
        yield opened


def play(
    cells: Sequence[Cell], store: Store, engine: Engine, quiet: bool, title: str = "games"
) -> tuple[list[Match], Ended]:
    """Play what the store does not have. Returns the complete deals of each cell, and what ended the play early.

    Ends the command if the store has games that were played with something else.
    """
    ended: Ended = None
    with user_input():
        check(cells, store, engine)
    total = sum(cell.num_games for cell in cells)
    with output.progress_bar(title, total, quiet) as advance:
        advance(sum(int(store.known(cell).sum()) for cell in cells))
        try:
            with user_input(*MATCH_ERRORS):
                run(cells, store, engine, advance)
                store.flush()
        except KeyboardInterrupt:
            ended = KeyboardInterrupt()
        except UserError as error:
            ended = error
    matches = [store.match(cell) for cell in cells]
    return [match for match in matches if match is not None], ended


def print_stopped(matches: Sequence[Match], cells: Sequence[Cell]) -> None:
    """Say on standard error how many of the games count if the play ended early."""
    played, total = sum(match.num_games for match in matches), sum(cell.num_games for cell in cells)
    output.err.print(f"stopped: {played:,} of {total:,} games count")
