"""What the course of games shows: luck, why a seat is favoured, tension and kingmaking, as plain JSON types."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bombay_env import Game
from bombay_env.rules import COLOUR_NAMES
from bombay_training.evaluation import kingmaking as kingmakers
from bombay_training.evaluation import tension as tensions
from bombay_training.evaluation.luck import REDRAWS, variance_shares
from bombay_training.evaluation.whereabouts import whereabouts
from bombay_training.matches.accounts import SOURCES
from bombay_training.matches.intervals import Moments, estimates, mean_bounds, share_bounds
from bombay_training.matches.results import Match
from bombay_training.reports.balance.plan import Play, cell_of, played
from bombay_training.reports.balance.spec import Part

PLACES = ("top", "middle", "bottom")  # of a column of demand
LEAST_PLAYERS = 3  # for a kingmaker


def luck(part: Part, games: Sequence[Game], seed: int, play: Play) -> list[dict[str, Any]]:
    """The shares of set-up, restocks and play in the variance, for each number of players and agent of the part."""
    rows = []
    for game in games:
        for agent in part.agents:
            plain = cell_of(game, agent, part.games, seed)
            matches = played(play, "luck", [dataclasses.replace(plain, redraw=redraw) for redraw in REDRAWS])
            row: dict[str, Any] = {"players": game.num_players, "agent": agent, "games": matches[0].num_blocks}
            for quantity in ("margin", "win_share"):
                results = [getattr(match, quantity) for match in matches]
                row[quantity] = {
                    name: {"first": shares.first.to_dict(), "total": shares.total.to_dict()}
                    for name, shares in variance_shares(dict(zip(REDRAWS, results, strict=True))).items()
                }
            rows.append(row)
    return rows


def stories(
    part: Part, games: Sequence[Game], seed: int, play: Play, favoured: Mapping[tuple[int, str], int]
) -> list[dict[str, Any]]:
    """What recorded games show, for each number of players and agent of the part; `favoured` is the seat of each."""
    rows = []
    for game in games:
        for agent in part.agents:
            cell = dataclasses.replace(cell_of(game, agent, part.games, seed, accounts=True), records=True)
            (match,) = played(play, "recorded games", [cell])
            rows.append(
                {
                    "players": game.num_players,
                    "agent": agent,
                    "games": match.num_games,
                    "why": _why(match, favoured[game.num_players, agent]),
                    "tension": _tension(match),
                    "kingmaking": _kingmaking(match) if game.num_players >= LEAST_PLAYERS else None,
                }
            )
    return rows


def _why(match: Match, seat: int) -> dict[str, Any]:
    """How a seat differs from the mean of all seats."""
    assert match.accounts is not None
    found = whereabouts(match.records)
    sales = [f"{colour}, {place}" for colour in COLOUR_NAMES for place in PLACES]
    sites = [site.name for site in match.game.board.sites]
    return {
        "seat": seat,
        "sources": _differences(SOURCES, match.accounts["rupees"], seat),
        "sales": _differences(sales, found.sales, seat),
        "visits": _differences(sites, found.visits, seat),
        "palaces": _differences(sites, found.palaces, seat),
    }


def _differences(names: Sequence[str], values: np.ndarray, seat: int) -> dict[str, dict[str, float | None]]:
    """How much more of each value (G, n, …) one seat has than the mean of all seats, with Student's intervals, by name."""
    values = values.reshape(*values.shape[:2], len(names))
    moments = Moments.of(values[:, seat] - values.mean(axis=1))
    found = estimates(moments, mean_bounds(moments))
    return {name: estimate.to_dict() for name, estimate in zip(names, found, strict=True)}


def _tension(match: Match) -> dict[str, Any]:
    """Beliefs are calibrated on the first half of the games, and the figures are those of the second."""
    half = match.num_games // 2
    beliefs = tensions.beliefs(match.records)
    fitted, held_out = (
        tensions.Beliefs(beliefs.share[games], beliefs.win_share[games]) for games in (slice(half), slice(half, None))
    )
    found = tensions.tension(fitted, held_out)
    return {
        "games": found.games,
        "temperature": found.temperature,
        "calibration_error": found.calibration_error,
        "lead_changes": found.lead_changes and found.lead_changes.to_dict(),
        "decided": found.decided and found.decided.to_dict(),
        "winner": [estimate.to_dict() for estimate in found.winner],
    }


def _kingmaking(match: Match) -> dict[str, Any]:
    """Numbers of games and positions, and the share of games in which kingmakers could choose, with its interval."""
    found = kingmakers.kingmaking(match.records)
    row = found.to_dict()
    if len(found.tied):
        moments = Moments.of(found.differ("help", "hurt").astype(np.float64))
        row["could_choose"] = estimates(moments, share_bounds(moments))[0].to_dict()
    return row
