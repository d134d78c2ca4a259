"""Bombay, the board game, as a multi-player reinforcement-learning environment.

`Game` plays any number of games at once over arrays of state records. `bombay_env.bombay_v0` is the PettingZoo environment;
`bombay/Bombay-v0` the Gymnasium one, single and vector, with opponents inside.
"""

import gymnasium
import pettingzoo

from bombay_env.board import Board
from bombay_env.game import Game, IllegalActionError
from bombay_env.rules import Rules

__version__ = "0.1.0"
__all__ = ["Board", "Game", "IllegalActionError", "Rules", "__version__"]

# PettingZoo writes names in lower case, Gymnasium with a capital; both spellings work in both.
for _id in ("bombay/bombay-v0", "bombay/Bombay-v0"):
    if _id not in pettingzoo.aec_registry:
        pettingzoo.register("aec", _id, entry_point="bombay_env.bombay_v0:env")
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point="bombay_env.envs.single:make_single_env",
            vector_entry_point="bombay_env.envs.vector:BombayVectorEnv",
            # Without Gymnasium's wrappers `gymnasium.make(…).action_masks` is found: wrappers hide an environment's own methods,
            # and sb3_contrib's `ActionMasker(env, "action_masks")` looks no deeper. The environment itself refuses calls before
            # `reset`, and the tests run Gymnasium's checker on it.
            order_enforce=False,
            disable_env_checker=True,
        )
