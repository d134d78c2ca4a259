"""The leaderboard: what a league shows, as plain JSON types, as a page and as a chart. It reads matches and plays nothing.

Needs SciPy and Matplotlib (extra `analysis`), so only the commands that use it import this module.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bombay_env.registry import knowledge
from bombay_training import figures
from bombay_training.evaluation.meta_game import meta_game, mixture_in_words
from bombay_training.evaluation.ratings import Ratings, check_cells, rate
from bombay_training.matches.published import MACHINE, study_of
from bombay_training.matches.results import Match
from bombay_training.rich_tables import format_ms, interval, markdown_table

TIMES: Final = (1, 5, 20, 100)  # milliseconds a turn
MISFITS: Final = 3  # shown of each number of players
LOWEST: Final = -6.0  # rating in the chart
METHOD: Final = (
    "Agents meet at tables of different agents, and a rating is the strength of an agent in a model of who wins: its odds at a "
    "table are exp(rating), changed by its seat (a conditional logit). `share` is the win share that the rating means against "
    "agents of rating 0; the par of equal agents is in the heading. Both have intervals of 95 % over deals. `first` is the "
    "probability that the agent is the best of the table, `knowledge` what it has of "
    "[hand-written values](evaluation.md#scripted-knowledge), and `ms` the mean time of a turn."
)


# --- what the games show ---


def league_data(matches: Sequence[Match]) -> dict[str, Any]:
    """What a league shows at each number of players, as plain JSON types.

    Raises:
        ValueError: as `ratings.rate`.
    """
    counts = sorted({match.game.num_players for match in matches})
    groups = [[match for match in matches if match.game.num_players == count] for count in counts]
    games = [meta_game(group) for group in groups]
    return {
        "format": "bombay-leaderboard/1",
        "counts": [_count_data(group) for group in groups],
        "meta_games": [game.to_dict() for game in games if game is not None],
    }


def _count_data(matches: Sequence[Match]) -> dict[str, Any]:
    ratings, fit = rate(matches), check_cells(matches)
    times, games, ahead = _times(matches), _games(matches), _ahead(matches)
    agents = [
        {
            "rank": row["rank"],
            "agent": row["agent"],
            "rating": row["rating"],
            "share": row["share"],
            "first": row["rank_probability"][0],
            "games": games[row["agent"]],
            "ms": times.get(row["agent"]),
            "knowledge": knowledge(row["agent"]),
        }
        for row in ratings.rows()
    ]
    worst = sorted(fit.cells, key=lambda part: -abs(part.residual))
    return {
        "players": matches[0].game.num_players,
        "games": ratings.games,
        "deals": ratings.deals,
        "agents": agents,
        "resolves": _resolves(ratings, matches[0].game.num_players),
        "within": [_best_within(agents, ratings, limit) for limit in TIMES],
        "ahead": [
            {"agent": one, "other": other, "games": games, "ahead": part}
            for (one, other), (games, part) in ahead.items()
        ],
        "one_rating_explains_all": {
            "p": fit.p_value,
            "misfits": [
                {
                    "agent": part.agent,
                    "others": [name for name in part.lineup if name != part.agent],
                    "games": part.games,
                    "raw": part.raw,
                    "predicted": part.predicted,
                }
                for part in worst[:MISFITS]
            ],
        },
    }


def _times(matches: Sequence[Match]) -> dict[str, float]:
    """Milliseconds a turn of each agent."""
    sums: dict[str, np.ndarray] = {}
    for match in matches:
        for name, timing in zip(match.agents, match.timings, strict=True):
            sums[name] = sums.get(name, np.zeros(2)) + np.array([timing.seconds, timing.turns])
    return {name: float(1000 * seconds / turns) for name, (seconds, turns) in sums.items() if turns}


def _games(matches: Sequence[Match]) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in matches:
        for name in match.agents:
            found[name] = found.get(name, 0) + match.num_games
    return found


def _ahead(matches: Sequence[Match]) -> dict[tuple[str, str], tuple[int, float]]:
    """In how many games two agents met, and in what part of them the first ended before the second. A tie is half.

    Games that ended by a fault are left out.
    """
    sums: dict[tuple[str, str], np.ndarray] = {}
    for match in matches:
        place = np.where(match.played_out[:, None], match.place, 0)
        for one, name in enumerate(match.agents):
            for other, other_name in enumerate(match.agents):
                if one != other:
                    mine, theirs = (np.where(match.seats == agent, place, 0) for agent in (one, other))
                    both = (mine[:, :, None] > 0) & (theirs[:, None, :] > 0)
                    won = (mine[:, :, None] < theirs[:, None, :]) + 0.5 * (mine[:, :, None] == theirs[:, None, :])
                    key = name, other_name
                    sums[key] = sums.get(key, np.zeros(3)) + np.array([match.num_games, both.sum(), (won * both).sum()])
    return {key: (int(games), float(won / pairs)) for key, (games, pairs, won) in sums.items() if pairs}


def _resolves(ratings: Ratings, players: int) -> float:
    """The difference of win shares at par that is told from none: the median over agents that are next to each other in rank."""
    order = np.argsort(ratings.rank, kind="stable")
    _, low, high = ratings.differences[order[:-1], order[1:]].T
    half = (high - low)[np.isfinite(high - low)] / 2
    return float(np.median(half)) * (players - 1) / players**2 if half.size else math.inf


def _best_within(agents: list[dict[str, Any]], ratings: Ratings, limit: float) -> dict[str, Any]:
    """The best agent that takes at most so many milliseconds a turn, and how sure it is that the next one is weaker."""
    quick = [row for row in agents if row["ms"] is not None and row["ms"] <= limit]
    first, second = (quick[place] if len(quick) > place else None for place in (0, 1))
    sure = None
    if first and second:
        places = (ratings.agents.index(row["agent"]) for row in (first, second))
        sure = float(ratings.higher[tuple(places)])
    return {
        "ms": limit,
        "agent": first and first["agent"],
        "next": second and second["agent"],
        "better_than_next": sure,
    }


# --- page ---


def page(data: dict[str, Any], folder: Path, chart: str) -> str:
    """The leaderboard as Markdown.

    Args:
        data: of `league_data`.
        folder: the store, which says which release played and where times were measured.
        chart: the file name of the picture of `draw`.

    Raises:
        ValueError: the store has no study.
        OSError: a file of the store cannot be read.
    """
    release, machine = study_of(folder).release or "–", folder / MACHINE
    where = f" Times: {machine.read_text(encoding='utf-8').strip()}." if machine.exists() else ""
    games = sum(count["games"] for count in data["counts"])
    parts = [
        "# Leaderboard",
        f"The league of release {release}: {games:,} games by the official rules on the packaged board.",
        f"![Rating of each agent against its time a turn, for each number of players]({chart})",
        f"A chart for each number of players. Filled circles are agents without scripted knowledge.{where}",
        METHOD,
        *(_standings(count) for count in data["counts"]),
        _within(data),
        _misfits(data),
        *(_choosing(game) for game in data["meta_games"]),
        *(_crosses(count) for count in data["counts"]),
        _commands(release),
    ]
    return "\n\n".join(parts) + "\n"


def _standings(count: dict[str, Any]) -> str:
    players = count["players"]
    rows = [
        [
            row["rank"],
            f"`{row['agent']}`",
            interval(row["rating"], "{:+.2f}"),
            interval(row["share"], "{:.3f}"),
            f"{row['first']:.2f}",
            format_ms(row["ms"]),
            row["knowledge"],
            f"{row['games']:,}",
        ]
        for row in count["agents"]
    ]
    columns = ["rank", "agent", "rating [95 %]", "share [95 %]", "first", "ms", "knowledge", "games"]
    text = (
        f"{count['games']:,} games. Two agents near par are told apart if their win shares differ by about "
        f"{count['resolves']:.3f}."
    )
    return f"## {players} players (par {1 / players:.2f})\n\n{text}\n\n{markdown_table(columns, rows, {'agent', 'knowledge'})}"


def _within(data: dict[str, Any]) -> str:
    rows = [
        [
            count["players"],
            f"{best['ms']} ms",
            f"`{best['agent']}`",
            "–" if best["next"] is None else f"`{best['next']}`",
            "–" if best["better_than_next"] is None else _probability(best["better_than_next"]),
        ]
        for count in data["counts"]
        for best in count["within"]
        if best["agent"] is not None
    ]
    columns = ["players", "at most", "best agent", "next", "probability that the best is better than the next"]
    return "## The best within a time a turn\n\n" + markdown_table(columns, rows, {"best agent", "next"})


def _misfits(data: dict[str, Any]) -> str:
    text = (
        "One rating for each agent cannot explain all line-ups: an agent may be better against some agents than against others. "
        "The table shows the line-ups that differ most from what the ratings predict, and p, the probability of such differences "
        "if one rating did explain all. Where you choose an agent for a known opponent, look at the cross tables."
    )
    rows = [
        [
            count["players"],
            f"{count['one_rating_explains_all']['p']:.3f}",
            f"`{part['agent']}`",
            ", ".join(f"`{name}`" for name in part["others"]),
            part["games"],
            f"{part['raw']:.3f}",
            f"{part['predicted']:.3f}",
        ]
        for count in data["counts"]
        for part in count["one_rating_explains_all"]["misfits"]
    ]
    columns = ["players", "p", "agent", "others", "games", "win share", "predicted"]
    return f"## What ratings do not show\n\n{text}\n\n{markdown_table(columns, rows, {'agent', 'others'})}"


def _choosing(game: dict[str, Any]) -> str:
    """The section on circles and mixtures of one number of players."""
    agents, players = game["agents"], game["players"]
    rows = [
        [f"`{agent}`", *("–" if share is None else interval(share, "{:.2f}") for share in row)]
        for agent, row in zip(agents, game["against"], strict=True)
    ]
    circles = "; ".join(" → ".join(f"`{name}`" for name in (*circle, circle[0])) for circle in game["circles"])
    found = f"Circles: {circles}." if circles else "No three of them beat each other in a circle."
    resting = "; ".join(mixture_in_words(agents, mixture) for mixture in game["resting"])
    text = (
        f"Every line-up of {len(agents)} agents at {players} players was played, also with several copies of an agent "
        f"({game['games']:,} games). The table has the win share of the row's agent alone among copies of the column's "
        f"(par {1 / players:.2f}). {found} If players kept changing to agents that win more (the replicator, from "
        f"{len(agents) + 1} starts), all would end with: {resting}."
    )
    columns = ["agent", *(f"`{agent}`" for agent in agents)]
    return f"## Circles\n\n{text}\n\n{markdown_table(columns, rows, {'agent'})}"


def _crosses(count: dict[str, Any]) -> str:
    """How often each agent ended before each other one."""
    names = [row["agent"] for row in count["agents"]]
    found = {(part["agent"], part["other"]): part["ahead"] for part in count["ahead"]}
    rows = [
        [f"{place + 1} `{one}`", *(f"{found[one, other]:.2f}" if (one, other) in found else "" for other in names)]
        for place, one in enumerate(names)
    ]
    columns = ["agent", *(str(place + 1) for place in range(len(names)))]
    text = (
        "The part of their games in which the row's agent ended before the column's. Searches did not meet each other."
    )
    return f"## Cross table, {count['players']} players\n\n{text}\n\n{markdown_table(columns, rows, {'agent'})}"


def _commands(release: str) -> str:
    return f"""## How to replay this

