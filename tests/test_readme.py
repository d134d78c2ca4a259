"""The README and the other pages: their examples run, their commands are understood, their links lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
import typer

from bombay_agents import make
from bombay_env import Game, Rules
from bombay_training.cli.main import app
from bombay_training.evaluation.audit import audit

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "agents").rglob("weights/*.md"))]


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_linked_files_exist(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


def test_make_targets_exist() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(re.findall(r"\bmake (\w+)", README)) <= set(targets)


def code_blocks(text: str) -> list[str]:
    """The contents of fenced code blocks."""
    return re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that a line calls, and the words after its name."""
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_code_blocks_are_understood(page: Path) -> None:
    """Their options exist and take these values."""
    for block in code_blocks(page.read_text(encoding="utf-8")):
        for line in re.findall(r"^(?:\$ )?bombay (.*)$", block, flags=re.MULTILINE):
            if "[OPTIONS]" in line:  # a usage line of docs/cli.md
                continue
            command, words = command_of(shlex.split(line, comments=True))
            if "--help" not in words and not hasattr(command, "commands"):
                command.make_context(command.name, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_text_have_the_options_that_are_named(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for line in re.findall(r"`bombay ([^`]+)`", text):
        command, words = command_of(line.split())
        known = {
            "--help",
            *(option for parameter in command.params for option in parameter.opts + parameter.secondary_opts),
        }
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line
