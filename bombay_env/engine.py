"""The rules as kernels on one state: deal, restock, legal, apply, settle.

Each kernel reads or changes one state (`state.py`) under the tables of a game (`tables.py`), and is named after what a player
does. Kernels that play an action assume that it is legal; `legal_moves` and `legal_others` decide what is legal. `apply` returns
whether a restock is due. Its caller then draws or forces one: this module does not choose between the two (`batch.py` does).
"""

import numpy as np

from bombay_env import chance, streams
from bombay_env.actions import BUILD, BUY, CONSOLIDATE, END_TURN, NUM_OTHER_ACTIONS, SELL, TAKE, eight_flags
from bombay_env.jit.kernels import kernel
from bombay_env.rules import (
    COLUMN_HEIGHT,
    MAX_BALES,
    MAX_PLAYERS,
    NUM_CITIES,
    NUM_COLOURS,
    NUM_MARKETS,
    NUM_PALACE_TOKENS,
    NUM_POSTS,
    PalaceToken,
)
from bombay_env.state import NOBODY
from bombay_env.tables import NO_LIMIT, NOT_A_CITY

NO_MARKET = NO_PLACE = -1

# Numba compiles an IntEnum's members as numbers only under a plain name.
TOKEN_CLIENT, TOKEN_CITY = int(PalaceToken.CLIENT), int(PalaceToken.CITY)
TOKEN_RUPEES, TOKEN_BALE = int(PalaceToken.RUPEES), int(PalaceToken.BALE)
POSTS_OF_COLOUR = NUM_POSTS // NUM_COLOURS
INNER_POSTS = NUM_POSTS // 2

# Sets of actions and of colours are bits of a uint64. Every literal is typed: an untyped one would make the result signed.
NO_BITS, ONE = np.uint64(0), np.uint64(1)
SELL_BIT, BUILD_BIT, TAKE_BIT = np.uint64(SELL), np.uint64(BUILD), np.uint64(TAKE)
BUY_FLAG, CONSOLIDATE_FLAG = ONE << np.uint64(BUY), ONE << np.uint64(CONSOLIDATE)
END_TURN_FLAG = ONE << np.uint64(END_TURN)
MAX_WORD_SITES = 64 - NUM_OTHER_ACTIONS
EIGHT, SIXTY_FOUR, BYTE = np.uint64(8), np.uint64(64), np.uint64(0xFF)
EIGHT_FLAGS = eight_flags()
LAST_EIGHT = np.uint64(NUM_OTHER_ACTIONS - 8)  # the last eight actions are no moves


# --- Set-up (RULES 2) ---


@kernel
def clear(state, tables, seed):
    """Set every field that does not depend on chance; posts, palace tokens, demand and markets are left empty."""
    state.seed = seed
    state.num_players = tables.num_players
    state.set = 0
    state.take_pending = 0
    state.client_supply = tables.client_supply
    state.city_piles[:] = tables.city_tokens
    state.demand[:] = 0
    state.market[:] = 0
    state.post[:] = 0
    state.palace_token[:] = 0
    state.palace[:] = 0
    state.basket[:] = 0
    state.clients[:] = 0
    state.client_palace_tokens[:] = 0
    state.city_tokens[:] = 0
    state.city_palace_tokens[:] = 0
    for seat in range(MAX_PLAYERS):
        plays = seat < tables.num_players
        state.position[seat] = tables.start if plays else 0
        state.rupees[seat] = tables.starting_rupees[seat]
        state.palaces_left[seat] = tables.palaces if plays else 0
    begin_set(state, tables)


@kernel
def draw_demand(state, tables):
    """Give each city a random demand column (RULES 2.2)."""
    order = np.empty(NUM_CITIES, np.int64)
    chance.permutation(state.seed, streams.DEMAND, order)
    for city in range(NUM_CITIES):
        for place in range(COLUMN_HEIGHT):  # assigning the whole column would take a second longer to compile
            state.demand[city, place] = tables.demand_columns[order[city], place]


@kernel
def draw_posts(state, tables):
    """Place the trading posts at random: two of each colour on the E and F sites, or one of each on the E sites (RULES 2.3)."""
    each = POSTS_OF_COLOUR if tables.outer_posts else 1
    count = NUM_POSTS if tables.outer_posts else INNER_POSTS
    order = np.empty(count, np.int64)
    chance.permutation(state.seed, streams.POSTS, order)
    for place in range(count):
        state.post[tables.post_sites[place]] = 1 + order[place] // each


