"""What imports pull in. Which module may import which is in `pyproject.toml`, and `make lint` checks it."""

import pytest

from helpers.command import python

GAME = "bombay_env, bombay_env.bombay_v0, bombay_env.record, bombay_env.text"
HEAVY = "torch stable_baselines3 sb3_contrib tensorboard matplotlib pygame PIL resvg_py pyspiel torchrl typer rich"
COMMAND = "bombay_training.cli.main"  # it takes a second to import Matplotlib or SciPy's parts
ANALYSIS = "matplotlib scipy.stats scipy.special bombay_training.evaluation.ratings"
REPORTS = "bombay_training.reports.balance.report bombay_training.reports.balance.page"


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        (GAME, f"{HEAVY} bombay_agents bombay_training"),
        ("bombay_agents.nets.policy.agent", "torch stable_baselines3 bombay_training"),
        (COMMAND, f"torch {ANALYSIS} {REPORTS}"),
    ],
    ids=["the game", "a policy net", "the command"],
)
def test_imports_pull_in_nothing_heavy(modules, absent):
    code = f"import sys, {modules}; print(sorted(set(sys.modules) & set({absent.split()!r})))"
    assert python("-c", code).stdout == "[]\n"
