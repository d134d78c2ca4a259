"""Kingmaking in the last round, exactly: how often does a player with nothing left to gain choose who wins?

Every position at the start of a turn of the last round is solved (`search/last_round.py`): later movers want the largest share of
the win, then the largest margin. The mover is settled if its own share is the same whatever it does. It is a kingmaker if it is
settled and its choice changes who wins.

The whole last round is solved twice more. Where several outcomes give a mover the same share of the win, all movers help the
leader in one run and hurt it in the other. The leader is the seat that would win if the game ended before the last round (RULES
5). If several would share that win, it is the one of them that moves first.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from bombay_agents.search import last_round
from bombay_env import Game
from bombay_env.record import Record
from bombay_training.evaluation.tension import turn_starts


def kingmaking(records: Sequence[Record], limit: int = last_round.DEFAULT_LIMIT) -> np.ndarray:
    """Solve the last rounds of games with n seats, each by itself.

    Args:
        records: of games, as `turn_starts` takes them.
        limit: most ways in which a last round can go.

    Returns:
        (G,) records of bool, without the games whose last round is too large. Place t is the position with n − t turns left,
        counting its own:

        * `tied`: whether other seats share the lead.
        * `settled` (n,): whether the mover's share of the win does not depend on its turn.
        * `kingmaker` (n,): whether the mover is settled and its turn changes who wins.
        * `winners` (3, n) by aim (`last_round.AIMS`) and seat: who wins from the start of the last round.

    Raises:
        ValueError: `limit` is out of range.
    """
    game, n, solved = records[0].game, records[0].game.num_players, list[tuple[Any, ...]]()
    workspace = last_round.new_workspace(game)
    for starts in turn_starts(records)[:, -n:]:
        with contextlib.suppress(last_round.TooLargeError, OverflowError):
            solved.append(_solve(game, np.split(starts, n), limit, workspace))
    shapes = {"tied": (), "settled": n, "kingmaker": n, "winners": (len(last_round.AIMS), n)}
    return np.array(solved, [(name, np.bool_, shape) for name, shape in shapes.items()])


def differ(found: np.ndarray, aim: str, other: str) -> np.ndarray:
    """In which games of `kingmaking` the winners differ between two of `last_round.AIMS`, (G,) bool."""
    one, two = (found["winners"][:, last_round.AIMS.index(name)] for name in (aim, other))
    return np.asarray((one != two).any(axis=1))


def counts(found: np.ndarray) -> dict[str, Any]:
    """Numbers of games of `kingmaking` and of positions, as plain JSON types."""
    games, n = found["settled"].shape
    both = zip(found["settled"].sum(axis=0).tolist(), found["kingmaker"].sum(axis=0).tolist(), strict=True)
    pairs = (("help", "hurt"), ("plain", "help"), ("plain", "hurt"))
    return {
        "players": n,
        "games": games,
        "tied_leads": int(found["tied"].sum()),
        "places": [
            {"turns_left": n - place, "positions": games, "settled": settled, "kingmakers": kingmakers}
            for place, (settled, kingmakers) in enumerate(both)
        ],
        "winners_differ": {f"{aim}_{other}": int(differ(found, aim, other).sum()) for aim, other in pairs},
    }


def leaders(game: Game, state: np.ndarray) -> list[int]:
    """The seats that would win if the game ended now, in the order of play from the mover on."""
    order = (np.arange(game.num_players) + state["current_player"]) % game.num_players
    return [int(seat) for seat in order[game.provisional_results(state)["winners"][0][order]]]


def verdict(after: np.ndarray, mover: int, num_players: int) -> tuple[bool, bool]:
    """Whether the mover is settled, and whether it is a kingmaker; `after` as in `last_round.Solution`."""
    winners = seats_of(after, num_players)
    shares = winners[:, mover] / winners.sum(axis=1)
    settled = bool((shares == shares[0]).all())
    return settled, settled and bool((winners != winners[0]).any())


def seats_of(sets: np.ndarray, num_players: int) -> np.ndarray:
    """Which seats are in sets (k,) of seats, (k, n) bool."""
    return (sets[:, None] >> np.arange(num_players) & 1).astype(np.bool_)


def _solve(game: Game, starts: list[np.ndarray], limit: int, workspace: last_round.Workspace) -> tuple[Any, ...]:
    """One game's record in what `kingmaking` returns."""
    lead, n = leaders(game, starts[0]), game.num_players
    found = [last_round.solve(game, state, limit, lead[0], workspace) for state in starts]
    movers = [int(state["current_player"][0]) for state in starts]
    verdicts = [verdict(solution.after, mover, n) for solution, mover in zip(found, movers, strict=True)]
    settled, kingmaker = zip(*verdicts, strict=True)
    return len(lead) > 1, settled, kingmaker, seats_of(found[0].winners, n)
