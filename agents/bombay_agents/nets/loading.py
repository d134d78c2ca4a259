"""Nets as players by name: one `net:path=FILE`, whatever kind of net the file holds."""

from bombay_agents.nets import files, policy_net, value_net_agent
from bombay_agents.nets.policy_net import NetAgent
from bombay_agents.nets.policy_turn_agent import NetOutcomeAgent
from bombay_agents.nets.value_net_agent import ValueNetAgent
from bombay_env.agent import Agent

FORMATS = (policy_net.FORMAT, value_net_agent.FORMAT)


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
    found = files.format_of(path)
    files.check(
        found in FORMATS, f"{path}: its format is {found!r}; this program reads {' and '.join(map(repr, FORMATS))}"
    )
    raw = found == policy_net.FORMAT and not outcomes
    files.check(not raw or rounds is None, f"{path}: rounds is for value nets and with outcomes=true")
    files.check(raw or not sample, f"{path}: sample=true is for policy nets played without outcomes=true")
    if raw:
        return NetAgent(path, sample, force)
    ahead = value_net_agent.DEFAULT_ROUNDS if rounds is None else rounds
    return NetOutcomeAgent(path, force, ahead) if found == policy_net.FORMAT else ValueNetAgent(path, force, ahead)
