"""The README and the other pages: their examples run, their commands are understood, their links lead somewhere."""

import importlib
import io
import re
import shlex
import sys

import numba
import numpy as np
import pytest
import typer

from bombay_agents import make
from bombay_env import Game, Rules
from bombay_training.cli.main import app
from bombay_training.evaluation.audit import audit
from helpers import ROOT, page_examples

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *(ROOT / name for name in ("README.md", "notebooks/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "agents").rglob("weights/*.md")),
]
WITH_EXAMPLES = {
    "README.md",
    "environments.md",
    "extending.md",
    "quickstart.md",
    "records.md",
    "training.md",
    "evaluators.md",
    "trainers.md",
}


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="one of the examples learns")
def test_python_examples_run(tmp_path, monkeypatch, capsys):
    """In this process, which has its kernels already."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    page_examples.main(PAGES)
    handled = re.findall(r"^(?:ran|left out): (\S+), line (\d+)", capsys.readouterr().out, flags=re.MULTILINE)
    assert {page for page, _ in handled} >= WITH_EXAMPLES
    assert len(handled) == sum(page.read_text(encoding="utf-8").count("\n```python") for page in PAGES)


@pytest.mark.parametrize(
    ("page", "module", "name"),
    [("README.md", "my_agent", "MyAgent"), ("docs/extending.md", "one_step", "OneStep:noise=0.5")],
)
def test_agents_of_ones_own_pass_an_audit(page, module, name, tmp_path, monkeypatch):
    text = (ROOT / page).read_text(encoding="utf-8")
    (example,) = re.findall(rf"```python\n(# {module}.py.*?)```", text, flags=re.DOTALL)
    (tmp_path / f"{module}.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    games = [Game(Rules(2, sets=1, turns_per_set=1))]
    assert audit(lambda: make(f"{module}:{name}"), games, states=4).verdict == "passed"


def test_evaluators_of_ones_own_search(tmp_path, monkeypatch):
    """As docs/evaluators.md says; the net learns for a moment only."""
    pytest.importorskip("torch", reason="needs the extra `ppo`")
    text = (ROOT / "docs" / "evaluators.md").read_text(encoding="utf-8")
    for name, example in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", text, flags=re.DOTALL):
        (tmp_path / name).write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    importlib.import_module("my_value").train(seconds=0.1, games=2)
    game = Game(Rules.official(4))
    states, rng = game.new_states([7]), np.random.default_rng(0)
    for value in ("lead_now:LeadNow", "my_value:MyValue"):
        agent = make(f"search:nodes=3,value=[{value}]")
        assert game.legal_actions(states)[0, agent.act(game, states, rng)[0]]


def test_the_readme_stays_short():
    assert len(README.splitlines()) <= 220


def test_pettingzoo_example_fits_in_twenty_lines():
    (example,) = (text for text in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL) if "agent_iter" in text)
    assert len(example.strip().splitlines()) <= 20


def prose(page):
    """The text of a page without its code blocks."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """The anchors of a page's headings, as the repository's view and the site make them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_linked_files_and_headings_exist(page):
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"


def test_make_targets_exist():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(re.findall(r"\bmake (\w+)", README)) <= set(targets)


def command_of(words):
    """The command that a line calls, and the words after its name."""
    command = typer.main.get_command(app)
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_code_blocks_are_understood(page):
    """Their options exist and take these values."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        for line in re.findall(r"^(?:\$ )?bombay (.*)$", block, flags=re.MULTILINE):
            if "[OPTIONS]" in line:  # a usage line of docs/cli.md
                continue
            command, words = command_of(shlex.split(line, comments=True))
            if "--help" not in words and not hasattr(command, "commands"):
                command.make_context(command.name, words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_text_have_the_options_that_are_named(page):
    for line in re.findall(r"`bombay ([^`]+)`", prose(page)):
        command, words = command_of(line.split())
        known = {option for parameter in command.params for option in parameter.opts + parameter.secondary_opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known | {"--help"}, line


def test_the_moving_picture_loads_quickly():
    assert (ROOT / "docs" / "game.gif").stat().st_size <= 1_000_000
