"""MaskablePPO with its default settings on arrays of games: an entry to a learning track (docs/tracks.md).

    python training/examples/track_maskable_ppo.py rules-10M --seed 0

One net plays all seats at 2 to 5 players, for the win alone. No setting is tuned; `bombay train ppo` is the same algorithm with
settings and rewards for this game. The buffer is not the default one, which would take the value of the next player for the
mover's.
It needs the extras `ppo` and `data`.
"""

from pathlib import Path

import numpy as np
import torch
import typer
from common import Entry, Seed, TrackName
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback

from bombay_env import Game, Rules
from bombay_training import BombayVecEnv, SeatRolloutBuffer, torch_nets

NUM_ENVS = 8  # games at once


class Snapshots(BaseCallback):
    """Keeps the net whenever one is due."""

    def __init__(self, entry: Entry, games: list[Game]) -> None:
        super().__init__()
        self.entry, self.games = entry, games

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self.entry.keep(self.num_timesteps, self.net)

    _on_training_end = _on_rollout_start

    def net(self) -> torch_nets.PolicyNet:
        """The net so far, as one that plays without PyTorch."""
        layers, policy = self.model.policy.mlp_extractor, self.model.policy
        actor = torch.nn.Sequential(layers.policy_net, policy.action_net)
        return torch_nets.policy_net(self.games, actor, activation="tanh")


def train(entry: Entry, seed: int) -> None:
    """Learn by self-play from `entry.decisions` decisions, on one thread."""
    torch.set_num_threads(1)
    games = [Game(Rules.official(num_players)) for num_players in (2, 3, 4, 5)]
    env = BombayVecEnv(games, NUM_ENVS, seed)
    model = MaskablePPO("MlpPolicy", env, rollout_buffer_class=SeatRolloutBuffer, seed=seed, device="cpu")

    def values(observations: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model.policy.predict_values(torch.from_numpy(observations)).numpy()[:, 0]

    model.rollout_buffer.attach(env, values)
    model.learn(entry.decisions, callback=Snapshots(entry, games))


def main(track: TrackName, seed: Seed = 0, out: Path | None = None) -> None:
    """Learn, keeping nets on the way, then score them with `bombay track`."""
    entry = Entry(track, "MaskablePPO", seed, out)
    train(entry, seed)
    entry.score()


if __name__ == "__main__":
    typer.run(main)
