"""What is said where an optional dependency is missing: how README installs it, in one line."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bombay_training.extras import missing_extra

ROOT = Path(__file__).parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_readme_installs_extras_in_the_same_way():
    readme = (ROOT / "README.md").read_text()
    for extra in EXTRAS:
        line = missing_extra("this", extra, ImportError("No module named 'x'"))
        assert "\n" not in line
        assert line.endswith(f"run pip install '.[{extra}]' (No module named 'x')")
    assert "pip install '.[ppo]'" in readme


def test_no_message_names_a_package_on_an_index():
    """There is none yet."""
    sources = [path for folder in ("bombay_env", "agents", "training") for path in (ROOT / folder).rglob("*.py")]
    assert len(sources) > 50
    for path in sources:
        assert "bombay-env[" not in path.read_text(encoding="utf-8"), path
        assert "pip install bombay" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize(
    ("arguments", "absent", "extra"),
    [
        (("train", "ppo", "--minutes", "1"), "sb3_contrib", "ppo"),
        (("balance", "--games", "2"), "scipy", "analysis"),
        (("play", "human", "random"), "starlette", "play"),
        (("mcp", "random"), "mcp", "llm"),
    ],
    ids=["ppo", "analysis", "play", "llm"],
)
def test_a_command_says_in_one_line_which_extra_it_needs(arguments, absent, extra, tmp_path):
    (tmp_path / f"{absent}.py").write_text(f'raise ImportError("No module named {absent!r}")\n')
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "300", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "bombay_training.cli", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
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
