"""The first half of the planner's value: what a seat can sell, build and buy, and what awards and tolls it may expect.

`survey_position` gathers this in one record, the survey. It is the same for outcomes of a turn that differ only in the
elephant's site and in rupees, so that these share one survey. `planner_value.py` adds the plans, which do depend on the site,
and is the next to read. Awards are expectations: the longer the game still lasts, the less certain are ranks, and a fame award
is discounted for each City token that is still missing. Nothing here reads the seed or the bag.
"""

from typing import Any, Final

import numpy as np

from bombay_env import Game, engine
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS, NUM_POSTS, PalaceToken
from bombay_env.state import NOBODY
from bombay_env.tables import NO_LIMIT, NOT_A_CITY

NEVER: Final = 1_000_000  # actions to something that cannot be done
UNKNOWN_MARKET: Final = 1  # the centre market: its terms stand for those of silk that a later restock may bring
MAX_TOKENS: Final = 4  # more of them at once count as this many
TOKEN_CLIENT, TOKEN_CITY = int(PalaceToken.CLIENT), int(PalaceToken.CITY)
TOKEN_RUPEES, TOKEN_BALE = int(PalaceToken.RUPEES), int(PalaceToken.BALE)


def survey_dtype(num_sites: int) -> np.dtype[Any]:
    """A survey: what all plans of a seat have in common, on a board with `num_sites` sites."""
    return record_dtype(
        [
            ("turns", np.int64),  # that the seat has still to come
            ("time", np.int64),  # actions in them
            ("rate", np.float64),  # rupees that an action is worth
            ("assets", np.float64),  # the value without the plan
            ("rank", np.float64, (MAX_TOKENS + 1,)),  # expected award with that many more palaces or Clients
            ("fame", np.float64),  # expected award for City tokens
            ("fame_more", np.float64),  # what one more token adds to it
            ("load", np.int64),  # bales on the elephant
            ("one", np.uint32),  # colour of one bale; unsigned, as it is an index
            ("other", np.uint32),  # colour of the other
            ("sale", np.float64, (COLUMN_HEIGHT, NUM_COLOURS)),  # what a sale brings without its City token
            ("token", np.float64, (NUM_CITIES,)),  # what the City token of the first sale is worth
            ("place", np.int64, (NUM_CITIES, NUM_COLOURS)),  # in the city's column, or engine.NO_PLACE
            ("rival", np.int64, (NUM_CITIES, NUM_COLOURS)),  # actions that a rival needs to sell the colour there
            ("num_lots", np.int64),  # sites where a palace can be built
            ("lot", np.uint32, (num_sites,)),
            ("lot_gain", np.float64, (num_sites,)),
            ("num_posts", np.int64),
            ("post", np.uint32, (NUM_POSTS,)),  # sites
            ("post_colour", np.uint32, (NUM_POSTS,)),
            ("price", np.int64, (NUM_POSTS,)),
            ("doubt", np.float64, (NUM_POSTS,)),  # rupees off the worth of the purchase
            ("buy_time", np.int64, (NUM_POSTS,)),  # actions at the post
            ("wait", np.int64, (NUM_POSTS,)),  # actions until silk is there
            ("bought", np.float64, (NUM_POSTS,)),  # what a bale bought there brings, together with one carried
            ("spend_time", np.int64, (NUM_POSTS,)),  # actions to spend it, or both bales
            # Parts that many plans share. They are the best within `time`; a plan with less time left checks whether
            # their actions fit.
            ("gain", np.float64, (NUM_COLOURS, NUM_CITIES)),  # what a sale brings, City token included
            ("gain_late", np.float64, (NUM_COLOURS, NUM_CITIES)),  # the same after a rival's sale
            ("city_lot", np.float64, (NUM_CITIES,)),  # worth of the best lot from a city
            ("city_lot_time", np.int64, (NUM_CITIES,)),
            ("next_lot", np.float64, (num_sites,)),  # worth of the best lot after a lot
            ("next_lot_time", np.int64, (num_sites,)),  # UNKNOWN until it is worked out
            # By colours of the first and the second bale: worth of the second, once the first is sold in the city.
            ("then", np.float64, (NUM_COLOURS, NUM_COLOURS, NUM_CITIES)),
            ("then_time", np.int64, (NUM_COLOURS, NUM_COLOURS, NUM_CITIES)),
            ("way", np.int64, (NUM_CITIES,)),  # from the site at hand: actions until a bale is sold in the city
            ("sold", np.float64, (2, NUM_CITIES)),  # from the site at hand: worth of selling either bale there
        ]
    )