@kernel
def draw_palace_tokens(state, tables):
    """Place the palace tokens at random on the G sites (RULES 2.4)."""
    order = np.empty(NUM_PALACE_TOKENS, np.int64)
    chance.permutation(state.seed, streams.PALACE_TOKENS, order)
    token = 0
    for kind in range(len(tables.palace_tokens)):
        for _ in range(tables.palace_tokens[kind]):
            state.palace_token[tables.palace_sites[order[token]]] = 1 + kind
            token += 1


@kernel
def deal(state, tables, seed):
    """Set up a game from its seed, without the first restock (RULES 2)."""
    clear(state, tables, seed)
    draw_demand(state, tables)
    draw_posts(state, tables)
    draw_palace_tokens(state, tables)


# --- Restock (RULES 3) ---


@kernel
def bales_in_bag(state, tables, colour):
    """The number of bales of `colour` that are neither in a market nor on an elephant."""
    out = 0
    for market in range(NUM_MARKETS):
        out += state.market[market, colour]
    for seat in range(tables.num_players):
        out += state.basket[seat, colour]
    return tables.bales[colour] - out


@kernel
def draw_restock(state, tables, drawn):
    """Draw the restock of the current set: overwrite `drawn` (4,) with the number of bales of each colour (RULES 3).

    Each bale has a random priority, and the bales with the lowest priorities are drawn. A bale's priority does not depend on the
    other bales in the bag, so games that differ a little draw nearly the same bales. The markets must be empty.
    """
    priority = np.empty(NUM_COLOURS * MAX_BALES, np.uint64)
    colour_of = np.empty(NUM_COLOURS * MAX_BALES, np.int64)
    count = 0
    for colour in range(NUM_COLOURS):
        drawn[colour] = 0
        for number in range(bales_in_bag(state, tables, colour)):
            index = (np.int64(state.set) * NUM_COLOURS + colour) * MAX_BALES + number
            word = chance.random_word(state.seed, streams.RESTOCK, np.uint64(index))
            place = count
            while place > 0 and priority[place - 1] > word:
                priority[place] = priority[place - 1]
                colour_of[place] = colour_of[place - 1]
                place -= 1
            priority[place] = word
            colour_of[place] = colour
            count += 1
    for place in range(min(count, tables.restock_draw)):
        drawn[colour_of[place]] += 1


@kernel
def stock_markets(state, drawn):
    """Sort the drawn bales into the markets: most common colours left, next centre, the rest right; ties share a market."""
    state.market[:] = 0
    for market in range(NUM_MARKETS):
        most = 0
        for colour in range(NUM_COLOURS):
            if market_of(state, colour) == NO_MARKET:
                most = max(most, drawn[colour])
        rest = market == NUM_MARKETS - 1
        for colour in range(NUM_COLOURS):
            count = drawn[colour]
            if count > 0 and market_of_others(state, colour, market) == NO_MARKET and (rest or count == most):
                state.market[market, colour] = count


@kernel
def market_of_others(state, colour, limit):
    """The market before `limit` that holds `colour`, or NO_MARKET."""
    found = NO_MARKET
    for market in range(limit - 1, -1, -1):  # no early exit, so no branch
        found = market if state.market[market, colour] > 0 else found
    return found


@kernel
def market_of(state, colour):
    """The market that holds `colour`, or NO_MARKET; then its posts are closed."""
    return market_of_others(state, colour, NUM_MARKETS)


# --- Legality (RULES 4) ---

# The legal actions are computed as two words of bits: one for the moves, one for all other actions. Both words are large enough
# for every board. Masks and the check of a single action are made from them.


@kernel
def legal_moves(state, tables):
    """The sites that the current player may move to, as bits: adjacent sites for which enough actions are left."""
    if state.current_player == NOBODY or state.take_pending != 0:
        return NO_BITS
    here = state.position[state.current_player]
    moves = NO_BITS
    if tables.move_cost <= state.actions_left:
        moves |= tables.near_plain[here]
    if tables.hill_cost <= state.actions_left:
        moves |= tables.near_hills[here]
    return moves


