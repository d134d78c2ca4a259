"""Where things stand on the drawn map: sites, trails, names and elephants, so that little hides anything else.

Knows boards and rectangles; neither SVG nor the state of a game. Sites, trails and names depend on the board alone, so they
stay where they are from move to move; elephants then take the free room beside their site.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import sqrt
from typing import Final, NamedTuple

import numpy as np

from bombay_env.board import Board, SiteKind
from bombay_env.render.shapes import ELEPHANT_HEIGHT, ELEPHANT_WIDTH, fit, text_width

Point = tuple[float, float]

NAME_SIZE: Final = 14.5
CITY_WIDTH, CITY_HEIGHT, CITY_HEAD = 94.0, 98.0, 24.0
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
STEPS: Final = 48  # a trail is known by its ends and the points between so many steps
CROWD: Final = 4  # elephants on one site that are drawn smaller

# What a bad place costs: for each square unit hidden, for each point of a trail, and for each place that is tried before it.
HIDES_CITY, HIDES_ICON, HIDES_NAME, HIDES_TRAIL, LESS_LIKED = 100, 10, 6, 16, 3


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

    def moved(self, dx: float, dy: float) -> "Box":
        """The box elsewhere."""
        return Box(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)

    def within(self, frame: "Box") -> "Box":
        """The box moved into the frame; its upper left corner where it is too large."""
        dx = max(min(0.0, frame.right - self.right), frame.left - self.left)
        dy = max(min(0.0, frame.bottom - self.bottom), frame.top - self.top)
        return Box(self.left + dx, self.top + dy, self.right + dx, self.bottom + dy)


MAP_BOX: Final = Box(16, 128, 668, 788)  # of the map on the page
FRAME: Final = Box(MAP_BOX.left + 8, MAP_BOX.top + 14, MAP_BOX.right - 8, MAP_BOX.bottom - 8)  # of what stands on it


class Trail(NamedTuple):
    """A trail as a quadratic curve between the centres of two icons, bent where another site is in the way.

    Attributes:
        bend: its control point.
        points: (STEPS + 1, 2) float64 points along it, its ends among them.
    """

    bend: Point
    points: np.ndarray


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
        scale: of the icons; below 1 on boards with many sites.
        centres: of the icons, by site.
        icons: the room that a site's icon takes, whatever stands there.
        trails: in the board's order.
        names: by site.
    """

    scale: float
    centres: Mapping[str, Point]
    icons: Mapping[str, Box]
    trails: tuple[Trail, ...]
    names: Mapping[str, Name]


@lru_cache(maxsize=64)
def arrange(board: Board) -> Map:
    """Lay out a board in `FRAME`. The board's extent is stretched to it, then icons that overlap are moved apart."""
    scale = max(SMALLEST, min(1.0, sqrt(ROOMY / board.num_sites)))
    boxes = _spread(_project(board, scale), GAP * scale)
    icons = {site.name: box for site, box in zip(board.sites, boxes, strict=True)}
    centres = {
        site.name: (icons[site.name].centre[0], icons[site.name].top + _EXTENTS[site.kind][1] * scale)
        for site in board.sites
    }
    trails = []
    for a, b in board.trails:
        others = [box.grown(2) for name, box in icons.items() if name not in (a, b)]
        bowed = [_bowed(centres[a], centres[b], bow) for bow in BOWS]
        trails.append(min(bowed, key=lambda trail: _inside(trail.points, others).sum()))
    return Map(scale, centres, icons, tuple(trails), _place_names(board, scale, icons, trails))


# --- sites and trails ---


