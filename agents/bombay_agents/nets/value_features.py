"""What the value net reads of a position between turns: the bytes of an observation, and what each seat could do next.

An observation (`observation/encode.py`, perfect recall, from the perspective of one seat) says where everything is. The worth of
a position depends on how these facts combine: bales, the cities that demand them and the way there. A net with one hidden layer
learns little of that by itself, so it also reads hand-made features of every seat, in seat order from the viewer. They are rough,
and whole numbers:

    one bale, two bales   what one bale, and two, bring if they are spent within 1, 2 … actions
    deliver               what the bales bring less the cost of the way, in the best order, for each of two costs of an action
    fetch                 the same for a bale still to be bought; and for one at the centre market's price, whatever its colour
    tolls                 what the seat's palaces may still earn
    planner               what `planner-v1` expects: the award for the empire rank, that for City tokens, and its best plan
    nearest               actions to the nearest post of each colour, to the nearest free site, and to one with a palace token

Worths are in quarters of a rupee, the planner's expectations in eighths. Outcomes of one turn differ little, and most share the
features of the other seats, so these are cached from one position to the next. Depends on the engine, the observation and the
scripted value; knows no nets. `value_net_turns.py` evaluates what is read here.
"""

import hashlib
from typing import Any, Final

import numpy as np

from bombay_agents.scripted import lookahead, planner_survey, planner_value
from bombay_agents.scripted.lookahead import MOVER, OTHERS
from bombay_env import Game
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.jit.records import ALIGNMENT
from bombay_env.observation import encode
from bombay_env.observation.layout import FeatureLayout
from bombay_env.rules import MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_POSTS
from bombay_env.state import NOBODY
from bombay_env.tables import NOT_A_CITY

VERSION: Final = 5  # of what is read, when, and of the baseline that a net adds to

QUARTER: Final = 4  # of a rupee, the unit of worths
CLIENT: Final = 2  # quarters that a Client is taken to be worth
CITY_TOKEN: Final = 5  # and a City token
ACTION_COSTS: Final = (2, 4)  # and an action: two guesses
STEPS: Final = 8  # actions that the features of one and of two bales look ahead
FAR: Final = 12  # actions to what does not exist
LARGEST: Final = 127
CENTRE: Final = 1  # the market whose terms stand for those of silk to come
NO_COLOUR: Final = -1
TRAFFIC_UNIT: Final = 1024  # parts of an entry in which traffic is counted

# Indices into the features of a seat.
ONE_BALE: Final = 0
TWO_BALES: Final = ONE_BALE + STEPS
DELIVER: Final = TWO_BALES + STEPS
FETCH: Final = DELIVER + len(ACTION_COSTS)
FETCH_LATER: Final = FETCH + len(ACTION_COSTS)
TOLLS: Final = FETCH_LATER + len(ACTION_COSTS)
PLANNER: Final = TOLLS + 1
POST: Final = PLANNER + 3
LOT: Final = POST + NUM_COLOURS
TOKEN_LOT: Final = LOT + 1
NUM_SEAT_FEATURES: Final = TOKEN_LOT + 1

WORD: Final = 8  # bytes
EIGHTH: Final = 8.0  # of a rupee, the unit of what the planner expects

# Within a turn the features of the other seats depend only on the context: markets, cities, palaces, the mover's empire, the
# others' rupees and the leaf that looking ahead led to. The mover's own features share a survey of plans between positions with
# the same context, basket and City tokens. Some of both are cached.
CONTEXT_WORDS: Final = 7  # and one for each 64 sites
CONTEXTS: Final = 8
SURVEYS: Final = 8


