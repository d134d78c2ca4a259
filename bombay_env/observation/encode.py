"""What a seat sees: the named layout of an observation and the kernel that writes it.

The layout is declared once, as pieces with a name, a shape and a range; it becomes a NumPy dtype of bytes, so that the kernel
writes `raw.rupees[place]` and nobody counts offsets, and a second kernel scales them all to float32. The viewer comes first and
the other seats follow clockwise; seats that do not play are zero. What `screened` hides (RULES 6) is zero, in the same layout.
Reads states, as `state.reading_dtype` has them, and changes none.
"""

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from bombay_env import engine
from bombay_env.jit.kernels import inlined, kernel, record_dtype
from bombay_env.rules import (
    COLUMN_HEIGHT,
    MAX_PLAYERS,
    MIN_PLAYERS,
    NUM_CITIES,
    NUM_COLOURS,
    NUM_MARKETS,
    NUM_PALACE_TOKENS,
    NUM_POSTS,
    TOKEN_NAMES,
    Rules,
)
from bombay_env.state import NOBODY

# Divisors that bring the official game's usual numbers to about 1; a larger value stops at its piece's highest.
RUPEES_SCALE: Final = 20
TOKENS_SCALE: Final = 8
BALES_SCALE: Final = 5
PRICE_SCALE: Final = 5
DISTANCE_SCALE: Final = 6
AWARD_SCALE: Final = 8
BASKET_SCALE: Final = 2

LAYOUT_VERSION: Final = 1  # of what the features mean, where names, shapes, bounds and scales do not say it

LOWEST: Final = np.float32(-1)  # no feature is below
# What a larger number counts as before it is divided, a byte's highest: divided, it is still more than any piece shows.
MOST: Final = int(np.iinfo(np.int8).max)

ALIGNMENT: Final = 64  # bytes of a cache line: a vector across two of them takes twice as long to write
MARKET_CODES: Final = (1 + NUM_MARKETS) ** NUM_COLOURS

# Four bytes side by side, one a colour or a city, are handled as one word.
ONE_EACH: Final = np.uint64(0x01010101)
HIGHEST_EACH: Final = np.uint64(0x7F7F7F7F)
HIGH_BIT: Final = np.uint64(7)
TOP_BYTE: Final = np.uint64(24)
BYTE: Final = np.uint64(0xFF)
TWO, THREE = np.uint64(2), np.uint64(3)
MARK_BITS: Final = np.uint64(10)
MARK: Final = np.uint64((1 << 10) - 1)
# The product's top byte is the lowest two bits of each of four bytes.
GATHER: Final = np.uint64(1 << 24 | 1 << 18 | 1 << 12 | 1 << 6)


@dataclasses.dataclass(frozen=True)
class Piece:
    """One named part of an observation."""

    name: str
    shape: tuple[int, ...]
    high: float  # no value is above
    description: str
    low: float = 0.0  # no value is below
    hidden: bool = False  # zero for opponents in `screened` mode
    per: int = 1  # the whole number that is shown as 1; `divisors` has those that depend on the rules


