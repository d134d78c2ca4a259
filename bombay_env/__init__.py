"""Bombay, the board game, as a multi-player reinforcement-learning environment."""

from bombay_env.board import Board
from bombay_env.game import Game, IllegalActionError
from bombay_env.rules import Rules

__version__ = "0.1.0"
__all__ = ["Board", "Game", "IllegalActionError", "Rules", "__version__"]
