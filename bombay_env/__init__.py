"""Bombay, the board game, as a multi-player reinforcement-learning environment.

`Game` plays any number of games at once, as arrays of state records. `bombay_env.bombay_v0` is the PettingZoo environment.
`bombay/Bombay-v0` is the Gymnasium environment, single and vectorised, with built-in opponents.
"""

import gymnasium
import pettingzoo

from bombay_env.board import Board
from bombay_env.game import Game, IllegalActionError
from bombay_env.rules import Rules

__version__ = "0.1.0"
__all__ = ["Board", "Game", "IllegalActionError", "Rules", "__version__"]

# PettingZoo's names are in lower case, Gymnasium's start with a capital; both libraries accept both spellings.
for _id in ("bombay/bombay-v0", "bombay/Bombay-v0"):
    if _id not in pettingzoo.aec_registry:
        pettingzoo.register("aec", _id, entry_point="bombay_env.bombay_v0:env")
    if _id not in gymnasium.registry:
        gymnasium.register(
            _id,
            entry_point="bombay_env.envs.single:make_single_env",
            vector_entry_point="bombay_env.envs.vector:BombayVectorEnv",
            # No wrappers, because they would hide `action_masks` from sb3_contrib's `ActionMasker(env, "action_masks")`, which
            # does not look inside wrappers. The environment itself raises ResetNeeded before the first reset, and the tests run
            # Gymnasium's checker on it.
            order_enforce=False,
            disable_env_checker=True,
        )
