"""The pages of play, viewer and board editor from phone to desktop, light and dark: they fit, and all can read and reach them."""

import contextlib

import numpy as np
import pytest
from test_play_browser import (
    ADVISER,
    ONE_SET,
    by_keyboard,
    by_mouse,
    by_touch,
    download,
    fits,
    play_to_the_end,
    settled,
    verified,
    version,
)
from test_play_session import play, session

from bombay_env import Board, Game, Rules
from bombay_training.play.draft import Draft
from bombay_training.play.web.board_app import BoardApp
from bombay_training.play.web.play_app import PlayApp
from bombay_training.play.web.watch_app import WatchApp
from bombay_training.play.web.worker import Worker
from helpers.browser import page_at, serving

SIZES = ((390, 844), (768, 1024), (844, 390), (1280, 860), (640, 430))  # the last: 1280 pixels at 200 % zoom
BRIEF = Game(Rules(2, sets=1, turns_per_set=2))
SCHEMES = ("light", "dark")
SMALLEST = 11  # pixels
SERIOUS = ("serious", "critical")
# The words that can be seen whose letters are smaller than so many pixels of the screen.
SMALL_WORDS = """(least) => [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() &&
    [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()) &&
    parseFloat(getComputedStyle(one).fontSize) * (one.ownerSVGElement ? one.getScreenCTM().a : 1) < least)
    .map((one) => one.textContent)"""
PLACES = """(all) => all.map((name) => document.querySelector(name).getBoundingClientRect())
    .map(({ x, y, width }) => [x, y + scrollY, width].map(Math.round))"""


@contextlib.contextmanager
def shown(kind, browser, folder):
    """A page of this kind with something on it, and all that is folded away on it opened."""
    worker = Worker()
    if kind in ("play", "over", "lobby"):
        game = session(None, "greedy", "greedy", game=ONE_SET, seed=6)
        app = PlayApp(play(game, np.random.default_rng(1)) if kind == "over" else game, worker, ADVISER, 0.0)
    elif kind == "watch":
        app = WatchApp([play(session(None, "greedy", game=BRIEF), np.random.default_rng(1)).record()], worker)
    else:
        Draft("mine", Board.load().sites, Board.load().trails[3:]).write(folder / "mine.toml")
        app = BoardApp(folder / "mine.toml")
    with serving(app) as address, page_at(browser, address, reduced_motion="reduce") as page:
        page.wait_for_selector("#account table" if kind == "over" else "#actions button")
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        if kind == "lobby":
            page.click("[data-key=new]")
        yield page
    worker.stop()


def resized(page, size, scheme):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")  # drawn anew


def violations(page):
    """The serious rules of axe-core that the page breaks, each with an example."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs the extra `dev`").Axe()
    found = axe.run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]


@pytest.mark.parametrize("kind", ["play", "over", "lobby", "watch", "board"])
def test_a_page_fits_every_size_and_is_legible_and_accessible(kind, browser, tmp_path):
    """What fits does not depend on the colours, nor these on the size: axe checks a phone and a desktop, of other colours."""
    with shown(kind, browser, tmp_path) as page:
        for number, size in enumerate(SIZES):
            scheme = SCHEMES[number % 2]
            resized(page, size, scheme)
            assert fits(page), size
            assert page.evaluate(SMALL_WORDS, SMALLEST) == [], size
            if size in (SIZES[0], SIZES[3]):
                assert violations(page) == [], (size, scheme)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES[:4], ids=str)
@pytest.mark.parametrize("press", [by_mouse, by_keyboard, by_touch])
def test_a_whole_game_is_played_in_every_way_at_every_size(press, size, scheme, browser, tmp_path):
    worker = Worker()
    app = PlayApp(session(None, "greedy", "greedy", game=ONE_SET, seed=6), worker, ADVISER, 0.0)
    how = {"color_scheme": scheme, "has_touch": press is by_touch}
    with serving(app) as address, page_at(browser, address, *size, **how) as page:
        page.wait_for_selector("#actions button")
        play_to_the_end(page, np.random.default_rng(7), press)
        assert "Game over" in page.text_content("#headline")
        assert page.evaluate(SMALL_WORDS, SMALLEST) == []
        assert violations(page) == []
        verified(download(page, tmp_path / "record.jsonl", press))
    worker.stop()


def test_nothing_jumps_after_a_click(browser, tmp_path):
    with shown("play", browser, tmp_path) as page:
        tools = (f"[data-key={key}]" for key in ("undo", "hint", "new", "record"))
        names = ("#map", "#markets", "#legend", "#headline", "#actions", *tools)
        for size in SIZES:
            resized(page, size, "light")
            before = page.evaluate(PLACES, names)
            for key in ("#actions [data-key='move:E1']", "[data-key=undo]"):
                start = version(page)
                page.click(key)
                settled(page, start)
                assert page.evaluate(PLACES, names) == before, (size, key)


def test_nothing_jumps_while_a_game_is_watched(browser, tmp_path):
    with shown("watch", browser, tmp_path) as page:
        names = ("#map", "#markets", "#headline", "[data-key=later]", "[data-key=slider]", "#viewer", "#log")
        for size in SIZES:
            resized(page, size, "light")
            page.click("[data-key='event 0']")
            before = page.evaluate(PLACES, names)
            for _ in range(5):
                page.click("[data-key=later]")
                assert page.evaluate(PLACES, names) == before, size


def test_the_dark_page_has_a_dark_map(browser, tmp_path):
    land = "getComputedStyle(document.querySelector('#map [data-part=map] > rect')).fill"
    with shown("play", browser, tmp_path) as page:
        fills = {}
        for scheme in SCHEMES:
            resized(page, SIZES[0], scheme)
            fills[scheme] = sum(map(int, page.evaluate(land).removeprefix("rgb(").removesuffix(")").split(",")))
        assert fills["dark"] < 200 < 600 < fills["light"]
