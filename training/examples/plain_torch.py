"""Self-play in plain PyTorch on arrays of games: one actor-critic net plays all seats and learns from each seat's own result.

    python training/examples/plain_torch.py --minutes 3 --players 4 --out agent.pt
    cd training/examples; bombay arena plain_torch:load:path=../../agent.pt greedy

It needs PyTorch and no trainer. Between two decisions of a seat lie those of the others, so λ-returns are computed for each seat
separately, from its own rewards and values. A reward is the change of a seat's margin in one step; the discount is 1. Reward at
the end alone, or a small entropy bonus, leads to a policy that always consolidates (docs/faq.md). The update is PPO's.
"""

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Seed, report
from torch import Tensor, nn
from torch.distributions import Categorical

from bombay_env import AutoresetGames, Board, Game, Rules

NUM_LANES, NUM_STEPS = 256, 32  # games at once, and decisions in each of them between two updates
BATCH, EPOCHS, TD_LAMBDA, CLIP, VALUE, MAX_NORM = 1024, 2, 0.9, 0.2, 0.5, 0.5
LEARNING_RATE, ENTROPY = 1.5e-3, 0.2  # at the start; both decrease linearly to 0


class Net(nn.Module):
    """The policy, and what the seat to act expects."""

    def __init__(self, num_features: int, num_actions: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(num_features, 128), nn.ReLU())
        self.logits, self.value = nn.Linear(128, num_actions), nn.Linear(128, 1)

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Categorical, Tensor]:
        """The policy over legal actions, and values (batch,), of observations (batch, F) and masks (batch, A)."""
        hidden = self.trunk(observations)
        logits = self.logits(hidden).masked_fill(~masks, -1e9)
        return Categorical(logits=logits, validate_args=False), self.value(hidden).squeeze(-1)


