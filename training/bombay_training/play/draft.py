"""A board that is being drawn: its sites, and the trails entered so far. It may not be a valid board yet (RULES 9)."""

import dataclasses
from pathlib import Path
from typing import Any, Final, Self

from bombay_env import Board, checks
from bombay_env.board import MAX_FILE_BYTES, MAX_SITES, BoardError, BoardForm, Site, read_toml
from bombay_env.files import atomic
from bombay_env.files.forms import check

DECIMALS: Final = 1  # of coordinates


@dataclasses.dataclass(frozen=True)
class Draft:
    """Sites and trails. Changes give a new draft.

    Raises:
        BoardError: a site is not valid, two have the same name, or a trail does not join two different known sites.
    """

    name: str
    sites: tuple[Site, ...]
    trails: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        names = [site.name for site in self.sites]
        if not 1 <= len(names) <= MAX_SITES or len(set(names)) < len(names):
            raise BoardError(f"a draft needs 1 to {MAX_SITES} sites with different names")
        for one, other in self.trails:
            if one == other or not {one, other} <= set(names):
                raise BoardError(
                    f"the trail {checks.shown([one, other])} does not join two different sites of the board"
                )
        if len({frozenset(trail) for trail in self.trails}) < len(self.trails):
            raise BoardError("a trail is listed twice")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a board file that may lack trails. Raises BoardError; the message starts with the path."""
        data = read_toml(path)
        try:
            form = check(BoardForm, data, "the file")
            return cls(form.name, tuple(one.site() for one in form.sites), tuple((a, b) for a, b in form.trails))
        except ValueError as error:
            raise BoardError(f"{checks.shown_path(path)}: {error}") from None

    @classmethod
    def of_board(cls, board: Board, name: str, trails: bool) -> Self:
        """The sites of a board under another name, with its trails or without."""
        return cls(name, board.sites, board.trails if trails else ())

    def toggled(self, one: str, other: str) -> Self:
        """With the trail between two sites added, or removed if there is one. Raises BoardError."""
        kept = tuple(trail for trail in self.trails if set(trail) != {one, other})
        added = () if len(kept) < len(self.trails) else ((one, other),)
        return dataclasses.replace(self, trails=(*kept, *added))

    def moved(self, name: str, x: float, y: float) -> Self:
        """With a site at another place. Raises BoardError."""
        if name not in {site.name for site in self.sites}:
            raise BoardError(f"there is no site {checks.shown(name)}")
        x, y = round(x, DECIMALS), round(y, DECIMALS)
        sites = tuple(Site(site.name, site.kind, x, y) if site.name == name else site for site in self.sites)
        return dataclasses.replace(self, sites=sites)

    def problem(self) -> str | None:
        """What is wrong with the draft as a board, in one line; None if it can be played."""
        try:
            self.board()
        except BoardError as error:
            return str(error)
        return None

    def board(self) -> Board:
        """The board. Raises BoardError if it is not valid."""
        return Board(self.name, self.sites, self.trails)

    def to_toml(self) -> str:
        """The text of a board file, with the sites in the same order and five trails a line."""
        sites = []
        for site in self.sites:
            named = f"name = {_quoted(site.name)}, kind = {_quoted(site.kind.label)}"
            sites.append(f"  {{ {named}, x = {_number(site.x)}, y = {_number(site.y)} }},")
        trails = [f"[{_quoted(one)}, {_quoted(other)}]," for one, other in self.trails]
        lines = ["  " + " ".join(trails[first : first + 5]) for first in range(0, len(trails), 5)]
        head = f"# A board of Bombay; see RULES 9.\n\nname = {_quoted(self.name)}\n"
        return "\n".join([head, "sites = [", *sites, "]", "", "trails = [", *lines, "]", ""])

    def write(self, path: Path) -> None:
        """Write the board file atomically: a failure leaves the old file as it was.

        Raises:
            OSError: it cannot be written.
            BoardError: it would be too large to read.
        """
        content = self.to_toml().encode()
        if len(content) > MAX_FILE_BYTES:
            raise BoardError(f"the file would have {len(content)} bytes; at most {MAX_FILE_BYTES} are allowed")
        atomic.write_bytes(path, content)


def _quoted(text: Any) -> str:
    """A TOML string. A name has only printable characters, without spaces."""
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
