"""What PettingZoo's SB3 tutorial does, only to compare with: why it hardly learns Bombay. See `pettingzoo_sb3.py` for what does.

    python training/examples/last_mover_sb3.py --minutes 1 --players 4

It needs the extra `ppo`. With `seat="all"` the environment is one stream for all seats, as the tutorial's wrapper makes it. Each
reward is that of the seat that acted. For PPO of Stable-Baselines3 this is wrong in two ways. All rewards come with the last
action of a game, and of these the learner sees one: that of the seat that acted last. And PPO takes the value of the next
observation for that of the seat that acted, although the next observation often belongs to another seat.
"""

from __future__ import annotations

import gymnasium
import typer
from common import Blocks, Minutes, Players, Seed, report
from pettingzoo_sb3 import FrozenPolicy, learn, policy_of

import bombay_env  # noqa: F401 - registers the environment


def main(minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn as in the tutorial, then play deals from every seat and print the win share."""

    def make_env() -> gymnasium.Env:
        return gymnasium.make("bombay/Bombay-v0", num_players=players, seat="all", reward="margin")

    model = learn(make_env, 60 * minutes, seed, FrozenPolicy(seed))
    print(f"{model.num_timesteps:,} steps, ", end="")
    report(policy_of(model), players, blocks)


if __name__ == "__main__":
    typer.run(main)