@kernel
def legal_others(state, tables):
    """The legal actions other than moves, as bits by their offsets in `actions.py`."""
    player = state.current_player
    if player == NOBODY:
        return NO_BITS
    if state.take_pending != 0:
        return takeable_colours(state) << TAKE_BIT
    # No branches from here on: a processor could not predict them.
    site = np.uint8(state.position[player])
    city = tables.city_of_site[site]
    held = held_colours(state, player)
    wanted = demanded_colours(state, max(city, 0))
    unspent = state.actions_left == tables.actions_per_turn
    sells = (city != NOT_A_CITY) & (tables.sell_cost <= state.actions_left)
    word = END_TURN_FLAG
    word |= CONSOLIDATE_FLAG * np.uint64(unspent)
    word |= BUY_FLAG * np.uint64(can_buy(state, tables))
    word |= ((held & wanted) << SELL_BIT) * np.uint64(sells)
    word |= (held << BUILD_BIT) * np.uint64(can_build(state, tables, site))
    return word


@kernel
def can_buy(state, tables):
    """Whether the current player may buy: open post, room in the basket, enough rupees and actions, a purchase left this turn."""
    player = state.current_player
    post = np.int64(state.post[np.uint8(state.position[player])])
    market = market_of(state, max(post - 1, 0))
    offer = max(market, 0)
    return (
        (post != 0)
        & (market != NO_MARKET)
        & (state.buys < tables.buys_per_turn)
        & (basket_load(state, player) < tables.basket)
        & (tables.market_rupees[offer] <= state.rupees[player])
        & (tables.market_actions[offer] <= state.actions_left)
    )


@kernel
def can_build(state, tables, site):
    """Whether the current player may build on `site`, given a bale: no post, city or palace there; a palace and actions left."""
    return (
        (state.post[site] == 0)
        & (state.palace[site] == 0)
        & (tables.city_of_site[site] == NOT_A_CITY)
        & (state.palaces_left[state.current_player] > 0)
        & (tables.build_cost <= state.actions_left)
    )


@kernel
def is_legal(state, tables, action):
    """Whether `action`, any int64, is legal for the current player; False after the game ends."""
    if action < 0 or action >= tables.num_sites + NUM_OTHER_ACTIONS:
        return False
    if action < tables.num_sites:
        return (legal_moves(state, tables) >> np.uint64(action)) & ONE != NO_BITS
    return (legal_others(state, tables) >> np.uint64(action - tables.num_sites)) & ONE != NO_BITS


@kernel
def legal(state, tables, mask):
    """Overwrite `mask`, a record of `mask_dtype`, with the current player's legal actions; none after the game ends."""
    write_flags(legal_moves(state, tables), legal_others(state, tables), tables, mask)


@kernel
def write_flags(moves, others, tables, mask):
    """Overwrite `mask`, a record of `mask_dtype`, with the bits of `moves`, followed by the bits of `others`."""
    first = np.uint64(tables.num_sites)
    low = moves
    high = NO_BITS  # bits that do not fit into the first word
    if first < SIXTY_FOUR:  # a shift by the full width of a word is undefined
        low |= others << first
    if first > SIXTY_FOUR - np.uint64(NUM_OTHER_ACTIONS):
        high = others >> (SIXTY_FOUR - first)
    for eight in range(len(mask.eights)):
        mask.eights[eight] = EIGHT_FLAGS[low & BYTE]
        low = (low >> EIGHT) | (high << SIXTY_FOUR - EIGHT)
        high >>= EIGHT
    mask.last = EIGHT_FLAGS[others >> LAST_EIGHT]


@kernel
def legal_word(state, tables):
    """The legal actions as one word: bit a is action a. Only for boards with at most `MAX_WORD_SITES` sites."""
    return legal_moves(state, tables) | (legal_others(state, tables) << np.uint64(tables.num_sites))


@kernel
def held_colours(state, player):
    """The colours on the player's elephant, as bits."""
    colours = NO_BITS
    for colour in range(NUM_COLOURS):
        if state.basket[player, colour] > 0:
            colours |= ONE << np.uint64(colour)
    return colours


@kernel
def demanded_colours(state, city):
    """The colours in the city's demand column, as bits."""
    colours = NO_BITS
    for place in range(COLUMN_HEIGHT):
        colours |= ONE << np.uint64(state.demand[city, place])
    return colours


@kernel
def takeable_colours(state):
    """The colours in the leftmost market that holds a bale, as bits."""
    colours = NO_BITS
    for market in range(NUM_MARKETS):
        for colour in range(NUM_COLOURS):
            if state.market[market, colour] > 0:
                colours |= ONE << np.uint64(colour)
        if colours != NO_BITS:
            break
    return colours


