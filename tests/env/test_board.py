"""Boards: valid and invalid ones (RULES 9), the packaged board, round trips, and random boards."""

import hashlib
import json
import math
from collections import Counter
from itertools import combinations

import pytest

from bombay_env import random_board as random_board_module
from bombay_env.board import MAX_SITES, Board, BoardError, SiteKind
from helpers.refusal import refusal as error_of

SEEDS = range(60)
ENDS = (SiteKind.CITY, SiteKind.INNER_POST, SiteKind.OUTER_POST)


def small_board():
    """A valid board in object form: all sites in a ring, trail i joins sites i and i + 1.

    A - D1 - D2 - D3 - D4 - E1 … E4 - F1 … F4 - G1 … G8 - A
    """
    kinds = ["start_hill"] + ["city"] * 4 + ["inner_post"] * 4 + ["outer_post"] * 4 + ["palace_site"] * 8
    names = ["A"] + [f"{letter}{i}" for letter in "DEF" for i in (1, 2, 3, 4)] + [f"G{i}" for i in range(1, 9)]
    sites = [{"name": n, "kind": k, "x": i, "y": i * i} for i, (n, k) in enumerate(zip(names, kinds, strict=True))]
    return {
        "name": "ring",
        "sites": sites,
        "trails": [[a, b] for a, b in zip(names, names[1:] + names[:1], strict=True)],
    }


def toml_of(data):
    """A board in object form as TOML. Strings, numbers and lists are the same in JSON and TOML."""
    lines = [f"name = {json.dumps(data['name'])}", f"trails = {json.dumps(data['trails'])}"]
    for site in data["sites"]:
        lines += ["[[sites]]", *(f"{key} = {json.dumps(value)}" for key, value in site.items())]
    return "\n".join(lines)


def refusal(data, tmp_path):
    """The error message of `data`, read as an object and from a file, without the source at its start."""
    what = error_of(lambda: Board.from_dict(data), error=BoardError).removeprefix("board")
    file = tmp_path / "mine.toml"
    file.write_text(toml_of(data), encoding="utf-8")
    assert error_of(lambda: Board.load(file), error=BoardError) == f"{file}{what}"
    return what


# Boards that RULES 9 does not allow, and what is said: what is put where, and the message after the source.
HILL, OPEN = {"kind": "hill", "x": 0, "y": 0}, {"kind": "open_site", "x": 0, "y": 0}
KINDS = "'start_hill', 'hill', 'city', 'inner_post', 'outer_post', 'palace_site' or 'open_site'"
REFUSED = [
    (("sites", 6, "name"), "D2", ': site 7 ("D2"): site 3 has the same name'),
    (("sites", 21), {"name": "Z", **OPEN, "kind": "start_hill"}, ': sites: 2 of kind start_hill ("A", "Z"); must be 1'),
    (("sites", 0, "kind"), "hill", ": sites: 0 of kind start_hill; must be 1"),
    (("sites", 1, "kind"), "castle", f".sites[1].kind is 'castle'; it must be {KINDS}"),
    (("trails", 21), ["E3", "E3"], ': trail 22 ("E3", "E3"): a trail must join two different sites'),
    (("trails", 6), ["D1", "Z9"], ': trail 7 ("D1", "Z9"): unknown site "Z9"'),
    (("trails", 6), ["D1", "Z" * 40_000], f': trail 7 ("D1", "{"Z" * 40}…"): unknown site "{"Z" * 40}…"'),
    (("trails", 21), ["D1", "D2"], ': trail 22 ("D1", "D2"): already listed as trail 2'),
    (("trails", 21), ["D2", "D1"], ': trail 22 ("D2", "D1"): already listed as trail 2'),
    (("sites", 21), {"name": "Z", **OPEN}, ': site 22 ("Z"): cannot be reached from "A"'),
    (("sites", 3, "z"), 1, ".sites[3].z is an unknown key"),
    (("name",), 7, ".name is 7; it must be a valid string"),
    (("sites", 1, "x"), "3", ".sites[1].x is '3'; it must be a valid number"),
]


@pytest.mark.parametrize(("where", "value", "message"), REFUSED, ids=lambda part: str(part)[:40])
def test_what_the_rules_do_not_allow_is_refused(where, value, message, tmp_path):
    data = small_board()
    *outer, last = where
    target = data
    for key in outer:
        target = target[key]
    if last == len(target):
        target.append(value)
    else:
        target[last] = value
    assert refusal(data, tmp_path) == message


def test_x_and_y_are_finite():
    for value in (math.nan, math.inf, 10**400):
        data = small_board()
        data["sites"][1]["x"] = value
        error_of(lambda data=data: Board.from_dict(data), "board.sites[1].x is ", "; it must be ", error=BoardError)


