"""Set-ups and restocks that the caller gives instead of chance, and the probabilities of the next restock.

A set-up has the form of RULES 8. A set-up or restock that the rules could not produce raises a ValueError. Read `game.py` next.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from bombay_env import checks
from bombay_env.board import Board, SiteKind
from bombay_env.rules import COLOUR_NAMES, NUM_COLOURS, NUM_POSTS, TOKEN_NAMES, Rules

MAX_SHOWN_NAMES: Final = 300  # characters of a list of names in an error message
SETUP_KEYS: Final = ("demand", "posts", "palace_tokens")


# --- set-up (RULES 2) ---


def force_setups(states: np.ndarray, setup: Any, rules: Rules, board: Board) -> None:
    """Overwrite the set-up of states that were just dealt.

    Args:
        states: (batch,) records, changed in place.
        setup: one object with any of `SETUP_KEYS` for all states, or a list with one object for each state.
        rules, board: the rules and the board of the game.

    Raises:
        ValueError: a set-up is malformed, or these rules could not deal it.
    """
    given = checks.plain(setup)
    setups = [given] * len(states) if isinstance(given, dict) else given
    if not isinstance(setups, list):
        raise ValueError(f"setup must be one object, or a list with one for each game, not {type(setup).__name__}")
    if len(setups) != len(states):
        raise ValueError(f"setup has {len(setups)} entries for {len(states)} games; give one, or one for each")
    for state, one in zip(states, setups, strict=True):
        _force_setup(state, one, rules, board)


def _force_setup(state: Any, setup: Any, rules: Rules, board: Board) -> None:
    if not isinstance(setup, dict) or not set(setup) <= set(SETUP_KEYS):
        allowed = ", ".join(SETUP_KEYS)
        raise ValueError(f"setup must be an object with keys among {allowed}, not {checks.shown(setup)}")
    if "demand" in setup:
        _force_demand(state, setup["demand"], rules, board)
    if "posts" in setup:  # two of each colour on the E and F sites, or one of each on the E sites (RULES 2.3)
        kinds = (SiteKind.INNER_POST, SiteKind.OUTER_POST) if rules.outer_posts else (SiteKind.INNER_POST,)
        each = NUM_POSTS // NUM_COLOURS if rules.outer_posts else 1
        state["post"] = _placed("posts", setup, _names(board, *kinds), dict.fromkeys(COLOUR_NAMES, each), board)
    if "palace_tokens" in setup:
        counts = dict(zip(TOKEN_NAMES, rules.palace_tokens, strict=True))
        state["palace_token"] = _placed("palace_tokens", setup, _names(board, SiteKind.PALACE_SITE), counts, board)


def _names(board: Board, *kinds: SiteKind) -> list[str]:
    return [board.sites[site].name for kind in kinds for site in board.sites_of(kind)]


def _check_names(given: Any, wanted: Sequence[str], rule: str) -> None:
    """Raise ValueError unless `given` is an object whose keys are exactly `wanted`."""
    rule = f"{rule} {checks.one_line(', '.join(wanted), MAX_SHOWN_NAMES)}"
    if not isinstance(given, dict):
        raise ValueError(f"{rule}, not {checks.shown(given)}")
    for name in [*given, *wanted]:
        if name not in wanted or name not in given:
            raise ValueError(f"{rule}; {checks.shown(name)} is {'missing' if name in wanted else 'not one of them'}")


def _force_demand(state: Any, demand: Any, rules: Rules, board: Board) -> None:
    cities = _names(board, SiteKind.CITY)
    _check_names(demand, cities, "setup demand must name exactly the cities")
    columns = [tuple(demand[city]) if isinstance(demand[city], list) else demand[city] for city in cities]
    if sorted(columns, key=str) != sorted(rules.demand_columns, key=str):
        allowed = list(rules.demand_columns)
        raise ValueError(f"setup demand is {checks.shown(columns)}; it must be an arrangement of {allowed}")
    state["demand"] = [[COLOUR_NAMES.index(colour) for colour in column] for column in columns]


def _placed(key: str, setup: dict[str, Any], sites: list[str], counts: dict[str, int], board: Board) -> list[int]:
    """What the part `key` of a set-up puts on each site of the board: 0, or 1 + the index of its name in `counts`.

    It must fill all of `sites`, with as many of each name as `counts` says.
    """
    given, names = setup[key], list(counts)
    _check_names(given, sites, f"setup {key} must name exactly the sites")
    found = list(given.values())
    if any(found.count(name) != count for name, count in counts.items()):
        raise ValueError(f"setup {key} is {checks.shown(found)}; the counts must be {counts}")
    return [1 + names.index(given[site.name]) if site.name in given else 0 for site in board.sites]


# --- restock (RULES 3) ---


def checked_restocks(restocks: Any, count: int) -> np.ndarray:
    """Check draws and return them as (count, 4) int64, bales by colour. Raises ValueError for a wrong shape or dtype."""
    draws = checks.array(restocks)
    if draws.dtype.kind not in "iu" or draws.shape != (count, NUM_COLOURS):
        raise ValueError(f"restocks must be integers of shape ({count}, {NUM_COLOURS}), not {checks.form(draws)}")
    return np.ascontiguousarray(draws, np.int64)


def bales_off_elephants(state: Any, rules: Rules, name: str) -> list[int]:
    """The bales by colour that are on no elephant: what the next restock is drawn from (RULES 3).

    Raises:
        ValueError, which uses `name`: the elephants carry more bales than there are.
    """
    held = (np.array(rules.bales) - state["basket"].sum(axis=0)).tolist()
    if min(held) < 0:
        carried = state["basket"].sum(axis=0).tolist()
        raise ValueError(
            f"{name}: basket holds {carried} bales by colour in all; it must hold at most {list(rules.bales)}"
        )
    return held  # type: ignore[no-any-return]


def check_restock(drawn: np.ndarray, held: Sequence[int], rules: Rules, name: str) -> None:
    """Raise ValueError, which uses `name`, unless `drawn` is a possible draw from a bag with `held` bales by colour."""
    wanted = min(rules.restock_draw, sum(held))
    counts = drawn.tolist()
    fits = all(0 <= count <= most for count, most in zip(counts, held, strict=True))
    if not fits or sum(counts) != wanted:
        raise ValueError(f"{name} is {counts}; it must be {wanted} bales in all, with at most {list(held)} by colour")


def draw_probabilities(held: Sequence[int], draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Every possible draw from a bag and its probability: the multivariate hypergeometric distribution (RULES 3).

    Args:
        held: bales in the bag by colour.
        draw: number of bales to draw; if the bag holds fewer, all of them are drawn.

    Returns:
        Draws (k, 4) int64 in ascending order, and their probabilities (k,) float64, each the float nearest to the exact fraction.
    """
    count = min(draw, sum(held))
    draws = list(_draws(held, count))
    ways = math.comb(sum(held), count)
    weights = [math.prod(math.comb(*pair) for pair in zip(held, drawn, strict=True)) for drawn in draws]
    return np.array(draws, np.int64), np.array([weight / ways for weight in weights])


def _draws(held: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """All ways to draw `count` bales from `held` bales by colour, in ascending order."""
    if not held:
        if count == 0:
            yield ()
        return
    for first in range(max(0, count - sum(held[1:])), min(held[0], count) + 1):
        for rest in _draws(held[1:], count - first):
            yield (first, *rest)
