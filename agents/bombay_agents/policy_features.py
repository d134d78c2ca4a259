"""What policy nets read of a position in the middle of a turn: an observation, or more than that (`lookahead`).

    perfect_recall, screened   the observation in that mode, as `Game.observe` has it
    lookahead                  the observation in bytes and everybody's plans (`turn_features.py`); what each seat may expect to
                               end with, less the mean (`prospects.py`); how much each action at hand would change that

What an action leads to is looked at without the restock that may follow, for the mover alone: to others, and where it is illegal,
it shows as zero. All are float32, the gains last, one an action: a net can hand them on as they are. Knows nothing of nets.
"""

import hashlib
from typing import Any, Final

import numpy as np
from numba import prange

from bombay_agents import prospects, turn_features
from bombay_env import Game, engine, observe
from bombay_env.batch import MAX_CHUNKS, chunk_lanes, num_chunks
from bombay_env.compile import batch_kernel, kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY

LOOKAHEAD: Final = "lookahead"
MODES: Final = ("perfect_recall", "screened", LOOKAHEAD)
VERSION: Final = 2  # of what `lookahead` means beside the plans
AHEAD_SCALE: Final = 10.0  # rupees ahead that show as 1
LARGEST: Final = 8.0  # rupees; gains beyond show as this
NO_COST: Final = -1


def digest(game: Game, mode: str) -> str:
    """16 hex digits that name what is read and what it means."""
    if mode != LOOKAHEAD:
        return game.feature_layout.digest
    described = repr((turn_features.digest(game.feature_layout), VERSION, AHEAD_SCALE, LARGEST))
    return hashlib.sha256(described.encode()).hexdigest()[:16]


def num_gains(game: Game, mode: str) -> int:
    """How many of the last features belong to an action each."""
    return game.num_actions if mode == LOOKAHEAD else 0


def num_features(game: Game, mode: str) -> int:
    """Length of what is read."""
    if mode != LOOKAHEAD:
        return game.num_features
    return turn_features.num_features(game.feature_layout) + MAX_PLAYERS + game.num_actions


class Reader:
    """What is read of one `Game` in one of `MODES`, with the memory that this takes; for one Python thread at a time."""

    def __init__(self, game: Game, mode: str) -> None:
        self.game, self.mode = game, mode
        self.num_features = num_features(game, mode)
        if mode == LOOKAHEAD:
            self.raw, self.reader = turn_features.new_readers(game, MAX_CHUNKS)
            self.factors = turn_features.factors(game.feature_layout)
            self.outlook = prospects.new_outlook(game)
            self.after = np.zeros(MAX_CHUNKS, game.state_dtype)

    def read(self, states: np.ndarray, seats: Any = None, out: np.ndarray | None = None) -> np.ndarray:
        """(k, F) float32: what each mover sees of (k,) states, or what `seats` (k,) see; into `out` if it is given."""
        game = self.game
        if self.mode != LOOKAHEAD:
            return game.observe(states, seats=seats, screened=self.mode == "screened", out=out)
        records = np.ascontiguousarray(states).view(game.state_dtype, np.ndarray)
        rows = np.empty((len(records), self.num_features), np.float32) if out is None else out
        read_all(
            records, game.as_readings(records), game.tables, game.lookups,
            np.empty(0, np.int64) if seats is None else np.asarray(seats, np.int64),
            self.raw, self.reader, self.factors, self.outlook, self.after, rows,
        )  # fmt: skip
        return rows


def _read_all(states, readings, tables, lookups, seats, raw, readers, factors, outlook, after, rows):
    """Overwrite `rows` (batch, F) with what `seats` (batch,) see; without seats, (0,), with what each mover sees."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            seat = np.int64(seats[lane]) if len(seats) else observe.mover_of(states[lane])
            row, plans = rows[lane], len(factors)
            turn_features.forget(readers[chunk])
            turn_features.read(readings[lane], tables[0], lookups[0], seat, raw[chunk], readers[chunk])
            for number in range(plans):
                row[number] = np.float32(readers[chunk].bytes[number]) * factors[number]
            row[plans:] = np.float32(0)
            enter_ahead(states[lane], tables[0], seat, outlook[chunk], row[plans : plans + MAX_PLAYERS])
            if states[lane].current_player == seat:
                gains = row[plans + MAX_PLAYERS :]
                enter_gains(states[lane], tables[0], seat, outlook[chunk], after, chunk, gains)


read_all = batch_kernel(_read_all, prospects.MIN_LANES)


@kernel
def enter_ahead(state, tables, seat, outlook, row):
    """Enter by place what each seat may expect to end with, less the mean."""
    n = np.int64(tables.num_players)
    mean = 0.0
    for place in range(n):
        expected = prospects.expect(state, tables, (seat + place) % n, outlook)
        row[place] = expected / AHEAD_SCALE
        mean += expected / n
    for place in range(n):
        row[place] -= np.float32(mean / AHEAD_SCALE)


@kernel
def enter_gains(state, tables, player, outlook, after, chunk, gains):
    """Enter for each legal action what it would change of what the mover may expect, tolls that it pays to others included."""
    now = prospects.expect(state, tables, player, outlook) - others_mean(state, tables, player)
    moves, others = engine.legal_moves(state, tables), engine.legal_others(state, tables)
    surveyed = NO_COST  # one survey serves all moves that cost the same
    for action in range(len(gains)):
        is_move = action < tables.num_sites
        word = moves if is_move else others
        bit = np.uint64(action) if is_move else np.uint64(action - tables.num_sites)
        if (word >> bit) & np.uint64(1) == np.uint64(0):
            continue
        after[chunk] = state
        engine.apply(after[chunk], tables, action)
        cost = np.int64(tables.enter_cost[action]) if is_move else NO_COST
        if after[chunk].current_player == NOBODY:
            expected = prospects.expect(after[chunk], tables, player, outlook)
        else:
            if not is_move or cost != surveyed:
                prospects.look(after[chunk], tables, player, outlook)
                surveyed = cost
            expected = prospects.worth(after[chunk], tables, player, outlook)
        gain = expected - others_mean(after[chunk], tables, player) - now
        gains[action] = max(-LARGEST, min(LARGEST, gain))


@kernel
def others_mean(state, tables, player):
    """The others' mean rupees."""
    total = 0
    for seat in range(tables.num_players):
        if seat != player:
            total += np.int64(state.rupees[seat])
    return total / (tables.num_players - 1)
