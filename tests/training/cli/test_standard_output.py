"""Standard output belongs to the command: what agents, native code and child processes write never reaches it.

The agent writes in every way when it is imported, when it acts and when its process ends. No character costs a result either.
"""

import json
import re

import numba
import pytest

from helpers.command import bombay, started

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="without the compiler its matches take minutes")

LOUD = """
import atexit, os, subprocess, sys

from bombay_agents.random import RandomTurnAgent

def shout(when):
    print(f"Python Ж {when}")
    print(f"original {when}", file=sys.__stdout__, flush=True)
    os.write(1, f"native {when}\\n".encode())
    subprocess.run(["echo", f"child {when}"], check=True)

class Loud(RandomTurnAgent):
    name = "Жук"

    def act(self, game, states, rng):
        shout("acts")
        return super().act(game, states, rng)

shout("imported")
atexit.register(shout, "ends")
"""
TWO = ("--players", "2")
SHOWN = ("simulate", "mine:Loud", *TWO, "--games", "1")
COMMANDS = [  # in a process of its own, and in worker processes
    ("audit", "mine:Loud", *TWO, "--states", "1", "--json"),
    ("arena", "mine:Loud", "random-turn", *TWO, "--blocks", "1", "--processes", "1", "--json"),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "mine.py").write_text(LOUD, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_results_alone_are_on_standard_output(command, folder):
    done = bombay(*command, cwd=folder, PYTHONIOENCODING="cp1252")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["command"] == command[0]
    for kind in (r"Python \u0416", "original", "native", "child"):
        assert f"{kind} imported\n" in done.stderr
        assert f"{kind} acts\n" in done.stderr


def test_the_protocol_alone_is_on_standard_output(folder):
    pytest.importorskip("mcp", reason="needs the extra `llm`")
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = {"name": "new_game", "arguments": {"seats": ["mine:Loud", "model"], "seed": 7}}
    process = started("-m", "bombay_training.cli", "mcp", "mine:Loud", cwd=folder, PYTHONIOENCODING="cp1252")

    def send(method, **message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **message}) + "\n")
        process.stdin.flush()

    send("initialize", id=1, params=about)
    assert json.loads(process.stdout.readline())["id"] == 1
    send("notifications/initialized")
    send("tools/call", id=2, params=asked)
    answer = json.loads(process.stdout.readline())
    assert "You are seat 1" in answer["result"]["content"][0]["text"]
    rest, errors = process.communicate(timeout=60)
    assert rest == ""
    assert "native acts\n" in errors


def test_the_game_alone_is_on_the_terminal(folder):
    done = bombay("play", "mine:Loud", "human", *TWO, "--text", cwd=folder, typed="quit\n", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "At the table: seat 0 ???, seat 1 human." in done.stdout
    assert "seat 1> " in done.stdout
    assert "native acts\n" in done.stderr
    assert not re.search("Python|original|native|child", done.stdout)


def test_results_alone_are_shown_and_a_character_that_the_encoding_lacks_is_replaced(folder):
    """The agent plays in the command's own process."""
    done = bombay(*SHOWN, cwd=folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("???") == 2  # the name of the agent in both seats
    assert not re.search("Python|original|native|child", done.stdout)
    for kind in (r"Python \u0416", "original", "native", "child"):
        assert f"{kind} imported\n" in done.stderr
        assert f"{kind} acts\n" in done.stderr
