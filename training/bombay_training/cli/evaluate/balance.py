"""`bombay balance`: is the game fair to every seat."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from bombay_env.agent import AgentFault
from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.evaluate import playing
from bombay_training.cli.inputs import analysis_module, check_distinct, games_of
from bombay_training.cli.options import (
    MAX_COUNT,
    Address,
    BoardFile,
    EngineName,
    Json,
    Players,
    Processes,
    RulesFile,
    Seed,
    complete_agent,
)
from bombay_training.reports.balance import plan as plans


def balance(
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="An agent that plays every seat, and the number of its games if not --games. Repeat the option for more "
            f"agents. Default: {', '.join(plans.TIERS)}.",
            metavar="SPEC[@GAMES]",
            autocompletion=complete_agent,
        ),
    ] = None,
    players: Players = "2-5",
    games: Annotated[int, typer.Option(help="Deals, each played once.", min=1, max=MAX_COUNT)] = 20_000,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Also play the same deals with a field of Rules changed, as in starting_rupees.4=2,3 or toll=0,2 "
            "or starting_rupees=[1,2,2,2]. Repeat the option for more changes; each is tried alone.",
            metavar="FIELD[.INDEX]=V1,V2",
        ),
    ] = None,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    processes: Processes = None,
    engine: EngineName = "local",
    address: Address = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the results of all games, report.md, report.json and plots; one that exists is continued. "
            "Needs the extra `data`."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Study whether the game is fair to every seat: one agent plays all seats, and every rupee is accounted for.

    With --out, every finished game is kept, and the same command continues a study that was stopped.
    """
    with user_input(), redirect_stdout(sys.stderr):  # what agents print is not part of the results
        variants = games_of(players, rules, board)
        tiers = [plans.Tier.parse(text, games, MAX_COUNT) for text in tier or plans.TIERS]
        check_distinct([one.spec for one in tiers])
        settings, notes = plans.plan(variants, tiers, [plans.Change.parse(text) for text in vary or []])
        reports = analysis_module("reports.balance.report")
    cells = plans.cells(settings, seed)
    with playing.open_store(out) as store, playing.open_engine(engine, address, processes) as made:
        matches, ended = playing.play(cells, store, made, as_json)
        if ended is not None:
            playing.print_stopped(matches, cells)
            raise ended
        with user_input(AgentFault):
            plans.check_faults(matches)
        data = reports.make_report(settings, matches, seed, notes)
        if out:
            with user_input():
                reports.write_report(out, data)
        output.show(data, reports.tables(data), as_json)
        if not as_json:
            output.say(*data["notes"], *([f"The report and its plots are in {out}"] if out else []))
