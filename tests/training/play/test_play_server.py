"""The server of play: who may talk to it, what it answers to what it cannot use, and that the game stays unharmed."""

import asyncio
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest
from test_play_session import SHORT, play, play_turn, session
from typer.exceptions import TyperException
from typer.testing import CliRunner

from bombay_agents import make
from bombay_agents.search.agent import ValuedTurn
from bombay_env import Board, Game, Rules
from bombay_env.random_board import random_board
from bombay_env.record import Record, write_records
from bombay_training.cli import playing
from bombay_training.cli.main import app as cli
from bombay_training.play import terminal
from bombay_training.play.draft import Draft
from bombay_training.play.hints import ADVISER_OF_ANY_GAME, DEFAULT_ADVISER, Adviser, Hint, hints, make_adviser
from bombay_training.play.session import END_TURN, Session
from bombay_training.play.web import events, guard, page_files, play_app, server
from bombay_training.play.web.film import film, page
from bombay_training.play.web.play_app import PlayApp
from bombay_training.play.web.watch_app import WatchApp
from bombay_training.play.web.worker import Worker
from helpers.asgi import HOST, TOKEN, Client
from helpers.browser import serving
from helpers.failing_agents import First, Interrupts, Wrong, raising

COMMAND = (sys.executable, "-m", "bombay_training.cli")


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    assert worker.stop()


@pytest.fixture
def app(worker):
    return PlayApp(session(None, "random", game=SHORT), worker, "champion", 0.0)


@pytest.fixture
def client(app):
    with Client(app.application) as client:
        yield client


def position(client):
    status, found = client.get("api/state")
    assert status == 200
    return found


def act(client, action):
    return client.post("api/act", {"version": position(client)["version"], "action": action})


def end_turn(client, app):
    """Consolidate, end the turn and wait for the agents."""
    assert act(client, "consolidate")[0] == 200
    assert act(client, END_TURN)[0] == 200
    client.settle(lambda: app.session.human_to_move or app.session.over or app.session.fault)


# --- a game through the server ---


def test_a_game_is_played_and_its_record_downloaded(client, app):
    while not app.session.over:
        end_turn(client, app)
    found = position(client)
    assert found["over"]
    assert found["legal"] == []
    assert any(row["wins"] for row in found["account"]["rows"])
    status, headers, text = client.request("GET", f"/{TOKEN}/api/record")
    assert status == 200
    assert "attachment" in headers["content-disposition"]
    record = Record.from_dict(json.loads(text))
    record.verify()
    assert record.agents == ("human", "random")
    version = found["version"]
    for other in (version - 1, False, float(version), str(version)):
        assert client.post("api/new", {"version": other, **found["lobby"]["settings"]})[0] == 409
    status, new = client.post("api/new", {"version": version, **found["lobby"]["settings"]})
    assert status == 200
    assert app.session.game == SHORT, "the settings stay"
    assert new["version"] > version, "what an older page sends is refused in the new game, too"
    assert not new["over"]


def test_open_pages_are_told_each_version_and_do_not_hold_up_the_end(app, caplog):
    with serving(app) as address:
        stream = urllib.request.urlopen(f"{address}api/events", timeout=60)
        told = (line for line in stream if line.startswith(b"data"))
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert next(told) == b"data: 0\n"
        origin = address.rpartition(f"/{address.split('/')[-2]}/")[0]
        body = json.dumps({"version": 0, "action": "move:E1"}).encode()
        headers = {"content-type": "application/json", "origin": origin}
        urllib.request.urlopen(urllib.request.Request(f"{address}api/act", body, headers), timeout=60).close()
        assert next(told) == b"data: 1\n"
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{origin}/another-token/api/events", timeout=60)
    assert list(told) == [], "the stream has ended"
    stream.close()
    assert caplog.records == [], "the server has cancelled nothing"


