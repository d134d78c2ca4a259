"""`bombay card`: where agents stand in the league, and whether they play fair."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env import Game, Rules, checks
from bombay_env.files import atomic
from bombay_env.registry import canonical
from bombay_training.cli import output, playing
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.inputs import check_distinct, player_counts
from bombay_training.cli.learn.best_response import learn_response, new_response
from bombay_training.cli.options import AGENT_HELP, MAX_COUNT, Json, Players, Processes, TurnLimit, complete_agent
from bombay_training.evaluation.audit import AuditReport, audit_in_process
from bombay_training.learners.runs import Run
from bombay_training.matches import published
from bombay_training.matches.cells import Cell
from bombay_training.matches.provenance import read_provenance, revision
from bombay_training.matches.spec import Study
from bombay_training.matches.store import read_matches

PAGE = "card.md"


def card(
    agents: Annotated[
        list[str], typer.Argument(help=f"One agent or several. {AGENT_HELP}.", autocompletion=complete_agent)
    ],
    players: Players = "2-5",
    deals: Annotated[
        int | None,
        typer.Option(help="Deals of each line-up. Default: those of the league.", min=1, max=MAX_COUNT),
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
        Path | None, typer.Option(help="A folder for the card and its games; one that exists is continued.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a card of agents: rank in the league, time per turn, faults, audit, and optionally a best response's win share.

    An agent plays with every combination of the league's six anchors, then of four weak agents. Several agents, or checkpoints of
    one, have one card, with the probability that each is better than each other one. An agent that loses more than 1 % of its
    games by faults is not rated. Agents in other languages, or in another Python environment, play as exec:command=….
    """
    from bombay_training.evaluation import card as cards  # here, because it takes a second to import SciPy

    with user_input(*MATCH_ERRORS, ArithmeticError):
        study = published.study_of(league)
        agents = list(map(canonical, agents))
        check_distinct(agents)
        if response_minutes is not None and len(agents) > 1:
            raise ValueError("--best-response is for a single agent")
        counts = player_counts(players)
        cells = [cell for agent in agents for cell in cards.card_cells(study, league, agent, counts, deals)]
        response = _new_response(agents[0], cells, response_minutes)
        _check_page(out, cards.heading(agents))
        games = read_matches(league)
        output.note_changed(league)
    with playing.open_store(out) as store:
        audits = _audit(agents, cells, states, as_json)
        with playing.open_engine("local", None, processes, turn_limit) as engine:
            matches, ended = playing.play(cells, store, engine, as_json)
    if ended is not None:
        playing.print_stopped(matches, cells)
        raise ended
    with user_input(ValueError, ArithmeticError):
        data: dict[str, Any] = cards.card_data(agents, games, matches, audits, study.anchors)
    output.report_faults([fault for match in matches for fault in match.faults if fault.name in agents])
    _finish(cards, data, _league(study, league), out, response, response_minutes, as_json)


def _finish(
    cards: Any,
    data: dict[str, Any],
    where: str,
    out: Path | None,
    response: tuple[Run, Path] | None,
    response_minutes: float | None,
    as_json: bool,
) -> None:
    """Write the card, train the best response if one is wanted, and print all."""
    _write(out, cards.card_page(data, where))
    if response is not None:  # it may fail or be stopped: then the card is there without it
        data["response_minutes"] = response_minutes
        data["best_response"] = learn_response(*response, data["agents"][0]["agent"], as_json)
        _write(out, cards.card_page(data, where))
    if as_json:
        output.show({"command": "card", **data}, [], as_json)
    else:
        output.say(cards.card_page(data, where), *([f"The card is in {out / PAGE}"] if out else []))


def _league(study: Study, folder: Path) -> str:
    """Which league it is, in words."""
    played_by = read_provenance(folder).revisions
    name = f"the league of release {study.release}" if study.release else f"the league in {folder}"
    if revision() in played_by:
        return f"{name}, played or accepted by this revision, {revision()}"
    return f"{name}, played or accepted by revision {played_by[-1]}; this is {revision()}, and `bombay verify` compares the two"


def _audit(agents: list[str], cells: list[Cell], states: int, quiet: bool) -> dict[str, AuditReport]:
    """Compile what the games need, and audit the agents in them."""
    playing.compile_for(cells, None, quiet)
    reports = {}
    for agent in agents:
        with user_input(), output.working(f"auditing {agent}", quiet):
            reports[agent] = audit_in_process(agent, _variants(cells), states, seed=0)
    return reports


def _variants(cells: list[Cell]) -> list[Game]:
    return list(dict.fromkeys(cell.game for cell in cells))


def _new_response(agent: str, cells: list[Cell], minutes: float | None) -> tuple[Run, Path] | None:
    if minutes is None:
        return None
    variants = _variants(cells)
    if any(game != Game(Rules.official(game.num_players)) for game in variants):
        raise ValueError("--best-response is for the official rules on the packaged board, but the league has others")
    return new_response(agent, tuple(game.num_players for game in variants), minutes)


def _check_page(folder: Path | None, heading: str) -> None:
    page = folder and folder / PAGE
    if page and page.exists() and not page.read_text(encoding="utf-8").startswith(f"{heading}\n"):
        raise ValueError(f"{checks.shown_path(page)} is the card of other agents; name another folder with --out")


def _write(folder: Path | None, text: str) -> None:
    if folder is not None:
        with user_input(OSError):
            atomic.write_bytes(folder / PAGE, text.encode())
