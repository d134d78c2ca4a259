"""Learn from a dataset alone: a net imitates the decisions of an agent, and then plays.

    bombay simulate planner-v1 greedy random --games 2000 --out games.parquet --format parquet
    python training/examples/behaviour_cloning.py games.parquet --agent planner-v1 --minutes 1

It needs the extras `data` and `ppo`. The file has a row for each decision (docs/datasets.md). Other methods of offline learning
read other columns.
"""

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
import typer
from common import Blocks, Minutes, Players, Policy, Seed, report
from torch import nn

BATCH, LEARNING_RATE = 512, 1e-3


def load(path: Path, agent: str) -> list[torch.Tensor]:
    """Observations (rows, F), masks (rows, A) and actions (rows,) of all decisions of an agent."""
    table = pq.read_table(path, columns=["agent", "observation", "action_mask", "action"])
    table = table.filter(pc.equal(table["agent"].cast("string"), agent))
    if not len(table):
        raise ValueError(f"{path} has no decisions of {agent}")
    flat = [np.array(table[name].combine_chunks().flatten()) for name in ("observation", "action_mask")]
    rows = [*(column.reshape(len(table), -1) for column in flat), np.array(table["action"], np.int64)]
    return [torch.from_numpy(column) for column in rows]


def train(path: Path, agent: str, seconds: float, seed: int = 0) -> Policy:
    """Imitate an agent for some seconds, at least one step. Returns the policy, which takes the likeliest action."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    observations, masks, actions = load(path, agent)
    net = nn.Sequential(nn.Linear(observations.shape[1], 128), nn.ReLU(), nn.Linear(128, masks.shape[1]))
    optimizer = torch.optim.Adam(net.parameters(), LEARNING_RATE)
    deadline = time.monotonic() + seconds
    while True:
        rows = torch.randint(len(actions), (BATCH,))
        logits = net(observations[rows]).masked_fill(~masks[rows], -1e9)
        loss = nn.functional.cross_entropy(logits, actions[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if time.monotonic() > deadline:
            break

    def policy(seen: np.ndarray, legal: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return net(torch.as_tensor(seen)).masked_fill(~torch.as_tensor(legal), -1e9).argmax(-1).numpy()

    return policy


def main(
    dataset: Annotated[Path, typer.Argument(help="A file of bombay simulate --format parquet.")],
    agent: Annotated[str, typer.Option(help="Whose decisions to imitate.")] = "planner-v1",
    minutes: Minutes = 1,
    players: Players = 4,
    seed: Seed = 0,
    blocks: Blocks = 250,
) -> None:
    """Imitate an agent, then play deals from every seat against `random` and print the win share."""
    report(train(dataset, agent, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
