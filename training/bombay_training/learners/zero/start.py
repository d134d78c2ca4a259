"""The `zero` agent that a run starts from, and how much its net has learned from already."""

from collections.abc import Mapping
from typing import Any

from bombay_agents import make
from bombay_agents.nets.zero.agent import ZeroAgent


def zero_agent(spec: str) -> ZeroAgent:
    """The `zero` agent of a spec, whose net a run can start from.

    Raises:
        ValueError: there is no such agent, it is of another kind, or its net is an ensemble.
    """
    agent = make(spec)
    if not isinstance(agent, ZeroAgent):
        raise ValueError(f"start is {spec!r}; it must be a zero agent, such as zero or net:path=agent.safetensors")
    if agent.net.members > 1:
        raise ValueError(f"start is {spec!r}, an ensemble of {agent.net.members} nets; a run starts from a single net")
    return agent


def games_learned_from(about: Mapping[str, Any]) -> int | None:
    """The number of games in what a net's file says about it; None if it does not say."""
    training = about.get("training")
    games = training.get("games") if isinstance(training, dict) else None
    return games if isinstance(games, int) and games > 0 else None