def test_a_lost_connection_is_noticed(app, monkeypatch):
    """The version is repeated, although nothing has changed."""
    monkeypatch.setattr(events, "REPEAT_SECONDS", 0.01)

    async def begin():
        stream = app.events._stream()
        return [await anext(stream) for _ in range(3)]

    assert asyncio.run(begin())[1:] == ["data: 0\n\n"] * 2


def test_a_game_without_humans_goes_on_where_the_net_values_nothing(worker, monkeypatch):
    errors = itertools.cycle([ValueError, OverflowError])

    def fail(*arguments):
        raise next(errors)

    monkeypatch.setattr(play_app, "shares_now", fail)
    app = PlayApp(session("random", "greedy", game=SHORT), worker, "champion", 0.0)
    with serving(app) as address:
        for line in urllib.request.urlopen(f"{address}api/events", timeout=60):
            if line.startswith(b"data") and app.session.over:
                break
    assert app.session.over


def test_only_a_game_without_humans_is_stopped(client):
    status, answer = client.post("api/stop", {"version": position(client)["version"]})
    assert (status, answer["error"]) == (409, "only a game without humans can be stopped")


def test_a_reload_shows_the_same_game(client):
    act(client, "move:E1")
    first = position(client)
    assert position(client) == first
    for name, kind in (("", "text/html"), ("page.css", "text/css"), ("main.js", "text/javascript")):
        status, headers, text = client.request("GET", f"/{TOKEN}/{name}")
        assert status == 200
        assert headers["content-type"].startswith(kind)
        assert len(text) > 500


def test_the_modules_of_the_page_join_to_one_script():
    """Each stands after those that it imports, and no name is declared twice, since all share one scope."""
    script, modules = page_files.joined(), [name for name in page_files.texts() if name.endswith(".js")]
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    declared = re.findall(r"^(?:async function|function|const|let) (\w+)", script, re.MULTILINE)
    assert len(declared) == len(set(declared))
    titles = {name: page_files.texts()[name].partition("\n")[0] for name in modules}
    for name in modules:
        assert script.count(titles[name]) == 1, name
        for imported in re.findall(r'from "\./(.*)"', page_files.texts()[name]):
            assert script.index(titles[imported]) < script.index(titles[name])


def test_a_second_tab_cannot_act_on_an_old_position(client, app):
    old = position(client)["version"]
    assert act(client, "move:E1")[0] == 200
    now = position(client)
    settings = now["lobby"]["settings"]
    for name, data in (("act", {"action": "move:G3"}), ("undo", {}), ("hint", {}), ("ready", {}), ("new", settings)):
        status, found = client.post(f"api/{name}", {"version": old, **data})
        assert status == 409
        assert "another tab" in found["error"]
    assert client.post("api/retry", {"version": old})[0] == 409
    assert position(client) == now


@pytest.mark.parametrize("screened", [False, True])
def test_a_game_that_is_over_is_played_on_from_the_turn_of_an_event(worker, screened):
    """With the same seats and the same deal; what came before is part of its record."""
    app = PlayApp(session(None, "greedy", game=SHORT, screened=screened), worker, "champion", 0.0)
    with Client(app.application) as client:
        assert client.post("api/continue", {"version": 0, "event": 3})[0] == 409, "the game is not over"
        play(app.session, np.random.default_rng(4))
        record, version = app.session.record(), app.session.version
        for event, status in ((len(record.events) - 1, 409), (len(record.events), 400), (-1, 400), ("1", 400)):
            assert client.post("api/continue", {"version": version, "event": event})[0] == status
        assert client.post("api/continue", {"version": version - 1, "event": 3})[0] == 409
        seats = [None if event.startswith("restock") else int(event[0]) for event in record.events]
        event = next(n for n in range(1, len(seats) - 1) if seats[n - 1] == 1 and seats[n] == seats[n + 1] == 0)
        (_, states) = list(record.replay())[event - 1]
        status, found = client.post("api/continue", {"version": version, "event": event})
        assert status == 200
        assert found["version"] == version + 1
        assert app.session.states.tobytes() == states.tobytes()
        play(app.session, np.random.default_rng(5))
        again = app.session.record()
        again.verify()
        assert again.events[:event] == record.events[:event]
        assert again.events != record.events
        assert again.agents == record.agents


