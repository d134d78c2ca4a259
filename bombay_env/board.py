"""A board: sites of seven kinds, their coordinates for drawing, and the trails between them.

This module reads a board from a file or an object and rejects every board that RULES 9 does not allow. It does not know the game,
and it does not depend on any particular graph: the packaged board is a data file (`data/reconstruction.toml`), and
`random_board.py` draws random boards. Read `tables.py` next: it turns a board into arrays for the kernels.
"""

import json
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import resources
from os import PathLike
from typing import Annotated, Any, Literal

from pydantic import Field

from bombay_env import checks
from bombay_env.files.forms import Form, check
from bombay_env.files.reading import unreadable
from bombay_env.random_board import random_board

PACKAGED_FILE = "reconstruction.toml"
MAX_FILE_BYTES = 48 << 10  # enough for 64 sites with a trail between any two of them
MAX_DOTS = 130  # in a line of a file: 64 sites in one line have 128 decimal points
MAX_SITES = 64
MAX_TRAILS = MAX_SITES * (MAX_SITES - 1) // 2
MAX_SHOWN_NAME = 60  # characters of a name in an error message
MAX_SHOWN_NAMES = 200  # likewise of a list of names


class BoardError(ValueError):
    """A board is not valid. The message names the entry and what is wrong with it, in one line; entries count from 1."""

    def __init__(self, message: str) -> None:
        super().__init__(checks.message(str(message)))  # AsyncVectorEnv makes an error from the error itself


class SiteKind(IntEnum):
    """The kind of a site (RULES 1)."""

    START_HILL = 0
    HILL = 1
    CITY = 2
    INNER_POST = 3
    OUTER_POST = 4
    PALACE_SITE = 5
    OPEN_SITE = 6

    @property
    def label(self) -> str:
        """The name of the kind in board files, such as `start_hill`."""
        return self.name.lower()


KIND_OF_LABEL = {kind.label: kind for kind in SiteKind}
# The number of sites of a kind on every board (RULES 9). The other kinds may have any number of sites.
SITE_COUNTS = {
    SiteKind.START_HILL: 1,
    SiteKind.CITY: 4,
    SiteKind.INNER_POST: 4,
    SiteKind.OUTER_POST: 4,
    SiteKind.PALACE_SITE: 8,
}


class SiteForm(Form):
    """A site in a file (RULES 8)."""

    name: str
    kind: Literal["start_hill", "hill", "city", "inner_post", "outer_post", "palace_site", "open_site"]
    x: float
    y: float

    def site(self) -> "Site":
        """The site."""
        return Site(self.name, KIND_OF_LABEL[self.kind], self.x, self.y)


class BoardForm(Form):
    """A board in a file (RULES 8), or the beginning of one."""

    name: str
    sites: Annotated[list[SiteForm], Field(max_length=MAX_SITES)]
    trails: Annotated[list[Annotated[list[str], Field(min_length=2, max_length=2)]], Field(max_length=MAX_TRAILS)]


@dataclass(frozen=True)
class Site:
    """One site. `x` increases to the right and `y` downwards; only drawings use them, in any unit.

    Raises:
        BoardError: the name is empty or contains a space, a colon or an unprintable character.
    """

    name: str
    kind: SiteKind
    x: float
    y: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        for axis in ("x", "y"):  # by the only way to set a field of a frozen dataclass
            object.__setattr__(self, axis, float(getattr(self, axis)))


@dataclass(frozen=True)
class Board:
    """A valid board. It is checked on construction, immutable and hashable.

    Raises:
        BoardError: RULES 9 does not allow this board.
    """

    name: str
    sites: tuple[Site, ...]
    trails: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_sites(self.sites)
        _check_trails(self.trails, self.sites)
        _check_connected(self.trails, self.sites)

    @classmethod
    def load(cls, path: str | PathLike[str] | None = None) -> "Board":
        """Read a board from a TOML file. If `path` is None, return the packaged board.

        Raises:
            BoardError: the file cannot be read, is not TOML in UTF-8, or does not contain a valid board. The message starts
                with the path.
        """
        return _packaged() if path is None else cls.from_dict(read_toml(path), str(path))

    @classmethod
    def from_dict(cls, data: Any, source: str = "board") -> "Board":
        """Read a board from the object form of RULES 8.

        Args:
            data: a dict with the keys `name`, `sites` and `trails`; it is not changed.
            source: where the board comes from; error messages start with it.

        Raises:
            BoardError: `data` does not have that form, or is not a valid board.
        """
        source = checks.shown_path(source)
        try:
            form = check(BoardForm, data, source)
        except ValueError as error:
            raise BoardError(str(error)) from None
        try:
            return cls(form.name, tuple(one.site() for one in form.sites), tuple((a, b) for a, b in form.trails))
        except BoardError as error:
            raise BoardError(f"{source}: {error}") from None

    @classmethod
    def random(cls, seed: int) -> "Board":
        """Draw a random board similar to the packaged one, named `random-<seed>`. A seed gives the same board on every machine.

        Its trails are straight and do not cross. Every path from a trading post to a city passes a site where a palace can
        stand.

        Raises:
            ValueError: `seed` is not a whole number from 0 to 2**64 − 1.
        """
        seed = checks.seed(seed, "the seed of a random board")
        return cls.from_dict(random_board(seed), f"random-{seed}")

    def to_dict(self) -> dict[str, Any]:
        """Return the object form of RULES 8 in plain JSON types. `from_dict` turns it back into an equal board."""
        sites = [{"name": site.name, "kind": site.kind.label, "x": site.x, "y": site.y} for site in self.sites]
        return {"name": self.name, "sites": sites, "trails": [list(trail) for trail in self.trails]}

    @property
    def num_sites(self) -> int:
        """The number of sites, at most 64."""
        return len(self.sites)

    @property
    def is_packaged(self) -> bool:
        """Whether this board equals the packaged one."""
        return self == _packaged()

    def site_index(self, name: str) -> int:
        """Return the index in `sites` of the site with this name.

        Raises:
            ValueError: no site has this name.
        """
        for index, site in enumerate(self.sites):
            if site.name == name:
                return index
        raise ValueError(f"board {_quote(self.name)} has no site {_quote(name)}")

    def sites_of(self, kind: SiteKind) -> tuple[int, ...]:
        """Return the indices in `sites` of all sites of this kind, in ascending order."""
        return tuple(index for index, site in enumerate(self.sites) if site.kind == kind)


