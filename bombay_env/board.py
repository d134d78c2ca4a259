"""A board: sites of seven kinds, each with a place to draw it, and the trails between them.

This module reads a board from a file or an object and refuses every one that RULES 9 does not allow. It knows neither
what is played on a board nor one particular graph: the packaged board is data (`data/reconstruction.toml`), and random
ones are drawn in `random_board.py`. Read next `tables.py`, which makes arrays of a board for the kernels.
"""

import json
import math
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from bombay_env.random_board import random_board

PACKAGED_FILE = "reconstruction.toml"
MAX_FILE_BYTES = 1 << 20  # many times what the largest board needs
MAX_SITES = 64


class BoardError(ValueError):
    """A board is refused; the message says in one line what is wrong with which entry, counting entries from 1."""


class SiteKind(IntEnum):
    """What a site is for (RULES 1)."""

    START_HILL = 0
    HILL = 1
    CITY = 2
    INNER_POST = 3
    OUTER_POST = 4
    PALACE_SITE = 5
    OPEN_SITE = 6

    @property
    def label(self) -> str:
        """The kind as board files spell it, such as `start_hill`."""
        return self.name.lower()


KIND_OF_LABEL = {kind.label: kind for kind in SiteKind}
# How many sites of a kind a board has (RULES 9); of the other kinds, any number.
SITE_COUNTS = {
    SiteKind.START_HILL: 1,
    SiteKind.CITY: 4,
    SiteKind.INNER_POST: 4,
    SiteKind.OUTER_POST: 4,
    SiteKind.PALACE_SITE: 8,
}


@dataclass(frozen=True)
class Site:
    """One site; to draw it, `x` runs right and `y` down, in a unit of the board's own.

    Raises:
        BoardError: the name is empty or has a space, a colon or anything unprintable in it, a coordinate is not finite,
            or a field is of another type.
    """

    name: str
    kind: SiteKind
    x: float
    y: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not isinstance(self.kind, SiteKind):
            raise BoardError(f"kind must be a SiteKind, not {_type(self.kind)}")
        object.__setattr__(self, "x", _coordinate("x", self.x))
        object.__setattr__(self, "y", _coordinate("y", self.y))


@dataclass(frozen=True)
class Board:
    """A valid board: hashable, never changed, and checked when it is made.

    Raises:
        BoardError: the board is not one that RULES 9 allows.
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
        """Read a board file in TOML, or without `path` the packaged board.

        Raises:
            BoardError: the file cannot be read, is not TOML in UTF-8, or holds no valid board; the message starts with
                the path.
        """
        if path is None:
            return _packaged()
        try:
            with Path(path).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (OSError, ValueError) as error:  # ValueError: a null character in the path
            raise BoardError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
        return _from_toml(content, str(path))

    @classmethod
    def from_dict(cls, data: Any, source: str = "board") -> "Board":
        """Read a board in the object form of RULES 8.

        Args:
            data: a dict of `name`, `sites` and `trails`, unchanged.
            source: where the board comes from; messages start with it.
        Raises:
            BoardError: `data` is not of that form, or is not a valid board.
        """
        try:
            _check_keys(data, ("name", "sites", "trails"))
            sites = tuple(_read_site(number, entry) for number, entry in enumerate(_list(data, "sites"), 1))
            trails = tuple(tuple(entry) if isinstance(entry, list) else entry for entry in _list(data, "trails"))
            return cls(data["name"], sites, trails)
        except BoardError as error:
            raise BoardError(f"{source}: {error}") from None

    @classmethod
    def random(cls, seed: int) -> "Board":
        """Draw a board in the manner of the packaged one, named `random-<seed>`; the same for a seed everywhere.

        Its straight trails do not cross, and every way from a post to a city crosses a site where a palace can stand.

        Raises:
            ValueError: `seed` is not an integer in 0…2**64-1.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
            raise ValueError("the seed of a random board must be an integer in 0…2**64-1")
        return cls.from_dict(random_board(int(seed)), f"random-{seed}")

    def to_dict(self) -> dict[str, Any]:
        """Return the object form of RULES 8, in plain JSON types; `from_dict` makes an equal board of it."""
        sites = [{"name": site.name, "kind": site.kind.label, "x": site.x, "y": site.y} for site in self.sites]
        return {"name": self.name, "sites": sites, "trails": [list(trail) for trail in self.trails]}

    @property
    def num_sites(self) -> int:
        """How many sites there are, at most 64."""
        return len(self.sites)

    @property
    def is_packaged(self) -> bool:
        """Whether this board equals the packaged one."""
        return self == _packaged()

    def site_index(self, name: str) -> int:
        """Return the place in `sites` of the site of this name.

        Raises:
            ValueError: no site has this name.
        """
        for index, site in enumerate(self.sites):
            if site.name == name:
                return index
        raise ValueError(f"board {_quote(self.name)} has no site {_quote(name)}")

    def sites_of(self, kind: SiteKind) -> tuple[int, ...]:
        """Return the places in `sites` of all sites of this kind, ascending."""
        return tuple(index for index, site in enumerate(self.sites) if site.kind == kind)


