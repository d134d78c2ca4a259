"""The scripted value that `greedy` plays by: what a position is worth to one seat, in rupees.

    value = rupees − the others' rupees + awards as if the game ended now
            + the larger of: worth of the best errand and of the time left; rupees from consolidating to the end

An errand is one thing that the elephant can go and do: sell a bale in a city, build with one, or buy one and then spend it. It is
worth what it brings less the price of its actions. So an action on the errand neither gains nor loses and any other loses: a
player who looks ahead by one action only still finds its way to a distant city. What cannot be done before the end is no errand,
so a bale that comes too late is worth nothing.

The value is short-sighted on purpose, as befits a weak reference player: one errand at a time, no forecast of ranks and tolls,
none of the other players. Numbers of the game come from the tables, all others from `GreedyWeights`. Nothing here reads the seed
or the bag. `greedy.py` is the next to read.
"""

from typing import Final, NamedTuple

from bombay_env import engine
from bombay_env.jit.kernels import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS, NUM_POSTS, PalaceToken
from bombay_env.state import NOBODY
from bombay_env.tables import NO_LIMIT, NOT_A_CITY

IMPOSSIBLE: Final = -1e6  # worth of what cannot be done
NEVER: Final = 1_000_000  # actions to something that cannot be done
UNKNOWN_MARKET: Final = 1  # the centre market: its terms stand for those of silk that a later restock may bring

TOKEN_CLIENT, TOKEN_CITY, TOKEN_RUPEES = int(PalaceToken.CLIENT), int(PalaceToken.CITY), int(PalaceToken.RUPEES)


class GreedyWeights(NamedTuple):
    """The numbers in the value that do not follow from the rules; set by hand."""

    action: float = 0.45  # rupees that an action is worth: slightly more than consolidating brings
    rivals: float = 0.3  # weight of the others' mean rupees, which count against the player


class TimeLeft(NamedTuple):
    """How many actions a seat has left."""

    turn: int  # in this turn
    set: int  # in this set, while the markets are known
    game: int  # to the end of the game


@kernel
def time_left(state, tables, player):
    """The seat's `TimeLeft`. Where a restock is due, the markets are not known."""
    if state.current_player == NOBODY:
        return TimeLeft(0, 0, 0)
    order = (player - state.first_player) % tables.num_players
    current = (state.current_player - state.first_player) % tables.num_players
    actions = int(state.actions_left) if order == current else 0
    turns = tables.turns_per_set - 1 - int(state.turn) + int(order > current)
    in_set = actions + turns * tables.actions_per_turn
    in_game = in_set + (tables.sets - 1 - int(state.set)) * tables.turns_per_set * tables.actions_per_turn
    set_begins = state.turn == 0 and current == 0 and state.actions_left == tables.actions_per_turn
    if set_begins and engine.leftmost_market(state) == engine.NO_MARKET:
        in_set = 0
    return TimeLeft(actions, in_set, in_game)


# --- Awards as if the game ended now ---


@kernel
def worth_of_empire(state, tables, player, more):
    """What `more` palaces or Clients add to the player's award; `state` is restored."""
    before = engine.majority_award(state, tables, player)
    state.clients[player] += more
    after = engine.majority_award(state, tables, player)
    state.clients[player] -= more
    return after - before


@kernel
def worth_of_city_token(state, tables, player):
    """What one more City token adds to the player's award; `state` is restored."""
    before = engine.fame_award(state, tables, player)
    state.city_palace_tokens[player] += 1
    after = engine.fame_award(state, tables, player)
    state.city_palace_tokens[player] -= 1
    return after - before


@kernel
def holdings_worth(state, tables, player, weights):
    """Rupees and awards of the player, less the others' rupees."""
    rivals = 0
    for seat in range(tables.num_players):
        if seat != player:
            rivals += state.rupees[seat]
    return engine.final_rupees(state, tables, player) - weights.rivals * rivals / (tables.num_players - 1)


# --- What the board offers ---


@kernel
def survey(state, tables, player, gain):
    """Work out what spending a bale brings the player; moves, consolidating and ending the turn do not change it.

    Args:
        state: restored.
        gain: (S, 4) float64, overwritten: what a bale of the colour brings at the site, or IMPOSSIBLE.
    """
    gain[:] = IMPOSSIBLE
    if tables.sell_cost <= tables.actions_per_turn:
        price_sales(state, tables, player, gain)
    if tables.build_cost <= tables.actions_per_turn and state.palaces_left[player] > 0:
        price_palaces(state, tables, player, gain)


