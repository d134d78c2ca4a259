# /// script
# requires-python = ">=3.11"
# dependencies = ["skrl[torch]==2.1.1", "bombay-env", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""skrl's PPO example for Gymnasium, with masks and 16 games at once: 65,536 steps, then 400 games against `random`."""

import sys
from pathlib import Path

import gymnasium
import numpy as np
import torch
from skrl.envs.wrappers.torch import wrap_env

import upstream
from bombay_env import wrappers

example = upstream.file(
    "Toni-SM/skrl",
    "c29ced630e83ab32304dc8a3de241a70d3bc5746",
    "examples/gymnasium/torch_gymnasium_pendulum_ppo.py",
    "c2feb3f8bfd352a22c2623040b8ebeb1be8c9a0bac9a8b454eff187deb111c49",
)
changes = {
    # glue
    "import argparse\n": "import argparse, bombay_env, skrl.utils.model_instantiators.torch as nets\n",
    'task_name = "Pendulum"': 'task_name = "bombay/Bombay"',
    'vectorization_mode="sync"': 'reward="margin", autoreset_mode="same_step"',
    "env = wrap_env(env)": "env = wrap_env(bombay_env.wrappers.VectorActionMaskObservation(env))",
    'models["policy"] = Policy(env.observation_space, env.state_space, env.action_space, device)': """
net = {"name": "net", "input": "OBSERVATIONS['observation']", "layers": [64, 64], "activations": "relu"}
spaces = {"observation_space": env.observation_space, "state_space": env.state_space, "action_space": env.action_space}
models["policy"] = nets.categorical_model(**spaces, network=[net], output="ACTIONS - 1e9 * (1 - observations['action_mask'])")
models["policy"].init_state_dict(role="policy")""",
    "cfg.observation_preprocessor = RunningStandardScaler": "cfg.discount_factor = 1.0  # nor is the mask scaled",
    # end of glue
    "memory_size=1024": "memory_size=256",
    "cfg.rollouts = 1024": "cfg.rollouts = 256",
    '"timesteps": 100000': '"timesteps": 4096',
}
torch.set_num_threads(1)
sys.argv = [str(example), "--headless", "--num_envs", "16", "--seed", "1"]
names = {"__name__": "__main__"}
exec(compile(upstream.changed(example, changes), str(example), "exec"), names)
agent, policy = names["agent"], names["models"]["policy"]
saved = max(Path("runs").rglob("agent_*.pt"), key=lambda path: int(path.stem.split("_")[1]))
policy.init_parameters("normal_", mean=0.0, std=0.1)
agent.load(str(saved))
games = gymnasium.make_vec("bombay_env:bombay/Bombay-v0", num_envs=400)
games = wrap_env(wrappers.VectorActionMaskObservation(games))
observations, infos = games.reset()
shares, rupees = np.full((2, games.num_envs), np.nan)
while np.isnan(shares).any():
    with torch.no_grad():
        logits, _ = policy.compute({"observations": observations}, role="policy")
    observations, _, ended, _, infos = games.step(logits.argmax(-1, keepdim=True))
    if infos["illegal_actions"].any():
        raise SystemExit("an illegal action in spite of the mask")
    first = ended.numpy().ravel() & np.isnan(shares)
    if first.any():
        shares[first], rupees[first] = infos["win_share"][first], infos["final"][first]
share, error = shares.mean(), 1.96 * shares.std() / len(shares) ** 0.5
result = f"win share {share:.3f} ± {error:.3f}, {rupees.mean():.1f} rupees against `random` (par .250, 8.3)"
if share < 0.5 or rupees.mean() < 12:
    raise SystemExit(f"it did not learn: {result}")
print(f"65,536 steps; {result}")
