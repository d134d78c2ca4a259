"""Random boards that resemble the packaged one, as plain data.

This module knows geometry and the 24 sites of RULES 1. It draws random points, assigns a site to each point, and joins the
sites by straight trails that do not cross. It does not know what makes a board valid (RULES 9): `board.py` checks these boards
like any other. All coordinates and lengths are whole numbers, in tenths of the board's unit, so that a seed gives the same
board on every machine.
"""

from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np

# The sites of the packaged board, in its order.
KINDS = (
    {"A": "start_hill", "B": "hill"}
    | dict.fromkeys(("Bombay", "Indore", "Nagpur", "Hyderabad"), "city")
    | {f"E{i}": "inner_post" for i in range(1, 5)}
    | {f"F{i}": "outer_post" for i in range(1, 5)}
    | {f"G{i}": "palace_site" for i in range(1, 9)}
    | {f"H{i}": "open_site" for i in range(1, 3)}
)
OUTER, CITIES, INNER = (
    [name for name, kind in KINDS.items() if kind == end] for end in ("outer_post", "city", "inner_post")
)
# Posts and cities are the ends of trade routes. No trail joins two ends, so every path from a post to a city passes a site
# where a palace can stand.
ENDS = frozenset(OUTER + CITIES + INNER)

# Lengths in tenths; the board is 1000 wide and high.
LOWEST, HIGHEST = 40, 960  # coordinates
CENTRE = (500, 500)
GAP = 140  # minimum distance between two sites
CLEARANCE = 80  # minimum distance between a trail and a site that it does not join
LONGEST = 380  # maximum length of a trail
SPREAD = 300  # ends need not be further apart than this
FEWEST_TRAILS, MOST_TRAILS = 37, 41
MOST_DARTS = 2000  # random points tried in one attempt to place the sites
MOST_ATTEMPTS = 1000  # about one in five succeeds

Point = tuple[int, int]
Places = dict[str, Point]
Trail = tuple[str, str]


def random_board(seed: int) -> dict[str, Any]:
    """Draw the board of a seed from 0 to 2**64 − 1, named `random-<seed>`, in the object form of RULES 8."""
    rng = np.random.Generator(np.random.PCG64(seed))
    for _ in range(MOST_ATTEMPTS):
        points = _scatter(rng)
        if len(points) < len(KINDS):
            continue
        places = _assign(points, rng)
        trails = _join(places, rng)
        if len(trails) < FEWEST_TRAILS or not _suffices(trails):
            continue
        trails = _thin(trails, rng)
        sites = [{"name": n, "kind": kind, "x": places[n][0] / 10, "y": places[n][1] / 10} for n, kind in KINDS.items()]
        return {
            "name": f"random-{seed}",
            "sites": sites,
            "trails": [list(pair) for pair in combinations(KINDS, 2) if pair in trails],
        }
    # No known seed gets here. If one does, it gets the board of seed 0, which needs few attempts.
    return random_board(0) | {"name": f"random-{seed}"}


def _scatter(rng: np.random.Generator) -> list[Point]:
    """Draw 24 random points that are at least GAP apart, or fewer if too many draws are rejected."""
    points: list[Point] = []
    for _ in range(MOST_DARTS):
        dart = (LOWEST + _below(rng, HIGHEST - LOWEST + 1), LOWEST + _below(rng, HIGHEST - LOWEST + 1))
        if all(_distance(dart, point) >= GAP for point in points):
            points.append(dart)
        if len(points) == len(KINDS):
            break
    return points


def _assign(points: list[Point], rng: np.random.Generator) -> Places:
    """Assign a site to each point: A at the centre, inner posts near A, outer posts far out, all ends spread evenly."""
    free = sorted(points, key=lambda point: _distance(point, CENTRE))
    places = {"A": free.pop(0)}
    for outward, names in ((1, OUTER), (-1, INNER), (0, CITIES)):
        for name in names:
            ends = [place for site, place in places.items() if site in ENDS]
            scores = [
                min([SPREAD, *(_distance(point, end) for end in ends)])
                + outward * _distance(point, CENTRE)
                + _below(rng, 100)
                for point in free
            ]
            places[name] = free.pop(scores.index(max(scores)))
    # The remaining points are still sorted by distance from the centre; B gets one of the nearest.
    places["B"] = free.pop(_below(rng, 4))
    for name in KINDS:
        if name not in places:
            places[name] = free.pop(_below(rng, len(free)))
    return places


def _join(places: Places, rng: np.random.Generator) -> list[Trail]:
    """Add every trail that crosses no earlier trail; short trails, and trails with an end, tend to come first."""
    costs: dict[Trail, int] = {}
    for pair in combinations(KINDS, 2):
        length = _distance(places[pair[0]], places[pair[1]])
        if length <= LONGEST and not ENDS.issuperset(pair) and _is_clear(pair, places):
            costs[pair] = length * (70 + _below(rng, 60)) * (2 if ENDS.isdisjoint(pair) else 1)
    trails: list[Trail] = []
    for pair in sorted(costs, key=costs.__getitem__):
        if not any(_cross(pair, trail, places) for trail in trails):
            trails.append(pair)
    return trails


def _thin(trails: list[Trail], rng: np.random.Generator) -> list[Trail]:
    """Remove trails, the last added first, while the others suffice and there are more than a number drawn at random."""
    wanted = FEWEST_TRAILS + _below(rng, MOST_TRAILS - FEWEST_TRAILS + 1)
    for trail in reversed(trails):
        rest = [other for other in trails if other != trail]
        if len(rest) >= wanted and _suffices(rest):
            trails = rest
    return trails


def _suffices(trails: list[Trail]) -> bool:
    """Whether the sites are connected, each has at least two trails, and A has at least three, one of them to an inner post."""
    adjacent: dict[str, list[str]] = {name: [] for name in KINDS}
    for a, b in trails:
        adjacent[a].append(b)
        adjacent[b].append(a)
    reached = ["A"]
    for name in reached:
        reached += [other for other in adjacent[name] if other not in reached]
    return (
        len(reached) == len(KINDS)
        and all(len(others) >= 2 for others in adjacent.values())
        and len(adjacent["A"]) >= 3
        and any(name in adjacent["A"] for name in INNER)
    )


def _is_clear(pair: Trail, places: Places) -> bool:
    """Whether every other site is at least CLEARANCE away from the straight line between the two."""
    a, b = places[pair[0]], places[pair[1]]
    length = _distance(a, b)
    for name, (x, y) in places.items():
        if name not in pair:
            along = (x - a[0]) * (b[0] - a[0]) + (y - a[1]) * (b[1] - a[1])
            if 0 < along < length * length and abs(_turn(a, b, (x, y))) < CLEARANCE * length:
                return False
    return True


def _cross(one: Trail, other: Trail, places: Places) -> bool:
    """Whether two clear trails cross. Clear trails that do not cross do not touch or overlap either."""
    a, b, c, d = (places[name] for name in one + other)
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def _turn(a: Point, b: Point, c: Point) -> int:
    """Twice the signed area of the triangle a, b, c; the sign tells on which side of the line from a to b the point c lies."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _distance(a: Point, b: Point) -> int:
    """The distance in whole tenths, rounded down."""
    return isqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)


def _below(rng: np.random.Generator, number: int) -> int:
    """Draw a whole number from 0 to `number` − 1."""
    return int(rng.random() * number)
