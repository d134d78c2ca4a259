# /// script
# requires-python = ">=3.11"
# dependencies = ["tianshou==2.0.1", "bombay-env", "tensorboard", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""Tianshou's multi-agent example for PettingZoo, two players: 6,000 actions of DQN against masked random, then 100 games."""

import sys

import gymnasium
import torch
from tianshou.data import Batch

import against_random
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


def act(observation, info):
    """The action of the highest value, among the legal ones."""
    with torch.no_grad():
        return agent.policy(Batch(obs=Batch(obs=observation[None], mask=info["action_mask"][None]), info=Batch())).act[
            0
        ]


env = gymnasium.make("bombay_env:bombay/Bombay-v0", num_players=2, seat=1, illegal_action="raise")
words, _ = against_random.play(env, act, games=100, share=0.6, rupees=10)
print(f"6,000 actions; {words}")
