"""The leaderboard: what a league shows, as plain JSON types, as a page and as a chart. It reads matches and plays nothing.

Needs SciPy and Matplotlib (extra `analysis`), so only the commands that use it import this module.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bombay_env import Game, Rules
from bombay_env.registry import knowledge
from bombay_training import figures
from bombay_training.evaluation.choice_models import rated
from bombay_training.evaluation.ratings import Ratings, check_cells, rate
from bombay_training.matches.published import MACHINE, anchors_of, matches_of_study, study_of, times_are_published
from bombay_training.matches.results import Match
from bombay_training.matches.statistics import FaultCount, unrated_note
from bombay_training.rich_tables import format_ms, interval, markdown_table

LIMITS: Final = (1, 5, 20, 100)  # milliseconds per turn
MISFITS: Final = 3  # shown of each number of players
NEAR: Final = 2.0  # ratings that are near 0
LETTER, LINE = 4.9, 9.0  # width of a letter and height of a line in the chart, in points
BAR = 3.0  # half the width of an interval there
METHOD: Final = """
For each number of players, a table lists the agents by rank. It counts games of different agents; `bombay ratings` also counts
those with several copies of an agent.

- `rating`: the strength in a model of who wins. An agent wins with a probability of exp(rating) divided by the sum over all
  seats, adjusted for the seats (a conditional logit). So +1 multiplies an agent's weight by 2.7. A rating of 0 is the mean of
  {zero}. Ratings at different numbers of players cannot be compared.
- `win share`: what the model predicts against agents of rating 0 in all other seats. Par, in the heading, is the win share of
  equally strong agents.
- `P(best)`: the probability that the agent is the best in the table, from resamples of the deals. Agents that never met are
  compared by their results against others.
- `ms/turn`: the mean time per turn in games played one at a time. An agent that decides for many games in one call needs less.
- `faults`: how many of its games it lost by an error, an illegal move or a time limit. With more than 1 %, an agent is not rated,
  and games with it are left out.
