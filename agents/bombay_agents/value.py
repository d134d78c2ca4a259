"""A scripted value: what a position is worth to one seat, in rupees at the end of the game.

    value = rupees + expected awards + tolls to come − the others' rupees + worth of the time left + best plan from here

A plan is what the elephant could do next: deliver its bales to cities or build with them, in the best order; buy a bale first,
or afterwards. It is worth what it brings less the actions it takes, each at the rate that time is worth. So an action spent
on the plan is neither gain nor loss, any other is a loss, and a player who looks no further than one action still finds the
way to a distant city. All numbers of the game come from the tables; the few that are judgement are the fields of `Weights`.

What the board and the players offer is gathered once in a record, the survey; after that an elephant's place is priced in a
few steps, so that trying out moves is cheap. The value reads neither the seed nor the bag. `greedy.py` plays by it.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env import engine
from bombay_env.compile import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS, NUM_POSTS, PalaceToken
from bombay_env.state import NOBODY
from bombay_env.tables import NOT_A_CITY

NUM_LOTS: Final = 4  # building sites that a survey keeps: the most promising ones
NUM_TARGETS: Final = NUM_CITIES + NUM_LOTS
IMPOSSIBLE: Final = -1000.0  # worth of what cannot be done
UNKNOWN_MARKET: Final = 1  # the centre market's price stands for that of silk no restock has brought yet

TOKEN_CLIENT, TOKEN_CITY = int(PalaceToken.CLIENT), int(PalaceToken.CITY)
TOKEN_RUPEES, TOKEN_BALE = int(PalaceToken.RUPEES), int(PalaceToken.BALE)


class Weights(NamedTuple):
    """The judgement in the value, tuned by hand."""

    action: float = 0.45  # rupees that an action is worth while much time is left
    idle: float = 5.0  # the game's last actions, worth nothing unless a plan needs them
    onward: float = 0.5  # the share that counts of what a next purchase would bring
    doubt: float = 0.3  # how uncertain empire ranks are in the last turn, in tokens
    doubt_per_turn: float = 0.25  # what each turn to come adds
    fame: float = 0.6  # a City token short of an award makes it worth this share
    traffic: float = 0.7  # tolls a palace earns, of those due if nobody ever went round it
    rivals: float = 0.3  # how much the others' mean rupees count against one's own


class Clock(NamedTuple):
    """How long a seat can still act, in actions from now."""

    turn: int  # in this turn
    set: int  # while the markets are known
    game: int


SURVEY_DTYPE: Final = np.dtype(
    [
        ("turns", np.int64),  # of the seat, after the present one
        ("rate", np.float64),  # rupees that an action is worth
        ("place", np.int64, (NUM_CITIES, NUM_COLOURS)),  # in the city's column, or NO_PLACE
        ("sale", np.float64, (COLUMN_HEIGHT, NUM_COLOURS)),  # worth of a sale without City token
        # Targets, where bales are spent: the cities, then the building sites kept.
        ("num_targets", np.int64),
        ("site", np.int64, (NUM_TARGETS,)),
        ("gain", np.float64, (NUM_TARGETS, NUM_COLOURS)),  # worth of spending a bale there, or IMPOSSIBLE
        ("onward", np.float64, (NUM_TARGETS,)),  # worth of the purchase that would follow, 0 or more
        ("onward_time", np.int64, (NUM_TARGETS,)),  # actions it takes, the delivery included
        # Posts: what a bale bought there would bring, less the actions to spend it, and how many these are.
        ("num_posts", np.int64),
        ("post_site", np.int64, (NUM_POSTS,)),
        ("post_colour", np.int64, (NUM_POSTS,)),
        ("market", np.int64, (NUM_POSTS,)),  # where the colour lies, or NO_MARKET
        ("single", np.float64, (NUM_POSTS,)),
        ("single_time", np.int64, (NUM_POSTS,)),
        ("pair", np.float64, (NUM_POSTS,)),  # the same for that bale and the one in the basket
        ("pair_time", np.int64, (NUM_POSTS,)),
    ]
)


def new_survey() -> Any:
    """A record for the kernels to write a survey in."""
    return np.zeros(1, SURVEY_DTYPE).view(np.recarray)[0]


def site_traffic(tables: Any) -> np.ndarray:
    """How often an opponent's turn may be expected to enter each site, (S,) float64.

    A site counts by the ways between posts and cities that pass it as a shortest one; two moves a turn of three actions.
    """
    posts = tables.post_sites if tables.outer_posts else tables.post_sites[: NUM_POSTS // 2]
    distance = tables.distance
    passing = np.zeros(tables.num_sites)
    for start, end in [(p, c) for p in posts for c in tables.city_sites] + [(c, p) for p in posts for c in tables.city_sites]:
        on_way = distance[start] + distance[:, end] == distance[start, end]
        on_way[start] = False
        passing += on_way / on_way.sum() * distance[start, end]
    entries = tables.actions_per_turn * 2 / 3
    return passing / passing.sum() * entries  # type: ignore[no-any-return]


# --- Time ---


@kernel
def clock_of(state, tables, player):
    """The seat's `Clock`. Markets are not known where a restock is due."""
    if state.current_player == NOBODY:
        return Clock(0, 0, 0)
    n = tables.num_players
    order = (player - state.first_player) % n
    current = (state.current_player - state.first_player) % n
    actions = np.int64(state.actions_left) if order == current else 0
    to_come = tables.turns_per_set - state.turn - (order <= current)
    sets_to_come = tables.sets - 1 - state.set
    in_set = actions + to_come * tables.actions_per_turn
    in_game = in_set + sets_to_come * tables.turns_per_set * tables.actions_per_turn
    fresh = state.turn == 0 and current == 0 and state.actions_left == tables.actions_per_turn
    if fresh and engine.leftmost_market(state) == engine.NO_MARKET:
        in_set = 0
    return Clock(actions, in_set, in_game)


