"""Every number of the game, with its allowed range.

A `Rules` object is one variant for one number of players (RULES 5, "Fields of `Rules`"). To get a variant, change a field:
`dataclasses.replace(Rules.official(4), toll=2)` or `Rules(num_players=4, toll=2)`. This module does not know the board
(`board.py`), nor how the numbers are used (`engine.py`).
"""

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field

from bombay_env import checks
from bombay_env.files.forms import check_fields, parse
from bombay_env.files.reading import read_json

MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 5
NUM_COLOURS: Final = 4
NUM_MARKETS: Final = 3
NUM_CITIES: Final = 4
NUM_POSTS: Final = 8
NUM_PALACE_TOKENS: Final = 8
COLUMN_HEIGHT: Final = 3  # colours in a city's column of demand


class Colour(IntEnum):
    """The colours of silk, always listed in this order (RULES 1)."""

    YELLOW = 0
    PURPLE = 1
    BLUE = 2
    ORANGE = 3


class PalaceToken(IntEnum):
    """The kinds of palace token (RULES 4)."""

    CLIENT = 0
    CITY = 1
    RUPEES = 2
    BALE = 3


COLOUR_NAMES: Final = tuple(colour.name.lower() for colour in Colour)
TOKEN_NAMES: Final = tuple(token.name.lower() for token in PalaceToken)

MAX_ACTIONS: Final = 9  # actions in a turn; also the highest cost of an action
MAX_AWARD: Final = 1000  # rupees of one award; also of one player's starting rupees
MAX_AMOUNT: Final = 100  # rupees or tokens that one action gains
MAX_LENGTH: Final = 20  # sets in a game, game turns in a set
MAX_BALES: Final = 30  # of one colour
MAX_PALACES: Final = 60  # of one player; a board has at most 64 sites
MAX_CITY_TOKENS: Final = 4 + NUM_PALACE_TOKENS  # one from each pile and every palace token

# The numbers that depend on the number of players (RULES 2, 3 and 5).
_SETS = {2: 4, 3: 3, 4: 4, 5: 5}
_TURNS_PER_SET = {2: 4, 3: 5, 4: 4, 5: 3}
_STARTING_RUPEES = {2: (2, 2), 3: (2, 2, 2), 4: (2, 2, 2, 2), 5: (2, 2, 2, 2, 3)}
_MAJORITY = {2: (4, 0), 3: (6, 2, 0), 4: (8, 4, 2, 0), 5: (8, 6, 4, 2, 0)}

BY_COUNT: Any = None  # this default depends on the number of players
LAST: Final = "last"  # the index of the last entry, in the path of an `Edit`


def _entries(low: int, high: int | None = None) -> Any:
    """The length of a list: `low` entries, or `low` to `high`."""
    return Field(min_length=low, max_length=high or low)


# The types of fields, with their ranges. A `title` says in words what the type does not.
Award = Annotated[int, Field(ge=0, le=MAX_AWARD)]
Amount = Annotated[int, Field(ge=0, le=MAX_AMOUNT)]
Length = Annotated[int, Field(ge=1, le=MAX_LENGTH)]
# Every cost is at least 1, so that every turn ends. An action that costs more than a whole turn is never legal.
Cost = Annotated[int, Field(ge=1, le=MAX_ACTIONS)]
PerPlayer = Annotated[
    tuple[Award, ...],
    Field(title=f"a list of whole numbers from 0 to {MAX_AWARD}, one for each player"),
]
ByColour = Annotated[tuple[Amount, ...], _entries(NUM_COLOURS)]
ByMarket = Annotated[tuple[Amount, ...], _entries(NUM_MARKETS)]
ByPlace = Annotated[tuple[Amount, ...], _entries(COLUMN_HEIGHT)]  # in a column
Bales = Annotated[int, Field(ge=0, le=MAX_BALES)]
Tokens = Annotated[int, Field(ge=0, le=NUM_PALACE_TOKENS)]
Supply = Annotated[
    Annotated[int, Field(ge=0, le=10_000)] | None, Field(title="a whole number from 0 to 10000, or None for no limit")
]


ColourName = Literal["yellow", "purple", "blue", "orange"]


def _all_different(columns: Any) -> Any:
    if any(len(set(column)) < len(column) for column in columns):
        raise ValueError("colours of a column must be different")
    return columns


Columns = Annotated[
    tuple[Annotated[tuple[ColourName, ...], _entries(COLUMN_HEIGHT)], ...],
    _entries(NUM_CITIES),
    AfterValidator(_all_different),
    Field(title=f"{NUM_CITIES} lists of {COLUMN_HEIGHT} different colours out of {', '.join(COLOUR_NAMES)}"),
]


