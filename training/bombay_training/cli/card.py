"""`bombay card`: where an agent stands in the league, and whether it plays fair."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env import Game, Rules, checks
from bombay_env.files import atomic
from bombay_training.cli import output, playing
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.inputs import analysis_module, player_counts
from bombay_training.cli.learn.best_response import learn_response, new_response
from bombay_training.cli.options import AGENT_HELP, MAX_COUNT, Json, Players, Processes, TurnLimit, complete_agent
from bombay_training.evaluation.audit import AuditReport, audit_in_process
from bombay_training.learners.runs import Run
from bombay_training.matches import published
from bombay_training.matches.cells import Cell
from bombay_training.matches.store import read_matches

PAGE = "card.md"


def card(
    agent: Annotated[str, typer.Argument(help=f"{AGENT_HELP}.", autocompletion=complete_agent)],
    players: Players = "2-5",
    deals: Annotated[
        int | None,
        typer.Option(
            help="Deals of each line-up. Default: those of the league, 3,910 games in all.", min=1, max=MAX_COUNT
        ),
    ] = None,
    states: Annotated[int, typer.Option(help="Positions of the audit.", min=1, max=MAX_COUNT)] = 400,
    response_minutes: Annotated[
        float | None,
        typer.Option(
            "--best-response", help="Also train a best response to the agent for this many minutes.", min=0.01
        ),
    ] = None,
    league: Annotated[
        Path,
        typer.Option(
            help="A store of a league with anchors. Default: the one that comes with the package.", show_default=False
        ),
    ] = published.LEAGUE,
    processes: Processes = None,
    turn_limit: TurnLimit = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for the card and its games; one that exists is continued."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make an agent's card: its rank in the league, time per turn, faults, audit, and optionally a best response's win share.

    The agent plays with every combination of the league's six anchors in the other seats. Agents in other languages, or in
    another Python environment, play as exec:command=….
    """
    with user_input(*MATCH_ERRORS, ArithmeticError), redirect_stdout(sys.stderr):
        cards = analysis_module("evaluation.card")
        study = published.study_of(league)
        cells = cards.card_cells(study, league, agent, player_counts(players), deals)
        response = _new_response(agent, cells, response_minutes)
        _check_page(out, agent)
        games = read_matches(league)
    with playing.open_store(out) as store:
        audit = _audit(agent, cells, states, as_json)
        with playing.open_engine("local", None, processes, turn_limit) as engine:
            matches, ended = playing.play(cells, store, engine, as_json)
    if ended is not None:
        playing.print_stopped(matches, cells)
        raise ended
    with user_input(ValueError, ArithmeticError):
        data: dict[str, Any] = cards.card_data(agent, games, matches, audit, study.anchors)
    output.report_faults([fault for match in matches for fault in match.faults if fault.name == agent])
    _write(out, cards.card_page(data, study.release))
    if response is not None:  # it may fail or be stopped: then the card is there without it
        data["response_minutes"], data["best_response"] = response_minutes, learn_response(*response, agent, as_json)
        _write(out, cards.card_page(data, study.release))
    if as_json:
        output.show({"command": "card", **data}, [], as_json)
    else:
        output.say(cards.card_page(data, study.release), *([f"The card is in {out / PAGE}"] if out else []))


def _audit(agent: str, cells: list[Cell], states: int, quiet: bool) -> AuditReport:
    """Compile what the games need, and audit the agent in them."""
    playing.compile_for(cells, None, quiet)
    with user_input(), redirect_stdout(sys.stderr), output.working(f"auditing {agent}", quiet):
        return audit_in_process(agent, _variants(cells), states, seed=0)


def _variants(cells: list[Cell]) -> list[Game]:
    return list(dict.fromkeys(cell.game for cell in cells))


def _new_response(agent: str, cells: list[Cell], minutes: float | None) -> tuple[Run, Path] | None:
    if minutes is None:
        return None
    variants = _variants(cells)
    if any(game != Game(Rules.official(game.num_players)) for game in variants):
        raise ValueError("--best-response is for the official rules on the packaged board, but the league has others")
    return new_response(agent, tuple(game.num_players for game in variants), minutes)


def _check_page(folder: Path | None, agent: str) -> None:
    page = folder and folder / PAGE
    if page and page.exists() and not page.read_text(encoding="utf-8").startswith(f"# `{agent}`\n"):
        raise ValueError(f"{checks.shown_path(page)} is the card of another agent; name another folder with --out")


def _write(folder: Path | None, text: str) -> None:
    if folder is not None:
        with user_input(OSError):
            atomic.write_bytes(folder / PAGE, text.encode())
