"""The scripted value that `planner` plays by: what a position between turns is worth to a seat, in rupees at the end.

    value = rupees − the others' rupees + expected awards + tolls to come + what the time left is worth + the best plan from here

A plan is what the elephant could do next: spend its bales where they bring most, in the better order, or buy one first. It is
worth what it brings less the actions it takes, each at what time is worth, so that a detour is a loss and a bale that comes too
late is worth nothing. Awards are expectations: ranks are in doubt the more the longer the game still lasts, and City tokens
short of an award count in part.

All but the way from the elephant's site is the same for outcomes of a turn that differ only in the site and in rupees;
`survey` gathers it once in a record, and `value` adds the way. All numbers of the game come from the tables; the few that are
judgement are the fields of `Weights`. Nothing here reads the seed or the bag.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env import Game, engine
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS, NUM_POSTS, PalaceToken
from bombay_env.state import NOBODY
from bombay_env.tables import NO_LIMIT, NOT_A_CITY

IMPOSSIBLE: Final = -1000.0  # worth of what cannot be done
NEVER: Final = 1_000_000  # actions that it takes
UNKNOWN: Final = -1  # actions that have yet to be found out
NO_LOT: Final = -1
UNKNOWN_MARKET: Final = 1  # the centre market's terms stand for those of silk that no restock has brought yet
MOST_TOKENS: Final = 4  # more of them at once are worth as much
TOKEN_CLIENT, TOKEN_CITY = int(PalaceToken.CLIENT), int(PalaceToken.CITY)
TOKEN_RUPEES, TOKEN_BALE = int(PalaceToken.RUPEES), int(PalaceToken.BALE)


class Weights(NamedTuple):
    """The judgement in the value."""

    action: float  # rupees that an action is worth while much time is left
    idle: float  # the last actions of the game, which are worth nothing unless a plan needs them
    doubt: float  # how uncertain empire totals are in the last turn, in tokens
    doubt_per_turn: float  # what each turn to come adds
    fame: float  # a City token short of an award makes it worth this share
    traffic: float  # the share of tolls that a palace earns if nobody ever goes round it
    rivals: float  # how much the others' mean rupees count against one's own
    crowd: float  # how likely a rival who can be there first sells the same colour
    second: float  # the share that counts of what the second bale brings
    unknown: float  # rupees by which silk of later restocks is dearer than the centre market's
    scarce: float  # rupees by which the purchase of a last bale is in doubt; of one of two, half of it


WEIGHTS_V1: Final[Mapping[int, Weights]] = {  # of `planner-v1`, by number of players; they never change
    2: Weights(
        action=0.584,
        idle=3.604,
        doubt=0.585,
        doubt_per_turn=0.16,
        fame=0.627,
        traffic=0.636,
        rivals=0.324,
        crowd=0.324,
        second=0.838,
        unknown=-0.37,
        scarce=0.356,
    ),
    3: Weights(
        action=0.566,
        idle=2.199,
        doubt=0.929,
        doubt_per_turn=0.255,
        fame=0.65,
        traffic=0.391,
        rivals=0.146,
        crowd=0.351,
        second=0.936,
        unknown=0.321,
        scarce=0.616,
    ),
    4: Weights(
        action=0.658,
        idle=2.813,
        doubt=0.814,
        doubt_per_turn=0.281,
        fame=0.659,
        traffic=0.568,
        rivals=0.187,
        crowd=0.597,
        second=0.974,
        unknown=0.015,
        scarce=0.606,
    ),
    5: Weights(
        action=0.711,
        idle=3.618,
        doubt=0.496,
        doubt_per_turn=0.245,
        fame=0.659,
        traffic=0.476,
        rivals=0.291,
        crowd=0.191,
        second=0.84,
        unknown=0.143,
        scarce=1.277,
    ),
}


def survey_dtype(num_sites: int) -> np.dtype[Any]:
    """What a seat's plans have in common, wherever its elephant stands, on a board with `num_sites` sites."""
    return record_dtype(
        [
            ("turns", np.int64),  # of the seat, to come
            ("time", np.int64),  # actions in them
            ("rate", np.float64),  # rupees that an action is worth
            ("assets", np.float64),  # the value without the plan
            ("rank", np.float64, (MOST_TOKENS + 1,)),  # expected award with so many palaces or Clients more
            ("fame", np.float64),  # expected award for City tokens
            ("fame_more", np.float64),  # what one more adds to it
            ("load", np.int64),  # bales on the elephant
            ("one", np.uint32),  # colour of one of them; an index, so without a sign
            ("other", np.uint32),  # and of the other
            ("sale", np.float64, (COLUMN_HEIGHT, NUM_COLOURS)),  # what a sale brings, a City token aside
            ("token", np.float64, (NUM_CITIES,)),  # what the City token of the first sale is worth
            ("place", np.int64, (NUM_CITIES, NUM_COLOURS)),  # in the city's column, or engine.NO_PLACE
            ("rival", np.int64, (NUM_CITIES, NUM_COLOURS)),  # actions in which a rival could sell that there
            ("num_lots", np.int64),  # where a palace could stand
            ("lot", np.uint32, (num_sites,)),
            ("lot_gain", np.float64, (num_sites,)),
            ("num_posts", np.int64),
            ("post", np.uint32, (NUM_POSTS,)),  # sites
            ("post_colour", np.uint32, (NUM_POSTS,)),
            ("price", np.int64, (NUM_POSTS,)),
            ("doubt", np.float64, (NUM_POSTS,)),  # rupees off what the purchase is worth
            ("buy_time", np.int64, (NUM_POSTS,)),  # actions at the post
            ("wait", np.int64, (NUM_POSTS,)),  # actions before which it cannot be done
            ("bought", np.float64, (NUM_POSTS,)),  # what a bale bought there brings, with the one in the basket
            ("spend_time", np.int64, (NUM_POSTS,)),  # actions to spend it, or both
            # Of plans, what many have in common. Worths are of what can be done in `time`; who has less time looks
            # whether the actions that go with them are not too many.
            ("gain", np.float64, (NUM_COLOURS, NUM_CITIES)),  # what a sale brings, City token included
            ("gain_late", np.float64, (NUM_COLOURS, NUM_CITIES)),  # and after a rival
            ("city_lot", np.float64, (NUM_CITIES,)),  # worth of the best lot from a city
            ("city_lot_time", np.int64, (NUM_CITIES,)),
            ("next_lot", np.float64, (num_sites,)),  # worth of the best lot after a lot
            ("next_lot_time", np.int64, (num_sites,)),  # UNKNOWN until it is asked for
            (
                "then",
                np.float64,
                (NUM_COLOURS, NUM_COLOURS, NUM_CITIES),
            ),  # of the second, the first sold in a city
            ("then_time", np.int64, (NUM_COLOURS, NUM_COLOURS, NUM_CITIES)),
            ("way", np.int64, (NUM_CITIES,)),  # of the place looked at: actions until a bale is sold in a city
            ("sold", np.float64, (2, NUM_CITIES)),  # worths of the sales of two bales from there
        ]
    )