def _project(board: Board, scale: float) -> list[Box]:
    """Each site's icon where its coordinates put it; width and height are stretched apart from each other."""
    inner = FRAME.grown(-30 * scale)
    xs, ys = (_shares([getattr(site, axis) for site in board.sites]) for axis in "xy")
    boxes = []
    for site, x, y in zip(board.sites, xs, ys, strict=True):
        half, above, below = (scale * extent for extent in _EXTENTS[site.kind])
        if site.kind == SiteKind.CITY:
            half = scale * max(CITY_WIDTH, min(MAX_NAME, text_width(site.name, NAME_SIZE) + 12)) / 2
        across, down = inner.left + x * inner.width, inner.top + y * inner.height
        boxes.append(Box(across - half, down - above, across + half, down + below).within(FRAME))
    return boxes


def _shares(values: list[float]) -> list[float]:
    """Coordinates as shares of their extent; all in the middle where they have none. No float is too large for it."""
    unit = max(map(abs, values)) or 1.0
    scaled = [value / unit for value in values]
    low, extent = min(scaled), max(scaled) - min(scaled)
    return [(value - low) / extent if extent else 0.5 for value in scaled]


def _spread(boxes: list[Box], gap: float) -> list[Box]:
    """Move boxes apart, each pair along the way that is shorter, until none overlap or the rounds are over."""
    for push in range(MAX_PUSHES):
        near = [pair for pair in combinations(range(len(boxes)), 2) if min(_lacking(boxes, *pair, gap)) > 0.01]
        if not near:
            break
        for one, other in near:
            (x, y), (u, v) = boxes[one].centre, boxes[other].centre
            dx, dy = _lacking(boxes, one, other, gap)
            if not 30 < push % 60 < 40:  # at times along both ways, which frees boxes that block each other
                dx, dy = (dx, 0.0) if dx <= dy else (0.0, dy)
            dx, dy = (dx / 2 if x > u else -dx / 2), (dy / 2 if y > v else -dy / 2)
            boxes[one] = boxes[one].moved(dx, dy).within(FRAME)
            boxes[other] = boxes[other].moved(-dx, -dy).within(FRAME)
    return boxes


def _lacking(boxes: list[Box], one: int, other: int, gap: float) -> Point:
    """How much two boxes are too near, across and down; they are apart if either is not positive."""
    a, b = boxes[one], boxes[other]
    (x, y), (u, v) = a.centre, b.centre
    return (a.width + b.width) / 2 + gap - abs(x - u), (a.height + b.height) / 2 + gap - abs(y - v)


