"""What value nets read of a position between turns: the bytes of an observation, and what each seat could do next.

An observation (`observation/encode.py`, perfect recall, from the eyes of one seat) says where everything is. What a position is
worth hangs on how these go together: bales, the cities that want them and the way there. A net of one hidden layer finds little
of that by itself, so five seats' `plans` stand beside it, by place, all of them rough and whole numbers:

    carried   what one bale, and what two, bring if spent within 1, 2 … actions
    deliver   what the bales bring less the way, in the best order, at each of two prices of an action
    fetch     the same for a bale to be bought now; and on the centre market's terms, wherever its colour lies
    tolls     what its palaces may still earn
    scripted  what `planner-v1` expects: the award for the empire rank, that for City tokens, and the worth of its best plan
    near      actions to the nearest post of each colour, the nearest free site, and the nearest with a palace token

Worths are in quarters of a rupee, what the planner expects in eighths. Outcomes of one turn differ little, and most have the
plans of the others in common: these are kept from one reading to the next. Knows the engine and the observation; nothing of nets.
"""

import hashlib
from typing import Any, Final

import numpy as np

from bombay_agents.scripted import lookahead, planner_survey, planner_value
from bombay_agents.scripted.planner_weights import WEIGHTS_V1, PlannerWeights
from bombay_env import Game
from bombay_env.batch import make_scratch
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.observation import encode
from bombay_env.observation.layout import FeatureLayout
from bombay_env.rules import MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_POSTS
from bombay_env.state import NOBODY
from bombay_env.tables import NOT_A_CITY

VERSION: Final = 5  # of what is read, when, and of what a net adds to

QUARTER: Final = 4  # of a rupee, the unit of worths
CLIENT: Final = 2  # quarters that a Client is taken to be worth
CITY_TOKEN: Final = 5  # and a City token
PACES: Final = (2, 4)  # and an action
STEPS: Final = 8  # actions that `carried` looks ahead
FAR: Final = 12  # actions to what is nowhere
LARGEST: Final = 127
CENTRE: Final = 1  # the market whose terms stand for those of silk to come
NO_COLOUR: Final = -1
TRAFFIC: Final = 1024  # what traffic is counted in

# Places in a seat's plans.
ONE_BALE: Final = 0
TWO_BALES: Final = ONE_BALE + STEPS
DELIVER: Final = TWO_BALES + STEPS
FETCH: Final = DELIVER + len(PACES)
FETCH_LATER: Final = FETCH + len(PACES)
TOLLS: Final = FETCH_LATER + len(PACES)
SCRIPTED: Final = TOLLS + 1
POST: Final = SCRIPTED + 3
LOT: Final = POST + NUM_COLOURS
TOKEN_LOT: Final = LOT + 1
NUM_PLANS: Final = TOKEN_LOT + 1  # of a seat

WORD: Final = 8
EIGHTH: Final = 8.0  # of a rupee, the unit of what the planner expects

# Within a turn the plans of others hang on the world: markets, cities, palaces, the mover's empire, the others' rupees and what
# they are foreseen to reply; and what the mover's own plans have in common on that and on its basket and City tokens. A few of
# both are kept.
WORLD_WORDS: Final = 7  # and one for each 64 sites
WORLDS: Final = 8
SURVEYS: Final = 8


