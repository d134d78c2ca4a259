"""What the course of games shows: luck, and of recorded games tension and kingmaking, as plain JSON types."""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bombay_env import Game
from bombay_training.evaluation import kingmaking as kingmakers
from bombay_training.evaluation import tension as tensions
from bombay_training.evaluation.luck import REDRAWS, variance_shares
from bombay_training.matches.intervals import Estimate, Moments, estimates, share_bounds
from bombay_training.matches.results import Match
from bombay_training.reports.balance.plan import Part, Play, cell_of, without_faults

LEAST_PLAYERS: Final = 3  # for a kingmaker


def play_luck(part: Part, games: Sequence[Game], play: Play, seed: int) -> list[dict[str, Any]]:
    """The shares of set-up, restocks and play in the variance, for each number of players and agent of the part."""
    rows = []
    for game, agent in itertools.product(games, part.agents):
        plain = cell_of(game, agent, part.games, seed)
        matches = without_faults(play("luck", [dataclasses.replace(plain, redraw=redraw) for redraw in REDRAWS]))
        row: dict[str, Any] = {"players": game.num_players, "agent": agent, "games": matches[0].num_blocks}
        for quantity in ("margin", "win_share"):
            shares = variance_shares(
                {key: getattr(match, quantity) for key, match in zip(REDRAWS, matches, strict=True)}
            )
            row[quantity] = {
                name: {"first": found.first.to_dict(), "total": found.total.to_dict()} for name, found in shares.items()
            }
        rows.append(row)
    return rows


def play_recorded(parts: Sequence[Part], games: Sequence[Game], play: Play, seed: int) -> list[dict[str, Any]]:
    """What recorded games show, for each number of players and each agent of the parts."""
    rows = []
    for game, part in itertools.product(games, parts):
        for agent in part.agents:
            cell = dataclasses.replace(cell_of(game, agent, part.games, seed, accounts=True), records=True)
            (match,) = without_faults(play("recorded games", [cell]))
            about = {"players": game.num_players, "agent": agent, "games": match.num_games, "tension": _tension(match)}
            rows.append(about | {"kingmaking": _kingmaking(match) if game.num_players >= LEAST_PLAYERS else None})
    return rows


def _tension(match: Match) -> dict[str, Any]:
    """Beliefs are calibrated on the first half of the games, and the figures are those of the second."""
    half, beliefs = match.num_games // 2, tensions.beliefs(match.records)
    fitted, held_out = (
        tensions.Beliefs(beliefs.share[games], beliefs.win_share[games]) for games in (slice(half), slice(half, None))
    )
    found = vars(tensions.tension(fitted, held_out))
    plain = {name: value.to_dict() if isinstance(value, Estimate) else value for name, value in found.items()}
    winner = [estimate.to_dict() for estimate in found["winner"]]
    return plain | {"winner": winner, "half_time": winner[len(winner) // 2]["mean"] if winner else None}


def _kingmaking(match: Match) -> dict[str, Any]:
    """Numbers of games and positions, with shares of them, and the interval of the share of games with a choice of winner."""
    found = kingmakers.kingmaking(match.records)
    row = found.to_dict()
    if len(found.tied):
        row["settled"], row["kingmakers"] = float(found.settled.mean()), float(found.kingmaker.mean())
        row |= {name: count / row["games"] for name, count in row["winners_differ"].items()}
        moments = Moments.of(found.differ("help", "hurt").astype(np.float64))
        row["could_choose"] = estimates(moments, share_bounds(moments))[0].to_dict()
    return row
