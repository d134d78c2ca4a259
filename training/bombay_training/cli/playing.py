"""What the commands that play matches share: they compile what agents need, and play line-ups into a store."""

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bombay_env.jit import kernels
from bombay_training import warm_up as warm_ups
from bombay_training.cli import options, runner
from bombay_training.cli.runner import Result, UserError, command
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.engines.ray import RayEngine
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.match import Match
from bombay_training.matches.run import Engine, missing, play_missing
from bombay_training.matches.store import Store
from bombay_training.matches.table import LostGame

# --- compiling ---


@command
def warm_up(processes: options.Processes = None) -> Result:
    """Compile all kernels now, for environments, agents and learners, so that no command has to compile later."""
    jobs = warm_ups.all_jobs()
    if problem := kernels.obstacle():
        raise RuntimeError(f"compiled code cannot be kept: {problem}")
    with runner.progress_bar("compiling", len(jobs)) as advance:
        warm_ups.compile_all(jobs, processes, advance)
    names = [job.name for job in jobs]
    return Result({"command": "warm-up", "jobs": names}, lines=[f"Compiled everything: {', '.join(names)}"])


def prepare(jobs: Sequence[warm_ups.Job]) -> None:
    """Do the jobs that were not done before, with a bar on stderr. If one fails, the command compiles itself."""
    with contextlib.suppress(RuntimeError, OSError):
        due = [] if kernels.obstacle() else [job for job in jobs if not warm_ups.done_file(job).exists()]
        if due and not runner.out.quiet and not runner.err.is_terminal:  # where no bar is shown
            runner.note(f"bombay: compiling, only the first time: {', '.join(job.name for job in due)}")
        if due:
            with runner.progress_bar("compiling", len(due)) as advance:
                warm_ups.compile_all(due, None, advance)


def prepare_agents(specs: Iterable[str], board: Path | None = None) -> None:
    """Compile what agents need to play on the board."""
    prepare(warm_ups.jobs_of_agents(specs, board))


def players_of(lineups: Sequence[Lineup]) -> list[str]:
    """The specs of all players, each once."""
    return list(dict.fromkeys(str(player) for lineup in lineups for player in lineup.players))


# --- playing ---


class Played(NamedTuple):
    """The complete deals of each line-up, and what ended the play early."""

    matches: list[Match]
    ended: KeyboardInterrupt | UserError | None

    @property
    def faults(self) -> list[LostGame]:
        """Of all matches."""
        return [fault for match in self.matches for fault in match.faults]


def open_engine(
    engine: str = "local", address: str | None = None, processes: int | None = None, turn_limit: float | None = None
) -> contextlib.AbstractContextManager[Engine]:
    """What plays the games. Raises ValueError if it cannot be had."""
    if address is not None and processes is not None:
        raise ValueError("--processes is for this machine, and not for --address")
    if engine == "local" and address is not None:
        raise ValueError("--address is for --engine ray")
    if engine == "ray" and turn_limit is not None:
        raise ValueError("--turn-limit is for --engine local")
    return RayEngine(address, processes) if engine == "ray" else WorkerPool(processes, turn_limit)


def play(
    lineups: Sequence[Lineup],
    store: Store,
    engine: Engine,
    board: Path | None = None,
    title: str = "games",
    partial: bool = False,
) -> Played:
    """Compile what the players need, and play what the store does not have.

    If play is stopped, the number of games that count is printed on standard error, and the cause is raised. With `partial`, it
    is raised only if no game counts; otherwise it is returned with those games.

    Raises:
        ValueError: an agent cannot play, or the store has games that were played with something else.
    """
    prepare_agents(players_of(lineups), board)
    jobs = missing(lineups, store, engine)
    ended, total = None, sum(lineup.num_games for lineup in lineups)
    with runner.progress_bar(title, total) as advance:
        advance(sum(int(store.known(lineup).sum()) for lineup in lineups))
        try:
            with runner.user_input():
                play_missing(jobs, store, engine, advance)
                store.flush()
        except (KeyboardInterrupt, UserError) as error:
            ended = error
            store.flush()  # before games are counted
    matches = [match for lineup in lineups if (match := store.match(lineup))]
    if ended is not None:
        runner.note(f"stopped: {sum(match.num_games for match in matches):,} of {total:,} games count")
        if not (partial and matches):
            raise ended
    return Played(matches, ended)
