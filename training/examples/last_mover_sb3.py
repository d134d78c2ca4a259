"""PettingZoo's SB3 tutorial as it is, only to compare with: why it hardly learns Bombay. See `pettingzoo_sb3.py` for what does.

    python training/examples/last_mover_sb3.py --minutes 1 --players 4

It needs the extra `ppo`.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import typer
from common import Blocks, Minutes, Players, Seed, report
from pettingzoo import AECEnv
from pettingzoo_sb3 import FrozenPolicy, Step, learn, policy_of

from bombay_env import bombay_v0


class LastMoverEnv(gymnasium.Env[np.ndarray, Any]):
    """What the tutorial's wrapper does: one stream for all agents, each reward that of the last mover.

    In Bombay this is wrong in two ways. All rewards come with the last action of a game, and of these the learner sees one: that
    of the seat that moved last. And the value of the next view is that of whoever is to move, often another player.
    """

    def __init__(self, env: AECEnv) -> None:
        self.env = env
        self.observation_space = env.observation_space(env.possible_agents[0])["observation"]
        self.action_space = env.action_space(env.possible_agents[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode. Returns the view of the agent to move and an empty info."""
        super().reset(seed=seed)
        self.env.reset(seed=seed, options=options)
        return self._view(), {}

    def step(self, action: int) -> Step:
        """Play an action: the view is that of the agent to move now, all else belongs to the agent that just moved."""
        env, mover = self.env, self.env.agent_selection
        env.step(action)
        return self._view(), env.rewards[mover], env.terminations[mover], env.truncations[mover], {}

    def action_masks(self) -> np.ndarray:
        """What the agent to move may do, (A,) bool."""
        return self.env.observe(self.env.agent_selection)["action_mask"].astype(bool)

    def _view(self) -> np.ndarray:
        return self.env.observe(self.env.agent_selection)["observation"]


def main(
    minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, opponent: str = "random", blocks: Blocks = 250
) -> None:
    """Learn with the tutorial's wrapper, then play deals from every seat and print the win share."""
    env = {"num_players": players, "reward": "margin"}
    model = learn(lambda: LastMoverEnv(bombay_v0.env(**env)), 60 * minutes, seed, FrozenPolicy(seed))
    print(f"{model.num_timesteps:,} steps, ", end="")
    report(policy_of(model), players, opponent, blocks)


if __name__ == "__main__":
    typer.run(main)
