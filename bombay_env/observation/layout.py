"""The layout of an observation: named pieces with shapes, bounds, scales and descriptions.

The layout is declared once, as a list of pieces. The slices and bounds of the flat observation, its documentation, and the NumPy
records that the kernels of `encode.py` write are all computed from this list, so no offset is written by hand. Seats are listed
clockwise from the viewer; the features of unused seats are zero. The features that `screened` hides (RULES 6) are zero, in the
same layout. This module knows the numbers of the game, but neither states nor kernels.
"""

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from bombay_env.jit.kernels import record_dtype
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
from bombay_env.state import ALIGNMENT

# Increase it if features change their meaning but keep their names, shapes, bounds and scales.
LAYOUT_VERSION: Final = 1


@dataclasses.dataclass(frozen=True)
class Piece:
    """One named part of an observation."""

    name: str
    shape: tuple[int, ...]
    description: str
    high: float = 1  # upper bound, to which larger values are clipped
    per: int = 1  # divisor, so that usual values are about 1; `lookups.py` has those that depend on the rules
    low: float = 0.0  # lower bound
    hidden: bool = False  # zero for opponents in `screened` mode


def _numbers(num_sites: int) -> tuple[Piece, ...]:
    """The pieces that hold whole numbers, which are divided by their scales."""
    seats, cities, colours, markets = MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_MARKETS
    return (
        # the course of the game
        Piece("game_left", (1,), "game turns left in the game, including this one / game turns of a game"),
        Piece("set_left", (1,), "game turns left in the set, including this one / game turns of a set"),
        Piece("actions_left", (1,), "the mover's actions left / actions of a turn"),
        # silk
        Piece("market", (markets, colours), "bales in the left, centre, right market / 5", 2, 5),
        Piece("bag", (colours,), "bales in the bag / 5", 2, 5),
        Piece("price", (colours,), "rupees that a bale costs now / 5; 0 if its posts are closed", 2, 5),
        Piece("buy_actions", (colours,), "actions that a purchase costs now / 5; 0 if the posts are closed", 2, 5),
        # cities
        Piece("sale_rupees", (cities, colours), "rupees that a bale sells for now / 5; 0 if there is no demand", 2, 5),
        Piece("sale_clients", (cities, colours), "Client tokens that its sale gains / 8", 2, 8),
        Piece("sale_here", (colours,), "rupees that a bale sells for at the viewer's site / 5", 2, 5),
        Piece("city_pile", (cities,), "City tokens left / 8", 2, 8),
        Piece("client_supply", (1,), "Client tokens left in the bank / 8; 2 if there is no limit", 2, 8),
        # the board
        Piece("distance", (num_sites,), "minimum number of actions from the viewer's elephant to each site / 6", 2, 6),
        Piece(
            "city_distance", (cities,), "minimum number of actions from the viewer's elephant to each city / 6", 2, 6
        ),
        # the players
        Piece("basket", (seats, colours), "bales on each elephant / 2", 2, 2),
        Piece("palaces_left", (seats,), "palaces in hand / 8", 2, 8),
        Piece("rupees", (seats,), "rupees in hand / 20", 2, 20, hidden=True),
        Piece(
            "clients",
            (seats,),
            "Client tokens, including palace tokens that count as Client tokens / 8",
            2,
            8,
            hidden=True,
        ),
        Piece("city_palace_tokens", (seats,), "palace tokens that count as City tokens / 8", 1, 8, hidden=True),
        Piece("empire", (seats,), "palaces built plus Clients / 8", 2, 8, hidden=True),
        Piece("fame", (seats,), "rupees of the fame award if the game ended now / 8", 2, 8, hidden=True),
        # comparisons with all other seats: in `screened` mode hidden for the viewer too
        Piece(
            "empire_rank",
            (seats,),
            "provisional empire rank: 1 is first, 0 is last, tied seats share their mean",
            hidden=True,
        ),
        Piece("majority", (seats,), "rupees of the majority award if the game ended now / 8", 2, 8, hidden=True),
        Piece("margin", (seats,), "provisional final rupees minus the mean of all seats / 20", 1, 20, -1, hidden=True),
    )


