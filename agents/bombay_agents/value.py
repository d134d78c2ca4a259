"""The scripted value that `greedy` plays by: what a position is worth to one seat, in rupees.

    value = rupees − the others' rupees + awards as if the game ended now + worth of the time left + the best errand

An errand is one thing that an elephant could go and do: sell a bale in a city, build with one, or buy one and then spend it. It
is worth what it brings less the actions it takes, each at what time is worth. So an action on the errand is neither gain nor
loss and any other is a loss: a player who looks no further than one action still finds the way to a distant city, and a bale
that cannot be spent in time is worth nothing.

The value is short-sighted on purpose, as befits the second rung of the ladder: one errand at a time, no guess at how ranks and
tolls will come out, none at what the others will do. All numbers of the game come from the tables; the few that are judgement
are the fields of `Weights`. It reads neither the seed nor the bag.
"""

from typing import Final, NamedTuple

from bombay_env import engine
from bombay_env.compile import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS, NUM_POSTS, PalaceToken
from bombay_env.state import NOBODY
from bombay_env.tables import NO_LIMIT, NOT_A_CITY

IMPOSSIBLE: Final = -1000.0  # worth of what cannot be done
UNKNOWN_MARKET: Final = 1  # the centre market's terms stand for those of silk that no restock has brought yet

TOKEN_CLIENT, TOKEN_CITY = int(PalaceToken.CLIENT), int(PalaceToken.CITY)
TOKEN_RUPEES, TOKEN_BALE = int(PalaceToken.RUPEES), int(PalaceToken.BALE)


class Weights(NamedTuple):
    """The judgement in the value, set by hand."""

    action: float = 0.4  # rupees that an action is worth while much time is left: a little more than by consolidating
    idle: float = 3.0  # the game's last actions, worth nothing unless an errand needs them
    rivals: float = 0.3  # how much the others' mean rupees count against one's own
    free_bale: float = 0.5  # the share of its best sale that the bale of a `bale` token is worth


class Clock(NamedTuple):
    """How long a seat can still act, in actions from now."""

    turn: int  # in this turn
    set: int  # while the markets are known
    game: int


@kernel
def clock_of(state, tables, player):
    """The seat's `Clock`. Markets are not known where a restock is due."""
    if state.current_player == NOBODY:
        return Clock(0, 0, 0)
    order = (player - state.first_player) % tables.num_players
    current = (state.current_player - state.first_player) % tables.num_players
    actions = int(state.actions_left) if order == current else 0
    turns = tables.turns_per_set - 1 - int(state.turn) + int(order > current)
    in_set = actions + turns * tables.actions_per_turn
    in_game = in_set + (tables.sets - 1 - int(state.set)) * tables.turns_per_set * tables.actions_per_turn
    set_begins = state.turn == 0 and current == 0 and state.actions_left == tables.actions_per_turn
    if set_begins and engine.leftmost_market(state) == engine.NO_MARKET:
        in_set = 0
    return Clock(actions, in_set, in_game)


@kernel
def rate_of(clock, weights):
    """Rupees that an action is worth with so much of the game left."""
    return weights.action * max(0.0, clock.game - weights.idle) / max(1, clock.game)


# --- Awards as if the game ended now ---


@kernel
def worth_of_empire(state, tables, player, more):
    """What `more` palaces or Clients add to the player's award; `state` is as before afterwards."""
    before = engine.majority_award(state, tables, player)
    state.clients[player] += more
    after = engine.majority_award(state, tables, player)
    state.clients[player] -= more
    return after - before


@kernel
def worth_of_city_token(state, tables, player):
    """What one City token more adds to the player's award; `state` is as before afterwards."""
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
def survey(state, tables, player, game_time, rate, weights, gain, fetch):
    """Price what the board offers the player; moving, consolidating and ending the turn change nothing of it.

    Args:
        state: changed on the way, but left as it was.
        game_time: actions that the player still has.
        rate: rupees that an action is worth.
        gain: (S, 4) float64, overwritten: what spending a bale of the colour at the site brings, or IMPOSSIBLE.
        fetch: (S,) float64, overwritten: what a bale bought at the site brings, less the actions to spend it; IMPOSSIBLE
            where there is no post or no time.
    """
    gain[:] = IMPOSSIBLE
    fetch[:] = IMPOSSIBLE
    if tables.sell_cost <= tables.actions_per_turn:
        price_sales(state, tables, player, gain)
    if tables.build_cost <= tables.actions_per_turn and state.palaces_left[player] > 0:
        price_palaces(state, tables, player, weights, gain)
    for place in range(NUM_POSTS):
        site = tables.post_sites[place]
        if state.post[site] > 0:
            time = game_time - tables.distance[state.position[player], site]
            fetch[site] = spend_worth(tables, gain, site, state.post[site] - 1, time, rate)


