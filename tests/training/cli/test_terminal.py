"""What commands show in a terminal and in a pipe: progress, colours, widths, completion."""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios

import numba
import pytest

from bombay_training.cli import runner
from helpers.command import python

needs_jit = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="matches take the compiler")
COMMAND = (sys.executable, "-m", "bombay_training.cli")
CODE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # moves the cursor, or changes the style
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(3[0-7]|4[0-7]|9[0-7]|38|48)\b[0-9;]*m")


def in_a_terminal(*arguments, columns=80, **variables):
    """What a command writes to a terminal, with all its codes."""
    pid, terminal = pty.fork()
    if pid == 0:
        unwanted = ("COLUMNS", "NO_COLOR", "FORCE_COLOR")
        environment = {name: value for name, value in os.environ.items() if name not in unwanted}
        os.execvpe(COMMAND[0], [*COMMAND, *arguments], environment | {"TERM": "xterm-256color"} | variables)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    written = b""
    while select.select([terminal], [], [], 120)[0]:
        try:
            written += os.read(terminal, 1 << 16)
        except OSError:  # the command has ended
            break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, written.decode()
    os.close(terminal)
    return written.decode()


def shown_lines(written):
    return [line for line in re.split(r"[\r\n]+", CODE.sub("", written)) if line.strip()]


@needs_jit
@pytest.mark.parametrize(
    ("arguments", "working"),
    [
        (("simulate", "greedy", "--games", "8"), "games"),
        (("audit", "greedy", "--states", "6", "--players", "2"), "auditing greedy"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_terminal_of_80_columns_shows_what_is_being_done_without_colour_if_so_wished(
    arguments, working, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    written = in_a_terminal(*arguments, NO_COLOR="1")
    lines = shown_lines(written)
    assert any(working in line for line in lines[:-3])
    assert max(map(len, lines)) <= 80
    assert not COLOUR.search(written)


def test_bars_are_for_terminals(monkeypatch):
    for terminal in (True, False):
        monkeypatch.setattr(runner.err, "_force_terminal", terminal)
        assert runner.new_progress().disable != terminal
        with runner.reserved(True):  # the command has --json
            assert runner.new_progress().disable


def test_the_shell_completes_agents():
    """Commands are completed by Typer alone."""
    asked = {"_BOMBAY_COMPLETE": "complete_bash", "COMP_WORDS": "bombay arena planner-", "COMP_CWORD": "2"}
    call = "import sys; sys.argv = ['bombay']; from bombay_training.cli.main import main; main()"
    assert python("-c", call, **asked).stdout.split() == ["planner-v1"]
