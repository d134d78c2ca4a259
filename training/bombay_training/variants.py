"""Makes a `Game` for each number of players from a rules file and a board file."""

import os
from collections.abc import Iterable

from bombay_env import Board, Game, Rules

FilePath = str | os.PathLike[str] | None


def games_for(counts: Iterable[int], rules: FilePath = None, board: FilePath = None) -> list[Game]:
    """A game for each number of players, all on one board.

    Args:
        counts: the numbers of players.
        rules: a JSON file of the fields that differ from the official rules; None for none.
        board: a board file; None for the packaged board.

    Raises:
        ValueError: a file is not valid.
    """
    loaded = Board.load(board)
    return [Game(Rules.official(count) if rules is None else Rules.load(rules, count), loaded) for count in counts]
