"""Boards of one's own: drafts, their files, the commands, and the server behind the page that draws trails."""

import json
import os
import tomllib

import pytest
from typer.exceptions import TyperException
from typer.testing import CliRunner

from bombay_env import Board
from bombay_env.board import MAX_FILE_BYTES, BoardError, Site, SiteKind
from bombay_env.checks import MAX_MESSAGE
from bombay_training.cli.main import app as cli
from bombay_training.play import drawing
from bombay_training.play.draft import Draft
from bombay_training.play.web.board_app import BoardApp
from helpers.asgi import TOKEN, Client

EMPTY = Draft.of_board(Board.load(), "mine", trails=False)
WHOLE = Draft.of_board(Board.load(), "mine", trails=True)


@pytest.fixture
def path(tmp_path):
    EMPTY.write(tmp_path / "mine.toml")
    return tmp_path / "mine.toml"


@pytest.fixture
def client(path):
    with Client(BoardApp(path).application) as client:
        yield client


def run(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)), standalone_mode=False)


def position(client):
    return client.get("api/state")[1]


def toggle(client, one, other):
    return client.post("api/trail", {"version": position(client)["version"], "from": one, "to": other})


# --- drafts and their files ---


@pytest.mark.parametrize("draft", [EMPTY, WHOLE, Draft.of_board(Board.random(3), "other", trails=True)])
def test_a_draft_is_read_as_it_was_written(draft, tmp_path):
    draft.write(tmp_path / "a.toml")
    assert Draft.read(tmp_path / "a.toml") == draft
    assert os.listdir(tmp_path) == ["a.toml"]
    if draft.trails:
        assert Board.load(tmp_path / "a.toml") == draft.board()


def test_names_and_coordinates_of_any_form_are_written(tmp_path):
    draft = Draft(
        'a"b\\c', (Site("ñ", SiteKind.CITY, -1.5, 1e-7), Site('"', SiteKind.HILL, 3, 123456.75)), (("ñ", '"'),)
    )
    draft.write(tmp_path / "a.toml")
    assert Draft.read(tmp_path / "a.toml") == draft


def test_trails_are_added_and_removed_in_either_direction():
    drawn = EMPTY.toggled("A", "E1").toggled("B", "A")
    assert drawn.trails == (("A", "E1"), ("B", "A"))
    assert drawn.toggled("E1", "A").trails == (("B", "A"),)
    assert EMPTY.trails == ()
    for one, other in (("A", "A"), ("A", "Z9"), ("", "A")):
        with pytest.raises(BoardError, match="does not join two different sites"):
            EMPTY.toggled(one, other)


def test_a_site_is_moved():
    moved = WHOLE.moved("G3", 1.26, 7)
    site = next(site for site in moved.sites if site.name == "G3")
    assert (site.x, site.y, site.kind) == (1.3, 7.0, SiteKind.PALACE_SITE)
    assert moved.trails == WHOLE.trails
    with pytest.raises(BoardError, match="there is no site 'Z'"):
        WHOLE.moved("Z", 1, 1)