# --- the lobby ---


def begin(client, app, **settings):
    client.settle(lambda: app.session.human_to_move or app.session.over)
    found = position(client)
    return client.post("api/new", {"version": found["version"], **found["lobby"]["settings"], **settings})


def test_a_new_game_is_begun_with_other_settings(client, app):
    status, found = begin(client, app, seats=["greedy", "human", "random"], board="random", board_seed="7", seed="12")
    assert status == 200
    game, (seed,) = app.session.game, app.session.states["seed"]
    assert (game.board, game.rules) == (Board.from_dict(random_board(7)), Rules.official(3))
    assert seed == Game(game.rules, game.board).new_states([12])["seed"][0]
    assert app.session.names == ["greedy", "human", "random"]
    assert found["lobby"]["words"] == "3 players: greedy, human, random; board random-7"
    assert not found["screened"]
    assert begin(client, app, screened=True)[1]["lobby"]["words"].endswith("board random-7; screened"), (
        "the others stay"
    )
    found = begin(client, app, board="packaged", screened=False)[1]
    assert found["lobby"]["words"] == "3 players: greedy, human, random"
    drawn = begin(client, app, board="random", board_seed="")[1]["lobby"]["settings"]["board_seed"]
    assert app.session.game.board.name == f"random-{drawn}", "a board that was drawn can be told and is kept"


@pytest.mark.parametrize(
    ("settings", "status", "message"),
    [
        (
            {"board": "random", "board_seed": "7", "seats": ["human", "champion", "random"]},
            409,
            "was not trained on the board random-7",
        ),
        ({"seats": ["human", "exec:./player"]}, 409, "'exec:./player' cannot take a seat; allowed are human, random,"),
        ({"seats": ["human", "zero:rounds=0"]}, 409, "cannot take a seat"),
        ({"seats": ["human"]}, 409, "a game has 2 to 5 seats"),
        ({"seats": ["random", "random"], "screened": True}, 409, "all seats are agents"),
        ({"seed": "-1"}, 409, "a seed is a whole number from 0 to"),
        ({"seed": str(2**64)}, 409, "18446744073709551615"),
        ({"board": "random", "board_seed": "٣"}, 409, "a seed is a whole number"),
        ({"board": "/etc/passwd"}, 400, "the body.board is '/etc/passwd'; it must be 'own', 'packaged' or 'random'"),
        ({"screened": "yes"}, 400, "the body.screened"),
        ({"seats": [None, "random"]}, 400, "the body.seats[0] is None"),
        ({"rules": {}}, 400, "exactly the keys"),
    ],
)
def test_settings_that_cannot_be_played_are_refused_and_the_game_goes_on(client, app, settings, status, message):
    act(client, "move:E1")
    session, before = app.session, position(client)
    found_status, found = begin(client, app, **settings)
    assert found_status == status
    assert message in found["error"]
    assert "\n" not in found["error"]
    assert app.session is session
    assert position(client) == before


def test_agents_rules_and_board_of_the_command_can_be_chosen_again(worker):
    """They may name files and programs, which the page cannot."""
    game, own = Game(Rules(2, sets=1), Board.from_dict(random_board(3))), First()
    app = PlayApp(Session(game, [None, own], 1), worker, "champion", 0.0)
    with Client(app.application) as client:
        lobby = position(client)["lobby"]
        assert lobby["boards"]["own"] == "random-3"
        assert lobby["choices"]["first"] == "first"
        assert lobby["settings"] | {"board": "own", "seats": ["human", "first"]} == lobby["settings"]
        assert begin(client, app, board="packaged", seats=["first", "greedy"])[0] == 200
        assert app.session.agents[0] is own
        assert begin(client, app, board="own", seats=["human", "first"])[0] == 200
        assert app.session.game == game