@kernel
def basket_load(state, player):
    """The number of bales on the player's elephant."""
    load = 0
    for colour in range(NUM_COLOURS):
        load += state.basket[player, colour]
    return load


@kernel
def leftmost_market(state):
    """The leftmost market that holds a bale, or NO_MARKET."""
    for market in range(NUM_MARKETS):
        for colour in range(NUM_COLOURS):
            if state.market[market, colour] > 0:
                return market
    return NO_MARKET


@kernel
def place_in_column(state, city, colour):
    """The place of the colour in the city's column, 0 at the top; NO_PLACE if the city does not demand it."""
    for place in range(COLUMN_HEIGHT):
        if state.demand[city, place] == colour:
            return place
    return NO_PLACE


# --- Actions (RULES 4) ---


@kernel
def apply(state, tables, action):
    """Play a legal action. Returns True if a set ended and another follows; the next set's restock is then due."""
    other = action - tables.num_sites
    if other < BUY:
        move(state, tables, action)
    elif other == BUY:
        buy(state, tables)
    elif other < BUILD:
        sell(state, tables, other - SELL)
    elif other < TAKE:
        build(state, tables, other - BUILD)
    elif other < CONSOLIDATE:
        take(state, other - TAKE)
    elif other == CONSOLIDATE:
        consolidate(state, tables)
    else:
        state.actions_left = 0
    if state.actions_left == 0 and state.take_pending == 0:
        return end_turn(state, tables)
    return False


@kernel
def move(state, tables, site):
    """Move to an adjacent site; if an opponent has a palace there, the bank pays the opponent the toll."""
    player = state.current_player
    state.position[player] = site
    state.actions_left -= tables.enter_cost[site]
    owner = state.palace[site] - 1
    if owner >= 0 and owner != player:
        state.rupees[owner] += tables.toll


@kernel
def buy(state, tables):
    """Buy a bale of the post's colour, at the price of the market that holds this colour."""
    player = state.current_player
    colour = state.post[state.position[player]] - 1
    market = market_of(state, colour)
    state.market[market, colour] -= 1
    state.basket[player, colour] += 1
    state.rupees[player] -= tables.market_rupees[market]
    state.actions_left -= tables.market_actions[market]
    state.buys += 1


@kernel
def sell(state, tables, colour):
    """Sell a bale: gain rupees and Client tokens by place and colour, move the cube to the bottom, take the City token."""
    player = state.current_player
    city = tables.city_of_site[state.position[player]]
    place = place_in_column(state, city, colour)
    state.actions_left -= tables.sell_cost
    state.basket[player, colour] -= 1
    state.rupees[player] += tables.sale_rupees[place, colour]
    gain_clients(state, player, tables.sale_clients[place, colour])
    for above in range(place, COLUMN_HEIGHT - 1):
        state.demand[city, above] = state.demand[city, above + 1]
    state.demand[city, COLUMN_HEIGHT - 1] = colour
    if state.city_tokens[player, city] == 0 and state.city_piles[city] > 0:
        state.city_piles[city] -= 1
        state.city_tokens[player, city] = 1


@kernel
def gain_clients(state, player, due):
    """Give the player `due` Client tokens, or all that are left in the bank if these are fewer (RULES 4, "Bank")."""
    if state.client_supply != NO_LIMIT:
        due = min(due, np.int64(state.client_supply))
        state.client_supply -= due
    state.clients[player] += due


@kernel
def build(state, tables, colour):
    """Spend a bale to build a palace on this site, and take the site's palace token if there is one."""
    player = state.current_player
    site = state.position[player]
    state.actions_left -= tables.build_cost
    state.basket[player, colour] -= 1
    state.palaces_left[player] -= 1
    state.palace[site] = player + 1
    token = state.palace_token[site] - 1
    state.palace_token[site] = 0
    if token == TOKEN_CLIENT:
        state.client_palace_tokens[player] += 1
    elif token == TOKEN_CITY:
        state.city_palace_tokens[player] += 1
    elif token == TOKEN_RUPEES:
        state.rupees[player] += tables.palace_token_rupees
    elif token == TOKEN_BALE and leftmost_market(state) != NO_MARKET:
        state.take_pending = 1


