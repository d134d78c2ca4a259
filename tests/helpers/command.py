"""The `bombay` command: in a process of its own, or in this one, which saves the imports of a new process."""

import contextlib
import importlib
import os
import subprocess
import sys

import pytest

from bombay_training import warm_up
from bombay_training.cli import matches, playing
from bombay_training.cli.main import main
from bombay_training.matches.play import Here

ENVIRONMENT = {"COLUMNS": "200", "NO_COLOR": "1"}


def bombay(*arguments, cwd=None, typed=None, **environment):
    """Run the command as a user does; `typed` is its standard input."""
    command = [sys.executable, "-m", "bombay_training.cli", *map(str, arguments)]
    settings = os.environ | ENVIRONMENT | environment
    return subprocess.run(
        command, cwd=cwd, env=settings, input=typed, capture_output=True, text=True, timeout=300, check=False
    )


def in_this_process(folder, monkeypatch, capfd, command=main):
    """A function that runs the command in `folder`, where it finds the agents of a module `mine`.

    It starts no processes that compile in advance; `test_warm_up.py` has them.
    """
    monkeypatch.setattr(warm_up, "compile_all", lambda *_: None)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "mine", None)  # so that it is forgotten after the test
    del sys.modules["mine"]
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bombay", *map(str, arguments)])
        importlib.invalidate_caches()  # Python may have listed the folder before the module was written
        with pytest.raises(SystemExit) as end:
            command()
        return subprocess.CompletedProcess(arguments, end.value.code, *capfd.readouterr())

    return run


def without_workers(monkeypatch):
    """Let commands play their matches in this process. Each process of a pool costs two seconds."""
    for module in (matches, playing):
        monkeypatch.setattr(module, "WorkerPool", lambda *_: contextlib.nullcontext(Here()))
