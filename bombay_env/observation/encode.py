"""The kernels that write observations.

`encode` writes whole numbers into a record of bytes; `scale` converts them to float32 features. The kernels read states in the
form of `state.reading_dtype` and do not change them. `layout.py` documents the features.
"""

from typing import Final

import numpy as np

from bombay_env import engine
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.observation.lookups import MARK_BITS, MOST
from bombay_env.rules import (
    COLUMN_HEIGHT,
    MAX_PLAYERS,
    MIN_PLAYERS,
    NUM_CITIES,
    NUM_COLOURS,
    NUM_MARKETS,
    NUM_PALACE_TOKENS,
    NUM_POSTS,
)
from bombay_env.state import NOBODY

LOWEST: Final = np.float32(-1)  # the lower bound of every feature

# Four adjacent bytes, one for each colour or city, are processed as one word.
ONE_EACH: Final = np.uint64(0x01010101)
HIGHEST_EACH: Final = np.uint64(0x7F7F7F7F)
HIGH_BIT: Final = np.uint64(7)
TOP_BYTE: Final = np.uint64(24)
BYTE: Final = np.uint64(0xFF)
TWO, THREE = np.uint64(2), np.uint64(3)
MARK: Final = np.uint64((1 << 10) - 1)
# The top byte of a word times this factor has the lowest two bits of each of the word's four bytes.
GATHER: Final = np.uint64(1 << 24 | 1 << 18 | 1 << 12 | 1 << 6)


@kernel
def encode(state, tables, lookups, seat, screened, raw):
    """Write the unscaled observation of `state` by `seat` into `raw` (RULES 6).

    The code avoids branches on the state, because the processor could not predict them.

    Args:
        state: a record of `reading_dtype`, unchanged.
        tables: the record of `make_tables`.
        lookups: the record of `make_lookups`.
        seat: the observing seat.
        screened: whether to hide what opponents keep behind their screens.
        raw: a record of the layout's `raw_dtype`, overwritten. It must be zeroed before its first use, and then be used with
            one value of `screened` only.
    """
    raw.all_flags[:] = 0
    _encode_course(state, tables, lookups, seat, raw)
    _encode_silk(state, lookups, raw)
    _encode_cities(state, tables, lookups, raw)
    _encode_board(state, lookups, seat, raw)
    _encode_players(state, tables, lookups, seat, screened, raw)
    if not screened:
        _encode_standing(tables, raw)


@inlined
def _encode_course(state, tables, lookups, seat, raw):
    over = state.current_player == NOBODY
    set_left = 0 if over else tables.turns_per_set - state.turn
    sets_after = 0 if over else tables.sets - 1 - state.set
    raw.set_left[0] = set_left
    raw.all_left[0] = sets_after * tables.turns_per_set + set_left
    raw.actions_left[0] = state.actions_left
    raw.num_players[tables.num_players - MIN_PLAYERS] = 1
    raw.first_player[lookups.order[seat, 1 + state.first_player]] = 1
    if not over:
        raw.mover[lookups.order[seat, 1 + state.current_player]] = 1
    for count in range(3):
        raw.action_in_hand[count] = state.actions_left > count
    raw.can_still_buy[0] = not over and state.buys < tables.buys_per_turn
    raw.take_pending[0] = state.take_pending


@kernel
def market_code(state):
    """The market of each colour, as one number below `MARKET_CODES`: two bits a colour, 1 + market, or 0 for no market."""
    words = state.market_words
    places = _any_each(words[0]) + TWO * _any_each(words[1]) + THREE * _any_each(words[2])
    return ((places * GATHER) >> TOP_BYTE) & BYTE


@kernel
def _any_each(word):
    """For a word of four small numbers, the word with 1 for each number that is not 0."""
    return ((np.uint64(word) + HIGHEST_EACH) >> HIGH_BIT) & ONE_EACH


@inlined
def _encode_silk(state, lookups, raw):
    bag = np.uint64(lookups.bales)
    for market in range(NUM_MARKETS):
        raw.market_words[market] = state.market_words[market]
        bag -= np.uint64(state.market_words[market])
    for seat in range(MAX_PLAYERS):  # all seats: unused seats hold nothing, and the loop has a fixed length
        bag -= np.uint64(state.basket_words[seat])
    raw.bag_words[0] = bag
    code = market_code(state)
    raw.price_words[0] = lookups.price[code]
    raw.buy_actions_words[0] = lookups.buy_actions[code]
    for place in range(NUM_POSTS):
        post = state.post[lookups.post_sites[place]]
        raw.post_colour_words[place] = lookups.one_of_four[post]
    for place in range(NUM_POSTS):  # a separate loop: here a lookup would wait for the write just before it
        post = state.post[lookups.post_sites[place]]
        raw.post_market_words[place] = lookups.post_market[code, post]


