"""How much fairness depends on the board: win shares by seat over random boards, with the noise of the games removed."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from bombay_env import Board, Game
from bombay_training.matches.intervals import Moments
from bombay_training.matches.spec import games_with, seed_from
from bombay_training.reports.balance.plan import Play, Study, cell_of, without_faults


def play_boards(study: Study, games: Sequence[Game], play: Play, seed: int) -> list[dict[str, Any]]:
    """How the shares of seats vary between random boards, for each number of players and agent, as plain JSON types."""
    assert study.boards is not None
    part, rows, tiers = study.boards, [], {tier.agent: tier for tier in study.tiers}
    for game, agent in itertools.product(games, part.agents):
        wanted = [cell_of(game, agent, games_with(tiers[agent].games, game.num_players), seed, accounts=True)]
        for board in map(Board.random, range(part.boards)):
            deals = seed_from(f"{seed} {board.name}")
            wanted.append(cell_of(Game(game.rules, board), study.elsewhere(agent), part.games, deals))
        packaged, *found = (match.win_share for match in without_faults(play("boards", wanted)))
        best = times_best(found)
        seats = [row | {"best": best[row["seat"]]} for row in spread(found, packaged)]
        about = {"players": game.num_players, "agent": agent, "boards": part.boards, "games": part.games}
        rows.append(about | {"best_seat": best, "seats": seats})
    return rows


def times_best(boards: Sequence[np.ndarray]) -> list[float]:
    """On how many boards each seat has the highest mean win share; equal seats share the board. Win shares (G, n) of each."""
    means = np.array([shares.mean(axis=0) for shares in boards])
    best = np.isclose(means, means.max(axis=1, keepdims=True), rtol=1e-9)  # sums of thirds are rounded
    found: list[float] = (best / best.sum(axis=1, keepdims=True)).sum(axis=0).tolist()
    return found


def spread(boards: Sequence[np.ndarray], packaged: np.ndarray) -> list[dict[str, Any]]:
    """The distribution of true win shares over boards, by seat.

    Args:
        boards: win shares (G, n) of each of at least two boards, which were drawn at random.
        packaged: win shares (G', n) on the packaged board.

    Returns:
        For each seat as plain JSON types: `mean` over boards with its 95 % interval `mean_low`, `mean_high`; `sd`, the standard
        deviation of true win shares between boards, which is that of the boards' means with the expected noise of their games
        removed (method of moments); `new_low`, `new_high`, the 90 % interval for the true share on a new board, which allows for
        the error of `sd`; `packaged`, the share on the packaged board; and `percentile`, its place among boards, None without
        spread.
    """
    moments, free, rows = [Moments.of(shares) for shares in boards], len(boards) - 1, []
    means = np.array([part.mean for part in moments])
    noise = np.array([part.variance / part.blocks for part in moments]).mean(axis=0)
    columns = means.mean(axis=0).tolist(), means.var(axis=0, ddof=1), noise, packaged.mean(axis=0).tolist()
    for seat, (mean, total, error, here) in enumerate(zip(*columns, strict=True)):
        sd, of_mean = math.sqrt(max(0.0, total - error)), math.sqrt(total / len(boards))
        of_new = math.sqrt(_expected_variance(total - error, total * math.sqrt(2 / free)) + of_mean**2)
        half, new = float(stats.t.ppf(0.975, free)) * of_mean, float(stats.t.ppf(0.95, free)) * of_new
        row = {"seat": seat, "mean": mean, "mean_low": mean - half, "mean_high": mean + half, "sd": sd}
        row |= {"new_low": mean - new, "new_high": mean + new, "packaged": here}
        rows.append(row | {"percentile": 100 * float(stats.norm.cdf((here - mean) / sd)) if sd else None})
    return rows


def _expected_variance(estimate: float, error: float) -> float:
    """The mean of a variance whose estimate, which may be negative, has this standard error, given that none is negative.

    The estimate alone is 0 wherever the noise of games hides the spread, and an interval from it then is too narrow.
    """
    if error == 0:
        return max(0.0, estimate)
    return float(stats.truncnorm.mean(-estimate / error, math.inf, loc=estimate, scale=error))