def test_hints_come_from_the_adviser(worker):
    asked = []

    class Fake:
        name = "fake"

        def best_turns(self, game, state, rng, most=3):
            asked.append(int(state["seed"][0]))
            return make("champion:nodes=1").best_turns(game, state, rng, most)

    app = PlayApp(session(None, "random", "random"), worker, "champion", 0.0)
    app._advisers[app.adviser] = Fake()
    with Client(app.application) as client:
        status, found = client.post("api/hint", {"version": 0})
        assert status == 200
        assert asked == [0], "an adviser does not learn the seed"
        assert found["by"] == "champion"
        assert set(found["turns"][0]) == set(Hint._fields)
        assert position(client)["version"] == 0
        app.adviser = "greedy"
        status, found = client.post("api/hint", {"version": 0})
        assert status == 409
        assert "gives no hints; choose champion, zero-search or search" in found["error"]


def test_a_position_gets_the_same_advice_again(worker):
    """After a turn was taken back, and from an adviser that has given other advice before."""
    assert make_adviser(DEFAULT_ADVISER).ms is None
    app = PlayApp(session(None, "random", "random"), worker, "champion:nodes=60", 0.0)
    with Client(app.application) as client:
        first, *_, last = [client.post("api/hint", {"version": 0})[1]["turns"] for _ in range(10)]
        assert last == first
        act(client, "move:E1")
        assert client.post("api/hint", {"version": 1})[1]["turns"] != first
        client.post("api/undo", {"version": 1})
        assert client.post("api/hint", {"version": 2})[1]["turns"] == first


def test_a_hint_tells_turns_that_can_be_played():
    table = session(None, "greedy", "greedy")
    adviser = make_adviser("champion:nodes=30")
    assert isinstance(adviser, Adviser)
    for _ in range(4):
        found = hints(adviser, table.game, table.states)
        assert 1 <= len(found) <= 3
        shares = [hint.win_share for hint in found]
        assert shares == sorted(shares, reverse=True), "in the order of the number that is shown"
        for place, hint in enumerate(found):
            assert 0 <= hint.win_share <= 1
            assert "expected at the end: " in hint.why
            assert "−0.0" not in hint.why
            less = re.search(r"wins (.*) points less often than the best turn", hint.why)
            assert bool(less) == (place > 0)
            assert not less or float(less[1]) >= 0
        play_turn(table, *found[0].actions)
        if table.turn_done:
            play_turn(table, END_TURN)
        table.think()


def test_hints_are_ordered_by_the_share_of_the_seat_to_move():
    mover, table = 1, session(None, "greedy", "greedy")
    table.states["current_player"] = mover
    shares = np.array([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.2, 0.1, 0.7]])
    action = int(table.game.legal_actions(table.states)[0].argmax())

    class Tells:
        name = "tells"

        def best_turns(self, game, state, rng, most):
            return [ValuedTurn((action,), state, share, 10 * share, 5, ()) for share in shares]

    found = hints(Tells(), table.game, table.states)
    assert [hint.win_share for hint in found] == sorted(shares[:, mover], reverse=True)
    assert [hint.margin for hint in found] == [10 * hint.win_share for hint in found]


def test_a_hint_tells_what_the_search_expects_the_next_seats_to_do():
    """The turns that other seats answer with, in words; at the end of a set there are none, as the next restock is not known."""
    table = session(None, "random", "random")
    adviser = make_adviser("champion:nodes=30")
    best = hints(adviser, table.game, table.states, table.called)[0]
    assert [line.partition(": ")[0] for line in best.line[:3]] == ["random 1", "random 2", "you"]
    assert re.fullmatch(r"random 1: Move to \w+, .*", best.line[0])
    table.states["turn"], table.states["current_player"] = table.game.rules.turns_per_set - 1, 2
    assert all(not hint.line for hint in hints(adviser, table.game, table.states))


