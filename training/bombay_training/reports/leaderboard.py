"""The leaderboard: what a league shows, as plain JSON types and as a page. It reads matches and plays nothing.

Needs SciPy and Jinja2 (extra `analysis`), so only the commands that use it import this module.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from markupsafe import Markup

from bombay_env import Game, Rules
from bombay_env.registry import knowledge
from bombay_training.evaluation.ratings import Ratings, check_lineups, rate, rated
from bombay_training.matches.match import Match
from bombay_training.matches.statistics import FaultCount, unrated_note
from bombay_training.matches.store import MACHINE, anchors_of, matches_of_study, study_of, times_are_published
from bombay_training.reports import pages
from bombay_training.rich_tables import format_ms

LIMITS: Final = (1, 5, 20, 100)  # milliseconds per turn
MISFITS: Final = 3  # shown of each number of players
NEAR: Final = 2.0  # ratings that are near 0
PAGE: Final = Path(__file__).with_name("leaderboard.md.j2")

Row = dict[str, Any]


def league_data(folder: Path) -> dict[str, Any]:
    """What the league in a store shows at each number of players, as plain JSON types.

    It is of the games of the store's study. Times are those with which the league was published; there are none otherwise, as an
    agent that decides for many games in one call needs less.

    Raises:
        ValueError: the folder is no store, there are games of different rules or boards at one number of players, or as
            `ratings.rate`.
    """
    matches, others = matches_of_study(folder)
    anchors, timed = anchors_of(folder), times_are_published(folder)
    distinct = [match for match in matches if len(match.agents) == match.game.num_players]
    counts = sorted({match.game.num_players for match in matches})
    if len({match.game for match in matches}) > len(counts):
        raise ValueError("the store has games of different rules or boards; a leaderboard needs a store for each")
    groups = [[match for match in distinct if match.game.num_players == count] for count in counts]
    return {
        "format": "bombay-leaderboard/2",
        "games": sum(match.num_games for match in matches),
        "other_games": others,
        "standard": all(game == Game(Rules.official(game.num_players)) for game in {match.game for match in matches}),
        "counts": [_count_data(group, anchors, timed) for group in groups if group],
    }


def _count_data(matches: Sequence[Match], anchors: Sequence[str], timed: bool) -> dict[str, Any]:
    ratings, fit = rate(matches, reference=anchors), check_lineups(matches)
    matches = rated(matches)
    times, ahead = _times(matches) if timed else {}, _ahead(matches)
    data = ratings.to_dict()
    agents = [
        row
        | {
            "best": row["rank_probability"][0],
            "ms": times.get(row["agent"]),
            "knowledge": knowledge(row["agent"]),
        }
        for row in data["agents"]
    ]
    # At 2 players the two agents of a line-up have the same residual up to rounding errors: the one that wins less comes first.
    worst = sorted(fit.rows, key=lambda row: (-round(abs(row["residual"]), 9), row["raw"]))
    return data | {
        "players": matches[0].game.num_players,
        "agents": agents,
        "resolves": _resolves(ratings, matches[0].game.num_players),
        "within": [_best_within(agents, ratings, limit) for limit in LIMITS],
        "ahead": [
            {"agent": one, "other": other, "games": games, "ahead": part}
            for (one, other), (games, part) in ahead.items()
        ],
        "one_rating_explains_all": {"p": fit.p_value, "misfits": worst[:MISFITS]},
    }


def _times(matches: Sequence[Match]) -> dict[str, float]:
    """Milliseconds per turn of each agent."""
    sums: dict[str, np.ndarray] = {}
    for match in matches:
        for name, timing in zip(match.agents, match.timings, strict=True):
            sums[name] = sums.get(name, np.zeros(2)) + np.array([timing.seconds, timing.turns])
    return {name: float(1000 * seconds / turns) for name, (seconds, turns) in sums.items() if turns}


def _ahead(matches: Sequence[Match]) -> dict[tuple[str, str], tuple[int, float]]:
    """In how many games two agents met, and in what share of them the first finished ahead of the second. A tie is half.

    Games that ended by a fault are left out. Every agent has one seat.
    """
    sums: dict[tuple[str, str], np.ndarray] = {}
    for match in matches:
        places = [
            (match.place * (match.seats == agent)).sum(axis=1)[match.played_out] for agent in range(len(match.agents))
        ]
        for (one, mine), (other, theirs) in itertools.permutations(zip(match.agents, places, strict=True), 2):
            won = (mine < theirs) + 0.5 * (mine == theirs)
            sums[one, other] = sums.get((one, other), np.zeros(2)) + np.array([len(won), won.sum()])
    return {key: (int(games), float(won / games)) for key, (games, won) in sums.items() if games}


def _resolves(ratings: Ratings, players: int) -> float | None:
    """The difference of win shares at par that is told from none, the median over neighbours in rank; None if there are none.

    Only neighbours near a rating of 0 are taken, because those far from it have wider intervals.
    """
    order = [place for place in np.argsort(ratings.rank, kind="stable") if abs(ratings.rating[place].mean) < NEAR]
    _, low, high = ratings.differences[order[:-1], order[1:]].T
    half = (high - low)[np.isfinite(high - low)] / 2
    return float(np.median(half)) * (players - 1) / players**2 if half.size else None


def _best_within(agents: list[dict[str, Any]], ratings: Ratings, limit: float) -> dict[str, Any]:
    """The best agent within so many milliseconds per turn, how sure it is the best, and its lead over the next one."""
    quick = [row["agent"] for row in agents if row["ms"] is not None and float(format_ms(row["ms"])) <= limit]
    return {
        "ms": limit,
        "agent": quick[0] if quick else None,
        "best": ratings.best(quick[0], quick[1:]) if quick else None,
        "next": quick[1] if len(quick) > 1 else None,
        "lead": ratings.difference(*quick[:2]).to_dict() if len(quick) > 1 else None,
    }


def page(data: dict[str, Any], folder: Path, chart: str) -> str:
    """The leaderboard as Markdown.

    Args:
        data: of `league_data`.
        folder: the store, which says which study was played and where times were measured.
        chart: the file name of the picture of `charts.ratings`.

    Raises:
        ValueError: the store has no study.
        OSError: a file of the store cannot be read.
    """
    timed = any(row["ms"] is not None for count in data["counts"] for row in count["agents"])
    machine = (folder / MACHINE).read_text(encoding="utf-8").strip() if timed else None
    zero = {count["players"]: ", ".join(f"`{name}`" for name in count["zero"]) for count in data["counts"]}
    if len(set(zero.values())) > 1:
        zero = {0: "; ".join(f"{names} at {players} players" for players, names in zero.items())}
    about = {"release": study_of(folder).release, "machine": machine and Markup(machine), "chart": chart}
    names = {"zero": Markup(next(iter(zero.values()), "")), "unrated": _unrated, "crossed": _crossed}
    return pages.render(PAGE, data, **about, **names)


def _unrated(count: Row) -> Markup:
    """Which agents are not rated, in words."""
    return Markup(unrated_note({f"`{name}`": FaultCount(**found) for name, found in count["unrated"].items()}))


def _crossed(count: Row) -> list[Row]:
    """For each agent, how often it ended before each other one; empty where they never met."""
    shares = {(part["agent"], part["other"]): f"{part['ahead']:.2f}" for part in count["ahead"]}
    names = [row["agent"] for row in count["agents"]]
    return [
        {"place": place, "agent": one, "shares": [shares.get((one, other), "") for other in names]}
        for place, one in enumerate(names, 1)
    ]
