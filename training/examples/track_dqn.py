"""Deep Q-learning with action masks in plain PyTorch: an entry to a learning track (docs/tracks.md).

    python training/examples/track_dqn.py rules-10M --seed 0

One net plays all seats at 2 to 5 players, for the win alone. Exploration draws legal actions, and targets are maxima over legal
actions. A transition leads from a decision of a seat to its own next one, or to the end. The replay buffer holds states, because
observations are ten times as large. Settings are the defaults of DQN in Stable-Baselines3, except that gradient steps are larger
and fewer: each has sixteen times the transitions, after sixteen times the decisions, with four times the learning rate.
It needs the extras `ppo` and `data`.
"""

import copy
from pathlib import Path

import numpy as np
import torch
import typer
from common import Entry, Seed, TrackName
from torch import nn

from bombay_env import AutoresetGames, Game, Rules
from bombay_training import torch_nets

NUM_LANES = 16  # games at once, for each number of players
BUFFER, BATCH = 250_000, 128  # transitions at each number of players, and those that a gradient step uses
LEARNING_RATE, GAMMA, MAX_NORM = 4e-4, 0.99, 10.0
TARGET_EVERY = 10_000  # decisions between two copies to the target net
EPSILON, EXPLORATION = 0.05, 0.1  # ε at the end; the part of the run in which it decreases from 1


def best(net: nn.Module, game: Game, states: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """The highest Q-values among legal actions, and these actions, (batch,), for the seats to act in states (batch,)."""
    masks = torch.from_numpy(game.legal_actions(states))
    return net(torch.from_numpy(game.observe(states))).masked_fill(~masks, -torch.inf).max(dim=1)


class Table:
    """Games at one number of players, and the transitions of their seats."""

    def __init__(self, num_players: int, seed: int) -> None:
        self.game = game = Game(Rules.official(num_players))
        self.lanes = AutoresetGames(game, NUM_LANES, seed)
        dtype, size = self.lanes.states.dtype, BUFFER
        self.replay = {
            "before": np.zeros(size, dtype),
            "after": np.zeros(size, dtype),
            "action": np.zeros(size, np.int64),
            "reward": np.zeros(size, np.float32),
            "ended": np.zeros(size, np.float32),
        }
        self.size, self.count = size, 0
        # The last decision of each seat, until its next one completes the transition.
        self.open = np.zeros((NUM_LANES, num_players), bool)
        self.before, self.action = np.zeros(self.open.shape, dtype), np.zeros(self.open.shape, np.int64)

    def play(self, net: nn.Module, epsilon: float, rng: np.random.Generator) -> None:
        """One decision in each lane; transitions that it completes go to the buffer."""
        game, lanes, n = self.game, self.lanes, self.game.num_players
        masks = game.legal_actions(lanes.states)
        with torch.no_grad():
            actions = best(net, game, lanes.states)[1].numpy()
        explores = rng.random(NUM_LANES) < epsilon
        actions = np.where(explores, (rng.random(masks.shape) * masks).argmax(axis=1), actions)
        mine = (np.arange(NUM_LANES), game.current_player(lanes.states))
        due = self.open[mine]
        self._add(self.before[mine][due], lanes.states[due], self.action[mine][due], 0, 0)
        self.before[mine], self.action[mine], self.open[mine] = lanes.states, actions, True
        lanes.step(actions)
        if lanes.ended.any():
            wins = (n * game.results(lanes.finals[lanes.ended])["win_share"] - 1) / (n - 1)
            due, before, action = self.open[lanes.ended], self.before[lanes.ended], self.action[lanes.ended]
            self._add(before[due], before[due], action[due], wins[due], 1)  # what follows does not count
            self.open[lanes.ended] = False

    def _add(self, before: np.ndarray, after: np.ndarray, action: np.ndarray, reward: object, ended: int) -> None:
        rows = (self.count + np.arange(len(action))) % self.size
        for name, column in zip(self.replay, (before, after, action, reward, ended), strict=True):
            self.replay[name][rows] = column
        self.count += len(action)

    def loss(self, net: nn.Module, target: nn.Module, rng: np.random.Generator) -> torch.Tensor:
        """The loss of `BATCH` transitions from the buffer."""
        rows = rng.integers(min(self.count, self.size), size=BATCH)
        before, after, action, reward, ended = (column[rows] for column in self.replay.values())
        with torch.no_grad():
            coming = best(target, self.game, after)[0]
        wanted = torch.from_numpy(reward) + GAMMA * torch.from_numpy(1 - ended) * coming
        values = net(torch.from_numpy(self.game.observe(before)))
        return nn.functional.smooth_l1_loss(values[torch.arange(BATCH), torch.from_numpy(action)], wanted)


def train(entry: Entry, seed: int) -> None:
    """Learn by self-play from `entry.decisions` decisions, on one thread."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    tables = [Table(num_players, 1000 * seed) for num_players in (2, 3, 4, 5)]  # a lane adds its number
    games = [table.game for table in tables]
    size = games[0].num_features, games[0].num_actions
    net = nn.Sequential(nn.Linear(size[0], 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, size[1]))
    target, optimizer = copy.deepcopy(net), torch.optim.Adam(net.parameters(), LEARNING_RATE)
    each = NUM_LANES * len(tables)
    for decisions in range(each, entry.decisions + each, each):
        epsilon = max(EPSILON, 1 - (1 - EPSILON) * decisions / (EXPLORATION * entry.decisions))
        for table in tables:
            table.play(net, epsilon, rng)
        if all(table.count >= BATCH for table in tables):
            loss = torch.stack([table.loss(net, target, rng) for table in tables]).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
            optimizer.step()
        if decisions % TARGET_EVERY < each:
            target.load_state_dict(net.state_dict())
        entry.keep(decisions, lambda: torch_nets.policy_net(games, net))


def main(track: TrackName, seed: Seed = 0, out: Path | None = None) -> None:
    """Learn, keeping nets on the way, then score them with `bombay track`."""
    entry = Entry(track, "DQN", seed, out)
    train(entry, seed)
    entry.score()


if __name__ == "__main__":
    typer.run(main)
