"""How the page teaches the game, in a real browser: the rules, the meaning of each site, and the tutorial."""

import contextlib

import pytest
from test_play_browser import ADVISER, change, fits
from test_play_session import session
from test_play_sizes import PLACES, SIZES, SMALL_WORDS, SMALLEST, resized, violations

from bombay_env import Game, Rules
from bombay_training.play.web.play_app import PlayApp
from helpers.browser import page_at, serving

VARIANT = Game(Rules(3, sets=1, toll=7))
STEPS = ("Your elephant", "Buy a bale", "Sell it", "Build a palace", "Sets, the end")
BOXES = "(selector) => [...document.querySelectorAll(selector)].map((one) => one.getBoundingClientRect().toJSON())"


@pytest.fixture
def address(worker):
    with serving(PlayApp(session(None, "greedy", "greedy", game=VARIANT, seed=6), worker, ADVISER, 0.0)) as address:
        yield address


@contextlib.contextmanager
def table(browser, address, width=1280, height=860, **more):
    with page_at(browser, address, width, height, reduced_motion="reduce", **more) as page:
        page.wait_for_selector("#actions button")
        page.set_default_timeout(30_000)
        yield page


def shared(one, other):
    """Whether two boxes overlap by more than a pixel."""
    across = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    down = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    return across > 1 and down > 1


def middle(page, site):
    box = page.locator(f"[data-target={site}]").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def meaning(page):
    page.wait_for_selector("#meaning", state="visible")
    return page.inner_text("#meaning")


def gone(page):
    page.wait_for_selector("#meaning", state="hidden")


def test_the_rules_open_by_keyboard_have_the_numbers_of_the_game_and_give_the_focus_back(browser, address):
    with table(browser, address) as page:
        before = page.locator("#open-rules").bounding_box()
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        told = page.inner_text("#rules")
        assert "The game has 1 set of 5 turns" in told
        assert "its owner gets 7 rupees from the bank" in told
        assert "Move to SITE: go along one trail" in told
        folded = page.locator("#rules details")
        assert folded.count() == 11
        assert page.is_hidden("#rules details p >> nth=0")
        folded.nth(0).locator("summary").click()
        assert page.is_visible("#rules details p >> nth=0")
        page.keyboard.press("Escape")
        assert page.is_hidden("#rules")
        assert page.evaluate("document.activeElement.id") == "open-rules"
        with change(page):
            page.click("[data-target=E1]")
        assert page.locator("#open-rules").bounding_box() == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_fit_a_phone_and_are_accessible(browser, address, scheme):
    with table(browser, address, 390, 844) as page:
        page.emulate_media(color_scheme=scheme)
        page.click("#open-rules")
        page.evaluate("for (const one of document.querySelectorAll('#rules details')) one.open = true")
        assert fits(page)
        assert page.evaluate(
            "document.querySelector('#rules').scrollWidth <= document.querySelector('#rules').clientWidth"
        )
        assert page.evaluate(SMALL_WORDS, SMALLEST) == []
        assert violations(page) == []
        page.click("[data-key='close rules']")
        assert page.evaluate("document.activeElement.id") == "open-rules"


@pytest.mark.parametrize(("width", "height"), [(1280, 860), (390, 844)])
def test_a_pointer_on_a_site_shows_what_it_means_and_hides_no_move(browser, address, width, height):
    """The meaning can be pointed at, it stays, and Escape sends it away (WCAG 1.4.13)."""
    with table(browser, address, width, height) as page:
        page.clock.install()  # so that no rest of the pointer takes its time

        def point(x, y, milliseconds=500):
            page.mouse.move(x, y)
            page.clock.run_for(milliseconds)

        for site in page.evaluate("Object.keys(store.state.meanings)")[::6]:
            point(0, 0)
            gone(page)
            point(*middle(page, site))
            assert meaning(page).startswith(f"{site}: ")
            assert fits(page)
            (box,) = page.evaluate(BOXES, "#meaning")
            for place in page.evaluate(BOXES, f"[data-target={site}], .target"):
                assert not shared(box, place), site
        point(0, 0)
        gone(page)
        x, y = middle(page, "Hyderabad")
        point(x, y)
        assert "A sale pays in rupees: " in meaning(page)
        box = page.locator("#meaning").bounding_box()
        point(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 2000)
        assert page.is_visible("#meaning")
        point(x, y)
        page.keyboard.press("Escape")
        gone(page)
        point(x + 2, y)
        assert page.is_hidden("#meaning"), "until the pointer has been elsewhere"


def test_the_meaning_is_legible_and_accessible(browser, address):
    with table(browser, address, 390, 844) as page:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.mouse.move(0, 0)
            gone(page)
            page.mouse.move(*middle(page, "Hyderabad"))
            meaning(page)
            assert page.evaluate(SMALL_WORDS, SMALLEST) == []
            assert violations(page) == []


