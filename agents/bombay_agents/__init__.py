"""Players of Bombay: the names that programs import. The modules behind these names may move.

A player is any object with `name` and `act` (`Agent`); `make` creates one from its spec.
"""

from bombay_agents import turns
from bombay_agents.search.agent import SearchAgent
from bombay_agents.search.last_round import solve
from bombay_agents.turns import distinct_turns
from bombay_agents.turns.evaluator import PythonEvaluator, new_result, value_result
from bombay_agents.turns.whole import TurnOutcomes, play_turns, turn_outcomes
from bombay_env.agent import Agent
from bombay_env.registry import agent_names, make

__all__ = [
    "Agent",
    "PythonEvaluator",
    "SearchAgent",
    "TurnOutcomes",
    "agent_names",
    "distinct_turns",
    "make",
    "new_result",
    "play_turns",
    "solve",
    "turn_outcomes",
    "turns",
    "value_result",
]