def test_at_most_64_sites(tmp_path):
    data = small_board()
    for i in range(64 - 21):
        data["sites"].append({"name": f"H{i}", **OPEN})
        data["trails"].append(["A", f"H{i}"])
    assert Board.from_dict(data).num_sites == 64
    data["sites"].append({"name": "one_more", **HILL})
    data["trails"].append(["A", "one_more"])
    assert refusal(data, tmp_path).endswith(": List should have at most 64 items after validation, not 65")


def test_names_are_not_empty_and_have_no_spaces_or_colons_but_any_other_letters(tmp_path):
    for name in ("", "E 1", "E:1", "E\n1", "E\u20281", "E\x00"):
        data = small_board()
        data["sites"][5]["name"] = name
        wrong = f": name {json.dumps(name)} is empty or contains a space, a colon or an unprintable character"
        assert refusal(data, tmp_path) == wrong
        assert refusal(small_board() | {"name": name}, tmp_path) == wrong
    for name in ("Bhopāl", "孟买", "A-1_b.c/d"):
        data = small_board()
        data["sites"][20]["name"] = data["trails"][19][1] = data["trails"][20][0] = name
        assert Board.from_dict(data).site_index(name) == 20


@pytest.mark.parametrize(
    ("kind", "count", "first"), [("city", 4, 1), ("inner_post", 4, 5), ("outer_post", 4, 9), ("palace_site", 8, 13)]
)
def test_exactly_4_cities_4_inner_posts_4_outer_posts_and_8_palace_sites(kind, count, first, tmp_path):
    more, fewer = small_board(), small_board()
    more["sites"].append({"name": "Z", "kind": kind, "x": 0, "y": 0})
    more["trails"].append(["A", "Z"])
    fewer["sites"][first]["kind"] = "open_site"
    for data, wrong in ((more, count + 1), (fewer, count - 1)):
        names = ", ".join(f'"{site["name"]}"' for site in data["sites"] if site["kind"] == kind)
        assert refusal(data, tmp_path) == f": sites: {wrong} of kind {kind} ({names}); must be {count}"


def test_the_constructor_checks_too():
    with pytest.raises(BoardError, match=r'^trail 1 \("A", "Z9"\): unknown site "Z9"$'):
        Board("mine", Board.load().sites, (("A", "Z9"),))


# Files. That any damaged file is read or refused in one line is in `test_files_from_elsewhere.py`.


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"name = ", ": not TOML: Invalid value (at end of document)"),
        (b"x = " + b"[" * 49_000, ": not a board: the TOML is nested too deeply"),
        (b"#" * 49_153, ": the file is too large; at most 49152 bytes are allowed"),
        (b"", ".name is missing"),
    ],
)
def test_a_file_that_is_not_toml_of_a_board_is_rejected(content, wrong, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    assert error_of(lambda: Board.load(file), error=BoardError) == f"{file}{wrong}"


def test_a_file_that_cannot_be_read_is_rejected(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path, str(tmp_path / "nul\0.toml")):
        error_of(lambda path=path: Board.load(path), f"{path}: cannot be read: ", error=BoardError)


def test_a_board_with_every_site_and_trail_fits_into_a_file(tmp_path):
    data = small_board()
    data["sites"] += [{"name": f"H{i}", "kind": "open_site", "x": -i / 7, "y": i / 3} for i in range(10, 53)]
    names = [site["name"] for site in data["sites"]]
    assert len(names) == MAX_SITES
    data["trails"] = [list(pair) for pair in combinations(names, 2)]
    (tmp_path / "large.toml").write_text(toml_of(data), encoding="utf-8")
    assert Board.load(tmp_path / "large.toml") == Board.from_dict(data)


# The packaged board.


def test_the_packaged_board_has_the_sites_of_the_rules():
    board = Board.load()
    assert board.name == "reconstruction"
    assert board.is_packaged
    assert board.num_sites == 24
    assert [len(board.sites_of(kind)) for kind in SiteKind] == [1, 1, 4, 4, 4, 8, 2]
    assert [board.sites[i].name for i in board.sites_of(SiteKind.CITY)] == ["Bombay", "Indore", "Nagpur", "Hyderabad"]
    assert len(board.trails) == 39
    assert board.site_index("A") == board.sites_of(SiteKind.START_HILL)[0] == 0
    with pytest.raises(ValueError, match=r'^board "reconstruction" has no site "Z9"$'):
        board.site_index("Z9")
    data = board.to_dict()
    assert Board.from_dict(data).is_packaged
    data["trails"].pop()
    assert not Board.from_dict(data).is_packaged


def ends_joined(board):
    """The trails between two sites where no palace can stand, which are posts and cities."""
    ends = {board.sites[i].name for kind in ENDS for i in board.sites_of(kind)}
    return [trail for trail in board.trails if ends.issuperset(trail)]


def test_every_path_from_a_post_to_a_city_passes_a_site_for_a_palace():
    assert ends_joined(Board.load()) == []


# Round trips.


@pytest.mark.parametrize("board", [Board.load(), Board.random(1), Board.from_dict(small_board())], ids=lambda b: b.name)
def test_a_board_survives_dict_json_and_toml(board, tmp_path):
    data = board.to_dict()
    file = tmp_path / "mine.toml"
    file.write_text(toml_of(data))
    for copy in (Board.from_dict(data), Board.from_dict(json.loads(json.dumps(data))), Board.load(file)):
        assert copy == board
        assert hash(copy) == hash(board)
        assert json.dumps(copy.to_dict()) == json.dumps(data)


# Random boards.


@pytest.fixture(scope="module")
def random_boards():
    return [Board.random(seed) for seed in SEEDS]


def cross(a, b, c, d):
    """Whether the segments ab and cd intersect, if no end of one is on the other."""

    def side(p, q, r):
        return (q[0] - p[0]) * (r[1] - p[1]) > (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) != side(a, b, d) and side(c, d, a) != side(c, d, b)


def to_segment(a, b, p):
    """The distance from p to the segment ab."""
    length = math.dist(a, b)
    t = max(0, min(1, ((p[0] - a[0]) * (b[0] - a[0]) + (p[1] - a[1]) * (b[1] - a[1])) / length**2))
    return math.dist(p, (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])))