@kernel
def rate_of(game_time, weights):
    """Rupees that an action is worth with so many left in the game."""
    return weights.action * max(0.0, game_time - weights.idle) / max(1.0, game_time)


# --- Awards ---


@kernel
def rank_award(state, tables, player, extra, turns, weights):
    """Rupees to be expected for the empire rank with `extra` tokens more: each opponent is ahead in part, by the doubt there is."""
    mine = engine.empire_total(state, tables, player) + extra
    doubt = weights.doubt + weights.doubt_per_turn * turns
    ahead = 0.0
    for seat in range(tables.num_players):
        if seat != player:
            lead = (mine - engine.empire_total(state, tables, seat)) / doubt
            ahead += min(1.0, max(0.0, 0.5 - 0.5 * lead))
    rank = min(int(ahead), tables.num_players - 2)
    part = ahead - rank
    return tables.majority[rank] * (1.0 - part) + tables.majority[rank + 1] * part


@kernel
def fame_hope(state, tables, player, extra, turns, weights):
    """Rupees to be expected for City tokens with `extra` more in hand; those within reach count in part."""
    held = engine.city_total(state, player) + extra
    reach = -extra
    for city in range(NUM_CITIES):
        reach += state.city_tokens[player, city] == 0 and state.city_piles[city] > 0
    reach = min(reach, (turns + 1) // 2)
    last = len(tables.fame) - 1
    best = np.float64(tables.fame[min(held, last)])
    share = 1.0
    for more in range(1, reach + 1):
        share *= weights.fame
        best = max(best, share * tables.fame[min(held + more, last)])
    return best


# --- The survey ---


@kernel
def survey_of(state, tables, player, clock, turns, rate, weights, traffic, survey):
    """Overwrite `survey` with what the board offers `player`."""
    survey.turns = turns
    survey.rate = rate
    _survey_targets(state, tables, player, weights, traffic, survey)
    survey.num_posts = 0
    for place in range(NUM_POSTS):
        site = tables.post_sites[place]
        if state.post[site] > 0:
            post = survey.num_posts
            colour = state.post[site] - 1
            survey.num_posts += 1
            survey.post_site[post] = site
            survey.post_colour[post] = colour
            survey.market[post] = engine.market_of(state, colour)
    survey.onward[:] = 0.0
    _survey_posts(state, tables, player, clock, weights, survey)
    _survey_onward(tables, weights, survey)
    _survey_posts(state, tables, player, clock, weights, survey)


@kernel
def _survey_targets(state, tables, player, weights, traffic, survey):
    turns = survey.turns
    rank = rank_award(state, tables, player, 0, turns, weights)
    fame = fame_hope(state, tables, player, 0, turns, weights)
    token_worth = fame_hope(state, tables, player, 1, turns, weights) - fame
    for place in range(COLUMN_HEIGHT):
        for colour in range(NUM_COLOURS):
            clients = tables.sale_clients[place] + tables.colour_clients[colour]
            if state.client_supply >= 0:
                clients = min(clients, np.int64(state.client_supply))
            more = rank_award(state, tables, player, clients, turns, weights) - rank if clients > 0 else 0.0
            survey.sale[place, colour] = tables.sale_rupees[place] + tables.colour_rupees[colour] + more
    sells = tables.sell_cost <= tables.actions_per_turn
    for city in range(NUM_CITIES):
        survey.site[city] = tables.city_sites[city]
        token = state.city_tokens[player, city] == 0 and state.city_piles[city] > 0
        for colour in range(NUM_COLOURS):
            place = engine.place_in_column(state, city, colour)
            survey.place[city, colour] = place
            survey.gain[city, colour] = IMPOSSIBLE
            if sells and place != engine.NO_PLACE:
                survey.gain[city, colour] = survey.sale[place, colour] + (token_worth if token else 0.0)
    survey.num_targets = NUM_CITIES
    if state.palaces_left[player] == 0 or tables.build_cost > tables.actions_per_turn:
        return
    palace = rank_award(state, tables, player, 1, turns, weights) - rank
    palace_and_client = rank_award(state, tables, player, 2, turns, weights) - rank
    free_bale = free_bale_worth(state, survey)
    tolls = tolls_per_traffic(tables, turns, weights)
    here = state.position[player]
    for site in range(tables.num_sites):
        if state.post[site] > 0 or state.palace[site] > 0 or tables.city_of_site[site] != NOT_A_CITY:
            continue
        token = state.palace_token[site] - 1
        gain = palace + tolls * traffic[site]
        if token == TOKEN_CLIENT:
            gain += palace_and_client - palace
        elif token == TOKEN_CITY:
            gain += token_worth
        elif token == TOKEN_RUPEES:
            gain += tables.palace_token_rupees
        elif token == TOKEN_BALE:
            gain += free_bale
        _keep_lot(tables, here, site, gain, survey)


@kernel
def tolls_per_traffic(tables, turns, weights):
    """Rupees that a palace will have earned where every opponent's turn enters its site once."""
    return weights.traffic * tables.toll * (tables.num_players - 1) * turns


@kernel
def free_bale_worth(state, survey):
    """Roughly what the bale of a `bale` token brings: the best sale of one from the leftmost market, less some way."""
    best = 0.0
    market = engine.leftmost_market(state)
    if market != engine.NO_MARKET:
        for colour in range(NUM_COLOURS):
            if state.market[market, colour] > 0:
                for city in range(NUM_CITIES):
                    best = max(best, survey.gain[city, colour] - 4 * survey.rate)
    return best


@kernel
def _keep_lot(tables, here, site, gain, survey):
    """Put a building site among the lots, the most promising first; the last drops out where there are too many."""
    net = gain - survey.rate * tables.distance[here, site]
    place = survey.num_targets
    while place > NUM_CITIES:
        before = place - 1
        if survey.gain[before, 0] - survey.rate * tables.distance[here, survey.site[before]] >= net:
            break
        if place < NUM_TARGETS:
            survey.site[place] = survey.site[before]
            survey.gain[place] = survey.gain[before]
        place = before
    if place < NUM_TARGETS:
        survey.site[place] = site
        survey.gain[place, :] = gain
    survey.num_targets = min(survey.num_targets + 1, NUM_TARGETS)


@kernel
def _survey_posts(state, tables, player, clock, weights, survey):
    here = state.position[player]
    held = most_wanted(state, player, survey, -1) if engine.basket_load(state, player) == 1 else -1
    for post in range(survey.num_posts):
        site = survey.post_site[post]
        colour = survey.post_colour[post]
        time = clock.game - tables.distance[here, site]
        survey.single[post], survey.single_time[post] = deliver(tables, survey, weights, site, colour, time)
        survey.pair[post] = IMPOSSIBLE
        if held >= 0 and tables.basket > 1:
            survey.pair[post], survey.pair_time[post] = deliver_two(
                state, tables, player, survey, weights, site, colour, held, time
            )


@kernel
def _survey_onward(tables, weights, survey):
    for target in range(survey.num_targets):
        survey.onward_time[target] = 0
        for post in range(survey.num_posts):
            market = survey.market[post]
            if market == engine.NO_MARKET:
                market = UNKNOWN_MARKET
            time = tables.distance[survey.site[target], survey.post_site[post]] + tables.market_actions[market]
            worth = survey.single[post] - survey.rate * time - tables.market_rupees[market]
            if worth > survey.onward[target]:
                survey.onward[target] = worth
                survey.onward_time[target] = time + survey.single_time[post]


# --- Plans ---


@kernel
def spend_cost(tables, target):
    """Actions to spend a bale at a target."""
    return tables.sell_cost if target < NUM_CITIES else tables.build_cost


@kernel
def onward_worth(survey, weights, target, time):
    """What counts of the next purchase after a delivery that leaves so much time."""
    return weights.onward * survey.onward[target] if survey.onward_time[target] <= time else 0.0


@kernel
def deliver(tables, survey, weights, site, colour, time):
    """From `site` with one bale: the worth of the best way to spend it, and its actions. IMPOSSIBLE if none is in time."""
    best = IMPOSSIBLE
    best_time = 0
    for target in range(survey.num_targets):
        needed = tables.distance[site, survey.site[target]] + spend_cost(tables, target)
        if needed <= time:
            worth = survey.gain[target, colour] - survey.rate * needed
            worth += onward_worth(survey, weights, target, time - needed)
            if worth > best:
                best = worth
                best_time = needed
    return best, best_time


@kernel
def deliver_two(state, tables, player, survey, weights, site, one, other, time):
    """The same with two bales, spent in either order; one alone where time allows no more."""
    best, best_time = deliver(tables, survey, weights, site, one, time)
    alone, alone_time = deliver(tables, survey, weights, site, other, time)
    if alone > best:
        best, best_time = alone, alone_time
    for swap in range(1 if one == other else 2):
        first, second = (other, one) if swap else (one, other)
        for target in range(survey.num_targets):
            needed = tables.distance[site, survey.site[target]] + spend_cost(tables, target)
            gain = survey.gain[target, first]
            if needed >= time or gain == IMPOSSIBLE:
                continue
            for then in range(survey.num_targets):
                both = needed + tables.distance[survey.site[target], survey.site[then]] + spend_cost(tables, then)
                if both <= time:
                    worth = gain + second_gain(state, player, survey, target, then, first, second) - survey.rate * both
                    worth += onward_worth(survey, weights, then, time - both)
                    if worth > best:
                        best = worth
                        best_time = both
    return best, best_time


@kernel
def second_gain(state, player, survey, target, then, first, second):
    """Worth of spending `second` at `then` after `first` at `target`: a cube has sunk, a site is taken."""
    if target != then:
        if target >= NUM_CITIES and then >= NUM_CITIES and state.palaces_left[player] < 2:
            return IMPOSSIBLE
        return survey.gain[then, second]
    if target >= NUM_CITIES or survey.gain[then, second] == IMPOSSIBLE:
        return IMPOSSIBLE
    place = survey.place[target, second]
    if first == second:
        place = COLUMN_HEIGHT - 1
    elif place > survey.place[target, first]:
        place -= 1
    return survey.sale[place, second]


@kernel
def most_wanted(state, player, survey, taken):
    """The colour in the basket that brings most somewhere, one bale of `taken` aside; −1 if there is none."""
    best = -1
    best_gain = 2 * IMPOSSIBLE
    for colour in range(NUM_COLOURS):
        if state.basket[player, colour] > (colour == taken):
            for target in range(survey.num_targets):
                if survey.gain[target, colour] > best_gain:
                    best = colour
                    best_gain = survey.gain[target, colour]
    return best


@kernel
def purchase(state, tables, player, survey, clock, post):
    """What a purchase at a post costs in rupees, time at its rate included, and in actions; −1 actions if it is impossible.

    A bale not to be had in this set is taken to come with the next one, at the centre market's price. Rupees that are
    lacking have to be consolidated first.
    """
    time = tables.distance[state.position[player], survey.post_site[post]]
    if state.buys >= tables.buys_per_turn:
        time = max(time, clock.turn)
    market = survey.market[post]
    if market == engine.NO_MARKET or time + tables.market_actions[market] > clock.set:
        market = UNKNOWN_MARKET
        time = max(time, clock.set)
    price = tables.market_rupees[market]
    time += tables.market_actions[market]
    lacking = price - state.rupees[player]
    if lacking > 0:
        if tables.consolidate_rupees == 0:
            return 0.0, -1
        rounds = (lacking + tables.consolidate_rupees - 1) // tables.consolidate_rupees
        price -= rounds * tables.consolidate_rupees
        time += rounds * tables.actions_per_turn
    if time > clock.game or tables.buys_per_turn == 0 or tables.market_actions[market] > tables.actions_per_turn:
        return 0.0, -1
    return price + survey.rate * time, time


@kernel
def plan_worth(state, tables, player, survey, clock, weights):
    """The worth of the best plan from where the elephant stands with what it carries; 0 for none."""
    here = state.position[player]
    load = engine.basket_load(state, player)
    best = 0.0
    if load > 0:
        one = most_wanted(state, player, survey, -1)
        if load == 1:
            best = max(best, deliver(tables, survey, weights, here, one, clock.game)[0])
        else:
            other = most_wanted(state, player, survey, one)
            two = deliver_two(state, tables, player, survey, weights, here, one, other, clock.game)[0]
            best = max(best, two)
    if load > 1 or load >= tables.basket:
        return best
    for post in range(survey.num_posts):
        worth = survey.pair[post] if load else survey.single[post]
        if worth > best:
            cost, time = purchase(state, tables, player, survey, clock, post)
            needed = survey.pair_time[post] if load else survey.single_time[post]
            if time >= 0 and time + needed <= clock.game:
                best = max(best, worth - cost)
    return best


# --- The value ---


@kernel
def holdings_worth(state, tables, player, turns, weights, traffic):
    """Rupees, awards to be expected and tolls to come, less the others' rupees."""
    worth = np.float64(state.rupees[player])
    for seat in range(tables.num_players):
        if seat != player:
            worth -= weights.rivals * state.rupees[seat] / (tables.num_players - 1)
    worth += rank_award(state, tables, player, 0, turns, weights)
    worth += fame_hope(state, tables, player, 0, turns, weights)
    tolls = tolls_per_traffic(tables, turns, weights)
    for site in range(tables.num_sites):
        if state.palace[site] == player + 1:
            worth += tolls * traffic[site]
    return worth


@kernel
def value(state, tables, player, clock, survey, weights, traffic):
    """What `state` is worth to `player`, in rupees, by a survey of it or of one that offers the same."""
    if state.current_player == NOBODY:
        worth = np.float64(engine.final_rupees(state, tables, player))
        for seat in range(tables.num_players):
            if seat != player:
                worth -= weights.rivals * state.rupees[seat] / (tables.num_players - 1)
        return worth
    worth = holdings_worth(state, tables, player, survey.turns, weights, traffic) + survey.rate * clock.game
    if state.take_pending == 0:
        return worth + plan_worth(state, tables, player, survey, clock, weights)
    market = engine.leftmost_market(state)
    best = 0.0
    for colour in range(NUM_COLOURS):
        if state.market[market, colour] > 0:
            state.basket[player, colour] += 1
            best = max(best, plan_worth(state, tables, player, survey, clock, weights))
            state.basket[player, colour] -= 1
    return worth + best
