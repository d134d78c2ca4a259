# /// script
# requires-python = ">=3.11"
# dependencies = ["shimmy[openspiel]==2.0.1", "bombay-env", "pytest"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""Shimmy's tests of its wrapper from OpenSpiel to PettingZoo, unchanged; PettingZoo's `api_test` for 2 to 5 players."""

import runpy

from pettingzoo.test import api_test
from shimmy import OpenSpielCompatibilityV0

import upstream

# glue
from bombay_training import openspiel  # noqa: F401 -- registers the game

NAME = "python_bombay"
# end of glue
tests = upstream.file(
    "Farama-Foundation/Shimmy",
    "a1565e23e410450bdf333bae72012d067345e59b",
    "tests/test_openspiel.py",
    "9d5144d7793ff34cc826f9926485abb39cede4abdaa361281a4ed32b5ba36f11",
)
functions = runpy.run_path(str(tests))
for name in ("test_passing_games", "test_loading_env", "test_seeding", "test_pickle"):
    functions[name](NAME)

games = steps = decided = 0
for players in range(2, 6):
    env = OpenSpielCompatibilityV0(game_name=NAME, config={"players": players})
    api_test(env)
    for seed in range(50):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, reward, termination, truncation, info = env.last()
            if termination:  # after this the wrapper adds rewards again, in every game
                break
            if truncation or not info["action_mask"].any():
                raise SystemExit(f"{agent} cannot act in a game that is not over")
            env.step(env.action_space(agent).sample(info["action_mask"]))
            steps += 1
        rewards = list(env.rewards.values())
        if abs(sum(rewards)) > 1e-9 or len(rewards) != players:
            raise SystemExit(f"the rewards of a game of {players} are {rewards}")
        decided += any(rewards)
        games += 1
if decided < games / 2:
    raise SystemExit(f"only {decided} of {games} games have a winner")
print(f"all tests passed; {games} games in {steps:,} steps, rewards of each sum to zero")
