"""The features of the value net: a position as categorical features, each with one of a few values.

Each value of a feature is one row of the net's first layer, so a position is a list of rows. All values follow from the rules
exactly: what is on the board and in the hands, distances, prices now, who leads if the game ended now. No feature says what is
worth having.

    shared   the board and the markets, then the rivals in seat order from the viewer; the same for most outcomes of a turn
    own      the viewer's own features, how the viewer compares with each rival, and the bag

A value of several parts is a number with these parts as its digits, in the order of the text. Seats that are not in the game
have no rows. `encoding.py` computes the values.
"""

import hashlib
import json
from typing import Final, NamedTuple

import numpy as np

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
MAX_WAY: Final = 8  # actions; a longer way counts as none
MAX_POST_WAY: Final = 6
MAX_SALE_WAY: Final = 6  # a longer way counts as none
MAX_BUILD_WAY: Final = 7  # none is read as this
MAX_PROFIT: Final = 6  # rupees; any loss is read as 1 rupee
MAX_EMPIRE_GAP: Final = 7
MAX_LEAD: Final = 15  # rupees
LOADS: Final = 3  # none, one, two or more bales
BUCKETS: Final = 6  # of turns to come: 0, 1, 2, 3 to 4, 5 to 8, more

NUM_COUNTS: Final = MAX_PLAYERS - 1  # player counts
NUM_TOKENS: Final = 1 + len(PalaceToken)  # none, or a kind
NUM_BASKETS: Final = 1 + NUM_COLOURS + NUM_COLOURS * (NUM_COLOURS + 1) // 2
SALE_STEPS: Final = (1, 2, 3, 4, 5, 6)  # actions
TRADE_STEPS: Final = (3, 4, 5, 6, 7, 9)  # actions

# Indices of the shared features; those of the sites follow, then NUM_SEAT_FEATURES for each rival.
TIME: Final = 0
PHASE: Final = 1
SUPPLY: Final = 2
DEMAND: Final = 3
PILE: Final = DEMAND + NUM_CITIES
COLOUR: Final = PILE + NUM_CITIES
POST: Final = COLOUR + NUM_COLOURS
SITE: Final = POST + NUM_POSTS

# Indices among the features of one seat.
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
NUM_SEAT_FEATURES: Final = PALACE_TOKEN_WAY + len(PalaceToken)

# Indices among the features that compare the viewer with a rival.
EMPIRE_GAP: Final = 0
LEAD: Final = 1
NUM_RIVAL_FEATURES: Final = 2


class Feature(NamedTuple):
    """A categorical feature: its name, its number of values, and what they mean."""

    name: str
    size: int
    about: str


def shared_features(num_sites: int) -> list[Feature]:
    """The features of the board and the markets, without the rivals'."""
    found = [
        Feature("time", NUM_COUNTS * (MAX_TURNS + 1), "number of players, and the viewer's turns to come"),
        Feature(
            "phase",
            NUM_COUNTS * MAX_PLAYERS * (MAX_SET_TURNS + 1),
            "number of players, the viewer's place in the set's order of turns, and the viewer's turns to come in this set",
        ),
        Feature("supply", MAX_SUPPLY + 2, "Client tokens in the bank; the last value: no limit"),
    ]
    found += [Feature(f"demand {city}", NUM_COLOURS**3, "the city's column from the top") for city in range(NUM_CITIES)]
    found += [Feature(f"pile {city}", MAX_PILE + 1, "City tokens left") for city in range(NUM_CITIES)]
    found += [
        Feature(
            f"colour {colour}", 1 + NUM_MARKETS * MAX_OFFER, "none, or the market that offers it and its bales there"
        )
        for colour in range(NUM_COLOURS)
    ]
    found += [
        Feature(f"post {post}", 1 + NUM_COLOURS * (1 + NUM_MARKETS), "none, or its colour and the colour's market")
        for post in range(NUM_POSTS)
    ]
    found += [
        Feature(
            f"site {site}",
            NUM_TOKENS + MAX_PLAYERS,
            "none, a palace token, or a palace: its owner's place after the viewer",
        )
        for site in range(num_sites)
    ]
    return found