- `scripted knowledge`: `all` if a [hand-written value](evaluation.md#scripted-knowledge) takes part, otherwise `none`.

[95 %] are confidence intervals over [deals](evaluation.md#blocks); – is a missing bound, of an agent that won no game against
better ones. [Agents](agents.md) explains the names.
""".strip()


# --- what the games show ---


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
    ratings, fit = rate(matches, reference=anchors), check_cells(matches)
    matches = rated(matches)
    times, ahead = _times(matches) if timed else {}, _ahead(matches)
    agents = [
        {
            "rank": row["rank"],
            "agent": row["agent"],
            "rating": row["rating"],
            "share": row["share"],
            "best": row["rank_probability"][0],
            "games": ratings.faults[row["agent"]].games,
            "faults": row["faults"],
            "ms": times.get(row["agent"]),
            "knowledge": knowledge(row["agent"]),
        }
        for row in ratings.rows()
    ]
    # At 2 players the two agents of a cell have the same residual up to rounding errors: the one that wins less comes first.
    worst = sorted(fit.cells, key=lambda part: (-round(abs(part.residual), 9), part.raw))
    return {
        "players": matches[0].game.num_players,
        "games": ratings.games,
        "deals": ratings.deals,
        "zero": list(ratings.zero),
        "agents": agents,
        "unrated": {name: dataclasses.asdict(count) for name, count in ratings.unrated.items()},
        "resolves": _resolves(ratings, matches[0].game.num_players),
        "within": [_best_within(agents, ratings, limit) for limit in LIMITS],
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


# --- page ---


def page(data: dict[str, Any], folder: Path, chart: str) -> str:
    """The leaderboard as Markdown.

    Args:
        data: of `league_data`.
        folder: the store, which says which study was played and where times were measured.
        chart: the file name of the picture of `draw`.

    Raises:
        ValueError: the store has no study.
        OSError: a file of the store cannot be read.
    """
    release, machine = study_of(folder).release, folder / MACHINE
    games = f"{data['games']:,} games"
    games += " by the official rules on the packaged board" if data["standard"] else ""
    games += (
        f", without {data['other_games']:,} games in the store that are not of its study" if data["other_games"] else ""
    )
    parts = [
        "# Leaderboard",
        f"The league of release {release}: {games}." if release else f"{games}.",
        f"![Rating of each agent against its time per turn, for each number of players]({chart})",
        "Ratings with their intervals. Filled circles are agents without scripted knowledge."
        + (
            f" Times were measured on {machine.read_text(encoding='utf-8').strip()}."
            if times_are_published(folder)
            else " Times are missing: they need a run of their own, with one game per call (`--times`)."
        ),
        _within(data),
        METHOD.format(zero=_zero(data)),
        *(_standings(count) for count in data["counts"]),
        _misfits(data),
        *(_crosses(count) for count in data["counts"]),
        *([_commands(release)] if release else []),
    ]
    return "\n\n".join(parts) + "\n"


def _zero(data: dict[str, Any]) -> str:
    """The agents whose mean rating is 0, in words."""
    names = {count["players"]: ", ".join(f"`{name}`" for name in count["zero"]) for count in data["counts"]}
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    return "; ".join(f"{agents} at {players} players" for players, agents in names.items())


def _standings(count: dict[str, Any]) -> str:
    players = count["players"]
    rows = [
        [
            row["rank"],
            f"`{row['agent']}`",
            interval(row["rating"], "{:+.2f}"),
            interval(row["share"], "{:.3f}"),
            _probability(row["best"]),
            format_ms(row["ms"]),
            row["knowledge"],
            f"{row['games']:,}",
            row["faults"],
        ]
        for row in count["agents"]
    ]
    columns = [
        "rank", "agent", "rating [95 %]", "win share [95 %]", "P(best)", "ms/turn", "scripted knowledge", "games", "faults"
    ]  # fmt: skip
    text = f"{count['games']:,} games at tables of different agents."
    if count["resolves"] is not None:
        text += (
            " The smallest difference between two neighbours in this table that they resolve is typically "
            f"{count['resolves']:.3f} in win share near par."
        )
    unrated = {f"`{name}`": FaultCount(**found) for name, found in count["unrated"].items()}
    if unrated:
        text += f" {unrated_note(unrated)}."
    return (
        f"## {players} players (par {1 / players:.2f})\n\n{text}\n\n"
        f"{markdown_table(columns, rows, {'agent', 'scripted knowledge'})}"
    )


def _within(data: dict[str, Any]) -> str:
    rows = [
        [
            count["players"],
            f"{best['ms']} ms",
            f"`{best['agent']}`",
            _probability(best["best"]),
            *(["–", "–"] if best["next"] is None else [f"`{best['next']}`", interval(best["lead"], "{:+.2f}")]),
        ]
        for count in data["counts"]
        for best in count["within"]
        if best["agent"] is not None
    ]
    text = (
        "The best of the agents whose mean time per turn, as printed below, is within the limit, the probability that it is the "
        "best of them, and how far its rating is above that of the second, its lead. Where the interval of the lead contains 0, "
        "the games do not decide which of the two is better."
    )
    columns = ["players", "time limit", "best agent", "P(best of these)", "second", "lead in rating [95 %]"]
    return f"## Best agent by time limit\n\n{text}\n\n{markdown_table(columns, rows, {'best agent', 'second'})}"


def _misfits(data: dict[str, Any]) -> str:
    fits = {count["players"]: count["one_rating_explains_all"] for count in data["counts"]}
    tests = ", ".join(
        f"p {'≤' if fit['p'] <= 0.001 else '='} {fit['p']:.3f} at {players} players" for players, fit in fits.items()
    )
    text = (
        "Ratings assume that each agent has one strength, whoever else sits at the table. A test of this compares the win shares "
        f"of all line-ups with those that the ratings predict ({tests}). Where p is below .05, some agents do better or worse "
        "against certain others than their ratings say; the table has the line-ups that differ most. To choose an agent for a "
        "known opponent, look at the cross tables, or let the two play in the [arena](cli.md#bombay-arena)."
    )
    rows = [
        [
            players,
            f"`{part['agent']}`",
            ", ".join(f"`{name}`" for name in part["others"]),
            part["games"],
            f"{part['raw']:.3f}",
            f"{part['predicted']:.3f}",
        ]
        for players, fit in fits.items()
        for part in fit["misfits"]
    ]
    columns = ["players", "agent", "others", "games", "win share", "predicted"]
    return f"## What ratings do not show\n\n{text}\n\n{markdown_table(columns, rows, {'agent', 'others'})}"


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
        "The share of their games in which the row's agent finished ahead of the column's, whose number is its rank; a tie is "
        "half. Blank: they never met."
    )
    return f"## Cross table, {count['players']} players\n\n{text}\n\n{markdown_table(columns, rows, {'agent'})}"


def _commands(release: str) -> str:
    return f"""## Reproduce this page

Except for times, every number of this page follows from the games of
[the study](../training/bombay_training/specs/league.toml), which come with the package. Their deals follow from the number of the
release, {release}, and nothing was tuned on them. The commands need the extras `analysis` and `data`.

```
bombay verify                       # play 200 of the games again and compare them bit for bit
bombay leaderboard --json           # every number of this page
bombay ratings                      # ratings by all games, copies included; --model orders: by all places
make leaderboard MACHINE="…"        # play the whole league, which takes hours, and write this page
bombay card my_agent:MyAgent        # where an agent of yours would stand
```

For more games, raise `deals` in a copy of the study and continue a copy of the published games. `--accept` lets this revision
continue them if it plays a sample alike. In a checkout:

```
cp training/bombay_training/specs/league.toml more.toml
cp -r training/bombay_training/league more
bombay verify more --accept
bombay run more.toml --out more     # plays the games that are missing
bombay leaderboard more --out more.md
```"""


def _probability(value: float) -> str:
    return "> 0.99" if value > 0.99 else "< 0.01" if value < 0.01 else f"{value:.2f}"


# --- chart ---


def draw(data: dict[str, Any]) -> Figure:
    """Rating against time per turn: a panel for each number of players. Agents without a bounded interval are left out."""
    counts = data["counts"]
    figure, panels = figures.panels(len(counts), 6.5, 5.2)
    for panel, count in zip(panels, counts, strict=True):
        _panel(panel, count)
    figure.draw_without_rendering()  # now the panels have their places
    for panel, count in zip(panels, counts, strict=True):
        _label(panel, count["agents"])
    return figure


def _panel(panel: Axes, count: dict[str, Any]) -> None:
    left_out = []
    for row in count["agents"]:
        mean, low, high = (row["rating"][name] for name in ("mean", "low", "high"))
        if row["ms"] is None or low is None or high is None:
            left_out.append(row["agent"])
            continue
        colour, filled = ("#08519c", True) if row["knowledge"] == "none" else ("#d95f0e", False)
        panel.errorbar(
            row["ms"],
            mean,
            yerr=[[mean - low], [high - mean]],
            marker="o",
            color=colour,
            markerfacecolor=colour if filled else "white",
            capsize=3,
        )
    title = f"{count['players']} players" + (f" (not shown: {', '.join(left_out)})" if left_out else "")
    panel.set_title(figures.plain(title), fontsize=10)
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:g}")
    panel.margins(x=0.25)
    panel.set_xlabel("milliseconds per turn")
    panel.set_ylabel("rating")


def _label(panel: Axes, agents: list[dict[str, Any]]) -> None:
    """Write each agent's name beside its point, in the first place where it covers no other name and no interval."""
    shown = [row for row in agents if row["ms"] is not None and None not in row["rating"].values()]
    points = 72 / panel.figure.dpi  # of a pixel
    middle, low, high = (
        [panel.transData.transform((row["ms"], row["rating"][name])) * points for row in shown]
        for name in ("mean", "low", "high")
    )
    taken = [(x - BAR, x + BAR, bottom, top) for (x, bottom), (_, top) in zip(low, high, strict=True)]
    for row, (across, up) in zip(shown, middle, strict=True):
        name, point = row["agent"], (row["ms"], row["rating"]["mean"])
        width = LETTER * len(name)
        for side, lift in itertools.product((1, -1), (2, -9, 13, -20, 24)):
            left, bottom = across + 6 if side > 0 else across - 6 - width, up + lift
            box = left, left + width, bottom, bottom + LINE
            if not any(box[0] < b and a < box[1] and box[2] < d and c < box[3] for a, b, c, d in taken):
                break
        taken.append(box)
        align = "left" if side > 0 else "right"
        panel.annotate(
            figures.plain(name),
            point,
            xytext=(6 * side, lift),
            textcoords="offset points",
            fontsize=8,
            ha=align,
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": "grey"},
        )
