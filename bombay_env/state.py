"""The state of a game: one fixed-size record with named fields.

Knows what the facts are, how they look as JSON, and what must hold between them; not how they change (`engine.py`). Copying,
comparing and saving a state is copying bytes. Seats beyond `num_players` exist and stay zero, so that 2 to 5 players share one
shape. Bales in the bag are nowhere in the record: they are those neither in a market nor in a basket.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from bombay_env.board import Board
from bombay_env.rules import (
    COLOUR_NAMES,
    COLUMN_HEIGHT,
    MAX_PLAYERS,
    NUM_CITIES,
    NUM_COLOURS,
    NUM_MARKETS,
    TOKEN_NAMES,
    Rules,
)
from bombay_env.tables import NO_LIMIT, SiteKind

NOBODY: Final = -1  # `current_player` once a game is over


def state_dtype(num_sites: int) -> np.dtype[Any]:
    """The record of one game on a board with `num_sites` sites. Packed: its itemsize is the sum of its fields."""
    dtype = np.dtype(
        [
            ("seed", np.uint64),  # key of all chance in this game; hidden from players
            ("num_players", np.int8),  # 2..5
            ("current_player", np.int8),  # seat to act, NOBODY once over
            ("first_player", np.int8),  # of the set
            ("set", np.int8),  # 0-based; the number of sets once over
            ("turn", np.int8),  # game turn within the set, 0-based
            ("actions_left", np.int8),  # of the current player's turn
            ("buys", np.int8),  # bales bought this turn
            ("take_pending", np.int8),  # 1 while a `bale` token waits for its `take`
            ("client_supply", np.int16),  # Client tokens in the bank, NO_LIMIT where there is none
            ("city_piles", np.int8, (NUM_CITIES,)),  # City tokens left, in the board's order of cities
            ("demand", np.int8, (NUM_CITIES, COLUMN_HEIGHT)),  # colours from the top
            ("market", np.int8, (NUM_MARKETS, NUM_COLOURS)),  # bales lying left, centre, right
            ("post", np.int8, (num_sites,)),  # 1 + colour of the trading post, 0 where there is none
            ("palace_token", np.int8, (num_sites,)),  # 1 + kind, 0 where there is none
            ("palace", np.int8, (num_sites,)),  # 1 + the owner's seat, 0 where there is none
            ("position", np.int8, (MAX_PLAYERS,)),  # the elephant's site
            ("rupees", np.int32, (MAX_PLAYERS,)),
            ("basket", np.int8, (MAX_PLAYERS, NUM_COLOURS)),  # bales on the elephant
            ("palaces_left", np.int8, (MAX_PLAYERS,)),
            ("clients", np.int32, (MAX_PLAYERS,)),  # Client tokens from sales
            ("client_palace_tokens", np.int8, (MAX_PLAYERS,)),
            ("city_tokens", np.int8, (MAX_PLAYERS, NUM_CITIES)),  # 1 where the player holds the city's token
            ("city_palace_tokens", np.int8, (MAX_PLAYERS,)),
        ]
    )
    assert dtype.itemsize == sum(dtype[name].itemsize for name in dtype.names or ())
    return np.dtype((np.record, dtype))


def result_dtype(num_players: int, flag: Any = np.bool_) -> np.dtype[Any]:
    """The record of one game's result, lists by seat under RULES 8's names; `winners` marks the winning seats.

    Kernels know no arrays of bool inside a record: they see the same bytes with int8 as `flag`.
    """
    whole = ("rupees", "clients", "empire", "majority", "city_tokens", "fame", "final")
    fields: list[Any] = [(name, np.int32, (num_players,)) for name in whole]
    fields += [("winners", flag, (num_players,)), ("win_share", np.float64, (num_players,))]
    return np.dtype((np.record, np.dtype(fields)))


def new_records(count: int, dtype: np.dtype[Any]) -> np.recarray[Any, Any]:
    """`count` zeroed records (np.recarray itself would leave them unset)."""
    return np.zeros(count, dtype).view(np.recarray)


def bag(state: Any, rules: Rules) -> np.ndarray:
    """Bales in the bag by colour, (4,) int64: those neither in a market nor in a basket."""
    out = state["market"].sum(axis=0, dtype=np.int64) + state["basket"].sum(axis=0, dtype=np.int64)
    return np.array(rules.bales, np.int64) - out  # type: ignore[no-any-return]


def state_to_dict(state: Any, rules: Rules, board: Board) -> dict[str, Any]:
    """One state as plain JSON types under names, with `seed` and what follows from the rest: `over`, `bag`, `open_posts`."""
    n = rules.num_players
    names = [site.name for site in board.sites]
    cities = [names[site] for site in board.sites_of(SiteKind.CITY)]
    posts = {names[site]: COLOUR_NAMES[state["post"][site] - 1] for site in np.flatnonzero(state["post"])}
    offered = [COLOUR_NAMES[colour] for colour in np.flatnonzero(state["market"].sum(axis=0))]
    numbers = ("current_player", "first_player", "set", "turn", "actions_left", "buys")
    lists = ("rupees", "clients", "client_palace_tokens", "city_palace_tokens", "palaces_left", "basket")
    return {
        "seed": int(state["seed"]),
        "over": bool(state["current_player"] == NOBODY),
        **{name: int(state[name]) for name in numbers},
        "take_pending": bool(state["take_pending"]),
        "demand": {
            city: [COLOUR_NAMES[c] for c in column] for city, column in zip(cities, state["demand"], strict=True)
        },
        "posts": posts,
        "open_posts": [site for site, colour in posts.items() if colour in offered],
        "palace_tokens": {
            names[site]: TOKEN_NAMES[state["palace_token"][site] - 1] for site in np.flatnonzero(state["palace_token"])
        },
        "palaces": {names[site]: int(state["palace"][site]) - 1 for site in np.flatnonzero(state["palace"])},
        "markets": state["market"].tolist(),
        "bag": bag(state, rules).tolist(),
        "city_piles": dict(zip(cities, state["city_piles"].tolist(), strict=True)),
        "client_supply": None if state["client_supply"] == NO_LIMIT else int(state["client_supply"]),
        "position": [names[site] for site in state["position"][:n]],
        "city_tokens": [[cities[city] for city in np.flatnonzero(held)] for held in state["city_tokens"][:n]],
        **{name: state[name][:n].tolist() for name in lists},
    }


def state_from_dict(data: Mapping[str, Any], rules: Rules, board: Board) -> np.recarray[Any, Any]:
    """The (1,) state that `state_to_dict` described; its bytes are those of the original.

    Raises:
        ValueError: a key is missing or unknown, a value is not what it should be, or the facts break an invariant.
    """
    known = state_to_dict(new_records(1, state_dtype(board.num_sites))[0], rules, board)
    if not isinstance(data, Mapping) or set(data) != set(known):
        raise ValueError(f"a state must be an object with exactly the keys {', '.join(known)}")
    states = new_records(1, state_dtype(board.num_sites))
    try:
        _fill_state(states[0], data, rules, board)
    except (KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"this is no state of these rules on this board: {error}") from None
    check_invariants(states[0], rules, board)
    if state_to_dict(states[0], rules, board) != data:
        raise ValueError("the state contradicts itself: over, bag, open_posts or a count does not follow from the rest")
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
            raise ValueError(f"{name} must have one entry a player, {n}")
        state[name][:n] = data[name]


def check_invariants(state: Any, rules: Rules, board: Board) -> None:
    """Raise ValueError, naming what is wrong, unless the facts of one state fit together (RULES 1 to 4).

    Every number that a kernel uses as an index is among what is checked, so a state that passes is safe to play on.
    """
    n, over = rules.num_players, state["current_player"] == NOBODY
    seats = np.arange(MAX_PLAYERS) < n
    cities = np.array(board.sites_of(SiteKind.CITY))
    markets_of_colour = (state["market"] > 0).sum(axis=0)
    checks = {
        "num_players": state["num_players"] == n,
        "current_player": over or 0 <= state["current_player"] < n,
        "first_player": 0 <= state["first_player"] < n,
        "set": state["set"] == rules.sets if over else 0 <= state["set"] < rules.sets,
        "turn": 0 <= state["turn"] < (1 if over else rules.turns_per_set),
        "actions_left": 0 <= state["actions_left"] <= (0 if over else rules.actions_per_turn),
        "actions_left with nothing to take": over or state["actions_left"] > 0 or state["take_pending"],
        "buys": 0 <= state["buys"] <= (0 if over else rules.buys_per_turn),
        "take_pending": not state["take_pending"] or (not over and state["market"].any()),
        "client_supply": _client_supply_fits(state, rules),
        "city_piles": ((state["city_piles"] + state["city_tokens"].sum(axis=0)) == rules.city_tokens).all(),
        "demand": all(len(set(column)) == COLUMN_HEIGHT for column in state["demand"].tolist())
        and ((state["demand"] >= 0) & (state["demand"] < NUM_COLOURS)).all(),
        "markets": (state["market"] >= 0).all()
        and (markets_of_colour <= 1).all()
        and not (over and state["market"].any()),
        "bag": (bag(state, rules) >= 0).all(),
        "basket": (state["basket"] >= 0).all() and (state["basket"].sum(axis=1) <= rules.basket).all(),
        "posts": ((state["post"] >= 0) & (state["post"] <= NUM_COLOURS)).all(),
        "palace_tokens": ((state["palace_token"] >= 0) & (state["palace_token"] <= len(TOKEN_NAMES))).all(),
        "palaces": ((state["palace"] >= 0) & (state["palace"] <= n)).all()
        and not (state["palace"].astype(bool) & (state["post"].astype(bool) | state["palace_token"].astype(bool))).any()
        and not state["palace"][cities].any(),
        "palaces_left": all(
            state["palaces_left"][seat] + (state["palace"] == seat + 1).sum() == rules.palaces for seat in range(n)
        ),
        "position": ((state["position"] >= 0) & (state["position"] < board.num_sites)).all(),
        "tokens": all(
            (state[name] >= 0).all()
            for name in ("clients", "client_palace_tokens", "city_palace_tokens", "city_tokens")
        ),
        "rupees": (state["rupees"] >= 0).all(),
        "seats that do not play": not any(
            state[name][~seats].any() for name in state.dtype.names if state[name].shape[:1] == (MAX_PLAYERS,)
        ),
    }
    for name, holds in checks.items():
        if not holds:
            raise ValueError(f"the state is impossible under these rules: see {name}")


def _client_supply_fits(state: Any, rules: Rules) -> bool:
    if rules.client_supply is None:
        return bool(state["client_supply"] == NO_LIMIT)
    return bool(state["client_supply"] >= 0 and state["client_supply"] + state["clients"].sum() == rules.client_supply)