@cache
def _packaged() -> Board:
    file = resources.files("bombay_env").joinpath("data", PACKAGED_FILE)
    return _from_toml(file.read_bytes(), PACKAGED_FILE)


def _from_toml(content: bytes, source: str) -> Board:
    if len(content) > MAX_FILE_BYTES:
        raise BoardError(f"{source}: larger than {MAX_FILE_BYTES} bytes")
    try:
        data = tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise BoardError(f"{source}: not UTF-8: {error.reason} at byte {error.start}") from error
    except ValueError as error:
        raise BoardError(f"{source}: not TOML: {error}") from error
    except RecursionError as error:
        raise BoardError(f"{source}: not TOML of a board: nested too deeply") from error
    return Board.from_dict(data, source)


def _read_site(number: int, entry: Any) -> Site:
    name = entry.get("name") if isinstance(entry, dict) else None
    try:
        _check_keys(entry, ("name", "kind", "x", "y"))
        label = entry["kind"]
        if not isinstance(label, str):
            raise BoardError(f"kind must be a text, not {_type(label)}")
        if label not in KIND_OF_LABEL:
            raise BoardError(f"unknown kind {_quote(label)}; the kinds are {', '.join(KIND_OF_LABEL)}")
        return Site(entry["name"], KIND_OF_LABEL[label], entry["x"], entry["y"])
    except BoardError as error:
        raise BoardError(f"{_site_entry(number, name)}: {error}") from None


def _check_sites(sites: Any) -> None:
    if not isinstance(sites, tuple) or not all(isinstance(site, Site) for site in sites):
        raise BoardError("sites must be a tuple of Site")
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
            found = f"{len(names)} of kind {kind.label}" + (f" ({', '.join(names)})" if names else "")
            raise BoardError(f"sites: {found}; must be {count}")


def _check_trails(trails: Any, sites: tuple[Site, ...]) -> None:
    if not isinstance(trails, tuple):
        raise BoardError("trails must be a tuple of pairs of site names")
    known = {site.name for site in sites}
    numbers: dict[frozenset[str], int] = {}
    for number, trail in enumerate(trails, 1):
        if not (isinstance(trail, tuple) and len(trail) == 2 and all(isinstance(name, str) for name in trail)):
            raise BoardError(f"trail {number}: must be a pair of site names")
        entry = f"trail {number} ({_quote(trail[0])}, {_quote(trail[1])})"
        for name in trail:
            if name not in known:
                raise BoardError(f"{entry}: unknown site {_quote(name)}")
        if trail[0] == trail[1]:
            raise BoardError(f"{entry}: joins a site to itself")
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
    for name in reached:  # grows while it is walked through
        reached += [neighbour for neighbour in adjacent[name] if neighbour not in reached]
    for number, site in enumerate(sites, 1):
        if site.name not in reached:
            raise BoardError(f"{_site_entry(number, site.name)}: cannot be reached from {_quote(start)}")


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise BoardError(f"name must be a text, not {_type(name)}")
    if not name:
        raise BoardError("name is empty")
    if " " in name or ":" in name or not name.isprintable():
        raise BoardError(f"name {_quote(name)} has a space, a colon or an unprintable character in it")


def _check_keys(entry: Any, keys: tuple[str, ...]) -> None:
    if not isinstance(entry, dict):
        raise BoardError(f"must be an object with {', '.join(keys)}, not {_type(entry)}")
    for key in entry:
        if key not in keys:
            raise BoardError(f"unknown key {_quote(key) if isinstance(key, str) else _type(key)}")
    for key in keys:
        if key not in entry:
            raise BoardError(f"no {_quote(key)}")


def _list(data: dict[str, Any], key: str) -> list[Any] | tuple[Any, ...]:
    entries = data[key]
    if not isinstance(entries, list | tuple):
        raise BoardError(f"{key} must be a list, not {_type(entries)}")
    return entries


def _coordinate(axis: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BoardError(f"{axis} must be a number, not {_type(value)}")
    try:
        number = float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf
    if not math.isfinite(number):
        raise BoardError(f"{axis} must be finite")
    return number


def _site_entry(number: int, name: Any) -> str:
    return f"site {number} ({_quote(name)})" if isinstance(name, str) else f"site {number}"


def _type(value: Any) -> str:
    return type(value).__name__


def _quote(text: str) -> str:
    """Show a text from a file in a message: on one line, and cut where it is very long."""
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