Every number of this page follows from the games of [the study](../training/bombay_training/specs/league.toml), which come with
the package. Their deals follow from the number of the release, {release}, and nothing was tuned on them.

```
bombay verify                       # plays 200 of the games again and compares them bit for bit
bombay ratings                      # the tables of ratings; --model orders for all places; --json for every number
make leaderboard                    # plays the whole league, which takes hours, and writes this page
bombay card my_agent:MyAgent        # where your own agent would stand
```"""


def _probability(value: float) -> str:
    return "> 0.99" if value > 0.99 else f"{value:.2f}"


# --- chart ---


def draw(data: dict[str, Any]) -> Figure:
    """Rating against time a turn: a panel for each number of players."""
    counts = data["counts"]
    rows = math.ceil(len(counts) / 2)
    figure = Figure(figsize=(13, 5.2 * rows), layout="constrained")
    panels = figure.subplots(rows, min(2, len(counts)), squeeze=False).ravel()
    for panel, count in zip(panels, counts, strict=False):
        _panel(panel, count)
    for panel in panels[len(counts) :]:
        panel.set_visible(False)
    return figure


def _panel(panel: Axes, count: dict[str, Any]) -> None:
    timed = [row for row in count["agents"] if row["ms"] is not None]
    shown = [row for row in timed if row["rating"]["mean"] > LOWEST]
    for row in shown:
        mean, low, high = (row["rating"][name] for name in ("mean", "low", "high"))
        own = row["knowledge"] == "none"
        colour = "#08519c" if own else "#d95f0e"
        error = [[mean - low if low is not None else 0], [high - mean if high is not None else 0]]
        panel.errorbar(
            row["ms"], mean, yerr=error, marker="o", color=colour, markerfacecolor=colour if own else "white", capsize=3
        )
        panel.annotate(
            figures.plain(row["agent"]), (row["ms"], mean), xytext=(6, 3), textcoords="offset points", fontsize=8
        )
    low = [row["agent"] for row in timed if row not in shown]
    title = f"{count['players']} players" + (f" (below: {', '.join(low)})" if low else "")
    panel.set_title(figures.plain(title), fontsize=10)
    panel.set_xscale("log")
    panel.margins(x=0.18)
    panel.set_xlabel("milliseconds a turn")
    panel.set_ylabel("rating")
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)
