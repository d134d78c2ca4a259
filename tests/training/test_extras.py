"""What is said where an optional dependency is missing: how README installs it, in one line."""

import os
import sys
import tomllib

from bombay_training.extras import missing_extra
from helpers import ROOT
from helpers.command import python

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_readme_installs_extras_in_the_same_way():
    readme = (ROOT / "README.md").read_text()
    for extra in EXTRAS:
        line = missing_extra("this", extra, ImportError("No module named 'x'"))
        assert "\n" not in line
        assert line.endswith(f"run pip install '.[{extra}]' (No module named 'x')")
    assert "pip install '.[ppo]'" in readme


COMMANDS = [
    ("train ppo --minutes 1", "sb3_contrib", "ppo"),
    ("balance --games 2", "jinja2", "analysis"),
    ("play human random", "starlette", "play"),
    ("mcp random", "mcp", "llm"),
    ("simulate --format parquet --out games", "pyarrow", "data"),
    ("simulate --format minari --out games-v0 --players 2", "minari", "data"),
]
WITHOUT = """
import os, sys
from bombay_training.cli.main import main
codes = open(os.dup(1), "w")  # `main` takes standard output for itself
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as end:
        print(line, end.code, file=codes)
"""


def test_a_command_says_in_one_line_which_extra_it_needs(tmp_path):
    """In a process of its own, where these packages cannot be imported."""
    lines, absent, extras = zip(*COMMANDS, strict=True)
    for name in absent:
        (tmp_path / f"{name}.py").write_text(f'raise ImportError("No module named {name!r}")\n')
    done = python("-c", WITHOUT, *lines, cwd=tmp_path, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
    assert done.returncode == 0, done.stderr
    codes = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines())
    assert list(codes) == list(lines)
    assert "0" not in codes.values()
    told = done.stderr.splitlines()
    assert len(told) == len(lines)
    for line, name, extra in zip(told, absent, extras, strict=True):
        assert f"run pip install '.[{extra}]' (No module named '{name}')" in line


def versions(file):
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()[1:]
    return {name.lower().replace("_", "-"): version for name, version in (line.split("==") for line in lines)}


def test_a_separate_environment_differs_only_where_it_must():
    project, own = versions("constraints.txt"), versions("constraints/rllib.txt")
    assert {name for name in own if name in project and own[name] != project[name]} == {"gymnasium"}
    assert {"gymnasium", "numba", "numpy", "pettingzoo", "torch"} <= set(own)
