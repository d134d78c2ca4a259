"""Nets as players by name: one `net:path=FILE`, whatever kind of net the file holds."""

from bombay_agents import net, net_files, value_agent
from bombay_agents.net import NetAgent
from bombay_agents.net_outcomes import NetOutcomeAgent
from bombay_agents.value_agent import ValueNetAgent
from bombay_env.agent import Agent

FORMATS = (net.FORMAT, value_agent.FORMAT)


def make_net(
    path: str, sample: bool = False, outcomes: bool = False, force: bool = False, rounds: int | None = None
) -> Agent:
    """The player that a file makes.

    Args:
        path: the file.
        sample: draw from a policy net's policy instead of playing the likeliest action.
        outcomes: have a policy net judge the outcomes of its turn by its value head. A value net always does.
        force: play also under rules and on boards that the net was not trained on.
        rounds: of turns that are foreseen by a value net's player, or where outcomes are judged.
    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no net, or one that the options do not suit.
    """
    found = net_files.format_of(path)
    net_files.check(
        found in FORMATS, f"{path}: its format is {found!r}; this program reads {' and '.join(map(repr, FORMATS))}"
    )
    raw = found == net.FORMAT and not outcomes
    net_files.check(not raw or rounds is None, f"{path}: rounds is for value nets and with outcomes=true")
    net_files.check(raw or not sample, f"{path}: sample=true is for policy nets played without outcomes=true")
    if raw:
        return NetAgent(path, sample, force)
    ahead = value_agent.DEFAULT_ROUNDS if rounds is None else rounds
    return NetOutcomeAgent(path, force, ahead) if found == net.FORMAT else ValueNetAgent(path, force, ahead)
