"""How long a searching agent may think about a turn: for a time, or for a number of simulations or rollouts, its nodes.

Time depends on the machine; a number of nodes gives the same turn everywhere.
"""

import numbers
from typing import Final

from bombay_env.checks import shown, whole_number

MAX_MS: Final = 60_000.0
MAX_NODES: Final = 1_000_000


def check(
    who: str, ms: float | None, nodes: int | None, default_ms: float, name: str = "nodes"
) -> tuple[float | None, int | None]:
    """Both parts of a budget, of which exactly one is given; the default time if neither was.

    Args:
        who: name of the agent, for messages.
        ms: milliseconds a turn, above 0, up to 60000.
        nodes: from 1 to 1000000.
        default_ms: milliseconds a turn if nothing is given.
        name: what the agent calls its nodes.
    Raises:
        ValueError: both are given, or one is out of range.
    """
    if ms is not None and nodes is not None:
        raise ValueError(f"{who} takes ms or {name}, not both")
    if nodes is not None:
        return None, whole_number(nodes, f"{who}: {name}", 1, MAX_NODES)
    ms = default_ms if ms is None else ms
    if isinstance(ms, bool) or not isinstance(ms, numbers.Real) or not 0 < ms <= MAX_MS:
        raise ValueError(f"{who}: ms is {shown(ms)}; it must be above 0, up to {MAX_MS:.0f}")
    return float(ms), None
