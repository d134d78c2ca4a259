"""Where things stand on the drawn map: sites, trails, names and elephants, so that little hides anything else.

Knows boards and rectangles; neither SVG nor the state of a game. Sites, trails and names depend on the board alone, so they
stay where they are from move to move; elephants then take the free room beside their site. All of it is done with sums,
products and square roots, so that a board gives the same drawing on every machine.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from typing import Final, NamedTuple

from bombay_env.board import Board, SiteKind
from bombay_env.render.shapes import ELEPHANT_HEIGHT, ELEPHANT_WIDTH, fit, text_width

Point = tuple[float, float]
Line = tuple[Point, ...]

NAME_SIZE: Final = 14.5
CITY_WIDTH, CITY_HEIGHT, CITY_HEAD = 94.0, 98.0, 24.0
CITY_NAME_SIZE: Final = 14.5
GAP: Final = 6.0  # between icons
BALE_ROW: Final = 18.0  # height of the bales on an elephant's back
# Half the width, the height above and the height below the centre of an icon.
_EXTENTS: Final = {
    SiteKind.START_HILL: (23.0, 28.0, 15.0),
    SiteKind.HILL: (23.0, 18.0, 15.0),
    SiteKind.CITY: (CITY_WIDTH / 2, CITY_HEIGHT / 2, CITY_HEIGHT / 2),
    SiteKind.INNER_POST: (19.0, 17.0, 16.0),
    SiteKind.OUTER_POST: (19.0, 17.0, 16.0),
    SiteKind.PALACE_SITE: (18.0, 18.0, 17.0),
    SiteKind.OPEN_SITE: (18.0, 18.0, 17.0),
}
ROOMY: Final = 26  # sites that fit at full size
SMALLEST: Final = 0.62  # scale of the icons where there are many
MAX_NAME: Final = 110.0  # width of a name beside its site
MAX_PUSHES: Final = 300  # rounds of moving icons apart
BOWS: Final = (0.0, 0.14, -0.14, 0.28, -0.28, 0.42, -0.42)  # how far a trail bends aside, as shares of its length
PIECES: Final = 12  # straight pieces that stand for a bent trail

# What a bad place costs, for each square unit hidden, or each unit of length for a trail.
HIDES_CITY, HIDES_ICON, HIDES_NAME, HIDES_TRAIL, OUTSIDE = 100.0, 10.0, 6.0, 4.0, 100.0
FURTHEST: Final = 32.0  # gap between elephants and their site
CROWD: Final = 4  # elephants on one site that are drawn smaller
PER_DISTANCE: Final = 4.0  # from each elephant to its site
UNCLEAR: Final = 10.0  # where another site is not this much further off than their own
CLEARLY: Final = 30.0


class Box(NamedTuple):
    """A rectangle; y runs down."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def centre(self) -> Point:
        """The middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    @property
    def width(self) -> float:
        """From left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top

    def nearest(self, point: Point) -> Point:
        """The point of the box nearest to another."""
        return min(max(point[0], self.left), self.right), min(max(point[1], self.top), self.bottom)

    def grown(self, margin: float) -> "Box":
        """The box with a margin around it."""
        return Box(self.left - margin, self.top - margin, self.right + margin, self.bottom + margin)

    def shared(self, other: "Box") -> float:
        """The area in both boxes."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0.0

    def within(self, frame: "Box") -> "Box":
        """The box moved into the frame; its upper left corner where it is too large."""
        dx = max(min(0.0, frame.right - self.right), frame.left - self.left)
        dy = max(min(0.0, frame.bottom - self.bottom), frame.top - self.top)
        return Box(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def length_inside(self, start: Point, end: Point) -> float:
        """How much of a straight line lies in the box (Liang and Barsky's clipping)."""
        x, y = start
        dx, dy = end[0] - x, end[1] - y
        first, last = 0.0, 1.0
        for origin, step, low, high in ((x, dx, self.left, self.right), (y, dy, self.top, self.bottom)):
            if step:
                enters, leaves = (low - origin) / step, (high - origin) / step
                first = max(first, min(enters, leaves))
                last = min(last, max(enters, leaves))
            elif not low <= origin <= high:
                return 0.0
        return (last - first) * sqrt(dx * dx + dy * dy) if last > first else 0.0


class Name(NamedTuple):
    """A site's name as it is shown: on a plate of this box."""

    box: Box
    words: str
    size: float


class Herd(NamedTuple):
    """The elephants beside one site: the box of each seat's."""

    box: Box
    places: Mapping[int, Box]
    scale: float


@dataclass(frozen=True)
class Map:
    """The parts of a drawn map that depend on the board alone.

    Attributes:
        frame: where all of it lies.
        scale: of the icons; below 1 on boards with many sites.
        centres: of the icons, by site.
        icons: the room that a site's icon takes, whatever stands there.
        trails: in the board's order, each as the corners of a line; bent where another site is in the way.
        bends: the control point of each bent trail's curve, None for a straight one.
        names: by site.
    """

    frame: Box
    scale: float
    centres: Mapping[str, Point]
    icons: Mapping[str, Box]
    trails: tuple[Line, ...]
    bends: tuple[Point | None, ...]
    names: Mapping[str, Name]


@lru_cache(maxsize=64)
def arrange(board: Board, frame: Box) -> Map:
    """Lay out a board in the frame. The board's extent is stretched to it, then icons that overlap are moved apart."""
    scale = max(SMALLEST, min(1.0, sqrt(ROOMY / board.num_sites)))
    icons = _spread(_project(board, frame, scale), frame, GAP * scale)
    centres = {
        site.name: (box.centre[0], box.top + _EXTENTS[site.kind][1] * scale)
        for site, box in zip(board.sites, icons, strict=True)
    }
    boxes = {site.name: box for site, box in zip(board.sites, icons, strict=True)}
    curves = [_trail(a, b, centres, boxes) for a, b in board.trails]
    trails = tuple(line for line, _ in curves)
    names = _place_names(board, frame, scale, boxes, trails)
    return Map(frame, scale, centres, boxes, trails, tuple(bend for _, bend in curves), names)


# --- sites ---


def _project(board: Board, frame: Box, scale: float) -> list[Box]:
    """Each site's icon where its coordinates put it; width and height are stretched apart from each other."""
    inner = frame.grown(-30 * scale)
    xs = _shares([site.x for site in board.sites])
    ys = _shares([site.y for site in board.sites])
    boxes = []
    for site, x, y in zip(board.sites, xs, ys, strict=True):
        half, above, below = (scale * extent for extent in _EXTENTS[site.kind])
        if site.kind == SiteKind.CITY:
            half = scale * _city_width(site.name) / 2
        centre = (inner.left + x * inner.width, inner.top + y * inner.height)
        box = Box(centre[0] - half, centre[1] - above, centre[0] + half, centre[1] + below)
        boxes.append(box.within(frame))
    return boxes


def _city_width(name: str) -> float:
    return max(CITY_WIDTH, min(MAX_NAME, text_width(name, CITY_NAME_SIZE) + 12))


def _shares(values: list[float]) -> list[float]:
    """Coordinates as shares of their extent; all in the middle where they have none. No float is too large for it."""
    unit = max(map(abs, values)) or 1.0
    scaled = [value / unit for value in values]
    low, extent = min(scaled), max(scaled) - min(scaled)
    return [(value - low) / extent if extent else 0.5 for value in scaled]


def _spread(boxes: list[Box], frame: Box, gap: float) -> list[Box]:
    """Move boxes apart, each pair along the way that is shorter, until none overlap or the rounds are over."""
    if not any(_too_near(one, other, gap) for one, other in _pairs(boxes)):
        return boxes
    # Sites that share a place start in a small grid, so that they leave it in all directions.
    boxes = [_moved(box, 0.01 * (i % 8), 0.01 * (i // 8)) for i, box in enumerate(boxes)]
    for push in range(MAX_PUSHES):
        moved, both = False, 30 < push % 60 < 40
        for i in range(len(boxes)):
            for j in range(i):
                if _too_near(boxes[i], boxes[j], gap):
                    boxes[i], boxes[j] = _pushed(boxes[i], boxes[j], frame, gap, both)
                    moved = True
        if not moved:
            break
    return boxes


def _pairs(boxes: list[Box]) -> Iterator[tuple[Box, Box]]:
    return ((boxes[i], boxes[j]) for i in range(len(boxes)) for j in range(i))


def _too_near(one: Box, other: Box, gap: float) -> bool:
    return (
        one.left < other.right + gap - 0.01
        and other.left < one.right + gap - 0.01
        and one.top < other.bottom + gap - 0.01
        and other.top < one.bottom + gap - 0.01
    )


def _pushed(one: Box, other: Box, frame: Box, gap: float, both: bool) -> tuple[Box, Box]:
    (x, y), (u, v) = one.centre, other.centre
    lacking_x = (one.width + other.width) / 2 + gap - abs(x - u)
    lacking_y = (one.height + other.height) / 2 + gap - abs(y - v)
    if not both:
        lacking_x, lacking_y = (lacking_x, 0.0) if lacking_x <= lacking_y else (0.0, lacking_y)
    dx, dy = lacking_x / 2, lacking_y / 2
    dx, dy = (dx if x >= u else -dx), (dy if y >= v else -dy)
    return _moved(one, dx, dy).within(frame), _moved(other, -dx, -dy).within(frame)


def _moved(box: Box, dx: float, dy: float) -> Box:
    return Box(box.left + dx, box.top + dy, box.right + dx, box.bottom + dy)


# --- trails ---


def _trail(a: str, b: str, centres: Mapping[str, Point], boxes: Mapping[str, Box]) -> tuple[Line, Point | None]:
    """The trail between two sites: straight, or with the least bow that passes the fewest other sites."""
    others = [box.grown(2) for name, box in boxes.items() if name not in (a, b)]
    best: tuple[float, Line, Point | None] | None = None
    for bow in BOWS:
        line, bend = _bowed(centres[a], centres[b], bow)
        hidden = sum(_inside(line, box) for box in others)
        if best is None or hidden < best[0] - 1:
            best = (hidden, line, bend)
        if hidden == 0:
            break
    assert best is not None
    return best[1], best[2]


def _bowed(start: Point, end: Point, bow: float) -> tuple[Line, Point | None]:
    """A line of this bow and its curve's control point. The curve is quadratic: its bow is half the control point's."""
    if bow == 0:
        return (start, end), None
    dx, dy = end[0] - start[0], end[1] - start[1]
    bend = ((start[0] + end[0]) / 2 - 2 * bow * dy, (start[1] + end[1]) / 2 + 2 * bow * dx)
    shares = [piece / PIECES for piece in range(PIECES + 1)]
    return tuple(_on_curve(start, bend, end, share) for share in shares), bend


def _on_curve(start: Point, bend: Point, end: Point, share: float) -> Point:
    a, b, c = (1 - share) ** 2, 2 * share * (1 - share), share**2
    return a * start[0] + b * bend[0] + c * end[0], a * start[1] + b * bend[1] + c * end[1]


def _inside(line: Line, box: Box) -> float:
    return sum(box.length_inside(start, end) for start, end in pairwise(line))


# --- names ---


def _place_names(
    board: Board, frame: Box, scale: float, icons: Mapping[str, Box], trails: tuple[Line, ...]
) -> dict[str, Name]:
    """Names on plates beside their icons, on the side where they hide least; twice, since later names move earlier ones."""
    names = {site.name: _city_name(site.name, icons[site.name], scale) for site in board.sites if _is_city(site.kind)}
    hidden = _hidden(board, frame, icons, trails)
    for _ in range(2):
        for site in board.sites:
            if not _is_city(site.kind):
                taken = [name.box for other, name in names.items() if other != site.name]
                names[site.name] = _place_name(site.name, icons[site.name], scale, hidden, taken)
    return names


def _is_city(kind: SiteKind) -> bool:
    return kind == SiteKind.CITY


def _city_name(name: str, icon: Box, scale: float) -> Name:
    words, size = fit(name, CITY_NAME_SIZE * scale, icon.width - 8 * scale, 9 * scale)
    return Name(Box(icon.left, icon.top, icon.right, icon.top + CITY_HEAD * scale), words, size)


def _place_name(name: str, icon: Box, scale: float, hidden: "Hidden", taken: list[Box]) -> Name:
    size = max(NAME_SIZE * scale, 11.0)
    words, size = fit(name, size, MAX_NAME * scale, 0.7 * size)
    width, height = text_width(words, size) + 6, size + 4
    places = [box.within(hidden.frame) for box in _around(icon, width, height, 1.5)]
    costs = [hidden.cost(box, taken) + 3 * rank for rank, box in enumerate(places)]
    return Name(places[costs.index(min(costs))], words, size)


def _around(icon: Box, width: float, height: float, gap: float) -> Iterator[Box]:
    """Places for a box beside an icon: below, above, right and left of it, then towards its corners."""
    x, y = icon.centre
    middle_x, middle_y = x - width / 2, y - height / 2
    right, left = icon.right + gap, icon.left - gap - width
    below, above = icon.bottom + gap, icon.top - gap - height
    across, down = icon.width / 2, icon.height / 2
    corners = [
        (middle_x, below),
        (right, middle_y),
        (left, middle_y),
        (middle_x, above),
        (right, middle_y + down),
        (left, middle_y + down),
        (right, middle_y - down),
        (left, middle_y - down),
        (middle_x + across, below),
        (middle_x - across, below),
        (middle_x + across, above),
        (middle_x - across, above),
    ]
    return (Box(left_, top, left_ + width, top + height) for left_, top in corners)


class Hidden(NamedTuple):
    """What a box may hide, and what that costs."""

    frame: Box
    cities: tuple[Box, ...]
    icons: tuple[Box, ...]
    trails: tuple[Line, ...]

    def near(self, box: Box) -> "Hidden":
        """Only what reaches into a box, which is all that a smaller box in it can hide."""
        return Hidden(
            self.frame,
            tuple(city for city in self.cities if city.shared(box)),
            tuple(icon for icon in self.icons if icon.shared(box)),
            tuple(line for line in self.trails if _inside(line, box)),
        )

    def cost(self, box: Box, names: Iterable[Box]) -> float:
        """The cost of a box here, with these names and other boxes about."""
        outside = box.width * box.height - box.shared(self.frame)
        return (
            OUTSIDE * outside
            + HIDES_CITY * sum(box.shared(city) for city in self.cities)
            + HIDES_ICON * sum(box.shared(icon) for icon in self.icons)
            + HIDES_NAME * sum(box.shared(name) for name in names)
            + HIDES_TRAIL * sum(_inside(line, box) for line in self.trails)
        )


def _hidden(board: Board, frame: Box, icons: Mapping[str, Box], trails: tuple[Line, ...]) -> Hidden:
    cities = tuple(icons[board.sites[site].name] for site in board.sites_of(SiteKind.CITY))
    return Hidden(frame, cities, tuple(icons.values()), trails)


# --- elephants ---


def place_herds(board: Board, drawn: Map, groups: Mapping[str, Mapping[int, float]]) -> dict[str, Herd]:
    """Places for all elephants, the largest group first.

    Args:
        board: where they stand.
        drawn: its map.
        groups: for each site with elephants, by seat, how wide the bales on each one's back are; 0 without bales.

    Returns:
        By site, boxes beside its icon that hide as little as possible: no city's plate while there is any other room.
    """
    herds: dict[str, Herd] = {}
    for site in sorted(groups, key=lambda site: -len(groups[site])):
        group = tuple(sorted(groups[site].items()))
        near = drawn.icons[site].grown(_reach(_rows(dict(group), len(group), drawn.scale)))
        others = tuple(herd.box for herd in herds.values() if herd.box.shared(near))
        herds[site] = _place_herd(board, drawn.frame, site, group, others)
    return herds


def _reach(herd: Herd) -> float:
    """How far from the icon a herd may lie, given it in one row; in a column it is no longer than that."""
    return max(herd.box.width, len(herd.places) * (ELEPHANT_HEIGHT + BALE_ROW + 3)) + FURTHEST


@lru_cache(maxsize=1024)
def _place_herd(
    board: Board, frame: Box, site: str, group: tuple[tuple[int, float], ...], herds: tuple[Box, ...]
) -> Herd:
    """The best place for a group at a site, beside the herds that are there. From move to move most herds stay."""
    drawn, hidden = arrange(board, frame), _all_hidden(board, frame)
    icon, widths = drawn.icons[site], dict(group)
    taken = [name.box for name in drawn.names.values()] + list(herds)
    best: tuple[float, Herd] | None = None
    for columns in range(1, len(group) + 1):
        shape = _rows(widths, columns, drawn.scale)
        width, height = shape.box.width, shape.box.height
        reach = max(width, height) + FURTHEST
        near = hidden.near(icon.grown(reach))
        names = [name for name in taken if name.shared(icon.grown(reach))]
        others = [other for other in near.icons if other != icon]
        for rank, box in enumerate(_beside(icon, width, height)):
            herd = _at(shape, box.within(drawn.frame))
            cost = rank + _unclear(herd, icon, others)
            if best is None or cost < best[0]:
                cost += near.cost(herd.box, names)
            if best is None or cost < best[0]:
                best = cost, herd
    assert best is not None
    return best[1]


@lru_cache(maxsize=64)
def _all_hidden(board: Board, frame: Box) -> "Hidden":
    drawn = arrange(board, frame)
    return _hidden(board, frame, drawn.icons, drawn.trails)


def _rows(group: Mapping[int, float], columns: int, scale: float) -> Herd:
    """Elephants in rows of so many, from the origin; a row in which none carries a bale is lower."""
    seats, places = sorted(group), {}
    scale *= 1.0 if len(seats) < CROWD else 0.85
    wide = max([ELEPHANT_WIDTH, *group.values()]) * scale + 3
    top = 0.0
    for first in range(0, len(seats), columns):
        row = seats[first : first + columns]
        height = (ELEPHANT_HEIGHT + (BALE_ROW if any(group[seat] for seat in row) else 0)) * scale + 3
        for place, seat in enumerate(row):
            places[seat] = Box(wide * place, top, wide * (place + 1), top + height)
        top += height
    return Herd(Box(0, 0, wide * min(columns, len(seats)), top), places, scale)


def _beside(icon: Box, width: float, height: float) -> Iterator[Box]:
    """Places for a herd around an icon: each side in five steps, near and a little further off."""
    for gap in (1.0, 16.0, FURTHEST):
        for step in (0.5, 0.25, 0.75, 0.0, 1.0):
            x = icon.left - width + step * (icon.width + width)
            y = icon.top - height + step * (icon.height + height)
            yield Box(x, icon.top - gap - height, x + width, icon.top - gap)
            yield Box(icon.left - gap - width, y, icon.left - gap, y + height)
            yield Box(icon.right + gap, y, icon.right + gap + width, y + height)
            yield Box(x, icon.bottom + gap, x + width, icon.bottom + gap + height)


def _unclear(herd: Herd, icon: Box, others: list[Box]) -> float:
    """What it costs that elephants stand off their site, the more where another site is nearer to them."""
    cost = 0.0
    for place in herd.places.values():
        own = _distance(place.centre, icon)
        nearest = min((_distance(place.centre, other) for other in others), default=own + CLEARLY)
        cost += PER_DISTANCE * own + UNCLEAR * max(0.0, own + CLEARLY - nearest)
    return cost


def _distance(point: Point, box: Box) -> float:
    x, y = box.nearest(point)
    return sqrt((point[0] - x) ** 2 + (point[1] - y) ** 2)


def _at(herd: Herd, box: Box) -> Herd:
    return Herd(box, {seat: _moved(place, box.left, box.top) for seat, place in herd.places.items()}, herd.scale)
