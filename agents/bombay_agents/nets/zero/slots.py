"""What the `zero` net reads: a position as slots, each of which has one of a few values.

A slot is a categorical feature. Each of its values is one row of the net's first layer, so a position is a list of rows. All
values follow from the rules exactly: what is on the board and in the hands, distances, prices now, who leads if the game ended
now. No slot holds a judgement of what is worth having.

    context   the board and the markets, then the rivals in seat order from the viewer; the same for most outcomes of a turn
    own       the viewer's own slots, how the viewer stands beside each rival, and the bag

Seats that are not in the game have no rows. `reading.py` computes the values.
"""

import hashlib
import json
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_env.jit.kernels import record_dtype
from bombay_env.rules import MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_MARKETS, NUM_POSTS, PalaceToken

VERSION: Final = 1  # raised when the meaning of a value changes

# Numbers above these are read as these.
MAX_TURNS: Final = 17  # turns of a seat to come
MAX_SET_TURNS: Final = 5  # of them in this set
MAX_SUPPLY: Final = 17  # Client tokens in the bank
MAX_PILE: Final = 4
MAX_OFFER: Final = 7  # bales of a colour in its market
MAX_BAG: Final = 7
MAX_RUPEES: Final = 24
MAX_CITY_TOTAL: Final = 6
MAX_PALACES_LEFT: Final = 5
MAX_SALE: Final = 11  # rupees
MAX_WAY: Final = 8  # actions
MAX_POST_WAY: Final = 6
MAX_SALE_WAY: Final = 6
MAX_BUILD_WAY: Final = 7
MAX_PROFIT: Final = 6  # rupees
MAX_EMPIRE_GAP: Final = 7
MAX_LEAD: Final = 15  # rupees
LOADS: Final = 3  # none, one, two or more bales
BUCKETS: Final = 6  # of turns to come: 0, 1, 2, 3 to 4, 5 to 8, more

NUM_COUNTS: Final = MAX_PLAYERS - 1  # player counts
NUM_TOKENS: Final = 1 + len(PalaceToken)  # none, or a kind
NUM_BASKETS: Final = 1 + NUM_COLOURS + NUM_COLOURS * (NUM_COLOURS + 1) // 2
SALE_STEPS: Final = (1, 2, 3, 4, 5, 6)  # actions
TRADE_STEPS: Final = (3, 4, 5, 6, 7, 9)  # actions

# Indices of the slots of the context; those of the sites follow, then NUM_SEAT_SLOTS for each rival.
TIME: Final = 0
PHASE: Final = 1
SUPPLY: Final = 2
DEMAND: Final = 3
PILE: Final = DEMAND + NUM_CITIES
COLOUR: Final = PILE + NUM_CITIES
POST: Final = COLOUR + NUM_COLOURS
SITE: Final = POST + NUM_POSTS

# Indices among the slots of one seat.
SEAT_SITE: Final = 0
BASKET: Final = 1
RUPEES: Final = 2
CITIES: Final = 3
FAME: Final = 4
PALACES: Final = 5
SALE: Final = 6
CLIENT_WAY: Final = SALE + len(SALE_STEPS)
NEW_CITY_WAY: Final = CLIENT_WAY + 1
SALE_WAY: Final = NEW_CITY_WAY + 1
POST_WAY: Final = SALE_WAY + 1
TRADE: Final = POST_WAY + NUM_COLOURS
BUILD_WAY: Final = TRADE + len(TRADE_STEPS)
PALACE_TOKEN_WAY: Final = BUILD_WAY + 1
NUM_SEAT_SLOTS: Final = PALACE_TOKEN_WAY + len(PalaceToken)

# Indices among the slots that compare the viewer with a rival.
EMPIRE_GAP: Final = 0
LEAD: Final = 1
NUM_RIVAL_SLOTS: Final = 2


class Slot(NamedTuple):
    """A slot: its name, its number of values, and what they mean."""

    name: str
    size: int
    about: str


def context_slots(num_sites: int) -> list[Slot]:
    """The slots of the board and the markets."""
    slots = [
        Slot("time", NUM_COUNTS * (MAX_TURNS + 1), "number of players, and the viewer's turns to come"),
        Slot(
            "phase",
            NUM_COUNTS * MAX_PLAYERS * (MAX_SET_TURNS + 1),
            "number of players, the viewer's place in the order of turns, and the viewer's turns to come in this set",
        ),
        Slot("supply", MAX_SUPPLY + 2, "Client tokens in the bank; the last value: no limit"),
    ]
    slots += [Slot(f"demand {city}", NUM_COLOURS**3, "the city's column from the top") for city in range(NUM_CITIES)]
    slots += [Slot(f"pile {city}", MAX_PILE + 1, "City tokens left") for city in range(NUM_CITIES)]
    slots += [
        Slot(f"colour {colour}", 1 + NUM_MARKETS * MAX_OFFER, "none, or the market that offers it and its bales there")
        for colour in range(NUM_COLOURS)
    ]
    slots += [
        Slot(f"post {post}", 1 + NUM_COLOURS * (1 + NUM_MARKETS), "none, or its colour and the colour's market")
        for post in range(NUM_POSTS)
    ]
    slots += [
        Slot(f"site {site}", NUM_TOKENS + MAX_PLAYERS, "the palace token there, or the place of the palace's owner")
        for site in range(num_sites)
    ]
    return slots