def test_random_boards_have_the_sites_of_the_packaged_one(random_boards):
    sites = [(site.name, site.kind) for site in Board.load().sites]
    assert len({(board.sites, board.trails) for board in random_boards}) == len(SEEDS)
    for seed, board in enumerate(random_boards):
        assert board.name == f"random-{seed}"
        assert [(site.name, site.kind) for site in board.sites] == sites
        assert 37 <= len(board.trails) <= 41
        assert not board.is_packaged


def test_random_boards_are_planar_with_space_around_every_site(random_boards):
    for board in random_boards:
        places = {site.name: (site.x, site.y) for site in board.sites}
        assert all(0 <= z <= 100 and round(z, 1) == z for place in places.values() for z in place)
        assert min(math.dist(p, q) for p, q in combinations(places.values(), 2)) > 13.9
        for a, b in board.trails:
            assert min(to_segment(places[a], places[b], places[c]) for c in places if c not in (a, b)) > 7.9
        for one, other in combinations(board.trails, 2):
            if not set(one) & set(other):
                assert not cross(*(places[name] for name in one + other)), (board.name, one, other)


def test_random_boards_resemble_the_packaged_one(random_boards):
    def mean_distance(board, kind):
        sites = board.sites_of(kind)
        return sum(math.dist((board.sites[i].x, board.sites[i].y), (50, 50)) for i in sites) / len(sites)

    for board in random_boards:
        assert ends_joined(board) == [], "a path from a post to a city without a site for a palace"
        degrees = Counter(name for trail in board.trails for name in trail)
        assert min(degrees[site.name] for site in board.sites) >= 2
        assert degrees["A"] >= 3
        assert any("A" in trail and (trail[0] + trail[1]).replace("A", "")[0] == "E" for trail in board.trails)
        assert mean_distance(board, SiteKind.START_HILL) < 20
        assert mean_distance(board, SiteKind.INNER_POST) < mean_distance(board, SiteKind.OUTER_POST)


def test_the_board_of_a_seed_never_changes():
    boards = [Board.random(seed).to_dict() for seed in (0, 1, 2, 2**64 - 1)]
    assert boards[-1]["name"] == "random-18446744073709551615"
    assert hashlib.sha256(json.dumps(boards).encode()).hexdigest()[:16] == "3ad0a191fde1cb0d"


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, None, True])
def test_a_seed_is_a_64_bit_integer(seed):
    with pytest.raises(ValueError, match="seed"):
        Board.random(seed)


def test_the_board_of_seed_0_is_used_if_all_attempts_fail(monkeypatch, random_boards):
    scatter, attempts = random_board_module._scatter, iter(range(random_board_module.MOST_ATTEMPTS))
    monkeypatch.setattr(
        random_board_module, "_scatter", lambda rng: [] if next(attempts, None) is not None else scatter(rng)
    )
    board = Board.random(5)
    assert (board.trails, board.name) == (random_boards[0].trails, "random-5")
