"""Kernels that encode a position as rows of the value net's first layer; `features.py` says what the rows mean.

Outcomes of one turn differ mostly in what belongs to the mover: site, rupees, bales, City tokens. The shared features depend only
on the rest of the position, and most outcomes of a turn have the same few rests. So the accumulator cache keeps an entry for each
rest: its rows, their sum with the mover's rows in the net's first layer (the accumulator), and what routes depend on: prices of
sales, open posts and the profit of their bales, and the sites to build on.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets.value import features
from bombay_agents.nets.value.features import (
    BASKET,
    BUCKETS,
    BUILD_WAY,
    CITIES,
    CLIENT_WAY,
    COLOUR,
    DEMAND,
    EMPIRE_GAP,
    FAME,
    LEAD,
    MAX_BUILD_WAY,
    MAX_CITY_TOTAL,
    MAX_POST_WAY,
    MAX_PROFIT,
    MAX_TURNS,
    MAX_WAY,
    NEW_CITY_WAY,
    NUM_RIVAL_FEATURES,
    NUM_SEAT_FEATURES,
    PALACE_TOKEN_WAY,
    PALACES,
    PHASE,
    PILE,
    POST,
    POST_WAY,
    RUPEES,
    SALE,
    SALE_WAY,
    SEAT_SITE,
    SITE,
    SUPPLY,
    TIME,
    TRADE,
)
from bombay_env import engine
from bombay_env.jit.kernels import kernel, long_kernel, record_dtype
from bombay_env.rules import COLUMN_HEIGHT, MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_MARKETS, NUM_POSTS, PalaceToken
from bombay_env.state import NOBODY, composed_dtype
from bombay_env.tables import NO_LIMIT, NOT_A_CITY

CACHE_SIZE: Final = 32  # entries kept
NO_ROW: Final = -1  # of a seat that is not in the game
STEPS: Final = 10  # actions after reaching a post, 0 to 9, in which its bale can be bought and sold
NO_PROFIT: Final = -100
FAR: Final = 99  # actions
SALE_STEPS: Final = features.SALE_STEPS
TRADE_STEPS: Final = features.TRADE_STEPS
NUM_TOKENS: Final = len(PalaceToken)
_ONE: Final = np.int64(1)


SEAT: Final = record_dtype(  # the seat that is being encoded
    [
        ("player", np.int64),
        ("turns_left", np.int64),  # turns to come
        ("site", np.int64),  # of the elephant
        ("load", np.int64),  # bales on it
        ("one", np.int64),  # the colours of the first two; −1 for none
        ("two", np.int64),
        ("values", np.int32, (NUM_SEAT_FEATURES,)),  # of its features
    ]
)


def entry_dtype(num_sites: int, hidden: int) -> np.dtype[Any]:
    """A cached entry."""
    return composed_dtype(
        {
            "rows": (np.int32, (features.num_shared_features(num_sites),)),
            "own": (np.int32, (features.num_own_features(),)),  # own rows of its last outcome; `evaluator.py` sets them
            "accumulator": (np.int16, (hidden,)),  # of all these rows; see `net.py`
            "place": (np.int8, (NUM_CITIES, NUM_COLOURS)),  # of the colour in the city's column; −1 if it is not there
            "market": (np.int8, (NUM_COLOURS,)),  # that offers the colour; −1 for none
            "num_open": np.int64,  # open posts
            "open_site": (np.int32, (NUM_POSTS,)),
            "open_colour": (np.int32, (NUM_POSTS,)),
            "open_price": (np.int32, (NUM_POSTS,)),
            "profit": (np.int32, (NUM_POSTS, STEPS)),  # of a bale from the post, sold so many actions after reaching it
            "num_lots": np.int64,  # sites to build on
            "lot_site": (np.int32, (num_sites,)),
            "lot_token": (np.int32, (num_sites,)),  # 1 + kind of its palace token, 0 for none
        }
    )


def workspace_dtype(num_sites: int, hidden: int) -> np.dtype[Any]:
    """Memory for encoding positions, for one thread at a time; `set_constants` fills in what never changes."""
    node = turns.memory_dtype(num_sites)["node"].base
    return composed_dtype(
        {
            "first": (np.int32, (features.num_shared_features(num_sites) + features.num_own_features(),)),
            "num_entries": np.int64,  # added since `clear_cache`; the last CACHE_SIZE are kept
            "hash": (np.uint64, (CACHE_SIZE,)),
            "key": (node, (CACHE_SIZE + 1,)),  # the keys of the cache, then the one that is looked up
            "entry": (entry_dtype(num_sites, hidden), (CACHE_SIZE,)),
            "seat": SEAT,
            "own": (np.int32, (features.num_own_features(),)),  # rows of the position that was encoded last
            "final": (np.int64, (MAX_PLAYERS,)),  # rupees of each seat if the game ended now, from the viewer on
            "empire": (np.int64, (MAX_PLAYERS,)),
            "turns_left": np.int64,  # of the viewer
        }
    )


def set_constants(workspaces: np.ndarray, num_sites: int) -> None:
    """Fill in what depends on the board; any number of records."""
    workspaces["first"] = features.first_rows(num_sites)


@kernel
def clear_cache(workspace):
    """Forget all entries; call it before the positions of another turn, and before those of another viewer."""
    workspace.num_entries = 0


@kernel
def encode_position(node, tables, viewer, workspace):
    """Encode a node between turns from the perspective of `viewer`. Returns the place of its entry in the cache.

    Overwrites `own`, `final`, `empire` and `turns_left`. If `num_entries` has grown, the entry is new, and its accumulator and
    `own` are not set yet.
    """
    number = find_entry(node, viewer, workspace)
    place = number % CACHE_SIZE
    if number == workspace.num_entries:
        encode_shared(node.state, tables, viewer, workspace, workspace.entry[place])
        workspace.num_entries += 1
    encode_own(node.state, tables, viewer, workspace, workspace.entry[place])
    return place


@long_kernel
def encode_positions(states, viewers, tables, nodes, workspaces, rows, final, turns_left):
    """Encode positions between turns, each from the perspective of its viewer.

    Overwrites for each of them `rows`, (k, features) int32, `final`, (k, MAX_PLAYERS) float32, and `turns_left`, (k,) float32.
    `nodes` and `workspaces` are memory, (1,).
    """
    node, workspace = nodes[0], workspaces[0]
    width = len(workspace.entry[0].rows)
    for number in range(len(states)):
        node.state = states[number]
        clear_cache(workspace)
        place = encode_position(node, tables[0], np.int64(viewers[number]), workspace)
        rows[number, :width] = workspace.entry[place].rows
        rows[number, width:] = workspace.own
        final[number] = workspace.final
        turns_left[number] = workspace.turns_left


@kernel
def find_entry(node, viewer, workspace):
    """The number of the node's entry in the cache; `num_entries`, with its key stored, if it is not there."""
    key = workspace.key[CACHE_SIZE]
    for word in range(len(node.words)):
        key.words[word] = node.words[word]
    key.state.position[viewer] = 0
    key.state.rupees[viewer] = 0
    for colour in range(NUM_COLOURS):
        key.state.basket[viewer, colour] = 0
    for city in range(NUM_CITIES):
        key.state.city_tokens[viewer, city] = 0
    value = turns.hash_words(key.words)
    for number in range(max(0, workspace.num_entries - CACHE_SIZE), workspace.num_entries):
        place = number % CACHE_SIZE
        if workspace.hash[place] == value and turns.same_words(workspace.key[place].words, key.words):
            return np.int64(number)
    place = workspace.num_entries % CACHE_SIZE
    workspace.hash[place] = value
    for word in range(len(key.words)):
        workspace.key[place].words[word] = key.words[word]
    return np.int64(workspace.num_entries)


