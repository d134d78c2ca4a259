"""Makes the player of any net file: `net:path=FILE`, whichever kind of net the file holds. The registry calls `make_net`."""

from bombay_agents.nets import files, policy_net, value_net
from bombay_agents.nets.policy_net_agent import NetAgent
from bombay_agents.nets.policy_turn_agent import NetOutcomeAgent
from bombay_agents.nets.value_net_agent import DEFAULT_ROUNDS, ValueNetAgent
from bombay_agents.nets.zero import net as zero_net
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_env.agent import Agent
from bombay_env.checks import shown, shown_path

FORMATS = (policy_net.FORMAT, value_net.FORMAT, zero_net.FORMAT)


def make_net(
    path: str,
    sample: bool = False,
    outcomes: bool = False,
    force: bool = False,
    rounds: int | None = None,
    width: int | None = None,
    draws: int | None = None,
) -> Agent:
    """The player of the net in a file.

    Args:
        path: the file with the net.
        sample: whether a policy net draws its actions instead of taking the most likely; by default false. Not with `outcomes`.
        outcomes: whether a policy net takes the outcome of the turn that its value head values most; by default false.
        force: whether to play also under rules or on boards that the net was not trained on; by default false.
        rounds: number of rounds to look ahead, from 1 to 100; by default 2. For value nets, and with `outcomes`. For nets of
            `zero` from 0 to 20; by default 1.
        width: number of outcomes to look ahead from, from 1 to 32; by default 8. For nets of `zero`.
        draws: restocks to draw where a set ends while looking ahead, from 1 to 64; by default 2. For nets of `zero`.
    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no net, or the options do not suit its net.
    """
    found = files.format_of(path)
    known = ", ".join(map(repr, FORMATS))
    files.check(found in FORMATS, f"{shown_path(path)}: its format is {shown(found)}; this program reads {known}")
    if found == zero_net.FORMAT:
        files.check(not sample and not outcomes, f"{path}: sample and outcomes are for policy nets")
        given = {"rounds": rounds, "width": width, "draws": draws}
        return ZeroAgent(path, force, **{name: value for name, value in given.items() if value is not None})
    files.check(width is None and draws is None, f"{path}: width and draws are for nets of zero")
    by_action = found == policy_net.FORMAT and not outcomes
    files.check(not by_action or rounds is None, f"{path}: rounds is for value nets and with outcomes=true")
    files.check(by_action or not sample, f"{path}: sample=true is for policy nets played without outcomes=true")
    if by_action:
        return NetAgent(path, sample, force)
    ahead = DEFAULT_ROUNDS if rounds is None else rounds
    return NetOutcomeAgent(path, force, ahead) if found == policy_net.FORMAT else ValueNetAgent(path, force, ahead)
