"""`bombay verify`: are published games what the agents play."""

import dataclasses
from typing import Annotated

import typer

from bombay_training.cli import options, output, playing
from bombay_training.cli.runner import Result, command
from bombay_training.evaluation import verify as verifying
from bombay_training.matches.published import LEAGUE

ACCEPT = "If all are the same, let this revision of the project continue the store."


@command
def verify(
    folder: options.GamesFolder = LEAGUE,
    games: Annotated[int, options.count("Games to play again.")] = verifying.GAMES,
    seed: options.Seed = 0,
    processes: options.Processes = None,
    accept: Annotated[bool, typer.Option("--accept", help=ACCEPT)] = False,
) -> Result:
    """Play a sample of the games in a store again and compare the results bit for bit.

    Exit code: 0 if all are the same, 1 if not. Agents of your own are compared by their files, too. Agents that think by the
    clock need not repeat themselves, so their games are left out.
    """
    with playing.open_engine(processes=processes) as engine, output.progress_bar("games", games) as advance:
        found = verifying.verify(folder, games, seed, engine, advance, accept)
    passed = not found.differences
    data = {"command": "verify", "passed": passed, **dataclasses.asdict(found)}
    verdict = "all are the same" if passed else output.quantity(len(found.differences), "difference")
    lines = [f"{output.quantity(found.games, 'game')} played again: {verdict}", *found.differences[:20]]
    lines += [f"left out, because it thinks by the clock: {spec}" for spec in found.left_out]
    lines += [f"played or accepted by revision {found.revision}", f"digest {found.digest}"]
    return Result(data, lines=lines, code=0 if passed else 1)