def num_features(layout: FeatureLayout) -> int:
    """Number of features, with zeros up to a full word."""
    return -(-(layout.num_features + MAX_PLAYERS * NUM_SEAT_FEATURES) // WORD) * WORD


def digest(layout: FeatureLayout) -> str:
    """16 hex digits that identify the features: layout, version, the constants of seat features, and the scale of every byte."""
    constants = (
        layout.digest,
        VERSION,
        QUARTER,
        CLIENT,
        CITY_TOKEN,
        ACTION_COSTS,
        STEPS,
        FAR,
        EIGHTH,
        NUM_SEAT_FEATURES,
    )
    scale_bytes = scales(layout).astype("<f4").tobytes()
    return hashlib.sha256(repr(constants).encode() + scale_bytes).hexdigest()[:16]


def scales(layout: FeatureLayout) -> np.ndarray:
    """The factor that brings each byte to about 1, (num_features,) float32; 0 for bytes that repeat what others say."""
    whole = np.zeros(num_features(layout), np.float32)
    for piece in layout.pieces:
        whole[layout[piece.name]] = 1 / piece.per
    unscaled = {"game_left": 16, "set_left": 4, "actions_left": 3, "empire_rank": 8, "margin": 40}
    for name, per in unscaled.items():
        whole[layout[name]] = 1 / per
    for name in ("distance", "city_distance", "sale_here"):  # `position` and the seat features say the same
        whole[layout[name]] = 0
    by_seat = whole[layout.num_features :][: MAX_PLAYERS * NUM_SEAT_FEATURES].reshape(MAX_PLAYERS, NUM_SEAT_FEATURES)
    by_seat[:, :POST] = 1 / 16
    by_seat[:, POST:] = 1 / QUARTER
    return whole


def workspace_dtype(layout: FeatureLayout) -> np.dtype[Any]:
    """Memory for reading positions, and what was read last: `bytes` (F,), and the same memory as `words`.

    For one thread at a time; `set_constants` fills in what never changes.
    """
    count, observed = num_features(layout), layout.num_features
    words = CONTEXT_WORDS + -(-layout.num_sites // 64)
    start = -(-layout.raw_dtype.itemsize // ALIGNMENT) * ALIGNMENT
    by_seat = (np.int8, (MAX_PLAYERS, NUM_SEAT_FEATURES))
    fields: dict[str, tuple[Any, int]] = {
        "raw": (layout.raw_dtype, 0),  # what `encode` writes
        "bytes": ((np.int8, (count,)), start),
        "words": ((np.uint64, (count // WORD,)), start),
        "observed": ((np.int8, (observed,)), start),
        "seat_features": (by_seat, start + observed),
    }
    end = start + count
    for name, kind in (
        ("expected", (np.float32, (MAX_PLAYERS,))),  # rupees at the end by the planner's value, the viewer first
        ("used", (np.uint64, (count // WORD,))),  # all ones in the bytes whose scale is not 0
        ("scales", (np.float32, (count,))),
        ("traffic", (np.int32, (layout.num_sites,))),
        ("worth", (np.int32, (2, NUM_CITIES))),  # of the two bales, City tokens aside
        ("token", (np.int32, (NUM_CITIES,))),  # worth of the City token of a first sale
        ("spend", (np.int32, (2 * len(ACTION_COSTS), NUM_POSTS))),  # what a bale from a post brings: now, then later
        ("context", (np.uint64, (words,))),  # the key that is looked up
        ("num_contexts", np.int64),  # added since `clear_cache`; the last `CONTEXTS` are kept
        ("contexts", (np.uint64, (CONTEXTS, words))),
        ("cached_features", (np.int8, (CONTEXTS, MAX_PLAYERS, NUM_SEAT_FEATURES))),
        ("cached_expected", (np.float32, (CONTEXTS, MAX_PLAYERS))),
        ("cached_spend", (np.int32, (CONTEXTS, 2 * len(ACTION_COSTS), NUM_POSTS))),
        ("num_surveys", np.int64),
        ("survey_key", (np.uint64, (SURVEYS, 2))),  # the context's number, and what the mover has
        ("survey", (planner_survey.survey_dtype(layout.num_sites), (SURVEYS,))),
        ("leaf", np.int64),  # 1 + the leaf's id while a leaf of `lookahead` is read, else 0
        ("lookahead", lookahead.workspace_dtype(layout.num_sites)),
    ):
        fields[name] = (kind, end)
        end += np.dtype(kind).itemsize
    formats, offsets = zip(*fields.values(), strict=True)
    end = -(-end // ALIGNMENT) * ALIGNMENT
    return record_dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": end})


def set_constants(workspace: np.ndarray, game: Game, rounds: int = 1) -> None:
    """Fill in what depends on the game and on the number of rounds to look ahead; any number of records."""
    layout = game.feature_layout
    workspace["scales"] = scales(layout)
    used = np.where(scales(layout) != 0, np.uint8(255), np.uint8(0))
    workspace["used"] = used.view(np.uint64)
    workspace["traffic"] = np.round(planner_survey.site_traffic(game) * TRAFFIC_UNIT)
    lookahead.set_constants(workspace["lookahead"], game, rounds)


@kernel
def clear_cache(workspace):
    """Empty all caches; call it before the positions of another turn."""
    lookahead.clear_cache(workspace.lookahead)
    workspace.num_contexts = 0
    workspace.num_surveys = 0


@kernel
def read_leaf(after, tables, lookups, seat, workspace):
    """Look ahead from `after`, the end of a turn of `seat`, and read the leaf, unless the game is over there.

    Returns False if a turn has more states than fit in memory.
    """
    if not lookahead.look_ahead(after, tables, seat, workspace.lookahead):
        return False
    if not leaf_is_over(workspace):
        workspace.leaf = 1 + workspace.lookahead.leaf_id
        read_position(workspace.lookahead.leaf[0].reading, tables, lookups, seat, workspace)
        workspace.leaf = 0
    return True


@kernel
def leaf_is_over(workspace):
    """Whether the game is over at the last leaf."""
    return workspace.lookahead.leaf[0].state.current_player == NOBODY


@kernel
def read_position(state, tables, lookups, viewer, workspace):
    """Overwrite `workspace.bytes` with the features of `state`, a record of `reading_dtype`, from the perspective of `viewer`.

    And `workspace.expected` with the rupees that the planner's value expects, in seat order from the viewer. Call `clear_cache`
    before the positions of another turn.
    """
    raw = workspace.raw
    encode.encode(state, tables, lookups, viewer, False, raw)
    workspace.observed[:] = raw.to_copy
    workspace.observed[0] = min(raw.all_left[0], LARGEST)
    context = np.int64(find_context(state, workspace))
    if context == workspace.num_contexts:
        add_context(state, tables, lookups, viewer, workspace)
    else:
        workspace.spend[:] = workspace.cached_spend[context % CONTEXTS]
        workspace.seat_features[:] = workspace.cached_features[context % CONTEXTS]
        workspace.expected[:] = workspace.cached_expected[context % CONTEXTS]
    first = np.int64(0)  # typed, as the kernels are compiled for each type of their arguments
    add_seat(state, tables, viewer, first, workspace)
    survey = workspace.survey[find_survey(state, tables, viewer, context, workspace)]
    add_planner(state, tables, viewer, first, survey, workspace)


@kernel
def find_context(state, workspace):
    """The number of the position's context in the cache; `num_contexts` if it is not there."""
    raw, context, high = workspace.raw, workspace.context, np.uint64(32)
    context[:] = np.uint64(0)
    context[0] = np.uint64(raw.price_words[0]) | np.uint64(raw.buy_actions_words[0]) << high
    context[1] = np.uint64(raw.market_words[0]) | np.uint64(raw.market_words[1]) << high
    context[2] = np.uint64(raw.market_words[2]) | np.uint64(raw.city_pile_words[0]) << high
    context[3] = np.uint64(raw.empires[0]) | np.uint64(raw.all_left[0]) << high
    for place in range(1, MAX_PLAYERS):
        context[4] |= np.uint64(raw.rupees[place]) << np.uint64(8 * place)
    context[4] |= np.uint64(state.current_player + 1)
    context[6] = np.uint64(workspace.leaf)
    for city in range(NUM_CITIES):
        context[5] |= np.uint64(encode.column_code(state, city)) << np.uint64(8 * city)
    for site in range(len(state.palace)):
        taken = np.uint64(1) if state.palace[site] > 0 else np.uint64(0)
        context[CONTEXT_WORDS + site // 64] |= taken << np.uint64(site % 64)
    for number in range(max(0, workspace.num_contexts - CONTEXTS), workspace.num_contexts):
        same = True
        for word in range(len(context)):
            same &= workspace.contexts[number % CONTEXTS, word] == context[word]
        if same:
            return number
    return np.int64(workspace.num_contexts)


@kernel
def add_context(state, tables, lookups, viewer, workspace):
    """Compute what does not depend on where the viewer's elephant stands and what the viewer has, and cache it."""
    slot = workspace.num_contexts % CONTEXTS
    compute_spend(state, tables, workspace)
    survey, weights = workspace.lookahead.survey, workspace.lookahead.weights[OTHERS]
    for place in range(1, tables.num_players):
        player = np.int64(lookups.seats[viewer, place])
        add_seat(state, tables, player, np.int64(place), workspace)
        planner_value.survey_seat(state, tables, player, weights, workspace.lookahead.traffic, survey)
        add_planner(state, tables, player, np.int64(place), survey, workspace)
    workspace.contexts[slot] = workspace.context
    workspace.cached_spend[slot] = workspace.spend
    workspace.cached_features[slot] = workspace.seat_features
    workspace.cached_expected[slot] = workspace.expected
    workspace.num_contexts += 1


@kernel
def find_survey(state, tables, viewer, context, workspace):
    """The slot of the survey of the viewer's plans, which is made if it is not in the cache."""
    raw, ahead = workspace.raw, workspace.lookahead
    has = np.uint64(raw.basket_words[0]) | np.uint64(raw.city_tokens_words[0]) << np.uint64(32)
    for number in range(max(0, workspace.num_surveys - SURVEYS), workspace.num_surveys):
        slot = number % SURVEYS
        if workspace.survey_key[slot, 0] == np.uint64(context) and workspace.survey_key[slot, 1] == has:
            return np.int64(slot)
    slot = np.int64(workspace.num_surveys % SURVEYS)
    workspace.survey_key[slot, 0] = np.uint64(context)
    workspace.survey_key[slot, 1] = has
    workspace.num_surveys += 1
    planner_value.survey_seat(state, tables, viewer, ahead.weights[MOVER], ahead.traffic, workspace.survey[slot])
    return slot


@kernel
def compute_spend(state, tables, workspace):
    """Overwrite `spend` with what a bale from each post brings less price and way: at its price, and at the centre's."""
    raw = workspace.raw
    workspace.spend[:] = 0
    for post in range(NUM_POSTS):
        site = tables.post_sites[post]
        colour = np.int64(state.post[site]) - 1
        if colour == NO_COLOUR:
            continue
        for number in range(len(ACTION_COSTS)):
            action_cost = ACTION_COSTS[number]
            best = 0
            for city in range(NUM_CITIES):
                worth = sale_worth(raw, city, colour)
                if worth > 0:
                    best = max(
                        best,
                        worth
                        - action_cost * (np.int64(tables.distance[site, tables.city_sites[city]]) + tables.sell_cost),
                    )
            if raw.buy_actions[colour] > 0:
                cost = QUARTER * np.int64(raw.price[colour]) + action_cost * np.int64(raw.buy_actions[colour])
                workspace.spend[number, post] = best - cost
            cost = QUARTER * tables.market_rupees[CENTRE] + action_cost * tables.market_actions[CENTRE]
            workspace.spend[len(ACTION_COSTS) + number, post] = best - cost


@kernel
def sale_worth(raw, city, colour):
    """What a sale brings, the City token aside; 0 where the city does not want the colour."""
    return QUARTER * np.int64(raw.sale_rupees[city, colour]) + CLIENT * np.int64(raw.sale_clients[city, colour])


@kernel
def add_seat(state, tables, player, place, workspace):
    """Overwrite `seat_features[place]` with what the player could do next, but for what the planner expects."""
    workspace.seat_features[place] = 0
    here = np.int64(state.position[player])
    load, one, other = np.int64(0), np.int64(NO_COLOUR), np.int64(NO_COLOUR)
    for colour in range(NUM_COLOURS):
        for _ in range(np.int64(workspace.raw.basket[place, colour])):
            if load == 0:
                one = np.int64(colour)
            other = np.int64(colour)
            load += 1
    if load > 0:
        add_sales(tables, here, place, load, one, other, workspace)
    add_purchases(state, tables, here, place, load < tables.basket, workspace)
    add_palaces(state, tables, here, player, place, workspace)


@kernel
def add_sales(tables, here, place, load, one, other, workspace):
    """Add what the bales on the elephant bring."""
    raw, features = workspace.raw, workspace.seat_features[place]
    for city in range(NUM_CITIES):
        workspace.token[city] = CITY_TOKEN if raw.city_tokens[place, city] == 0 and raw.city_pile[city] > 0 else 0
        first, second = sale_worth(raw, city, one), sale_worth(raw, city, other)
        workspace.worth[0, city] = first
        workspace.worth[1, city] = second
        most = max(first, second)
        if most > 0:
            most += np.int64(workspace.token[city])
            way = max(0, np.int64(tables.distance[here, tables.city_sites[city]]) + tables.sell_cost - 1)
            add_within(features, ONE_BALE, way, most)
            if load > 1:
                sunk = QUARTER * max(0, np.int64(raw.sale_rupees[city, one]) - 1) if one == other else 0
                both = first + second - sunk + np.int64(workspace.token[city]) if first > 0 and second > 0 else most
                add_within(features, TWO_BALES, way + tables.sell_cost, both)
    for number in range(len(ACTION_COSTS)):
        worth = best_delivery(tables, here, ACTION_COSTS[number], load, one == other, workspace)
        features[DELIVER + number] = min(LARGEST, worth)


@kernel
def add_within(features, first, way, worth):
    """Add a worth that takes `way` actions and one more, at every step that reaches it, unless a larger one is there."""
    for step in range(way, STEPS):
        features[first + step] = max(np.int64(features[first + step]), min(LARGEST, worth))


@kernel
def best_delivery(tables, here, action_cost, load, alike, workspace):
    """What the bales on the elephant bring less the way, both in the better order."""
    best = 0
    for bale in range(min(load, 2)):
        for city in range(NUM_CITIES):
            if workspace.worth[bale, city] > 0:
                site = tables.city_sites[city]
                way = np.int64(tables.distance[here, site]) + tables.sell_cost
                worth = np.int64(workspace.worth[bale, city]) + np.int64(workspace.token[city]) - action_cost * way
                best = max(best, worth)
                if load > 1:
                    best = max(best, worth + best_second(tables, city, 1 - bale, action_cost, alike, workspace))
    return best


@kernel
def best_second(tables, city, bale, action_cost, alike, workspace):
    """What the second bale brings, starting from the city of the first sale, where the same colour sells for a rupee less."""
    best = 0
    for next_city in range(NUM_CITIES):
        worth = np.int64(workspace.worth[bale, next_city])
        if worth > 0:
            if next_city == city:
                worth -= QUARTER if alike else 0
            else:
                worth += np.int64(workspace.token[next_city])
            way = np.int64(tables.distance[tables.city_sites[city], tables.city_sites[next_city]]) + tables.sell_cost
            best = max(best, worth - action_cost * way)
    return best


@kernel
def add_purchases(state, tables, here, place, room, workspace):
    """Add what a bale still to be bought brings, and the way to the nearest open posts."""
    raw, features = workspace.raw, workspace.seat_features[place]
    for colour in range(NUM_COLOURS):
        features[POST + colour] = FAR
    for post in range(NUM_POSTS):
        site = tables.post_sites[post]
        colour = np.int64(state.post[site]) - 1
        if colour == NO_COLOUR:
            continue
        way = np.int64(tables.distance[here, site])
        if raw.buy_actions[colour] > 0:
            features[POST + colour] = min(np.int64(features[POST + colour]), way)
        if room:
            for number in range(2 * len(ACTION_COSTS)):
                worth = np.int64(workspace.spend[number, post]) - ACTION_COSTS[number % len(ACTION_COSTS)] * way
                features[FETCH + number] = max(np.int64(features[FETCH + number]), min(LARGEST, worth))


@kernel
def add_palaces(state, tables, here, player, place, workspace):
    """Add the tolls to come, and the way to the nearest free sites."""
    lot, token_lot, tolls = FAR, FAR, 0
    for site in range(tables.num_sites):
        if state.palace[site] == player + 1:
            tolls += workspace.traffic[site]
        elif state.palace[site] == 0 and state.post[site] == 0 and tables.city_of_site[site] == NOT_A_CITY:
            way = np.int64(tables.distance[here, site])
            lot = min(lot, way)
            if state.palace_token[site] > 0:
                token_lot = min(token_lot, way)
    tolls = (
        tolls * QUARTER * np.int64(workspace.raw.all_left[0]) * (tables.num_players - 1) * tables.toll // TRAFFIC_UNIT
    )
    workspace.seat_features[place, TOLLS] = min(tolls, LARGEST)
    workspace.seat_features[place, LOT] = lot
    workspace.seat_features[place, TOKEN_LOT] = token_lot


@kernel
def add_planner(state, tables, player, place, survey, workspace):
    """Add what the planner's value expects for a seat, given the survey of the seat's plans."""
    features, weights = workspace.seat_features[place], workspace.lookahead.weights[min(place, OTHERS)]
    worth = planner_value.plan_worth(state, tables, player, survey, weights)
    features[PLANNER] = to_eighths(survey.rank[0])
    features[PLANNER + 1] = to_eighths(survey.fame)
    features[PLANNER + 2] = to_eighths(worth)
    workspace.expected[place] = np.float32(state.rupees[player] + survey.assets + worth)


@kernel
def to_eighths(rupees):
    """Whole eighths of a rupee, clipped to what a byte holds."""
    return np.int64(max(-LARGEST, min(LARGEST, np.round(EIGHTH * rupees))))
