"""The tables: `Rules` and `Board` as one read-only record for the kernels.

Kernels take the tables as an argument, so a variant, or another board with the same number of sites, needs no new compilation.
Every value is copied or derived from `rules.py` and `board.py`; this module contains no number of the game. The record that
changes during a game is in `state.py`.
"""

import dataclasses
from typing import Any, Final

import numpy as np

from bombay_env.board import Board, SiteKind
from bombay_env.jit.kernels import record_dtype
from bombay_env.rules import (
    COLOUR_NAMES,
    COLUMN_HEIGHT,
    MAX_CITY_TOKENS,
    MAX_PLAYERS,
    NUM_CITIES,
    NUM_COLOURS,
    NUM_PALACE_TOKENS,
    NUM_POSTS,
    Rules,
)

NO_LIMIT: Final = -1  # `client_supply` if the bank never runs out
NOT_A_CITY: Final = -1
HILLS: Final = (SiteKind.START_HILL, SiteKind.HILL)


# Fields of `Rules` that kernels need in another form, which `_fill_rules` makes.
CONVERTED: Final = (
    "starting_rupees",
    "sale_rupees",
    "sale_clients",
    "colour_rupees",
    "colour_clients",
    "client_supply",
    "majority",
    "fame",
    "demand_columns",
)
# The shape of every other field. They are copied unchanged, under their names.
COPIED: Final = {
    field.name: np.shape(getattr(Rules.official(MAX_PLAYERS), field.name))
    for field in dataclasses.fields(Rules)
    if field.name not in CONVERTED
}


def tables_dtype(num_sites: int) -> np.dtype[Any]:
    """The dtype of the tables of a board with `num_sites` sites."""
    return record_dtype(
        [
            *((name, np.int32, shape) for name, shape in COPIED.items()),
            ("starting_rupees", np.int32, (MAX_PLAYERS,)),
            ("sale_rupees", np.int32, (COLUMN_HEIGHT, NUM_COLOURS)),  # of the place plus of the colour
            ("sale_clients", np.int32, (COLUMN_HEIGHT, NUM_COLOURS)),
            ("client_supply", np.int32),  # NO_LIMIT for None
            # [players ahead, other players tied] (RULES 5)
            ("majority_share", np.int32, (MAX_PLAYERS, MAX_PLAYERS)),
            # by number of City tokens; the last entry is repeated, also for the tokens that an impossible state may have and gain
            ("fame", np.int32, (MAX_CITY_TOKENS + NUM_PALACE_TOKENS + 1,)),
            ("demand_columns", np.int32, (NUM_CITIES, COLUMN_HEIGHT)),  # colours
            # the board
            ("num_sites", np.int32),
            ("start", np.int32),  # the site where every elephant starts
            ("city_sites", np.int32, (NUM_CITIES,)),
            ("post_sites", np.int32, (NUM_POSTS,)),  # inner posts, then outer posts
            ("palace_sites", np.int32, (NUM_PALACE_TOKENS,)),
            ("city_of_site", np.int32, (num_sites,)),  # index into city_sites, or NOT_A_CITY
            ("enter_cost", np.int32, (num_sites,)),  # actions to move to the site
            ("near_plain", np.uint64, (num_sites,)),  # the adjacent sites that cost `move_cost`, as bits
            ("near_hills", np.uint64, (num_sites,)),  # the adjacent sites that cost `hill_cost`, as bits
            ("distance", np.int32, (num_sites, num_sites)),  # minimum number of actions from row to column
        ]
    )


def make_tables(rules: Rules, board: Board) -> np.ndarray:
    """The tables of `rules` on `board`: a read-only array (1,) of `tables_dtype`."""
    array = np.zeros(1, tables_dtype(board.num_sites))
    _fill_rules(array[0], rules)
    _fill_board(array[0], rules, board)
    array.setflags(write=False)
    return array


def _fill_rules(tables: Any, rules: Rules) -> None:
    for name in COPIED:
        tables[name] = getattr(rules, name)
    tables.sale_rupees[:] = np.add.outer(rules.sale_rupees, rules.colour_rupees)
    tables.sale_clients[:] = np.add.outer(rules.sale_clients, rules.colour_clients)
    tables.client_supply = NO_LIMIT if rules.client_supply is None else rules.client_supply
    tables.starting_rupees[: rules.num_players] = rules.starting_rupees
    for ahead in range(rules.num_players):
        for level in range(rules.num_players - ahead):
            tables.majority_share[ahead, level] = sum(rules.majority[ahead : ahead + level + 1]) // (level + 1)
    tables.fame[:] = rules.fame[-1]
    tables.fame[: len(rules.fame)] = rules.fame
    for city, column in enumerate(rules.demand_columns):
        tables.demand_columns[city] = [COLOUR_NAMES.index(colour) for colour in column]


def _fill_board(tables: Any, rules: Rules, board: Board) -> None:
    tables.num_sites = board.num_sites
    tables.start = board.sites_of(SiteKind.START_HILL)[0]
    tables.city_sites[:] = board.sites_of(SiteKind.CITY)
    tables.post_sites[:] = board.sites_of(SiteKind.INNER_POST) + board.sites_of(SiteKind.OUTER_POST)
    tables.palace_sites[:] = board.sites_of(SiteKind.PALACE_SITE)
    tables.city_of_site[:] = NOT_A_CITY
    tables.city_of_site[tables.city_sites] = np.arange(NUM_CITIES)
    hills = np.array([site.kind in HILLS for site in board.sites])
    tables.enter_cost[:] = np.where(hills, rules.hill_cost, rules.move_cost)
    adjacent = np.zeros((board.num_sites, board.num_sites), np.bool_)
    for a, b in board.trails:
        i, j = board.site_index(a), board.site_index(b)
        adjacent[i, j] = adjacent[j, i] = True
    bits = np.uint64(1) << np.arange(board.num_sites, dtype=np.uint64)
    tables.near_plain[:] = (bits * (adjacent & ~hills)).sum(axis=1, dtype=np.uint64)
    tables.near_hills[:] = (bits * (adjacent & hills)).sum(axis=1, dtype=np.uint64)
    tables.distance[:] = distances(adjacent, tables.enter_cost)


def distances(adjacent: np.ndarray, enter_cost: np.ndarray) -> np.ndarray:
    """The minimum number of actions from each site to each other, (S, S) int64, by the Floyd–Warshall algorithm."""
    far = int(enter_cost.sum()) + 1
    distance = np.where(adjacent, enter_cost.astype(np.int64)[None, :], far)
    np.fill_diagonal(distance, 0)
    for via in range(len(distance)):
        distance = np.minimum(distance, distance[:, via, None] + distance[None, via, :])
    return distance
