"""`bombay train expert`: expert iteration, which ends with a gate match."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env import Board, Game, Rules
from bombay_training.cli import output
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.learn.training import (
    BLOCKS,
    REFERENCES,
    Minutes,
    RunFolder,
    Threads,
    Updates,
    closing_matches,
    common_settings,
    finish,
    learn,
    new_folder,
    save_evaluation,
)
from bombay_training.cli.options import MAX_COUNT, BoardFile, Json, Players, Seed
from bombay_training.evaluation import gate
from bombay_training.learners import expert_iteration as learner
from bombay_training.learners.runs import Run
from bombay_training.learners.zero.start import zero_agent
from bombay_training.matches.pool import WorkerPool


def expert(
    start: Annotated[
        str, typer.Option(help="The zero agent to start from: zero or net:path=FILE.", metavar="AGENT")
    ] = learner.ExpertIterationSettings.start,
    nodes: Annotated[
        int, typer.Option(help="Simulations per turn of the search that plays.", min=1, max=learner.MAX_NODES)
    ] = learner.ExpertIterationSettings.nodes,
    minutes: Minutes = 3.0,
    updates: Updates = None,
    players: Players = "2-5",
    seed: Seed = 0,
    board: BoardFile = None,
    threads: Threads = None,
    out: RunFolder = None,
    blocks: Annotated[
        int,
        typer.Option(help="Deals for each row of the closing table, and most deals of the gate.", min=1, max=MAX_COUNT),
    ] = BLOCKS,
    as_json: Json = False,
) -> None:
    """Improve a net of `zero` by expert iteration: it learns from games whose turns are chosen by a tree search with it.

    The run ends with a gate match against the agent that it started from.
    """
    with user_input():
        common = common_settings(minutes, updates, players, seed, board)
        settings = learner.settings_for(start, nodes=nodes, threads=threads, **common)
        run = learner.ExpertIterationRun(settings)
        folder = new_folder(out, settings.learner)
    iterate_and_gate(run, folder, blocks, as_json)


def iterate_and_gate(run: Run, folder: Path, blocks: int, as_json: bool) -> None:
    """Run the training and end with the table against the reference agents and the gate."""
    path, summary = learn(run, folder, as_json)
    settings = run.settings
    matches, data = closing_matches(path, REFERENCES, settings, blocks, as_json)
    save_evaluation(folder, data)  # kept if the gate is interrupted
    data["gate"] = _gate(path, settings, blocks, as_json)
    line = f"Against copies of {settings.start}: {data['gate']['verdict']}"
    finish(path, settings, matches, data, f"the new agent after {summary}", [line], as_json)


def _gate(path: Path, settings: Any, blocks: int, quiet: bool) -> dict[str, Any]:
    """The match that decides whether the new agent may replace the one it started from."""
    loaded = Board.load(settings.board)
    games = [Game(Rules.official(count), loaded) for count in settings.players]
    bounds = gate.Bounds(gate.par_of(games))
    most = blocks * sum(settings.players)
    with (
        WorkerPool() as pool,
        output.progress_bar("gate, games at most", most, quiet) as advance,
        user_input(*MATCH_ERRORS),
    ):
        old = zero_agent(settings.start)
        new = f"net:path={path},rounds={old.rounds},width={old.width},draws={old.draws}"  # looks as far ahead as the old one
        verdict = gate.gate(games, new, settings.start, bounds, blocks, settings.seed, pool, advance)
    return {**verdict.to_dict(), "verdict": str(verdict)}
