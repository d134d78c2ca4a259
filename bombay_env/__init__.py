"""Bombay, the board game, as a multi-player reinforcement-learning environment.

`Game` plays any number of games at once, as arrays of state records. `bombay_env.bombay_v0` is the PettingZoo environment.
`bombay/Bombay-v0` is the Gymnasium environment, single and vectorised, with built-in opponents. These are the names that programs
import; the modules behind them may move.
"""

import gymnasium
import pettingzoo

__version__ = "0.1.0"  # first: files of results name it

from bombay_env import bombay_v0, text, wrappers
from bombay_env.agent import Agent, AgentContext, AgentFault, ask, lane_games, lane_keys
from bombay_env.board import Board, BoardError
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.game import Game, IllegalActionError
from bombay_env.jit.kernels import kernel
from bombay_env.record import Record, RecordError, read_records, write_records
from bombay_env.render.svg import draw as draw_svg
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS, Rules

__all__ = [
    "MAX_PLAYERS",
    "MIN_PLAYERS",
    "Agent",
    "AgentContext",
    "AgentFault",
    "AutoresetGames",
    "Board",
    "BoardError",
    "Game",
    "IllegalActionError",
    "Record",
    "RecordError",
    "Rules",
    "__version__",
    "ask",
    "bombay_v0",
    "draw_svg",
    "kernel",
    "lane_games",
    "lane_keys",
    "read_records",
    "text",
    "wrappers",
    "write_records",
]

# PettingZoo's names are in lower case, Gymnasium's start with a capital; both libraries accept both spellings.
for _id in ("bombay/bombay-v0", "bombay/Bombay-v0"):
    if _id not in getattr(pettingzoo, "aec_registry", (_id,)):  # PettingZoo 1.26 has no registry
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