def _numbers(num_sites: int) -> tuple[Piece, ...]:
    """The pieces that count something: whole numbers, divided."""
    seats, cities, colours, markets = MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_MARKETS
    tokens, price = TOKENS_SCALE, PRICE_SCALE
    return (
        # the course of the game
        Piece("game_left", (1,), 1, "game turns left in the game, this one included, of all"),
        Piece("set_left", (1,), 1, "game turns left in the set, this one included, of the set's"),
        Piece("actions_left", (1,), 1, "the mover's actions left, of a turn's"),
        # silk
        Piece("market", (markets, colours), 2, "bales in the left, centre, right market / 5", per=BALES_SCALE),
        Piece("bag", (colours,), 2, "bales in the bag / 5", per=BALES_SCALE),
        Piece("price", (colours,), 2, "rupees a bale costs now / 5; 0 where its posts are closed", per=price),
        Piece(
            "buy_actions", (colours,), 2, "actions a purchase costs now / 5; 0 where the posts are closed", per=price
        ),
        # cities
        Piece("sale_rupees", (cities, colours), 2, "rupees a bale sells for now / 5; 0 where not demanded", per=price),
        Piece("sale_clients", (cities, colours), 2, "Client tokens it brings / 8", per=tokens),
        Piece("sale_here", (colours,), 2, "rupees a bale sells for where the viewer's elephant stands / 5", per=price),
        Piece("city_pile", (cities,), 2, "City tokens left / 8", per=tokens),
        Piece("client_supply", (1,), 2, "Client tokens left in the bank / 8, 2 where there is no limit", per=tokens),
        # the board
        Piece(
            "distance",
            (num_sites,),
            2,
            "fewest actions from the viewer's elephant to each site / 6",
            per=DISTANCE_SCALE,
        ),
        Piece("city_distance", (cities,), 2, "the same to each city / 6", per=DISTANCE_SCALE),
        # the players
        Piece("basket", (seats, colours), 2, "bales on each elephant / 2", per=BASKET_SCALE),
        Piece("palaces_left", (seats,), 2, "palaces in hand / 8", per=tokens),
        Piece("rupees", (seats,), 2, "rupees in hand / 20", hidden=True, per=RUPEES_SCALE),
        Piece("clients", (seats,), 2, "Client tokens and those that count as such / 8", hidden=True, per=tokens),
        Piece(
            "city_palace_tokens", (seats,), 1, "palace tokens that count as City tokens / 8", hidden=True, per=tokens
        ),
        Piece("empire", (seats,), 2, "palaces built and Clients / 8", hidden=True, per=tokens),
        Piece("fame", (seats,), 2, "rupees of the fame award if the game ended now / 8", hidden=True, per=AWARD_SCALE),
        # what compares a seat with all others: in `screened` mode hidden for the viewer too
        Piece("empire_rank", (seats,), 1, "provisional empire rank: 1 first, 0 last, ties averaged", hidden=True),
        Piece(
            "majority",
            (seats,),
            2,
            "rupees of the majority award if the game ended now / 8",
            hidden=True,
            per=AWARD_SCALE,
        ),
        Piece(
            "margin",
            (seats,),
            1,
            "provisional final rupees less the table's mean / 20",
            low=-1,
            hidden=True,
            per=RUPEES_SCALE,
        ),
    )


def _flags(num_sites: int) -> tuple[Piece, ...]:
    """The pieces that are 0 or 1."""
    seats, cities, colours, markets = MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_MARKETS
    return (
        # the course of the game
        Piece("num_players", (MAX_PLAYERS - MIN_PLAYERS + 1,), 1, "one-hot: 2, 3, 4, 5 players"),
        Piece("mover", (seats,), 1, "one-hot: the seat to act; all zero once over"),
        Piece("first_player", (seats,), 1, "one-hot: the first player of the set"),
        Piece("action_in_hand", (3,), 1, "1 if the mover has at least 1, 2, 3 actions left"),
        Piece("can_still_buy", (1,), 1, "1 if the mover has a purchase left this turn"),
        Piece("take_pending", (1,), 1, "1 if the mover must choose the bale of a `bale` token"),
        # the board
        Piece("demand", (cities, COLUMN_HEIGHT, colours), 1, "one-hot: the colour at the top, middle, bottom"),
        Piece(
            "post_colour", (NUM_POSTS, colours), 1, "one-hot: the colour of each post site's post; inner sites first"
        ),
        Piece(
            "post_market",
            (NUM_POSTS, markets + 1),
            1,
            "one-hot: each post's price class (left, centre, right market), last: it is closed",
        ),
        Piece("palace_token", (NUM_PALACE_TOKENS, len(TOKEN_NAMES)), 1, "one-hot: the token on each palace site"),
        Piece("palace", (num_sites, seats), 1, "one-hot: whose palace stands on each site"),
        Piece("city_tokens", (seats, cities), 1, "1 if the seat holds the city's City token", hidden=True),
        Piece("position", (seats, num_sites), 1, "one-hot: the site of each elephant"),
    )


