"""`bombay train best-response`: what can a learner exploit in a frozen agent."""

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bombay_training.cli.learn.options import options_of, settings_from
from bombay_training.cli.learn.training import (
    LOOKING_AHEAD,
    POLICY,
    Blocks,
    RunFolder,
    closing_matches,
    closing_table,
    learn,
    new_folder,
)
from bombay_training.cli.options import AGENT_HELP, BoardFile, Players, complete_agent
from bombay_training.cli.runner import Result, command
from bombay_training.learners import best_response as learner
from bombay_training.learners.runs import Run
from bombay_training.matches import statistics

RESPONSE_BLOCKS: Final = 100  # deals for each row of the closing table, in which a tree plays
AGENTS: Final = {"new agent": POLICY, "new agent, 150 nodes": LOOKING_AHEAD}


VICTIM: Final = f"The frozen agent to respond to. {AGENT_HELP}."


@options_of(learner.BestResponseSettings)
@command
def best_response(
    context: typer.Context,
    victim: Annotated[str, typer.Option(help=VICTIM, metavar="AGENT", autocompletion=complete_agent)],
    players: Players = "2-5",
    board: BoardFile = None,
    out: RunFolder = None,
    blocks: Blocks = RESPONSE_BLOCKS,
    **options: Any,
) -> Result:
    """Train a best response by `zero` to copies of a frozen agent, to find out how exploitable it is.

    By default it starts from the victim's weights if that is a value net, else from those of `zero`, with the widths of that net.
    It learns from as many games as the victim did, if the victim's file says how many and neither minutes, updates nor decisions
    are given.
    """
    sources = {name: context.get_parameter_source(name) for name in options}
    given = {name: options[name] for name, source in sources.items() if source and source.name != "DEFAULT"}
    settings = learner.settings_for(victim, **settings_from(given, players, board))
    run = learner.BestResponseRun(settings)
    return respond_and_evaluate(run, new_folder(out, settings.learner), blocks)


def respond_and_evaluate(run: Run, folder: Path, blocks: int) -> Result:
    """Run the training and end with the table against the victim."""
    path, summary = learn(run, folder)
    victim = run.settings.victim
    matches = closing_matches(path, [victim], run.settings, blocks, AGENTS)
    about = {"victim": victim, **learner.budgets(path, victim)}
    title = f"best response to copies of {victim} after {summary}"
    return closing_table(path, run.settings, matches, title, about, [_budget(about)])


def new_response(victim: str, players: tuple[int, ...], minutes: float) -> tuple[Run, Path]:
    """A run of a best response, and its new folder. Raises ValueError or OSError."""
    settings = learner.settings_for(victim, players=players, minutes=minutes)
    return learner.BestResponseRun(settings), new_folder(None, settings.learner)


def learn_response(run: Run, folder: Path, victim: str) -> list[dict[str, Any]]:
    """Train a best response. Returns its win shares against copies of the victim, as plain JSON types."""
    path, _ = learn(run, folder)
    matches = closing_matches(path, [victim], run.settings, RESPONSE_BLOCKS, AGENTS)
    return [
        {
            "players": match.game.num_players,
            "response": match.agents[0],
            "win_share": statistics.share_with_interval(match).to_dict(),
            "par": statistics.par(match),
            "games": match.num_games,
        }
        for match in matches
    ]


def _budget(data: dict[str, Any]) -> str:
    """A sentence that compares what the response and its victim learned from."""
    games, victim_games = data["games"], data["victim_games"]
    if victim_games is None:
        return f"It learned from {games:,} games. No file says how many its victim learned from."
    enough = "at least as many as" if games >= victim_games else "FEWER than"
    return f"It learned from {games:,} games, {enough} its victim ({victim_games:,})."
