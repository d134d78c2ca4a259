# /// script
# requires-python = ">=3.11"
# dependencies = ["pufferlib-core==3.0.19", "bombay-env", "torch==2.13.0"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""PufferLib's tests of its wrappers for Gymnasium and PettingZoo, alone and in both vectorisations (pufferlib-core 3.0.19)."""

import importlib.util
import multiprocessing
import sys

import gymnasium
import numpy as np
import pufferlib

import upstream

COMMIT = "91460f7b14edd1b43d6b19150cef5c51b80cbb7f"  # the tests of version 1.0

# glue
from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper  # noqa: E402

from bombay_env import bombay_v0, wrappers  # noqa: E402


def one_seat():
    return wrappers.ActionMaskObservation(gymnasium.make("bombay_env:bombay/Bombay-v0"))


def all_seats():
    return turn_based_aec_to_parallel_wrapper(bombay_v0.env())


# end of glue
def seeded(make):
    """What makes environments that have ended a game of seed 1, so that all deal the same games from then on."""

    def creator():
        env = make()
        env.reset(seed=1)
        env.agents = []
        return env

    return creator


utils = upstream.file(
    "PufferAI/PufferLib",
    COMMIT,
    "pufferlib/utils.py",
    "46175c20c928d193a6cfeb8bd7eb210967652c231479dba7a9e2729f7e1b81b5",
)
tests = upstream.file(
    "PufferAI/PufferLib", COMMIT, "tests/test.py", "5c93c332e7bd168d031a7b0a70896d608a82cf87e4bb2c58287c84ab9b30dfae"
)
spec = importlib.util.spec_from_file_location("pufferlib.utils", utils)
pufferlib.utils = sys.modules["pufferlib.utils"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pufferlib.utils)
changes = {  # names and shapes of 3.0, seeds, and environments whose games do not end together
    "from pufferlib.environments import test\n": "",
    "puf_env.env.single_observation_space": "puf_env.env_single_observation_space",
    "puf_ob, puf_env.env.observation_space": "puf_ob[0], puf_env.env.observation_space",
    "np.stack(raw_obs, axis=0)": "np.stack(raw_obs, axis=0).reshape(vec_obs.shape)",
    "env.reset()[0] for i, env": "env.reset(seed=42 + i)[0] for i, env",
    "raw_rewards.extend([0] * r_env.num_agents)": "raw_rewards.append(zeros(r_env))",
    "raw_terminals.extend([False] * r_env.num_agents)": "raw_terminals.append(zeros(r_env))",
    "raw_truncations.extend([False] * r_env.num_agents)": "raw_truncations.append(zeros(r_env))",
}
test = {
    "__name__": "test",
    "zeros": lambda env: dict.fromkeys(env.possible_agents, 0) if hasattr(env, "possible_agents") else 0,
}
exec(compile(upstream.changed(tests, changes), str(tests), "exec"), test)
single, multi = pufferlib.emulation.GymnasiumPufferEnv, pufferlib.emulation.PettingZooPufferEnv
test["test_gymnasium_emulation"](seeded(one_seat), steps=500)
test["test_pettingzoo_emulation"](seeded(all_seats), steps=500)
games = 0
try:
    for backend in pufferlib.vector.Serial, pufferlib.vector.Multiprocessing:
        arguments = {"num_envs": 4, "num_workers": 4, "overwork": True, "backend": backend}
        for make, wrapper in (one_seat, single), (all_seats, multi):
            test["test_puffer_vectorization"](make, wrapper, steps=200, **arguments)
        # The tests' actions are random; these are legal. An illegal action would be paid −1, a lost game −1/3.
        envs, draw = (
            pufferlib.vector.make(multi, env_kwargs={"env_creator": all_seats}, **arguments),
            np.random.default_rng(0),
        )
        (seen, _), ended = envs.reset(), np.zeros(4, bool)
        for _ in range(600):
            masks = seen.view(envs.driver_env.obs_dtype)["action_mask"].reshape(16, -1)
            acting = masks.any(axis=1).reshape(4, 4).sum(axis=1)
            if (acting == ended).any():
                raise SystemExit(f"{acting} seats act in games of which {ended} have ended")
            seen, rewards, over, _, _ = envs.step((draw.random(masks.shape) * masks).argmax(axis=1))
            ended, paid = over.reshape(4, 4).all(axis=1), rewards.reshape(4, 4)
            if paid.min() < -0.5 or abs(paid.sum(axis=1)).max() > 1e-6 or (paid.any(axis=1) != ended).any():
                raise SystemExit(f"{paid} in games of which {ended} ended")
            games += ended.sum()
        envs.close()
finally:
    for worker in multiprocessing.active_children():
        worker.kill()
if games < 20:
    raise SystemExit(f"{games} games")
print(f"its tests pass in all combinations; {games} games of legal actions")
