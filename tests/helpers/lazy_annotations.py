"""An agent whose annotations are not evaluated, one of them for type checkers alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.failing_agents import First

if TYPE_CHECKING:
    from nowhere import Thing


class Lazy(First):
    """Keeps what it is given."""

    def __init__(
        self, count: int = 3, factor: float = 0.5, word: str = "x", most: int | None = None, thing: Thing | None = None
    ):
        super().__init__("lazy")
        self.given = (count, factor, word, most, thing)
