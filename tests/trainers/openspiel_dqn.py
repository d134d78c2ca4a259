# /// script
# requires-python = ">=3.11"
# dependencies = ["open_spiel==2.0.2", "bombay-env", "dm-tree", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""OpenSpiel's example `dqn_breakthrough_pytorch.py` with Bombay for two in it: 400 games of independent Q-learning."""

import importlib.util
import math
import sys
from pathlib import Path

import torch

import upstream

# glue
from bombay_training import openspiel  # noqa: F401 -- registers the game

changes = {'"breakthrough"': '"python_bombay"', '{"columns": 5, "rows": 5}': '{"players": 2}'}
# end of glue
GAMES = 400
torch.set_num_threads(1)
path = Path(importlib.util.find_spec("open_spiel.python.examples.dqn_breakthrough_pytorch").origin)
text = upstream.changed(path, changes | {"random_agents, 1000)": "random_agents, 50)"})  # the last makes it shorter
flags = {"num_train_episodes": GAMES, "eval_every": GAMES, "save_every": GAMES, "checkpoint_dir": "net.pt"}
sys.argv += ["--use_checkpoints"] + [f"--{flag}={value}" for flag, value in flags.items()]
example = {"__name__": "__main__"}
try:
    exec(compile(text, str(path), "exec"), example)
except SystemExit as end:
    if end.code:
        raise

saved = torch.load("net.pt")  # of seat 1, which is saved last
if saved["iteration"] < 20 * GAMES or not math.isfinite(saved["last_loss_value"]):
    raise SystemExit(f"{saved['iteration']} steps, loss {saved['last_loss_value']}")
env = example["rl_environment"].Environment("python_bombay", players=2, enable_legality_check=True)
size, actions = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
learners = [example["dqn"].DQN(seat, size, actions, [64, 64]) for seat in (0, 1)]
learners[1]._q_network.load_state_dict(saved["model"])  # its own `load` looks for names that its `save` does not write
randoms = [example["random_agent"].RandomAgent(seat, actions) for seat in (0, 1)]
untrained, trained = (example["eval_against_random_bots"](env, learners, randoms, 200) + 1) / 2
# Too few games to learn: the example's own default is a million, over which its exploration decreases.
print(f"{GAMES} games, too few to learn: win share {trained:.3f} against `random`, {untrained:.3f} before, par .500")