class Player:
    """A net as an agent, for the rules and the board that it was trained on: it takes the likeliest action."""

    name = "plain-torch"

    def __init__(self, net: Net) -> None:
        self.net = net

    def check_game(self, game: Game) -> None:
        """Raise ValueError for a board with another number of sites: matches ask this before they begin."""
        if game.num_features != self.net.trunk[0].in_features:
            raise ValueError("plain-torch: the net was trained on a board with another number of sites")

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions (batch,) int64 for states (batch,)."""
        seen, masks = torch.from_numpy(game.observe(states)), torch.from_numpy(game.legal_actions(states))
        with torch.inference_mode():
            return self.net(seen, masks)[0].logits.argmax(-1).numpy()


def load(path: str) -> Player:
    """The agent of a net that `main` has saved; its spec is `plain_torch:load:path=FILE`."""
    torch.set_num_threads(1)  # matches play in one process for each core
    weights = torch.load(path, weights_only=True)  # reads arrays only, so a file of others runs no code
    net = Net(weights["trunk.0.weight"].shape[1], len(weights["logits.bias"]))
    net.load_state_dict(weights)
    return Player(net)


def margins(game: Game, states: np.ndarray) -> np.ndarray:
    """Rupees of each seat above the mean if the games ended now, in tens, (batch, seats)."""
    final = game.provisional_results(states)["final"]
    return (final - final.mean(axis=1, keepdims=True)) / 10


class Rollout:
    """`NUM_STEPS` decisions in each lane, in arrays (steps, lanes, …) that `play` overwrites."""

    def __init__(self, game: Game, seed: int) -> None:
        self.game, self.lanes = game, AutoresetGames(game, NUM_LANES, NUM_LANES * seed)
        shape = (NUM_STEPS, NUM_LANES)
        self.observations = np.empty((*shape, game.num_features), np.float32)
        self.masks = np.empty((*shape, game.num_actions), bool)
        self.seats, self.actions = np.empty(shape, int), np.empty(shape, int)
        self.logs, self.values = np.empty(shape, np.float32), np.empty(shape, np.float32)
        self.ended, self.rewards = np.empty(shape, bool), np.empty((*shape, game.num_players), np.float32)

    def play(self, net: Net) -> np.ndarray:
        """Play by the net. Returns the λ-return of each decision for the seat that made it, (steps, lanes) float32."""
        game, lanes = self.game, self.lanes
        for step in range(NUM_STEPS):
            seen = torch.from_numpy(game.observe(lanes.states, out=self.observations[step]))
            mask = torch.from_numpy(game.legal_actions(lanes.states, out=self.masks[step]))
            policy, values = net(seen, mask)
            actions = policy.sample()
            self.actions[step], self.logs[step], self.values[step] = actions, policy.log_prob(actions), values
            self.seats[step] = game.current_player(lanes.states)
            before = margins(game, lanes.states)
            lanes.step(self.actions[step])
            self.ended[step] = lanes.ended
            self.rewards[step] = margins(game, np.where(lanes.ended, lanes.finals, lanes.states)) - before
        return self.returns(net)

    def returns(self, net: Net) -> np.ndarray:
        """The λ-returns, computed backwards from what the net expects for each seat after the last step."""
        returns = np.empty_like(self.values)
        views = [self.game.observe(self.lanes.states, seats=seat) for seat in range(self.game.num_players)]
        coming = np.hstack([net.value(net.trunk(torch.from_numpy(view))).numpy() for view in views])  # (lanes, seats)
        for step in reversed(range(NUM_STEPS)):
            ended, mine = self.ended[step], (np.arange(NUM_LANES), self.seats[step])
            coming[ended] = 0
            coming += self.rewards[step]
            returns[step] = coming[mine]
            coming[mine] = TD_LAMBDA * returns[step] + (1 - TD_LAMBDA) * self.values[step]
        return returns


def update(net: Net, optimizer: torch.optim.Optimizer, rollout: Rollout, returns: np.ndarray, entropy: float) -> None:
    """`EPOCHS` passes of gradient steps over the decisions of a rollout; `entropy` is the weight of the bonus."""
    columns = (rollout.observations, rollout.masks, rollout.actions, rollout.logs, returns, returns - rollout.values)
    flat = [torch.from_numpy(column).flatten(0, 1) for column in columns]
    order = torch.cat([torch.randperm(NUM_STEPS * NUM_LANES) for _ in range(EPOCHS)])
    for rows in order.split(BATCH):
        seen, mask, action, before, target, advantage = (column[rows] for column in flat)
        policy, value = net(seen, mask)
        ratio = (policy.log_prob(action) - before).exp()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        gain = torch.minimum(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
        loss = VALUE * (value - target).square().mean() - gain - entropy * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
        optimizer.step()


def train(num_players: int, seconds: float, seed: int = 0) -> Player:
    """Learn for some seconds on one thread, at least one update."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rollout = Rollout(Game(Rules.official(num_players), Board.load()), seed)
    net = Net(rollout.game.num_features, rollout.game.num_actions)
    optimizer = torch.optim.Adam(net.parameters(), LEARNING_RATE)
    decisions, left, start = 0, 1.0, time.monotonic()
    while left > 0:  # the part of the time that is left
        with torch.inference_mode():
            returns = rollout.play(net)
        optimizer.param_groups[0]["lr"] = left * LEARNING_RATE
        update(net, optimizer, rollout, returns, left * ENTROPY)
        decisions, left = decisions + returns.size, 1 - (time.monotonic() - start) / max(seconds, 1e-9)
    print(f"{decisions:,} decisions, ", end="")
    return Player(net)


def main(
    minutes: Minutes = 3,
    players: Players = 4,
    seed: Seed = 0,
    blocks: Blocks = 250,
    out: Annotated[Path | None, typer.Option(help="The file for the net.")] = None,
) -> None:
    """Learn by self-play, save the net, then play deals from every seat and print the win shares."""
    player = train(players, 60 * minutes, seed)
    if out:
        torch.save(player.net.state_dict(), out)
    report(player, players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
