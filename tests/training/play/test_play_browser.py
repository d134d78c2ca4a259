"""The page in a real browser: whole games by clicking and by keyboard, on a phone, several tabs, and watching."""

import contextlib
import dataclasses
import itertools
import json
import re

import numpy as np
import pytest
from test_play_session import SHORT, play, session
from typer.testing import CliRunner

from bombay_env import Board, Game, Rules
from bombay_env.record import read_records
from bombay_training.cli.main import app as cli
from bombay_training.play.web import film, server
from bombay_training.play.web.events import Events
from bombay_training.play.web.play_app import PlayApp
from bombay_training.play.web.watch_app import WatchApp
from helpers.browser import command, page_at, serving

ADVISER = "champion:nodes=1,force=true"
SHOWN_AGAIN = "document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))"
ONE_SET = Game(Rules(3, sets=1, turns_per_set=2))
# The site that each arrow key leads to, from every site. The focus stays where it is.
ARROWS = """() => {
    const here = document.activeElement, steps = {};
    for (const place of document.querySelectorAll("#places button"))
        for (const key of ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"]) {
            place.focus();
            place.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
            (steps[place.dataset.place] ??= {})[key] = document.activeElement.dataset.place;
        }
    here.focus();
    return steps;
}"""


@pytest.fixture
def table(worker):
    """The address of a page for a human against two agents."""
    with serving(PlayApp(session(None, "random", "greedy", game=ONE_SET, seed=6), worker, ADVISER, 0.0)) as address:
        yield address


def version(page):
    return page.evaluate("store.state.version")


def settled(page, before):
    """Wait until the page shows a newer position with a human to move, or the end."""
    page.wait_for_function(
        "([old]) => store.state.version > old && (store.state.human || store.state.over) && !store.busy", arg=[before]
    )


@contextlib.contextmanager
def change(page):
    """What is done inside changes the position; wait for the new one."""
    before = version(page)
    yield
    settled(page, before)


def over(page):
    return page.evaluate("store.state.over")


