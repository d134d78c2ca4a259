"""The settings that all learners share, and the checks of a learner's own.

A wrong setting raises a ValueError of one line that names the field, its value and what is allowed. Settings are also read from
files (`run_files.py`), so every field has bounds.
"""

import dataclasses
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

from bombay_env.checks import is_whole_number, shown, whole_number
from bombay_env.rules import MAX_PLAYERS

MAX_SEED: Final = 2**63 - 1
MAX_MINUTES: Final = 10_000_000
MAX_UPDATES: Final = 1_000_000_000
MAX_THREADS: Final = 1_000_000  # more than any machine has; those it has are used
# Limits of settings that every learner has use for: beyond them a run takes more memory or time than any machine has.
MAX_GAMES: Final = 16_384  # of an update; some 70 kB each
MAX_BATCH: Final = 1_000_000  # positions per step of an optimizer, and passes over them
MAX_WEIGHT: Final = 1_000_000  # of a term in a loss


def require(settings: Any, *names: str, holds: Callable[[Any], bool], allowed: str) -> None:
    """Raise ValueError, naming the field, its value and what is allowed, unless these fields satisfy a condition."""
    for name in names:
        value = getattr(settings, name)
        try:
            fits = holds(value)
        except TypeError:  # such as a string that is compared with a number
            fits = False
        if not fits:
            raise ValueError(f"{name} is {shown(value)}; it must be {allowed}")


def require_whole(settings: Any, *names: str, low: int, high: int | None = None) -> None:
    """Raise ValueError, naming the field, unless these fields are whole numbers from `low` to `high`; they become ints."""
    for name in names:
        object.__setattr__(settings, name, whole_number(getattr(settings, name), name, low, high))


def require_number(settings: Any, *names: str, low: float, high: float, above: bool = False) -> None:
    """Raise ValueError, naming the field, unless these fields are numbers from `low`, or above it, to `high`.

    They become ints or floats.
    """

    def holds(value: Any) -> bool:
        number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        return number and bool(low < value if above else low <= value) and bool(value <= high)

    allowed = f"above {low:g}, at most {high:g}" if above else f"from {low:g} to {high:g}"
    require(settings, *names, holds=holds, allowed=allowed)
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, int | float):  # such as a NumPy scalar, which JSON has no form for
            object.__setattr__(settings, name, int(value) if isinstance(value, numbers.Integral) else float(value))


def require_fraction(settings: Any, *names: str) -> None:
    """Raise ValueError, naming the field, unless these fields are numbers from 0 to 1."""
    require_number(settings, *names, low=0, high=1)


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """Settings that all learners share. With `updates` given, the same settings give the same weights bit for bit."""

    learner: ClassVar[str]
    """The learner's name in `settings.json` and on the command line."""
    max_seed: ClassVar[int] = MAX_SEED

    minutes: float = 3.0
    """Wall time of learning; ignored if `updates` is given."""
    updates: int | None = None
    """Number of updates."""
    players: tuple[int, ...] = (2, 3, 4, 5)
    """Player counts. Games are divided evenly among them."""
    board: str | None = None
    """Path of a board file; None for the packaged board."""
    seed: int = 0
    """Seed of all chance in the run: deals, initial weights, exploration."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        self._as_tuples("players")
        require_number(self, "minutes", low=0, high=MAX_MINUTES, above=True)
        if self.updates is not None:
            require_whole(self, "updates", low=1, high=MAX_UPDATES)
        require(self, "players", holds=_are_player_counts, allowed="one or more of 2, 3, 4, 5, each once")
        self._as_tuples("players", of=int)
        require(self, "board", holds=lambda path: path is None or isinstance(path, str), allowed="a path, or null")
        require_whole(self, "seed", low=0, high=self.max_seed)

    def _as_tuples(self, *names: str, of: type | None = None) -> None:
        """Replace sequences, such as JSON's lists, by tuples, their values converted to a type if one is given."""
        for name in names:
            values = getattr(self, name)
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                raise ValueError(f"{name} is {shown(values)}; it must be a list")
            object.__setattr__(self, name, tuple(values) if of is None else tuple(of(value) for value in values))


def _are_player_counts(values: tuple[Any, ...]) -> bool:
    return all(is_whole_number(value, 2, MAX_PLAYERS) for value in values) and 0 < len(set(values)) == len(values)