# --- The entry ---


@kernel
def encode_shared(state, tables, viewer, workspace, entry):
    """Overwrite all of `entry` except its accumulator and `own`."""
    find_markets(state, entry)
    find_open_posts(state, tables, entry)
    find_lots(state, tables, entry)
    n = np.int64(tables.num_players)
    encode_course(state, tables, viewer, workspace, entry.rows)
    encode_board(state, tables, viewer, workspace, entry)
    base = SITE + np.int64(tables.num_sites)
    for place in range(1, MAX_PLAYERS):
        start = base + (place - 1) * NUM_SEAT_FEATURES
        if place < n:
            player = (viewer + place) % n
            encode_seat(state, tables, player, entry, workspace, entry.rows, start, start)
        else:
            for number in range(NUM_SEAT_FEATURES):
                entry.rows[start + number] = NO_ROW


@kernel
def find_markets(state, entry):
    """Overwrite where colours are demanded and offered."""
    for city in range(NUM_CITIES):
        for colour in range(NUM_COLOURS):
            entry.place[city, colour] = -1
        for place in range(COLUMN_HEIGHT):
            entry.place[city, np.int64(state.demand[city, place])] = place
    for colour in range(NUM_COLOURS):
        entry.market[colour] = engine.market_of(state, colour)


@kernel
def find_open_posts(state, tables, entry):
    """Overwrite the open posts and the profit of their bales."""
    count = 0
    for post in range(NUM_POSTS):
        site = np.int64(tables.post_sites[post])
        colour = np.int64(state.post[site]) - 1
        if colour < 0 or entry.market[colour] < 0:
            continue
        market = np.int64(entry.market[colour])
        price = np.int64(tables.market_rupees[market])
        entry.open_site[count] = site
        entry.open_colour[count] = colour
        entry.open_price[count] = price
        for step in range(STEPS):
            entry.profit[count, step] = NO_PROFIT
        for city in range(NUM_CITIES):
            place = np.int64(entry.place[city, colour])
            if place >= 0:
                step = np.int64(tables.market_actions[market]) + tables.distance[site, tables.city_sites[city]]
                step += tables.sell_cost
                if step < STEPS:
                    profit = np.int64(tables.sale_rupees[place, colour]) - price
                    entry.profit[count, step] = max(np.int64(entry.profit[count, step]), profit)
        for step in range(1, STEPS):
            entry.profit[count, step] = max(entry.profit[count, step], entry.profit[count, step - 1])
        count += 1
    entry.num_open = count


