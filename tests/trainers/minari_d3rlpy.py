# /// script
# requires-python = ">=3.11"
# dependencies = ["d3rlpy==2.8.1", "bombay-env[data]", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""d3rlpy's `DiscreteBC` on a Minari dataset of 150 games of `planner-v1`: 2,000 steps, then 200 games against `random`."""

import os
import subprocess

import d3rlpy
import minari
import numpy as np
import torch

import against_random

torch.set_num_threads(1)
d3rlpy.seed(1)
# glue
os.environ["MINARI_DATASETS_PATH"] = os.getcwd()
COMMAND = "bombay simulate planner-v1 --players 4 --games 150 --out planner-v0 --format minari"
subprocess.run(COMMAND, shell=True, check=True)
dataset = minari.load_dataset("planner-v0")
env = dataset.recover_environment()
# Not d3rlpy's `get_minari`: in 2.8.1 it overlooks that an episode has one more observation than actions, and shifts them.
episodes = [
    d3rlpy.dataset.Episode(each.observations[:-1], each.actions[:, None], each.rewards[:, None], terminated=True)
    for each in dataset
]
# end of glue
buffer = d3rlpy.dataset.create_infinite_replay_buffer(episodes)
((step, metrics),) = (
    d3rlpy.algos.DiscreteBCConfig()
    .create(device="cpu")
    .fit(
        buffer,
        n_steps=2000,
        n_steps_per_epoch=2000,
        evaluators={"environment": d3rlpy.metrics.EnvironmentEvaluator(env, n_trials=20)},
        experiment_name="bc",
        with_timestamp=False,
        show_progress=False,
    )
)
if not np.isfinite(list(metrics.values())).all():
    raise SystemExit(f"not finite: {metrics}")
algo = d3rlpy.load_learnable("d3rlpy_logs/bc/model_2000.d3")
result, illegal = against_random.play(
    env, lambda seen, info: algo.predict(seen[None])[0], games=200, share=0.5, rupees=12
)
if illegal > 1 / 3:
    raise SystemExit(f"{illegal:.0%} of its actions were illegal")
print(f"{dataset.total_steps:,} decisions; {result}; {illegal:.0%} of its actions were illegal, without masks")
