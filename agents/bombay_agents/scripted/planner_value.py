"""The scripted value that `planner` plays by: what a position between turns is worth to a seat, in rupees at the end.

    value = rupees − the others' rupees + expected awards + expected tolls + worth of the time left + worth of the best plan

A plan is what the elephant can do next: spend its bales where they bring most, in the better order, or buy one first. It is
worth what it brings less the price of its actions, so that a detour costs and a bale that comes too late is worth nothing. All
parts but the plan come from the survey (`planner_survey.py`). Numbers of the game come from the tables, all others from
`PlannerWeights`. Nothing here reads the seed or the bag.
"""

from typing import Final

import numpy as np

from bombay_agents.scripted.planner_survey import NEVER, survey_position
from bombay_env import engine
from bombay_env.jit.kernels import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS
from bombay_env.state import NOBODY

IMPOSSIBLE: Final = -1000.0  # worth of what cannot be done
UNKNOWN: Final = -1  # a number of actions that has not been worked out yet
NO_LOT: Final = -1


# --- What plans share ---


@kernel
def survey_seat(state, tables, player, weights, traffic, survey):
    """Overwrite `survey`, a record of `planner_survey.survey_dtype`, for a seat, wherever its elephant stands."""
    survey_position(state, tables, player, weights, traffic, survey)
    survey_plans(state, tables, player, survey, weights)


@kernel
def survey_plans(state, tables, player, survey, weights):
    """Add to a survey of `survey_position` the parts that plans share, and what a purchase at each post brings."""
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
    """Enter what a sale of each colour in each city brings, before and after a rival's sale."""
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
            survey.then[first, second, city] = 0.0  # also where the first cannot be sold
            survey.then_time[first, second, city] = 0
            if survey.place[city, first] != engine.NO_PLACE:
                survey.then[first, second, city], survey.then_time[first, second, city] = deliver_second(
                    tables, survey, weights, city, first, second, survey.time
                )


@kernel
def price_posts(state, tables, player, survey, weights):
    """Enter what a bale bought at each post brings from there, alone or together with one carried."""
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
    """What a sale brings. If it is `late`, a rival can be there first and may have moved the cube to the bottom."""
    gain = survey.sale[place, colour]
    if late:
        gain += weights.crowd * (survey.sale[COLUMN_HEIGHT - 1, colour] - gain)
    return gain + survey.token[city]


@kernel
def best_sale(tables, survey, start, colour, time):
    """The worth and the actions of the best sale of one bale from `start`; IMPOSSIBLE if none is in time."""
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
    """The worth and the actions of the best palace from `start`, and its index in `survey.lot`; NO_LOT if none is in time."""
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
    """The better of a sale and a palace, with its actions; ties go to the sale."""
    return (lot, lot_time) if lot > sale else (sale, sale_time)


@kernel
def deliver(tables, survey, start, colour, time):
    """The worth and the actions of the best way to spend one bale from `start`; IMPOSSIBLE if none is in time."""
    sale, sale_time = best_sale(tables, survey, start, colour, time)
    lot, lot_time, _ = best_lot(tables, survey, start, time)
    return better(sale, sale_time, lot, lot_time)


@kernel
def deliver_two(state, tables, player, survey, weights, start, one, other, time):
    """`deliver` for two bales, spent in the better order, or for one of them where that brings more."""
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
    if lot != NO_LOT and lot_time >= time:  # nothing could be done after it
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
    """`deliver` for the second bale from a city where the first has just been sold, which took the City token."""
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
    """`deliver` for the second bale from a site where a palace has just been built."""
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
    """The worth and the actions of the best palace from a site where one has just been built."""
    if state.palaces_left[player] < 2:
        return IMPOSSIBLE, 0
    gain = survey.lot_gain[lot]
    survey.lot_gain[lot] = IMPOSSIBLE
    best, best_time, _ = best_lot(tables, survey, survey.lot[lot], time)
    survey.lot_gain[lot] = gain
    return best, best_time


@kernel
def purchase(state, tables, player, survey, start, post):
    """The rupees and the actions that a purchase at a post takes; NEVER if the player cannot get the rupees.

    Missing rupees are consolidated first, unless a bale in the basket is taken to bring them.
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
    """The worth of the best plan from where the elephant stands, with what it carries; 0 if none is worth more."""
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
    """What `state`, between turns or after the game, is worth to `player`, in rupees.

    `survey` is of this state, or of one that differs only in the elephant's site and in rupees.
    """
    rivals = 0
    for seat in range(tables.num_players):
        if seat != player:
            rivals += state.rupees[seat]
    lead = -weights.rivals * rivals / (tables.num_players - 1)
    if state.current_player == NOBODY:
        return lead + engine.final_rupees(state, tables, player)
    return lead + state.rupees[player] + survey.assets + plan_worth(state, tables, player, survey, weights)