@kernel
def find_lots(state, tables, entry):
    """Overwrite the sites to build on."""
    count = 0
    for site in range(tables.num_sites):
        if state.palace[site] == 0 and state.post[site] == 0 and tables.city_of_site[site] == NOT_A_CITY:
            entry.lot_site[count] = site
            entry.lot_token[count] = state.palace_token[site]
            count += 1
    entry.num_lots = count


@kernel
def encode_course(state, tables, viewer, workspace, rows):
    """Overwrite the rows of the time and the bank."""
    n = np.int64(tables.num_players)
    left = turns_left(state, tables, viewer)
    in_set = left - np.int64(tables.turns_per_set) * (np.int64(tables.sets) - 1 - np.int64(state.set))
    order = (viewer - np.int64(state.first_player) + n) % n
    rows[TIME] = workspace.first[TIME] + (n - 2) * (MAX_TURNS + 1) + min(left, MAX_TURNS)
    phase = ((n - 2) * MAX_PLAYERS + order) * (features.MAX_SET_TURNS + 1) + min(max(in_set, 0), features.MAX_SET_TURNS)
    rows[PHASE] = workspace.first[PHASE] + phase
    supply = np.int64(state.client_supply)
    rows[SUPPLY] = workspace.first[SUPPLY] + (
        features.MAX_SUPPLY + 1 if supply == NO_LIMIT else min(supply, features.MAX_SUPPLY)
    )