@dataclasses.dataclass(frozen=True)
class Edit:
    """A new value for a field of `Rules`, or for an entry of it.

    Args:
        path: `FIELD` or `FIELD.INDEX`, with as many indices as lists are nested. An index is a number from 0, or `last`.
        value: in plain JSON types.
        adds: whether the value, a whole number, is added to the present one.
    """

    path: str
    value: Any
    adds: bool = False

    def place(self, rules: Mapping[str, Any]) -> tuple[str | int, ...] | None:
        """Where the entry is in rules, which are as `Rules.to_dict` gives them. None if their list is shorter.

        Raises:
            ValueError: the path is of another form, names no field, or names an entry of something that is no list.
        """
        field, *indices = self.path.split(".")
        known = [name for name in rules if name != "num_players"]
        if field not in known:
            unknown = f"unknown field {checks.one_line(repr(field), 40)} of rules"
            raise ValueError(checks.message(f"{unknown}; the fields are {', '.join(known)}"))
        place: list[str | int] = [field]
        part = rules[field]
        for index in indices:
            if index != LAST and not re.fullmatch(r"[0-9]{1,3}", index):
                form = f"an entry is FIELD.INDEX with a number from 0 or {LAST}, such as starting_rupees.{LAST}"
                raise ValueError(f"{checks.one_line(self.path)} names no entry; {form}")
            if not isinstance(part, list):
                raise ValueError(
                    f"{checks.one_line(self.path)}: {field} has no entry of that kind; it is {checks.shown(part)}"
                )
            number = len(part) - 1 if index == LAST else int(index)
            if number >= len(part):
                return None
            place.append(number)
            part = part[number]
        return tuple(place)


