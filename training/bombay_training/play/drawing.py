"""The drawing of a board that is being drawn: every site at its own coordinates, so that a click can be read back."""

from typing import Final, NamedTuple

from bombay_env.board import SITE_COUNTS, Site, SiteKind
from bombay_env.render import shapes
from bombay_env.render.picture import document
from bombay_training.play.draft import Draft

SIZE: Final = 1000.0
MARGIN: Final = 60.0
FILLS: Final = {
    SiteKind.INNER_POST: "#f6d9a8",
    SiteKind.OUTER_POST: "#cfe3f7",
    SiteKind.PALACE_SITE: "#f3c6d3",
    SiteKind.OPEN_SITE: "#ffffff",
    SiteKind.CITY: shapes.STONE,
}
KINDS: Final = {
    SiteKind.START_HILL: "hilltop where all start",
    SiteKind.HILL: "other hilltops",
    SiteKind.CITY: "cities",
    SiteKind.INNER_POST: "inner posts",
    SiteKind.OUTER_POST: "outer posts",
    SiteKind.PALACE_SITE: "sites with a palace token",
    SiteKind.OPEN_SITE: "open sites",
}
ICON_ROOM: Final = (-33, -22, 33, 22)


class Frame(NamedTuple):
    """How coordinates of a board become those of the drawing."""

    left: float
    top: float
    scale: float
    height: float  # of the drawing

    def place(self, site: Site) -> tuple[float, float]:
        """Where a site stands in the drawing."""
        return MARGIN + (site.x - self.left) * self.scale, MARGIN + (site.y - self.top) * self.scale

    def read(self, x: float, y: float) -> tuple[float, float]:
        """The coordinates on the board of a place in the drawing; places outside it are moved to its edge."""
        x, y = min(max(x, 0.0), SIZE), min(max(y, 0.0), self.height)
        return self.left + (x - MARGIN) / self.scale, self.top + (y - MARGIN) / self.scale


def frame(draft: Draft) -> Frame:
    """A frame that holds all sites."""
    xs, ys = [site.x for site in draft.sites], [site.y for site in draft.sites]
    width, height = max(max(xs) - min(xs), 1e-9), max(max(ys) - min(ys), 1e-9)
    scale = min((SIZE - 2 * MARGIN) / width, (SIZE - 2 * MARGIN) / height)
    return Frame(min(xs), min(ys), scale, height * scale + 2 * MARGIN)


def draw(draft: Draft, at: Frame) -> str:
    """The draft as an SVG document. Sites have the attribute `data-site`, trails `data-trail`."""
    places = {site.name: at.place(site) for site in draft.sites}
    ground = shapes.rectangle(0, 0, SIZE, at.height, shapes.LAND, rx=14)
    roads = []
    for fill, width in ((shapes.ROAD_EDGE, 10.0), (shapes.ROAD, 6.0)):
        for one, other in draft.trails:
            (x, y), (u, v) = places[one], places[other]
            named = {"data_trail": f"{one} {other}"} if fill == shapes.ROAD else {}
            line = f"M{x:.1f},{y:.1f} L{u:.1f},{v:.1f}"
            roads.append(shapes.path(line, stroke=fill, stroke_width=width, stroke_linecap="round", **named))
    sites = [_site(site, *places[site.name]) for site in draft.sites]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE:g} {at.height:g}" font-family="{shapes.FONT}">'
    return "\n".join([head, ground, *roads, *sites, "</svg>\n"])


def legend() -> list[dict[str, str]]:
    """The sign of each kind of site as an SVG document, and in words what it is and how many a board has."""
    return [
        {"icon": document(shapes.group(0, 0, _sign(kind), scale=0.5), ICON_ROOM), "words": f"{words}: {_count(kind)}"}
        for kind, words in KINDS.items()
    ]


def _count(kind: SiteKind) -> str:
    return str(SITE_COUNTS.get(kind, "any number"))


def _sign(kind: SiteKind) -> str:
    """What marks a site of a kind, around the origin."""
    if kind in (SiteKind.HILL, SiteKind.START_HILL):
        return shapes.group(0, 0, shapes.hill(kind == SiteKind.START_HILL), scale=1.3)
    if kind == SiteKind.CITY:
        return shapes.rectangle(-60, -22, 120, 44, FILLS[kind], rx=6, stroke=shapes.HEADER, stroke_width=3)
    return shapes.circle(0, 0, 25, FILLS[kind], stroke=shapes.INK, stroke_width=2)


def _site(site: Site, x: float, y: float) -> str:
    hill = site.kind in (SiteKind.HILL, SiteKind.START_HILL)
    most, width = (18, 112) if site.kind == SiteKind.CITY else (19, 60 if hill else 44)
    words, size = shapes.fit(site.name, most, width, 7)
    name = shapes.label(0, 34 if hill else 0, words, size, font_weight="bold")
    return shapes.group(x, y, _sign(site.kind), name, data_site=site.name, data_kind=site.kind.label)