@kernel
def encode_board(state, tables, viewer, workspace, entry):
    """Overwrite the rows of cities, markets, posts and sites."""
    rows, first, n = entry.rows, workspace.first, np.int64(tables.num_players)
    for city in range(NUM_CITIES):
        column = np.int64(0)
        for place in range(COLUMN_HEIGHT):
            column = column * NUM_COLOURS + state.demand[city, place]
        rows[DEMAND + city] = first[DEMAND + city] + column
        rows[PILE + city] = first[PILE + city] + min(np.int64(state.city_piles[city]), features.MAX_PILE)
    for colour in range(NUM_COLOURS):
        market, value = np.int64(entry.market[colour]), np.int64(0)
        if market >= 0:
            value = market * features.MAX_OFFER + min(np.int64(state.market[market, colour]), features.MAX_OFFER)
        rows[COLOUR + colour] = first[COLOUR + colour] + value
    for post in range(NUM_POSTS):
        colour, value = np.int64(state.post[tables.post_sites[post]]) - 1, np.int64(0)
        if colour >= 0:
            value = _ONE + colour * (1 + NUM_MARKETS) + 1 + entry.market[colour]
        rows[POST + post] = first[POST + post] + value
    for site in range(tables.num_sites):
        owner, value = np.int64(state.palace[site]) - 1, np.int64(state.palace_token[site])
        if owner >= 0:
            value = 1 + NUM_TOKENS + (owner - viewer + n) % n
        rows[SITE + site] = first[SITE + site] + value


# --- A seat ---


@kernel
def turns_left(state, tables, seat):
    """Turns of a seat to come, the one that it is in included."""
    if state.current_player == NOBODY:
        return np.int64(0)
    n = np.int64(tables.num_players)
    first, mover = np.int64(state.first_player), np.int64(state.current_player)
    has_had_turn = (seat - first + n) % n < (mover - first + n) % n  # in the present game turn
    return engine.game_turns_left(state, tables) - np.int64(has_had_turn)


@kernel
def bucket_of(left):
    """The bucket of a number of turns to come."""
    if left <= 2:
        return np.int64(left)
    if left <= 4:
        return np.int64(3)
    return np.int64(4) if left <= 8 else np.int64(5)


@kernel
def encode_seat(state, tables, player, entry, workspace, rows, start, feature):
    """Overwrite the rows of a seat, which begin at index `start` of `rows` and are those of the features from `feature` on."""
    seat = workspace.seat
    seat.player = player
    seat.site = state.position[player]
    encode_hands(state, tables, seat)
    encode_sales(state, tables, entry, seat)
    encode_trades(state, tables, entry, seat)
    encode_building(state, tables, entry, seat)
    for number in range(NUM_SEAT_FEATURES):
        rows[start + number] = workspace.first[feature + number] + seat.values[number]


@kernel
def encode_hands(state, tables, seat):
    """Overwrite the values of what a seat has, and `load`, `one` and `two`."""
    player, values = seat.player, seat.values
    seat.load, seat.one, seat.two = 0, -1, -1
    for colour in range(NUM_COLOURS):
        for _ in range(np.int64(state.basket[player, colour])):
            if seat.load == 0:
                seat.one = colour
            elif seat.load == 1:
                seat.two = colour
            seat.load += 1
    values[SEAT_SITE] = seat.site
    values[BASKET] = 0
    if seat.load == 1:
        values[BASKET] = 1 + seat.one
    elif seat.load > 1:  # pairs in order, one ≤ two
        values[BASKET] = 1 + NUM_COLOURS + seat.one * NUM_COLOURS - seat.one * (seat.one - 1) // 2 + seat.two - seat.one
    values[RUPEES] = max(np.int64(0), min(np.int64(state.rupees[player]), features.MAX_RUPEES))
    seat.turns_left = left = turns_left(state, tables, player)
    held, city_palace_tokens = np.int64(0), np.int64(state.city_palace_tokens[player])
    for city in range(NUM_CITIES):
        held += np.int64(state.city_tokens[player, city]) << city
    total = np.int64(engine.city_total(state, player))
    values[CITIES] = held * 3 + min(city_palace_tokens, 2)
    values[FAME] = min(total, MAX_CITY_TOTAL) * (MAX_TURNS + 1) + min(left, MAX_TURNS)
    values[PALACES] = min(np.int64(state.palaces_left[player]), features.MAX_PALACES_LEFT) * BUCKETS + bucket_of(left)


