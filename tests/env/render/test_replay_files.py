"""Replays: the positions of a record in order, the GIF, the page, and the options of `bombay replay` that write them."""

import html.parser
import io
import json
import re

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.random import RandomAgent
from bombay_agents.shipped import make_zero
from bombay_env import Board, Game, Rules, bombay_v0
from bombay_env.record import History, Record, write_records
from bombay_env.render import raster, replay, svg
from bombay_env.render.drawing import Drawing
from bombay_training.cli.main import app
from bombay_training.play.values import valued_turns
from bombay_training.play.web import film

HOSTILE = "</script><script>alert(1)</script><!--&\u2028"


def short_record(seed=1, board=None, agents=("a", "b"), sets=2):
    """A random game of two sets of one turn each."""
    env = bombay_v0.raw_env(rules=Rules(2, sets=sets, turns_per_set=1), board=board)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    while not all(env.terminations.values()):
        env.step(int(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"]))))
    return Record.from_dict(env.record() | {"agents": list(agents)})


@pytest.fixture(scope="module")
def record():
    return short_record()


@pytest.fixture(scope="module")
def shorter():
    """Of one set, for pictures, which take long."""
    return short_record(2, sets=1)


class Page(html.parser.HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.title = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] == "script":
            self.scripts.append(data)

    @property
    def data(self):
        return json.loads(self.scripts[0])


# --- positions ---


def test_positions_come_in_order_with_the_action_that_led_to_each(record):
    shown = list(replay.moments(record))
    assert len(shown) == len(record.events)
    before = None
    for moment, event, (_, states) in zip(shown, record.events, record.replay(), strict=True):
        assert moment.states.tobytes() == states.tobytes()
        if event.startswith("restock:"):
            assert moment.last is None
        else:
            assert f"{moment.last.seat} {moment.last.action}" == event
            at = record.game.board.sites[int(before["position"][0, moment.last.seat])].name
            assert moment.last.origin == at
        before = states


# --- the GIF ---


@pytest.mark.parametrize("by_turn", [False, True])
def test_the_gif_shows_every_position_or_those_after_turns_and_names_the_players(shorter, by_turn):
    seen = []
    image = Image.open(io.BytesIO(replay.gif(shorter, seen.append, by_turn)))
    shown, at, durations = list(replay.moments(shorter)), 0, []
    each, names = (replay.TURN_MS if by_turn else replay.FRAME_MS), ("a", "b")
    if by_turn:
        movers = [moment.states[["set", "current_player"]][0].tolist() for moment in shown]
        shown = [moment for moment, now, before in zip(shown, movers, [None, *movers], strict=False) if now != before]
        assert len(shown) == 2 + 1, "the deal, and two turns"
    assert sum(seen) == len(shown)
    assert image.size == (800, 741)
    assert image.info.get("loop") == 0
    for number in range(image.n_frames):
        image.seek(number)
        durations.append(image.info["duration"])
        moment = shown[at // each]
        frame = Image.fromarray(raster.draw(shorter.game, moment.states, last=moment.last, names=names))
        expected = np.asarray(frame.resize(image.size, Image.Resampling.LANCZOS)).astype(int)
        difference = np.abs(np.asarray(image.convert("RGB")) - expected)
        assert difference.mean() < 1.5
        assert (difference > 60).mean() < 1e-3
        at += durations[-1]
    assert sum(durations) == each * (len(shown) - 1) + replay.LAST_FRAME_MS


# --- the page ---


def test_the_film_holds_every_position(record):
    shown = film.film(record)
    assert [one["words"] for one in shown["log"] if one["seat"] is None] == ["Set 1 of 2 begins.", "Set 2 of 2 begins."]
    for one, moment in zip(shown["positions"], replay.moments(record), strict=True):
        expected = svg.draw_map(record.game, moment.states, last=moment.last)
        assert "\n".join(shown["pool"][number] for number in one["svg"]) == expected.rstrip("\n")
        seats = [shown["pool"][number] for number in one["seats"]]
        assert [seat["rupees"] for seat in seats] == moment.states["rupees"][0, :2].tolist()
    assert [row["final"] for row in shown["account"]["rows"]] == record.result["final"]
    assert shown["turns"] == [], "zero does not know these rules"
    assert len(shown["pool"]) < 20 * len(record.events), "what positions share stands there once"


def test_the_page_needs_nothing_from_elsewhere(record):
    text = film.page(film.film(record))
    page = Page(text)
    policy = next(attributes["content"] for tag, attributes in page.elements if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy
    assert "unsafe-inline" not in policy
    for tag, attributes in page.elements:
        assert "src" not in attributes
        assert tag != "link" or attributes["href"] == "data:,"
    assert set(re.findall(r"https?://[^\"'\s\\`]+", text)) == {"http://www.w3.org/2000/svg"}
    assert len(text) < 400_000


def test_names_in_a_record_are_text_on_the_page():
    data = Board.load().to_dict()
    for site in data["sites"]:
        site["name"] = f"{site['name']}</script><b>"
    data["trails"] = [[f"{a}</script><b>", f"{b}</script><b>"] for a, b in data["trails"]]
    record = short_record(board=Board.from_dict(data), agents=(HOSTILE, "b"))
    text = film.page(film.film(record))
    page = Page(text)
    assert [page.data["pool"][number]["name"] for number in page.data["positions"][0]["seats"]] == [HOSTILE, "b"]
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert "b" not in [tag for tag, _ in page.elements]
    assert text.count("</script>") == 2
    assert "<!--" not in text
    assert "\u2028" not in text
    for content in (part for part in page.data["pool"] if isinstance(part, str)):
        assert "<b>" not in content
        assert "<script" not in content


# --- win chances ---


def test_win_shares_are_those_after_the_best_turn():
    """In the last turn of a game the best turn's result is exact, and the agent that looks no further plays that turn."""
    agent = make_zero(rounds=0)
    game, rng = Game(Rules.official(3)), np.random.default_rng(2)
    states = game.new_states([2])
    found = []
    while not game.is_terminal(states)[0]:
        shares = agent.win_shares(game, states)
        assert shares.shape == (1, 3)
        assert shares.sum() == pytest.approx(1, abs=1e-5)
        assert (shares >= 0).all()
        last_turn = states["set"][0] == 2 and states["turn"][0] == 4 and states["current_player"][0] == 1
        found.append((last_turn, shares[0]))
        player = agent if last_turn else RandomAgent()
        game.step(states, player.act(game, states, rng))
    exact = game.results(states)[0].win_share
    last = [shares for last_turn, shares in found if last_turn]
    assert last
    for shares in last:
        assert shares == pytest.approx(exact, abs=1e-6)
    assert np.std([shares[0] for _, shares in found]) > 0.01
    with pytest.raises(ValueError, match="games that are over"):
        agent.win_shares(game, states)


def forced_zero():
    """`zero`, also for games that its net was not trained on."""
    return ValueNetAgent(make_zero().net, force=True, rounds=0)


def test_the_best_turn_costs_nothing_and_another_costs_the_difference():
    """Of a game where a player of the net's own share sits against a random one, only the random one's turns cost anything."""
    game, agent = Game(Rules(2, sets=2, turns_per_set=2)), forced_zero()
    states = game.new_states([4])
    history, rng = History(game, states, 4), np.random.default_rng(4)
    expected = []
    while not game.is_terminal(states)[0]:
        outcomes, shares = agent.turn_shares(game, states)
        seat = int(states["current_player"][0])
        chosen = int(np.argmax(shares[:, seat])) if seat == 0 else int(rng.integers(len(outcomes)))
        expected.append((seat, shares[0].tolist(), max(shares[:, seat]) - shares[chosen, seat]))
        for action in outcomes[chosen].actions:
            history.add(action)
            game.step(states, [action])
    record = history.record(states, ("a", "b"))
    turns = valued_turns(record, agent)
    assert [(turn.seat, list(turn.shares), turn.cost) for turn in turns] == expected
    assert len(turns) == 8
    assert any(turn.cost > 0 for turn in turns)
    assert not any(turn.cost for turn in turns if turn.seat == 0)
    for turn in turns:
        assert record.events[turn.first].startswith(f"{turn.seat} ")
        assert not record.events[turn.first - 1].startswith(f"{turn.seat} ")


# --- the command ---


def replay_command(*arguments):
    """What `bombay replay` prints. Raises the error that ends it."""
    words = ["replay", *map(str, arguments)]
    return CliRunner().invoke(app, words, standalone_mode=False, catch_exceptions=False).stdout


def test_replay_writes_a_gif_and_a_page(tmp_path, record, shorter):
    path, gif, page = (tmp_path / name for name in ("games.jsonl", "game.gif", "game.html"))
    write_records(path, [record, shorter])
    assert f"game 2 is drawn in {gif}" in replay_command(path, "--game", 2, "--gif", gif, "--html", page)
    assert page.read_text(encoding="utf-8") == film.page(film.film(shorter))
    assert gif.read_bytes() == replay.gif(shorter)
    with pytest.raises(typer.BadParameter, match="exists already; name another with --html"):
        replay_command(path, "--html", page)


def test_replay_refuses_what_it_cannot_draw(tmp_path, record):
    path, page = tmp_path / "games.jsonl", tmp_path / "game.html"
    write_records(path, [record])
    for options, words in (
        (("--game", 2, "--html", page), "there is no record 2 to draw"),
        (("--values", "zero"), "--values needs --html"),
        (("--html", page, "--values", "random"), "random, which values no positions"),
        (("--html", page, "--values", "zero"), "was not trained"),
        (("--html", tmp_path / "nowhere" / "game.html"), "there is no folder"),
    ):
        with pytest.raises(typer.BadParameter, match=re.escape(words)):
            replay_command(path, *options)
        assert not page.exists()


# --- a drawing of its own ---


def test_a_drawing_shows_and_saves_itself(tmp_path):
    game = Game(Rules.official(2))
    states = game.new_states([1])
    drawing = Drawing(game, states, viewer=1)
    expected = svg.draw(game, states, viewer=1)
    game.step(states, [int(np.flatnonzero(game.legal_actions(states)[0])[0])])
    assert drawing.svg() == expected, "it has copied the state"
    assert expected in drawing._repr_html_()
    drawing.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == expected
    drawing.save(tmp_path / "a.png")
    assert (np.asarray(Image.open(tmp_path / "a.png")) == drawing.rgb_array()).all()
    with pytest.raises(ValueError, match="unknown file extension"):
        drawing.save(tmp_path / "a.board")
