"""Bombay for PettingZoo: `from bombay_env import bombay_v0; env = bombay_v0.env(num_players=4)`.

| | |
| --- | --- |
| agents | `player_0` … `player_4`, one for each seat, clockwise |
| observation | Dict: `observation` Box float32 (F,), `action_mask` Box int8 (A,) |
| action | Discrete (A,): sites + 15 actions in the order of RULES 7 |
| reward | at the end, for every seat, zero-sum: "win", "rank" or "margin" |
| length | a fixed number of turns; the game itself never truncates |

`env.unwrapped.game.feature_layout.table()` describes the features.
`bombay_env.text.describe_rules(env.unwrapped.game)` tells the rules of the game in words.

Version history: v0 is the first version.
"""

from bombay_env.envs.aec import env, raw_env

__all__ = ["env", "raw_env"]
