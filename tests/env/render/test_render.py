"""Drawings: whatever the board and the position, well-formed, legible, and showing what the state says.

What is measured in a picture is read from its SVG: absolute places of texts and shapes, with transforms applied.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from bombay_env import Board, Game, Rules
from bombay_env.board import SiteKind
from bombay_env.render import board_map, layout, picture, shapes, svg
from bombay_env.render.layout import Box
from bombay_env.render.view import LastAction, last_action, view
from bombay_env.rules import COLOUR_NAMES
from bombay_env.state import MAX_HOLDING, NOBODY, state_to_dict
from helpers.position import CITIES, official, position
from helpers.variants import largest_board, random_game

SVG = "{http://www.w3.org/2000/svg}"
PAGE = Box(0, 0, picture.WIDTH, picture.HEIGHT)


# --- positions ---


def play(game: Game, seed: int, steps: int) -> np.ndarray:
    """A random game after so many decisions, or at its end.

    Kernels are compiled anew for a board of another size, so it takes those that other tests of large boards need too.
    """
    states = game.new_states([seed])
    for index in range(steps):
        game.step(states, game.sample_actions(states, [seed], index))
    return states


def played(seed: int, steps: int) -> tuple[Game, np.ndarray]:
    """A random game on a random table after some decisions."""
    game = random_game(random.Random(seed), 2 + seed % 4)
    return game, play(game, seed, steps)


def moved_board(name: str, x: float, y: float) -> Board:
    """The packaged board with its sites along a line, or, without a slope, all in one place."""
    data = Board.load().to_dict() | {"name": name}
    for number, site in enumerate(data["sites"]):
        site["x"], site["y"] = number * x, number * y
    return Board.from_dict(data)


def renamed_board(name: str) -> Board:
    """The packaged board with other names, each made from the old one."""
    data = Board.load().to_dict()
    for site in data["sites"]:
        site["name"] = name.format(site["name"])
    data["trails"] = [[name.format(a), name.format(b)] for a, b in data["trails"]]
    return Board.from_dict(data)


BOARDS = {
    "packaged": Board.load,
    "random": lambda: Board.random(3),
    "64 sites with long names": largest_board,
    "wide letters": lambda: renamed_board("大WW{}"),
    "a line": lambda: moved_board("line", 1e300, 1e-300),
    "one place": lambda: moved_board("place", 0, 0),
}


def any_position(kind: str) -> tuple[Game, np.ndarray]:
    """A position of five seats on one of the boards, or of two seats, in mid-game."""
    game = official(2) if kind == "two seats" else Game(Rules.official(5), BOARDS[kind]())
    return game, play(game, 5, 90)


# --- reading a picture ---


class Drawn(NamedTuple):
    """An element with the groups around it and where it stands: a point of its own is at x + scale · point."""

    element: ElementTree.Element
    around: tuple[ElementTree.Element, ...]
    x: float
    y: float
    scale: float

    @property
    def box(self) -> Box:
        """A rectangle's or a text's room on the page; that of a text is estimated, wider rather than narrower."""
        number = {name: float(value) for name, value in self.element.items() if name in ("x", "y", "width", "height")}
        x, y = self.x + self.scale * number["x"], self.y + self.scale * number["y"]
        if self.element.tag == f"{SVG}rect":
            return Box(x, y, x + self.scale * number["width"], y + self.scale * number["height"])
        size = self.scale * float(self.element.get("font-size", ""))
        width = shapes.text_width(self.element.text or "", size, self.element.get("font-weight") == "bold")
        left = x - width * {"start": 0, "middle": 0.5, "end": 1}[self.element.get("text-anchor", "")]
        return Box(left, y - 0.75 * size, left + width, y + 0.25 * size)

    def given(self, name: str) -> str | None:
        """An attribute of the element or of the nearest group around it that has it."""
        elements = (self.element, *reversed(self.around))
        return next((element.get(name) for element in elements if element.get(name) is not None), None)


def parse(game: Game, states: np.ndarray, **options: Any) -> ElementTree.Element:
    return ElementTree.fromstring(svg.draw(game, states, **options))


def drawn_in(root: ElementTree.Element) -> Iterator[Drawn]:
    """All elements in the order in which they are drawn."""
    todo = [Drawn(root, (), 0.0, 0.0, 1.0)]
    while todo:
        drawn = todo.pop()
        yield drawn
        for child in reversed(drawn.element):
            moved = child.get("transform", "translate(0 0)").replace("translate(", "").replace(")", "").split(" scale(")
            dx, dy = map(float, moved[0].split())
            scale = drawn.scale * (float(moved[1]) if len(moved) > 1 else 1)
            place = (drawn.x + drawn.scale * dx, drawn.y + drawn.scale * dy)
            todo.append(Drawn(child, (*drawn.around, drawn.element), *place, scale))


def find(root: ElementTree.Element, tag: str, **attributes: str) -> list[Drawn]:
    """Elements of a tag, themselves or in groups with these attributes."""
    wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
    return [
        drawn
        for drawn in drawn_in(root)
        if drawn.element.tag == SVG + tag and all(drawn.given(name) == value for name, value in wanted.items())
    ]


def words(root: ElementTree.Element, **attributes: str) -> list[str]:
    return [drawn.element.text or "" for drawn in find(root, "text", **attributes)]


def site_facts(root: ElementTree.Element, fact: str) -> dict[str, str]:
    """What the groups of the sites say in one of their attributes."""
    groups = [drawn.element for drawn in find(root, "g") if drawn.element.get("data-site")]
    return {group.get("data-site", ""): group.get(fact, "") for group in groups if group.get(fact) is not None}


# --- the picture ---


@pytest.mark.parametrize("seed", range(4))
def test_svg_names_sites_by_kind_posts_by_letter_and_seats_by_number_and_frames_moves(seed: int) -> None:
    """Not by a colour alone. What the attributes tell is read back in `test_render_facts`."""
    game, states = played(seed, 20 * seed)
    facts, root = state_to_dict(states[0], game.rules, game.board), parse(game, states)
    assert {site.name for site in game.board.sites} <= set(words(root, data_part="map"))
    trails = [drawn.element.get("data-trail") for drawn in find(root, "path") if drawn.element.get("data-trail")]
    assert trails == [f"{a} {b}" for a, b in game.board.trails]
    assert site_facts(root, "data-kind") == {site.name: site.kind.label for site in game.board.sites}
    for site, seat in facts["palaces"].items():
        assert str(seat) in words(root, data_site=site)
    for site, colour in facts["posts"].items():
        assert colour[0].upper() in words(root, data_site=site)
    for seat in range(game.num_players):
        assert str(seat) in words(root, data_elephant=str(seat))
    icons = layout.arrange(game.board).icons
    for frame in [drawn for drawn in find(root, "g", data_part="map") if drawn.element.get("data-move")]:
        (box,) = {drawn.box for drawn in drawn_in(root) if drawn.around and drawn.around[-1] is frame.element}
        icon = icons[frame.element.get("data-move", "")]
        assert icon.within(box.grown(1)) == icon


def test_svg_shows_demand_from_top_to_bottom_with_what_a_sale_pays() -> None:
    column = ("yellow", "purple", "blue")
    root = parse(official(2), position(demand={"Indore": column}))
    tops = [find(root, "rect", data_site="Indore", data_demand=colour)[0].box.top for colour in column]
    assert tops == sorted(tops)
    shown = [words(root, data_site="Indore", data_demand=colour) for colour in column]
    assert shown == [["Y", "5"], ["P", "3"], ["B", "1"]]
    clients = [len(find(root, "circle", data_site="Indore", data_demand=colour)) for colour in column]
    assert clients == [0, 1, 1]


def test_svg_shows_the_last_action() -> None:
    game = official(2)
    states = position(at="G4", basket=["blue"], markets=[{}, {"orange": 1}, {}])
    for action, told in (("build:blue", "build at G4 with blue"), ("take:orange", "take orange at G4")):
        before = states.copy()
        game.step(states, [game.action_index(action)])
        last = last_action(game, before, game.action_index(action))
        root = parse(game, states, last=last)
        assert f"Last: seat 0, {told}" in words(root, data_part="legal")
        assert not [drawn for drawn in find(root, "g", data_part="map") if drawn.element.get("data-last")]
    assert not any(line.startswith("Last") for line in words(parse(game, states)))
    assert LastAction(1, "end_turn", "A").words == "end turn"


@pytest.mark.parametrize("kind", ["packaged", "one place"])
def test_an_arrow_shows_the_last_move(kind: str) -> None:
    """It points from where the elephant was to where it is now, along the trail, beside both icons."""
    board = BOARDS[kind]()
    game, drawn = Game(Rules.official(2), board), layout.arrange(board)
    states = game.new_states([1])
    for origin, target in (*board.trails[::8], *((b, a) for a, b in board.trails[4::8])):
        root = parse(game, states, last=LastAction(0, f"move:{target}", origin))
        (arrow,) = [found for found in find(root, "g", data_part="map") if found.element.get("data-last")]
        assert (arrow.element.get("data-last"), arrow.element.get("data-from")) == (f"move:{target}", origin)
        ends = [tuple(map(float, point.split(","))) for point in arrow.element[2].get("d", "")[1:].split(" L")]
        if kind != "one place":
            start, end = ((arrow.x + x, arrow.y + y) for x, y in (ends[0], ends[-1]))
            assert distance(end, drawn.centres[target]) < distance(start, drawn.centres[target])
            assert distance(start, drawn.centres[origin]) < distance(end, drawn.centres[origin])


def distance(one: layout.Point, other: layout.Point) -> float:
    return abs(complex(*one) - complex(*other))


def test_svg_shows_markets_with_prices_bales_and_the_bag() -> None:
    states = position(markets=[{"blue": 3, "orange": 2}, {"purple": 2}, {}])
    root = parse(official(2), states)
    left, centre, right = (words(root, data_market=market) for market in ("left", "centre", "right"))
    assert left == ["Left market", "1 action", "1", *"BBBOO"]
    assert centre == ["Centre market", "2 actions", "1", *"PP"]
    assert right == ["Right market", "2 actions", "2", "empty"]
    bag = words(root, data_part="bag")
    assert [count for count in bag if count.startswith("×")] == ["×3", "×2", "×2", "×3"]
    assert [state for state in bag if state in ("on sale", "closed")] == ["closed", "on sale", "on sale", "on sale"]
    assert set(COLOUR_NAMES) <= set(bag)


def test_svg_counts_bales_where_a_row_is_too_short() -> None:
    rules = Rules(2, bales=(30, 30, 30, 30), restock_draw=120)
    game = Game(rules)
    root = parse(game, game.new_states([1]))
    assert Counter(words(root, data_market="left"))["×30"] == 4


def test_svg_shows_holdings_and_hides_those_behind_screens() -> None:
    game = official(3)
    states = position(game, rupees=[11, 12, 13], clients=[2, 6, 3], city_tokens={1: CITIES[:2]}, palaces={"H1": 1})
    open_, screened = parse(game, states), parse(game, states, viewer=2)
    assert words(open_, data_seat="1")[1:] == ["Seat 1", "12", "6", "2", "4", "no bales"]
    assert words(screened, data_seat="1")[1:] == ["Seat 1", "?", "?", "?", "4", "no bales"]
    assert words(screened, data_seat="2") == words(open_, data_seat="2")


def test_svg_tells_whose_turn_it_is_and_marks_the_market_of_a_pending_take() -> None:
    game = official(2)
    states = position(at="G4", basket=["blue"], markets=[{}, {"orange": 1}, {"purple": 1}])
    before = parse(game, states)
    assert {"Seat 0: 3 actions left", "set 1 of 4, turn 1 of 4, seat 0 first"} <= set(words(before, data_part="header"))
    game.step(states, [game.action_index("build:blue")])
    root = parse(game, states)
    assert "Seat 0 must take a bale" in words(root, data_part="header")
    markets = [find(root, "rect", data_market=market)[0].box for market in ("left", "centre", "right")]
    marked = {drawn.box for drawn in find(root, "rect", data_part="side", data_marked="true")}
    assert [box in marked for box in markets] == [False, True, False]
    assert find(before, "rect", data_part="side", data_marked="true") == []


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_svg_shows_the_result(n: int) -> None:
    game = official(n)
    states = play(game, n, 1000)
    assert states.current_player[0] == NOBODY
    result, root = game.results(states)[0], parse(game, states)
    winners = [seat for seat in range(n) if result.winners[seat]]
    (headline,) = [line for line in words(root, data_part="header") if line.startswith("Game over")]
    assert all(str(seat) in headline for seat in winners)
    assert f"with {result.final.max()} rupees" in headline
    for seat in range(n):
        shown = words(root, data_seat=str(seat))
        assert str(result.final[seat]) in shown
        assert f"{result.rupees[seat]} + {result.majority[seat]} empire + {result.fame[seat]} fame" in shown


# --- legible ---


def test_texts_are_cut_to_fit() -> None:
    for word in ("Hyderabad", "MMWWmmww@@", "Chhatrapati-Sambhajinagar12", "ÄÖÜ", "大阪"):
        for width in (20, 80):
            shown, size = shapes.fit(word, 15, width, 9)
            assert shapes.text_width(shown, size) <= width + 1e-6
            assert 9 <= size <= 15
            assert shown == word or ("…" in shown and shapes.text_width(word, 9) > width)


@pytest.mark.parametrize("kind", ["two seats", *BOARDS])
def test_texts_keep_off_the_edges_of_the_page_and_of_their_panels(kind: str) -> None:
    game, states = any_position(kind)
    rich = states.copy()
    rich["rupees"][0, : game.num_players] = MAX_HOLDING - np.arange(game.num_players)
    for at in (game.new_states([1]), rich, play(game, 1, 2000)):
        root, found = parse(game, at), 0
        for drawn in find(root, "text"):
            assert drawn.box.within(PAGE.grown(-12)) == drawn.box, drawn.element.text
        for part in ("data-seat", "data-market", "data-part"):
            panels = {drawn.element.get(part) for drawn in find(root, "g")} - {None, "side", "header", "legal", "map"}
            for panel in panels:
                inside = {part.replace("-", "_"): str(panel)}
                frame = find(root, "rect", **inside)[0].box
                for drawn in find(root, "text", **inside):
                    assert drawn.box.within(frame.grown(-4)) == drawn.box, drawn.element.text
                    found += 1
        assert found > 50


def test_no_text_depends_on_what_only_browsers_draw() -> None:
    drawing = svg.draw(*any_position("packaged"))
    for word in ("paint-order", "dominant-baseline", "textLength", "foreignObject", "<style", "<image", "href", "url("):
        assert word not in drawing
    root = ElementTree.fromstring(drawing)
    for drawn in find(root, "text"):
        assert drawn.given("stroke") is None, "a stroke hides a text that has no paint-order"


@pytest.mark.parametrize("basket", [[], ["blue"], ["blue", "orange"]])
def test_an_elephant_stands_nearest_to_its_own_site_on_a_plate_that_points_to_it(basket: list[str]) -> None:
    game = official(2)
    drawn = layout.arrange(game.board)
    for site in game.board.sites:
        states = position(game, elephants={0: site.name, 1: "A" if site.name != "A" else "B"}, basket=basket)
        herd = layout.place_herds(game.board, board_map._groups(view(game, states)))[site.name]
        apart = {name: between(herd.box, icon) for name, icon in drawn.icons.items()}
        assert min(apart, key=apart.__getitem__) == site.name
        root = parse(game, states)
        point, *_ = find(root, "path", data_herd="0")
        x, y = map(int, point.element.get("d").split()[0].removeprefix("M").split(","))
        tip = (point.x + x, point.y + y)
        assert drawn.icons[site.name].nearest(tip) == tip
        bodies = [path for path in find(root, "path", data_elephant="0") if path.element.get("d") == shapes.ELEPHANT]
        parts = [Box(body.x, body.y, body.x, body.y).grown(16 * body.scale) for body in bodies]
        bales = [bale.box for bale in find(root, "rect", data_elephant="0")]
        assert (len(bodies) > 0, len(bales)) == (True, len(basket))
        assert all(part.within(herd.box) == part for part in parts + bales)
        assert not basket[1:] or shared(*bales) < 1, "each bale shows"


def shared(one: Box, other: Box) -> float:
    """The area in both boxes."""
    across = min(one.right, other.right) - max(one.left, other.left)
    return max(0.0, across) * max(0.0, min(one.bottom, other.bottom) - max(one.top, other.top))


def between(one: Box, other: Box) -> float:
    """Between two boxes; 0 if they touch."""
    across = max(0.0, one.left - other.right, other.left - one.right)
    return math.hypot(across, max(0.0, one.top - other.bottom, other.top - one.bottom))


@pytest.mark.parametrize("seed", [None, *range(4)])
def test_elephants_stay_clear_of_cities(seed: int | None) -> None:
    board = Board.load() if seed is None else Board.random(seed)
    drawn = layout.arrange(board)
    cities = [board.sites[site].name for site in board.sites_of(SiteKind.CITY)]
    for site in board.sites:
        (herd,) = layout.place_herds(board, {site.name: dict.fromkeys(range(5), 30.0)}).values()
        assert set(herd.places) == set(range(5))
        assert herd.box.within(layout.FRAME) == herd.box
        assert sum(shared(herd.box, drawn.icons[city]) for city in cities) < 1e-6


@pytest.mark.parametrize("kind", BOARDS)
def test_icons_stay_in_the_frame_and_apart(kind: str) -> None:
    board = BOARDS[kind]()
    drawn = layout.arrange(board)
    boxes = list(drawn.icons.values())
    assert all(box.within(layout.FRAME) == box for box in boxes)
    assert all(name.box.within(layout.FRAME) == name.box for name in drawn.names.values())
    hidden = [
        shared(a, b) / min(a.width * a.height, b.width * b.height) for i, a in enumerate(boxes) for b in boxes[:i]
    ]
    assert max(hidden) < 0.05


@pytest.mark.parametrize("seed", [None, *range(1, 6)])
def test_names_are_readable(seed: int | None) -> None:
    """Nothing that is fixed lies over a name, and a name lies over no trail and no other site."""
    board = Board.load() if seed is None else Board.random(seed)
    drawn = layout.arrange(board)
    for site in board.sites:
        box, words, size = drawn.names[site.name]
        assert (words, size >= 11) == (site.name, True)
        others = [icon for name, icon in drawn.icons.items() if name != site.name or site.kind != SiteKind.CITY]
        others += [name.box for other, name in drawn.names.items() if other != site.name]
        assert sum(shared(box, other) for other in others) < 1e-6
        if site.kind != SiteKind.CITY:
            assert not any(inside(box, point) for trail in drawn.trails for point in trail.points)
            assert between(box, drawn.icons[site.name]) < 2


@pytest.mark.parametrize("seed", [None, *range(1, 6)])
def test_trails_show_up_to_their_ends(seed: int | None) -> None:
    """A trail runs from centre to centre, and no other site lies over it where it leaves an icon."""
    board = Board.load() if seed is None else Board.random(seed)
    drawn = layout.arrange(board)
    for (a, b), trail in zip(board.trails, drawn.trails, strict=True):
        for start, points in ((a, trail.points), (b, trail.points[::-1])):
            assert tuple(points[0]) == drawn.centres[start]
            outside = next(point for point in points if not inside(drawn.icons[start].grown(4), point))
            assert not any(inside(icon, outside) for name, icon in drawn.icons.items() if name not in (a, b))


def inside(box: Box, point: np.ndarray) -> bool:
    return box.left <= point[0] <= box.right and box.top <= point[1] <= box.bottom


def test_a_trail_bends_around_a_site_in_its_way() -> None:
    data = Board.load().to_dict()
    placed = {"A": (50, 50), "E1": (10, 50), "H1": (30, 50)}
    for number, site in enumerate(data["sites"]):
        site["x"], site["y"] = placed.get(site["name"], (5 * number, 0 if number % 2 else 100))
    drawn = layout.arrange(Board.from_dict(data))
    trail = drawn.trails[data["trails"].index(["A", "E1"])]
    assert not any(drawn.icons["H1"].nearest(tuple(point)) == tuple(point) for point in trail.points)
    assert (tuple(trail.points[0]), tuple(trail.points[-1])) == (drawn.centres["A"], drawn.centres["E1"])


def test_names_that_are_cut_are_told_in_full_and_escaped() -> None:
    game = Game(Rules.official(2), renamed_board("<\"{}&'-Chhatrapati-Sambhajinagar-and-all-its-surroundings"))
    root, names = parse(game, game.new_states([1])), {site.name for site in game.board.sites}
    assert {drawn.element.text for drawn in find(root, "title")} == names == set(site_facts(root, "data-kind"))


def test_the_same_position_gives_the_same_drawing_whatever_was_drawn_before() -> None:
    game, states = played(6, 40)
    first = svg.draw(game, states)
    svg.draw(*any_position("random"))
    before = states.tobytes()
    assert svg.draw(game, states) == first
    assert states.tobytes() == before
