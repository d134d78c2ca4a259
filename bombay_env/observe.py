"""What a seat sees: the named layout of an observation and the kernel that writes it.

The layout is declared once, as pieces with a name, a shape and a range; it becomes a NumPy dtype of float32 fields, so that the
kernel writes `view.rupees[seat]` and nobody counts offsets. The viewer comes first and the other seats follow clockwise; seats
that do not play are zero. What `screened` hides (RULES 6) is zero, in the same layout. Reads states, changes none.
"""

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from bombay_env import engine
from bombay_env.compile import kernel
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

ZERO, ONE = np.float32(0), np.float32(1)
LOWEST: Final = np.float32(-1)  # no feature is below
MOST: Final = int(np.iinfo(np.int16).max)  # what a larger number counts as before it is divided

# Behind the numbers of `numbers_dtype` the kernel keeps what it needs again.
NOTES: Final = (
    ("market_of", np.int16, (1 + NUM_COLOURS,)),  # [1 + colour]: 1 + the market in which it lies, 0 for none
    ("order", np.int16, (1 + MAX_PLAYERS,)),  # [1 + player]: the player's place clockwise from the viewer
    ("final", np.int32, (MAX_PLAYERS,)),  # rupees by place, as if the game ended now
)


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
        Piece("city_tokens", (seats, cities), 1, "1 if the seat holds the city's City token", hidden=True),
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
        Piece("margin", (seats,), 1, "provisional final rupees less the table's mean / 20", low=-1, hidden=True),
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
        Piece("post_market", (NUM_POSTS, markets), 1, "one-hot: the price class of each open post; all zero if closed"),
        Piece("post_open", (NUM_POSTS,), 1, "1 if the post is open"),
        Piece("palace_token", (NUM_PALACE_TOKENS, len(TOKEN_NAMES)), 1, "one-hot: the token on each palace site"),
        Piece("palace", (num_sites, seats), 1, "one-hot: whose palace stands on each site"),
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
    def dtype(self) -> np.dtype[Any]:
        """The flat observation seen as one record of named float32 fields, and the whole of it as `row`."""
        return _record(np.float32, self.pieces)

    @cached_property
    def numbers_dtype(self) -> np.dtype[Any]:
        """The pieces that count as a record of int16 fields, all of them as `row`, and the kernel's notes behind them."""
        return _record(np.int16, _numbers(self.num_sites), NOTES)

    @cached_property
    def num_numbers(self) -> int:
        """Features that count something: the first ones of an observation."""
        return sum(math.prod(piece.shape) for piece in _numbers(self.num_sites))

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

    @property
    def num_features(self) -> int:
        """Length of a flat observation."""
        return self.dtype.itemsize // np.dtype(np.float32).itemsize

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
        """16 hex digits that name the layout: nets say with it what they were trained on."""
        described = repr([(piece.name, piece.shape, piece.low, piece.high, piece.description) for piece in self.pieces])
        return hashlib.sha256(described.encode()).hexdigest()[:16]

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