def test_a_failing_agent_is_shown_and_can_be_replaced(worker, capsys):
    agent = Wrong(raising)
    agent.calls = 2
    app = PlayApp(Session(SHORT, [None, agent], 1), worker, "champion", 0.0)
    with Client(app.application) as client:
        end_turn(client, app)
        found = position(client)
        assert found["fault"]["seat"] == 1
        assert "KeyError" in found["fault"]["reason"]
        version = found["version"]
        assert found["substitutes"][:2] == ["human", "random"]
        for spec in ("nobody", "exec:command=touch x", "net:path=x", "os:abort"):
            status, refused = client.post("api/replace", {"version": version, "agent": spec})
            assert status == 409
            assert f"'{spec}' cannot take the seat; allowed are human, random, " in refused["error"]
        assert client.post("api/replace", {"version": version, "agent": 3})[0] == 400
        assert position(client)["fault"] is not None
        assert client.post("api/replace", {"version": version, "agent": "random"})[0] == 200
        client.settle(lambda: app.session.human_to_move)
        assert position(client)["seats"][1]["name"] == "wrong, then random"
        assert begin(client, app)[0] == 200
        assert app.session.names == ["human", "random"], "the seat stays with its new agent"
    assert "KeyError" in capsys.readouterr().err


def test_an_agent_that_interrupts_does_not_end_the_server(worker):
    app = PlayApp(Session(SHORT, [None, Interrupts()], 1), worker, "champion", 0.0)
    with Client(app.application) as client:
        end_turn(client, app)
        assert position(client)["fault"]["seat"] == 1


# --- who may talk to it ---


def unharmed(client, send):
    """The status and the error of a request that must change nothing."""
    before = position(client)
    status, headers, text = send()
    assert headers["content-type"] == "application/json"
    assert headers["content-security-policy"].startswith("default-src 'none'")
    error = json.loads(text)["error"]
    assert 0 < len(error) <= 500
    assert "\n" not in error
    assert position(client) == before
    return status, error


def body(version=0, action="move:E1", **more):
    return json.dumps({"version": version, "action": action, **more}).encode()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/api/state"),
        ("POST", "/api/act"),
        ("GET", f"/{TOKEN}"),
        ("POST", f"/{TOKEN}x/api/act"),
        ("POST", f"//{TOKEN}/api/act"),
        ("POST", "/é/api/act"),
        ("OPTIONS", "*"),
    ],
)
def test_nothing_is_served_without_the_token(client, method, path):
    status, error = unharmed(client, lambda: client.request(method, path, body()))
    assert status == 403
    assert "lacks the token" in error


EVIL = {"host": "evil.example:4711", "origin": "http://evil.example:4711"}  # a name that was made to point here


@pytest.mark.parametrize(
    ("method", "path", "sent", "headers", "status"),
    [
        *(
            ("POST", "api/act", body(), headers, status)
            for headers, status in [
                ({"origin": "http://evil.example"}, 403),
                ({"origin": "null"}, 403),
                ({"origin": None}, 403),
                ({"origin": "http://127.0.0.1:4712"}, 403),
                ({"origin": f"https://{HOST}"}, 403),
                ({"host": "evil.example"}, 403),
                (EVIL, 403),
                ({"host": None}, 403),
                ({"content-type": "text/plain"}, 415),
                ({"content-type": None}, 415),
            ]
        ),
        ("GET", "api/state", b"", EVIL, 403),
        *(
            ("POST", "api/act", sent, {}, status)
            for sent, status in [
                (b"", 400),
                (b"{", 400),
                (b"[]", 400),
                (b"\xff", 400),
                (b'{"version": 0}', 400),
                (body(more=1), 400),
                (body(action=3), 400),
                (b'{"version": 0, "action": ' + b"[" * 2000 + b"]" * 2000 + b"}", 400),
                (body(action="x" * guard.MAX_BODY), 413),
                (body(action="move:Nagpur"), 409),
                (body(action="move:\x00"), 409),
                (body(action="move:" + "x" * 900), 409),
                (body(version=1), 409),
                (body(version="0"), 409),
                (body(version=2**70), 409),
            ]
        ),
        ("GET", "nothing", b"{}", {}, 404),
        ("GET", "api/act", b"{}", {}, 405),
        ("PUT", "api/act", b"{}", {}, 405),
        ("GET", "../api/state", b"{}", {}, 404),
        ("GET", "api/state/", b"{}", {}, 404),
        ("GET", "page/../../session.py", b"{}", {}, 404),
    ],
)
def test_only_the_page_itself_acts_and_only_by_what_can_be_used(client, method, path, sent, headers, status):
    assert unharmed(client, lambda: client.request(method, f"/{TOKEN}/{path}", sent, headers))[0] == status


