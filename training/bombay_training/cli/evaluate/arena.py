"""`bombay arena`: matches between agents."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

import typer
from rich.table import Table

from bombay_env import Game
from bombay_env.record import write_records
from bombay_env.registry import canonical
from bombay_training.cli import options, output, playing
from bombay_training.cli.inputs import check_distinct, check_new_file, games_of
from bombay_training.cli.runner import Result, command
from bombay_training.matches import statistics
from bombay_training.matches.cells import Cell, Seating
from bombay_training.matches.results import Match
from bombay_training.matches.spec import selections

Format = Literal["1vrest", "2v2", "mixed"]
TITLES: Final[dict[Format, str]] = {"1vrest": "one against the rest", "2v2": "two against two", "mixed": "all together"}

FORMAT = (
    "1vrest: each agent against copies of each other agent. 2v2: each pair of agents, 4 players, all 6 "
    "seatings. mixed: all agents in one game; every selection of them if there are more agents than seats, "
    "repeated if there are fewer. Default: 1vrest, and also mixed for three or more agents at three or more seats."
)
AGAINST = "Play the agents only against copies of this one, one against the rest. Repeat the option for more opponents."
SEATING = (
    "all: each deal in every rotation of a circular order of the line-up, which is drawn for the deal. rotate: each "
    "deal once, in an order of its own; the first agent sits one seat further on from deal to deal; --blocks counts games."
)
RECORDS = "A new .jsonl file for the records of all games."
Against = Annotated[
    list[str] | None, typer.Option(help=AGAINST, metavar="AGENT", autocompletion=options.complete_agent)
]


@command
def arena(
    agents: Annotated[list[str], options.agents_argument(f"The agents. {options.AGENT_HELP}.")],
    players: options.Players = "4",
    blocks: Annotated[int, options.count("Deals; each is played with every agent in every seat.")] = 100,
    chosen: Annotated[Format | None, typer.Option("--format", help=FORMAT)] = None,
    against: Against = None,
    seating: Annotated[Literal["all", "rotate"], typer.Option(help=SEATING)] = "all",
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    processes: options.Processes = None,
    turn_limit: options.TurnLimit = None,
    out: options.StoreFolder = None,
    records: Annotated[Path | None, typer.Option("--records", help=RECORDS)] = None,
) -> Result:
    """Play agents against each other, each deal in several seatings, with confidence intervals over deals.

    An agent that raises, exceeds --turn-limit or plays an illegal action loses that game: its win share is 0 in all its
    seats, the other agents share 1 equally, and mean rupees leave the game out. With 1vrest, the column of faults shows
    those of the agent / those of the rest.

    Ctrl-C ends the play (exit code 130): the results are those of the first deals that were finished. If an agent
    cannot play on, likewise. The JSON object then says "stopped": true. The folder given with --out keeps all finished games.
    """
    games = games_of(players, rules, board)
    agents, against = ([canonical(spec) for spec in specs] for specs in (agents, against or []))
    _check(agents, games, chosen, players, against)
    check_new_file(records, "--records")
    cells = [
        Cell(
            game,
            lineup,
            blocks,
            seed,
            Seating.PAIRS if kind == "2v2" else Seating(seating),
            kind,
            records=bool(records),
        )
        for game in games
        for kind, lineup in _lineups(agents, game.num_players, chosen, against)
    ]
    with playing.open_store(out) as store, playing.open_engine(processes=processes, turn_limit=turn_limit) as engine:
        played = playing.play(cells, store, engine, board)
    data = {
        "command": "arena",
        "matches": [statistics.summary(match) for match in played.matches],
        "records": str(records) if records else None,
        "stopped": played.ended is not None,
    }

    def save_and_end() -> Iterator[str]:
        if records:
            count = write_records(records, [record for match in played.matches for record in match.records])
            yield f"written to {records}: {output.quantity(count, 'record')}"
        played.end_if_stopped()

    return Result(data, _tables(played.matches), faults=played.faults, then=save_and_end)


def _tables(matches: list[Match]) -> list[Table]:
    by_kind = {kind: [match for match in matches if match.format == kind] for kind in TITLES}
    width = output.out.width
    return [statistics.results_table(found, TITLES[kind], width) for kind, found in by_kind.items() if found]


def _check(agents: list[str], games: list[Game], chosen: Format | None, players: str, against: list[str]) -> None:
    """Raise ValueError for agents that cannot meet in this format."""
    if len(agents) < 2 and not against:
        raise ValueError(f"the arena needs two agents or more, as in: bombay arena greedy random; given: {agents[0]}")
    check_distinct(agents)
    check_distinct(against)
    if against and (chosen not in (None, "1vrest") or set(agents) & set(against)):
        raise ValueError("--against is for --format 1vrest, and names none of the agents before it")
    if chosen == "2v2" and any(game.num_players != 4 for game in games):
        raise ValueError(f"--format 2v2 is for 4 players; --players is {players}")


def _lineups(
    agents: list[str], num_players: int, chosen: Format | None, against: list[str]
) -> Iterator[tuple[Format, tuple[str, ...]]]:
    """The line-ups for one number of players."""
    if chosen in (None, "1vrest"):
        for one, other in itertools.product(agents, against) if against else itertools.permutations(agents, 2):
            yield "1vrest", (one, *[other] * (num_players - 1))
    if chosen == "2v2":
        for one, other in itertools.combinations(agents, 2):
            yield "2v2", (one, one, other, other)
    if chosen == "mixed" or (chosen is None and not against and min(len(agents), num_players) > 2):
        for lineup in selections(agents, num_players):
            yield "mixed", lineup
