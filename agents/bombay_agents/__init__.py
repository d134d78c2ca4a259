"""Players of Bombay: anything with `act` (see `bombay_env.agent`), made by name with `make`."""

from bombay_env.agent import Agent
from bombay_env.registry import make

__all__ = ["Agent", "make"]
