"""Lookup tables for the kernels that write observations: one record, which depends only on rules and board.

A kernel reads an entry where it would otherwise compute or branch. Read `encode.py` next.
"""

import itertools
from typing import Any, Final

import numpy as np

from bombay_env.jit.kernels import record_dtype
from bombay_env.observation.layout import FeatureLayout, distance_words
from bombay_env.rules import (
    COLUMN_HEIGHT,
    MAX_PLAYERS,
    NUM_COLOURS,
    NUM_MARKETS,
    NUM_PALACE_TOKENS,
    NUM_POSTS,
    Rules,
)

# Larger numbers are clipped to this, the highest value of a byte, before they are scaled. Scaled, it still exceeds every upper
# bound.
MOST: Final = int(np.iinfo(np.int8).max)
MARKET_CODES: Final = (1 + NUM_MARKETS) ** NUM_COLOURS
MARK_BITS: Final = np.uint64(10)


def make_lookups(layout: FeatureLayout, rules: Rules, tables: np.ndarray) -> np.ndarray:
    """The lookup tables of one game: a read-only array (1,).

    A word holds four unscaled features, one for each colour or city.

        scale_by, most               factor and upper bound of each number
        sale_rupees, sale_clients, demand   of a city, by its column (`column_code`)
        price, buy_actions           by the markets of the colours (`market_code`)
        post_market                  by `market_code` and the post (1 + its colour, or 0 for none)
        one_of_four                  [k] has flag k − 1 set; [0] has no flag set
        distance, city_distance      from each site; eight sites in a word, all four cities in a word
        seats                        [viewer]: the players clockwise from the viewer
        order                        [viewer, 1 + player]: the player's index in `seats[viewer]`
        city, in_city                of a site: its city; all bits set if it is a city, else 0
        palace_mark                  [viewer]: `MARK_BITS` bits for each value of a state's `palace`, the index in `palace_marks`
                                     of that owner's palace on the first site; for no palace, an index in `nowhere`
    """
    size, columns, num_sites = layout.num_scaled, NUM_COLOURS**COLUMN_HEIGHT, layout.num_sites
    described = [
        ("scale_by", np.float32, (size,)),
        ("most", np.float32, (size,)),
        ("sale_rupees", np.uint32, (columns,)),
        ("sale_clients", np.uint32, (columns,)),
        ("demand", np.uint32, (columns, COLUMN_HEIGHT)),
        ("bales", np.uint32),
        ("price", np.uint32, (MARKET_CODES,)),
        ("buy_actions", np.uint32, (MARKET_CODES,)),
        ("post_market", np.uint32, (MARKET_CODES, 1 + NUM_COLOURS)),
        ("one_of_four", np.uint32, (5,)),
        ("distance", np.uint64, (num_sites, distance_words(num_sites))),
        ("city_distance", np.uint32, (num_sites,)),
        ("seats", np.uint8, (MAX_PLAYERS, MAX_PLAYERS)),
        ("order", np.uint8, (MAX_PLAYERS, 1 + MAX_PLAYERS)),
        ("city", np.uint8, (num_sites,)),
        ("in_city", np.uint32, (num_sites,)),
        ("palace_mark", np.uint64, (MAX_PLAYERS,)),
        ("post_sites", np.uint8, (NUM_POSTS,)),
        ("palace_sites", np.uint8, (NUM_PALACE_TOKENS,)),
    ]
    array = np.zeros(1, record_dtype(described))
    lookups, facts = array[0], tables[0]
    _fill_scales(lookups, layout, rules)
    _fill_columns(lookups, facts)
    _fill_markets(lookups, facts)
    lookups.one_of_four[1:] = _words(np.eye(4))
    lookups.distance.view(np.int8)[:, :num_sites] = np.minimum(facts.distance, MOST)
    lookups.city_distance[:] = _words(facts.distance[:, facts.city_sites])
    places = np.arange(rules.num_players)
    seats, players = slice(len(places)), slice(1, 1 + len(places))
    lookups.seats[seats, seats] = (places[None, :] + places[:, None]) % rules.num_players
    lookups.order[seats, players] = (places[None, :] - places[:, None]) % rules.num_players
    for seat in places:
        marks = [layout.num_features - layout["palace"].start, *lookups.order[seat, players].tolist()]
        lookups.palace_mark[seat] = sum(mark << (int(MARK_BITS) * owner) for owner, mark in enumerate(marks))
    lookups.city[:] = np.maximum(facts.city_of_site, 0)
    lookups.in_city[facts.city_sites] = np.iinfo(np.uint32).max
    lookups.post_sites[:] = facts.post_sites
    lookups.palace_sites[:] = facts.palace_sites
    array.setflags(write=False)
    return array


def _words(rows: np.ndarray) -> np.ndarray:
    """Rows of four numbers (…, 4) as words (…); numbers are clipped to `MOST`."""
    return np.ascontiguousarray(np.minimum(rows, MOST), np.int8).view(np.uint32)[..., 0]


def _fill_scales(lookups: Any, layout: FeatureLayout, rules: Rules) -> None:
    lookups.scale_by[:] = lookups.most[:] = 1
    by_rules = {  # divisors besides `per`
        "game_left": rules.sets * rules.turns_per_set,
        "set_left": rules.turns_per_set,
        "actions_left": rules.actions_per_turn,
        "empire_rank": 2 * (rules.num_players - 1),
        "margin": rules.num_players,
    }
    for piece in layout.numbers:
        lookups.scale_by[layout[piece.name]] = 1 / (piece.per * by_rules.get(piece.name, 1))
        lookups.most[layout[piece.name]] = piece.high


def _fill_columns(lookups: Any, tables: Any) -> None:
    columns = np.array(list(itertools.product(range(NUM_COLOURS), repeat=COLUMN_HEIGHT)))
    wanted = np.eye(NUM_COLOURS)[columns]  # (columns, COLUMN_HEIGHT, NUM_COLOURS)
    lookups.demand[:] = _words(wanted)
    lookups.sale_rupees[:] = _words((wanted * tables.sale_rupees).sum(axis=1))
    lookups.sale_clients[:] = _words((wanted * tables.sale_clients).sum(axis=1))


def _fill_markets(lookups: Any, tables: Any) -> None:
    nowhere = NUM_MARKETS
    markets = np.arange(MARKET_CODES)[:, None] // 4 ** np.arange(NUM_COLOURS) % 4 - 1  # (codes, NUM_COLOURS)
    markets[markets < 0] = nowhere
    lookups.bales = _words(tables.bales)
    lookups.price[:] = _words(np.append(tables.market_rupees, 0)[markets])
    lookups.buy_actions[:] = _words(np.append(tables.market_actions, 0)[markets])
    lookups.post_market[:, 1:] = _words(np.eye(NUM_MARKETS + 1)[markets])