@kernel
def column_code(state, city):
    """The city's column as one number in base `NUM_COLOURS`; the colours from top to bottom are its digits."""
    code = np.int64(0)
    for place in range(COLUMN_HEIGHT):
        code = NUM_COLOURS * code + np.int64(state.demand[city, place])
    return code


@inlined
def _encode_cities(state, tables, lookups, raw):
    for city in range(NUM_CITIES):
        code = column_code(state, city)
        raw.sale_rupees_words[city] = lookups.sale_rupees[code]
        raw.sale_clients_words[city] = lookups.sale_clients[code]
        for place in range(COLUMN_HEIGHT):
            raw.demand_words[COLUMN_HEIGHT * city + place] = lookups.demand[code, place]
    raw.city_pile_words[0] = state.city_piles_words[0]
    raw.client_supply[0] = min(state.client_supply, MOST) if tables.client_supply >= 0 else MOST


@inlined
def _encode_board(state, lookups, seat, raw):
    marks = lookups.palace_mark[seat]  # in a register: a lookup in the loop would wait for the address of each mark
    for site in range(len(state.palace)):
        mark = (marks >> (MARK_BITS * np.uint64(state.palace[site]))) & MARK
        raw.palace_marks[np.uint64(MAX_PLAYERS * site) + mark] = 1
    for place in range(NUM_PALACE_TOKENS):
        token = state.palace_token[lookups.palace_sites[place]]
        raw.palace_token_words[place] = lookups.one_of_four[token]
    here = state.position[seat]
    for word in range(len(raw.distance_words)):
        raw.distance_words[word] = lookups.distance[here, word]
    raw.city_distance_words[0] = lookups.city_distance[here]
    raw.sale_here_words[0] = raw.sale_rupees_words[lookups.city[here]] & lookups.in_city[here]


@inlined
def _encode_players(state, tables, lookups, seat, screened, raw):
    for place in range(tables.num_players):
        player = lookups.seats[seat, place]
        raw.position[place, state.position[player]] = 1
        raw.basket_words[place] = state.basket_words[player]
        raw.palaces_left[place] = state.palaces_left[player]
        if place == 0 or not screened:  # holdings behind the screen
            tokens = state.city_tokens_words[player]
            kept = state.city_palace_tokens[player]
            clients = engine.client_total(state, player)
            empire = tables.palaces - state.palaces_left[player] + clients
            fame = tables.fame[_sum_each(tokens) + np.uint64(kept)]
            raw.city_tokens_words[place] = tokens
            raw.city_palace_tokens[place] = kept
            raw.rupees[place] = min(state.rupees[player], MOST)
            raw.clients[place] = min(clients, MOST)
            raw.empire[place] = min(empire, MOST)
            raw.fame[place] = min(fame, MOST)
            raw.empires[place] = 1 + empire
            raw.final[place] = state.rupees[player] + fame


@kernel
def _sum_each(word):
    """The sum of a word's four small numbers."""
    return ((np.uint64(word) * ONE_EACH) >> TOP_BYTE) & BYTE


@inlined
def _encode_standing(tables, raw):
    """Features that compare a seat with the others; they need all seats' holdings."""
    n = tables.num_players
    total = 0
    for place in range(n):
        ahead = 0
        not_behind = 0  # includes the player itself
        mine = raw.empires[place]
        for other in range(MAX_PLAYERS):  # all seats, so that the loop has a fixed length
            ahead += raw.empires[other] > mine
            not_behind += raw.empires[other] >= mine
        award = tables.majority_share[np.uint64(ahead), np.uint64(not_behind - ahead - 1)]
        raw.majority[place] = min(award, MOST)
        raw.empire_rank[place] = 2 * n - ahead - not_behind - 1  # 2 for each player behind, 1 for each tied
        raw.final[place] += award
        total += raw.final[place]
    for place in range(n):
        raw.margin[place] = max(min(n * raw.final[place] - total, MOST), -MOST)


@kernel
def scale(raw, lookups, features):
    """Overwrite `features`, a record of the layout's `row_dtype`, with the scaled contents of `raw`.

    It is faster if it does not run immediately after `encode`: a processor stalls when it reads a vector right after the parts of
    this vector were written.
    """
    count = len(raw.to_scale)
    for number in range(count):
        value = np.float32(raw.to_scale[number]) * lookups.scale_by[number]
        features.row[number] = max(min(value, lookups.most[number]), LOWEST)
    for flag in range(count, len(raw.to_copy)):
        features.row[flag] = np.float32(raw.to_copy[flag])
    features.row[0] = np.float32(raw.all_left[0]) * lookups.scale_by[0]


@kernel
def mover_of(state):
    """The seat to act, or seat 0 after the game ends."""
    return max(np.int64(state.current_player), 0)