def _bowed(start: Point, end: Point, bow: float) -> Trail:
    """A trail that bends aside by `bow`; its control point lies twice as far out."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    bend = ((start[0] + end[0]) / 2 - 2 * bow * dy, (start[1] + end[1]) / 2 + 2 * bow * dx)
    share = np.linspace(0, 1, STEPS + 1)[:, None]
    points = (1 - share) ** 2 * start + 2 * share * (1 - share) * np.array(bend) + share**2 * end
    return Trail(bend, points)


# --- free places ---


def _inside(points: np.ndarray, boxes: Sequence[Box]) -> np.ndarray:
    """How many of the (p, 2) points lie in each box, (k,)."""
    corners = np.array(boxes).reshape(-1, 1, 4)
    inside = np.asarray(((corners[:, :, :2] < points) & (points < corners[:, :, 2:])).all(axis=2))
    return np.asarray(inside.sum(axis=1), np.int64)


def _shared(boxes: Sequence[Box], others: Sequence[Box]) -> np.ndarray:
    """The areas in both of two boxes, (k, m) in whole units."""
    a, b = np.array(boxes).reshape(-1, 1, 4), np.array(others).reshape(1, -1, 4)
    sides = np.minimum(a[:, :, 2:], b[:, :, 2:]) - np.maximum(a[:, :, :2], b[:, :, :2])
    return np.asarray(np.rint(np.maximum(sides, 0).prod(axis=2)), np.int64)


class _Taken(NamedTuple):
    """What a name or a herd may hide."""

    cities: list[Box]
    icons: list[Box]
    names: list[Box]
    points: np.ndarray  # of trails

    def freest(self, places: Sequence[Box]) -> int:
        """The place that hides least; of those that hide the same, one of the first."""
        cost = LESS_LIKED * np.arange(len(places)) + HIDES_TRAIL * _inside(self.points, places)
        for weight, boxes in ((HIDES_CITY, self.cities), (HIDES_ICON, self.icons), (HIDES_NAME, self.names)):
            cost += weight * _shared(places, boxes).sum(axis=1)
        return int(cost.argmin())


def _taken(board: Board, icons: Mapping[str, Box], trails: Sequence[Trail], names: list[Box]) -> _Taken:
    cities = [icons[board.sites[site].name] for site in board.sites_of(SiteKind.CITY)]
    return _Taken(cities, list(icons.values()), names, np.concatenate([trail.points for trail in trails]))


def _beside(icon: Box, width: float, height: float) -> Iterator[Box]:
    """Places for a box around an icon, from the middle of each side to its ends."""
    for step in (0.5, 0.25, 0.75, 0.0, 1.0):
        x = icon.left - width + step * (icon.width + width)
        y = icon.top - height + step * (icon.height + height)
        corners = ((x, icon.bottom + 1), (icon.right + 1, y), (icon.left - 1 - width, y), (x, icon.top - 1 - height))
        yield from (Box(left, top, left + width, top + height).within(FRAME) for left, top in corners)


# --- names ---


def _place_names(board: Board, scale: float, icons: Mapping[str, Box], trails: Sequence[Trail]) -> dict[str, Name]:
    """Names on plates beside their icons, on the side where they hide least; those of cities in the heads of their walls."""
    names: dict[str, Name] = {}
    for site in board.sites:
        icon = icons[site.name]
        if site.kind == SiteKind.CITY:
            words, size = fit(site.name, NAME_SIZE * scale, icon.width - 8 * scale, 9 * scale)
            names[site.name] = Name(Box(icon.left, icon.top, icon.right, icon.top + CITY_HEAD * scale), words, size)
            continue
        size = max(NAME_SIZE * scale, 11.0)
        words, size = fit(site.name, size, MAX_NAME * scale, 0.7 * size)
        places = list(_beside(icon, text_width(words, size) + 8, size + 4))
        taken = _taken(board, icons, trails, [name.box for name in names.values()])
        names[site.name] = Name(places[taken.freest(places)], words, size)
    return names


# --- elephants ---


def place_herds(board: Board, groups: Mapping[str, Mapping[int, float]]) -> dict[str, Herd]:
    """Places for all elephants, the largest group first.

    Args:
        board: where they stand.
        groups: for each site with elephants, by seat, how wide the bales on each one's back are; 0 without bales.

    Returns:
        By site, boxes beside its icon that hide as little as possible: no city's plate while there is any other room.
    """
    herds: dict[str, Herd] = {}
    for site in sorted(groups, key=lambda site: -len(groups[site])):
        others = tuple(herd.box for herd in herds.values())
        herds[site] = _place_herd(board, site, tuple(sorted(groups[site].items())), others)
    return herds


@lru_cache(maxsize=1024)
def _place_herd(board: Board, site: str, group: tuple[tuple[int, float], ...], herds: tuple[Box, ...]) -> Herd:
    """The best place for a group at a site, beside the herds that are there. From move to move most herds stay."""
    drawn, places, shapes = arrange(board), [], []
    for columns in range(len(group), 0, -1):
        shape = _rows(dict(group), columns, drawn.scale)
        beside = list(_beside(drawn.icons[site], shape.box.width, shape.box.height))
        places += beside
        shapes += [shape] * len(beside)
    names = [name.box for name in drawn.names.values()]
    best = _taken(board, drawn.icons, drawn.trails, [*names, *herds]).freest(places)
    box, shape = places[best], shapes[best]
    return Herd(box, {seat: place.moved(box.left, box.top) for seat, place in shape.places.items()}, shape.scale)


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
