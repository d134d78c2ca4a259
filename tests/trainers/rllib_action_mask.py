# /// script
# requires-python = ">=3.11"
# dependencies = ["ray[rllib]==2.60.0", "bombay-env", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""RLlib's example of action masks: 2 iterations of PPO with its `ActionMaskingTorchRLModule`; an illegal action is an error."""

import importlib.util
import os
import sys
from pathlib import Path

os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
os.environ |= {"HOME": os.getcwd(), "RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}

import gymnasium
import numpy as np
import ray
import torch
from ray.rllib.core.rl_module.rl_module import RLModule
from ray.tune.registry import register_env

import against_random
import upstream

example = Path(importlib.util.find_spec("ray.rllib.examples.rl_modules.action_masking_rl_module").origin)
# glue
from bombay_env import wrappers  # noqa: E402


def make(config):
    env = gymnasium.make("bombay_env:bombay/Bombay-v0", illegal_action="raise")
    return wrappers.ActionMaskObservation(env, observation_key="observations")


register_env("bombay", make)
changes = {"env=ActionMaskEnv,": "env='bombay',"}
# end of glue
changes["    run_rllib_example_script_experiment("] = "    results = run_rllib_example_script_experiment("
sys.argv = [str(example), "--num-env-runners=0", "--checkpoint-at-end", "--stop-iters=2"]
ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1")
exec(compile(upstream.changed(example, changes), example, "exec"))

(result,) = results  # noqa: F821
steps = result.metrics["env_runners"]["num_env_steps_sampled_lifetime"]
loss = result.metrics["learners"]["default_policy"]["total_loss"]
if steps < 8000 or not np.isfinite(loss):
    raise SystemExit(f"{steps} steps, loss {loss}")
module = RLModule.from_checkpoint(Path(result.checkpoint.path) / "learner_group/learner/rl_module/default_policy")


def act(observation, info):
    """The likeliest action."""
    seen = {key: torch.tensor(value)[None] for key, value in observation.items()}
    with torch.no_grad():
        return module.forward_inference({"obs": seen})["action_dist_inputs"].argmax()


won, _ = against_random.play(make({}), act, games=200, share=0.25, rupees=0)
print(f"{steps:,.0f} steps, no illegal action; {won}")
