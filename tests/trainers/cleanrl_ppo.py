# /// script
# requires-python = ">=3.11"
# dependencies = ["gymnasium==1.2.3", "bombay-env", "tensorboard", "torch==2.13.0", "tyro"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""CleanRL's `ppo.py`, unchanged, which knows no masks: 200,000 steps, then 400 games against `random`."""

import runpy
import sys

import gymnasium
import numpy as np
import torch

import upstream

ppo = upstream.file(
    "vwxyzjn/cleanrl",
    "fe8d8a03c41a7ef5b523e2e354bd01c363e786bb",
    "cleanrl/ppo.py",
    "d8dfbb7ac0b21e747b77d6e6673e566db4d6cdacc83bcebcd19cf87ad0e459ae",
)
torch.set_num_threads(1)
sys.argv = [str(ppo), "--total-timesteps", "200000"]
# glue
sys.argv += ["--env-id", "bombay_env:bombay/Bombay-v0"]
# end of glue
agent = runpy.run_path(str(ppo), run_name="__main__")["agent"]
env, shares = gymnasium.make("bombay_env:bombay/Bombay-v0"), []
for game in range(400):
    observation, info = env.reset(seed=10**6 + game)
    while "win_share" not in info:
        with torch.no_grad():
            action = agent.get_action_and_value(torch.tensor(observation)[None])[0]
        observation, _, _, _, info = env.step(int(action))
    shares.append(info["win_share"])
if (
    np.mean(shares) < 0.2
):  # worse than the uniform policy that it begins with; docs/trainers.md says what other seeds gave
    raise SystemExit(f"win share {np.mean(shares):.3f}")
print(f"win share {np.mean(shares):.3f} ± {1.96 * np.std(shares) / 20:.3f} against `random`, par .250")
