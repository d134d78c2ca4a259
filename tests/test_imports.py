"""Importing the game is light. Which module may import which is in `pyproject.toml`, and `make lint` checks it."""

import subprocess
import sys

HEAVY = (
    "torch",
    "stable_baselines3",
    "sb3_contrib",
    "tensorboard",
    "matplotlib",
    "pygame",
    "PIL",
    "resvg_py",
    "pyspiel",
    "torchrl",
    "typer",
    "rich",
    "bombay_agents",
    "bombay_training",
)


def test_importing_the_game_pulls_in_nothing_heavy():
    code = f"""
import sys
import bombay_env
import bombay_env.bombay_v0, bombay_env.record, bombay_env.text
print(sorted(set(sys.modules) & set({HEAVY!r})))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