def test_a_draft_tells_what_it_lacks():
    assert "cannot be reached" in EMPTY.problem()
    assert WHOLE.problem() is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file.name is missing"),
        ('name = "a"\nsites = 3\ntrails = []', "sites is 3; it must be a valid list"),
        ('name = "a"\nsites = []\ntrails = []', "1 to 64 sites"),
        ('name = "a"\nsites = [{name="A",kind="hill",x=nan,y=0}]\ntrails=[]', "must be a finite number"),
        ('name = "a"\nsites = [{name="A",kind="lake",x=0,y=0}]\ntrails=[]', "kind is 'lake'; it must be 'start_hill'"),
        ('name = "a"\nsites = [{name="A",kind="hill",x=0,y=0}]\ntrails=[["A","B"]]', "join two different sites"),
        ('name = "a"\nsites = [{name="A B",kind="hill",x=0,y=0}]\ntrails=[]', "contains a space"),
        ("name = ", "not TOML"),
        ("#" * (MAX_FILE_BYTES + 1), "too large"),
    ],
)
def test_a_file_that_is_no_draft_is_refused_in_one_line(text, message, tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(BoardError, match=message) as error:
        Draft.read(file)
    assert str(error.value).startswith(str(file))
    assert len(str(error.value)) <= MAX_MESSAGE
    assert "\n" not in str(error.value)


def test_a_place_in_the_drawing_is_read_back():
    for draft in (WHOLE, Draft.of_board(Board.random(1), "r", trails=True)):
        frame = drawing.frame(draft)
        for site in draft.sites:
            assert frame.read(*frame.place(site)) == pytest.approx((site.x, site.y))


def test_the_drawing_tells_sites_and_trails():
    drawn = drawing.draw(WHOLE, drawing.frame(WHOLE))
    for site in WHOLE.sites:
        assert f'data-site="{site.name}" data-kind="{site.kind.label}"' in drawn
    assert drawn.count("data-trail=") == len(WHOLE.trails)


# --- commands ---


def test_a_new_board_is_checked_once_it_has_trails(tmp_path):
    file = tmp_path / "printed.toml"
    done = run("board", "new", file)
    assert done.exit_code == 0
    assert f"bombay board draw {file}" in done.stdout.replace("\n", "")
    assert tomllib.loads(file.read_text())["name"] == "printed"
    assert isinstance(run("board", "check", file).exception, TyperException)
    kept = run("board", "new", file).exception
    assert kept.format_message().endswith("exists already; name another file")
    Draft.of_board(Board.load(), "printed", trails=True).write(file)
    found = json.loads(run("board", "check", file, "--json").stdout)
    assert found["trails"] == len(Board.load().trails)
    assert sum(row["trails"] for row in found["kinds"]) == 2 * found["trails"]
    assert [len(row["sites"]) for row in found["kinds"]] == [1, 1, 4, 4, 4, 8, 2]
    assert run("board", "draw", file, "--out", tmp_path / "p.svg").exit_code == 0
    assert (tmp_path / "p.svg").read_text().startswith("<svg")


def test_a_board_with_trails_can_be_played_at_once(tmp_path):
    assert run("board", "new", tmp_path / "b.toml", "--trails").exit_code == 0
    assert Board.load(tmp_path / "b.toml").trails == Board.load().trails


@pytest.mark.parametrize("name", ["reconstruction.toml", " .toml"])
def test_a_board_needs_a_name_of_its_own(name, tmp_path):
    assert "take another file name" in run("board", "new", tmp_path / name).exception.format_message()


# --- the page's server ---


def test_trails_are_drawn_undone_and_saved(client, path):
    before = path.read_bytes()
    for one, other in WHOLE.trails:
        assert toggle(client, one, other)[0] == 200
    found = position(client)
    assert found["problem"] is None
    assert not found["saved"]
    assert path.read_bytes() == before, "nothing is written before it is saved"
    client.post("api/undo", {"version": found["version"]})
    assert len(position(client)["trails"]) == len(WHOLE.trails) - 1
    toggle(client, *WHOLE.trails[-1])
    status, found = client.post("api/save", {"version": position(client)["version"]})
    assert status == 200
    assert found["saved"]
    assert Board.load(path) == WHOLE.board()
    assert os.listdir(path.parent) == [path.name]


def test_a_site_is_moved_to_where_the_drawing_was_clicked(client):
    assert client.post("api/move", {"version": 0, "site": "G3", "x": 500, "y": 400})[0] == 200
    drawn = position(client)["svg"]
    frame = drawing.frame(EMPTY)
    moved = EMPTY.moved("G3", *frame.read(500, 400))
    assert drawn == drawing.draw(moved, frame)


VALID = {"trail": {"from": "A", "to": "E2"}, "move": {"site": "A", "x": 1, "y": 1}, "undo": {}, "save": {}}


@pytest.mark.parametrize(
    ("name", "data", "status"),
    [
        ("trail", {"from": "A", "to": "A"}, 409),
        ("trail", {"from": "A", "to": "nowhere"}, 409),
        ("trail", {"from": "A", "to": 3}, 400),
        ("trail", {"from": "A"}, 400),
        ("move", {"site": "nowhere", "x": 1, "y": 1}, 409),
        ("move", {"site": "A", "x": "1", "y": 1}, 400),
        ("move", {"site": "A", "x": True, "y": 1}, 400),
        ("undo", {}, 409),
        ("save", {"path": "/tmp/other.toml"}, 400),
        *((name, data | {"version": 7}, 409) for name, data in VALID.items()),
    ],
)
def test_what_cannot_be_used_changes_nothing(client, path, name, data, status):
    """Nor does what another tab sends, which shows another version, or what lacks the token."""
    before, kept = position(client), path.read_bytes()
    found, answer = client.post(f"api/{name}", {"version": 0, **data})
    assert found == status
    assert len(answer["error"]) <= MAX_MESSAGE
    assert ("another tab" in answer["error"]) == ("version" in data)
    assert client.request("POST", f"/{TOKEN}x/api/{name}", b'{"version": 0}')[0] == 403
    assert position(client) == before
    assert path.read_bytes() == kept


def test_a_file_that_another_program_changed_is_not_overwritten(client, path):
    toggle(client, "A", "E1")
    path.write_text("# mine\n")
    status, answer = client.post("api/save", {"version": 1})
    assert status == 409
    assert "was changed by another program" in answer["error"]
    assert path.read_text() == "# mine\n"
    path.unlink()
    assert client.post("api/save", {"version": 1})[0] == 409
    assert not path.exists()
