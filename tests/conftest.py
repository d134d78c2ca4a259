"""Fixtures of the tests in a browser. Ctrl-C reaches the programs that tests start, also where the shell ignores it."""

import signal

import pytest

signal.signal(signal.SIGINT, signal.default_int_handler)  # `nohup make test &` ignores it


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
