"""`bombay gate`: may a new agent replace an old one."""

from typing import Annotated

import typer

import bombay_agents
from bombay_training import warm_up
from bombay_training.cli import options, output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.inputs import games_of
from bombay_training.cli.runner import Result, command
from bombay_training.evaluation import gate as gates
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.rich_tables import new_table

DELTA = "Gain in win share over par that should almost certainly be accepted."
ALPHA = "Largest probability of accepting an agent that is not better."
BETA = "Largest probability of rejecting, before the last block, an agent that is better by delta."
MAX_BLOCKS = "Most deals, each played for all numbers of players and with the new agent in every seat."


@command
def gate(
    new: Annotated[str, options.agents_argument(f"The new agent. {options.AGENT_HELP}.")],
    old: Annotated[str, options.agents_argument("The agent that it may replace.")],
    players: options.Players = "4",
    delta: Annotated[float, typer.Option(help=DELTA)] = gates.Bounds.delta,
    alpha: Annotated[float, typer.Option(help=ALPHA)] = gates.Bounds.alpha,
    beta: Annotated[float, typer.Option(help=BETA)] = gates.Bounds.beta,
    max_blocks: Annotated[int, options.count(MAX_BLOCKS)] = 1000,
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    processes: options.Processes = None,
) -> Result:
    """Decide by a match whether a new agent may replace an old one.

    Exit code: 0 if it may, 1 if not, 2 if the old agent loses a game by a fault.

    The new agent plays against copies of the old one. The match ends as soon as a sequential test on the means of blocks has
    decided; its error rates hold however early that is. With several numbers of players the mean win share counts.
    """
    games = games_of(players, rules, board)
    bounds = gates.Bounds(gates.par_of(games), delta, alpha, beta)
    if new == old:
        raise ValueError(f"the new agent and the old one are the same: {new}")
    for spec in (new, old):
        bombay_agents.make(spec)
    prepare(warm_up.jobs_of_agents((new, old), board))
    most = max_blocks * sum(game.num_players for game in games)
    with WorkerPool(processes) as pool, output.progress_bar("games at most", most) as advance:
        verdict = gates.gate(games, new, old, bounds, max_blocks, seed, pool, advance)
    data = {"command": "gate", "new": new, "old": old, "seed": seed, **verdict.to_dict()}
    rows = [[row["players"], row["games"], f"{row['win_share']:.3f}", f"{row['par']:.2f}"] for row in data["counts"]]
    table = new_table(f"{new} against copies of {old}", ["players", "games", "win share", "par"], rows)
    lines = [f"win share {verdict.estimate}, valid at any stopping time; par {bounds.par:.3f}", str(verdict)]
    return Result(data, [table], lines, verdict.faults, code=0 if verdict.replaced else 1)