def site_traffic(game: Game) -> np.ndarray:
    """How often an opponent's turn may be expected to enter each site, (S,) float64.

    A site counts by the shortest ways between posts and cities that pass it; of a turn's actions two in three are moves.
    """
    tables = game.tables[0]
    posts = tables.post_sites if tables.outer_posts else tables.post_sites[: NUM_POSTS // 2]
    distance = tables.distance
    ends = [(post, city) for post in posts for city in tables.city_sites]
    passing = np.zeros(tables.num_sites)
    for start, end in ends + [(end, start) for start, end in ends]:
        on_way = distance[start] + distance[:, end] == distance[start, end]
        on_way[start] = False
        passing += on_way / max(1, on_way.sum()) * distance[start, end]
    return np.asarray(passing / max(1.0, passing.sum()) * tables.actions_per_turn * 2 / 3)


# --- Time ---


@kernel
def turns_to_come(state, tables, player):
    """Turns that the player begins after the present one: those of this set, and those of later sets."""
    if state.current_player == NOBODY:
        return 0, 0
    order = (player - state.first_player) % tables.num_players
    current = (state.current_player - state.first_player) % tables.num_players
    # Between turns the player named as current has yet to begin; in the middle of one it has begun.
    begun = order < current or (order == current and state.actions_left < tables.actions_per_turn)
    return (
        np.int64(tables.turns_per_set - state.turn - begun),
        np.int64((tables.sets - 1 - state.set) * tables.turns_per_set),
    )


# --- Awards to expect ---


@kernel
def rank_award(state, tables, player, more, doubt):
    """Rupees to expect for the empire rank with `more` palaces or Clients; each opponent is ahead in part, by the doubt."""
    mine = engine.empire_total(state, tables, player) + more
    ahead = 0.0
    for seat in range(tables.num_players):
        if seat != player:
            lead = (mine - engine.empire_total(state, tables, seat)) / doubt
            ahead += min(1.0, max(0.0, 0.5 - 0.5 * lead))
    rank = min(int(ahead), tables.num_players - 2)
    part = ahead - rank
    return tables.majority_share[rank, 0] * (1.0 - part) + tables.majority_share[rank + 1, 0] * part


@kernel
def fame_hope(state, tables, player, more, turns, weights):
    """Rupees to expect for City tokens with `more` in hand; awards still out of hand count in part."""
    last = len(tables.fame) - 1
    held = engine.city_total(state, player) + more
    reach = -more
    for city in range(NUM_CITIES):
        reach += state.city_tokens[player, city] == 0 and state.city_piles[city] > 0
    reach = min(reach, (turns + 1) // 2)
    best = 1.0 * tables.fame[min(held, last)]
    share = 1.0
    for further in range(1, reach + 1):
        share *= weights.fame
        best = max(best, share * tables.fame[min(held + further, last)])
    return best


@kernel
def assets(state, tables, player, survey, weights, traffic):
    """All of the value but the plan and the others' rupees."""
    tolls = toll_rate(tables, survey, weights)
    worth = survey.rank[0] + survey.fame + survey.rate * survey.time
    for site in range(tables.num_sites):
        if state.palace[site] == player + 1:
            worth += tolls * traffic[site]
    return worth


@kernel
def toll_rate(tables, survey, weights):
    """Rupees that a palace will have earned where every opponent's turn enters its site once."""
    return weights.traffic * tables.toll * (tables.num_players - 1) * survey.turns


# --- The survey ---


@kernel
def survey_seat(state, tables, player, weights, traffic, survey):
    """Overwrite `survey`, a record of `survey_dtype`, with what the seat's plans from here have in common."""
    survey_table(state, tables, player, weights, traffic, survey)
    survey_plans(state, tables, player, survey, weights)


@kernel
def survey_table(state, tables, player, weights, traffic, survey):
    """Enter what things bring; what plans make of them is left to `survey_plans`."""
    in_set, later = turns_to_come(state, tables, player)
    survey.turns = in_set + later
    survey.time = survey.turns * tables.actions_per_turn
    survey.rate = weights.action * max(0.0, survey.time - weights.idle) / max(1.0, 1.0 * survey.time)
    doubt = max(0.01, weights.doubt + weights.doubt_per_turn * survey.turns)
    for more in range(MOST_TOKENS + 1):
        survey.rank[more] = rank_award(state, tables, player, more, doubt)
    survey.fame = fame_hope(state, tables, player, 0, survey.turns, weights)
    survey.fame_more = fame_hope(state, tables, player, 1, survey.turns, weights) - survey.fame
    survey.assets = assets(state, tables, player, survey, weights, traffic)
    survey_basket(state, player, survey)
    survey_cities(state, tables, player, survey)
    survey_lots(state, tables, player, survey, weights, traffic)
    survey_posts(state, tables, player, in_set * tables.actions_per_turn, survey, weights)


@kernel
def survey_plans(state, tables, player, survey, weights):
    """Enter what plans have in common, and what a purchase at each post brings."""
    survey_gains(survey, weights)
    if survey.load > 0:
        for city in range(NUM_CITIES):
            survey.city_lot[city], survey.city_lot_time[city], _ = best_lot(
                tables, survey, tables.city_sites[city], survey.time
            )
        survey.next_lot_time[:] = UNKNOWN
    if survey.load == 1 and tables.basket > 1:
        done = 0  # bits of colours
        for post in range(survey.num_posts):
            colour = survey.post_colour[post]
            bit = 1 << np.int64(colour)
            if done & bit == 0:
                done |= bit
                survey_second_sales(tables, survey, weights, survey.one, colour)
    elif survey.load > 1:
        survey_second_sales(tables, survey, weights, survey.one, survey.other)
    price_posts(state, tables, player, survey, weights)


@kernel
def survey_gains(survey, weights):
    """Enter what a sale of each colour in each city brings, on time and late."""
    for colour in range(NUM_COLOURS):
        for city in range(NUM_CITIES):
            place = survey.place[city, colour]
            survey.gain[colour, city] = survey.gain_late[colour, city] = -np.inf
            if place != engine.NO_PLACE:
                survey.gain[colour, city] = sale_gain(survey, weights, city, place, colour, False)
                survey.gain_late[colour, city] = sale_gain(survey, weights, city, place, colour, True)


@kernel
def survey_second_sales(tables, survey, weights, one, other):
    """Enter what each of two bales brings once the other has been sold."""
    for swap in range(1 if one == other else 2):
        first, second = (other, one) if swap else (one, other)
        for city in range(NUM_CITIES):
            survey.then[first, second, city] = 0.0  # where the first cannot be sold, too
            survey.then_time[first, second, city] = 0
            if survey.place[city, first] != engine.NO_PLACE:
                survey.then[first, second, city], survey.then_time[first, second, city] = deliver_second(
                    tables, survey, weights, city, first, second, survey.time
                )


@kernel
def survey_basket(state, player, survey):
    """Enter what the elephant carries; of more than two bales, two."""
    survey.load = 0
    for colour in range(NUM_COLOURS):
        for _ in range(state.basket[player, colour]):
            if survey.load == 0:
                survey.one = colour
            survey.other = colour
            survey.load += 1


@kernel
def survey_cities(state, tables, player, survey):
    """Enter what sales bring: rupees, what the Clients add to the expected rank, and the City token."""
    for place in range(COLUMN_HEIGHT):
        for colour in range(NUM_COLOURS):
            clients = np.int64(tables.sale_clients[place, colour])
            if state.client_supply != NO_LIMIT:
                clients = min(clients, np.int64(state.client_supply))
            clients = min(clients, MOST_TOKENS)
            survey.sale[place, colour] = tables.sale_rupees[place, colour] + survey.rank[clients] - survey.rank[0]
    for city in range(NUM_CITIES):
        first = state.city_tokens[player, city] == 0 and state.city_piles[city] > 0
        survey.token[city] = survey.fame_more if first else 0.0
        for colour in range(NUM_COLOURS):
            survey.place[city, colour] = engine.NO_PLACE
            survey.rival[city, colour] = NEVER
        for place in range(COLUMN_HEIGHT):
            survey.place[city, state.demand[city, place]] = place
    for seat in range(tables.num_players):
        for colour in range(NUM_COLOURS):
            if seat != player and state.basket[seat, colour] > 0:
                for city in range(NUM_CITIES):
                    time = tables.distance[state.position[seat], tables.city_sites[city]] + tables.sell_cost
                    survey.rival[city, colour] = min(survey.rival[city, colour], time)


@kernel
def survey_lots(state, tables, player, survey, weights, traffic):
    """Enter where a palace could stand, and what it and the palace token there bring."""
    survey.num_lots = 0
    if state.palaces_left[player] == 0 or tables.build_cost > tables.actions_per_turn:
        return
    palace = survey.rank[1] - survey.rank[0]
    palace_and_client = survey.rank[2] - survey.rank[0]
    tolls = toll_rate(tables, survey, weights)
    for site in range(tables.num_sites):
        if state.post[site] == 0 and state.palace[site] == 0 and tables.city_of_site[site] == NOT_A_CITY:
            token = np.int64(state.palace_token[site]) - 1
            gain = (palace_and_client if token == TOKEN_CLIENT else palace) + tolls * traffic[site]
            if token == TOKEN_CITY:
                gain += survey.fame_more
            elif token == TOKEN_RUPEES:
                gain += tables.palace_token_rupees
            elif token == TOKEN_BALE:
                gain += free_bale(state, survey)
            survey.lot[survey.num_lots] = site
            survey.lot_gain[survey.num_lots] = gain
            survey.num_lots += 1


@kernel
def free_bale(state, survey):
    """Roughly what the bale of a `bale` token brings: the best sale of one from the leftmost market, less some way."""
    best = 0.0
    market = engine.leftmost_market(state)
    if market != engine.NO_MARKET:
        for colour in range(NUM_COLOURS):
            if state.market[market, colour] > 0:
                for city in range(NUM_CITIES):
                    place = survey.place[city, colour]
                    if place != engine.NO_PLACE:
                        best = max(best, survey.sale[place, colour] + survey.token[city] - 4 * survey.rate)
    return best


@kernel
def survey_posts(state, tables, player, set_time, survey, weights):
    """Enter the posts and on what terms silk is to be had there.

    Silk that is in no market now, or no longer when the set's turns are over, is taken to come with the next restock on the
    centre market's terms.
    """
    survey.num_posts = 0
    if tables.buys_per_turn == 0:
        return
    for number in range(NUM_POSTS):
        site = tables.post_sites[number]
        if state.post[site] == 0:
            continue
        colour = np.int64(state.post[site]) - 1
        market = engine.market_of(state, colour)
        post = survey.num_posts
        survey.wait[post] = 0
        if market == engine.NO_MARKET or set_time == 0:
            survey.wait[post] = set_time
            doubt = weights.unknown
            market = UNKNOWN_MARKET
        else:
            doubt = weights.scarce / state.market[market, colour]
        if tables.market_actions[market] <= tables.actions_per_turn:
            survey.post[post] = site
            survey.post_colour[post] = colour
            survey.price[post] = tables.market_rupees[market]
            survey.doubt[post] = doubt
            survey.buy_time[post] = tables.market_actions[market]
            survey.num_posts += 1


@kernel
def price_posts(state, tables, player, survey, weights):
    """Enter what a bale bought at each post brings from there, alone or with the one carried."""
    for post in range(survey.num_posts):
        site, colour = survey.post[post], survey.post_colour[post]
        if survey.load == 0:
            survey.bought[post], survey.spend_time[post] = deliver(tables, survey, site, colour, survey.time)
        elif survey.load == 1 and tables.basket > 1:
            survey.bought[post], survey.spend_time[post] = deliver_two(
                state, tables, player, survey, weights, site, colour, survey.one, survey.time
            )


# --- Plans ---


@kernel
def sale_gain(survey, weights, city, place, colour, late):
    """What a sale brings; if it is `late`, a rival can be there first and may have sunk the cube."""
    gain = survey.sale[place, colour]
    if late:
        gain += weights.crowd * (survey.sale[COLUMN_HEIGHT - 1, colour] - gain)
    return gain + survey.token[city]


@kernel
def best_sale(tables, survey, start, colour, time):
    """From `start` with one bale: the worth of its best sale, and its actions. IMPOSSIBLE if none is in time."""
    best = IMPOSSIBLE
    best_time = 0
    for city in range(NUM_CITIES):
        needed = tables.distance[start, tables.city_sites[city]] + tables.sell_cost
        worth = sale_worth(survey, city, colour, needed)
        if needed <= time and worth > best:
            best = worth
            best_time = needed
    return best, best_time


@kernel
def sale_worth(survey, city, colour, needed):
    """What a sale `needed` actions away is worth; −∞ if the city does not demand the colour."""
    late = survey.rival[city, colour] <= needed
    return (survey.gain_late[colour, city] if late else survey.gain[colour, city]) - survey.rate * needed


@kernel
def best_lot(tables, survey, start, time):
    """From `start` with one bale: the worth of its best palace, its actions, and the place in `lot`, or NO_LOT."""
    best = IMPOSSIBLE
    best_time = 0
    chosen = NO_LOT
    for lot in range(survey.num_lots):
        needed = tables.distance[start, survey.lot[lot]] + tables.build_cost
        worth = survey.lot_gain[lot] - survey.rate * needed
        if needed <= time and worth > best:
            best = worth
            best_time = needed
            chosen = lot
    return best, best_time, chosen


@kernel
def better(sale, sale_time, lot, lot_time):
    """The better of two ways with its actions; of equals, the sale."""
    return (lot, lot_time) if lot > sale else (sale, sale_time)


@kernel
def deliver(tables, survey, start, colour, time):
    """From `start` with one bale: the worth of the best way to spend it, and its actions. IMPOSSIBLE if none is in time."""
    sale, sale_time = best_sale(tables, survey, start, colour, time)
    lot, lot_time, _ = best_lot(tables, survey, start, time)
    return better(sale, sale_time, lot, lot_time)


@kernel
def deliver_two(state, tables, player, survey, weights, start, one, other, time):
    """The same with two bales, spent in the better order; one alone where that brings more."""
    for city in range(NUM_CITIES):
        needed = tables.distance[start, tables.city_sites[city]] + tables.sell_cost
        survey.way[city] = needed
        survey.sold[0, city] = sale_worth(survey, city, one, needed)
        survey.sold[1, city] = sale_worth(survey, city, other, needed)
    lot_worth, lot_time, lot = best_lot(tables, survey, start, time)
    best, best_time = best_sold(survey, 0, time)
    best, best_time = better(best, best_time, lot_worth, lot_time)
    alone, alone_time = best_sold(survey, 1, time)
    best, best_time = better(best, best_time, alone, alone_time)
    if lot != NO_LOT and lot_time >= time:  # too far to do something after it
        lot_worth, lot_time, lot = best_lot(tables, survey, start, time - 1)
    for swap in range(1 if one == other else 2):
        first, second = (other, one) if swap else (one, other)
        for city in range(NUM_CITIES):
            needed = survey.way[city]
            if needed >= time:
                continue
            then, then_time = survey.then[first, second, city], survey.then_time[first, second, city]
            if then_time > time - needed:
                then, then_time = deliver_second(tables, survey, weights, city, first, second, time - needed)
            worth = survey.sold[swap, city] + weights.second * then
            if worth > best:
                best = worth
                best_time = needed + then_time
        if lot != NO_LOT:
            then, then_time = deliver_second_after_lot(state, tables, player, survey, lot, second, time - lot_time)
            worth = lot_worth + weights.second * then
            if worth > best:
                best = worth
                best_time = lot_time + then_time
    return best, best_time


@kernel
def best_sold(survey, bale, time):
    """`best_sale` of one of the two bales in `sold`."""
    best = IMPOSSIBLE
    best_time = 0
    for city in range(NUM_CITIES):
        if survey.way[city] <= time and survey.sold[bale, city] > best:
            best = survey.sold[bale, city]
            best_time = survey.way[city]
    return best, best_time


@kernel
def deliver_second(tables, survey, weights, city, first, second, time):
    """`deliver` from a city where a cube has just sunk and the City token is taken."""
    place, token = survey.place[city, second], survey.token[city]
    if first == second:
        place = COLUMN_HEIGHT - 1
    elif place > survey.place[city, first]:
        place -= 1
    gain, gain_late = survey.gain[second, city], survey.gain_late[second, city]
    if place != engine.NO_PLACE:
        survey.token[city] = 0.0
        survey.gain[second, city] = sale_gain(survey, weights, city, place, second, False)
        survey.gain_late[second, city] = sale_gain(survey, weights, city, place, second, True)
        survey.token[city] = token
    sale, sale_time = best_sale(tables, survey, tables.city_sites[city], second, time)
    survey.gain[second, city], survey.gain_late[second, city] = gain, gain_late
    lot, lot_time = survey.city_lot[city], survey.city_lot_time[city]
    if lot_time > time:
        lot, lot_time, _ = best_lot(tables, survey, tables.city_sites[city], time)
    return better(sale, sale_time, lot, lot_time)


@kernel
def deliver_second_after_lot(state, tables, player, survey, lot, second, time):
    """`deliver` from a site that has just been built on."""
    sale, sale_time = best_sale(tables, survey, survey.lot[lot], second, time)
    if survey.next_lot_time[lot] == UNKNOWN:
        survey.next_lot[lot], survey.next_lot_time[lot] = best_lot_after(
            state, tables, player, survey, lot, survey.time
        )
    next_lot, next_time = survey.next_lot[lot], survey.next_lot_time[lot]
    if next_time > time:
        next_lot, next_time = best_lot_after(state, tables, player, survey, lot, time)
    return better(sale, sale_time, next_lot, next_time)


@kernel
def best_lot_after(state, tables, player, survey, lot, time):
    """The worth and the actions of the best palace from a site that has just been built on."""
    if state.palaces_left[player] < 2:
        return IMPOSSIBLE, 0
    gain = survey.lot_gain[lot]
    survey.lot_gain[lot] = IMPOSSIBLE
    best, best_time, _ = best_lot(tables, survey, survey.lot[lot], time)
    survey.lot_gain[lot] = gain
    return best, best_time


@kernel
def purchase(state, tables, player, survey, start, post):
    """What a purchase at a post costs in rupees and in actions, those at what time is worth not included.

    Rupees that are lacking have to be consolidated first, unless a bale in hand will bring them; NEVER if they cannot be.
    """
    price = np.int64(survey.price[post])
    time = max(np.int64(tables.distance[start, survey.post[post]]), np.int64(survey.wait[post])) + survey.buy_time[post]
    lacking = price - state.rupees[player]
    if lacking > 0 and survey.load == 0:
        if tables.consolidate_rupees == 0:
            return price, NEVER
        rounds = (lacking + tables.consolidate_rupees - 1) // tables.consolidate_rupees
        price -= rounds * tables.consolidate_rupees
        time += rounds * tables.actions_per_turn
    return price, time


@kernel
def plan_worth(state, tables, player, survey, weights):
    """The worth of the best plan from where the elephant stands with what it carries; 0 for none."""
    start = np.int64(state.position[player])
    best = 0.0
    if survey.load == 1:
        best = max(best, deliver(tables, survey, start, survey.one, survey.time)[0])
    elif survey.load > 1:
        both = deliver_two(state, tables, player, survey, weights, start, survey.one, survey.other, survey.time)[0]
        return max(best, both)
    if survey.load >= tables.basket:
        return best
    for post in range(survey.num_posts):
        worth = survey.bought[post] - survey.doubt[post]
        if worth > best:
            price, time = purchase(state, tables, player, survey, start, post)
            if time + survey.spend_time[post] <= survey.time:
                best = max(best, worth - price - survey.rate * time)
    return best


# --- The value ---


@kernel
def value(state, tables, player, survey, weights):
    """What `state`, between turns or over, is worth to `player`, in rupees.

    `survey` is of it or of a state that differs in the elephant's site and in rupees alone.
    """
    rivals = 0
    for seat in range(tables.num_players):
        if seat != player:
            rivals += state.rupees[seat]
    lead = -weights.rivals * rivals / (tables.num_players - 1)
    if state.current_player == NOBODY:
        return lead + engine.final_rupees(state, tables, player)
    return lead + state.rupees[player] + survey.assets + plan_worth(state, tables, player, survey, weights)