def seat_features(num_sites: int) -> list[Feature]:
    """The features of one seat.

    A way is the fewest actions to a site; to a sale, the sale included. It makes no difference where turns end. Of more than two
    bales, the basket and sales count the first two in the order of the colours. The most rupees are those of one sale, or of two
    sales with the upper colour first. A sale due a Client token counts even if the bank has none. A purchase is one that the
    rupees in hand pay for. Purchases count also without room, and ways to build without bales, but not without palaces left.
    """
    return [
        Feature("site", num_sites, "of the elephant"),
        Feature("basket", NUM_BASKETS, "the bales on the elephant"),
        Feature("rupees", MAX_RUPEES + 1, "in hand"),
        Feature("cities", 2**NUM_CITIES * 3, "a bit for each City token, and `city` palace tokens up to 2"),
        Feature(
            "fame", (MAX_CITY_TOTAL + 1) * (MAX_TURNS + 1), "number of City tokens of both sorts, and turns to come"
        ),
        Feature("palaces", (MAX_PALACES_LEFT + 1) * BUCKETS, "palaces left, and turns to come"),
        *(
            Feature(f"sale {steps}", MAX_SALE + 1, f"most rupees in one city in {steps} actions")
            for steps in SALE_STEPS
        ),
        Feature("client way", MAX_WAY + 1, "way to a sale that gives a Client token; 0 for none"),
        Feature("new city way", MAX_WAY + 1, "way to a sale that gives a City token; 0 for none"),
        Feature(
            "sale way", BUCKETS * LOADS * (MAX_SALE_WAY + 1), "turns to come, bales, and way to a sale; 0 for none"
        ),
        *(
            Feature(
                f"post way {colour}", 2 * (1 + NUM_MARKETS * (MAX_POST_WAY + 1)), "room, market, way to an open post"
            )
            for colour in range(NUM_COLOURS)
        ),
        *(
            Feature(
                f"trade {steps}", 2 * (MAX_PROFIT + 3), f"room, best profit of a purchase and sale in {steps} actions"
            )
            for steps in TRADE_STEPS
        ),
        Feature(
            "build way", 3 * (MAX_BUILD_WAY + 1), "bales, and way to a site to build on; the last value: also none"
        ),
        *(
            Feature(
                f"{kind.name.lower()} token way",
                2 * (MAX_BUILD_WAY + 1),
                "none or any bales, and the same to a site with this palace token",
            )
            for kind in PalaceToken
        ),
    ]


def rival_features() -> list[Feature]:
    """The features that compare the viewer with one rival. Turns to come are the viewer's."""
    return [
        Feature(
            "empire gap", (2 * MAX_EMPIRE_GAP + 1) * BUCKETS, "the viewer's empire less the rival's, and turns to come"
        ),
        Feature(
            "lead",
            (2 * MAX_LEAD + 1) * BUCKETS,
            "the viewer's rupees less the rival's if the game ended now, and turns to come",
        ),
    ]


def all_features(num_sites: int) -> list[Feature]:
    """All features in order."""
    places = range(1, MAX_PLAYERS)
    return [
        *shared_features(num_sites),
        *(
            feature._replace(name=f"{feature.name}, place {place}")
            for place in places
            for feature in seat_features(num_sites)
        ),
        *(feature._replace(name=f"own {feature.name}") for feature in seat_features(num_sites)),
        *(feature._replace(name=f"{feature.name}, place {place}") for place in places for feature in rival_features()),
        *(Feature(f"bag {colour}", MAX_BAG + 1, "bales in the bag") for colour in range(NUM_COLOURS)),
    ]


def num_shared_features(num_sites: int) -> int:
    """Number of shared features, rivals included."""
    return SITE + num_sites + (MAX_PLAYERS - 1) * NUM_SEAT_FEATURES


def num_own_features() -> int:
    """Number of own features; they come after the shared ones."""
    return NUM_SEAT_FEATURES + (MAX_PLAYERS - 1) * NUM_RIVAL_FEATURES + NUM_COLOURS


def num_rows(num_sites: int) -> int:
    """Rows of the net's first layer."""
    return sum(feature.size for feature in all_features(num_sites))


def digest(num_sites: int) -> str:
    """Hex digits that name what a net reads: names and sizes of the features and the version, no prose."""
    described = [VERSION, [[feature.name, feature.size] for feature in all_features(num_sites)]]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


def first_rows(num_sites: int) -> np.ndarray:
    """The row of each feature's value 0, (features,) int32."""
    sizes = [feature.size for feature in all_features(num_sites)]
    return np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int32)