@dataclasses.dataclass(frozen=True)
class FeatureLayout:
    """Names, slices and bounds of the features of an observation for boards with `num_sites` sites.

    `layout["rupees"]` is the slice of a piece in the flat observation, `layout.split(obs)` all pieces by name in their shapes.
    """

    num_sites: int

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces in order: what counts, then what is 0 or 1."""
        return _numbers(self.num_sites) + _flags(self.num_sites)

    @cached_property
    def row_dtype(self) -> np.dtype[Any]:
        """The flat observation seen as one record with a single field, `row`: what the kernel writes."""
        return _overlaid([("row", np.float32, (self.num_features,))])

    @cached_property
    def raw_dtype(self) -> np.dtype[Any]:
        """The record that the kernel fills before it scales: a byte a feature, and before them its notes.

        The same memory once more is `all_flags`; `to_scale` and `to_copy`, all features in order; `…_words`, the rows of some
        pieces, four entries each, as one word; `distance_words`, eight sites a word; and `palace_marks`, from `palace` into
        `nowhere`.
        """
        numbers, flags, seats = _numbers(self.num_sites), _flags(self.num_sites), MAX_PLAYERS
        marks = self.num_features - self.slices["palace"].start + seats * self.num_sites
        notes: list[Any] = [
            ("all_left", np.int32, (1,)),  # game turns: `game_left`, which may be more than a byte holds
            ("empires", np.uint32, (seats,)),  # by place, in full and one more; 0 where nobody plays
            ("final", np.int32, (seats,)),  # rupees by place, as if the game ended now
        ]
        words = (
            ("market", NUM_MARKETS),
            ("bag", 1),
            ("price", 1),
            ("buy_actions", 1),
            ("sale_rupees", NUM_CITIES),
            ("sale_clients", NUM_CITIES),
            ("sale_here", 1),
            ("city_pile", 1),
            ("city_distance", 1),
            ("basket", seats),
            ("demand", NUM_CITIES * COLUMN_HEIGHT),
            ("post_colour", NUM_POSTS),
            ("post_market", NUM_POSTS),
            ("palace_token", NUM_PALACE_TOKENS),
            ("city_tokens", seats),
        )
        ahead = self.num_numbers + sum(np.dtype((kind, shape)).itemsize for _, kind, shape in notes)
        lead = ("lead", np.int8, (-ahead % ALIGNMENT,))  # so that flags begin a cache line
        nowhere = ("nowhere", np.int8, (seats * self.num_sites,))  # overwritten for sites without a palace
        return _overlaid(
            [*notes, lead, *((piece.name, np.int8, piece.shape) for piece in self.pieces), nowhere],
            ("all_flags", flags[0].name, np.int8, (self.num_features - self.num_numbers,)),
            ("to_scale", numbers[0].name, np.int8, (self.num_scaled,)),
            ("to_copy", numbers[0].name, np.int8, (self.num_features,)),
            ("distance_words", "distance", np.uint64, (_distance_words(self.num_sites),)),
            ("palace_marks", "palace", np.int8, (marks,)),
            *((f"{name}_words", name, np.uint32, (count,)) for name, count in words),
            alignment=ALIGNMENT,
        )

    @cached_property
    def num_numbers(self) -> int:
        """Features that count something: the first ones of an observation."""
        return sum(math.prod(piece.shape) for piece in _numbers(self.num_sites))

    @cached_property
    def num_scaled(self) -> int:
        """Features that the kernel multiplies: the numbers and as many flags as fill up a vector of eight.

        The other flags then begin where a vector may be written without crossing a cache line.
        """
        return -(-self.num_numbers // 8) * 8

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each piece stands in the flat observation."""
        ends = np.cumsum([math.prod(piece.shape) for piece in self.pieces]).tolist()
        starts = [0, *ends]
        return {
            piece.name: slice(*place) for piece, place in zip(self.pieces, zip(starts, ends, strict=False), strict=True)
        }

    def __getitem__(self, name: str) -> slice:
        return self.slices[name]

    @cached_property
    def num_features(self) -> int:
        """Length of a flat observation."""
        return sum(math.prod(piece.shape) for piece in self.pieces)

    @cached_property
    def low(self) -> np.ndarray:
        """Lowest value of each feature, (F,) float32."""
        return self._bounds("low")

    @cached_property
    def high(self) -> np.ndarray:
        """Highest value of each feature, (F,) float32."""
        return self._bounds("high")

    def _bounds(self, which: str) -> np.ndarray:
        bounds = np.empty(self.num_features, np.float32)
        for piece in self.pieces:
            bounds[self[piece.name]] = getattr(piece, which)
        return bounds

    def split(self, observations: np.ndarray) -> dict[str, np.ndarray]:
        """Views of `observations` (…, F) by piece, each (…, *shape)."""
        lead = observations.shape[:-1]
        return {piece.name: observations[..., self[piece.name]].reshape(*lead, *piece.shape) for piece in self.pieces}

    @cached_property
    def digest(self) -> str:
        """16 hex digits that name the layout: a net's file says with them what the net was trained on.

        They cover the version and every piece's name, shape, bounds, scale and visibility, but no description.
        """
        numbers = [
            (piece.name, piece.shape, float(piece.low), float(piece.high), piece.per, piece.hidden)
            for piece in self.pieces
        ]
        return hashlib.sha256(repr((LAYOUT_VERSION, numbers)).encode()).hexdigest()[:16]

    def table(self) -> str:
        """The layout as a Markdown table, one row a piece."""
        rows = ["| features | piece | shape | range | meaning |", "| --- | --- | --- | --- | --- |"]
        for piece in self.pieces:
            where, shape = self[piece.name], "×".join(map(str, piece.shape))
            rows.append(
                f"| {where.start}–{where.stop - 1} | `{piece.name}` | {shape} | {piece.low:g} … {piece.high:g} "
                f"| {piece.description} |"
            )
        return "\n".join(rows)