def _record(entry: Any, pieces: tuple[Piece, ...], notes: Sequence[Any] = ()) -> np.dtype[Any]:
    """A record of `pieces`; `row` is the same memory once more. Kernels are handed records since, unlike arrays, they are not
    reference-counted: a count in memory that waits for all writes before it would cost more than the observation.
    """
    own = [(piece.name, np.dtype((entry, piece.shape))) for piece in pieces]
    size = sum(dtype.itemsize for _, dtype in own)
    fields = [*own, *((name, np.dtype((kind, shape))) for name, kind, shape in notes)]
    ends = np.cumsum([dtype.itemsize for _, dtype in fields]).tolist()
    described: Any = {
        "names": [*(name for name, _ in fields), "row"],
        "formats": [*(dtype for _, dtype in fields), (entry, (size // np.dtype(entry).itemsize,))],
        "offsets": [0, *ends[:-1], 0],
        "itemsize": ends[-1],
    }
    return np.dtype((np.record, np.dtype(described)))


def make_scales(layout: FeatureLayout, rules: Rules) -> np.ndarray:
    """What the numbers are multiplied by, `factor`, and where they are cut off, `most`: a read-only array of one record."""
    size = layout.num_numbers
    scales = np.zeros(1, np.dtype((np.record, [("factor", np.float32, (size,)), ("most", np.float32, (size,))])))
    divisors = {
        "game_left": rules.sets * rules.turns_per_set,
        "set_left": rules.turns_per_set,
        "actions_left": rules.actions_per_turn,
        "empire_rank": 2 * (rules.num_players - 1),
        "margin": RUPEES_SCALE * rules.num_players,
    }
    for piece in _numbers(layout.num_sites):
        scales[0].factor[layout[piece.name]] = 1 / divisors.get(piece.name, piece.per)
        scales[0].most[layout[piece.name]] = piece.high
    scales.setflags(write=False)
    return scales


@kernel
def encode(state, tables, seat, screened, numbers, flags):
    """Write what `seat` sees of `state`.

    Hardly anything here branches on what the state holds, since no processor could guess it: where there is no colour, owner
    or market, place 0 of its one-hot is set to 0, which it is.

    Args:
        numbers: a record of the layout's `numbers_dtype`, zeros of seats that do not play or are hidden; else overwritten.
        flags: a record of the layout's `dtype`, zeros; its numbers are left alone.
    """
    _encode_course(state, tables, seat, numbers, flags)
    _encode_silk(state, tables, numbers, flags)
    _encode_cities(state, tables, numbers, flags)
    _encode_board(state, tables, seat, numbers, flags)
    _encode_players(state, tables, seat, screened, numbers, flags)
    if not screened:
        _encode_standing(state, tables, seat, numbers)


@kernel
def _clockwise(player, seat, tables):
    """Places clockwise from `seat` to `player`."""
    places = player - seat
    return places + tables.num_players if places < 0 else places


@kernel
def _flag(holds):
    return ONE if holds else ZERO


@kernel
def _encode_course(state, tables, seat, numbers, flags):
    over = state.current_player == NOBODY
    set_left = 0 if over else tables.turns_per_set - state.turn
    sets_after = 0 if over else tables.sets - 1 - state.set
    numbers.set_left[0] = set_left
    numbers.game_left[0] = sets_after * tables.turns_per_set + set_left
    numbers.actions_left[0] = state.actions_left
    flags.num_players[tables.num_players - MIN_PLAYERS] = ONE
    flags.first_player[_clockwise(state.first_player, seat, tables)] = ONE
    if not over:
        flags.mover[_clockwise(state.current_player, seat, tables)] = ONE
    for count in range(3):
        flags.action_in_hand[count] = _flag(state.actions_left > count)
    flags.can_still_buy[0] = _flag(not over and state.buys < tables.buys_per_turn)
    flags.take_pending[0] = _flag(state.take_pending != 0)


@kernel
def _encode_silk(state, tables, numbers, flags):
    numbers.market_of[0] = 0
    for colour in range(NUM_COLOURS):
        place = 0
        for market in range(NUM_MARKETS):
            bales = state.market[market, colour]
            numbers.market[market, colour] = bales
            place += (1 + market) * (bales > 0)
        numbers.market_of[1 + colour] = place
        numbers.bag[colour] = engine.bales_in_bag(state, tables, colour)
        numbers.price[colour] = (place > 0) * tables.market_rupees[max(place - 1, 0)]
        numbers.buy_actions[colour] = (place > 0) * tables.market_actions[max(place - 1, 0)]
    for place in range(NUM_POSTS):
        post = state.post[tables.post_sites[place]]
        market = numbers.market_of[post]
        flags.post_colour[place, max(post - 1, 0)] = _flag(post > 0)
        flags.post_market[place, max(market - 1, 0)] = _flag(market > 0)
        flags.post_open[place] = _flag(market > 0)


@kernel
def _encode_cities(state, tables, numbers, flags):
    for city in range(NUM_CITIES):
        for colour in range(NUM_COLOURS):
            numbers.sale_rupees[city, colour] = 0
            numbers.sale_clients[city, colour] = 0
        for place in range(COLUMN_HEIGHT):
            colour = state.demand[city, place]
            flags.demand[city, place, colour] = ONE
            numbers.sale_rupees[city, colour] = tables.sale_rupees[place, colour]
            numbers.sale_clients[city, colour] = tables.sale_clients[place, colour]
        numbers.city_pile[city] = state.city_piles[city]
    numbers.client_supply[0] = min(state.client_supply, MOST) if tables.client_supply >= 0 else MOST


@kernel
def _encode_board(state, tables, seat, numbers, flags):
    numbers.order[0] = 0
    for player in range(tables.num_players):
        numbers.order[1 + player] = _clockwise(player, seat, tables)
    for site in range(len(state.palace)):
        owner = state.palace[site]
        if owner > 0:  # seldom enough
            flags.palace[site, numbers.order[owner]] = ONE
    for place in range(NUM_PALACE_TOKENS):
        token = state.palace_token[tables.palace_sites[place]]
        flags.palace_token[place, max(token - 1, 0)] = _flag(token > 0)
    here = state.position[seat]
    for site in range(len(state.palace)):
        numbers.distance[site] = tables.distance[here, site]
    for city in range(NUM_CITIES):
        numbers.city_distance[city] = tables.distance[here, tables.city_sites[city]]
    city = tables.city_of_site[here]
    for colour in range(NUM_COLOURS):
        numbers.sale_here[colour] = (city >= 0) * numbers.sale_rupees[max(city, 0), colour]


@kernel
def _encode_players(state, tables, seat, screened, numbers, flags):
    player = seat
    for place in range(tables.num_players):
        flags.position[place, state.position[player]] = ONE
        for colour in range(NUM_COLOURS):
            numbers.basket[place, colour] = state.basket[player, colour]
        numbers.palaces_left[place] = state.palaces_left[player]
        if place == 0 or not screened:  # what a seat keeps behind its screen
            for city in range(NUM_CITIES):
                numbers.city_tokens[place, city] = state.city_tokens[player, city]
            numbers.rupees[place] = min(state.rupees[player], MOST)
            numbers.clients[place] = min(engine.client_total(state, player), MOST)
            numbers.city_palace_tokens[place] = state.city_palace_tokens[player]
            numbers.empire[place] = min(engine.empire_total(state, tables, player), MOST)
            numbers.fame[place] = engine.fame_award(state, tables, player)
        player = player + 1 if player + 1 < tables.num_players else 0


@kernel
def _encode_standing(state, tables, seat, numbers):
    """What compares a seat with the others, all holdings known."""
    n = tables.num_players
    total = 0
    player = seat
    for place in range(n):
        ahead = 0
        level = 0  # with the player himself
        for other in range(n):
            ahead += numbers.empire[other] > numbers.empire[place]
            level += numbers.empire[other] == numbers.empire[place]
        award = tables.majority_share[ahead, level - 1]
        numbers.majority[place] = award
        numbers.empire_rank[place] = 2 * (n - ahead) - level - 1  # 2 for each player behind, 1 for each that is level
        numbers.final[place] = state.rupees[player] + award + numbers.fame[place]
        total += numbers.final[place]
        player = player + 1 if player + 1 < n else 0
    for place in range(n):
        numbers.margin[place] = max(min(n * numbers.final[place] - total, MOST), -MOST)


@kernel
def observe_as(state, tables, scales, seat, screened, numbers, features):
    """Overwrite `features` with what `seat` sees of `state`.

    Args:
        scales: a record of what `make_scales` made.
        numbers: a record of the layout's `numbers_dtype`, overwritten; zeroed before its first use, kept for one `screened`.
        features: a record of the layout's `dtype`.
    """
    count = len(numbers.row)
    for feature in range(count, len(features.row)):
        features.row[feature] = ZERO
    encode(state, tables, seat, screened, numbers, features)
    for feature in range(count):
        value = np.float32(numbers.row[feature]) * scales.factor[feature]
        features.row[feature] = max(min(value, scales.most[feature]), LOWEST)


@kernel
def mover_of(state):
    """The seat to act, seat 0 once the game is over."""
    return max(np.int64(state.current_player), 0)
