"""What a seat sees: the named layout of an observation and the kernel that writes it.

The layout is declared once, as pieces with a name, a shape and a range; it becomes a NumPy dtype of float32 fields, so that the
kernel writes `view.rupees[seat]` and nobody counts offsets. The viewer comes first and the other seats follow clockwise; seats
that do not play are zero. What `screened` hides (RULES 6) is zero, in the same layout. Reads states, changes none.
"""

import dataclasses
import hashlib
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
)
from bombay_env.state import NOBODY

# Divisors that bring the official game's usual numbers to about 1; a larger value stops at its piece's highest.
RUPEES_SCALE: Final = 20.0
TOKENS_SCALE: Final = 8.0
BALES_SCALE: Final = 5.0
PRICE_SCALE: Final = 5.0
DISTANCE_SCALE: Final = 6.0
AWARD_SCALE: Final = 8.0
MARGIN_SCALE: Final = 20.0


@dataclasses.dataclass(frozen=True)
class Piece:
    """One named part of an observation."""

    name: str
    shape: tuple[int, ...]
    high: float  # no value is above
    description: str
    low: float = 0.0  # no value is below
    hidden: bool = False  # zero for opponents in `screened` mode


def _pieces(num_sites: int) -> tuple[Piece, ...]:
    counts = MAX_PLAYERS - MIN_PLAYERS + 1
    seats, cities, colours, markets = MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_MARKETS
    return (
        # the course of the game
        Piece("num_players", (counts,), 1, "one-hot: 2, 3, 4, 5 players"),
        Piece("mover", (seats,), 1, "one-hot: the seat to act; all zero once over"),
        Piece("first_player", (seats,), 1, "one-hot: the first player of the set"),
        Piece("game_left", (1,), 1, "game turns left in the game, this one included, of all"),
        Piece("set_left", (1,), 1, "game turns left in the set, this one included, of the set's"),
        Piece("actions_left", (1,), 1, "the mover's actions left, of a turn's"),
        Piece("action_in_hand", (3,), 1, "1 if the mover has at least 1, 2, 3 actions left"),
        Piece("can_still_buy", (1,), 1, "1 if the mover has a purchase left this turn"),
        Piece("take_pending", (1,), 1, "1 if the mover must choose the bale of a `bale` token"),
        # silk
        Piece("market", (markets, colours), 2, "bales in the left, centre, right market / 5"),
        Piece("bag", (colours,), 2, "bales in the bag / 5"),
        Piece("price", (colours,), 2, "rupees a bale costs now / 5; 0 where its posts are closed"),
        Piece("buy_actions", (colours,), 2, "actions a purchase costs now / 5; 0 where the posts are closed"),
        Piece(
            "post_colour", (NUM_POSTS, colours), 1, "one-hot: the colour of each post site's post; inner sites first"
        ),
        Piece("post_market", (NUM_POSTS, markets), 1, "one-hot: the price class of each open post; all zero if closed"),
        Piece("post_open", (NUM_POSTS,), 1, "1 if the post is open"),
        # cities
        Piece("demand", (cities, COLUMN_HEIGHT, colours), 1, "one-hot: the colour at the top, middle, bottom"),
        Piece("sale_rupees", (cities, colours), 2, "rupees a bale sells for now / 5; 0 where not demanded"),
        Piece("sale_clients", (cities, colours), 2, "Client tokens it brings / 8"),
        Piece("city_pile", (cities,), 2, "City tokens left / 8"),
        Piece("client_supply", (1,), 2, "Client tokens left in the bank / 8, 2 where there is no limit"),
        # the board
        Piece("palace", (num_sites, seats), 1, "one-hot: whose palace stands on each site"),
        Piece("palace_token", (NUM_PALACE_TOKENS, len(TOKEN_NAMES)), 1, "one-hot: the token on each palace site"),
        Piece("position", (seats, num_sites), 1, "one-hot: the site of each elephant"),
        Piece("distance", (num_sites,), 2, "fewest actions from the viewer's elephant to each site / 6"),
        Piece("city_distance", (cities,), 2, "fewest actions from the viewer's elephant to each city / 6"),
        Piece("sale_here", (colours,), 2, "rupees a bale sells for where the viewer's elephant stands / 5"),
        # the players
        Piece("basket", (seats, colours), 2, "bales on each elephant / 2"),
        Piece("palaces_left", (seats,), 2, "palaces in hand / 8"),
        Piece("rupees", (seats,), 2, "rupees in hand / 20", hidden=True),
        Piece("clients", (seats,), 2, "Client tokens and those that count as such / 8", hidden=True),
        Piece("city_tokens", (seats, cities), 1, "1 if the seat holds the city's City token", hidden=True),
        Piece("city_palace_tokens", (seats,), 1, "palace tokens that count as City tokens / 8", hidden=True),
        Piece("empire", (seats,), 2, "palaces built and Clients / 8", hidden=True),
        Piece("fame", (seats,), 2, "rupees of the fame award if the game ended now / 8", hidden=True),
        # what compares a seat with all others: in `screened` mode hidden for the viewer too
        Piece("empire_rank", (seats,), 1, "provisional empire rank: 1 first, 0 last, ties averaged", hidden=True),
        Piece("majority", (seats,), 2, "rupees of the majority award if the game ended now / 8", hidden=True),
        Piece("margin", (seats,), 1, "provisional final rupees less the table's mean / 20", low=-1, hidden=True),
    )


