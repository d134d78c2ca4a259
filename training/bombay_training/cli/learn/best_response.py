"""`bombay train best-response`: what can a learner exploit in a frozen agent."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bombay_training.cli.errors import user_input
from bombay_training.cli.learn.training import (
    Blocks,
    RunFolder,
    Threads,
    Updates,
    closing_matches,
    common_settings,
    finish,
    learn,
    new_folder,
)
from bombay_training.cli.options import AGENT_HELP, BoardFile, Json, Players, Seed, complete_agent
from bombay_training.learners import best_response as learner
from bombay_training.learners.runs import Run
from bombay_training.learners.study import LOOKING_AHEAD, POLICY

RESPONSE_BLOCKS: Final = 100  # deals for each row of the closing table, in which a tree plays
AGENTS: Final = {"new agent": POLICY, "new agent, 150 nodes": LOOKING_AHEAD}


def best_response(
    victim: Annotated[
        str,
        typer.Option(
            help=f"The frozen agent to respond to. {AGENT_HELP}.", metavar="AGENT", autocompletion=complete_agent
        ),
    ],
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Minutes of learning. Default: as many games as the victim learned from, if it is a value net; else 3 minutes.",
            min=0.01,
        ),
    ] = None,
    updates: Updates = None,
    players: Players = "2-5",
    seed: Seed = 0,
    board: BoardFile = None,
    threads: Threads = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="The zero agent whose weights the response starts from, or '' for random weights. Default: the victim if it is "
            "one with a single net, else zero.",
            metavar="AGENT",
        ),
    ] = None,
    out: RunFolder = None,
    blocks: Blocks = RESPONSE_BLOCKS,
    as_json: Json = False,
) -> None:
    """Train a best response by `zero` to copies of a frozen agent, to find out how exploitable it is."""
    with user_input():
        common = common_settings(minutes, updates, players, seed, board)
        settings = learner.settings_for(victim, start, threads=threads or 0, **common)
        run = learner.BestResponseRun(settings)
        folder = new_folder(out, settings.learner)
    respond_and_evaluate(run, folder, blocks, as_json)


def respond_and_evaluate(run: Run, folder: Path, blocks: int, as_json: bool) -> None:
    """Run the training and end with the table against the victim."""
    path, summary = learn(run, folder, as_json)
    settings = run.settings
    matches, data = closing_matches(path, [settings.victim], settings, blocks, as_json, AGENTS)
    data |= {"victim": settings.victim, **learner.budgets(path, settings.victim)}
    title = f"best response to copies of {settings.victim} after {summary}"
    finish(path, settings, matches, data, title, [_budget(data)], as_json)


def _budget(data: dict[str, Any]) -> str:
    """A sentence that compares what the response and its victim learned from."""
    games, victim_games = data["games"], data["victim_games"]
    if victim_games is None:
        return f"It learned from {games:,} games. No file says how many its victim learned from."
    enough = "at least as many as" if games >= victim_games else "FEWER than"
    return f"It learned from {games:,} games, {enough} its victim ({victim_games:,})."