def seat_slots(num_sites: int) -> list[Slot]:
    """The slots of one seat. A way is the fewest actions to a site; to a sale, the sale included."""
    return [
        Slot("site", num_sites, "of the elephant"),
        Slot("basket", NUM_BASKETS, "the bales on the elephant"),
        Slot("rupees", MAX_RUPEES + 1, "in hand"),
        Slot("cities", 2**NUM_CITIES * 3, "City tokens held, and `city` palace tokens up to 2"),
        Slot("fame", (MAX_CITY_TOTAL + 1) * (MAX_TURNS + 1), "number of City tokens of both sorts, and turns to come"),
        Slot("palaces", (MAX_PALACES_LEFT + 1) * BUCKETS, "palaces left, and turns to come"),
        *(Slot(f"sale {steps}", MAX_SALE + 1, f"most rupees in one city in {steps} actions") for steps in SALE_STEPS),
        Slot("client way", MAX_WAY + 1, "way to a sale that gives a Client token; 0 for none"),
        Slot("new city way", MAX_WAY + 1, "way to a sale that gives a City token; 0 for none"),
        Slot("sale way", BUCKETS * LOADS * (MAX_SALE_WAY + 1), "turns to come, bales, and way to a sale; 0 for none"),
        *(
            Slot(f"post way {colour}", 2 * (1 + NUM_MARKETS * (MAX_POST_WAY + 1)), "room, market, way to an open post")
            for colour in range(NUM_COLOURS)
        ),
        *(
            Slot(f"trade {steps}", 2 * (MAX_PROFIT + 3), f"room, best profit of a purchase and sale in {steps} actions")
            for steps in TRADE_STEPS
        ),
        Slot("build way", 3 * (MAX_BUILD_WAY + 1), "bales, and way to a site to build on; the last value: none"),
        *(
            Slot(f"{kind.name.lower()} token way", 2 * (MAX_BUILD_WAY + 1), "the same to a site with this palace token")
            for kind in PalaceToken
        ),
    ]


def rival_slots() -> list[Slot]:
    """The slots that compare the viewer with one rival."""
    return [
        Slot(
            "empire gap", (2 * MAX_EMPIRE_GAP + 1) * BUCKETS, "the viewer's empire less the rival's, and turns to come"
        ),
        Slot(
            "lead",
            (2 * MAX_LEAD + 1) * BUCKETS,
            "the viewer's rupees less the rival's if the game ended now, and turns",
        ),
    ]


def all_slots(num_sites: int) -> list[Slot]:
    """All slots in order."""
    places = range(1, MAX_PLAYERS)
    return [
        *context_slots(num_sites),
        *(slot._replace(name=f"{slot.name}, place {place}") for place in places for slot in seat_slots(num_sites)),
        *(slot._replace(name=f"own {slot.name}") for slot in seat_slots(num_sites)),
        *(slot._replace(name=f"{slot.name}, place {place}") for place in places for slot in rival_slots()),
        *(Slot(f"bag {colour}", MAX_BAG + 1, "bales in the bag") for colour in range(NUM_COLOURS)),
    ]


def num_context_slots(num_sites: int) -> int:
    """Number of slots of the context, rivals included."""
    return SITE + num_sites + (MAX_PLAYERS - 1) * NUM_SEAT_SLOTS


def num_own_slots() -> int:
    """Number of slots after those of the context."""
    return NUM_SEAT_SLOTS + (MAX_PLAYERS - 1) * NUM_RIVAL_SLOTS + NUM_COLOURS


def num_rows(num_sites: int) -> int:
    """Rows of the net's first layer."""
    return sum(slot.size for slot in all_slots(num_sites))


def digest(num_sites: int) -> str:
    """Hex digits that name what a net reads: names and sizes of the slots and the version, no prose."""
    described = [VERSION, [[slot.name, slot.size] for slot in all_slots(num_sites)]]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


def first_rows(num_sites: int) -> np.ndarray:
    """The row of each slot's value 0, (slots,) int32."""
    sizes = [slot.size for slot in all_slots(num_sites)]
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int32)


def constants_dtype(num_sites: int) -> np.dtype[Any]:
    """What reading takes beside the state: `first`, the row of each slot's value 0."""
    return record_dtype([("first", np.int32, (num_context_slots(num_sites) + num_own_slots(),))])
