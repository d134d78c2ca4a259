"""`bombay simulate`: games with fixed seats."""

import contextlib
import sys
import time
from contextlib import redirect_stdout
from typing import Annotated, Any

import typer
from rich.table import Table

import bombay_agents
from bombay_env import Game
from bombay_env.agent import Agent
from bombay_env.record import Record, write_records
from bombay_training import warm_up
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.inputs import games_of, new_output
from bombay_training.cli.options import MAX_COUNT, BoardFile, Json, Players, RecordsFile, RulesFile, Seed
from bombay_training.cli.output import progress_bar, report_faults, say, show
from bombay_training.evaluation import arena as arenas
from bombay_training.matches import statistics
from bombay_training.matches.results import LostGame
from bombay_training.rich_tables import cell, new_table


def simulate(
    agents: Annotated[
        list[str] | None, typer.Argument(help="Agents in seat order, repeated to fill all seats. Default: random.")
    ] = None,
    players: Players = "4",
    games: Annotated[int, typer.Option(help="Games for each number of players.", min=1, max=MAX_COUNT)] = 100,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    out: RecordsFile = None,
    as_json: Json = False,
) -> None:
    """Play games with fixed seats and show the results of each seat."""
    with contextlib.ExitStack() as stack:
        with user_input():
            variants = games_of(players, rules, board)
            made = _made(agents or ["random"], variants)
            stack.enter_context(new_output(out))
        warm_up.prepare(warm_up.jobs_of_agents(agents or ["random"], board), as_json)
        records: list[Record] | None = [] if out else None
        rows, faults = _play(variants, made, games, seed, records, as_json)
        data = {
            "command": "simulate",
            "games": games,
            "seed": seed,
            "seats": rows,
            "faults": [str(fault) for fault in faults[: statistics.MAX_FAULTS]],
            "records": str(out) if out else None,
        }
        show(data, [_table(rows)], as_json)  # first, so that they are not lost if the records cannot be written
        report_faults(faults)
        if out and records is not None:
            with user_input():
                write_records(out, records)
            if not as_json:
                say(f"{games * len(variants)} records are in {out}")


def _made(specs: list[str], variants: list[Game]) -> list[Agent]:
    """The agents. Raises ValueError if they are more than the seats."""
    seats = min(game.num_players for game in variants)
    if len(specs) > seats:
        raise ValueError(f"{len(specs)} agents are given for {seats} seats")
    return [bombay_agents.make(spec) for spec in specs]


def _play(
    variants: list[Game], made: list[Agent], games: int, seed: int, records: list[Record] | None, quiet: bool
) -> tuple[list[dict[str, Any]], list[LostGame]]:
    """Play all games. Returns a row for each seat, and the faults."""
    rows: list[dict[str, Any]] = []
    faults: list[LostGame] = []
    # What agents print is not part of the results.
    with progress_bar("games", games * len(variants), quiet) as advance, redirect_stdout(sys.stderr):
        for game in variants:
            lineup = [made[seat % len(made)] for seat in range(game.num_players)]
            start = time.perf_counter()
            with user_input(*MATCH_ERRORS):
                match = arenas.run_fixed_seats(game, lineup, games, seed, progress=advance, records=records)
            seconds = round(time.perf_counter() - start, 3)
            rows += [{"players": game.num_players, "seconds": seconds, **row} for row in statistics.seat_rows(match)]
            faults += match.faults
    return rows, faults


def _table(rows: list[dict[str, Any]]) -> Table:
    table = new_table("simulate", ["players", "seat", "agent", "games", "win share", "mean final", "faults"])
    for row in rows:
        table.add_row(
            str(row["players"]),
            str(row["seat"]),
            cell(row["agent"]),
            str(row["games"]),
            f"{row['win_share']:.3f}",
            "–" if row["final"] is None else f"{row['final']:.2f}",
            str(row["faults"]),
        )
    return table
