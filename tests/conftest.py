"""Fixtures that tests share. Ctrl-C reaches the programs that tests start, also where the shell ignores it."""

import signal

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)  # `nohup make test &` ignores it


@pytest.fixture
def bombay(tmp_path, monkeypatch, capfd):
    """Runs the command in this process and in the test's folder."""
    from helpers.command import in_this_process

    return in_this_process(tmp_path, monkeypatch, capfd)


@pytest.fixture(scope="module")
def browser():
    """Chromium; skips the test where there is none."""
    from helpers.browser import launched  # needs the extra `play`

    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def worker():
    """Where agents of the page think."""
    from bombay_training.play.web.worker import Worker

    worker = Worker()
    yield worker
    assert worker.stop()