def test_a_tap_shows_a_meaning_and_a_tap_on_a_legal_move_moves(browser, address):
    with table(browser, address, 390, 844, has_touch=True) as page:
        before = page.evaluate("store.state.version")
        page.tap("[data-target=Bombay]")
        assert meaning(page).startswith("Bombay: a city")
        page.tap("#when")
        gone(page)
        page.tap("[data-target=G8]")
        assert meaning(page).startswith("G8: ")
        page.tap("#meaning")
        gone(page)
        assert page.evaluate("store.state.version") == before
        with change(page):
            page.tap("[data-target=E1]")
        assert page.evaluate("store.state.played") == ["move:E1"]
        assert page.is_hidden("#meaning")


def test_the_map_is_read_and_played_by_keyboard(browser, address):
    """One stop of Tab; the arrow keys reach every site, Enter moves where that is legal, Escape hides the meaning."""
    with table(browser, address) as page:
        page.focus("#places [tabindex='0']")
        assert meaning(page).startswith("A: a hilltop")
        assert page.locator("#places [tabindex='0']").count() == 1
        seen, ways = {"A"}, [("A", [])]
        for at, way in ways:  # the list grows during this loop
            for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
                page.focus(f"[data-place={at}]")
                page.keyboard.press(key)
                site = page.evaluate("document.activeElement.dataset.place")
                if site not in seen:
                    seen.add(site)
                    ways.append((site, [*way, key]))
        assert seen == set(page.evaluate("Object.keys(store.state.meanings)"))
        page.focus("[data-place=Indore]")
        page.keyboard.press("Enter")
        assert page.evaluate("store.state.played") == []
        page.keyboard.press("Escape")
        gone(page)
        assert page.evaluate("document.activeElement.dataset.place") == "Indore"
        page.focus("[data-place=E1]")
        with change(page):
            page.keyboard.press("Enter")
        assert page.evaluate("store.state.played") == ["move:E1"]
        assert meaning(page).startswith("E1: ")
        assert "elephants: you" in meaning(page).lower()


def step(page):
    """The number of the step that shows."""
    words = page.inner_text("#tutorial .step h2")
    number = int(words[0])
    assert words.startswith(f"{number} of 5: {STEPS[number - 1]}")
    return number


def test_the_tutorial_follows_what_is_done_and_can_be_read_through(browser, address):
    with table(browser, address) as page:
        assert step(page) == 1
        assert page.locator("#map .ring").count() == 1
        with change(page):
            page.click("[data-target=E3]")
        assert step(page) == 2
        assert "E3" in page.inner_text("#tutorial .step .where")
        with change(page):
            page.click("#actions [data-key=buy]")
        assert step(page) == 3
        assert "7 rupees" in page.evaluate("document.querySelectorAll('#tutorial .unseen')[3].textContent")
        page.click("[data-key=next]")
        assert step(page) == 4
        page.click("[data-key=next]")
        assert step(page) == 5
        assert page.locator("#map .ring").count() == 0
        assert "pointed" in page.get_attribute("#when", "class")
        page.click("[data-key=next]")
        assert page.is_hidden("#tutorial")
        assert page.evaluate("document.activeElement.closest('#actions') !== null")


def test_the_tutorial_is_shown_once_and_can_be_started_again(browser, address):
    with table(browser, address) as page:
        page.click("[data-key=skip]")
        assert page.is_hidden("#tutorial")
        page.reload()
        page.wait_for_selector("#actions button")
        assert page.is_hidden("#tutorial")
        (cookie,) = page.context.cookies()
        assert (cookie["domain"], cookie["path"]) == ("127.0.0.1", "/"), "for any port and token"
        page.click("#open-rules")
        page.click("[data-key=tutorial]")
        assert step(page) == 1
        assert page.evaluate("document.activeElement.dataset.key") == "next"


def test_the_tutorial_that_is_started_while_agents_play_runs_in_the_next_game(browser, worker):
    app = PlayApp(session("random", "random", "random", game=VARIANT), worker, ADVISER, 60.0)
    with serving(app) as address, page_at(browser, address) as page:
        page.click("#open-rules")
        page.click("[data-key=tutorial]")
        assert not page.is_visible("#tutorial")
        page.click("[data-key=new]")
        page.get_by_label("Seat 0").select_option("human")
        page.click("[data-key=begin]")
        page.wait_for_selector("#tutorial")


def test_nothing_jumps_from_step_to_step(browser, address):
    names = ("#map", "#markets", "#tutorial", "#tools", "#headline", "#actions")
    with table(browser, address) as page:
        for size in SIZES:
            resized(page, size, "light")
            before = page.evaluate(PLACES, names)
            for _ in range(4):
                page.click("[data-key=next]")
                assert page.evaluate(PLACES, names) == before, size
                assert page.evaluate("document.querySelector('#tutorial .step').offsetHeight") <= page.evaluate(
                    "document.querySelector('#tutorial .steps').offsetHeight"
                )
            page.click("#open-rules")
            page.click("[data-key=tutorial]")


def test_names_of_cities_are_not_squeezed_at_any_size(browser, address):
    with table(browser, address) as page:
        for size in SIZES:
            resized(page, size, "light")
            assert page.locator("#map text[textLength]").count() == 0
            for city in ("Bombay", "Indore", "Nagpur", "Hyderabad"):
                words = page.locator(f"#map [data-kind=city] text:text-is('{city}')")
                assert page.evaluate(
                    "(one) => one.getBBox().width < one.previousElementSibling.getBBox().width", words.element_handle()
                ), (city, size)
