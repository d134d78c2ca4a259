"""The `bombay` command: in a process of its own, or in this one, which saves the imports of a new process."""

import importlib
import os
import subprocess
import sys

import pytest

from bombay_training.cli.main import main

ENVIRONMENT = {"COLUMNS": "200", "NO_COLOR": "1"}


def bombay(*arguments, cwd=None, **environment):
    """Run the command as a user does."""
    command = [sys.executable, "-m", "bombay_training.cli", *map(str, arguments)]
    settings = os.environ | ENVIRONMENT | environment
    return subprocess.run(command, cwd=cwd, env=settings, capture_output=True, text=True, timeout=300, check=False)


def in_this_process(folder, monkeypatch, capfd, command=main):
    """A function that runs the command in `folder`, where it finds the agents of a module `mine`."""
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
