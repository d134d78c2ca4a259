"""`bombay verify`: are published games what the agents play."""

from typing import Annotated

import typer

from bombay_training.cli import output
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.options import MAX_COUNT, GamesFolder, Json, Processes, Seed
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.published import LEAGUE
from bombay_training.reports import verify as verifying


def verify(
    folder: GamesFolder = LEAGUE,
    games: Annotated[int, typer.Option(help="Games to play again.", min=1, max=MAX_COUNT)] = verifying.GAMES,
    seed: Seed = 0,
    processes: Processes = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="If all are the same, let this revision of the project continue the store.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Play a sample of the games in a store again and compare the results bit for bit.

    Exit code: 0 if all are the same, 1 if not. Agents of your own are compared by their files, too. Agents that think by the
    clock need not repeat themselves, so their games are left out.
    """
    with (
        WorkerPool(processes) as pool,
        output.progress_bar("games", games, as_json) as advance,
        user_input(*MATCH_ERRORS),
    ):
        found = verifying.verify(folder, games, seed, pool, advance, accept)
    data = {
        "command": "verify",
        "games": found.games,
        "passed": found.passed,
        "differences": list(found.differences),
        "left_out": list(found.left_out),
        "revision": found.revision,
        "digest": found.digest,
    }
    output.show(data, [], as_json)
    if not as_json:
        verdict = "all are the same" if found.passed else output.quantity(len(found.differences), "difference")
        lines = [f"{output.quantity(found.games, 'game')} played again: {verdict}", *found.differences[:20]]
        lines += [f"left out, because it thinks by the clock: {spec}" for spec in found.left_out]
        output.say(*lines, f"played or accepted by revision {found.revision}", f"digest {found.digest}")
    raise typer.Exit(0 if found.passed else 1)
