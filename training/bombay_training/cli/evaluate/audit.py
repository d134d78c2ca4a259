"""`bombay audit`: does an agent use hidden information."""

from typing import Annotated

import typer

from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import games_of
from bombay_training.cli.options import AGENT_HELP, MAX_COUNT, BoardFile, Json, Players, RulesFile, Seed, complete_agent
from bombay_training.cli.output import say, show, working
from bombay_training.evaluation import audit as audits
from bombay_training.rich_tables import cell


def audit(
    agent: Annotated[str, typer.Argument(help=f"{AGENT_HELP}.", autocompletion=complete_agent)],
    players: Players = "2-5",
    states: Annotated[
        int, typer.Option(help="Positions to test, over all numbers of players.", min=1, max=MAX_COUNT)
    ] = 400,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    as_json: Json = False,
) -> None:
    """Check that an agent's decisions are legal and do not depend on hidden information.

    Exit code: 0 if it passes, 1 if not, 2 if it cannot be audited. There is no time limit: an agent that hangs also
    hangs the audit.
    """
    with user_input(), working(f"auditing {agent}", as_json):
        report = audits.audit_in_process(agent, games_of(players, rules, board), states, seed)
    if as_json:
        show({"command": "audit", "agent": agent, **report.to_dict()}, [], as_json)
    else:
        say(cell(f"{agent}: {report}").plain)
    raise typer.Exit({"passed": 0, "failed": 1}.get(report.verdict, 2))
