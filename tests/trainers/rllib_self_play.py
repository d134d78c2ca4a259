# /// script
# requires-python = ">=3.11"
# dependencies = ["ray[rllib]==2.60.0", "bombay-env", "open_spiel==2.0.2", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""RLlib's example of self-play in OpenSpiel, for two players: 2 updates, 2 copies of the net join, a game with a "user"."""

import builtins
import importlib.util
import os
import random
import sys
from pathlib import Path

os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))
os.environ |= {"HOME": os.getcwd(), "RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}

import numpy as np
import ray
import torch

# glue
from open_spiel.python.rl_environment import ObservationType  # noqa: F401

import upstream
from bombay_training.openspiel import BombayGame  # noqa: F401 -- by reference, so that workers register the game too

game = ["--env=python_bombay(players=2)"]
changes = {
    "OpenSpielEnv(pyspiel.load_game(args.env))": "OpenSpielEnv(BombayGame({'players': 2}))",
    # It trains with the observation tensor, but then plays with the information-state tensor if a game has one.
    "Environment(args.env)": "Environment(args.env, observation_type=ObservationType.OBSERVATION)",
}
# end of glue
example = Path(importlib.util.find_spec("ray.rllib.examples.multi_agent.self_play_with_open_spiel").origin)
short = ["--num-env-runners=0", "--win-rate-threshold=-1", "--min-league-size=4", "--num-episodes-human-play=1"]
sys.argv = [str(example), *game, *short]
builtins.input = lambda: str(random.randrange(39))  # the user, who is asked again until an action is legal
ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1")
exec(compile(upstream.changed(example, changes), example, "exec"))

metrics = results.get_best_result().metrics  # noqa: F821
steps, loss = metrics["num_env_steps_sampled_lifetime"], metrics["learners"]["main"]["total_loss"]
if metrics["league_size"] != 4 or num_episodes != 1 or not np.isfinite(loss):  # noqa: F821
    raise SystemExit(f"{metrics['league_size']} modules, {num_episodes} games, loss {loss}")  # noqa: F821
shares = []
for seat in [0, 1] * 25:
    now = env.reset()  # noqa: F821
    while not now.last():
        player = now.current_player()
        action = random.choice(legal := now.observations["legal_actions"][player])
        if player == seat:
            seen = torch.tensor(now.observations["info_state"][player])[None]
            logits = rl_module.forward_inference({"obs": seen})["action_dist_inputs"][0]  # noqa: F821
            action = legal[int(logits[legal].argmax())]
        now = env.step([action])  # noqa: F821
    shares.append((now.rewards[seat] + 1) / 2)
interval = 1.96 * np.std(shares) / len(shares) ** 0.5
print(f"{steps:,.0f} steps, 4 modules; win share {np.mean(shares):.2f} ± {interval:.2f} against `random`, par .50")