@kernel
def price_sales(state, tables, player, gain):
    """Enter what sales in each city bring: rupees, and what Clients and a City token add to the awards."""
    token = worth_of_city_token(state, tables, player)
    for city in range(NUM_CITIES):
        first = state.city_tokens[player, city] == 0 and state.city_piles[city] > 0
        for place in range(COLUMN_HEIGHT):
            colour = state.demand[city, place]
            worth = 1.0 * (tables.sale_rupees[place] + tables.colour_rupees[colour])
            clients = tables.sale_clients[place] + tables.colour_clients[colour]
            if state.client_supply != NO_LIMIT:
                clients = min(clients, int(state.client_supply))
            if clients > 0:
                worth += worth_of_empire(state, tables, player, clients)
            if first:
                worth += token
            gain[tables.city_sites[city], colour] = worth


@kernel
def price_palaces(state, tables, player, weights, gain):
    """Enter what a palace on each free site brings: what it and its token add to the awards, or the token's goods."""
    palace = worth_of_empire(state, tables, player, 1)
    palace_and_client = worth_of_empire(state, tables, player, 2)
    token = worth_of_city_token(state, tables, player)
    bale = free_bale_worth(state, tables, weights, gain)
    for site in range(tables.num_sites):
        if state.post[site] == 0 and state.palace[site] == 0 and tables.city_of_site[site] == NOT_A_CITY:
            kind = state.palace_token[site] - 1
            worth = 1.0 * (palace_and_client if kind == TOKEN_CLIENT else palace)
            if kind == TOKEN_CITY:
                worth += token
            elif kind == TOKEN_RUPEES:
                worth += tables.palace_token_rupees
            elif kind == TOKEN_BALE:
                worth += bale
            gain[site, :] = worth


@kernel
def free_bale_worth(state, tables, weights, gain):
    """What a `bale` token brings now: a share of the best sale of a bale from the leftmost market, 0 if there is none."""
    best = 0.0
    market = engine.leftmost_market(state)
    if market != engine.NO_MARKET:
        for colour in range(NUM_COLOURS):
            if state.market[market, colour] > 0:
                for city in range(NUM_CITIES):
                    best = max(best, gain[tables.city_sites[city], colour])
    return weights.free_bale * best


# --- Errands ---


@kernel
def spend_worth(tables, gain, start, colour, time, rate):
    """From `start` with a bale: what spending it where it pays best brings, less the actions; IMPOSSIBLE if it is too late."""
    best = IMPOSSIBLE
    for site in range(tables.num_sites):
        if gain[site, colour] > best:
            cost = tables.build_cost if tables.city_of_site[site] == NOT_A_CITY else tables.sell_cost
            needed = tables.distance[start, site] + cost
            if needed <= time:
                best = max(best, gain[site, colour] - rate * needed)
    return best


@kernel
def purchase_cost(state, tables, player, site, clock, rate):
    """What buying at the post of `site` costs: rupees, and actions at their rate; −IMPOSSIBLE if it cannot be done.

    A bale not to be had in this set is taken to come with the next, on the centre market's terms. Rupees that are lacking
    are consolidated first.
    """
    time = tables.distance[state.position[player], site]
    if state.buys >= tables.buys_per_turn:
        time = max(time, clock.turn)
    market = engine.market_of(state, state.post[site] - 1)
    if market == engine.NO_MARKET or time + tables.market_actions[market] > clock.set:
        market = UNKNOWN_MARKET
        time = max(time, clock.set)
    cost = 1.0 * tables.market_rupees[market]
    time += tables.market_actions[market]
    lacking = tables.market_rupees[market] - state.rupees[player]
    if lacking > 0:
        if tables.consolidate_rupees == 0:
            return -IMPOSSIBLE
        turns = -(-lacking // tables.consolidate_rupees)
        cost -= turns * tables.consolidate_rupees
        time += turns * tables.actions_per_turn
    if time >= clock.game or tables.buys_per_turn == 0 or tables.market_actions[market] > tables.actions_per_turn:
        return -IMPOSSIBLE
    return cost + rate * time


@kernel
def errand_worth(state, tables, player, clock, rate, gain, fetch):
    """What the best errand brings, less its actions; 0 if none is worth while."""
    here = state.position[player]
    load = 0
    best = 0.0
    for colour in range(NUM_COLOURS):
        if state.basket[player, colour] > 0:
            load += state.basket[player, colour]
            best = max(best, spend_worth(tables, gain, here, colour, clock.game, rate))
    if load < tables.basket:
        for place in range(NUM_POSTS):
            site = tables.post_sites[place]
            if fetch[site] > best:
                best = max(best, fetch[site] - purchase_cost(state, tables, player, site, clock, rate))
    return best


# --- The value ---


@kernel
def value(state, tables, player, clock, rate, weights, gain, fetch):
    """What `state` is worth to `player`, in rupees.

    Args:
        clock: the player's, in `state`.
        rate: rupees that an action is worth, the same for all positions that are compared.
        gain, fetch: of `survey`.
    """
    worth = holdings_worth(state, tables, player, weights)
    if state.current_player == NOBODY:
        return worth
    worth += rate * clock.game
    if state.take_pending:
        return worth + free_bale_worth(state, tables, weights, gain)
    return worth + errand_worth(state, tables, player, clock, rate, gain, fetch)
