"""Options that several commands share, so that each is spelled and explained the same way everywhere.

The parameters of a command are its options. That is why some commands have more than ten.
"""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from bombay_env.checks import MAX_SEED
from bombay_env.registry import agent_names
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training.matches.engines.local import MAX_TURN_LIMIT

MAX_COUNT: Final = 1_000_000  # games or deals that one command plays
AGENT_HELP: Final = "An agent spec, such as greedy or zero:rounds=0, or module:object for your own agent"


def complete_agent(incomplete: str) -> list[str]:
    """The agents' names that begin so, for the shell."""
    return [name for name in agent_names() if name.startswith(incomplete)]


def agents_argument(help: str) -> Any:
    """An argument that names agents."""
    return typer.Argument(help=help, autocompletion=complete_agent)


def count(help: str) -> Any:
    """An option for a number of games, deals or positions."""
    return typer.Option(help=help, min=1, max=MAX_COUNT)


def one_game(name: str, help: str, metavar: str | None = None) -> Any:
    """An option for a game of a file, counted from 1."""
    return typer.Option(name, help=f"{help}, counted from 1.", min=1, metavar=metavar)


Agent = Annotated[str, agents_argument(f"{AGENT_HELP}.")]
Players = Annotated[str, typer.Option(help="Numbers of players: 4, 2-5 or 2,4.", metavar="N")]
PlayerCount = Annotated[
    int, typer.Option("--players", help="The number of players.", min=MIN_PLAYERS, max=MAX_PLAYERS, metavar="N")
]
Seed = Annotated[int, typer.Option(help="The seed of all deals and random choices.", min=0, max=MAX_SEED)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
BoardFile = Annotated[Path | None, typer.Option("--board", help="A board file (TOML). Default: the packaged board.")]
RulesFile = Annotated[
    Path | None,
    typer.Option("--rules", help="A JSON file with the fields of Rules to change. Default: the official rules."),
]
Processes = Annotated[
    int | None,
    typer.Option(help="Number of processes. Default: one per core. Results do not depend on it.", min=1),
]
TurnLimit = Annotated[
    float | None,
    typer.Option(
        help="Seconds that a call of an agent may take for each game it decides in. An agent that exceeds it loses the game. "
        "The first call in a process has a minute more.",
        min=0.001,
        max=MAX_TURN_LIMIT,
    ),
]
EngineName = Annotated[
    Literal["local", "ray"],
    typer.Option("--engine", help="local: processes of this machine. ray: a Ray cluster, which needs the extra `ray`."),
]
Address = Annotated[
    str | None,
    typer.Option(help="The cluster for --engine ray, such as auto or ray://10.0.0.1:10001. Default: this machine."),
]
StoreFolder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="A folder that keeps the results of all games; one that exists is continued. Needs the extra `data`.",
    ),
]
RecordsFile = Annotated[Path, typer.Argument(help="A file of game records (.jsonl).", metavar="FILE")]
GamesFolder = Annotated[
    Path,
    typer.Argument(
        help="A store of games: a folder that `--out` has written. Default: the league of the leaderboard.",
        show_default=False,
    ),
]
Host = Annotated[str, typer.Option(help="The address to listen at; others than loopback need --remote.")]
Port = Annotated[int, typer.Option(help="The port to listen at; 0 for any that is free.", min=0, max=65535)]
Remote = Annotated[bool, typer.Option("--remote", help="Let other machines in: whoever has the address can act.")]
