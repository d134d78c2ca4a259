"""The arena: matches between agents, from Python. `bombay arena` and studies play the same line-ups (`matches/lineup.py`).

A block is one deal in which every agent has every seat, so that lucky deals and good seats favour no agent. Deals depend on
the match's seed and the block's number alone: every line-up plays the same deals. `matches/statistics.py` turns a match into
estimates.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bombay_env import Game
from bombay_env.record import Record
from bombay_training.matches.lineup import Lineup, Player, Seating
from bombay_training.matches.match import Match
from bombay_training.matches.run import Engine, run


def one_vs_rest(game: Game, focal: Player, rest: Player, blocks: int, seed: int = 0, **options: Any) -> Match:
    """Play `focal` against copies of `rest` in all other seats; `options` are those of `run_blocks`."""
    lineup = [focal, *[rest] * (game.num_players - 1)]
    return run_blocks(game, lineup, blocks, seed, format="1vrest", **options)


def run_fixed_seats(game: Game, lineup: Sequence[Player], games: int, seed: int = 0, **options: Any) -> Match:
    """Play a line-up on `games` deals in the one seating given. This compares seats, not agents."""
    return run_blocks(game, lineup, games, seed, seating=Seating.FIXED, **options)


def run_blocks(
    game: Game,
    lineup: Sequence[Player],
    blocks: int,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    records: list[Record] | None = None,
    pool: Engine | None = None,
    **options: Any,
) -> Match:
    """Play a line-up on `blocks` deals, each in every order of the seating.

    Args:
        game, seed: as those of `Lineup`.
        lineup: its agents.
        blocks: number of deals.
        progress: called with the number of games played since the last call.
        records: receives the record of every game, in order.
        pool: plays the games in its processes, if all agents are specs; None for this process.
        options: `seating`, `format` and `chunk_games` of `Lineup`.

    Raises:
        ValueError: as `Lineup` and `run`.
    """
    plan = Lineup(game, tuple(lineup), blocks, seed, records=records is not None, **options)
    (match,) = run([plan], engine=pool, progress=progress)
    if records is not None:
        records += match.records
    return match