@dataclasses.dataclass(frozen=True)
class FeatureLayout:
    """Names, slices and bounds of the features of an observation for boards with `num_sites` sites.

    `layout["rupees"]` is the slice of a piece in the flat observation, `layout.split(obs)` all pieces by name in their shapes.
    """

    num_sites: int

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces in order."""
        return _pieces(self.num_sites)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The flat observation seen as one record of named float32 fields."""
        dtype = np.dtype([(piece.name, np.float32, piece.shape) for piece in self.pieces])
        return np.dtype((np.record, dtype))

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Where each piece stands in the flat observation."""
        fields: Any = self.dtype.fields
        size = np.dtype(np.float32).itemsize
        return {
            name: slice(offset // size, (offset + dtype.itemsize) // size)
            for name, (dtype, offset, *_) in fields.items()
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


@kernel
def _capped(value, scale, high):
    return min(value / scale, high)


@kernel
def encode(state, tables, seat, screened, view):
    """Overwrite `view`, a record of the layout's dtype, with what `seat` sees of `state`."""
    _encode_course(state, tables, seat, view)
    _encode_silk(state, tables, view)
    _encode_cities(state, tables, view)
    _encode_board(state, tables, seat, view)
    _encode_players(state, tables, seat, screened, view)


@kernel
def _encode_course(state, tables, seat, view):
    n = tables.num_players
    over = state.current_player == NOBODY
    view.num_players[:] = 0
    view.num_players[n - MIN_PLAYERS] = 1
    view.mover[:] = 0
    view.first_player[:] = 0
    view.first_player[(state.first_player - seat) % n] = 1
    if not over:
        view.mover[(state.current_player - seat) % n] = 1
    set_left = 0 if over else tables.turns_per_set - state.turn
    sets_after = 0 if over else tables.sets - 1 - state.set
    view.set_left[0] = set_left / tables.turns_per_set
    view.game_left[0] = (sets_after * tables.turns_per_set + set_left) / (tables.sets * tables.turns_per_set)
    view.actions_left[0] = state.actions_left / tables.actions_per_turn
    for count in range(len(view.action_in_hand)):
        view.action_in_hand[count] = state.actions_left > count
    view.can_still_buy[0] = not over and state.buys < tables.buys_per_turn
    view.take_pending[0] = state.take_pending


@kernel
def _encode_silk(state, tables, view):
    view.market[:] = 0
    view.price[:] = 0
    view.buy_actions[:] = 0
    for colour in range(NUM_COLOURS):
        view.bag[colour] = _capped(engine.bales_in_bag(state, tables, colour), BALES_SCALE, 2.0)
        market = engine.market_of(state, colour)
        if market != engine.NO_MARKET:
            view.market[market, colour] = _capped(state.market[market, colour], BALES_SCALE, 2.0)
            view.price[colour] = _capped(tables.market_rupees[market], PRICE_SCALE, 2.0)
            view.buy_actions[colour] = _capped(tables.market_actions[market], PRICE_SCALE, 2.0)
    view.post_colour[:] = 0
    view.post_market[:] = 0
    view.post_open[:] = 0
    for place in range(NUM_POSTS):
        post = state.post[tables.post_sites[place]]
        if post > 0:
            view.post_colour[place, post - 1] = 1
            market = engine.market_of(state, post - 1)
            if market != engine.NO_MARKET:
                view.post_open[place] = 1
                view.post_market[place, market] = 1