def test_screened_games_give_no_record_and_no_hint(worker):
    app = PlayApp(session(None, "random", game=SHORT, screened=True), worker, "champion", 0.0)
    with Client(app.application) as client:
        assert unharmed(client, lambda: client.request("GET", f"/{TOKEN}/api/record"))[0] == 409
        assert unharmed(client, lambda: client.request("POST", f"/{TOKEN}/api/hint", b'{"version": 0}'))[0] == 409


# --- watching ---


def saved_page(client, path):
    """The HTML file that an address offers for download."""
    status, headers, text = client.request("GET", f"/{TOKEN}/{path}")
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="bombay-game.html"')
    return text.decode()


def test_every_game_of_a_file_can_be_watched_and_saved_as_a_page(worker):
    records = [
        play(session(None, "greedy", game=SHORT, seed=seed), np.random.default_rng(seed)).record() for seed in (1, 2)
    ]
    with Client(WatchApp(records, worker).application) as client:
        found = position(client)
        assert (found["mode"], found["game"], found["games"]) == ("watch", 0, 2)
        assert len(found["positions"]) == len(found["log"]) == len(records[0].events)
        assert found["account"]["rows"][0]["final"] == records[0].result["final"][0]
        status, second = client.get("api/state?game=1")
        assert (status, len(second["positions"])) == (200, len(records[1].events))
        assert saved_page(client, "api/page?game=1") == page(film(records[1]))
        for query in ("game=2", "game=", "game=-1", "game=x", "game=" + "9" * 50):
            status, found = client.get(f"api/state?{query}")
            assert status == 400
            assert "must be a whole number from 0 to" in found["error"]


def test_the_viewer_shows_ones_own_game_once_it_is_over(worker):
    app = PlayApp(session(None, "greedy", game=SHORT), worker, "champion:nodes=1", 0.0)
    with Client(app.application) as client:
        status, found = client.get("api/film")
        assert (status, found["error"]) == (409, "the viewer shows the game once it is over")
        play(app.session, np.random.default_rng(1))
        status, found = client.get("api/film")
        assert (status, found["you"], len(found["positions"])) == (200, 0, len(app.session.record().events))
        assert saved_page(client, "api/page") == page(film(app.session.record(), you=0))


# --- the real server ---


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_it_listens_to_this_machine_only_unless_told_so(host):
    with pytest.raises(ValueError, match=r"is not a loopback address such as 127\.0\.0\.1; add --remote"):
        server.bind(host, 0, remote=False)
    assert guard.own_hosts(host, 80) is None
    if host == "0.0.0.0":
        with server.bind(host, 0, remote=True) as listening:
            assert listening.getsockname()[0] == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost"])
def test_loopback_addresses_need_no_permission(host):
    with server.bind(host, 0, remote=False) as listening:
        assert listening.getsockname()[0].startswith("127.0.0.")
        port = listening.getsockname()[1]
        assert f"{host}:{port}" in guard.own_hosts(host, port)
        assert host not in guard.own_hosts(host, port)
        assert host in guard.own_hosts(host, 80), "browsers leave this port out of the header"
        with pytest.raises(ValueError, match="cannot listen at"):
            server.bind(host, port, remote=False)