@kernel
def encode_sales(state, tables, entry, seat):
    """Overwrite the values of what the bales on the elephant bring."""
    values = seat.values
    sale_way, client_way, city_way = FAR, FAR, FAR
    for step in range(len(SALE_STEPS)):
        values[SALE + step] = 0
    for city in range(NUM_CITIES):
        best, both, clients = city_sale(tables, entry, city, seat)
        if best < 0:
            continue
        way = np.int64(tables.distance[seat.site, tables.city_sites[city]]) + tables.sell_cost
        for step in range(len(SALE_STEPS)):
            worth = np.int64(0)
            if both > best and way + tables.sell_cost <= SALE_STEPS[step]:
                worth = both
            elif way <= SALE_STEPS[step]:
                worth = best
            values[SALE + step] = max(np.int64(values[SALE + step]), min(worth, features.MAX_SALE))
        sale_way = min(sale_way, way)
        if clients > 0:
            client_way = min(client_way, way)
        if state.city_tokens[seat.player, city] == 0 and state.city_piles[city] > 0:
            city_way = min(city_way, way)
    time_and_load = bucket_of(seat.turns_left) * features.LOADS + min(seat.load, np.int64(features.LOADS - 1))
    values[SALE_WAY] = time_and_load * (features.MAX_SALE_WAY + 1) + (
        sale_way if sale_way <= features.MAX_SALE_WAY else 0
    )
    values[CLIENT_WAY] = client_way if client_way <= MAX_WAY else 0
    values[NEW_CITY_WAY] = city_way if city_way <= MAX_WAY else 0


@kernel
def city_sale(tables, entry, city, seat):
    """What the bales on the elephant bring in a city: the best one and two of them in rupees, and their Client tokens.

    −1 for the best if the city demands neither.
    """
    nothing = np.int64(-1)
    if seat.load == 0:
        return nothing, nothing, np.int64(0)
    top, top_colour = np.int64(entry.place[city, seat.one]), seat.one
    low, low_colour = nothing, nothing
    if seat.load > 1:
        low, low_colour = np.int64(entry.place[city, seat.two]), seat.two
        if top < 0 or (low >= 0 and low < top):  # the first sale is that at the higher place
            top, top_colour, low, low_colour = low, low_colour, top, top_colour
    if top < 0:
        return nothing, nothing, np.int64(0)
    best, both = np.int64(tables.sale_rupees[top, top_colour]), nothing
    clients = np.int64(tables.sale_clients[top, top_colour])
    if low >= 0:
        rupees, lower = best, low - 1  # the colours below the one sold move up
        if low == top:  # the same colour: it has moved to the bottom
            lower = np.int64(COLUMN_HEIGHT - 1)
        else:
            best = max(best, np.int64(tables.sale_rupees[low, low_colour]))
            clients += np.int64(tables.sale_clients[low, low_colour])
        both = rupees + tables.sale_rupees[lower, low_colour]
    return best, both, clients


@kernel
def encode_trades(state, tables, entry, seat):
    """Overwrite the values of what a bale still to be bought brings."""
    values = seat.values
    room = np.int64(seat.load < tables.basket)
    for colour in range(NUM_COLOURS):
        values[POST_WAY + colour] = FAR
    for step in range(len(TRADE_STEPS)):
        values[TRADE + step] = NO_PROFIT
    for number in range(entry.num_open):
        way = np.int64(tables.distance[seat.site, entry.open_site[number]])
        at = POST_WAY + np.int64(entry.open_colour[number])
        values[at] = min(np.int64(values[at]), way)
        if state.rupees[seat.player] >= entry.open_price[number]:
            for step in range(len(TRADE_STEPS)):
                after = TRADE_STEPS[step] - way
                if after >= 0:
                    values[TRADE + step] = max(values[TRADE + step], entry.profit[number, after])
    for colour in range(NUM_COLOURS):
        value, way = np.int64(0), np.int64(values[POST_WAY + colour])
        if way != FAR:
            value = 1 + entry.market[colour] * (MAX_POST_WAY + 1) + min(way, MAX_POST_WAY)
        values[POST_WAY + colour] = room * (1 + NUM_MARKETS * (MAX_POST_WAY + 1)) + value
    for step in range(len(TRADE_STEPS)):
        profit, value = np.int64(values[TRADE + step]), np.int64(0)
        if profit != NO_PROFIT:
            value = 2 + max(np.int64(-1), min(profit, MAX_PROFIT))
        values[TRADE + step] = room * (MAX_PROFIT + 3) + value


