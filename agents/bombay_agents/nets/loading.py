"""Makes the player of any net file: `net:path=FILE`, whichever kind of net the file holds. The registry calls `make_net`."""

from bombay_agents.nets import files
from bombay_agents.nets.policy import net as policy_net
from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.nets.value import net as value_net
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_env.checks import shown, shown_path
from bombay_env.registry import described

FORMATS = (policy_net.FORMAT, value_net.FORMAT)


@described("as the net in the file", least=None)
def make_net(
    path: str,
    sample: bool | None = None,
    force: bool = False,
    rounds: int | None = None,
    width: int | None = None,
    draws: int | None = None,
) -> PolicyNetAgent | ValueNetAgent:
    """The player of the net in a file.

    Args:
        path: the file with the net.
        sample: whether a policy net draws its actions instead of taking the most likely; by default false.
        force: whether to play also under rules or on boards that the net was not trained on; by default false.
        rounds: own turns that a value net plays on before it values a position, from 0 to 20; by default 1.
        width: number of outcomes that a value net looks ahead from, from 1 to 32; by default 8.
        draws: restocks that a value net draws where a set ends while looking ahead, from 1 to 64; by default 2.
    Raises:
        OSError: the file cannot be read.
        ValueError: it holds no net, or the options do not suit its net.
    """
    found = files.format_of(path)
    known = ", ".join(map(repr, FORMATS))
    files.check(found in FORMATS, f"{shown_path(path)}: its format is {shown(found)}; this program reads {known}")
    ahead = {"rounds": rounds, "width": width, "draws": draws}
    given = {name: value for name, value in ahead.items() if value is not None}
    if found == value_net.FORMAT:
        files.check(sample is None, f"{path}: sample is for policy nets")
        return ValueNetAgent(path, force, **given)
    files.check(not given, f"{path}: rounds, width and draws are for value nets")
    return PolicyNetAgent(path, bool(sample), force)
