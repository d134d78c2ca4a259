"""Every number of the game, with its allowed range.

A `Rules` object is one variant for one number of players (RULES 5, "Fields of `Rules`"). To get a variant, change a field:
`dataclasses.replace(Rules.official(4), toll=2)` or `Rules(num_players=4, toll=2)`. This module does not know the board
(`board.py`), nor how the numbers are used (`engine.py`).
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final, Self

from bombay_env import checks
from bombay_env.files import json_text

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

MAX_JSON_LENGTH: Final = 1 << 16  # characters of rules as JSON, which have some 1,500
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

# The lowest and highest value of a field, or of each entry if the field is a list. _LENGTHS has the lengths of the lists.
_RANGES: Final = {
    "num_players": (MIN_PLAYERS, MAX_PLAYERS),
    "sets": (1, MAX_LENGTH),
    "turns_per_set": (1, MAX_LENGTH),
    "actions_per_turn": (1, MAX_ACTIONS),
    "starting_rupees": (0, MAX_AWARD),
    "bales": (0, MAX_BALES),
    "restock_draw": (1, NUM_COLOURS * MAX_BALES),
    "basket": (1, MAX_ACTIONS),
    "buys_per_turn": (0, MAX_ACTIONS),
    # Every cost is at least 1, so that every turn ends. An action that costs more than a whole turn is never legal.
    "move_cost": (1, MAX_ACTIONS),
    "hill_cost": (1, MAX_ACTIONS),
    "market_rupees": (0, MAX_AMOUNT),
    "market_actions": (1, MAX_ACTIONS),
    "sell_cost": (1, MAX_ACTIONS),
    "build_cost": (1, MAX_ACTIONS),
    "sale_rupees": (0, MAX_AMOUNT),
    "sale_clients": (0, MAX_AMOUNT),
    "colour_rupees": (0, MAX_AMOUNT),
    "colour_clients": (0, MAX_AMOUNT),
    "palaces": (0, MAX_PALACES),
    "toll": (0, MAX_AMOUNT),
    "consolidate_rupees": (0, MAX_AMOUNT),
    "palace_tokens": (0, NUM_PALACE_TOKENS),
    "palace_token_rupees": (0, MAX_AMOUNT),
    "city_tokens": (0, MAX_AMOUNT),
    "client_supply": (0, 10_000),
    "majority": (0, MAX_AWARD),
    "fame": (0, MAX_AWARD),
}
_PER_PLAYER: Final = "one for each player"
_LENGTHS: Final[dict[str, int | str | range]] = {
    "starting_rupees": _PER_PLAYER,
    "majority": _PER_PLAYER,
    "bales": NUM_COLOURS,
    "colour_rupees": NUM_COLOURS,
    "colour_clients": NUM_COLOURS,
    "market_rupees": NUM_MARKETS,
    "market_actions": NUM_MARKETS,
    "sale_rupees": COLUMN_HEIGHT,
    "sale_clients": COLUMN_HEIGHT,
    "palace_tokens": len(PalaceToken),
    "fame": range(1, MAX_CITY_TOKENS + 2),
}
_FLAGS: Final = ("rotate_first_player", "outer_posts")


@dataclasses.dataclass(frozen=True)
class Rules:
    """The numbers of one variant for one number of players, checked on construction (RULES 5).

    Lists are converted to tuples. Colours are in the order of RULES 1 (yellow, purple, blue, orange), markets in the order of
    RULES 3 (left, centre, right). Omitted fields get the official values for `num_players`.

    Raises:
        ValueError: a field has a value that is not allowed. The message names the field, its value and what is allowed.
    """

    num_players: int
    sets: int = BY_COUNT
    turns_per_set: int = BY_COUNT
    rotate_first_player: bool = True
    actions_per_turn: int = 3
    starting_rupees: tuple[int, ...] = BY_COUNT  # by seat
    bales: tuple[int, ...] = (3, 4, 5, 5)  # by colour
    restock_draw: int = 9
    basket: int = 2  # bales an elephant carries
    buys_per_turn: int = 1
    move_cost: int = 1
    hill_cost: int = 2
    market_rupees: tuple[int, ...] = (1, 1, 2)  # price of a bale by market
    market_actions: tuple[int, ...] = (1, 2, 2)
    sell_cost: int = 1
    build_cost: int = 1
    sale_rupees: tuple[int, ...] = (4, 3, 1)  # at the top, middle, bottom of the column
    sale_clients: tuple[int, ...] = (0, 0, 1)
    colour_rupees: tuple[int, ...] = (1, 0, 0, 0)  # added to `sale_rupees`, by colour
    colour_clients: tuple[int, ...] = (0, 1, 0, 0)
    palaces: int = 5  # of each player
    toll: int = 1
    consolidate_rupees: int = 1
    palace_tokens: tuple[int, ...] = (2, 2, 2, 2)  # client, city, rupees, bale
    palace_token_rupees: int = 2
    city_tokens: int = BY_COUNT  # in the pile of each city
    client_supply: int | None = 16  # None: no limit
    majority: tuple[int, ...] = BY_COUNT  # by rank
    fame: tuple[int, ...] = (0, 0, 0, 4, 8)  # by number of City tokens; the last entry also for more tokens
    outer_posts: bool = BY_COUNT
    demand_columns: tuple[tuple[str, str, str], ...] = (
        ("blue", "purple", "orange"),
        ("purple", "orange", "yellow"),
        ("orange", "yellow", "blue"),
        ("yellow", "blue", "purple"),
    )  # each column from top to bottom

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # the only way to set a field of a frozen dataclass
        set_field(self, "num_players", _checked_number("num_players", self.num_players))
        for name, by_count in _defaults_by_count(self.num_players).items():
            if getattr(self, name) is BY_COUNT:
                set_field(self, name, by_count)
        for name in _RANGES:
            set_field(self, name, _checked(name, getattr(self, name), self.num_players))
        for name in _FLAGS:
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} is {checks.shown(getattr(self, name))}; it must be true or false")
        set_field(self, "demand_columns", _checked_columns(self.demand_columns))
        if self.restock_draw > sum(self.bales):
            raise ValueError(
                f"restock_draw is {self.restock_draw}; it must be a whole number from 1 to {sum(self.bales)}, the number of bales"
            )
        if sum(self.palace_tokens) != NUM_PALACE_TOKENS:
            raise ValueError(
                f"palace_tokens is {self.palace_tokens}, {sum(self.palace_tokens)} in all; there must be {NUM_PALACE_TOKENS}"
            )

    @classmethod
    def official(cls, num_players: int) -> Self:
        """The rules of the printed game for `num_players` players, 2 to 5."""
        return cls(num_players)

    @classmethod
    def bga(cls, num_players: int) -> Self:
        """The rules of Board Game Arena: official, except that every seat starts with 2 rupees (RULES 2)."""
        return cls(num_players, starting_rupees=(2,) * _checked_number("num_players", num_players))

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
                raise ValueError(
                    f"unknown field {checks.one_line(repr(name), 40)} of rules; the fields are {', '.join(known)}"
                )
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
        """Read rules from the text of `to_json`. Raises ValueError as `from_dict` does, or if `text` is not strict JSON."""
        try:
            data = json_text.parse(text, MAX_JSON_LENGTH)
        except ValueError as error:
            raise ValueError(f"rules: {error}") from None
        return cls.from_dict(data)

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


def _checked_number(name: str, value: Any, entry: str = "") -> int:
    low, high = _RANGES[name]
    return checks.whole_number(value, name + entry, low, high)


def _checked_supply(value: Any) -> int | None:
    low, high = _RANGES["client_supply"]
    if value is not None and not checks.is_whole_number(value, low, high):
        allowed = f"a whole number from {low} to {high}, or None for no limit"
        raise ValueError(f"client_supply is {checks.shown(value)}; it must be {allowed}")
    return None if value is None else int(value)


def _checked(name: str, value: Any, num_players: int) -> int | tuple[int, ...] | None:
    if name == "client_supply":
        return _checked_supply(value)
    if name not in _LENGTHS:
        return _checked_number(name, value)
    length, (low, high) = _LENGTHS[name], _RANGES[name]
    allowed = length if isinstance(length, range) else [num_players if length == _PER_PLAYER else length]
    if not isinstance(value, (list, tuple)) or len(value) not in allowed:
        many = f"{allowed[0]} to {allowed[-1]}" if len(allowed) > 1 else f"{allowed[0]}"
        each = ", one for each player" if length == _PER_PLAYER else ""
        wanted = f"a list of {many} whole numbers from {low} to {high}{each}"
        raise ValueError(f"{name} is {checks.shown(value)}; it must be {wanted}")
    return tuple(_checked_number(name, number, f"[{index}]") for index, number in enumerate(value))


def _checked_columns(value: Any) -> tuple[tuple[str, ...], ...]:
    allowed = f"{NUM_CITIES} lists of {COLUMN_HEIGHT} different colours out of {', '.join(COLOUR_NAMES)}"
    if not isinstance(value, (list, tuple)) or len(value) != NUM_CITIES:
        raise ValueError(f"demand_columns is {checks.shown(value)}; it must be {allowed}")
    for index, column in enumerate(value):
        fits = isinstance(column, (list, tuple)) and len(column) == COLUMN_HEIGHT
        if not fits or not all(isinstance(colour, str) and colour in COLOUR_NAMES for colour in column):
            raise ValueError(f"demand_columns[{index}] is {checks.shown(column)}; demand_columns must be {allowed}")
        if len(set(column)) != COLUMN_HEIGHT:
            raise ValueError(f"demand_columns[{index}] is {checks.shown(column)}; its colours must be different")
    return tuple(tuple(column) for column in value)


def _plain(value: Any) -> Any:
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
