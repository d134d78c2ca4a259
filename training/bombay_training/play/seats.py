"""Who sits in a seat, by the name on the command line or the page: `human` or an agent's spec."""

import difflib
from typing import Final

import bombay_agents
from bombay_env import checks
from bombay_env.agent import Agent
from bombay_training.play.session import HUMAN

# The agents that somebody elsewhere may choose, who has only a page or a protocol: other specs can name files and programs.
LEVELS: Final = {  # in words, the weakest first
    "random": "weakest",
    "greedy": "easy",
    "planner-v1": "medium",
    "zero": "hard",
    "champion": "hardest",
}
SAFE_AGENTS: Final = tuple(LEVELS)


def make_seat(spec: str) -> Agent | None:
    """The agent of a spec, None for `human`. Raises ValueError if the spec is no agent's."""
    if spec == HUMAN:
        return None
    near = difflib.get_close_matches(spec.lower(), [HUMAN, *bombay_agents.agent_names()], n=1)
    if near == [HUMAN] and ":" not in spec:
        raise ValueError(f"no agent is named {checks.shown(spec)}; did you mean {HUMAN!r}?")
    return bombay_agents.make(spec)