def verified(path):
    """The record in a file, after `bombay replay` verified it."""
    done = CliRunner().invoke(cli, ["replay", str(path), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["records"][0]["winners"]
    (record,) = read_records(path)
    return record


def fits(page):
    """Whether nothing makes the page wider than the screen."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def tab_to(page, selector):
    """Press Tab until this element has the focus."""
    for _ in range(100):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached")


def arrows_to(page, site):
    """The arrow keys that lead from the site with the focus to another one."""
    steps = page.evaluate(ARROWS)
    ways = [(page.evaluate("document.activeElement.dataset.place"), [])]
    for at, way in ways:  # the list grows during this loop
        if at == site:
            return way
        ways += [(near, [*way, key]) for key, near in steps[at].items()]
    raise AssertionError(f"{site} cannot be reached")


def by_mouse(page, selector):
    page.click(selector)


def by_touch(page, selector):
    page.wait_for_timeout(350)  # two taps in less are a double tap, and the page ignores the second one
    page.tap(selector)


def by_keyboard(page, selector):
    """Go to an element by Tab, or to a site of the map by Tab and the arrow keys, and press Enter there."""
    site = page.get_attribute(selector, "data-target")
    tab_to(page, "#places [tabindex='0']" if site else selector)
    for key in arrows_to(page, site) if site else []:
        page.keyboard.press(key)
    page.keyboard.press("Enter")


def play_to_the_end(page, rng, press):
    """Press sites on the map to move there, and buttons for all else. Most turns are short."""
    while not over(page):
        legal = {choice["action"]: choice for choice in page.evaluate("store.state.legal")}
        dealing = [action for action in legal if action.startswith(("buy", "sell", "build", "take"))]
        hurried = "consolidate" in legal and rng.random() < 0.6
        action = "consolidate" if hurried else rng.choice(dealing if dealing and rng.random() < 0.8 else list(legal))
        site = legal[action]["site"]
        with change(page):
            press(page, f"[data-target={site}]" if site else f"#actions [data-key='{action}']")
        assert fits(page), action


def download(page, path, press):
    with page.expect_download() as started:
        press(page, "[data-key=record]")
    started.value.save_as(path)
    return path


def test_a_game_is_played_by_clicking(browser, tmp_path):
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 2}')
    game = ("--players", 3, "--seed", 5, "--rules", tmp_path / "rules.json")
    arguments = ("play", "human", "random", "greedy", *game, "--pause", 0, "--hints", ADVISER)
    with command(*arguments) as address, page_at(browser, address) as page:
        page.wait_for_selector("#actions button")
        first = page.text_content("#seats")
        for site in ("E1", "G1"):
            with change(page):
                page.click(f"[data-target={site}]")
        assert "You: Move to G1" in page.text_content("#log")
        with change(page):
            page.click("[data-key=undo]")
        assert page.text_content("#seats") == first
        assert "Move to" not in page.text_content("#log")
        assert page.is_disabled("[data-key=undo]")
        play_to_the_end(page, np.random.default_rng(5), by_mouse)
        assert "The account of every rupee" in page.text_content("#account")
        assert page.locator("#actions button").count() == 0
        page.reload()
        page.wait_for_selector("#account table")
        record = verified(download(page, tmp_path / "record.jsonl", by_mouse))
        assert record.agents == ("human", "random", "greedy")
        assert len([event for event in record.events if event.startswith("0 ")]) >= 2, "one or more actions a turn"


def test_a_game_is_played_by_keyboard_alone(browser, table, tmp_path):
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")
        with change(page):
            by_keyboard(page, "#actions [data-key='move:G3']")
        tab_to(page, "[data-key=undo]")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid", "the focus shows"
        with change(page):
            page.keyboard.press("Enter")
        tab_to(page, "[data-key=hint]")
        page.keyboard.press(" ")
        page.wait_for_selector("#hint li")
        assert "Expected to win" in page.text_content("#hint")
        assert "expected at the end" in page.text_content("#hint")
        play_to_the_end(page, np.random.default_rng(6), by_keyboard)
        verified(download(page, tmp_path / "record.jsonl", by_keyboard))


def test_the_accessibility_tree_has_the_tables_and_the_names_of_the_choices(browser, table):
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")
        page.get_by_text("The board in words").click()
        tables = page.evaluate("store.state.board.tables")
        assert {"Sites", "Sales in cities, in rupees"} <= {told["title"] for told in tables}
        for told in tables:
            rows = page.get_by_role("table", name=told["title"], exact=True).get_by_role("row").all()[1:]
            for row, cells in zip(rows, told["rows"], strict=True):
                first, *rest = row.locator("th, td").all_text_contents()
                assert page.get_by_role("rowheader", name=first, exact=True).count() > 0
                assert [first, *rest] == list(map(str, cells))
        assert page.get_by_role("table", name="What each seat has").get_by_role("row").count() == 1 + 3
        for name in ("Move to E1", "Consolidate", "End the turn", "Hint"):
            assert page.get_by_role("button", name=name).count() == 1, name


def test_after_an_action_the_keyboard_is_at_the_next_choice_and_a_double_click_acts_once(browser, table):
    """A site is framed for the keyboard, and not after a click."""
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")
        with change(page):
            page.dblclick("#actions [data-key='move:E1']")
        page.mouse.move(2, 2)
        page.wait_for_timeout(300)
        assert version(page) == 1
        page.wait_for_function("() => document.activeElement.closest('#actions')")
        assert page.locator(".target.aimed").count() == 0
        page.keyboard.press("Tab")
        assert page.locator(".target.aimed").count() == 1
        for _ in range(2):
            with change(page):
                page.focus("#actions button")
                page.keyboard.press("Enter")
            page.wait_for_function("() => document.activeElement.closest('#actions')")


def test_what_can_be_clicked_does_not_change_under_the_pointer(browser, table):
    """The tools keep their places, and the second click of a double click does nothing."""
    tools = ("undo", "hint", "new", "record")
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")

        def places():
            first = page.locator("#actions button").first.bounding_box()
            return [page.locator(f"[data-key={key}]").bounding_box() for key in tools], first["x"], first["y"]

        page.evaluate("scrollTo(0, 0)")
        before = places()
        for action in ("move:E1", "buy"):
            start = version(page)
            with change(page):
                page.dblclick(f"#actions [data-key='{action}']")
            page.wait_for_timeout(300)
            assert version(page) == start + 1
            page.evaluate("scrollTo(0, 0)")
            assert places() == before


def test_the_page_fits_a_phone_and_is_used_by_touch(browser, table):
    with page_at(browser, table, 390, 844, has_touch=True) as page:
        page.wait_for_selector("#actions button")
        assert fits(page)
        for selector in ("#actions button", "#tools button", ".target"):
            for box in (place.bounding_box() for place in page.locator(selector).all()):
                assert min(box["width"], box["height"]) >= 24, selector
        with change(page):
            page.tap("[data-target=G3]")
        with change(page):
            page.tap("[data-key=undo]")
        assert fits(page)


def test_a_hint_stays_for_its_turn_shows_on_the_map_and_is_played_by_a_click(browser, table):
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")
        page.click("[data-key=hint]")
        page.wait_for_selector("#hint li")
        assert page.text_content("#hint > strong") == "The best turns, as champion sees them:"
        best = page.evaluate("store.advice.turns[0].actions")
        moves = [action for action in best if action.startswith("move:")]
        assert page.locator("#map .advised").count() == len(moves) > 0
        with change(page):
            page.click(f"#actions [data-key='{best[0]}']")
        assert page.locator("#hint li").count() > 0
        page.click("[data-key='hint 0']")
        page.wait_for_function(
            "(most) => store.state.played.length === most", arg=len([a for a in best if a != "end_turn"])
        )
        assert page.evaluate("store.state.played") == [action for action in best if action != "end_turn"]
        assert page.is_disabled("[data-key='hint 0']")
        with change(page):
            page.click("[data-key=undo]")
        assert page.is_enabled("[data-key='hint 0']")
        other = next(
            a
            for a in page.evaluate("store.state.legal.map((choice) => choice.action)")
            if a.startswith("move:") and a != best[0]
        )
        with change(page):
            page.click(f"#actions [data-key='{other}']")
        assert page.is_disabled("[data-key='hint 0']"), "it begins otherwise"
        with change(page):
            page.click("[data-key=end_turn]")
        assert page.is_hidden("#hint")
        assert page.locator("#map .advised").count() == 0


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_the_round_is_told_drawn_and_shown_again(browser, worker, motion):
    app = PlayApp(session(None, "greedy", "greedy", game=ONE_SET, seed=6), worker, ADVISER, 0.0)
    with serving(app) as address, page_at(browser, address, reduced_motion=motion) as page:
        page.wait_for_selector("#actions button")
        assert page.title() == "Your turn – Bombay"
        with change(page):
            page.click("[data-key=consolidate]")
        with change(page):
            page.click("[data-key=end_turn]")
        cards = page.locator("#round li").all_inner_texts()
        assert [card.split(":")[0] for card in cards] == ["greedy 1", "greedy 2"]
        assert " → " in cards[0]
        assert page.locator("#map .way:not(.edge)").count() == sum(card.count(" → ") for card in cards)
        ways = page.locator("#map .way").count()
        page.set_viewport_size({"width": 390, "height": 844})
        page.wait_for_function("() => document.querySelector('#map').clientWidth < 390")
        page.set_viewport_size({"width": 1280, "height": 860})
        page.wait_for_timeout(100)
        assert page.locator("#map .way").count() == ways, "also after a change of size"
        if motion == "reduce":
            assert page.locator("#map .walking, #round button").count() == 0
            return
        page.select_option("[data-key=pace]", "slow")
        page.click("[data-key=again]")
        page.click("[data-key=pause]")
        assert page.locator("#map .walking").count() == 2
        place = page.get_attribute("#map .walking >> nth=0", "transform")
        page.wait_for_timeout(200)
        assert page.get_attribute("#map .walking >> nth=0", "transform") == place
        page.select_option("[data-key=pace]", "fast")
        page.click("[data-key=pause]")
        page.wait_for_function("() => !document.querySelector('#map .walking')")
        assert page.locator("#map [data-elephant][visibility]").count() == 0


def test_another_game_is_chosen_by_names_and_keys(browser, table):
    """The fields have names for a screen reader; a refusal is told where one chooses, and the game goes on."""
    with page_at(browser, table, 390, 844, refusals=1) as page:
        page.set_default_timeout(20_000)
        page.wait_for_selector("#actions button")
        with change(page):
            page.click("#actions [data-key='move:E1']")
        assert page.text_content("#news") == "You: Move to E1"
        before = page.evaluate("store.state")
        page.focus("[data-key=new]")
        page.keyboard.press("Enter")
        lobby = page.get_by_role("dialog", name="New game")
        assert page.evaluate("document.activeElement.textContent") == "Begin"
        assert fits(page)
        assert [seat.is_visible() for seat in lobby.get_by_label("Seat").all()] == [True] * 3 + [False] * 2
        lobby.get_by_label("Players").focus()
        page.keyboard.press("ArrowUp")
        assert [seat.is_visible() for seat in lobby.get_by_label("Seat").all()] == [True] * 2 + [False] * 3
        assert not lobby.get_by_label("Seed of the board").is_visible()
        lobby.get_by_label("Seat 1").select_option("zero (hard)")
        lobby.get_by_label("Board", exact=True).select_option("random")
        lobby.get_by_label("Seed of the board").fill("3")
        lobby.get_by_role("button", name="Begin").press("Enter")
        assert "was not trained on" in lobby.get_by_role("alert").text_content()
        lobby.get_by_label("Seat 1").select_option("random (weakest)")
        lobby.get_by_label("Screened").press("Space")
        lobby.get_by_label("Seed of the deal").fill("9")
        assert page.evaluate("store.state") == before
        with change(page):
            page.keyboard.press("Enter")
        assert not lobby.is_visible()
        assert page.evaluate("document.activeElement.id") == "headline"
        state = page.evaluate("store.state")
        assert state["screened"]
        assert state["lobby"]["words"] == "2 players: human, random; board random-3; screened"
        assert page.text_content("#news") == f"New game. {state['lobby']['words']}"
        page.click("[data-key=new]")
        assert lobby.get_by_label("Seed of the board").input_value() == "3", "the settings stay"
        page.keyboard.press("Escape")
        assert not lobby.is_visible()


def test_a_new_game_on_a_board_with_other_names_forgets_the_old_sites_and_hints(browser, worker):
    sites = [dataclasses.replace(site, name=f"<b>{site.name}") for site in Board.load().sites]
    trails = [(f"<b>{one}", f"<b>{other}") for one, other in Board.load().trails]
    game = Game(Rules(2, sets=1), Board("own", tuple(sites), tuple(trails)))
    app = PlayApp(session(None, "random", game=game), worker, ADVISER, 0.0)
    with serving(app) as address, page_at(browser, address) as page:
        page.focus("[data-place='<b>E1']")
        assert page.text_content("#meaning strong").startswith("<b>E1: ")
        page.click("[data-key=hint]")
        page.wait_for_selector("#hint ol")
        page.click("[data-key=new]")
        page.select_option("#lobby-board", "packaged")
        with change(page):
            page.click("[data-key=begin]")
        assert not page.is_visible("#hint"), "it was for another game, although for the same turn"
        page.focus("[data-place=E1]")
        assert page.text_content("#meaning strong").startswith("E1: ")


def test_a_second_tab_is_told_and_the_game_goes_on(browser, table):
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")
        act = "fetch('api/act', {method: 'POST', headers: {'content-type': 'application/json'}, body}).then((one) => one.status)"
        assert page.evaluate(f"(body) => {act}", '{"version": 0, "action": "move:E1"}') == 200
        page.wait_for_function("() => store.state.version === 1")
        assert "Move to E1" in page.text_content("#news")


def elsewhere(app, action):
    """An action that no page has sent and no stream has told."""
    app.session.act(app.session.version, action)


@pytest.mark.parametrize("wakes", ["silence", "shown again"])
def test_a_tab_whose_stream_has_died_catches_up(browser, worker, wakes):
    app = PlayApp(session(None, "random", game=SHORT), worker, ADVISER, 0.0)
    with serving(app) as address, page_at(browser, address) as page:
        page.wait_for_selector("#actions button")
        page.clock.install()
        held = []
        page.route(
            "**/api/events", lambda route: route.continue_() if held else held.append(route)
        )  # nothing comes at first
        page.evaluate(SHOWN_AGAIN)
        elsewhere(app, "move:E1")
        assert version(page) == 0
        if wakes == "silence":
            page.clock.fast_forward("01:00")
        else:
            page.evaluate(SHOWN_AGAIN)
        page.wait_for_function("() => store.state.version === 1")


def test_a_hidden_tab_leaves_its_connection_to_others_and_looks_now_and_then(browser, worker):
    app = PlayApp(session(None, "random", game=SHORT), worker, ADVISER, 0.0)
    with serving(app) as address, page_at(browser, address) as page:
        page.wait_for_selector("#actions button")
        page.clock.install()
        page.evaluate(
            "globalThis.hidden = true; Object.defineProperty(document, 'hidden', {get: () => globalThis.hidden})"
        )
        with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/events"), timeout=5000):
            page.evaluate(SHOWN_AGAIN)
        elsewhere(app, "move:E1")
        page.clock.fast_forward("00:06")
        page.wait_for_function("() => store.state.version === 1")
        with page.expect_request("**/api/events"):
            page.evaluate("globalThis.hidden = false")
            page.evaluate(SHOWN_AGAIN)


def test_the_page_connects_again_when_the_server_is_back(browser, worker, monkeypatch):
    monkeypatch.setattr(server, "new_token", lambda: "token")
    app = PlayApp(session(None, "random", game=SHORT), worker, ADVISER, 0.0)
    page = browser.new_page()
    with serving(app) as address:
        page.goto(address)
        page.wait_for_selector("#actions button")
    page.wait_for_function("() => document.querySelector('#error').textContent.includes('does not answer')")
    elsewhere(app, "move:E1")
    app.events = Events(lambda: app.session.version)
    with serving(app, port=int(address.split(":")[2].split("/")[0])):
        page.wait_for_function("() => store.state.version === 1 && document.querySelector('#error').hidden")
        page.close()


def test_an_answer_that_tells_nothing_new_leaves_the_page_alone(browser, table):
    """A click is lost when its button is replaced between the press and the release."""
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")
        first = page.evaluate("store.state")
        with change(page):
            page.click("[data-target=E1]")
        second = page.evaluate("fetch('api/state').then((answer) => answer.json())")
        assert second["version"] == version(page)
        page.evaluate("kept = document.querySelector('#actions button')")
        answers = [second, first]
        page.route("**/api/state*", lambda route: route.fulfill(json=answers.pop() if answers else second))
        for _ in range(2):
            page.evaluate("import('./store.js').then((module) => module.look())")
            assert page.evaluate("kept.isConnected && store.state.version") == second["version"]


def test_buttons_stay_after_the_pause_that_follows_an_agents_action(browser, worker):
    app = PlayApp(session(None, "greedy", "greedy", game=ONE_SET, seed=6), worker, ADVISER, 0.3)
    with serving(app) as address, page_at(browser, address) as page:
        page.click("[data-key=consolidate]")
        page.wait_for_selector("[data-key=end_turn]")
        with change(page):
            page.click("[data-key=end_turn]")
        page.evaluate("kept = document.querySelector('#actions button')")
        page.wait_for_timeout(3000)  # two looks and more
        assert page.evaluate("kept.isConnected")


def test_a_game_without_humans_is_watched_with_values_and_stopped(browser, worker):
    """After a stop it goes on as it would have without."""
    app = PlayApp(session("random", "greedy", game=Game(Rules.official(2)), seed=6), worker, ADVISER, 0.01)
    with serving(app) as address, page_at(browser, address) as page:
        page.click("[data-key=stop]")
        page.wait_for_function("() => store.state.stopped")
        page.wait_for_timeout(500)  # what was being decided is played
        stopped = app.session.version
        page.wait_for_timeout(300)
        assert app.session.version == stopped
        page.click("[data-key=stop]")
        page.wait_for_function("() => store.state.over || store.state.seats[0]['to win']")
        shares = page.evaluate("store.state.seats.map((seat) => parseInt(seat['to win']))")
        assert 99 <= sum(shares) <= 101
        assert "to win" in page.text_content("#seats")
        page.wait_for_function("() => store.state.over")
        assert page.locator("[data-key=stop]").count() == 0
    untouched = session("random", "greedy", game=Game(Rules.official(2)), seed=6)
    untouched.think()
    assert app.session.record() == untouched.record()


def test_what_a_look_finds_while_a_change_is_under_way_waits_for_its_answer(browser, table):
    """Until then a click does nothing, so no buttons may appear that seem to work."""
    with page_at(browser, table) as page:
        page.wait_for_selector("#actions button")
        before = version(page)
        held = []
        page.route("**/api/act", lambda route: held.append(route))
        page.click("[data-target=E1]")
        page.wait_for_function("() => store.busy")
        newer = page.evaluate("store.state") | {"version": before + 1}
        page.route("**/api/state*", lambda route: route.fulfill(json=newer))
        page.evaluate("import('./store.js').then((module) => module.look())")
        assert version(page) == before
        page.unroute("**/api/state*")
        held[0].continue_()
        settled(page, before)


def test_the_screen_is_handed_over_in_screened_mode(browser, worker):
    app = PlayApp(session(None, None, screened=True), worker, ADVISER, 0.0)
    with serving(app) as address, page_at(browser, address) as page:
        page.wait_for_selector("[data-key=ready]")
        assert page.locator("#actions button").count() == 0
        assert page.text_content("#seats").count("hidden") == 6
        page.click("[data-key=ready]")
        page.click("[data-key=consolidate]")
        assert page.text_content("#seats").count("hidden") == 3
        page.click("[data-key=end_turn]")
        page.wait_for_selector("[data-key=ready]")
        assert page.text_content("#seats").count("hidden") == 6


def watch_by_keys_and_clicks(page, record):
    """Go through a game in the viewer in every way that it offers."""
    last = len(record.events) - 1
    page.wait_for_selector("[data-key=slider]")
    page.click("[data-key=later]")
    assert page.evaluate("store.state.event") == 1
    page.focus("#headline")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("store.state.event") == 2
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("store.state.event") == 1
    page.focus("[data-key=slider]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("store.state.event") == 2
    page.click("[data-key='event 5']")
    assert page.text_content("#count") == f"5 of {last}"
    assert page.evaluate("document.querySelector('#log').start") == 0, "the list has the numbers of the slider"
    assert page.text_content("#headline") == page.text_content("#log [aria-current]")
    page.click("[data-key=play]")
    page.wait_for_function("() => store.state.event >= 6")
    page.click("[data-key=play]")
    stopped = page.evaluate("store.state.event")
    page.wait_for_timeout(800)
    assert page.evaluate("store.state.event") == stopped
    assert page.is_hidden("#account")
    page.focus("[data-key=slider]")
    page.keyboard.press("End")
    assert page.evaluate("store.state.event") == last
    assert "Game over" in page.text_content("#headline")
    finals = page.locator("#account tr:last-child td").all_inner_texts()
    assert [int(final) for final in finals] == record.result["final"]


def test_a_record_is_watched_and_saved_as_a_file_that_shows_the_same(browser, worker, tmp_path):
    records = [
        play(session(None, "greedy", game=SHORT, seed=seed), np.random.default_rng(seed)).record() for seed in (1, 2)
    ]
    with serving(WatchApp(records, worker)) as address, page_at(browser, address) as page:
        watch_by_keys_and_clicks(page, records[0])
        page.select_option("[data-key=game]", "1")
        page.wait_for_function("() => store.film.game === 1 && store.state.event === 0")
        assert page.get_attribute("[data-key=slider]", "max") == str(len(records[1].events) - 1)
        with page.expect_download() as started:
            page.click("[data-key=file]")
        started.value.save_as(tmp_path / "game.html")
    with page_at(browser, (tmp_path / "game.html").as_uri()) as page:
        watch_by_keys_and_clicks(page, records[1])
        assert page.locator("[data-key=file]").count() == 0


def test_the_viewer_draws_the_curve_and_lists_the_turns_that_cost_most(browser, tmp_path):
    """Turns are listed by their cost; a click leads to the turn; a click on the curve leads there."""
    record = play(session(None, "greedy", game=SHORT, seed=1), np.random.default_rng(1)).record()
    made = film.film(record)
    starts = [n + 1 for n, (a, b) in enumerate(itertools.pairwise(made["log"])) if b["seat"] not in (None, a["seat"])]
    costs = [0.02, 0.31, 0.005, 0.11]
    made["turns"] = [
        {
            "first": first,
            "seat": made["log"][first]["seat"],
            "shares": [0.4, 0.6],
            "cost": cost,
            "better": ["Move to E1"],
        }
        for first, cost in zip(starts, costs, strict=False)
    ]
    path = tmp_path / "game.html"
    path.write_text(film.page(made | {"valued_by": "zero"}), encoding="utf-8")
    with page_at(browser, path.as_uri()) as page:
        turns = page.locator("#viewer ol button")
        words = turns.all_inner_texts()
        assert [re.search(r"this turn cost (\d+) points", turn)[1] for turn in words] == ["31", "11", "2"]
        assert "Better: Move to E1" in words[0]
        turns.first.click()
        assert page.evaluate("store.state.event") == starts[1]
        assert page.locator("#curve path").count() == 4, "a line and its edge for each seat"
        box = page.locator("#curve svg").bounding_box()
        page.mouse.click(box["x"] + box["width"] - 9, box["y"] + 50)
        assert page.evaluate("store.state.event") == len(record.events) - 1
        shares = [round(100 * share) for share in record.result["win_share"]]
        assert [
            int(re.search(r"(\d+) %", line)[1]) for line in page.locator("#viewer .key li").all_inner_texts()
        ] == shares
        page.select_option("[data-key=whose]", "1")
        seats = {turn["first"]: turn["seat"] for turn in made["turns"]}
        shown = [int(key.split()[1]) for key in turns.evaluate_all("(all) => all.map((one) => one.dataset.key)")]
        assert {seats[first] for first in shown} == {1}


def test_nothing_in_a_record_is_executed_by_the_viewer(browser, tmp_path):
    hostile = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
    record = play(session(None, "greedy", game=SHORT, seed=1), np.random.default_rng(1)).record()
    record = dataclasses.replace(record, agents=(hostile, f'"><svg onload=alert(3)>{hostile}'))
    path = tmp_path / "game.html"
    path.write_text(film.page(film.film(record)), encoding="utf-8")
    with page_at(browser, path.as_uri()) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page.wait_for_selector("[data-key=slider]")
        assert hostile in page.text_content("#seats")
        page.focus("#headline")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert page.locator("#board img, #panel img, script[src]").count() == 0


def test_ones_own_game_is_looked_at_again_in_the_viewer(browser, worker):
    app = PlayApp(session(None, "greedy", game=SHORT, seed=1), worker, ADVISER, 0.0)
    play(app.session, np.random.default_rng(1))
    with serving(app) as address, page_at(browser, address) as page:
        page.wait_for_selector("[data-key=watch]")
        asked = "(document.querySelector('[data-key=watch]').click(), document.querySelector('#headline').textContent)"
        assert page.evaluate(asked) == "The turns are being valued …"
        page.wait_for_selector("[data-key=slider]")
        assert "You: " in page.text_content("#log")
        page.click("[data-key=back]")
        assert page.locator("[data-key=slider]").count() == 0
        page.click("[data-key=watch]")
        page.focus("[data-key=slider]")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        with change(page):
            page.click("[data-key=on]")
        assert page.evaluate("store.film") is None
        assert not over(page)
