"""What is said where an optional dependency is missing: how README installs it, in one line."""

import tomllib
from pathlib import Path

import pytest

from bombay_training.extras import missing_extra
from helpers.command import bombay

ROOT = Path(__file__).parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_readme_installs_extras_in_the_same_way():
    readme = (ROOT / "README.md").read_text()
    for extra in EXTRAS:
        line = missing_extra("this", extra, ImportError("No module named 'x'"))
        assert "\n" not in line
        assert line.endswith(f"run pip install '.[{extra}]' (No module named 'x')")
    assert "pip install '.[ppo]'" in readme


@pytest.mark.parametrize(
    ("arguments", "absent", "extra"),
    [
        (("train", "ppo", "--minutes", "1"), "sb3_contrib", "ppo"),
        (("balance", "--games", "2"), "scipy", "analysis"),
        (("play", "human", "random"), "starlette", "play"),
        (("mcp", "random"), "mcp", "llm"),
        (("simulate", "--format", "parquet", "--out", "games"), "pyarrow", "data"),
        (("simulate", "--format", "minari", "--out", "games-v0", "--players", "2"), "minari", "data"),
    ],
    ids=["ppo", "analysis", "play", "llm", "parquet", "minari"],
)
def test_a_command_says_in_one_line_which_extra_it_needs(arguments, absent, extra, tmp_path):
    (tmp_path / f"{absent}.py").write_text(f'raise ImportError("No module named {absent!r}")\n')
    done = bombay(*arguments, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert f"run pip install '.[{extra}]' (No module named '{absent}')" in done.stderr


def versions(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()[1:]
    return {name.lower().replace("_", "-"): version for name, version in (line.split("==") for line in lines)}


@pytest.mark.parametrize(
    ("extra", "differing"),
    [("tianshou", {"filelock"}), ("rllib", {"gymnasium"}), ("agilerl", {"tensordict"})],
)
def test_a_separate_environment_differs_only_where_it_must(extra, differing):
    project, own = versions("constraints.txt"), versions(f"constraints/{extra}.txt")
    assert {name for name in own if name in project and own[name] != project[name]} == differing
    assert {"gymnasium", "numba", "numpy", "pettingzoo", "torch"} <= set(own)
