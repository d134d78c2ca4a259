"""`bombay tune`: tune the weights of the scripted planner."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.options import MAX_COUNT, Json, PlayerCount
from bombay_training.extras import missing_extra
from bombay_training.learners import tune as learner
from bombay_training.rich_tables import new_table


def tune(
    file: Annotated[
        Path, typer.Argument(help="The file of weights (.json); an existing file is improved.", metavar="FILE")
    ],
    players: PlayerCount = 4,
    generations: Annotated[int, typer.Option(help="Generations of CMA-ES.", min=1, max=MAX_COUNT)] = 48,
    population: Annotated[int, typer.Option(help="Candidates per generation.", min=4, max=MAX_COUNT)] = 12,
    games: Annotated[int, typer.Option(help="Deals per candidate.", min=2, max=MAX_COUNT)] = 120,
    challenge: Annotated[
        int,
        typer.Option(
            help="Generations between two challenges of the incumbent; one more follows the last.", min=1, max=MAX_COUNT
        ),
    ] = 8,
    seed: Annotated[int, typer.Option(help="The seed of the deals and the search.", min=1, max=2**32 - 1)] = 1,
    as_json: Json = False,
) -> None:
    """Tune the planner's weights for one number of players by self-play. Needs the extra `tune`.

    The file is written whenever the incumbent is beaten; play the result as planner:weights=FILE.
    """
    with user_input():
        learner.first_weights(file)
        _check_cma()
    challenges = []
    with output.progress_bar("generations", generations, as_json) as advance, user_input(OSError):
        for found in learner.tune(file, players, generations, population, games, challenge, seed, advance):
            challenges.append(found._asdict())
            if not as_json:  # while it runs, which can take hours
                output.err.print(f"generation {found.generation}: {_margin(challenges[-1])}", highlight=False)
    table = new_table(f"challenges of the incumbent, {players} players", ["generation", "margin", "accepted"])
    for row in challenges:
        table.add_row(str(row["generation"]), _margin(row), "yes" if row["accepted"] else "no")
    output.show(
        {"command": "tune", "file": str(file), "players": players, "seed": seed, "challenges": challenges},
        [table],
        as_json,
    )
    if not as_json:
        beaten = any(row["accepted"] for row in challenges)
        kept = f"{file} is unchanged" if file.exists() else "no file was written"
        output.say(f"The weights are in {file}" if beaten else f"The incumbent was not beaten; {kept}.")


def _margin(row: dict[str, Any]) -> str:
    return f"{row['margin']:+.3f} ± {row['error']:.3f} rupees"


def _check_cma() -> None:
    """Raise ValueError if the optimizer is not installed."""
    try:
        import cma  # noqa: F401 - only to find out
    except ImportError as error:
        raise ValueError(missing_extra("tuning", "tune", error)) from None