@kernel
def encode_building(state, tables, entry, seat):
    """Overwrite the values of the ways to the nearest sites to build on."""
    values = seat.values
    nearest = np.int64(MAX_BUILD_WAY)
    for kind in range(NUM_TOKENS):
        values[PALACE_TOKEN_WAY + kind] = MAX_BUILD_WAY
    if state.palaces_left[seat.player] > 0:
        for number in range(entry.num_lots):
            way = np.int64(tables.distance[seat.site, entry.lot_site[number]])
            nearest = min(nearest, way)
            token = np.int64(entry.lot_token[number])
            if token > 0:
                at = PALACE_TOKEN_WAY + token - 1
                values[at] = min(np.int64(values[at]), way)
    values[BUILD_WAY] = min(seat.load, np.int64(2)) * (MAX_BUILD_WAY + 1) + nearest
    loaded = np.int64(seat.load > 0)
    for kind in range(NUM_TOKENS):
        values[PALACE_TOKEN_WAY + kind] += loaded * (MAX_BUILD_WAY + 1)


# --- What is the viewer's own ---


@kernel
def encode_own(state, tables, viewer, workspace, entry):
    """Overwrite `own`, `final`, `empire` and `turns_left`."""
    own, first, n = workspace.own, workspace.first, np.int64(tables.num_players)
    feature = SITE + np.int64(tables.num_sites) + (MAX_PLAYERS - 1) * NUM_SEAT_FEATURES
    start = np.int64(0)
    encode_seat(state, tables, viewer, entry, workspace, own, start, feature)
    provisional_result(state, tables, viewer, workspace)
    workspace.turns_left = turns_left(state, tables, viewer)
    bucket = bucket_of(workspace.turns_left)
    at = np.int64(NUM_SEAT_FEATURES)
    for place in range(1, MAX_PLAYERS):
        if place < n:
            gap = workspace.empire[0] - workspace.empire[place]
            lead = workspace.final[0] - workspace.final[place]
            gap = max(-features.MAX_EMPIRE_GAP, min(features.MAX_EMPIRE_GAP, gap)) + features.MAX_EMPIRE_GAP
            lead = max(-features.MAX_LEAD, min(features.MAX_LEAD, lead)) + features.MAX_LEAD
            own[at + EMPIRE_GAP] = first[feature + at + EMPIRE_GAP] + gap * BUCKETS + bucket
            own[at + LEAD] = first[feature + at + LEAD] + lead * BUCKETS + bucket
        else:
            own[at + EMPIRE_GAP] = NO_ROW
            own[at + LEAD] = NO_ROW
        at += NUM_RIVAL_FEATURES
    for colour in range(NUM_COLOURS):
        bales = np.int64(engine.bales_in_bag(state, tables, colour))
        own[at + colour] = first[feature + at + colour] + max(np.int64(0), min(bales, features.MAX_BAG))


@kernel
def provisional_result(state, tables, viewer, workspace):
    """Overwrite `final` and `empire`, in seat order from the viewer, with the result if the game ended now (RULES 5)."""
    n = np.int64(tables.num_players)
    for place in range(n):
        workspace.empire[place] = engine.empire_total(state, tables, (viewer + place) % n)
    for place in range(n):
        player = (viewer + place) % n
        better, tied = 0, 0
        for other in range(n):
            better += workspace.empire[other] > workspace.empire[place]
            tied += workspace.empire[other] == workspace.empire[place]
        award = tables.majority_share[better, tied - 1] + engine.fame_award(state, tables, player)
        workspace.final[place] = np.int64(state.rupees[player]) + award