def site_traffic(game: Game) -> np.ndarray:
    """How often an opponent's turn may be expected to enter each site, (S,) float64.

    In proportion to the shortest paths between posts and cities that pass the site. Two in three actions are taken to be moves.
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
    """Turns that the player has still to begin: in this set, and in all."""
    if state.current_player == NOBODY:
        return np.int64(0), np.int64(0)
    order = (player - state.first_player) % tables.num_players
    current = (state.current_player - state.first_player) % tables.num_players
    # The current player has begun its turn only if it has spent an action.
    begun = order < current or (order == current and state.actions_left < tables.actions_per_turn)
    begun = np.int64(begun)
    return np.int64(tables.turns_per_set - state.turn) - begun, engine.game_turns_left(state, tables) - begun


# --- Expected awards ---


@kernel
def expected_rank_award(state, tables, player, more, doubt):
    """Expected rupees for the empire rank with `more` palaces or Clients.

    Each opponent is ahead with a probability that is linear in its lead; `doubt` is the lead at which it is certain.
    """
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
def expected_fame(state, tables, player, more, turns, weights):
    """Expected rupees for City tokens with `more` of them: the best award, each discounted by the tokens still missing."""
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
    """The value without rupees in hand, the plan and the others' rupees."""
    tolls = toll_rate(tables, survey, weights)
    worth = survey.rank[0] + survey.fame + survey.rate * survey.time
    for site in range(tables.num_sites):
        if state.palace[site] == player + 1:
            worth += tolls * traffic[site]
    return worth


@kernel
def toll_rate(tables, survey, weights):
    """Rupees that a palace earns until the end where each opponent enters its site once a turn."""
    return weights.traffic * tables.toll * (tables.num_players - 1) * survey.turns


# --- The survey ---


@kernel
def survey_position(state, tables, player, weights, traffic, survey):
    """Overwrite `survey`, a record of `survey_dtype`, with all but its plans, which `planner_value.survey_plans` adds."""
    in_set, survey.turns = turns_to_come(state, tables, player)
    survey.time = survey.turns * tables.actions_per_turn
    survey.rate = weights.action * max(0.0, survey.time - weights.idle) / max(1.0, 1.0 * survey.time)
    doubt = max(0.01, weights.doubt + weights.doubt_per_turn * survey.turns)
    for more in range(MAX_TOKENS + 1):
        survey.rank[more] = expected_rank_award(state, tables, player, more, doubt)
    survey.fame = expected_fame(state, tables, player, 0, survey.turns, weights)
    survey.fame_more = expected_fame(state, tables, player, 1, survey.turns, weights) - survey.fame
    survey.assets = assets(state, tables, player, survey, weights, traffic)
    survey_basket(state, player, survey)
    survey_cities(state, tables, player, survey)
    survey_lots(state, tables, player, survey, weights, traffic)
    survey_posts(state, tables, in_set * tables.actions_per_turn, survey, weights)


@kernel
def survey_basket(state, player, survey):
    """Enter what the elephant carries: two bales at most."""
    survey.load = 0
    for colour in range(NUM_COLOURS):
        for _ in range(state.basket[player, colour]):
            if survey.load == 0:
                survey.one = colour
            survey.other = colour
            survey.load += 1


@kernel
def survey_cities(state, tables, player, survey):
    """Enter what sales bring: rupees, what the Clients add to the expected rank award, and the City token."""
    for place in range(COLUMN_HEIGHT):
        for colour in range(NUM_COLOURS):
            clients = np.int64(tables.sale_clients[place, colour])
            if state.client_supply != NO_LIMIT:
                clients = min(clients, np.int64(state.client_supply))
            clients = min(clients, MAX_TOKENS)
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
    """Enter where a palace can be built, and what it and the palace token there bring."""
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
    """A rough worth of the bale of a `bale` token: its best sale from the leftmost market, less four actions."""
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
def survey_posts(state, tables, set_time, survey, weights):
    """Enter the posts and their terms. `set_time` is the number of actions that the seat has left in this set.

    Silk that is in no market, or that the seat cannot buy in this set, is expected with the next restock, on the centre market's
    terms.
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
