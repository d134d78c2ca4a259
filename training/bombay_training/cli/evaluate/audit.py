"""`bombay audit`: does an agent use hidden information."""

from typing import Annotated

from bombay_training.cli import options, output
from bombay_training.cli.inputs import games_of
from bombay_training.cli.runner import Result, command
from bombay_training.evaluation import audit as audits
from bombay_training.rich_tables import cell


@command
def audit(
    agent: options.Agent,
    players: options.Players = "2-5",
    states: Annotated[int, options.count("Positions to test, over all numbers of players.")] = 400,
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
) -> Result:
    """Check that an agent's decisions are legal and do not depend on hidden information.

    Exit code: 0 if it passes, 1 if not, 2 if it cannot be audited. There is no time limit: an agent that hangs also
    hangs the audit.
    """
    with output.working(f"auditing {agent}"):
        report = audits.audit_in_process(agent, games_of(players, rules, board), states, seed)
    data = {"command": "audit", "agent": agent, **report.to_dict()}
    code = {"passed": 0, "failed": 1}.get(report.verdict, 2)
    return Result(data, lines=[cell(f"{agent}: {report}").plain], code=code)