@dataclasses.dataclass(frozen=True)
class Rules:
    """The numbers of one variant for one number of players, checked on construction (RULES 5).

    Lists are converted to tuples. Colours are in the order of RULES 1 (yellow, purple, blue, orange), markets in the order of
    RULES 3 (left, centre, right). Omitted fields get the official values for `num_players`.

    Raises:
        ValueError: a field has a value that is not allowed. The message names the field, its value and what is allowed.
    """

    num_players: Annotated[int, Field(ge=MIN_PLAYERS, le=MAX_PLAYERS)]
    sets: Length = BY_COUNT
    turns_per_set: Length = BY_COUNT
    rotate_first_player: bool = True
    actions_per_turn: Cost = 3
    starting_rupees: PerPlayer = BY_COUNT  # by seat
    bales: Annotated[tuple[Bales, ...], _entries(NUM_COLOURS)] = (3, 4, 5, 5)  # by colour
    restock_draw: Annotated[int, Field(ge=1, le=NUM_COLOURS * MAX_BALES)] = 9
    basket: Cost = 2  # bales an elephant carries
    buys_per_turn: Annotated[int, Field(ge=0, le=MAX_ACTIONS)] = 1
    move_cost: Cost = 1
    hill_cost: Cost = 2
    market_rupees: ByMarket = (1, 1, 2)  # price of a bale by market
    market_actions: Annotated[tuple[Cost, ...], _entries(NUM_MARKETS)] = (1, 2, 2)
    sell_cost: Cost = 1
    build_cost: Cost = 1
    sale_rupees: ByPlace = (4, 3, 1)  # at the top, middle, bottom of the column
    sale_clients: ByPlace = (0, 0, 1)
    colour_rupees: ByColour = (1, 0, 0, 0)  # added to `sale_rupees`, by colour
    colour_clients: ByColour = (0, 1, 0, 0)
    palaces: Annotated[int, Field(ge=0, le=MAX_PALACES)] = 5  # of each player
    toll: Amount = 1
    consolidate_rupees: Amount = 1
    palace_tokens: Annotated[tuple[Tokens, ...], _entries(len(PalaceToken))] = (2, 2, 2, 2)
    palace_token_rupees: Amount = 2
    city_tokens: Amount = BY_COUNT  # in the pile of each city
    client_supply: Supply = 16  # None: no limit
    majority: PerPlayer = BY_COUNT  # by rank
    # By number of City tokens; the last entry also for more.
    fame: Annotated[tuple[Award, ...], _entries(1, MAX_CITY_TOKENS + 1)] = (0, 0, 0, 4, 8)
    outer_posts: bool = BY_COUNT
    # Each from top to bottom.
    demand_columns: Columns = (
        ("blue", "purple", "orange"),
        ("purple", "orange", "yellow"),
        ("orange", "yellow", "blue"),
        ("yellow", "blue", "purple"),
    )

    def __post_init__(self) -> None:
        if checks.is_whole_number(self.num_players, MIN_PLAYERS, MAX_PLAYERS):  # `check_fields` refuses any other
            for name, by_count in _defaults_by_count(int(self.num_players)).items():
                if getattr(self, name) is BY_COUNT:
                    object.__setattr__(self, name, by_count)
        check_fields(self)
        for name in ("starting_rupees", "majority"):
            given = getattr(self, name)
            self._require(
                name, len(given) == self.num_players, f"a list of {self.num_players} whole numbers, one for each player"
            )
        bales = sum(self.bales)
        self._require(
            "restock_draw", self.restock_draw <= bales, f"a whole number from 1 to {bales}, the number of bales"
        )
        tokens = sum(self.palace_tokens)
        self._require("palace_tokens", tokens == NUM_PALACE_TOKENS, f"{NUM_PALACE_TOKENS} in all, not {tokens}")

    def _require(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise ValueError(f"{name} is {checks.shown(getattr(self, name))}; it must be {wanted}")

    @classmethod
    def official(cls, num_players: int) -> Self:
        """The rules of the printed game for `num_players` players, 2 to 5."""
        return cls(num_players)

    @classmethod
    def bga(cls, num_players: int) -> Self:
        """The rules of Board Game Arena: official, except that every seat starts with 2 rupees (RULES 2)."""
        return cls(
            num_players,
            starting_rupees=(2,) * checks.whole_number(num_players, "num_players", MIN_PLAYERS, MAX_PLAYERS),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], num_players: int) -> Self:
        """Read a JSON file of the fields that differ from the official rules for `num_players` players.

        A key is a field or an entry of it, as in `{"toll": 2, "starting_rupees.last": 3}` (`Edit`).

        Raises:
            ValueError: the file cannot be read, is of another form, or is for another number of players.
        """
        changes = read_json(path)
        if not isinstance(changes, dict) or changes.get("num_players", num_players) != num_players:
            form = f"an object with fields of Rules; num_players may be left out, or is {num_players}"
            raise ValueError(f"{checks.shown_path(path)} must be {form}")
        edits = [Edit(path, value) for path, value in changes.items() if path != "num_players"]
        return cls.official(num_players).edited(edits)

    def edited(self, edits: Sequence[Edit]) -> Self:
        """These rules with new values.

        Raises:
            ValueError: an entry does not exist or is changed twice, or a value is not allowed.
        """
        rules, places = self.to_dict(), list[tuple[str | int, ...]]()
        for edit in edits:
            path, place = checks.one_line(edit.path), edit.place(rules)
            if place is None:
                allowed = f"entries count from 0, and {LAST} is the last one"
                raise ValueError(f"{path}: there is no such entry with {self.num_players} players; {allowed}")
            if any(place[: len(other)] == other[: len(place)] for other in places):
                raise ValueError(f"{path}: this entry is changed twice; each takes one value")
            places.append(place)
            part: Any = rules
            for key in place[:-1]:
                part = part[key]
            old, key = part[place[-1]], place[-1]
            if edit.adds and (isinstance(old, bool) or not isinstance(old, int)):
                raise ValueError(f"{path} is {checks.shown(old)}; only a whole number can be added to")
            part[key] = old + edit.value if edit.adds else edit.value
        return self.from_dict(rules)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read rules from the form of `to_dict`. Only `num_players` is required; other omitted fields get the official values.

        Raises:
            ValueError: a field is unknown or has a value that is not allowed.
        """
        if not isinstance(data, Mapping):
            raise ValueError(f"rules must be an object with the fields of Rules, not {type(data).__name__}")
        known = [field.name for field in dataclasses.fields(cls)]
        for name in data:
            if name not in known:
                unknown = f"unknown field {checks.one_line(repr(name), 40)} of rules"
                raise ValueError(checks.message(f"{unknown}; the fields are {', '.join(known)}"))
        if "num_players" not in data:
            raise ValueError(f"num_players is missing; it must be a whole number from {MIN_PLAYERS} to {MAX_PLAYERS}")
        for name in data:
            if data[name] is None and name != "client_supply":
                raise ValueError(f"{name} is None; only client_supply may be None, which means no limit")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Every field in plain JSON types, in the order of the fields."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read rules from the text of `to_json`. Raises ValueError as `from_dict` does, or if `text` is no JSON."""
        return cls.from_dict(parse(dict[str, Any], text, "rules"))

    def to_json(self) -> str:
        """Every field as one line of JSON. Equal rules give equal text."""
        return json.dumps(self.to_dict())

    @property
    def digest(self) -> str:
        """64 hex digits that identify these rules, the same in every process and on every machine."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __hash__(self) -> int:
        # A dataclass's own hash would differ between processes if a field is None.
        return int(self.digest[:15], 16)


def _defaults_by_count(num_players: int) -> dict[str, Any]:
    return {
        "sets": _SETS[num_players],
        "turns_per_set": _TURNS_PER_SET[num_players],
        "starting_rupees": _STARTING_RUPEES[num_players],
        "city_tokens": num_players - 1,
        "majority": _MAJORITY[num_players],
        "outer_posts": num_players >= 4,
    }


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
