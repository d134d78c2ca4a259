"""The README: its example runs, its pictures and files exist."""

import re
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from bombay_agents import make
from bombay_env import Game, Rules
from bombay_training.audit import audit
from bombay_training.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(
    numba.config.DISABLE_JIT, reason="the examples run in processes of their own, which coverage does not see"
)
def test_python_examples_run(tmp_path: Path) -> None:
    examples = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert examples
    for example in examples:
        done = subprocess.run(
            [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() or example.startswith("# my_agent.py")


def test_the_agent_of_ones_own_passes_an_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(# my_agent.py.*?)```", README, flags=re.DOTALL)
    (tmp_path / "my_agent.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    games = [Game(Rules(2, sets=1, turns_per_set=1))]
    assert audit(lambda: make("my_agent:MyAgent"), games, states=4).verdict == "passed"


def test_pettingzoo_example_fits_in_twenty_lines() -> None:
    (example,) = (text for text in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL) if "agent_iter" in text)
    assert len(example.strip().splitlines()) <= 20


def test_linked_files_exist() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_commands_named_exist() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for target in set(re.findall(r"\bmake (\w+)", README)):
        assert target in targets
    known = {command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"^bombay (\w+)", README, flags=re.MULTILINE)) <= known
