# /// script
# requires-python = ">=3.11"
# dependencies = ["kaggle-environments==1.33.2", "bombay-env"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""Kaggle's environment of OpenSpiel games, with `python_bombay`: eight episodes of `greedy` against three of its `random`."""

import json

import kaggle_environments
import numpy as np
import pyspiel

# glue
from kaggle_environments.envs.open_spiel_env import open_spiel_env

import bombay_agents
from bombay_training import openspiel  # noqa: F401 - registers python_bombay

kaggle_environments.register("bombay", open_spiel_env._build_env("python_bombay(players=4)"))
greedy = bombay_agents.make("greedy")


def our_agent(observation):
    if "serializedGameAndState" not in observation:  # Kaggle's first step only sets the game up
        return {"submission": -1}
    state = pyspiel.deserialize_game_and_state(observation.serializedGameAndState)[1]
    return {"submission": int(greedy.act(state.play.game, state.play.states, np.random.default_rng(0))[0])}


# end of glue
PLAYERS, EPISODES = 4, 8


def episode(seat, agent, seed):
    """The environment after an episode of `agent` in one seat."""
    made = kaggle_environments.make("bombay", {"includeLegalActions": True, "seed": seed})
    made.run([agent if number == seat else "random" for number in range(PLAYERS)])
    return made


wins = 0
for seed in range(EPISODES):
    env = episode(seed % PLAYERS, our_agent, seed)
    replay = json.loads(json.dumps(env.toJSON()))
    state = pyspiel.load_game(replay["info"]["openSpielGameStringResolved"]).new_initial_state()
    for action in replay["info"]["actionHistory"]:
        state.apply_action(int(action))
    if replay["statuses"] != ["DONE"] * PLAYERS or replay["rewards"] != state.returns() or not state.is_terminal():
        raise SystemExit(
            f"OpenSpiel replays another game: {replay['statuses']}, {replay['rewards']}, {state.returns()}"
        )
    wins += replay["rewards"][seed % PLAYERS] == 1
if wins < EPISODES // 2:
    raise SystemExit(f"greedy won only {wins} of {EPISODES} episodes")
if "palace_tokens" not in env.render(mode="html"):
    raise SystemExit("the page does not show the game")
if [each.reward for each in episode(1, lambda observation: {"submission": 99}, 0).state] != [1, -1, 1, 1]:
    raise SystemExit("an action that does not exist did not forfeit the game")
print(f"{EPISODES} episodes of {PLAYERS} agents to the end; `greedy` won {wins}, par {EPISODES / PLAYERS:.0f}")
