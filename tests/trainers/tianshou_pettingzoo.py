# /// script
# requires-python = ">=3.11"
# dependencies = ["tianshou==2.0.1", "bombay-env", "tensorboard", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""Tianshou's multi-agent example for PettingZoo, two players: 6,000 actions of DQN against masked random, then 100 games."""

import sys

import gymnasium
import numpy as np
import torch
from tianshou.data import Batch

import upstream

example = upstream.file(
    "thu-ml/tianshou",
    "f2402056b03acafeedf2518a5088db55add004ab",
    "test/pettingzoo/tic_tac_toe.py",
    "6d775a6712b019a6fa398753d8cb65515f35e2380ce59574ddf4edd35cbf5c2f",
)
changes = {
    # glue
    "from pettingzoo.classic import tictactoe_v3": "from bombay_env import bombay_v0",
    "tictactoe_v3.env(render_mode=render_mode)": 'bombay_v0.env(num_players=2, reward="margin", render_mode=render_mode)',
    # end of glue
}
torch.set_num_threads(1)
sys.argv = [str(example), "--epoch", "1", "--epoch_num_steps", "6000", "--win_rate", "9", "--lr", "1e-3"]
# glue
sys.argv += ["--gamma", "1", "--n_step", "100"]  # reward comes only at the end
# end of glue
names = {"__name__": "example"}
exec(compile(upstream.changed(example, changes), str(example), "exec"), names)
result, agent = names["train_agent"]()
if result.train_step != 6000 or result.update_step != 600:
    raise SystemExit(f"it did not train as it should: {result}")
agent.load_state_dict(torch.load("log/tic_tac_toe/dqn/policy.pth"))
env, shares, rupees = gymnasium.make("bombay_env:bombay/Bombay-v0", num_players=2, seat=1), [], []
for game in range(100):
    observation, info = env.reset(seed=10**6 + game)
    while "win_share" not in info:
        batch = Batch(obs=Batch(obs=observation[None], mask=info["action_mask"][None]), info=Batch())
        with torch.no_grad():
            action = agent.policy(batch).act[0]
        observation, _, _, _, info = env.step(int(action))
    shares.append(info["win_share"])
    rupees.append(info["final"])
share, error = np.mean(shares), 1.96 * np.std(shares) / len(shares) ** 0.5
result = f"win share {share:.3f} ± {error:.3f}, {np.mean(rupees):.1f} rupees against `random` (par .500, 6.3)"
if share < 0.6 or np.mean(rupees) < 10:
    raise SystemExit(f"it did not learn: {result}")
print(f"6,000 actions; {result}")