def test_tokens_differ():
    assert len({guard.new_token() for _ in range(100)}) == 100
    assert len(guard.new_token()) >= 32


def test_the_command_prints_its_address_and_ends_cleanly_with_ctrl_c(tmp_path):
    write_records(
        tmp_path / "game.jsonl", [play(session(None, "random", game=SHORT), np.random.default_rng(1)).record()]
    )
    command = [*COMMAND, "watch", tmp_path / "game.jsonl"]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # compiling would be told on stderr
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            address = process.stdout.readline().split()[1]
            assert address.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(f"{address}api/state", timeout=60) as answer:
                assert json.load(answer)["mode"] == "watch"
                assert "server" not in {name.lower() for name in answer.headers}
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
            assert process.stderr.read() == ""
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("play", "--host", "0.0.0.0"), "--host '0.0.0.0' is not a loopback address"),
        (("play", "human", "nobody"), "no agent is named 'nobody'"),
        (("play", "Humna"), "no agent is named 'Humna'; did you mean 'human'?"),
        (("play", "human", "gredy"), "did you mean 'greedy'?"),
        (("play", "human", "random", "random", "--players", "2"), "3 seats are given for 2 players"),
        (("play", "random", "--screened"), "all seats are agents"),
        (("play", "--hints", "greedy", "human"), "gives no hints"),
        (("watch", "missing.jsonl"), "missing.jsonl: cannot be read"),
    ],
)
def test_errors_of_the_commands_are_one_line(arguments, message):
    done = CliRunner().invoke(cli, list(arguments), standalone_mode=False)
    assert isinstance(done.exception, TyperException)
    assert message in done.exception.format_message()
    assert "\n" not in done.exception.format_message()


def test_a_board_that_an_agent_does_not_know_is_refused_before_the_game(tmp_path):
    board = Board.load()
    Draft("other", board.sites, board.trails[1:]).write(tmp_path / "other.toml")
    done = CliRunner().invoke(
        cli, ["play", "--board", str(tmp_path / "other.toml"), "human", "zero"], standalone_mode=False
    )
    assert "zero was not trained on the board other; force=true plays it" in done.exception.format_message()


def test_games_that_the_champion_does_not_know_have_hints_by_the_planner(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(playing, "prepare", lambda jobs: asked.append([job.name for job in jobs]))
    monkeypatch.setattr(terminal, "play", lambda session, adviser: asked.append(adviser))
    (tmp_path / "toll.json").write_text('{"toll": 2}')
    Draft("other", Board.load().sites, Board.load().trails[1:]).write(tmp_path / "other.toml")
    for options in ((), ("--rules", tmp_path / "toll.json"), ("--board", tmp_path / "other.toml")):
        assert CliRunner().invoke(cli, ["play", "human", "greedy", "--text", *map(str, options)]).exit_code == 0
    planner = [["play search", "play greedy"], ADVISER_OF_ANY_GAME]
    assert asked == [["play champion", "play greedy", "play zero"], DEFAULT_ADVISER, *planner, *planner]


def test_a_variant_is_played_too(worker):
    """Hints on rules that the champion was not trained on end in one line, and a search by planner-v1 gives them."""
    game = Game(Rules.from_dict({"num_players": 2, "toll": 2}))
    app = PlayApp(Session(game, [None, make("random")], 1), worker, "champion:nodes=1", 0.0)
    with Client(app.application) as client:
        status, found = client.post("api/hint", {"version": 0})
        assert status == 409
        assert "cannot give a hint here" in found["error"]
        assert PlayApp(app.session, worker, None, 0.0)._message()["adviser"] == ADVISER_OF_ANY_GAME
        app.adviser = "search:nodes=1"
        status, found = client.post("api/hint", {"version": 0})
        assert (status, found["by"]) == (200, "search:nodes=1")
        assert found["turns"]
        assert act(client, "move:E1")[0] == 200
