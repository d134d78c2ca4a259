"""What the commands that play matches share: they play cells into a store."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from bombay_training import warm_up
from bombay_training.cli import output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import UserError, user_input
from bombay_training.matches.cells import Cell
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.engines.ray import RayEngine
from bombay_training.matches.results import Match
from bombay_training.matches.run import Engine, check, run
from bombay_training.matches.store import FolderStore, Store
from bombay_training.matches.table import LostGame


class Played(NamedTuple):
    """The complete deals of each cell, and what ended the play early."""

    cells: Sequence[Cell]
    matches: list[Match]
    ended: KeyboardInterrupt | UserError | None

    @property
    def faults(self) -> list[LostGame]:
        """Of all matches."""
        return [fault for match in self.matches for fault in match.faults]

    def end_if_stopped(self) -> None:
        """End the command if the play was ended early, and say on standard error how many of the games count."""
        if self.ended is not None:
            played, total = (sum(one.num_games for one in part) for part in (self.matches, self.cells))
            output.err.print(f"stopped: {played:,} of {total:,} games count")
            raise self.ended


def open_store(out: Path | None, study: str | None = None) -> Store:
    """A store in a folder, or in memory if there is none. Raises ValueError or OSError if the folder cannot be used."""
    return Store() if out is None else FolderStore(out, study)


def open_engine(
    engine: str = "local", address: str | None = None, processes: int | None = None, turn_limit: float | None = None
) -> AbstractContextManager[Engine]:
    """What plays the games. Raises ValueError if it cannot be had."""
    if address is not None and processes is not None:
        raise ValueError("--processes is for this machine, and not for --address")
    if engine == "local" and address is not None:
        raise ValueError("--address is for --engine ray")
    if engine == "ray" and turn_limit is not None:
        raise ValueError("--turn-limit is for --engine local")
    made: Any = RayEngine(address, processes) if engine == "ray" else WorkerPool(processes, turn_limit)
    opened: AbstractContextManager[Engine] = made
    return opened


def compile_for(cells: Sequence[Cell], board: Path | None = None) -> None:
    """Compile what the players of the cells need."""
    specs = dict.fromkeys(str(player) for cell in cells for player in cell.players)
    prepare(warm_up.jobs_of_agents(specs, board))


def play(
    cells: Sequence[Cell], store: Store, engine: Engine, board: Path | None = None, title: str = "games"
) -> Played:
    """Compile what the players need, and play what the store does not have.

    Ends the command if nothing is complete when the play is stopped.

    Raises:
        ValueError: an agent cannot play, or the store has games that were played with something else.
    """
    ended: KeyboardInterrupt | UserError | None = None
    compile_for(cells, board)
    check(cells, store, engine)
    with output.progress_bar(title, sum(cell.num_games for cell in cells)) as advance:
        advance(sum(int(store.known(cell).sum()) for cell in cells))
        try:
            with user_input():
                run(cells, store, engine, advance)
                store.flush()
        except (KeyboardInterrupt, UserError) as error:
            ended = error
    matches = [store.match(cell) for cell in cells]
    played = Played(cells, [match for match in matches if match is not None], ended)
    if not played.matches:
        played.end_if_stopped()
    return played
