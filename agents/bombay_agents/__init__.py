"""Players of Bombay. A player is any object with `name` and `act` (`bombay_env.agent`); `make` creates one from its spec."""

from bombay_env.agent import Agent
from bombay_env.registry import make

__all__ = ["Agent", "make"]
