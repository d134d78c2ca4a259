"""What the values of options stand for: numbers of players, games, and files and folders that may be written.

Every function raises ValueError or OSError with one line that says what is wrong and what is allowed.
"""

import importlib
from pathlib import Path
from typing import Any

from bombay_env import Game, checks
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training.cli.errors import needs
from bombay_training.variants import games_for


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


def check_new_file(path: Path | None, option: str = "--out") -> None:
    """Raise an error if the file or folder exists or cannot be created. Checked before any game is played.

    Args:
        path: the file or folder, None if none is wanted.
        option: that names it; empty if it is an argument.
    """
    if path is None:
        return
    if path.exists():
        raise ValueError(f"{path} exists already; name another{f' with {option}' if option else ' file'}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.absolute().parent}")
    path.touch()
    path.unlink()


def check_spec_path(folder: Path) -> None:
    """Raise ValueError if a file in the folder could not be named in an agent's spec."""
    if set(str(folder)) & set(",[]"):
        raise ValueError(
            f"{folder} has a comma or a bracket in its name, which an agent's spec cannot contain; rename it"
        )


def analysis_module(name: str) -> Any:
    """A module that draws. It is imported only here, because no other command needs Matplotlib."""
    with needs("analysis", "this"):
        import matplotlib  # noqa: F401 - the modules import it only when they draw

        return importlib.import_module(f"bombay_training.{name}")