def _overlaid(
    fields: Sequence[Any], *again: tuple[str, str, Any, tuple[int, ...]], alignment: int = 1
) -> np.dtype[Any]:
    """A packed record of `fields`, (name, entry, shape), with more names for the same memory.

    Its size is a multiple of `alignment`.

    Each of `again` is a name, the field where it begins, entry and shape. Kernels are handed records since, unlike arrays,
    they are not reference-counted: a count in memory waits for all writes before it, and costs more than an observation.
    """
    kinds = [np.dtype((entry, shape)) for _, entry, shape in fields]
    ends = np.cumsum([kind.itemsize for kind in kinds]).tolist()
    starts = dict(zip([name for name, *_ in fields], [0, *ends[:-1]], strict=True))
    described: Any = {
        "names": [*starts, *(name for name, *_ in again)],
        "formats": [*kinds, *((entry, shape) for *_, entry, shape in again)],
        "offsets": [*starts.values(), *(starts[where] for _, where, *_ in again)],
        "itemsize": -(-ends[-1] // alignment) * alignment,
    }
    return record_dtype(described)


def _distance_words(num_sites: int) -> int:
    """Words that hold a row of distances, eight a word; the last may reach into the pieces that follow, written after."""
    return -(-num_sites // 8)


def make_lookups(layout: FeatureLayout, rules: Rules, tables: np.ndarray) -> np.ndarray:
    """What the kernel looks up instead of working it out: a read-only array of one record.

    `scale_by` and `most` are what numbers are multiplied by and where they are cut off. Words hold four raw features, one a
    colour or a city: `sale_rupees`, `sale_clients` and `demand` those of a city by its column (see `column_code`); `price`,
    `buy_actions` and `post_market` by where the colours lie (see `market_code`), the latter for a post of each colour, [0]
    being none; `one_of_four[k]` has flag k − 1 set, none for 0; `city_distance` and, eight a word, `distance` are those from
    a site, which is in `city` where `in_city` is all ones, not 0. `seats[seat]` are the players clockwise from a viewer,
    `order[seat, 1 + player]` is a player's place among them; `palace_mark[seat]` has `MARK_BITS` bits for each `palace` of a
    state: where in `palace_marks` it is marked if it stands on the first site, without one in `nowhere`.
    """
    size, columns, num_sites = layout.num_scaled, NUM_COLOURS**COLUMN_HEIGHT, layout.num_sites
    described = [
        ("scale_by", np.float32, (size,)),
        ("most", np.float32, (size,)),
        ("sale_rupees", np.uint32, (columns,)),
        ("sale_clients", np.uint32, (columns,)),
        ("demand", np.uint32, (columns, COLUMN_HEIGHT)),
        ("bales", np.uint32),
        ("price", np.uint32, (MARKET_CODES,)),
        ("buy_actions", np.uint32, (MARKET_CODES,)),
        ("post_market", np.uint32, (MARKET_CODES, 1 + NUM_COLOURS)),
        ("one_of_four", np.uint32, (5,)),
        ("distance", np.uint64, (num_sites, _distance_words(num_sites))),
        ("city_distance", np.uint32, (num_sites,)),
        ("seats", np.uint8, (MAX_PLAYERS, MAX_PLAYERS)),
        ("order", np.uint8, (MAX_PLAYERS, 1 + MAX_PLAYERS)),
        ("city", np.uint8, (num_sites,)),
        ("in_city", np.uint32, (num_sites,)),
        ("palace_mark", np.uint64, (MAX_PLAYERS,)),
        ("post_sites", np.uint8, (NUM_POSTS,)),
        ("palace_sites", np.uint8, (NUM_PALACE_TOKENS,)),
    ]
    array = np.zeros(1, record_dtype(described))
    lookups, facts = array[0], tables[0]
    _fill_scales(lookups, layout, rules)
    _fill_columns(lookups, facts)
    _fill_markets(lookups, facts)
    lookups.one_of_four[1:] = _words(np.eye(4))
    lookups.distance.view(np.int8)[:, :num_sites] = np.minimum(facts.distance, MOST)
    lookups.city_distance[:] = _words(facts.distance[:, facts.city_sites])
    places = np.arange(rules.num_players)
    seats, players = slice(len(places)), slice(1, 1 + len(places))
    lookups.seats[seats, seats] = (places[None, :] + places[:, None]) % rules.num_players
    lookups.order[seats, players] = (places[None, :] - places[:, None]) % rules.num_players
    for seat in places:
        marks = [layout.num_features - layout["palace"].start, *lookups.order[seat, players].tolist()]
        lookups.palace_mark[seat] = sum(mark << (int(MARK_BITS) * owner) for owner, mark in enumerate(marks))
    lookups.city[:] = np.maximum(facts.city_of_site, 0)
    lookups.in_city[facts.city_sites] = np.iinfo(np.uint32).max
    lookups.post_sites[:] = facts.post_sites
    lookups.palace_sites[:] = facts.palace_sites
    array.setflags(write=False)
    return array


def _words(rows: np.ndarray) -> np.ndarray:
    """Rows of four numbers (…, 4) as words (…); a larger number counts as `MOST`."""
    return np.ascontiguousarray(np.minimum(rows, MOST), np.int8).view(np.uint32)[..., 0]


def _fill_scales(lookups: Any, layout: FeatureLayout, rules: Rules) -> None:
    lookups.scale_by[:] = lookups.most[:] = 1
    divisors = {
        "game_left": rules.sets * rules.turns_per_set,
        "set_left": rules.turns_per_set,
        "actions_left": rules.actions_per_turn,
        "empire_rank": 2 * (rules.num_players - 1),
        "margin": RUPEES_SCALE * rules.num_players,
    }
    for piece in _numbers(layout.num_sites):
        lookups.scale_by[layout[piece.name]] = 1 / divisors.get(piece.name, piece.per)
        lookups.most[layout[piece.name]] = piece.high


def _fill_columns(lookups: Any, tables: Any) -> None:
    columns = np.array(list(itertools.product(range(NUM_COLOURS), repeat=COLUMN_HEIGHT)))
    wanted = np.eye(NUM_COLOURS)[columns]  # (columns, COLUMN_HEIGHT, NUM_COLOURS)
    lookups.demand[:] = _words(wanted)
    lookups.sale_rupees[:] = _words((wanted * tables.sale_rupees).sum(axis=1))
    lookups.sale_clients[:] = _words((wanted * tables.sale_clients).sum(axis=1))


def _fill_markets(lookups: Any, tables: Any) -> None:
    nowhere = NUM_MARKETS
    markets = np.arange(MARKET_CODES)[:, None] // 4 ** np.arange(NUM_COLOURS) % 4 - 1  # (codes, NUM_COLOURS)
    markets[markets < 0] = nowhere
    lookups.bales = _words(tables.bales)
    lookups.price[:] = _words(np.append(tables.market_rupees, 0)[markets])
    lookups.buy_actions[:] = _words(np.append(tables.market_actions, 0)[markets])
    lookups.post_market[:, 1:] = _words(np.eye(NUM_MARKETS + 1)[markets])


@kernel
def encode(state, tables, lookups, seat, screened, raw):
    """Write what `seat` sees of `state` into `raw`, to be scaled.

    Hardly anything here branches on what the state holds, since no processor could guess it.

    Args:
        state: a record of `reading_dtype`.
        lookups: a record of what `make_lookups` made.
        raw: a record of the layout's `raw_dtype`, overwritten; zeroed before its first use, kept for one `screened`.
    """
    raw.all_flags[:] = 0
    _encode_course(state, tables, lookups, seat, raw)
    _encode_silk(state, lookups, raw)
    _encode_cities(state, tables, lookups, raw)
    _encode_board(state, lookups, seat, raw)
    _encode_players(state, tables, lookups, seat, screened, raw)
    if not screened:
        _encode_standing(tables, raw)


@inlined
def _encode_course(state, tables, lookups, seat, raw):
    over = state.current_player == NOBODY
    set_left = 0 if over else tables.turns_per_set - state.turn
    sets_after = 0 if over else tables.sets - 1 - state.set
    raw.set_left[0] = set_left
    raw.all_left[0] = sets_after * tables.turns_per_set + set_left
    raw.actions_left[0] = state.actions_left
    raw.num_players[tables.num_players - MIN_PLAYERS] = 1
    raw.first_player[lookups.order[seat, 1 + state.first_player]] = 1
    if not over:
        raw.mover[lookups.order[seat, 1 + state.current_player]] = 1
    for count in range(3):
        raw.action_in_hand[count] = state.actions_left > count
    raw.can_still_buy[0] = not over and state.buys < tables.buys_per_turn
    raw.take_pending[0] = state.take_pending


@kernel
def market_code(state):
    """Where the colours lie as one number below `MARKET_CODES`: two bits each, 1 + market, 0 in none."""
    words = state.market_words
    places = _any_each(words[0]) + TWO * _any_each(words[1]) + THREE * _any_each(words[2])
    return ((places * GATHER) >> TOP_BYTE) & BYTE


@kernel
def _any_each(word):
    """A word of four small numbers, with 1 for each that is not 0."""
    return ((np.uint64(word) + HIGHEST_EACH) >> HIGH_BIT) & ONE_EACH


@inlined
def _encode_silk(state, lookups, raw):
    bag = np.uint64(lookups.bales)
    for market in range(NUM_MARKETS):
        raw.market_words[market] = state.market_words[market]
        bag -= np.uint64(state.market_words[market])
    for seat in range(MAX_PLAYERS):  # all seats: those that do not play hold nothing, and the loop is of one length
        bag -= np.uint64(state.basket_words[seat])
    raw.bag_words[0] = bag
    code = market_code(state)
    raw.price_words[0] = lookups.price[code]
    raw.buy_actions_words[0] = lookups.buy_actions[code]
    for place in range(NUM_POSTS):
        post = state.post[lookups.post_sites[place]]
        raw.post_colour_words[place] = lookups.one_of_four[post]
    for place in range(NUM_POSTS):  # a loop of its own: a look-up may wait for what was written just before
        post = state.post[lookups.post_sites[place]]
        raw.post_market_words[place] = lookups.post_market[code, post]


@kernel
def column_code(state, city):
    """The city's column as one number: its colours from the top are the digits."""
    code = np.int64(0)
    for place in range(COLUMN_HEIGHT):
        code = NUM_COLOURS * code + np.int64(state.demand[city, place])
    return code


@inlined
def _encode_cities(state, tables, lookups, raw):
    for city in range(NUM_CITIES):
        code = column_code(state, city)
        raw.sale_rupees_words[city] = lookups.sale_rupees[code]
        raw.sale_clients_words[city] = lookups.sale_clients[code]
        for place in range(COLUMN_HEIGHT):
            raw.demand_words[COLUMN_HEIGHT * city + place] = lookups.demand[code, place]
    raw.city_pile_words[0] = state.city_piles_words[0]
    raw.client_supply[0] = min(state.client_supply, MOST) if tables.client_supply >= 0 else MOST


@inlined
def _encode_board(state, lookups, seat, raw):
    marks = lookups.palace_mark[seat]  # in a register: a look-up in the loop would wait for each mark's address
    for site in range(len(state.palace)):
        mark = (marks >> (MARK_BITS * np.uint64(state.palace[site]))) & MARK
        raw.palace_marks[np.uint64(MAX_PLAYERS * site) + mark] = 1
    for place in range(NUM_PALACE_TOKENS):
        token = state.palace_token[lookups.palace_sites[place]]
        raw.palace_token_words[place] = lookups.one_of_four[token]
    here = state.position[seat]
    for word in range(len(raw.distance_words)):
        raw.distance_words[word] = lookups.distance[here, word]
    raw.city_distance_words[0] = lookups.city_distance[here]
    raw.sale_here_words[0] = raw.sale_rupees_words[lookups.city[here]] & lookups.in_city[here]


@inlined
def _encode_players(state, tables, lookups, seat, screened, raw):
    for place in range(tables.num_players):
        player = lookups.seats[seat, place]
        raw.position[place, state.position[player]] = 1
        raw.basket_words[place] = state.basket_words[player]
        raw.palaces_left[place] = state.palaces_left[player]
        if place == 0 or not screened:  # what a seat keeps behind its screen
            tokens = state.city_tokens_words[player]
            kept = state.city_palace_tokens[player]
            clients = engine.client_total(state, player)
            empire = tables.palaces - state.palaces_left[player] + clients
            fame = tables.fame[_sum_each(tokens) + np.uint64(kept)]
            raw.city_tokens_words[place] = tokens
            raw.city_palace_tokens[place] = kept
            raw.rupees[place] = min(state.rupees[player], MOST)
            raw.clients[place] = min(clients, MOST)
            raw.empire[place] = min(empire, MOST)
            raw.fame[place] = min(fame, MOST)
            raw.empires[place] = 1 + empire
            raw.final[place] = state.rupees[player] + fame


@kernel
def _sum_each(word):
    """The sum of a word's four small numbers."""
    return ((np.uint64(word) * ONE_EACH) >> TOP_BYTE) & BYTE


@inlined
def _encode_standing(tables, raw):
    """What compares a seat with the others, all holdings known."""
    n = tables.num_players
    total = 0
    for place in range(n):
        ahead = 0
        not_behind = 0  # with the player himself
        mine = raw.empires[place]
        for other in range(MAX_PLAYERS):  # all seats, so that the loop is of one length
            ahead += raw.empires[other] > mine
            not_behind += raw.empires[other] >= mine
        award = tables.majority_share[np.uint64(ahead), np.uint64(not_behind - ahead - 1)]
        raw.majority[place] = min(award, MOST)
        raw.empire_rank[place] = 2 * n - ahead - not_behind - 1  # 2 for each player behind, 1 for each that is level
        raw.final[place] += award
        total += raw.final[place]
    for place in range(n):
        raw.margin[place] = max(min(n * raw.final[place] - total, MOST), -MOST)


@kernel
def scale(raw, lookups, features):
    """Overwrite `features`, a record of the layout's `row_dtype`, with what `encode` left in `raw`.

    Best called some time after it: a processor cannot read at one go what was written piece by piece just before.
    """
    count = len(raw.to_scale)
    for number in range(count):
        value = np.float32(raw.to_scale[number]) * lookups.scale_by[number]
        features.row[number] = max(min(value, lookups.most[number]), LOWEST)
    for flag in range(count, len(raw.to_copy)):
        features.row[flag] = np.float32(raw.to_copy[flag])
    features.row[0] = np.float32(raw.all_left[0]) * lookups.scale_by[0]


@kernel
def mover_of(state):
    """The seat to act, seat 0 once the game is over."""
    return max(np.int64(state.current_player), 0)