def num_features(layout: FeatureLayout) -> int:
    """Length of what is read, with zeros up to a full word."""
    return -(-(layout.num_features + MAX_PLAYERS * NUM_PLANS) // WORD) * WORD


def digest(layout: FeatureLayout) -> str:
    """16 hex digits that name the features: layout, version, the constants of the plans, and the scale of every byte."""
    constants = (layout.digest, VERSION, QUARTER, CLIENT, CITY_TOKEN, PACES, STEPS, FAR, EIGHTH, NUM_PLANS)
    scale_bytes = scales(layout).astype("<f4").tobytes()
    return hashlib.sha256(repr(constants).encode() + scale_bytes).hexdigest()[:16]


def scales(layout: FeatureLayout) -> np.ndarray:
    """What each byte is multiplied by to be about 1, (num_features,) float32; 0 where it tells nothing that others do not."""
    whole = np.zeros(num_features(layout), np.float32)
    for piece in layout.pieces:
        whole[layout[piece.name]] = 1 / piece.per
    shown = {"game_left": 16, "set_left": 4, "actions_left": 3, "empire_rank": 8, "margin": 40}
    for name, per in shown.items():
        whole[layout[name]] = 1 / per
    for name in ("distance", "city_distance", "sale_here"):  # `position` and the plans tell as much
        whole[layout[name]] = 0
    plans = whole[layout.num_features :][: MAX_PLAYERS * NUM_PLANS].reshape(MAX_PLAYERS, NUM_PLANS)
    plans[:, :POST] = 1 / 16
    plans[:, POST:] = 1 / QUARTER
    return whole


def reader_dtype(layout: FeatureLayout) -> np.dtype[Any]:
    """What reading takes, and what has been read: `bytes`, and the same as `words`."""
    count, observed = num_features(layout), layout.num_features
    plans = (np.int8, (MAX_PLAYERS, NUM_PLANS))
    fields: dict[str, tuple[Any, int]] = {
        "bytes": ((np.int8, (count,)), 0),
        "words": ((np.uint64, (count // WORD,)), 0),
        "observed": ((np.int8, (observed,)), 0),
        "plans": (plans, observed),
    }
    end, words = count, WORLD_WORDS + -(-layout.num_sites // 64)
    for name, kind in (
        ("expected", (np.float32, (MAX_PLAYERS,))),  # rupees at the end, by `planner-v1`'s value
        ("used", (np.uint64, (count // WORD,))),  # all ones in the bytes that tell something
        ("traffic", (np.int32, (layout.num_sites,))),
        ("worth", (np.int32, (2, NUM_CITIES))),  # of the two bales, City tokens aside
        ("token", (np.int32, (NUM_CITIES,))),  # what the City token of a first sale is worth
        ("spend", (np.int32, (2 * len(PACES), NUM_POSTS))),  # what a bale brings from a post; now, then later
        ("world", (np.uint64, (words,))),
        ("num_worlds", np.int64),  # entered since `clear_cache`; the last `WORLDS` are kept
        ("worlds", (np.uint64, (WORLDS, words))),
        ("kept_plans", (np.int8, (WORLDS, MAX_PLAYERS, NUM_PLANS))),
        ("kept_expected", (np.float32, (WORLDS, MAX_PLAYERS))),
        ("kept_spend", (np.int32, (WORLDS, 2 * len(PACES), NUM_POSTS))),
        ("num_surveys", np.int64),
        ("survey_of", (np.uint64, (SURVEYS, 2))),  # the world's number, and what the mover has
        ("survey", (planner_survey.survey_dtype(layout.num_sites), (SURVEYS + 1,))),  # the last for others
        ("site_traffic", (np.float64, (layout.num_sites,))),
        ("ahead", np.int64),  # 1 + the number of what is foreseen, if that is what is read; else 0
        ("lookahead", (lookahead.workspace_dtype(layout.num_sites), (1,))),
        ("weights", ([(name, np.float64) for name in PlannerWeights._fields], (2,))),  # the mover's, and the others'
    ):
        fields[name] = (kind, end)
        end += np.dtype(kind).itemsize
    formats, offsets = zip(*fields.values(), strict=True)
    described: Any = {"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": -(-end // WORD) * WORD}
    return record_dtype(described)


def new_readers(game: Game, count: int, rounds: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Memory for `count` threads: what `observe.encode` writes to, and records of `reader_dtype`, both (count,).

    `rounds` of turns are foreseen by `read_ahead`.
    """
    layout = game.feature_layout
    readers = np.zeros(count, reader_dtype(layout))
    used = np.repeat(np.where(scales(layout) != 0, np.uint8(255), np.uint8(0))[None], count, axis=0)
    readers["used"] = used.view(np.uint64)
    weights = WEIGHTS_V1[game.num_players]
    readers["lookahead"]["rounds"] = rounds
    readers["weights"] = [weights, weights._replace(crowd=0.0)]  # others as if nobody were in their way
    readers["site_traffic"] = planner_survey.site_traffic(game)
    readers["traffic"] = np.round(planner_survey.site_traffic(game) * TRAFFIC)
    return make_scratch(layout)[:count], readers


@kernel
def clear_cache(reader):
    """Keep nothing of what was read before."""
    lookahead.clear_cache(reader.lookahead[0])
    reader.num_worlds = 0
    reader.num_surveys = 0


@kernel
def read_ahead(after, tables, lookups, seat, raw, reader):
    """`read` what is likely to become of `after`, a node between turns, unless the game is foreseen to end.

    Returns False if a turn has no room.
    """
    ahead, survey = reader.lookahead[0], reader.survey[SURVEYS]
    weights, others = reader.weights[0], reader.weights[1]
    if not lookahead.look_ahead(after, tables, seat, weights, others, reader.site_traffic, survey, ahead):
        return False
    if not end_ahead(reader):
        reader.ahead = 1 + ahead.number
        read(ahead.seen[0].reading, tables, lookups, seat, raw, reader)
        reader.ahead = 0
    return True


@kernel
def end_ahead(reader):
    """Whether what was foreseen last is the end of the game."""
    return reader.lookahead[0].seen[0].state.current_player == NOBODY


@kernel
def read(state, tables, lookups, seat, raw, reader):
    """Overwrite `reader.bytes` with what `seat` sees of `state`, a record of `reading_dtype`, and with everybody's plans.

    And `reader.expected`, by place, with the rupees that the planner's value expects at the end. Much is kept from one position
    of a turn to the next; call `clear_cache` before another turn.
    """
    encode.encode(state, tables, lookups, seat, False, raw)
    reader.observed[:] = raw.to_copy
    reader.observed[0] = min(raw.all_left[0], LARGEST)
    world = np.int64(find_world(state, raw, reader))
    if world == reader.num_worlds:
        enter_world(state, tables, lookups, seat, raw, reader)
    else:
        reader.spend[:] = reader.kept_spend[world % WORLDS]
        reader.plans[:] = reader.kept_plans[world % WORLDS]
        reader.expected[:] = reader.kept_expected[world % WORLDS]
    plan(state, tables, seat, np.int64(0), raw, reader)  # a plain 0 would be another type, and compiled for itself
    script(state, tables, seat, np.int64(0), find_survey(state, tables, seat, world, raw, reader), reader)


@kernel
def find_world(state, raw, reader):
    """The number of the world as it is; `num_worlds` if it is not kept."""
    world, high = reader.world, np.uint64(32)
    world[:] = np.uint64(0)
    world[0] = np.uint64(raw.price_words[0]) | np.uint64(raw.buy_actions_words[0]) << high
    world[1] = np.uint64(raw.market_words[0]) | np.uint64(raw.market_words[1]) << high
    world[2] = np.uint64(raw.market_words[2]) | np.uint64(raw.city_pile_words[0]) << high
    world[3] = np.uint64(raw.empires[0]) | np.uint64(raw.all_left[0]) << high
    for place in range(1, MAX_PLAYERS):
        world[4] |= np.uint64(raw.rupees[place]) << np.uint64(8 * place)
    world[4] |= np.uint64(state.current_player + 1)
    world[6] = np.uint64(reader.ahead)
    for city in range(NUM_CITIES):
        world[5] |= np.uint64(encode.column_code(state, city)) << np.uint64(8 * city)
    for site in range(len(state.palace)):
        taken = np.uint64(1) if state.palace[site] > 0 else np.uint64(0)
        world[WORLD_WORDS + site // 64] |= taken << np.uint64(site % 64)
    for number in range(max(0, reader.num_worlds - WORLDS), reader.num_worlds):
        same = True
        for word in range(len(world)):
            same &= reader.worlds[number % WORLDS, word] == world[word]
        if same:
            return number
    return np.int64(reader.num_worlds)


@kernel
def enter_world(state, tables, lookups, seat, raw, reader):
    """Work out what does not hang on where the mover stands and what it has, and keep that."""
    slot = reader.num_worlds % WORLDS
    spend_all(state, tables, raw, reader)
    for place in range(1, tables.num_players):
        player = np.int64(lookups.seats[seat, place])
        plan(state, tables, player, np.int64(place), raw, reader)
        survey = reader.survey[SURVEYS]
        planner_value.survey_seat(state, tables, player, reader.weights[1], reader.site_traffic, survey)
        script(state, tables, player, np.int64(place), np.int64(SURVEYS), reader)
    reader.worlds[slot] = reader.world
    reader.kept_spend[slot] = reader.spend
    reader.kept_plans[slot] = reader.plans
    reader.kept_expected[slot] = reader.expected
    reader.num_worlds += 1


@kernel
def find_survey(state, tables, seat, world, raw, reader):
    """The place of the survey of the mover's plans, made if it is not kept."""
    has = np.uint64(raw.basket_words[0]) | np.uint64(raw.city_tokens_words[0]) << np.uint64(32)
    for number in range(max(0, reader.num_surveys - SURVEYS), reader.num_surveys):
        slot = number % SURVEYS
        if reader.survey_of[slot, 0] == np.uint64(world) and reader.survey_of[slot, 1] == has:
            return np.int64(slot)
    slot = np.int64(reader.num_surveys % SURVEYS)
    reader.survey_of[slot, 0] = np.uint64(world)
    reader.survey_of[slot, 1] = has
    reader.num_surveys += 1
    planner_value.survey_seat(state, tables, seat, reader.weights[0], reader.site_traffic, reader.survey[slot])
    return slot


@kernel
def spend_all(state, tables, raw, reader):
    """Overwrite `spend` with what a bale bought at each post brings, less price and way: now, and on the centre's terms."""
    reader.spend[:] = 0
    for post in range(NUM_POSTS):
        site = tables.post_sites[post]
        colour = np.int64(state.post[site]) - 1
        if colour == NO_COLOUR:
            continue
        for number in range(len(PACES)):
            pace = PACES[number]
            best = 0
            for city in range(NUM_CITIES):
                worth = sale_worth(raw, city, colour)
                if worth > 0:
                    best = max(
                        best,
                        worth - pace * (np.int64(tables.distance[site, tables.city_sites[city]]) + tables.sell_cost),
                    )
            if raw.buy_actions[colour] > 0:
                cost = QUARTER * np.int64(raw.price[colour]) + pace * np.int64(raw.buy_actions[colour])
                reader.spend[number, post] = best - cost
            cost = QUARTER * tables.market_rupees[CENTRE] + pace * tables.market_actions[CENTRE]
            reader.spend[len(PACES) + number, post] = best - cost


@kernel
def sale_worth(raw, city, colour):
    """What a sale brings, the City token aside; 0 where the city does not want the colour."""
    return QUARTER * np.int64(raw.sale_rupees[city, colour]) + CLIENT * np.int64(raw.sale_clients[city, colour])


@kernel
def plan(state, tables, player, place, raw, reader):
    """Overwrite `plans[place]` with what the player could do next."""
    reader.plans[place] = 0
    here = np.int64(state.position[player])
    load, one, other = np.int64(0), np.int64(NO_COLOUR), np.int64(NO_COLOUR)
    for colour in range(NUM_COLOURS):
        for _ in range(np.int64(raw.basket[place, colour])):
            if load == 0:
                one = np.int64(colour)
            other = np.int64(colour)
            load += 1
    if load > 0:
        plan_sales(tables, here, place, load, one, other, raw, reader)
    plan_purchases(state, tables, here, place, load < tables.basket, raw, reader)
    plan_palaces(state, tables, here, player, place, raw, reader)


@kernel
def plan_sales(tables, here, place, load, one, other, raw, reader):
    """Enter what the bales carried bring."""
    plans = reader.plans[place]
    for city in range(NUM_CITIES):
        reader.token[city] = CITY_TOKEN if raw.city_tokens[place, city] == 0 and raw.city_pile[city] > 0 else 0
        first, second = sale_worth(raw, city, one), sale_worth(raw, city, other)
        reader.worth[0, city] = first
        reader.worth[1, city] = second
        most = max(first, second)
        if most > 0:
            most += np.int64(reader.token[city])
            way = max(0, np.int64(tables.distance[here, tables.city_sites[city]]) + tables.sell_cost - 1)
            enter_within(plans, ONE_BALE, way, most)
            if load > 1:
                sunk = QUARTER * max(0, np.int64(raw.sale_rupees[city, one]) - 1) if one == other else 0
                both = first + second - sunk + np.int64(reader.token[city]) if first > 0 and second > 0 else most
                enter_within(plans, TWO_BALES, way + tables.sell_cost, both)
    for number in range(len(PACES)):
        worth = best_delivery(tables, here, PACES[number], load, one == other, reader)
        plans[DELIVER + number] = min(LARGEST, worth)


@kernel
def enter_within(plans, first, way, worth):
    """Enter a worth that `way` actions and one more bring, if it is the best so far, where so many or more are looked ahead."""
    for step in range(way, STEPS):
        plans[first + step] = max(np.int64(plans[first + step]), min(LARGEST, worth))


@kernel
def best_delivery(tables, here, pace, load, alike, reader):
    """What the bales carried bring less the way, both in the better order."""
    best = 0
    for bale in range(min(load, 2)):
        for city in range(NUM_CITIES):
            if reader.worth[bale, city] > 0:
                site = tables.city_sites[city]
                way = np.int64(tables.distance[here, site]) + tables.sell_cost
                worth = np.int64(reader.worth[bale, city]) + np.int64(reader.token[city]) - pace * way
                best = max(best, worth)
                if load > 1:
                    best = max(best, worth + best_second(tables, city, 1 - bale, pace, alike, reader))
    return best


@kernel
def best_second(tables, city, bale, pace, alike, reader):
    """What the other bale brings from a city where one has just been sold; one of the same colour there a rupee less."""
    best = 0
    for next_city in range(NUM_CITIES):
        worth = np.int64(reader.worth[bale, next_city])
        if worth > 0:
            if next_city == city:
                worth -= QUARTER if alike else 0
            else:
                worth += np.int64(reader.token[next_city])
            way = np.int64(tables.distance[tables.city_sites[city], tables.city_sites[next_city]]) + tables.sell_cost
            best = max(best, worth - pace * way)
    return best


@kernel
def plan_purchases(state, tables, here, place, room, raw, reader):
    """Enter what a bale to be bought brings, and the way to the nearest posts that are open."""
    plans = reader.plans[place]
    for colour in range(NUM_COLOURS):
        plans[POST + colour] = FAR
    for post in range(NUM_POSTS):
        site = tables.post_sites[post]
        colour = np.int64(state.post[site]) - 1
        if colour == NO_COLOUR:
            continue
        way = np.int64(tables.distance[here, site])
        if raw.buy_actions[colour] > 0:
            plans[POST + colour] = min(np.int64(plans[POST + colour]), way)
        if room:
            for number in range(2 * len(PACES)):
                worth = np.int64(reader.spend[number, post]) - PACES[number % len(PACES)] * way
                plans[FETCH + number] = max(np.int64(plans[FETCH + number]), min(LARGEST, worth))


@kernel
def plan_palaces(state, tables, here, player, place, raw, reader):
    """Enter the tolls to come, and the way to the nearest sites that are free."""
    lot, token_lot, tolls = FAR, FAR, 0
    for site in range(tables.num_sites):
        if state.palace[site] == player + 1:
            tolls += reader.traffic[site]
        elif state.palace[site] == 0 and state.post[site] == 0 and tables.city_of_site[site] == NOT_A_CITY:
            way = np.int64(tables.distance[here, site])
            lot = min(lot, way)
            if state.palace_token[site] > 0:
                token_lot = min(token_lot, way)
    tolls = tolls * QUARTER * np.int64(raw.all_left[0]) * (tables.num_players - 1) * tables.toll // TRAFFIC
    reader.plans[place, TOLLS] = min(tolls, LARGEST)
    reader.plans[place, LOT] = lot
    reader.plans[place, TOKEN_LOT] = token_lot


@kernel
def script(state, tables, player, place, slot, reader):
    """Enter what the planner's value expects of a seat, by the survey of its plans."""
    survey, plans = reader.survey[slot], reader.plans[place]
    worth = planner_value.plan_worth(state, tables, player, survey, reader.weights[min(place, 1)])
    plans[SCRIPTED] = eighths(survey.rank[0])
    plans[SCRIPTED + 1] = eighths(survey.fame)
    plans[SCRIPTED + 2] = eighths(worth)
    reader.expected[place] = np.float32(state.rupees[player] + survey.assets + worth)


@kernel
def eighths(rupees):
    """Whole eighths, as many as a byte holds."""
    return np.int64(max(-LARGEST, min(LARGEST, np.round(EIGHTH * rupees))))
