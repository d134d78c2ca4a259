"""The settings that all learners share, and what the settings of a learner are made of.

They are a frozen dataclass. The type of a field has its limits (pydantic's `Field`), and `setting` has its default and a sentence
about it. From these fields come the checks, the options of the learner's command (`cli/training.py`), `settings.json` and
the tables in docs/training.md. A wrong setting raises a ValueError of one line: the field, its value, and what is allowed.
"""

import dataclasses
import pkgutil
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from bombay_env.checks import shown
from bombay_env.files.forms import check_fields
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training.extras import missing_extra

MAX_THREADS: Final = 1_000_000  # more than any machine has; those it has are used
# Limits of settings that every learner has use for: beyond them a run takes more memory or time than any machine has.
MAX_GAMES: Final = 16_384  # of an update; some 70 kB each
MAX_BATCH: Final = 1_000_000  # positions per step of an optimizer, and passes over them
MAX_WEIGHT: Final = 1_000_000  # of a term in a loss

# Types with limits that several fields have. A `title` says in words what is allowed, where the limits cannot.
Fraction = Annotated[float, Field(ge=0, le=1)]
LearningRate = Annotated[float, Field(gt=0, le=1)]
Weight = Annotated[float, Field(ge=0, le=MAX_WEIGHT)]
BatchCount = Annotated[int, Field(ge=1, le=MAX_BATCH)]
PLAYERS: Final = "one or more of 2, 3, 4, 5, each once"
PlayerCounts = Annotated[
    tuple[Annotated[int, Field(ge=MIN_PLAYERS, le=MAX_PLAYERS)], ...],
    Field(min_length=1, title=PLAYERS),
]


def setting(default: Any, sentence: str) -> Any:
    """A field of settings with its default, and a sentence about it for the command's help and the documentation."""
    return dataclasses.field(default=default, metadata={"sentence": sentence})


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """Settings that all learners share. With `updates` or `decisions`, the same settings give the same weights bit for bit."""

    learner: ClassVar[str]
    """The learner's name in `settings.json` and on the command line."""
    run: ClassVar[str]
    """Where its `Run` is, as `module:class`. It is imported when needed, because a learner may need an extra."""
    extra: ClassVar[str] = ""
    """The extra that it needs."""
    help: ClassVar[str]
    """What its command does: a sentence, and more if needed after an empty line."""
    least: ClassVar[dict[str, Any]] = {}
    """The settings of a small run that calls every kernel of an update."""

    minutes: Annotated[float, Field(gt=0, le=10_000_000)] = setting(
        3.0, "Minutes of learning. Not used if the number of updates or of decisions is given."
    )
    updates: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = setting(
        None, "Number of updates, instead of minutes. Such a run repeats bit for bit."
    )
    decisions: Annotated[int, Field(ge=1, le=10**12)] | None = setting(
        None,
        "Decisions of all seats in the games that are played, instead of minutes. The run ends with the update that reaches "
        "their number, and repeats bit for bit.",
    )
    players: PlayerCounts = setting((2, 3, 4, 5), "Numbers of players. Games are divided evenly among them.")
    board: Annotated[str | None, Field(title="a path")] = setting(
        None, "Path of a board file (TOML). Default: the packaged board."
    )
    rules: Annotated[str | None, Field(title="a path")] = setting(
        None, "Path of a JSON file with the fields of Rules to change. Default: the official rules."
    )
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = setting(
        0, "Seed of all chance in the run: deals, initial weights, exploration."
    )

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        check_fields(self)
        self.require("players", len(set(self.players)) == len(self.players), PLAYERS)
        self.require(
            "decisions", self.decisions is None or self.updates is None, "none if the number of updates is given"
        )

    @classmethod
    def run_class(cls) -> Any:
        """The `Run` of the learner. Raises ValueError if it needs an extra that is not installed."""
        try:
            return pkgutil.resolve_name(cls.run)
        except ImportError as error:
            raise ValueError(missing_extra(cls.learner, cls.extra, error)) from None

    def require(self, name: str, holds: bool, wanted: str) -> None:
        """Raise ValueError with a field's name, its value and what it must be, unless a condition on it holds."""
        if not holds:
            raise ValueError(f"{name} is {shown(getattr(self, name))}; it must be {wanted}")
