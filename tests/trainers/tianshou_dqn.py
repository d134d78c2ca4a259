# /// script
# requires-python = ">=3.11"
# dependencies = ["tianshou==2.0.1", "bombay-env", "tensorboard", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""Tianshou's DQN example for Gymnasium, with masks: 8,000 steps, then 200 games against `random`."""

import gymnasium
import numpy as np
import torch
from tianshou.data import Batch

import against_random
import upstream

# glue
from bombay_env import wrappers

# end of glue

example = upstream.file(
    "thu-ml/tianshou",
    "f2402056b03acafeedf2518a5088db55add004ab",
    "examples/discrete/discrete_dqn.py",
    "ce705280cb8e1052d879881a615ea0b1422572577915160b4ec038ea51bf4de0",
)


# glue
def masked(**arguments):
    env = gymnasium.make("bombay_env:bombay/Bombay-v0", reward="margin", **arguments)
    return wrappers.ActionMaskObservation(env, mask_key="mask", observation_key="obs")


gymnasium.register("MaskedBombay-v0", masked)
# end of glue
WATCH = "collector.collect(n_episode=100, render=1 / 35)"
changes = {
    # glue
    'task = "CartPole-v1"': 'task = "MaskedBombay-v0"',
    "target_freq = 0.9, 3, 320": "target_freq = 1.0, 40, 320",  # reward comes only at the end
    "SpaceInfo.from_env(env)": 'SpaceInfo.from_spaces(env.action_space, env.observation_space["obs"])',
    # end of glue
    ', render_mode="human"': "",
    "epoch, batch_size = 1e-3, 10,": "epoch, batch_size = 1e-3, 1,",
    "num_test_envs = 10, 100": "num_test_envs = 10, 10",
    "env_steps = 10000,": "env_steps = 8000,",
    WATCH: "collector.reset(); return algorithm, result, collector.collect(n_episode=20)",  # 2.0.1 fails without a reset
}
torch.set_num_threads(1)
torch.manual_seed(2)  # of a net that loses before it has learned
np.random.seed(2)
names = {"__name__": "example"}
exec(compile(upstream.changed(example, changes), str(example), "exec"), names)
algorithm, result, watched = names["main"]()
if result.train_step != 8000 or result.update_step != 800 or not np.isfinite(watched.returns).all():
    raise SystemExit(f"it did not train as it should: {result}, {watched}")


def act(observation, info):
    """The action of the highest value, among the legal ones."""
    with torch.no_grad():
        return algorithm.policy(
            Batch(obs=Batch({key: value[None] for key, value in observation.items()}), info=Batch())
        ).act[0]


words, illegal = against_random.play(masked(), act, games=200, share=0.5, rupees=12)
if illegal:
    raise SystemExit("an illegal action in spite of the mask")
print(f"8,000 steps; {words}")