def _flags(num_sites: int) -> tuple[Piece, ...]:
    """The pieces that are 0 or 1."""
    seats, cities, colours, posts = MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_POSTS
    return (
        # the course of the game
        Piece("num_players", (MAX_PLAYERS - MIN_PLAYERS + 1,), "one-hot: 2, 3, 4, 5 players"),
        Piece("mover", (seats,), "one-hot: the seat to act; all zero after the end"),
        Piece("first_player", (seats,), "one-hot: the first player of the set"),
        Piece("action_in_hand", (3,), "1 if the mover has at least 1, 2, 3 actions left"),
        Piece("can_still_buy", (1,), "1 if the mover has a purchase left this turn"),
        Piece("take_pending", (1,), "1 if the mover must choose the bale of a `bale` token"),
        # the board
        Piece(
            "demand",
            (cities, COLUMN_HEIGHT, colours),
            "one-hot: the colour at the top, middle, bottom of each city's column",
        ),
        Piece("post_colour", (posts, colours), "one-hot: the colour of each trading post; inner posts first"),
        Piece(
            "post_market",
            (posts, NUM_MARKETS + 1),
            "one-hot: the market that sets each post's price (left, centre, right), or closed",
        ),
        Piece("palace_token", (NUM_PALACE_TOKENS, len(TOKEN_NAMES)), "one-hot: the token on each palace site"),
        Piece("palace", (num_sites, seats), "one-hot: the owner of the palace on each site"),
        Piece("city_tokens", (seats, cities), "1 if the seat holds the city's City token", hidden=True),
        Piece("position", (seats, num_sites), "one-hot: the site of each elephant"),
    )