@kernel
def take(state, colour):
    """Take the bale that a `bale` token gives, from the leftmost market that holds a bale."""
    market = leftmost_market(state)
    state.market[market, colour] -= 1
    state.basket[state.current_player, colour] += 1
    state.take_pending = 0


@kernel
def consolidate(state, tables):
    """Spend the whole turn to gain `consolidate_rupees`."""
    state.rupees[state.current_player] += tables.consolidate_rupees
    state.actions_left = 0


# --- Course (RULES 3) ---


@kernel
def begin_turn(state, tables, player):
    """Start the turn of `player`."""
    state.current_player = player
    state.actions_left = tables.actions_per_turn
    state.buys = 0


@kernel
def begin_set(state, tables):
    """Start set number `state.set` with its first player; its restock is still due."""
    first = np.int64(state.set) % tables.num_players if tables.rotate_first_player else 0
    state.first_player = first
    state.turn = 0
    begin_turn(state, tables, first)


@kernel
def end_turn(state, tables):
    """Pass the turn clockwise, and end the game turn, the set and the game if it was the last turn. True if a restock is due."""
    following = 0 if state.current_player + 1 == tables.num_players else state.current_player + 1
    if following != state.first_player:
        begin_turn(state, tables, following)
        return False
    state.turn += 1
    if state.turn < tables.turns_per_set:
        begin_turn(state, tables, following)
        return False
    return end_set(state, tables)


@kernel
def game_turns_left(state, tables):
    """Game turns to come, the present one included; 0 once the game is over (RULES 3)."""
    return np.int64(tables.sets - state.set) * np.int64(tables.turns_per_set) - np.int64(state.turn)


@kernel
def end_set(state, tables):
    """Return the markets' bales to the bag and start the next set, or end the game. True if a restock is due."""
    state.market[:] = 0
    state.set += 1
    if state.set < tables.sets:
        begin_set(state, tables)
        return True
    state.turn = 0
    state.buys = 0
    state.actions_left = 0
    state.current_player = NOBODY
    return False


# --- End of the game (RULES 5) ---


@kernel
def client_total(state, player):
    """Client tokens, and palace tokens that count as Client tokens."""
    return state.clients[player] + state.client_palace_tokens[player]


@kernel
def empire_total(state, tables, player):
    """The player's empire: palaces built plus Clients."""
    return tables.palaces - state.palaces_left[player] + client_total(state, player)


@kernel
def city_total(state, player):
    """City tokens, and palace tokens that count as City tokens."""
    total = np.int64(state.city_palace_tokens[player])
    for city in range(NUM_CITIES):
        total += state.city_tokens[player, city]
    return total


@kernel
def majority_award(state, tables, player):
    """Rupees for the player's empire rank. Tied players share the awards of their ranks; each share is rounded down."""
    mine = empire_total(state, tables, player)
    better = 0
    tied = 0
    for seat in range(tables.num_players):
        other = empire_total(state, tables, seat)
        better += other > mine
        tied += other == mine
    return tables.majority_share[better, tied - 1]


@kernel
def fame_award(state, tables, player):
    """The player's rupees for City tokens (the fame award)."""
    return tables.fame[city_total(state, player)]


@kernel
def final_rupees(state, tables, player):
    """The player's rupees plus both awards, as if the game ended now."""
    return state.rupees[player] + majority_award(state, tables, player) + fame_award(state, tables, player)


@kernel
def settle(state, tables, result):
    """Overwrite `result` with the outcome as if the game ended now (RULES 5). Most rupees win, then most Clients, else shared."""
    winners = 0
    for player in range(tables.num_players):
        result.rupees[player] = state.rupees[player]
        result.clients[player] = client_total(state, player)
        result.empire[player] = empire_total(state, tables, player)
        result.majority[player] = majority_award(state, tables, player)
        result.city_tokens[player] = city_total(state, player)
        result.fame[player] = fame_award(state, tables, player)
        result.final[player] = final_rupees(state, tables, player)
    for player in range(tables.num_players):
        beaten = False
        for other in range(tables.num_players):
            richer = result.final[other] > result.final[player]
            level = result.final[other] == result.final[player]
            beaten = beaten or richer or (level and result.clients[other] > result.clients[player])
        result.winners[player] = not beaten
        winners += not beaten
    for player in range(tables.num_players):
        result.win_share[player] = 1.0 / winners if result.winners[player] else 0.0
