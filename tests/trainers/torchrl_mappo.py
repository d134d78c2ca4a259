# /// script
# requires-python = ">=3.11"
# dependencies = ["torchrl==0.14.1", "bombay-env", "matplotlib", "torch==2.13.0", "tqdm"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""TorchRL's tutorial of multi-agent PPO, which also checks the specs: 8,000 frames of one net for all seats."""

import os

os.environ["MPLBACKEND"] = "agg"

import gymnasium
import torch
from torchrl.envs.libs import vmas

import against_random
import upstream

tutorial = upstream.file(
    "pytorch/rl",
    "ae9719f17b1517af5c2523a36c4616f003ee55cf",
    "tutorials/sphinx-tutorials/multiagent_ppo.py",
    "8aec1f53fe2d31ccc3bfdcdfa72cd2c925ab38c8a139d257e6bb287c3b11c043",
)
# glue
import torchrl  # noqa: E402

from bombay_env import bombay_v0  # noqa: E402


def make(**_):
    env, group = bombay_v0.env(reward="margin"), torchrl.envs.MarlGroupMapType.ALL_IN_ONE_GROUP
    return torchrl.envs.PettingZooWrapper(env, use_mask=True, categorical_actions=False, group_map=group)


names = {'"agents", "observation"': '"agents", "observation", "observation"', "env.n_agents": "4"}
masked = 'in_keys={"logits": ("agents", "loc"), "mask": ("agents", "action_mask")}, out_keys=[env.action_key],'
masked += "distribution_class=torchrl.modules.MaskedOneHotCategorical,"
changes = {"gamma = 0.99": "gamma = 1.0", "lmbda = 0.9": "lmbda = 1.0"}  # all reward comes at the end
acted = 'tensordict_data["advantage"] *= tensordict_data["agents", "mask"].unsqueeze(-1)'  # the others' actions are not played
# end of glue
vmas.VmasEnv = make
changes |= {"frames_per_batch = 6_000": "frames_per_batch = 2_000", "n_iters = 5": "n_iters = 4"}
changes |= {"num_epochs = 30": "num_epochs = 20", "    data_view =": f"    {acted}\n    data_view ="}
text = upstream.changed(tutorial, changes)
for old, new in names.items():
    text = text.replace(old, new)
start, end = text.index('in_keys=[("agents", "loc")'), text.index("return_log_prob=True")
exec(compile(text[:start] + masked + text[end:], str(tutorial), "exec"))
acts = tensordict_data["agents", "mask"]  # noqa: F821
legal = (tensordict_data["agents", "action"] & tensordict_data["agents", "action_mask"]).any(-1)[acts]  # noqa: F821
if len(episode_reward_mean_list) != n_iters or not loss_value.isfinite() or not legal.all():  # noqa: F821
    raise SystemExit(f"{len(episode_reward_mean_list)} updates, loss {loss_value}, legal {legal.float().mean()}")  # noqa: F821


def act(observation, info):
    """The likeliest legal action, by the net of all seats."""
    with torch.no_grad():
        logits = policy_net(torch.tensor(observation).expand(4, -1))[0][0]  # noqa: F821
    return logits.masked_fill(torch.tensor(info["action_mask"]) == 0, -torch.inf).argmax()


game = gymnasium.make("bombay_env:bombay/Bombay-v0", illegal_action="raise")
result, _ = against_random.play(game, act, games=200, share=0.3, rupees=0)
print(f"{total_frames:,} frames; {result}")  # noqa: F821
