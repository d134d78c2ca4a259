"""PettingZoo environments of short games."""

import json
import pickle

import numba
import numpy as np

from bombay_env import Rules, bombay_v0

SLOW = bool(numba.config.DISABLE_JIT)
SHORT = {"sets": 2, "turns_per_set": 1}  # a short game with one restock during the game


def make(n=4, short=True, **arguments):
    """An environment without the wrapper; of a short game by default."""
    return bombay_v0.raw_env(rules=Rules(n, **SHORT) if short else Rules.official(n), **arguments)


def act(env, rng):
    """Play a random legal action and return it."""
    action = int(rng.choice(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])))
    env.step(action)
    return action


def run(env, steps=10**6, seed=0):
    """Play random actions until the end, or for some steps. Returns the actions."""
    rng = np.random.default_rng(seed)
    actions = []
    while len(actions) < steps and not any(env.terminations.values()):
        actions.append(act(env, rng))
    return actions


def started(n=4, steps=6, seed=3, **arguments):
    env = make(n, **arguments)
    env.reset(seed=seed)
    run(env, steps)
    return env


def ended(n=4, seed=3, **arguments):
    return started(n, 10**6, seed, **arguments)


def snapshot(env):
    """Everything that an environment returns, to compare two environments, or one at two times."""
    seats = env.possible_agents
    return pickle.dumps(
        [
            env.game_state.tobytes(),
            env.agent_selection,
            list(env.agents),
            dict(env.rewards),
            dict(env._cumulative_rewards),
            dict(env.terminations),
            dict(env.truncations),
            {agent: info["action_mask"].tobytes() for agent, info in env.infos.items()},
            [[part.tobytes() for part in env.observe(agent).values()] for agent in seats],
            env.state().tobytes(),
            json.dumps(env.record()),
        ]
    )
