"""Who sits in a seat, by the name on the command line or the page: `human` or an agent's spec."""

import bombay_agents
from bombay_env.agent import Agent
from bombay_training.play.session import HUMAN


def make_seat(spec: str) -> Agent | None:
    """The agent of a spec, None for `human`. Raises ValueError if the spec is no agent's."""
    return None if spec == HUMAN else bombay_agents.make(spec)