@kernel
def _encode_cities(state, tables, view):
    view.demand[:] = 0
    view.sale_rupees[:] = 0
    view.sale_clients[:] = 0
    for city in range(NUM_CITIES):
        for place in range(COLUMN_HEIGHT):
            colour = state.demand[city, place]
            rupees = tables.sale_rupees[place] + tables.colour_rupees[colour]
            clients = tables.sale_clients[place] + tables.colour_clients[colour]
            view.demand[city, place, colour] = 1
            view.sale_rupees[city, colour] = _capped(rupees, PRICE_SCALE, 2.0)
            view.sale_clients[city, colour] = _capped(clients, TOKENS_SCALE, 2.0)
        view.city_pile[city] = _capped(state.city_piles[city], TOKENS_SCALE, 2.0)
    limited = tables.client_supply >= 0
    view.client_supply[0] = _capped(state.client_supply, TOKENS_SCALE, 2.0) if limited else 2.0


@kernel
def _encode_board(state, tables, seat, view):
    n = tables.num_players
    view.palace[:] = 0
    view.palace_token[:] = 0
    view.position[:] = 0
    here = state.position[seat]
    for site in range(tables.num_sites):
        if state.palace[site] > 0:
            view.palace[site, (state.palace[site] - 1 - seat) % n] = 1
        view.distance[site] = _capped(tables.distance[here, site], DISTANCE_SCALE, 2.0)
    for place in range(NUM_PALACE_TOKENS):
        token = state.palace_token[tables.palace_sites[place]]
        if token > 0:
            view.palace_token[place, token - 1] = 1
    for relative in range(n):
        view.position[relative, state.position[(seat + relative) % n]] = 1
    for city in range(NUM_CITIES):
        view.city_distance[city] = view.distance[tables.city_sites[city]]
    city = tables.city_of_site[here]
    for colour in range(NUM_COLOURS):
        view.sale_here[colour] = view.sale_rupees[city, colour] if city >= 0 else 0.0


@kernel
def _encode_players(state, tables, seat, screened, view):
    n = tables.num_players
    total = 0  # whole rupees: a sum of fractions would differ in its last bit from one viewer to the next
    for player in range(n):
        total += engine.final_rupees(state, tables, player)
    mean = total / n
    for relative in range(MAX_PLAYERS):
        _clear_player(view, relative)
        if relative >= n:
            continue
        player = (seat + relative) % n
        for colour in range(NUM_COLOURS):
            view.basket[relative, colour] = _capped(state.basket[player, colour], 2.0, 2.0)
        view.palaces_left[relative] = _capped(state.palaces_left[player], TOKENS_SCALE, 2.0)
        if not screened or relative == 0:
            _encode_holdings(state, tables, player, relative, view)
        if not screened:
            _encode_standing(state, tables, player, relative, mean, view)


@kernel
def _clear_player(view, relative):
    view.basket[relative, :] = 0
    view.palaces_left[relative] = 0
    view.rupees[relative] = 0
    view.clients[relative] = 0
    view.city_tokens[relative, :] = 0
    view.city_palace_tokens[relative] = 0
    view.empire[relative] = 0
    view.fame[relative] = 0
    view.empire_rank[relative] = 0
    view.majority[relative] = 0
    view.margin[relative] = 0


@kernel
def _encode_holdings(state, tables, player, relative, view):
    """What a seat keeps behind its screen."""
    view.rupees[relative] = _capped(state.rupees[player], RUPEES_SCALE, 2.0)
    view.clients[relative] = _capped(engine.client_total(state, player), TOKENS_SCALE, 2.0)
    for city in range(NUM_CITIES):
        view.city_tokens[relative, city] = state.city_tokens[player, city]
    view.city_palace_tokens[relative] = _capped(state.city_palace_tokens[player], TOKENS_SCALE, 1.0)
    view.empire[relative] = _capped(engine.empire_total(state, tables, player), TOKENS_SCALE, 2.0)
    view.fame[relative] = _capped(engine.fame_award(state, tables, player), AWARD_SCALE, 2.0)


@kernel
def _encode_standing(state, tables, player, relative, mean, view):
    """What compares a seat with the others, all holdings known."""
    mine = engine.empire_total(state, tables, player)
    behind = 0.0
    for other in range(tables.num_players):
        total = engine.empire_total(state, tables, other)
        behind += 1.0 if total < mine else 0.5 if total == mine and other != player else 0.0
    view.empire_rank[relative] = behind / (tables.num_players - 1)
    view.majority[relative] = _capped(engine.majority_award(state, tables, player), AWARD_SCALE, 2.0)
    margin = (engine.final_rupees(state, tables, player) - mean) / MARGIN_SCALE
    view.margin[relative] = max(min(margin, 1.0), -1.0)


@kernel
def observe_all(states, tables, seats, screened, views):
    """Overwrite `views` (batch,) records of the layout's dtype with what `seats` (batch,) see."""
    tables = tables[0]
    for lane in range(len(states)):
        encode(states[lane], tables, seats[lane], screened, views[lane])
