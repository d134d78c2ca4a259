"""`bombay ratings`: one strength for each agent of a store, over all its line-ups."""

import dataclasses
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from bombay_training.cli import output
from bombay_training.cli.options import GamesFolder
from bombay_training.cli.runner import Result, command
from bombay_training.matches import statistics
from bombay_training.matches.published import LEAGUE, anchors_of
from bombay_training.matches.store import read_matches
from bombay_training.rich_tables import cell, fitting_table, interval

MODEL = "wins: a conditional logit of win shares. orders: Plackett and Luce's model of all places."


@command
def ratings(
    folder: GamesFolder = LEAGUE,
    explained: Annotated[Literal["wins", "orders"], typer.Option("--model", help=MODEL)] = "wins",
) -> Result:
    """Rate the agents of a store at each number of players, with effects of seats and intervals over deals.

    An agent that lost more than 1 % of its games by faults is not rated, and games with it are left out.

    The mean rating of the anchors is 0, or, if the store's study has none, of the largest set of agents in which each has beaten
    each, at least through others. `share` is the expected win share against agents of rating 0. `first` is the probability that
    the agent is the best of them.
    The line below a table says whether one rating for each agent explains all line-ups: where it does not, there may be cycles.
    """
    from bombay_training.evaluation import ratings as module  # here: SciPy takes a second to import

    matches, anchors = read_matches(folder), anchors_of(folder)
    games = sorted({match.game: None for match in matches}, key=lambda game: game.num_players)
    groups = [[match for match in matches if match.game == game] for game in games]
    model = module.Model(explained)
    output.note_changed(folder)
    rated = [(module.rate(group, model, anchors), module.check_cells(group)) for group in groups]
    data: dict[str, Any] = {
        "command": "ratings",
        "model": explained,
        "counts": [
            {
                "players": game.num_players,
                "rules": game.rules.to_dict(),
                "board": game.board.name,
                "games": found.games,
                "deals": found.deals,
                "zero": list(found.zero),
                "agents": found.rows(),
                "unrated": {name: dataclasses.asdict(count) for name, count in found.unrated.items()},
                "seat_effect": found.seat_effect.tolist(),
                "one_rating_explains_all": {"statistic": fit.statistic, "p": fit.p_value},
            }
            for game, (found, fit) in zip(games, rated, strict=True)
        ],
    }
    return Result(data, [_table(part) for part in data["counts"]])


def _table(part: dict[str, Any]) -> Table:
    rows = part["agents"]
    columns = {
        "agent": [row["agent"] for row in rows],
        "rank": [str(row["rank"]) for row in rows],
        "rating [95 %]": [interval(row["rating"], "{:+.2f}") for row in rows],
        "share [95 %]": [interval(row["share"], "{:.3f}") for row in rows],
        "first": [f"{row['rank_probability'][0]:.3f}" for row in rows],
        "faults": [str(row["faults"]) for row in rows],
    }
    title = f"{part['players']} players, {part['games']:,} games of {part['deals']:,} deals"
    table = fitting_table(title, columns, ["agent"], ["first", "faults", "share [95 %]"], output.out.width)
    notes = [table.caption] if table.caption else []
    notes.append(
        f"test that one rating per agent explains all line-ups: p = {part['one_rating_explains_all']['p']:.3f}"
    )
    unrated = {name: statistics.FaultCount(**count) for name, count in part["unrated"].items()}
    notes.append(statistics.unrated_note(unrated))
    table.caption = cell("; ".join(filter(None, map(str, notes))))
    return table
