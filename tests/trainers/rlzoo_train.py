# /// script
# requires-python = ">=3.11"
# dependencies = ["rl_zoo3==2.9.2", "bombay-env", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""RL Baselines3 Zoo's `train` with MaskablePPO for 32,768 steps, `enjoy` on the saved agent, then 200 games against `random`."""

import sys
from pathlib import Path

import gymnasium
import numpy as np
import rl_zoo3
from rl_zoo3.enjoy import enjoy
from rl_zoo3.train import train

# glue
from sb3_contrib import MaskablePPO

import against_random

rl_zoo3.ALGOS["maskable_ppo"] = MaskablePPO  # none of the Zoo's own algorithms uses masks
Path("bombay.yml").write_text("bombay/Bombay-v0: {policy: MlpPolicy, n_timesteps: 1000000, n_envs: 8, gamma: 1.0}\n")
GAME = ["--gym-packages", "bombay_env", "--env", "bombay/Bombay-v0", "--env-kwargs", "reward:'margin'"]
AGENT = ["--algo", "maskable_ppo", "-conf", "bombay.yml"]
# end of glue
SHORT = ["-n", "32768", "--eval-freq", "16384", "-params", "n_steps:256", "batch_size:256", "learning_rate:1e-3"]
sys.argv = ["train", *GAME, *AGENT, *SHORT, "--seed", "1", "--device", "cpu", "--num-threads", "1"]
train()
sys.argv = ["enjoy", *GAME, *AGENT[:2], "-f", "logs", "-n", "400", "--no-render", "--device", "cpu"]
enjoy()
folder = Path("logs/maskable_ppo/bombay-Bombay-v0_1")
if len(np.load(folder / "evaluations.npz")["timesteps"]) != 2:
    raise SystemExit("the two evaluations of the training are missing")
model = MaskablePPO.load(folder / "bombay-Bombay-v0.zip", device="cpu")


def act(observation, info):
    """The likeliest legal action."""
    return model.predict(observation, action_masks=info["action_mask"], deterministic=True)[0]


env = gymnasium.make("bombay_env:bombay/Bombay-v0", illegal_action="raise")
result, _ = against_random.play(env, act, games=200, share=0.5, rupees=12)
print(f"{model.num_timesteps:,} steps; {result}")
