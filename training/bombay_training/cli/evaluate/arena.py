"""`bombay arena`: matches between agents."""

import contextlib
import enum
import itertools
from pathlib import Path
from typing import Annotated, Any, Final

import typer

import bombay_agents
from bombay_env import Game
from bombay_env.record import Record, write_records
from bombay_training import warm_up
from bombay_training.cli import output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import MATCH_ERRORS, UserError, user_input
from bombay_training.cli.inputs import check_distinct, games_of, new_output
from bombay_training.cli.options import (
    AGENT_HELP,
    MAX_COUNT,
    BoardFile,
    Json,
    Players,
    Processes,
    RecordsFile,
    RulesFile,
    Seed,
    complete_agent,
)
from bombay_training.evaluation import arena as arenas
from bombay_training.matches import statistics
from bombay_training.matches.pool import MAX_TURN_LIMIT, WorkerPool
from bombay_training.matches.results import Match


class Format(enum.Enum):
    """How agents meet."""

    ONE_VS_REST = "1vrest"
    TWO_VS_TWO = "2v2"
    MIXED = "mixed"


TITLES: Final = {
    Format.ONE_VS_REST: "one against the rest",
    Format.TWO_VS_TWO: "two against two",
    Format.MIXED: "all together",
}


def arena(
    agents: Annotated[
        list[str], typer.Argument(help=f"Two or more agents. {AGENT_HELP}.", autocompletion=complete_agent)
    ],
    players: Players = "4",
    blocks: Annotated[
        int, typer.Option(help="Deals; each is played in all seatings of a line-up.", min=1, max=MAX_COUNT)
    ] = 100,
    chosen: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="1vrest: each agent against copies of each other agent. 2v2: each pair of agents, 4 players, all 6 "
            "seatings. mixed: all agents in one game; every selection of them if there are more agents than seats, "
            "repeated if there are fewer. Default: 1vrest, and also mixed for three or more agents at three or more seats.",
        ),
    ] = None,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    processes: Processes = None,
    turn_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds that a call of an agent may take for each game it decides in. An agent that exceeds it loses the "
            "game. The first call in a process has a minute more.",
            min=0.001,
            max=MAX_TURN_LIMIT,
        ),
    ] = None,
    out: RecordsFile = None,
    as_json: Json = False,
) -> None:
    """Play agents against each other, each deal in several seatings, with confidence intervals over deals.

    An agent that raises, exceeds --turn-limit or plays an illegal action loses that game: its win share is 0 in all its
    seats, the other agents share 1 equally, and mean rupees leave the game out. With 1vrest, the column of faults shows
    those of the agent / those of the rest.

    Ctrl-C ends the play (exit code 130): the results are those of the deals that were played in all seatings. If a
    match cannot be played, they are those of the matches before it. The JSON object then says "stopped": true.
    """
    with contextlib.ExitStack() as stack:
        with user_input():
            games = games_of(players, rules, board)
            _check(agents, games, chosen, players)
            stack.enter_context(new_output(out))
        prepare(warm_up.jobs_of_agents(agents, board), as_json)
        pairings = [(game, *pairing) for game in games for pairing in _pairings(agents, game.num_players, chosen)]
        records: list[Record] | None = [] if out else None
        total = blocks * sum(6 if kind is Format.TWO_VS_TWO else game.num_players for game, kind, _ in pairings)
        with WorkerPool(processes, turn_limit) as pool, output.progress_bar("games", total, as_json) as advance:
            options = {"progress": advance, "records": records, "pool": pool}
            matches, ended = _play_all(pairings, blocks, seed, options)
        if matches:
            _print(matches, out, ended is not None, as_json)  # before records that cannot be written
            _save(records, out, as_json)
    if ended is not None:
        _print_stopped(matches, total)
        raise ended


def _save(records: list[Record] | None, out: Path | None, as_json: bool) -> None:
    if out and records is not None:
        with user_input():
            count = write_records(out, records)
        if not as_json:
            output.say(f"written to {out}: {output.quantity(count, 'record')}")


def _play_all(
    pairings: list[tuple[Game, Format, tuple[str, ...]]], blocks: int, seed: int, options: dict[str, Any]
) -> tuple[list[Match], KeyboardInterrupt | UserError | None]:
    """Play all matches. Returns those with complete deals, and what ended the play early."""
    matches: list[Match] = []
    try:
        for game, kind, lineup in pairings:
            with user_input(*MATCH_ERRORS):
                matches.append(_play(game, kind, lineup, blocks, seed, options))
    except KeyboardInterrupt as error:
        partial = error.match if isinstance(error, arenas.MatchStopped) else None
        return matches + ([partial] if partial else []), KeyboardInterrupt()
    except UserError as error:
        return matches, error
    return matches, None


def _print(matches: list[Match], records: Path | None, stopped: bool, as_json: bool) -> None:
    data = {
        "command": "arena",
        "matches": [statistics.summary(match) for match in matches],
        "records": str(records) if records else None,
        "stopped": stopped,
    }
    by_kind = {kind: [match for match in matches if match.format == kind.value] for kind in Format}
    tables = [
        statistics.results_table(found, TITLES[kind], output.out.width) for kind, found in by_kind.items() if found
    ]
    output.show(data, tables, as_json)
    output.report_faults([fault for match in matches for fault in match.faults])


def _print_stopped(matches: list[Match], total: int) -> None:
    """Say on standard error how many of the games count if the play ended early."""
    played = sum(match.num_games for match in matches)
    output.err.print(f"stopped: {played:,} of {total:,} games count")


def _check(agents: list[str], games: list[Game], chosen: Format | None, players: str) -> None:
    """Raise ValueError for agents that cannot meet in this format."""
    if len(agents) < 2:
        raise ValueError(f"the arena needs two agents or more, as in: bombay arena greedy random; given: {agents[0]}")
    check_distinct(agents)
    if chosen is Format.TWO_VS_TWO and any(game.num_players != 4 for game in games):
        raise ValueError(f"--format 2v2 is for 4 players; --players is {players}")
    for spec in agents:
        bombay_agents.make(spec)


def _pairings(agents: list[str], num_players: int, chosen: Format | None) -> list[tuple[Format, tuple[str, ...]]]:
    """The matches for one number of players. One against the rest is given as a pair."""
    pairings: list[tuple[Format, tuple[str, ...]]] = []
    if chosen in (None, Format.ONE_VS_REST):
        pairings += [(Format.ONE_VS_REST, pair) for pair in itertools.permutations(agents, 2)]
    if chosen is Format.TWO_VS_TWO:
        pairings += [(chosen, pair) for pair in itertools.combinations(agents, 2)]
    if chosen is Format.MIXED or (chosen is None and min(len(agents), num_players) > 2):
        pairings += [(Format.MIXED, tuple(map(str, lineup))) for lineup in arenas.mixed_lineups(agents, num_players)]
    return pairings


def _play(game: Game, kind: Format, lineup: tuple[str, ...], blocks: int, seed: int, options: dict[str, Any]) -> Match:
    if kind is Format.MIXED:
        (match,) = arenas.mixed(game, lineup, blocks, seed, **options)  # of as many agents as there are seats
        return match
    function = arenas.two_vs_two if kind is Format.TWO_VS_TWO else arenas.one_vs_rest
    agent, rest = lineup
    return function(game, agent, rest, blocks, seed, **options)
