"""The state of a game: one fixed-size record with named fields.

This module defines the fields, their ranges, their JSON form and the invariants between them. It does not know how they change
(`engine.py`). A state is copied, compared and saved as bytes. Seats beyond `num_players` exist and stay zero, so games for 2 to 5
players have the same shape. The bag is not stored: it contains the bales that are neither in a market nor in a basket.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from bombay_env import checks
from bombay_env.board import Board, SiteKind
from bombay_env.jit.kernels import record_dtype
from bombay_env.rules import (
    COLOUR_NAMES,
    COLUMN_HEIGHT,
    MAX_PLAYERS,
    NUM_CITIES,
    NUM_COLOURS,
    NUM_MARKETS,
    NUM_PALACE_TOKENS,
    TOKEN_NAMES,
    Rules,
)
from bombay_env.tables import NO_LIMIT

TURN_FIELDS: Final = ["set", "turn", "current_player"]  # equal in all positions of one turn, and in no others of a game
NOBODY: Final = -1  # `current_player` after the game ends
# Rupees or Client tokens of one player: above what any game reaches, and a range of whole bytes.
MAX_HOLDING: Final = 2**24 - 1
ALIGNMENT: Final = 64  # bytes of a cache line: writing a vector across two lines takes twice as long
LANES_SEARCHED: Final = 4096  # at once for the lane that an error message names


def state_dtype(num_sites: int) -> np.dtype[Any]:
    """The record of one game on a board with `num_sites` sites. It is packed: there is no padding between fields."""
    dtype = np.dtype(
        [
            ("seed", np.uint64),  # key of all random numbers in this game; hidden from players
            ("num_players", np.int8),  # 2..5
            ("current_player", np.int8),  # seat to act, NOBODY after the end
            ("first_player", np.int8),  # in this set
            ("set", np.int8),  # 0-based; after the end, the number of sets
            ("turn", np.int8),  # game turn within the set, 0-based
            ("actions_left", np.int8),  # in the current player's turn
            ("buys", np.int8),  # bales bought this turn
            ("take_pending", np.int8),  # 1 while a `bale` token waits for its `take`
            ("client_supply", np.int16),  # Client tokens in the bank, or NO_LIMIT
            ("city_piles", np.int8, (NUM_CITIES,)),  # City tokens left, by city in the board's order
            ("demand", np.int8, (NUM_CITIES, COLUMN_HEIGHT)),  # colours from top to bottom
            ("market", np.int8, (NUM_MARKETS, NUM_COLOURS)),  # bales in the left, centre, right market
            ("post", np.int8, (num_sites,)),  # 1 + colour of the trading post, 0 for none
            ("palace_token", np.int8, (num_sites,)),  # 1 + kind, 0 for none
            ("palace", np.int8, (num_sites,)),  # 1 + the owner's seat, 0 for none
            ("position", np.int8, (MAX_PLAYERS,)),  # the elephant's site
            ("rupees", np.int32, (MAX_PLAYERS,)),
            ("basket", np.int8, (MAX_PLAYERS, NUM_COLOURS)),  # bales on the elephant
            ("palaces_left", np.int8, (MAX_PLAYERS,)),
            ("clients", np.int32, (MAX_PLAYERS,)),  # Client tokens from sales
            ("client_palace_tokens", np.int8, (MAX_PLAYERS,)),
            ("city_tokens", np.int8, (MAX_PLAYERS, NUM_CITIES)),  # 1 if the player holds the city's token
            ("city_palace_tokens", np.int8, (MAX_PLAYERS,)),
        ]
    )
    assert dtype.itemsize == sum(dtype[name].itemsize for name in dtype.names or ())
    return record_dtype(dtype)


def reading_dtype(num_sites: int) -> np.dtype[Any]:
    """The record of `state_dtype` for kernels that only read: the same bytes under the same names.

    Fields that serve as indices are unsigned. A field `…_words` holds rows of four bytes (one byte for each colour or city), each
    row as one 32-bit word.
    """
    dtype = state_dtype(num_sites)
    held: Any = dtype.fields
    described: dict[str, tuple[Any, int]] = {name: held[name][:2] for name in dtype.names or ()}
    for name in ("demand", "post", "palace_token", "palace", "position"):
        kind, offset = described[name]
        described[name] = (np.dtype((np.uint8, kind.shape)), offset)
    for name in ("city_piles", "market", "basket", "city_tokens"):
        kind, offset = described[name]
        described[f"{name}_words"] = (np.dtype((np.uint32, (kind.itemsize // 4,))), offset)
    formats, offsets = zip(*described.values(), strict=True)
    names = list(described)
    fields: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}
    return record_dtype(fields)


def result_dtype(num_players: int, flag: Any = np.bool_) -> np.dtype[Any]:
    """The record of one game's result. Each field has one entry for each seat; RULES 8 defines the names.

    `winners` is True for the winning seats. Numba does not support arrays of bool in a record, so kernels use int8 as `flag`; the
    bytes are the same.
    """
    whole = ("rupees", "clients", "empire", "majority", "city_tokens", "fame", "final")
    fields: list[Any] = [(name, np.int32, (num_players,)) for name in whole]
    fields += [("winners", flag, (num_players,)), ("win_share", np.float64, (num_players,))]
    return record_dtype(fields)


def composed_dtype(parts: dict[str, Any]) -> np.dtype[Any]:
    """The dtype of records with these parts, name to dtype or (dtype, shape). In `new_records`, each starts on a cache line."""
    formats = [np.dtype(part) for part in parts.values()]
    offsets, end = [], 0
    for part in formats:
        offsets.append(end)
        end += -(-part.itemsize // ALIGNMENT) * ALIGNMENT
    whole: Any = {"names": list(parts), "formats": formats, "offsets": offsets, "itemsize": end}
    return record_dtype(whole)


def new_records(count: int, dtype: np.dtype[Any]) -> np.recarray[Any, Any]:
    """`count` zeroed records, the first of which starts on a cache line."""
    memory = np.zeros(count * dtype.itemsize + ALIGNMENT, np.int8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : len(memory) - ALIGNMENT + start].view(dtype).view(np.recarray)


def rows(states: np.ndarray) -> np.ndarray:
    """The same memory as opaque records without fields. NumPy copies these fifty times as fast as records with fields."""
    return states.view(np.ndarray).view(np.dtype((np.void, states.dtype.itemsize)))


def fields(state: Any) -> dict[str, Any]:
    """One record as a dict from field name to plain number or nested list."""
    values = np.asarray(state)[()].item()
    plain = (value.tolist() if isinstance(value, np.ndarray) else value for value in values)
    return dict(zip(state.dtype.names, plain, strict=True))


def turn_of(states: np.ndarray) -> tuple[int, ...]:
    """The set, the game turn and the seat to act of (1,) states: `TURN_FIELDS` as numbers."""
    return tuple(int(states[field][0]) for field in TURN_FIELDS)


# --- ranges ---


@functools.lru_cache(maxsize=64)
def state_ranges(rules: Rules, board: Board) -> np.ndarray:
    """The range of each field of a state as two records, (2,) of `state_dtype`, in the form of `batch.has_byte_outside`.

    The first record has the lowest value of each entry. Each byte of the second is the number of further values of that byte.
    Every state that `check_invariants` accepts is inside these ranges. A state inside them may still be impossible, but every
    number that a kernel uses as an index has a range that keeps the index inside its table.
    """
    ranges = np.asarray(new_records(2, state_dtype(board.num_sites)))
    lowest, highest = ranges
    seats, most = slice(rules.num_players), rules.num_players - 1
    highest.seed = checks.MAX_SEED
    lowest.num_players = highest.num_players = rules.num_players
    lowest.current_player, highest.current_player = NOBODY, most
    highest.first_player = most
    highest.set = rules.sets
    highest.turn = rules.turns_per_set - 1
    highest.actions_left = rules.actions_per_turn
    highest.buys = rules.buys_per_turn
    highest.take_pending = 1
    if rules.client_supply is None:
        lowest.client_supply = highest.client_supply = NO_LIMIT
    else:
        highest.client_supply = _whole_bytes(rules.client_supply)
    highest.city_piles = rules.city_tokens
    highest.demand = NUM_COLOURS - 1
    highest.market = rules.bales
    _set_site_ranges(highest, rules, board)
    highest.position[seats] = board.num_sites - 1
    highest.rupees[seats] = highest.clients[seats] = MAX_HOLDING
    highest.basket[seats] = np.minimum(rules.bales, rules.basket)
    highest.palaces_left[seats] = rules.palaces
    highest.client_palace_tokens[seats] = highest.city_palace_tokens[seats] = NUM_PALACE_TOKENS
    highest.city_tokens[seats] = 1
    low, high = _bytes(ranges)
    high -= low
    ranges.setflags(write=False)
    return ranges


def _set_site_ranges(highest: Any, rules: Rules, board: Board) -> None:
    kinds = np.array([site.kind for site in board.sites])
    highest.post[np.isin(kinds, (SiteKind.INNER_POST, SiteKind.OUTER_POST))] = NUM_COLOURS
    highest.palace_token[kinds == SiteKind.PALACE_SITE] = len(TOKEN_NAMES)
    highest.palace[kinds != SiteKind.CITY] = rules.num_players


def _whole_bytes(number: int) -> int:
    """`number`, below 2**16, or the next higher number such that all bytes up to it may take all values."""
    return number if number < 256 else number | 255


def _bytes(states: np.ndarray) -> np.ndarray:
    """The bytes of states, (batch, itemsize) uint8, in the same memory; the states are contiguous."""
    return rows(states).view(np.uint8).reshape(len(states), -1)


def describe_unsound(states: np.ndarray, ranges: np.ndarray) -> tuple[int, str] | None:
    """The lane of the first state that is not sound (`batch.is_sound`), and one line on a field, its value and what is allowed.

    Args:
        states: (batch,) plain contiguous records.
        ranges: what `state_ranges` returned.

    Returns:
        None if every state is sound.
    """
    low, span = _bytes(ranges)
    for start in range(0, len(states), LANES_SEARCHED):
        some = states[start : start + LANES_SEARCHED]
        outside = _bytes(some) - low > span
        pending = (some["take_pending"] != 0) & ~some["market"].any(axis=(1, 2))
        lanes = np.flatnonzero(outside.any(axis=1) | pending)
        if lanes.size:
            lane = int(lanes[0])
            return start + lane, _reason(some[lane], outside[lane], ranges)
    return None


def _reason(state: Any, outside: np.ndarray, ranges: np.ndarray) -> str:
    """What is wrong with one state, given which of its bytes are outside their ranges."""
    if not outside.any():
        return "take_pending is 1, but no market holds a bale; it must be 0"
    first = int(outside.argmax())
    dtype = state.dtype
    name = next(name for name in dtype.names if first < dtype.fields[name][1] + dtype[name].itemsize)
    entry = (first - dtype.fields[name][1]) // dtype[name].base.itemsize
    place = np.unravel_index(entry, dtype[name].shape)
    highest = _bytes(ranges).sum(axis=0, dtype=np.uint8).view(dtype)[0]
    value, low, high = (np.asarray(record[name])[place] for record in (state, ranges[0], highest))
    shown = "".join(f"[{number}]" for number in place)
    return f"{name}{shown} is {value}; it must be {low}" + (f" to {high}" if high != low else "")


# --- JSON form and invariants ---


def bag(state: Any, rules: Rules) -> list[int]:
    """Bales in the bag, by colour: those that are neither in a market nor in a basket."""
    facts = state if isinstance(state, dict) else fields(state)
    rows = facts["market"] + facts["basket"]
    return [rules.bales[colour] - sum(row[colour] for row in rows) for colour in range(NUM_COLOURS)]


def state_to_dict(state: Any, rules: Rules, board: Board) -> dict[str, Any]:
    """One state in plain JSON types, with names for sites and colours.

    It includes `seed`, and three entries that follow from the others: `over`, `bag` and `open_posts`.
    """
    facts, n = fields(state), rules.num_players
    names = [site.name for site in board.sites]
    cities = [names[site] for site in board.sites_of(SiteKind.CITY)]
    posts = {names[site]: COLOUR_NAMES[post - 1] for site, post in enumerate(facts["post"]) if post}
    offered = [COLOUR_NAMES[colour] for colour, bales in enumerate(zip(*facts["market"], strict=True)) if any(bales)]
    numbers = ("seed", "current_player", "first_player", "set", "turn", "actions_left", "buys")
    lists = ("rupees", "clients", "client_palace_tokens", "city_palace_tokens", "palaces_left", "basket")
    tokens = {names[site]: TOKEN_NAMES[token - 1] for site, token in enumerate(facts["palace_token"]) if token}
    return {
        **{name: facts[name] for name in numbers},
        "over": facts["current_player"] == NOBODY,
        "take_pending": bool(facts["take_pending"]),
        "demand": {
            city: [COLOUR_NAMES[c] for c in column] for city, column in zip(cities, facts["demand"], strict=True)
        },
        "posts": posts,
        "open_posts": [site for site, colour in posts.items() if colour in offered],
        "palace_tokens": tokens,
        "palaces": {names[site]: owner - 1 for site, owner in enumerate(facts["palace"]) if owner},
        "markets": facts["market"],
        "bag": bag(facts, rules),
        "city_piles": dict(zip(cities, facts["city_piles"], strict=True)),
        "client_supply": None if facts["client_supply"] == NO_LIMIT else facts["client_supply"],
        "position": [names[site] for site in facts["position"][:n]],
        "city_tokens": [
            [city for city, holds in zip(cities, held, strict=True) if holds] for held in facts["city_tokens"][:n]
        ],
        **{name: facts[name][:n] for name in lists},
    }


def state_from_dict(data: Mapping[str, Any], rules: Rules, board: Board) -> np.recarray[Any, Any]:
    """Read a state from the form of `state_to_dict`. Returns a (1,) array whose bytes equal those of the original state.

    Raises:
        ValueError: a key is missing or unknown, a value has the wrong type, or the state violates an invariant.
    """
    known, data = state_to_dict(new_records(1, state_dtype(board.num_sites))[0], rules, board), checks.plain(data)
    if not isinstance(data, dict) or set(data) != set(known):
        raise ValueError(f"a state must be an object with exactly the keys {', '.join(known)}")
    states = new_records(1, state_dtype(board.num_sites))
    try:
        _fill_state(states[0], data, rules, board)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        reason = checks.one_line(str(error), 200)
        raise ValueError(f"the state does not fit these rules and this board: {reason}") from None
    check_invariants(states[0], rules, board)
    try:  # as texts, in which 1, 1.0 and true differ
        found, given = (json.dumps(one, sort_keys=True) for one in (state_to_dict(states[0], rules, board), data))
    except (TypeError, ValueError):
        given = ""  # no JSON, or a number of thousands of digits
    if given != found:
        raise ValueError(
            "the state contradicts itself: over, bag, open_posts, a count or the type of a value does not follow from the rest"
        )
    return states


def _fill_state(state: Any, data: Mapping[str, Any], rules: Rules, board: Board) -> None:
    n = rules.num_players
    cities = [board.sites[site].name for site in board.sites_of(SiteKind.CITY)]
    for name in ("seed", "current_player", "first_player", "set", "turn", "actions_left", "buys", "take_pending"):
        state[name] = data[name]
    state["num_players"] = n
    state["client_supply"] = NO_LIMIT if data["client_supply"] is None else data["client_supply"]
    state["city_piles"] = [data["city_piles"][city] for city in cities]
    state["demand"] = [[COLOUR_NAMES.index(colour) for colour in data["demand"][city]] for city in cities]
    state["market"] = data["markets"]
    for site, colour in data["posts"].items():
        state["post"][board.site_index(site)] = 1 + COLOUR_NAMES.index(colour)
    for site, kind in data["palace_tokens"].items():
        state["palace_token"][board.site_index(site)] = 1 + TOKEN_NAMES.index(kind)
    for site, seat in data["palaces"].items():
        state["palace"][board.site_index(site)] = 1 + seat
    state["position"][:n] = [board.site_index(site) for site in data["position"]]
    for seat, held in enumerate(data["city_tokens"]):
        state["city_tokens"][seat, [cities.index(city) for city in held]] = 1
    for name in ("rupees", "clients", "client_palace_tokens", "city_palace_tokens", "palaces_left", "basket"):
        if len(data[name]) != n:
            raise ValueError(f"{name} has {len(data[name])} entries; it must have {n}, one for each player")
        state[name][:n] = data[name]


def check_invariants(state: Any, rules: Rules, board: Board) -> None:
    """Raise ValueError, which names the field, unless the fields of one state have values that go together (RULES 1 to 4).

    Every field is in its range (`state_ranges`), so kernels can safely use a state that passes.
    """
    unsound = describe_unsound(np.asarray(state).reshape(1), state_ranges(rules, board))
    if unsound:
        raise ValueError(f"the state is impossible under these rules (RULES 1 to 4): {unsound[1]}")
    facts = fields(state)
    for name, holds in _invariants(facts, rules, board):
        if not holds:
            found = f", which is {checks.one_line(str(facts[name]), 200)}" if name in facts else ""
            raise ValueError(
                f"the state is impossible under these rules (RULES 1 to 4): {name}{found}, cannot go with the rest"
            )


def _invariants(facts: dict[str, Any], rules: Rules, board: Board) -> Iterator[tuple[str, bool]]:
    """What holds between the fields of a state that is sound: the field to look at, and whether it holds."""
    over, pending = facts["current_player"] == NOBODY, facts["take_pending"] == 1
    yield "set", (facts["set"] == rules.sets) == over
    yield "turn", not (over and facts["turn"])
    yield "buys", not (over and facts["buys"])
    # No action is left only after the end or while a `take` is due, for which the builder has spent a bale.
    yield "actions_left", (facts["actions_left"] > 0) != over if not pending else not over
    yield "take_pending", not pending or sum(facts["basket"][facts["current_player"]]) < rules.basket
    yield "market", not (over and any(map(any, facts["market"])))
    columns = zip(*facts["market"], strict=True)
    yield "market", all(sum(count > 0 for count in column) <= 1 for column in columns)  # a colour lies in one market
    yield "basket", all(sum(bales) <= rules.basket for bales in facts["basket"])
    yield "the number of bales by colour", min(bag(facts, rules)) >= 0
    yield "demand", all(len(set(column)) == COLUMN_HEIGHT for column in facts["demand"])
    yield from _token_invariants(facts, rules, board)


def _token_invariants(facts: dict[str, Any], rules: Rules, board: Board) -> Iterator[tuple[str, bool]]:
    owners, seats = facts["palace"], range(rules.num_players)
    replaced = zip(owners, facts["post"], facts["palace_token"], strict=True)
    yield "palace", not any(owner and (post or token) for owner, post, token in replaced)
    yield "palaces_left", all(owners.count(1 + seat) == rules.palaces - facts["palaces_left"][seat] for seat in seats)
    # A seat gets a palace token only where it builds a palace.
    built = [owners[site] for site in board.sites_of(SiteKind.PALACE_SITE)]
    kept = list(map(sum, zip(facts["client_palace_tokens"], facts["city_palace_tokens"], strict=True)))
    yield "city_palace_tokens", all(kept[seat] <= built.count(1 + seat) for seat in seats)
    held = [sum(tokens) for tokens in zip(*facts["city_tokens"], strict=True)]
    piles = zip(facts["city_piles"], held, strict=True)
    yield "city_piles", all(left + taken == rules.city_tokens for left, taken in piles)
    supply = rules.client_supply
    yield "client_supply", supply is None or facts["client_supply"] + sum(facts["clients"]) == supply