@kernel
def price_sales(state, tables, player, gain):
    """Enter what sales in each city bring: rupees, and what Clients and a City token add to the awards."""
    token = worth_of_city_token(state, tables, player)
    for city in range(NUM_CITIES):
        first = state.city_tokens[player, city] == 0 and state.city_piles[city] > 0
        for place in range(COLUMN_HEIGHT):
            colour = state.demand[city, place]
            worth = 1.0 * tables.sale_rupees[place, colour]
            clients = tables.sale_clients[place, colour]
            if state.client_supply != NO_LIMIT:
                clients = min(clients, int(state.client_supply))
            if clients > 0:
                worth += worth_of_empire(state, tables, player, clients)
            if first:
                worth += token
            gain[tables.city_sites[city], colour] = worth


@kernel
def price_palaces(state, tables, player, gain):
    """Enter what a palace on each free site brings: what it and its token add to the awards, or the token's rupees.

    The bale of a `bale` token counts nothing.
    """
    palace = worth_of_empire(state, tables, player, 1)
    palace_and_client = worth_of_empire(state, tables, player, 2)
    token = worth_of_city_token(state, tables, player)
    for site in range(tables.num_sites):
        if state.post[site] == 0 and state.palace[site] == 0 and tables.city_of_site[site] == NOT_A_CITY:
            kind = state.palace_token[site] - 1
            worth = 1.0 * (palace_and_client if kind == TOKEN_CLIENT else palace)
            if kind == TOKEN_CITY:
                worth += token
            elif kind == TOKEN_RUPEES:
                worth += tables.palace_token_rupees
            gain[site, :] = worth


# --- Errands ---


@kernel
def spend_worth(tables, gain, start, colour, time, weights):
    """What a bale brings from `start` where it pays best, less the price of the actions; IMPOSSIBLE if it comes too late."""
    best = IMPOSSIBLE
    for site in range(tables.num_sites):
        if gain[site, colour] > best:
            cost = tables.build_cost if tables.city_of_site[site] == NOT_A_CITY else tables.sell_cost
            needed = tables.distance[start, site] + cost
            if needed <= time:
                best = max(best, gain[site, colour] - weights.action * needed)
    return best


@kernel
def purchase(state, tables, player, site, left):
    """The rupees and the actions that buying at the post of `site` takes, moves included; NEVER if it cannot be done.

    A bale that cannot be bought in this set is expected in the next, on the centre market's terms. Missing rupees are
    consolidated first.
    """
    time = tables.distance[state.position[player], site]
    if state.buys >= tables.buys_per_turn:
        time = max(time, left.turn)
    market = engine.market_of(state, state.post[site] - 1)
    if market == engine.NO_MARKET or time + tables.market_actions[market] > left.set:
        market = UNKNOWN_MARKET
        time = max(time, left.set)
    if tables.buys_per_turn == 0 or tables.market_actions[market] > tables.actions_per_turn:
        return 0, NEVER
    price = tables.market_rupees[market]
    time += tables.market_actions[market]
    if price > state.rupees[player]:
        if tables.consolidate_rupees == 0:
            return 0, NEVER
        turns = -((state.rupees[player] - price) // tables.consolidate_rupees)
        price -= turns * tables.consolidate_rupees
        time += turns * tables.actions_per_turn
    return price, time


@kernel
def errand_worth(state, tables, player, left, weights, gain):
    """What the best errand brings, less the price of its actions; IMPOSSIBLE if there is none."""
    here = state.position[player]
    load = 0
    best = IMPOSSIBLE
    for colour in range(NUM_COLOURS):
        if state.basket[player, colour] > 0:
            load += state.basket[player, colour]
            best = max(best, spend_worth(tables, gain, here, colour, left.game, weights))
    if load < tables.basket:
        for place in range(NUM_POSTS):
            site = tables.post_sites[place]
            if state.post[site] > 0:
                price, time = purchase(state, tables, player, site, left)
                if time < left.game:
                    worth = spend_worth(tables, gain, site, state.post[site] - 1, left.game - time, weights)
                    best = max(best, worth - price - weights.action * time)
    return best


# --- The value ---


@kernel
def value(state, tables, player, left, weights, gain):
    """What `state` is worth to `player`, in rupees.

    Args:
        left: the player's `time_left` in `state`.
        gain: what `survey` found for the player in `state`.
    """
    worth = holdings_worth(state, tables, player, weights)
    if state.current_player == NOBODY:
        return worth
    busy = weights.action * left.game + errand_worth(state, tables, player, left, weights, gain)
    idle = 1.0 * tables.consolidate_rupees * (left.game // tables.actions_per_turn)
    return worth + max(busy, idle)