@dataclasses.dataclass(frozen=True)
class FeatureLayout:
    """Names, slices and bounds of the features of an observation, for boards with `num_sites` sites.

    `layout["rupees"]` is the slice of one piece in the flat observation. `layout.split(obs)` gives all pieces by name.
    """

    num_sites: int

    @cached_property
    def numbers(self) -> tuple[Piece, ...]:
        """The pieces that hold whole numbers, which are divided by their scales. They come first."""
        return _numbers(self.num_sites)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """All pieces in order, the numbers before those that are 0 or 1."""
        return self.numbers + _flags(self.num_sites)

    @cached_property
    def row_dtype(self) -> np.dtype[Any]:
        """The flat observation as one record with a single field, `row`, for the kernel that writes it."""
        return _overlaid([("row", np.float32, (self.num_features,))])

    @cached_property
    def raw_dtype(self) -> np.dtype[Any]:
        """The record for the unscaled observation: intermediate results, then one byte for each feature.

        Some fields share memory with others: `all_flags` are the pieces that are 0 or 1; `to_scale` are the features that are
        multiplied; `to_copy` are all features in order; `…_words` are rows of four entries, each as one word; `distance_words`
        hold eight sites in a word; `palace_marks` goes from `palace` into `nowhere`.
        """
        numbers, seats = self.numbers, MAX_PLAYERS
        flags = self.pieces[len(numbers) :]
        marks = self.num_features - self.slices["palace"].start + seats * self.num_sites
        notes: list[Any] = [
            ("all_left", np.int32, (1,)),  # game turns left in the game, which may not fit into a byte
            # Both clockwise from the viewer:
            ("empires", np.uint32, (seats,)),  # 1 + the empire, not clipped; 0 for unused seats
            ("final", np.int32, (seats,)),  # rupees as if the game ended now
        ]
        fours = [piece for piece in self.pieces if piece.shape[-1] == NUM_COLOURS]
        ahead = self.num_numbers + sum(np.dtype((kind, shape)).itemsize for _, kind, shape in notes)
        lead = ("lead", np.int8, (-ahead % ALIGNMENT,))  # padding: the flags start a cache line
        nowhere = ("nowhere", np.int8, (seats * self.num_sites,))  # the marks of sites without a palace; never read
        return _overlaid(
            [*notes, lead, *((piece.name, np.int8, piece.shape) for piece in self.pieces), nowhere],
            ("all_flags", flags[0].name, np.int8, (self.num_features - self.num_numbers,)),
            ("to_scale", numbers[0].name, np.int8, (self.num_scaled,)),
            ("to_copy", numbers[0].name, np.int8, (self.num_features,)),
            ("distance_words", "distance", np.uint64, (distance_words(self.num_sites),)),
            ("palace_marks", "palace", np.int8, (marks,)),
            *((f"{four.name}_words", four.name, np.uint32, (math.prod(four.shape) // 4,)) for four in fours),
            alignment=ALIGNMENT,
        )

    @cached_property
    def num_numbers(self) -> int:
        """The number of features in `numbers`."""
        return sum(math.prod(piece.shape) for piece in self.numbers)

    @cached_property
    def num_scaled(self) -> int:
        """The number of features that the kernel multiplies: `num_numbers`, rounded up to whole vectors of eight.

        The flags in the last vector are multiplied by 1. The remaining flags start at a vector boundary, so writing them crosses
        no cache line.
        """
        return -(-self.num_numbers // 8) * 8

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The slice of each piece in the flat observation."""
        ends = np.cumsum([math.prod(piece.shape) for piece in self.pieces]).tolist()
        starts = [0, *ends]
        return {
            piece.name: slice(*place) for piece, place in zip(self.pieces, zip(starts, ends, strict=False), strict=True)
        }

    def __getitem__(self, name: str) -> slice:
        return self.slices[name]

    @cached_property
    def num_features(self) -> int:
        """The length of a flat observation, F."""
        return sum(math.prod(piece.shape) for piece in self.pieces)

    @cached_property
    def low(self) -> np.ndarray:
        """The lower bound of each feature, (F,) float32."""
        return self._bounds("low")

    @cached_property
    def high(self) -> np.ndarray:
        """The upper bound of each feature, (F,) float32."""
        return self._bounds("high")

    def _bounds(self, which: str) -> np.ndarray:
        bounds = np.empty(self.num_features, np.float32)
        for piece in self.pieces:
            bounds[self[piece.name]] = getattr(piece, which)
        return bounds

    def split(self, observations: np.ndarray) -> dict[str, np.ndarray]:
        """Views of `observations` (…, F) by piece. Each has the leading axes, then those of the piece."""
        lead = observations.shape[:-1]
        return {piece.name: observations[..., self[piece.name]].reshape(*lead, *piece.shape) for piece in self.pieces}

    @cached_property
    def digest(self) -> str:
        """16 hex digits that identify the layout. The file of a net contains the digest of the layout that it was trained on.

        The digest covers the version and the name, shape, bounds, scale and visibility of every piece, but not the descriptions.
        """
        numbers = [
            (piece.name, piece.shape, float(piece.low), float(piece.high), piece.per, piece.hidden)
            for piece in self.pieces
        ]
        return hashlib.sha256(repr((LAYOUT_VERSION, numbers)).encode()).hexdigest()[:16]

    def table(self) -> str:
        """The layout as a Markdown table with one row for each piece."""
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
    """A packed record of `fields`, each (name, entry, shape), with additional fields that share their memory.

    Each of `again` is an additional field: its name, the field where it starts, its entry and its shape. The size of the record
    is a multiple of `alignment`. Kernels take records, because arrays are reference-counted: updating the count costs more than
    writing an observation.
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


def distance_words(num_sites: int) -> int:
    """The number of words in a row of distances, eight in a word. The last word may overlap the next pieces, written later."""
    return -(-num_sites // 8)
