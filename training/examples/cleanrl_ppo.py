"""PPO with action masks in one file, in the style of CleanRL, on the native vector environment.

    python training/examples/cleanrl_ppo.py --minutes 1 --players 4

It needs PyTorch (extra `ppo`) and no trainer. The learner has one seat, `random` plays the others. Everything that PPO does is
below: edit it. The details follow CleanRL's `ppo.py`.
"""

from __future__ import annotations

import time

import gymnasium
import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from torch import Tensor, nn
from torch.distributions import Categorical

NUM_ENVS, NUM_STEPS, EPOCHS, MINIBATCHES = 64, 64, 4, 8
LEARNING_RATE, GAE_LAMBDA, CLIP, ENTROPY, VALUE, MAX_NORM = 1e-3, 0.95, 0.2, 0.01, 0.5, 0.5  # the discount is 1


class Net(nn.Module):
    """Logits of the actions and the value, from separate hidden layers."""

    def __init__(self, num_features: int, num_actions: int) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(num_features, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.critic = nn.Sequential(nn.Linear(num_features, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.logits, self.value = nn.Linear(64, num_actions), nn.Linear(64, 1)
        nn.init.orthogonal_(self.logits.weight, 0.01)  # begin with a nearly uniform policy

    def forward(self, observations: Tensor, masks: Tensor) -> tuple[Categorical, Tensor]:
        """The distribution over legal actions and the values (batch,) for observations (batch, F) and masks (batch, A)."""
        logits = self.logits(self.actor(observations)).masked_fill(~masks, -1e9)
        return Categorical(logits=logits), self.value(self.critic(observations)).squeeze(-1)


def train(num_players: int, seconds: float, seed: int = 0) -> Policy:
    """Learn for some seconds on one thread, at least one update. Returns the policy, which takes the likeliest action."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    arguments = {"num_players": num_players, "reward": "margin", "autoreset_mode": "same_step"}
    envs = gymnasium.make_vec("bombay_env:bombay/Bombay-v0", num_envs=NUM_ENVS, **arguments)
    net = Net(envs.single_observation_space.shape[0], envs.single_action_space.n)
    optimizer = torch.optim.Adam(net.parameters(), LEARNING_RATE, eps=1e-5)
    observation, info = envs.reset(seed=NUM_ENVS * seed)  # lane i plays NUM_ENVS * seed + i
    deadline = time.monotonic() + seconds
    while True:
        steps = []  # of observation, mask, action, log-probability, value, reward, whether the game ended
        for _ in range(NUM_STEPS):
            seen, mask = torch.as_tensor(observation), torch.as_tensor(info["action_mask"]).bool()
            with torch.no_grad():
                policy, value = net(seen, mask)
            action = policy.sample()
            observation, reward, ended, _, info = envs.step(action.numpy())
            rest = torch.as_tensor(reward, dtype=torch.float32), torch.as_tensor(ended)
            steps.append((seen, mask, action, policy.log_prob(action), value, *rest))
        with torch.no_grad():
            _, following = net(torch.as_tensor(observation), torch.as_tensor(info["action_mask"]).bool())
        update(net, optimizer, [torch.stack(column) for column in zip(*steps, strict=True)], following)
        if time.monotonic() > deadline:
            break

    def choose(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return net(torch.as_tensor(observations), torch.as_tensor(masks))[0].logits.argmax(-1).numpy()

    return choose


def update(net: Net, optimizer: torch.optim.Optimizer, steps: list[Tensor], following: Tensor) -> None:
    """One update of PPO from arrays (steps, games, …), and from the values (games,) of the observations that follow them."""
    values, rewards, ended = steps[4:]
    advantages, advantage = torch.zeros_like(rewards), torch.zeros_like(following)
    for step in reversed(range(len(rewards))):
        running = (~ended[step]).float()
        delta = rewards[step] + running * following - values[step]
        advantage = delta + running * GAE_LAMBDA * advantage
        advantages[step], following = advantage, values[step]
    flat = [column.flatten(0, 1) for column in (*steps[:4], advantages, advantages + values)]
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(flat[0])).chunk(MINIBATCHES):
            seen, mask, action, old, gain, target = (column[rows] for column in flat)
            policy, value = net(seen, mask)
            ratio = (policy.log_prob(action) - old).exp()
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            surrogate = torch.min(gain * ratio, gain * ratio.clamp(1 - CLIP, 1 + CLIP)).mean()
            loss = VALUE * (value - target).square().mean() - surrogate - ENTROPY * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM)
            optimizer.step()


def main(minutes: Minutes = 1, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn against `random`, then play deals from every seat and print the win share."""
    report(train(players, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
