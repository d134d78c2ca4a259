"""The editor of boards in a real browser: chains of clicks, drags, the keyboard, a photo, and what is told and kept."""

import re

import numpy as np
import pytest
from PIL import Image

from bombay_env import Board
from bombay_training.play.draft import Draft
from bombay_training.play.web.board_app import BoardApp
from helpers.browser import page_at, serving

BOARD = Board.load()
UNPLAYABLE = Draft("mine", BOARD.sites, BOARD.trails[5:])


@pytest.fixture
def path(tmp_path):
    UNPLAYABLE.write(tmp_path / "mine.toml")
    return tmp_path / "mine.toml"


@pytest.fixture
def page(browser, path):
    with serving(BoardApp(path)) as address, page_at(browser, address) as page:
        page.set_default_timeout(20_000)
        page.wait_for_selector("#problem")
        yield page


def trails(page):
    return set(map(frozenset, page.evaluate("store.state.trails")))


def drawn(page, *trails):
    """Wait until these trails are there, in either direction, and nothing is under way."""
    for one, other in trails:
        page.wait_for_selector(f"[data-key='{one} {other}'], [data-key='{other} {one}']")
    page.wait_for_function("() => !store.busy")


def drag(page, site, across, down, button="left"):
    """Drag a site to a place in pixels of the screen."""
    box = page.locator(f"[data-target={site}]").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down(button=button)
    page.mouse.move(across - 20, down - 20)
    page.mouse.move(across, down)
    page.mouse.up(button=button)


def test_a_board_is_drawn_saved_and_told_how_to_play(page, path):
    assert "Not a valid board yet" in page.text_content("#problem")
    assert page.locator("#command").count() == 0
    for one, other in BOARD.trails[:5]:
        page.click(f"[data-target={one}]")
        page.click(f"[data-target={other}]")
        drawn(page, (one, other))
        page.keyboard.press("Escape")
    assert "This is a valid board" in page.text_content("#problem")
    assert page.text_content("#command").startswith("Save it, then play on it: bombay play --board ")
    page.click("[data-key=save]")
    page.wait_for_selector("[data-key=save]:disabled")
    assert page.text_content("#command") == f"Play on it: bombay play --board {path} human planner-v1"
    assert set(map(frozenset, Board.load(path).trails)) == set(map(frozenset, BOARD.trails))


def test_clicks_draw_a_chain_until_escape_and_removing_ends_it(page):
    before = trails(page)
    for site in ("F1", "G7", "F2"):
        page.click(f"[data-target={site}]")
        page.wait_for_function("(site) => !store.busy && store.editor.chosen === site", arg=site)
    assert trails(page) == before | {frozenset(("F1", "G7")), frozenset(("G7", "F2"))}
    page.keyboard.press("Escape")
    page.click("[data-target=G8]")
    page.click("[data-target=G6]")
    drawn(page, ("G8", "G6"))
    assert frozenset(("F2", "G8")) not in trails(page), "the chain had ended"
    page.click("[data-target=G8]")
    page.wait_for_function("() => !store.busy && store.editor.chosen === null")
    assert frozenset(("G8", "G6")) not in trails(page)
    page.click("[data-key=undo]")
    drawn(page, ("G8", "G6"))


def test_trails_and_sites_are_dragged(page, path):
    before = trails(page)
    end = page.locator("[data-target=F2]").bounding_box()
    drag(page, "F1", end["x"] + end["width"] / 2, end["y"] + end["height"] / 2)
    drawn(page, ("F1", "F2"))
    assert trails(page) == before | {frozenset(("F1", "F2"))}
    assert page.evaluate("store.editor.chosen") is None
    drag(page, "F1", end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, button="right")
    box = page.locator("#map svg").bounding_box()
    drag(page, "F1", box["x"] + box["width"] * 0.05, box["y"] + box["height"] * 0.95)  # where no site is
    assert page.locator(".dragged").count() == 0
    assert trails(page) == before | {frozenset(("F1", "F2"))}
    page.click("[data-key=move]")
    drag(page, "G8", box["x"] + box["width"] * 0.62, box["y"] + box["height"] * 0.93)
    page.wait_for_function("(version) => store.state.version > version", arg=1)
    page.click("[data-key=save]")
    page.wait_for_selector("[data-key=save]:disabled")
    moved = [new for new, old in zip(Draft.read(path).sites, BOARD.sites, strict=True) if new != old]
    assert [site.name for site in moved] == ["G8"]
    dropped = page.locator("[data-target=G8]").bounding_box()
    assert dropped["x"] + dropped["width"] / 2 == pytest.approx(box["x"] + box["width"] * 0.62, abs=2)
    assert dropped["y"] + dropped["height"] / 2 == pytest.approx(box["y"] + box["height"] * 0.93, abs=2)


def test_trails_are_drawn_by_keyboard_alone(page):
    before = trails(page)
    page.focus("#trail-from")
    page.keyboard.type("F1")
    page.keyboard.press("Tab")
    page.keyboard.type("F4")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    drawn(page, ("F1", "F4"))
    assert trails(page) == before | {frozenset(("F1", "F4"))}
    assert page.evaluate("document.activeElement.dataset.key") == "both"


def test_a_photo_lies_below_the_trails_and_stays_in_the_browser(page, tmp_path):
    Image.fromarray(np.full((40, 60, 3), 120, np.uint8)).save(tmp_path / "photo.png")
    assert page.is_hidden("[data-key=seen]")
    page.set_input_files("[data-key=photo]", tmp_path / "photo.png")
    page.wait_for_selector("#map image")
    assert page.evaluate("document.querySelector('#map rect').nextElementSibling.localName") == "image"
    assert page.get_attribute("#map image", "href").startswith("data:image/png")
    page.focus("[data-key=seen]")
    page.keyboard.press("Home")
    assert page.get_attribute("#map image", "opacity") == "0"
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#map image", "opacity") == "0.05"
    page.click("[data-target=F1]")
    page.click("[data-target=F2]")
    drawn(page, ("F1", "F2"))
    assert page.get_attribute("#map image", "opacity") == "0.05", "it stays while one draws"


def test_unsaved_trails_are_warned_of(page):
    asked = []
    page.on("dialog", lambda dialog: asked.append(dialog.type) or dialog.accept())
    page.reload()
    page.wait_for_selector("#problem")
    assert asked == []
    page.click("[data-target=F1]")
    page.click("[data-target=F2]")
    drawn(page, ("F1", "F2"))
    page.reload()
    page.wait_for_selector("#problem")
    assert asked == ["beforeunload"]


def test_a_legend_tells_the_kinds_of_sites(page):
    page.wait_for_selector("#legend")
    told = [re.sub(r".*: ", "", words.strip()) for words in page.locator("#signs li").all_text_contents()]
    assert told == ["1", "any number", "4", "4", "4", "8", "any number"]
