"""Options that several commands share, so that each is spelled and explained the same way everywhere, and what their values mean.

The parameters of a command are its options. That is why some commands have more than ten.
"""

from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from bombay_env import Game, checks
from bombay_env.checks import MAX_SEED
from bombay_env.registry import agent_names
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training.cli.runner import user_input
from bombay_training.matches.engines.local import MAX_TURN_LIMIT
from bombay_training.variants import games_for

MAX_COUNT: Final = 1_000_000  # games or deals that one command plays
AGENT_HELP: Final = "An agent spec, such as greedy or zero:rounds=0, or module:object for your own agent"


def complete_agent(incomplete: str) -> list[str]:
    """The agents' names that begin so, for the shell."""
    return [name for name in agent_names() if name.startswith(incomplete)]


def agents_argument(help: str) -> Any:
    """An argument that names agents."""
    return typer.Argument(help=help, autocompletion=complete_agent)


def agent_option(help: str, metavar: str = "AGENT") -> Any:
    """An option that names an agent."""
    return typer.Option(help=help, metavar=metavar, autocompletion=complete_agent)


def count(help: str) -> Any:
    """An option for a number of games, deals or positions."""
    return typer.Option(help=help, min=1, max=MAX_COUNT)


def one_game(name: str, help: str, metavar: str | None = None) -> Any:
    """An option for a game of a file, counted from 1."""
    return typer.Option(name, help=f"{help}, counted from 1.", min=1, metavar=metavar)


def new_file(help: str) -> Any:
    """An option for a file or folder that does not exist. Whether it can be created is checked before any game is played."""
    return typer.Option(help=help, callback=check_new_file)


def check_new_file(parameter: typer.CallbackParam, path: Path | None) -> Path | None:
    """The path. Raises UserError if something is there, or it cannot be created."""
    option = "" if parameter.param_type_name == "argument" else parameter.opts[0]
    with user_input():
        if path is None:
            return None
        if path.exists():
            raise ValueError(f"{path} exists already; name another {f'with {option}' if option else 'file'}")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {path.absolute().parent}")
        path.touch()
        path.unlink()
        return path


Players = Annotated[str, typer.Option(help="Numbers of players: 4, 2-5 or 2,4.", metavar="N")]
PlayerCount = Annotated[
    int, typer.Option("--players", help="The number of players.", min=MIN_PLAYERS, max=MAX_PLAYERS, metavar="N")
]
Seed = Annotated[int, typer.Option(help="The seed of all deals and random choices.", min=0, max=MAX_SEED)]
BoardFile = Annotated[Path | None, typer.Option("--board", help="A board file (TOML). Default: the packaged board.")]
RULES = "A JSON file with the fields of Rules to change. Default: the official rules."
RulesFile = Annotated[Path | None, typer.Option("--rules", help=RULES)]
PROCESSES = "Number of processes. Default: one per core. Results do not depend on it."
Processes = Annotated[int | None, typer.Option(help=PROCESSES, min=1)]
LIMIT = (
    "Seconds that a call of an agent may take for each game it decides in. An agent that exceeds it loses the game. "
    "The first call in a process has a minute more."
)
TurnLimit = Annotated[float | None, typer.Option(help=LIMIT, min=0.001, max=MAX_TURN_LIMIT)]
ENGINE = "local: processes of this machine. ray: a Ray cluster, which needs the extra `ray`."
EngineName = Annotated[Literal["local", "ray"], typer.Option("--engine", help=ENGINE)]
ADDRESS = "The cluster for --engine ray, such as auto or ray://10.0.0.1:10001. Default: this machine."
Address = Annotated[str | None, typer.Option(help=ADDRESS)]
STORE = "A folder that keeps the results of all games; one that exists is continued. Needs the extra `data`."
StoreFolder = Annotated[Path | None, typer.Option("--out", help=STORE)]
RecordsFile = Annotated[Path, typer.Argument(help="A file of game records (.jsonl).", metavar="FILE")]
GAMES = "A store of games: a folder that `--out` has written. Default: the league of the leaderboard."
GamesFolder = Annotated[Path, typer.Argument(help=GAMES, show_default=False)]
Host = Annotated[str, typer.Option(help="The address to listen at; others than loopback need --remote.")]
Port = Annotated[int, typer.Option(help="The port to listen at; 0 for any that is free.", min=0, max=65535)]
Remote = Annotated[bool, typer.Option("--remote", help="Let other machines in: whoever has the address can act.")]


# --- what their values mean: ValueError or OSError, in one line, says what is wrong and what is allowed ---


def player_counts(players: str) -> tuple[int, ...]:
    """The numbers of players in "4", "2-5" or "2,4", ascending, each once."""
    counts: set[int] = set()
    known = [str(count) for count in range(MIN_PLAYERS, MAX_PLAYERS + 1)]
    for part in players.split(","):
        low, dash, high = part.strip().partition("-")
        if low not in known or (dash and (high not in known or high < low)):
            allowed = f"numbers from {MIN_PLAYERS} to {MAX_PLAYERS}, such as 4, 2-5 or 2,4"
            raise ValueError(f"--players is {checks.shown(players)}; it must be {allowed}")
        counts |= set(range(int(low), int(high or low) + 1))
    return tuple(sorted(counts))


def games_of(players: str, rules: Path | None, board: Path | None) -> list[Game]:
    """A game for each number of players. The rules file holds the fields that differ from the official rules."""
    return games_for(player_counts(players), rules, board)


def check_distinct(specs: list[str]) -> None:
    """Raise ValueError if an agent is named twice."""
    if len(set(specs)) < len(specs):
        raise ValueError(f"an agent is named twice among {', '.join(specs)}")


def check_spec_path(folder: Path) -> None:
    """Raise ValueError if a file in the folder could not be named in an agent's spec."""
    if set(str(folder)) & set(",[]"):
        raise ValueError(
            f"{folder} has a comma or a bracket in its name, which an agent's spec cannot contain; rename it"
        )
