"""`bombay card`: where an agent stands in the league, and whether it plays fair."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env.files import atomic
from bombay_training.cli import output
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.evaluate import playing
from bombay_training.cli.inputs import analysis_module, games_of, player_counts
from bombay_training.cli.learn.best_response import learn_response
from bombay_training.cli.options import AGENT_HELP, MAX_COUNT, Json, Players, Processes, TurnLimit, complete_agent
from bombay_training.evaluation.audit import audit_in_process
from bombay_training.matches import published
from bombay_training.matches.store import read_matches

PAGE = "card.md"


def card(
    agent: Annotated[str, typer.Argument(help=f"{AGENT_HELP}.", autocompletion=complete_agent)],
    players: Players = "2-5",
    deals: Annotated[
        int | None,
        typer.Option(
            help="Deals of each line-up. Default: those of the league, 3,320 games in all.", min=1, max=MAX_COUNT
        ),
    ] = None,
    states: Annotated[int, typer.Option(help="Positions of the audit.", min=1, max=MAX_COUNT)] = 400,
    response_minutes: Annotated[
        float | None,
        typer.Option("--best-response", help="Also train a best response to the agent for so many minutes.", min=0.01),
    ] = None,
    league: Annotated[
        Path, typer.Option(help="A store of a league with anchors. Default: the one that comes with the package.")
    ] = published.LEAGUE,
    processes: Processes = None,
    turn_limit: TurnLimit = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for the card and its games; one that exists is continued."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make an agent's card: its place in the league, time a turn, faults, audit and, if asked, what a best response wins.

    It plays at the tables of the league's searches, with every selection of six anchors. Agents in other languages, or in another
    Python environment, play as exec:command=….
    """
    with user_input(*MATCH_ERRORS, ArithmeticError), redirect_stdout(sys.stderr):
        cards = analysis_module("evaluation.card")
        study = published.study_of(league)
        cells = cards.card_cells(study, league, agent, player_counts(players), deals)
        games = read_matches(league)
    with playing.open_store(out) as store:
        playing.compile_for(cells, None, as_json)
        with user_input(), output.working(f"auditing {agent}", as_json):
            audit = audit_in_process(agent, games_of(players, None, None), states, seed=0)
        with playing.open_engine("local", None, processes, turn_limit) as engine:
            matches, ended = playing.play(cells, store, engine, as_json)
    if ended is not None:
        playing.print_stopped(matches, cells)
        raise ended
    with user_input(ValueError, ArithmeticError):
        data: dict[str, Any] = cards.card_data(agent, games, matches, audit)
    if response_minutes is not None:
        data["response_minutes"] = response_minutes
        data["best_response"] = learn_response(agent, players, response_minutes, as_json)
    text = cards.card_page(data, study.release)
    if out is not None:
        with user_input(OSError):
            atomic.write_bytes(out / PAGE, text.encode())
    output.report_faults([fault for match in matches for fault in match.faults if fault.name == agent])
    if as_json:
        output.show({"command": "card", **data}, [], as_json)
    else:
        output.say(text, *([f"The card is in {out / PAGE}"] if out else []))
