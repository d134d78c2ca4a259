"""Self-play in plain PyTorch on arrays of games: one actor-critic net plays all seats and learns from each seat's own result.

    python training/examples/plain_torch.py --minutes 2 --players 4

It needs PyTorch (extra `ppo`) and no trainer. Between two decisions of a seat lie those of the others, so λ-returns are computed
for each seat separately, from its own margin at the end of the game (in tens of rupees) and its own values. The discount is 1.
"""

from __future__ import annotations

import time

import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from torch import Tensor, nn

from bombay_env import AutoresetGames, Board, Game, Rules

NUM_LANES, NUM_STEPS = 256, 32  # games at once, and decisions in each of them between two updates
BATCH, LEARNING_RATE, TD_LAMBDA, ENTROPY, VALUE, MAX_NORM = 1024, 1e-3, 0.95, 0.01, 0.5, 0.5


class Net(nn.Module):
    """Logits of the actions, and what the seat to act expects."""

    def __init__(self, num_features: int, num_actions: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(num_features, 128), nn.ReLU())
        self.logits, self.value = nn.Linear(128, num_actions), nn.Linear(128, 1)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (batch, A), −1e9 where illegal, and values (batch,), of observations (batch, F) and masks (batch, A)."""
        hidden = self.trunk(observations)
        return self.logits(hidden).masked_fill(~masks, -1e9), self.value(hidden).squeeze(-1)


class Rollout:
    """`NUM_STEPS` decisions in each lane, in arrays (steps, lanes, …) that `play` overwrites."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.lanes = game, AutoresetGames(game, NUM_LANES, seed)
        shape = (NUM_STEPS, NUM_LANES)
        self.observations = np.empty((*shape, game.num_features), np.float32)
        self.masks = np.empty((*shape, game.num_actions), bool)
        self.seats, self.actions, self.values = np.empty(shape, int), np.empty(shape, int), np.empty(shape, np.float32)
        self.ended, self.rewards = np.empty(shape, bool), np.empty((*shape, game.num_players), np.float32)

    def play(self, net: Net) -> np.ndarray:
        """Play by the net. Returns the λ-return of each decision for the seat that made it, (steps, lanes) float32."""
        game, lanes = self.game, self.lanes
        for step in range(NUM_STEPS):
            seen = torch.from_numpy(game.observe(lanes.states, out=self.observations[step]))
            mask = torch.from_numpy(game.legal_actions(lanes.states, out=self.masks[step]))
            logits, values = net(seen, mask)
            self.actions[step] = logits.softmax(-1).multinomial(1).squeeze(-1)
            self.values[step], self.seats[step] = values, game.current_player(lanes.states)
            lanes.step(self.actions[step])
            self.ended[step] = lanes.ended
            final = game.results(lanes.finals[lanes.ended])["final"]  # rupees of every seat
            self.rewards[step, lanes.ended] = (final - final.mean(axis=1, keepdims=True)) / 10
        return self.returns(net)

    def returns(self, net: Net) -> np.ndarray:
        """The λ-returns, computed backwards from what the net expects for each seat after the last step."""
        returns = np.empty_like(self.values)
        views = [self.game.observe(self.lanes.states, seats=seat) for seat in range(self.game.num_players)]
        coming = np.hstack([net.value(net.trunk(torch.from_numpy(view))).numpy() for view in views])  # (lanes, seats)
        for step in reversed(range(NUM_STEPS)):
            ended, mine = self.ended[step], (np.arange(NUM_LANES), self.seats[step])
            coming[ended] = self.rewards[step, ended]
            returns[step] = coming[mine]
            coming[mine] = TD_LAMBDA * returns[step] + (1 - TD_LAMBDA) * self.values[step]
        return returns


def update(net: Net, optimizer: torch.optim.Optimizer, rollout: Rollout, returns: np.ndarray) -> None:
    """One pass of gradient steps over the decisions of a rollout."""
    columns = (rollout.observations, rollout.masks, rollout.actions, returns, returns - rollout.values)
    flat = [torch.from_numpy(column).flatten(0, 1) for column in columns]
    for rows in torch.randperm(NUM_STEPS * NUM_LANES).split(BATCH):
        seen, mask, action, target, advantage = (column[rows] for column in flat)
        logits, value = net(seen, mask)
        log_policy = logits.log_softmax(-1)
        chosen = log_policy.gather(-1, action[:, None]).squeeze(-1)
        entropy = -(log_policy.exp() * log_policy).sum(-1).mean()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        loss = VALUE * (value - target).square().mean() - (advantage * chosen).mean() - ENTROPY * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
        optimizer.step()


def train(num_players: int, seconds: float, seed: int = 0) -> Policy:
    """Learn for some seconds on one thread, at least one update. Returns the policy, which takes the likeliest action."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rollout = Rollout(Game(Rules.official(num_players), Board.load()), seed)
    net = Net(rollout.game.num_features, rollout.game.num_actions)
    optimizer = torch.optim.Adam(net.parameters(), LEARNING_RATE)
    decisions, playing, start = 0, 0.0, time.monotonic()
    while decisions == 0 or time.monotonic() < start + seconds:
        before = time.monotonic()
        with torch.inference_mode():
            returns = rollout.play(net)
        playing, decisions = playing + time.monotonic() - before, decisions + returns.size
        update(net, optimizer, rollout, returns)
    print(f"{decisions:,} decisions, {decisions / playing:,.0f} a second without the gradient, ", end="")
    return lambda seen, masks: net(torch.from_numpy(seen), torch.from_numpy(masks))[0].argmax(-1).numpy()


def main(minutes: Minutes = 2, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn by self-play, then play deals from every seat against `random` and print the win share."""
    report(train(players, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
