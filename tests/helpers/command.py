"""The `bombay` command: in a process of its own, or in this one, which saves the imports of a new process."""

import contextlib
import importlib
import os
import subprocess
import sys

import psutil
import pytest

from bombay_training import warm_up
from bombay_training.cli import matches, playing
from bombay_training.cli.main import main
from bombay_training.matches.play import Here

ENVIRONMENT = {"COLUMNS": "200", "NO_COLOR": "1"}


def bombay(*arguments, cwd=None, typed=None, **environment):
    """Run the command as a user does; `typed` is its standard input."""
    return python("-m", "bombay_training.cli", *arguments, cwd=cwd, typed=typed, **environment)


def python(*arguments, cwd=None, typed=None, **environment):
    """Run Python, which finds what the tests find."""
    with started(*arguments, cwd=cwd, **environment) as process:
        try:
            written = process.communicate(typed, timeout=600)
        finally:
            process.kill()
    return subprocess.CompletedProcess(arguments, process.returncode, *written)


def started(*arguments, cwd=None, **environment):
    """Python as a process with pipes."""
    settings = os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment
    command, pipe = [sys.executable, *map(str, arguments)], subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, env=settings, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8")


def ended(process):
    """Whether a process, as psutil has it, has ended, also if nobody has waited for it."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


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
