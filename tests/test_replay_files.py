"""Replays: the positions of a record in order, the GIF, the page, and the options of `bombay replay` that write them."""

import html.parser
import io
import json
import re

import numpy as np
import pytest
import typer
from PIL import Image

from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.random import RandomAgent
from bombay_agents.shipped import make_zero
from bombay_env import Board, Game, Rules, bombay_v0
from bombay_env.record import Record, write_records
from bombay_env.render import raster, replay, replay_page, svg
from bombay_env.render.drawing import Drawing
from bombay_env.render.picture import HEIGHT, WIDTH
from bombay_training.cli.games.replay import replay as replay_command
from bombay_training.cli.games.replay import win_shares

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
            counts = dict(reversed(part.split()) for part in moment.words.removeprefix("restock: ").split(", "))
            colours = ("yellow", "purple", "blue", "orange")
            assert event == "restock:" + ",".join(counts.get(colour, "0") for colour in colours)
        else:
            assert f"{moment.last.seat} {moment.last.action}" == event
            assert moment.words == f"seat {moment.last.seat}: {moment.last.words}"
            at = record.game.board.sites[int(before["position"][0, moment.last.seat])].name
            assert moment.last.origin == at
        before = states


# --- the GIF ---


def test_the_gif_shows_every_position_for_half_a_second(record):
    seen = []
    image = Image.open(io.BytesIO(replay.gif(record, seen.append)))
    assert sum(seen) == len(record.events)
    assert image.size == (800, 741)
    assert image.info.get("loop") == 0
    shown, at, durations = list(replay.moments(record)), 0, []
    for number in range(image.n_frames):
        image.seek(number)
        durations.append(image.info["duration"])
        moment = shown[at // replay.FRAME_MS]
        frame = Image.fromarray(raster.draw(record.game, moment.states, last=moment.last))
        expected = np.asarray(frame.resize(image.size, Image.Resampling.LANCZOS)).astype(int)
        difference = np.abs(np.asarray(image.convert("RGB")) - expected)
        assert difference.mean() < 1.5
        assert (difference > 60).mean() < 1e-3
        at += durations[-1]
    assert sum(durations) == replay.FRAME_MS * (len(shown) - 1) + replay.LAST_FRAME_MS


# --- the page ---


def test_the_page_holds_every_position(record):
    shares = [[0.25, 0.75]] * len(record.events)
    text = replay_page.page(record, shares, "zero")
    data = Page(text).data
    assert data["agents"] == ["a", "b"]
    assert data["valued_by"] == "zero"
    assert data["shares"] == shares
    for number, moment in enumerate(replay.moments(record)):
        assert data["events"][number] == moment.words
        drawing = svg.picture(record.game, moment.states, last=moment.last)
        shown = [data["parts"][part] for part in data["frames"][number]]
        expected = [[part.content, part.x, part.y] for part in drawing.parts if part.content]
        assert [[data["sprites"][sprite], x, y] for sprite, x, y in shown] == expected
        assert drawing.background in data["background"]
    assert f'viewBox="0 0 {WIDTH} {HEIGHT}"' in data["background"]


def test_the_page_needs_nothing_from_elsewhere(record):
    text = replay_page.page(record)
    page = Page(text)
    policy = next(attributes["content"] for tag, attributes in page.elements if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")
    assert "connect-src" not in policy
    for tag, attributes in page.elements:
        assert "src" not in attributes
        assert tag != "link" or attributes["href"] == "data:,"
    assert set(re.findall(r"https?://[^\"'\s\\]+", text)) == {"http://www.w3.org/2000/svg"}
    assert len(text) < 400_000


def test_names_in_a_record_are_text_on_the_page():
    data = Board.load().to_dict()
    for site in data["sites"]:
        site["name"] = f"{site['name']}</script><b>"
    data["trails"] = [[f"{a}</script><b>", f"{b}</script><b>"] for a, b in data["trails"]]
    record = short_record(board=Board.from_dict(data), agents=(HOSTILE, "b"))
    text = replay_page.page(record, valued_by=HOSTILE)
    page = Page(text)
    assert page.data["agents"] == [HOSTILE, "b"]
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert "b" not in [tag for tag, _ in page.elements]
    assert text.count("</script>") == 2
    assert "<!--" not in text
    assert "\u2028" not in text
    for content in (page.data["background"], *page.data["sprites"]):
        assert "<b>" not in content
        assert "<script" not in content


def test_shares_must_fit_the_positions(record):
    with pytest.raises(ValueError, match=f"shares for 3 positions; the record has {len(record.events)}"):
        replay_page.page(record, [[0.5, 0.5]] * 3)


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


def test_win_shares_of_a_record_end_with_the_result():
    env = bombay_v0.raw_env(num_players=2)
    env.reset(seed=3)
    for _ in range(6):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    running = Record.from_dict(env.record())
    assert len(win_shares(running, make_zero())) == len(running.events)
    with pytest.raises(ValueError, match=r"--values is random, which values no positions; take zero"):
        win_shares(running, RandomAgent())
    with pytest.raises(ValueError, match="was not trained"):
        win_shares(short_record(), make_zero())
    ended = short_record()
    shares = win_shares(ended, ValueNetAgent(make_zero().net, force=True))
    assert shares[-1] == ended.result["win_share"]


# --- the command ---


def test_replay_writes_a_gif_and_a_page(tmp_path, record, capsys):
    path, gif, page = (tmp_path / name for name in ("games.jsonl", "game.gif", "game.html"))
    write_records(path, [short_record(2), record])
    replay_command(path, drawn=2, gif=gif, html=page)
    assert f"game 2 is drawn in {gif}" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8") == replay_page.page(record)
    assert gif.read_bytes() == replay.gif(record)
    with pytest.raises(typer.BadParameter, match="exists already; name another with --html"):
        replay_command(path, html=page)


def test_replay_refuses_what_it_cannot_draw(tmp_path, record):
    path, page = tmp_path / "games.jsonl", tmp_path / "game.html"
    write_records(path, [record])
    for options, words in (
        ({"drawn": 2, "html": page}, "there is no record 2 to draw"),
        ({"values": "zero"}, "--values needs --html"),
        ({"html": page, "values": "random"}, "random, which values no positions"),
        ({"html": page, "values": "zero"}, "was not trained"),
        ({"html": tmp_path / "nowhere" / "game.html"}, "there is no folder"),
    ):
        with pytest.raises(typer.BadParameter, match=re.escape(words)):
            replay_command(path, **options)
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
