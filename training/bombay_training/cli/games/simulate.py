"""`bombay simulate`: games with fixed seats."""

import enum
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import bombay_agents
from bombay_env import Game, checks
from bombay_env.agent import Agent, check_plays
from bombay_env.envs.common import OBSERVATION_MODES
from bombay_env.record import Record, write_records
from bombay_env.rewards import REWARDS
from bombay_training import warm_up
from bombay_training.cli import options
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import needs
from bombay_training.cli.inputs import check_new_file, games_of
from bombay_training.cli.output import progress_bar, quantity
from bombay_training.cli.runner import Result, command
from bombay_training.datasets.decisions import View, all_decisions
from bombay_training.evaluation import arena as arenas
from bombay_training.matches import statistics
from bombay_training.matches.table import LostGame
from bombay_training.rich_tables import new_table

AGENTS = "Agents in seat order, repeated to fill all seats. Default: random."
OUT = "A new file for all games; for minari a new folder, such as planner-v0."
FORMAT = (
    "What --out holds. records: one JSON object a line, for replay and watch. parquet: a row for each decision. "
    "minari: a dataset with an episode for each seat of each game."
)
MODE = f"What seats see in a dataset: {' or '.join(OBSERVATION_MODES)}."
REWARD = f"The reward in a dataset: {', '.join(REWARDS)}."

Writer = Callable[[Path, Iterable[Record]], str]  # writes records to a path, and says what is there now


class Format(enum.StrEnum):
    """What the games are written as."""

    RECORDS = "records"
    PARQUET = "parquet"
    MINARI = "minari"


@command
def simulate(
    agents: Annotated[list[str] | None, options.agents_argument(AGENTS)] = None,
    players: options.Players = "4",
    games: Annotated[int, options.count("Games for each number of players.")] = 100,
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    out: Annotated[Path | None, typer.Option(help=OUT)] = None,
    form: Annotated[Format, typer.Option("--format", help=FORMAT)] = Format.RECORDS,
    observation_mode: Annotated[str, typer.Option(help=MODE)] = OBSERVATION_MODES[0],
    reward: Annotated[str, typer.Option(help=REWARD)] = REWARDS[0],
) -> Result:
    """Play games with fixed seats and show the results of each seat."""
    variants = games_of(players, rules, board)
    made = _made(agents or ["random"], variants)
    write = _writer(form, variants, View(observation_mode, reward), out)
    check_new_file(out)
    prepare(warm_up.jobs_of_agents(agents or ["random"], board))
    records: list[Record] | None = [] if out else None
    rows, faults = _play(variants, made, games, seed, records)
    data = {
        "command": "simulate",
        "games": games,
        "seed": seed,
        "seats": rows,
        "faults": [str(fault) for fault in faults[: statistics.MAX_FAULTS]],
        "records": str(out) if out else None,
    }

    def save() -> Iterator[str]:
        if out and records is not None:
            with progress_bar("games to write", len(records)) as advance:
                written = write(out, _counted(records, advance))
            yield f"written to {out}: {written}"

    return Result(data, [_table(rows)], faults=faults, then=save)


def _writer(form: Format, variants: list[Game], view: View, out: Path | None) -> Writer:
    """The function that writes records in this form.

    Raises:
        ValueError: an option is wrong, or the extra `data` is missing.
    """
    checks.one_of(view.observation_mode, "--observation-mode", OBSERVATION_MODES)
    checks.one_of(view.reward, "--reward", REWARDS)
    if form == Format.RECORDS:
        if view != View():
            raise ValueError("--observation-mode and --reward are for datasets; give --format parquet or minari, too")
        return lambda path, records: quantity(write_records(path, records), "record")
    if out is None:
        raise ValueError(f"--format {form} needs --out")
    with needs("data", f"--format {form}"):
        if form == Format.PARQUET:
            from bombay_training.datasets import parquet

            return lambda path, records: quantity(
                parquet.write(path, all_decisions(records, view), variants, view), "decision"
            )
        from bombay_training.datasets import minari
    if len(variants) > 1:
        raise ValueError("a Minari dataset is of one environment; give one number of players")
    minari.check_name(out)
    return lambda path, records: quantity(
        minari.write(path, all_decisions(records, view), variants[0], view), "episode"
    )


def _counted(records: list[Record], advance: Callable[[float], None]) -> Iterator[Record]:
    for record in records:
        yield record
        advance(1)


def _made(specs: list[str], variants: list[Game]) -> list[Agent]:
    """The agents. Raises ValueError if they are more than the seats, or one cannot play a game."""
    seats = min(game.num_players for game in variants)
    if len(specs) > seats:
        raise ValueError(f"{len(specs)} agents are given for {seats} seats")
    made = [bombay_agents.make(spec) for spec in specs]
    for game in variants:
        for agent in made:
            check_plays(agent, game)
    return made


def _play(
    variants: list[Game], made: list[Agent], games: int, seed: int, records: list[Record] | None
) -> tuple[list[dict[str, Any]], list[LostGame]]:
    """Play all games. Returns a row for each seat, and the faults."""
    rows: list[dict[str, Any]] = []
    faults: list[LostGame] = []
    with progress_bar("games", games * len(variants)) as advance:
        for game in variants:
            lineup = [made[seat % len(made)] for seat in range(game.num_players)]
            start = time.perf_counter()
            match = arenas.run_fixed_seats(game, lineup, games, seed, progress=advance, records=records)
            seconds = round(time.perf_counter() - start, 3)
            rows += [{"players": game.num_players, "seconds": seconds, **row} for row in statistics.seat_rows(match)]
            faults += match.faults
    return rows, faults


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = ["players", "seat", "agent", "games", "win share", "mean final", "faults"]
    cells = []
    for row in rows:
        final = None if row["final"] is None else f"{row['final']:.2f}"
        share = f"{row['win_share']:.3f}"
        cells.append([row["players"], row["seat"], row["agent"], row["games"], share, final, row["faults"]])
    return new_table("simulate", columns, cells)
