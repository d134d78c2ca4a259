"""`bombay study`: what a learner reaches in a given time, with several seeds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env.checks import MAX_SEED
from bombay_training import rich_tables
from bombay_training.cli import output
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.inputs import player_counts
from bombay_training.cli.learn.training import Threads, learn
from bombay_training.cli.options import MAX_COUNT, Json, Processes
from bombay_training.evaluation import ladder
from bombay_training.learners import study as studies
from bombay_training.matches.pool import WorkerPool


def study(
    learner: Annotated[str, typer.Argument(help=f"One of {', '.join(studies.SUBJECTS)}.")] = "zero",
    minutes: Annotated[str, typer.Option(help="Minutes of learning of each run, as in 3,10,60.")] = "3,10,60",
    seeds: Annotated[str, typer.Option(help="Seeds of the runs, as in 0,1,2.")] = "0,1,2",
    players: Annotated[
        str | None, typer.Option(help="Numbers of players of the matches. Default: those it learns with.", metavar="N")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of runs and results; one that exists is continued.")] = Path(
        "runs/study"
    ),
    threads: Threads = None,
    games: Annotated[
        int,
        typer.Option(
            help="Games of a match; a quarter of them where the agent searches.",
            min=1,
            max=MAX_COUNT,
        ),
    ] = studies.GAMES,
    deals: Annotated[
        int,
        typer.Option(
            help="The seed of the deals. Choose settings by other deals than the default, which are for reports.",
            min=0,
            max=MAX_SEED,
        ),
    ] = ladder.SEED,
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Train a learner for several times and seeds, and print its win shares against others on held-out deals.

    A study that was stopped continues where it was. Runs that have begun keep their threads.
    """
    with user_input():
        trials = studies.trials(learner, _numbers(minutes, "--minutes", float), _numbers(seeds, "--seeds", int), out)
        plans = [(trial, trial.settings(threads)) for trial in trials]
        counts = player_counts(players) if players else trials[0].subject.players
        studies.check_players(learner, counts)
        studies.read(out / studies.MATCHES)  # now rather than after an hour of learning
        ladder.check_writable(out / studies.MATCHES)
    rows: list[dict[str, Any]] = []
    for trial, settings in plans:
        with user_input():
            run = trial.run(settings)
        learn(run, trial.folder, as_json)
        total = studies.num_games(trial, counts, games)
        with (
            WorkerPool(processes) as pool,
            output.progress_bar("games", total, as_json) as advance,
            user_input(*MATCH_ERRORS),
        ):
            rows += studies.judge(trial, counts, out, games, deals, pool, advance)
    output.show({"command": "study", "rows": rows}, [_table(rows)], as_json)


def _numbers(text: str, option: str, of: type) -> list[Any]:
    """The numbers above or equal to zero in a list such as 3,10,60."""
    try:
        found = [of(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 0:
        raise ValueError(f"{option} is {text!r}; it must be numbers of 0 or more, separated by commas, such as 0,1,2")
    return found


def _table(rows: list[dict[str, Any]]) -> Any:
    """A row for each match."""
    columns = ["minutes", "seed", "players", "agent", "against", "games", "win share [95 %]", "par", "ms/turn"]
    table = rich_tables.new_table("", columns)
    for row in rows:
        table.add_row(
            f"{row['minutes']:g}",
            str(row["seed"]),
            str(row["players"]),
            rich_tables.cell(row["agent"]),
            rich_tables.cell(f"{row['players'] - 1} × {row['rest']}"),
            f"{row['games']:,}",
            rich_tables.interval(row["win_share"], "{:.3f}"),
            f"{row['par']:.2f}",
            rich_tables.format_ms(row["ms_per_turn"]),
        )
    return table