def read_toml(path: str | PathLike[str]) -> dict[str, Any]:
    """The content of a TOML file that may be a board. Whether it is one is for `Board.from_dict` to check.

    Raises:
        BoardError: the file cannot be read, is too large, or is not TOML in UTF-8. The message starts with the path.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise BoardError(unreadable(path, error)) from None
    return _parsed(content, checks.shown_path(path))


@cache
def _packaged() -> Board:
    file = resources.files("bombay_env").joinpath("data", PACKAGED_FILE)
    return Board.from_dict(_parsed(file.read_bytes(), PACKAGED_FILE), PACKAGED_FILE)


def _parsed(content: bytes, where: str) -> dict[str, Any]:
    if len(content) > MAX_FILE_BYTES:
        raise BoardError(f"{where}: the file is too large; at most {MAX_FILE_BYTES} bytes are allowed")
    # `tomllib` takes long for a key of many parts.
    if max(line.count(b".") for line in content.split(b"\n")) > MAX_DOTS:
        raise BoardError(f"{where}: a line has more than {MAX_DOTS} full stops")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))  # some editors begin a file with a byte order mark
    except RecursionError:
        raise BoardError(f"{where}: not a board: the TOML is nested too deeply") from None
    except ValueError as error:  # UnicodeDecodeError is one
        raise BoardError(f"{where}: not TOML: {checks.one_line(str(error))}") from None


def _check_name(name: str) -> None:
    if not name or " " in name or ":" in name or not name.isprintable():
        raise BoardError(f"name {_quote(name)} is empty or contains a space, a colon or an unprintable character")


def _check_sites(sites: tuple[Site, ...]) -> None:
    if len(sites) > MAX_SITES:
        raise BoardError(f"{len(sites)} sites; at most {MAX_SITES} are allowed")
    numbers: dict[str, int] = {}
    for number, site in enumerate(sites, 1):
        if site.name in numbers:
            raise BoardError(f"{_site_entry(number, site.name)}: site {numbers[site.name]} has the same name")
        numbers[site.name] = number
    for kind, count in SITE_COUNTS.items():
        names = [_quote(site.name) for site in sites if site.kind == kind]
        if len(names) != count:
            listed = f" ({checks.one_line(', '.join(names), MAX_SHOWN_NAMES)})" if names else ""
            found = f"{len(names)} of kind {kind.label}{listed}"
            raise BoardError(f"sites: {found}; must be {count}")


def _check_trails(trails: tuple[tuple[str, str], ...], sites: tuple[Site, ...]) -> None:
    known = {site.name for site in sites}
    numbers: dict[frozenset[str], int] = {}
    for number, trail in enumerate(trails, 1):
        entry = f"trail {number} ({_quote(trail[0])}, {_quote(trail[1])})"
        for name in trail:
            if name not in known:
                raise BoardError(f"{entry}: unknown site {_quote(name)}")
        if trail[0] == trail[1]:
            raise BoardError(f"{entry}: a trail must join two different sites")
        first = numbers.setdefault(frozenset(trail), number)
        if first != number:
            raise BoardError(f"{entry}: already listed as trail {first}")


def _check_connected(trails: tuple[tuple[str, str], ...], sites: tuple[Site, ...]) -> None:
    adjacent: dict[str, list[str]] = {site.name: [] for site in sites}
    for one, other in trails:
        adjacent[one].append(other)
        adjacent[other].append(one)
    start = next(site.name for site in sites if site.kind == SiteKind.START_HILL)
    reached = [start]
    for name in reached:  # the list grows during this loop
        reached += [neighbour for neighbour in adjacent[name] if neighbour not in reached]
    for number, site in enumerate(sites, 1):
        if site.name not in reached:
            raise BoardError(f"{_site_entry(number, site.name)}: cannot be reached from {_quote(start)}")


def _site_entry(number: int, name: str) -> str:
    return f"site {number} ({_quote(name)})"


def _quote(text: str) -> str:
    """A string from a file as error messages show it: on one line, and shortened if it is long."""
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    quoted = json.dumps(shown, ensure_ascii=not shown.isprintable())
    return checks.one_line(quoted, MAX_SHOWN_NAME)  # an escaped letter takes up to 12 characters
