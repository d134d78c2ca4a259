"""Bombay, the board game, as a multi-player reinforcement-learning environment.

`Game` plays any number of games at once over arrays of state records; `bombay_env.bombay_v0` is the PettingZoo environment, and
`bombay/Bombay-v0` the Gymnasium one, single and vector, with opponents inside.
"""

import gymnasium
import pettingzoo

from bombay_env.board import Board
from bombay_env.game import Game, IllegalActionError
from bombay_env.rules import Rules

__version__ = "0.1.0"
__all__ = ["Board", "Game", "IllegalActionError", "Rules", "__version__"]

if "bombay/bombay-v0" not in pettingzoo.aec_registry:
    pettingzoo.register("aec", "bombay/bombay-v0", entry_point="bombay_env.bombay_v0:env")
if "bombay/Bombay-v0" not in gymnasium.registry:
    gymnasium.register(
        "bombay/Bombay-v0",
        entry_point="bombay_env.envs.single:BombaySingleEnv",
        vector_entry_point="bombay_env.envs.vector:BombayVectorEnv",
    )
