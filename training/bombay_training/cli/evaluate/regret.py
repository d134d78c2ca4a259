"""`bombay regret`: what agents lose in the last round."""

from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

import bombay_agents
from bombay_agents.search import endgame
from bombay_env import Game
from bombay_env.agent import AgentFault
from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import games_of
from bombay_training.cli.options import AGENT_HELP, MAX_COUNT, BoardFile, Json, Players, RulesFile, Seed, complete_agent
from bombay_training.evaluation import regret as regrets
from bombay_training.rich_tables import cell, interval, new_table


def regret(
    agents: Annotated[
        list[str] | None,
        typer.Argument(help=f"{AGENT_HELP}. Default: {', '.join(regrets.AGENTS)}.", autocompletion=complete_agent),
    ] = None,
    players: Players = "4",
    positions: Annotated[
        int,
        typer.Option(help="Positions for each number of players, each from a game of its own.", min=1, max=MAX_COUNT),
    ] = 200,
    turns: Annotated[
        int,
        typer.Option(help="Most turns left in a position, at most one per player.", min=1, max=endgame.MAX_TURNS),
    ] = regrets.DEFAULT_TURNS,
    limit: Annotated[
        int,
        typer.Option(
            help="Most turns to enumerate for one position; larger positions are skipped.", min=1, max=endgame.MAX_LIMIT
        ),
    ] = regrets.DEFAULT_LIMIT,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    as_json: Json = False,
) -> None:
    """Measure what agents lose in the last round against exact play, in win share and in rupees."""
    with user_input():
        games = games_of(players, rules, board)
        specs = list(agents or regrets.AGENTS)
        for spec in specs:
            bombay_agents.make(spec)
    rows = []
    for game in games:
        lost = _measure(game, specs, positions, min(turns, game.num_players), limit, seed, as_json)
        rows += [
            {"players": game.num_players, **regrets.summary(spec, values)}
            for spec, values in zip(specs, lost, strict=True)
        ]
    data = {"positions": positions, "turns": turns, "limit": limit, "seed": seed}
    output.show({"command": "regret", **data, "agents": rows}, [_table(rows, positions)], as_json)


def _measure(
    game: Game, specs: list[str], positions: int, turns: int, limit: int, seed: int, quiet: bool
) -> np.ndarray:
    """The regrets for one number of players, (agents, positions, 2) float64."""
    sample = []
    with output.progress_bar("exact solutions", positions, quiet) as advance, user_input():
        for ending in regrets.endings(game, positions, turns, limit, seed):
            sample.append(ending)
            advance(1)
    made = [bombay_agents.make(spec) for spec in specs]
    with output.progress_bar("agents' turns", positions * len(specs), quiet) as advance, user_input(AgentFault):
        return regrets.regrets(game, made, sample, seed, advance)


def _table(rows: list[dict[str, Any]], positions: int) -> Table:
    title = f"mean regret in {positions:,} positions of the last round, 95 % intervals over positions"
    table = new_table(title, ["players", "agent", "win share", "rupees", "best turns"])
    for row in rows:
        figures = (interval(row[name], "{:.3f}") for name in ("win_share", "rupees"))
        table.add_row(str(row["players"]), cell(row["agent"]), *figures, f"{row['best']:.0%}")
    return table
