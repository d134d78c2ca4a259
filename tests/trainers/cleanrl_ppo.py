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
import torch

import against_random
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


def act(observation, info):
    """Sampled, as the script itself plays."""
    with torch.no_grad():
        return agent.get_action_and_value(torch.tensor(observation)[None])[0]


# Below the uniform policy that it begins with it fails; docs/trainers.md says what other seeds gave.
env = gymnasium.make("bombay_env:bombay/Bombay-v0")
result, illegal = against_random.play(env, act, games=400, share=0.2, rupees=0)
print(f"{result}; {illegal:.0%} of its actions were illegal, without masks")
