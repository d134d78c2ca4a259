"""Players of Bombay: anything with `act` (see `protocol.py`), made by name with `make`."""

from bombay_agents.protocol import Agent
from bombay_agents.specs import make

__all__ = ["Agent", "make"]
