"""The drawing of a board that is being drawn: every site at its own coordinates, so that a click can be read back."""

from typing import Any, Final, NamedTuple

from bombay_env.board import Site, SiteKind
from bombay_env.render import shapes
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


def _site(site: Site, x: float, y: float) -> str:
    told: dict[str, Any] = {"data_site": site.name, "data_kind": site.kind.label}
    if site.kind in (SiteKind.HILL, SiteKind.START_HILL):
        shape = shapes.hill(x, y, site.kind == SiteKind.START_HILL, 1.3)
        return shapes.group(0, 0, shape, _label(x, y + 34, site.name, 60), **told)
    if site.kind == SiteKind.CITY:
        words, size = shapes.fit(site.name, 18, 112, 9)
        wall = shapes.rectangle(x - 60, y - 22, 120, 44, FILLS[site.kind], rx=6, stroke=shapes.HEADER, stroke_width=3)
        return shapes.group(0, 0, wall, shapes.label(x, y, words, size, font_weight="bold"), **told)
    disc = shapes.circle(x, y, 25, FILLS[site.kind], stroke=shapes.INK, stroke_width=2)
    return shapes.group(0, 0, disc, _label(x, y, site.name, 44), **told)


def _label(x: float, y: float, name: str, width: float) -> str:
    words, size = shapes.fit(name, 19, width, 7)
    return shapes.label(x, y, words, size, font_weight="bold")
