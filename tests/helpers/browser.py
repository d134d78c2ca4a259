"""A page in headless Chromium, with all that its console says; skips the test where there is no Chromium."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from bombay_training.play.web import server

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def chromium():
    """The path of Chromium. Skips the test if there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    return path


@contextlib.contextmanager
def command(*arguments):
    """The address of the page of a `bombay` command, which is ended by Ctrl-C."""
    # Without compiling, so that the first answers come at once.
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    whole = [sys.executable, "-m", "bombay_training.cli", *map(str, arguments)]
    with subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Open http"), process.stderr.read()
            yield line.split()[1]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert process.stderr.read() == ""
        finally:
            process.kill()


@contextlib.contextmanager
def serving(app, port=0):
    """The address of the page of a `PlayApp`, `WatchApp` or `BoardApp`, served from a thread of this process."""
    with server.bind("127.0.0.1", port, remote=False) as listening:
        serves, address = server.new_server(listening, "127.0.0.1", app.application)
        thread = threading.Thread(target=serves.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield address
        finally:
            serves.should_exit = True
            thread.join()


@contextlib.contextmanager
def launched():
    """Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the extra `dev`")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@contextlib.contextmanager
def page_at(browser, address, width=1280, height=860, refusals=0, **more):
    """A page that has loaded the address. The console may only tell refusals; no request may leave this server."""
    said = []

    def note(request):
        if not request.url.startswith((address, "data:")):
            said.append(request.url)

    page = browser.new_page(viewport={"width": width, "height": height}, accept_downloads=True, **more)
    page.set_default_timeout(600_000)  # with an empty kernel cache, an agent may be compiled for minutes
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", note)
    page.goto(address)
    yield page
    page.context.close()
    told = [words for words in said if "status of 409" in words]
    assert said == told
    assert len(told) == refusals
