"""Bombay for PettingZoo: `from bombay_env import bombay_v0; env = bombay_v0.env(num_players=4)`.

| | |
| --- | --- |
| agents | `player_0` … `player_4`, one a seat, clockwise |
| observation | Dict: `observation` Box float32 (F,), `action_mask` Box int8 (A,) |
| action | Discrete (A,): sites + 15 actions in the order of RULES 7 |
| reward | at the end, to every seat its own, zero-sum: "win", "rank" or "margin" |
| turns | fixed in number: games end, and are never truncated |

The features are described by `env.unwrapped.game.feature_layout.table()`.

Version history: v0, the first.
"""

from bombay_env.envs.aec import env, raw_env

__all__ = ["env", "raw_env"]
