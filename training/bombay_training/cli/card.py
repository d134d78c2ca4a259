"""`bombay card`: where agents stand in the league, and whether they play fair."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env import Game, Rules, checks
from bombay_env.files import atomic
from bombay_env.registry import canonical
from bombay_training.cli import options, output, playing
from bombay_training.cli.inputs import check_distinct, player_counts
from bombay_training.cli.learn.training import learn_response, new_run
from bombay_training.cli.runner import Result, command
from bombay_training.evaluation.audit import AuditReport, audit_in_process
from bombay_training.learners.best_response import settings_for
from bombay_training.learners.runs import Run
from bombay_training.matches import published
from bombay_training.matches.cells import Cell
from bombay_training.matches.provenance import read_provenance, revision
from bombay_training.matches.spec import Study
from bombay_training.matches.store import read_matches

PAGE = "card.md"
MINUTES = "Also train a best response to the agent for this many minutes."
LEAGUE = "A store of a league with anchors. Default: the one that comes with the package."
OUT = "A folder for the card and its games; one that exists is continued."


@command
def card(
    agents: Annotated[list[str], options.agents_argument(f"One agent or several. {options.AGENT_HELP}.")],
    players: options.Players = "2-5",
    deals: Annotated[int | None, options.count("Deals of each line-up. Default: those of the league.")] = None,
    states: Annotated[int, options.count("Positions of the audit.")] = 400,
    response_minutes: Annotated[float | None, typer.Option("--best-response", help=MINUTES, min=0.01)] = None,
    league: Annotated[Path, typer.Option(help=LEAGUE, show_default=False)] = published.LEAGUE,
    processes: options.Processes = None,
    turn_limit: options.TurnLimit = None,
    out: Annotated[Path | None, typer.Option(help=OUT)] = None,
) -> Result:
    """Make a card of agents: rank in the league, time per turn, faults, audit, and optionally a best response's win share.

    An agent plays with every combination of the league's six anchors, then of four weak agents. Several agents, or checkpoints of
    one, have one card, with the probability that each is better than each other one. An agent that loses more than 1 % of its
    games by faults is not rated. Agents in other languages, or in another Python environment, play as exec:command=….
    """
    from bombay_training.evaluation import card as cards  # here, because it takes a second to import SciPy

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
    with playing.open_store(out) as store, playing.open_engine(processes=processes, turn_limit=turn_limit) as engine:
        audits = _audit(agents, cells, states)
        played = playing.play(cells, store, engine)
    played.end_if_stopped()
    data: dict[str, Any] = {
        "command": "card",
        **cards.card_data(agents, games, played.matches, audits, study.anchors),
    }
    output.report_faults([fault for fault in played.faults if fault.name in agents])
    where = _league(study, league)
    _write(out, cards.card_page(data, where))
    if response is not None:  # it may fail or be stopped: then the card is there without it
        data["response_minutes"] = response_minutes
        data["best_response"] = learn_response(*response)
        _write(out, cards.card_page(data, where))
    written = [f"The card is in {out / PAGE}"] if out else []
    return Result(data, lines=[cards.card_page(data, where), *written])


def _league(study: Study, folder: Path) -> str:
    """Which league it is, in words."""
    played_by = read_provenance(folder).revisions
    name = f"the league of release {study.release}" if study.release else f"the league in {folder}"
    if revision() in played_by:
        return f"{name}, played or accepted by this revision, {revision()}"
    return f"{name}, played or accepted by revision {played_by[-1]}; this is {revision()}, and `bombay verify` compares the two"


def _audit(agents: list[str], cells: list[Cell], states: int) -> dict[str, AuditReport]:
    """Compile what the games need, and audit the agents in them."""
    playing.compile_for(cells)
    reports = {}
    for agent in agents:
        with output.working(f"auditing {agent}"):
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
    return new_run(settings_for(agent, players=tuple(game.num_players for game in variants), minutes=minutes))


def _check_page(folder: Path | None, heading: str) -> None:
    page = folder and folder / PAGE
    if page and page.exists() and not page.read_text(encoding="utf-8").startswith(f"{heading}\n"):
        raise ValueError(f"{checks.shown_path(page)} is the card of other agents; name another folder with --out")


def _write(folder: Path | None, text: str) -> None:
    if folder is not None:
        atomic.write_bytes(folder / PAGE, text.encode())
