"""What policy nets read of a position in the middle of a turn: an observation, or more than that (`lookahead`).

    perfect_recall, screened   the observation in that mode, as `Game.observe` has it
    lookahead                  the observation in bytes and everybody's plans (`value_features.py`); what each seat may expect to
                               end with, less the mean (`potential.py`); what each action at hand would lose

What an action loses is told by the planner's value (`planner_value.py`): how much better than the best outcome of the turn that
begins with it the best of all is, in rupees below zero. It is looked at for the mover alone: to others, and where an action is
illegal, it shows as zero. All are float32, the losses last, one an action: a net can hand them on as they are. Knows nothing of
nets.
"""

import hashlib
from typing import Any, Final

import numpy as np
from numba import prange

from bombay_agents import turns
from bombay_agents.nets import value_features
from bombay_agents.scripted import outcome_values, potential
from bombay_env import Game
from bombay_env.batch import MAX_CHUNKS, chunk_lanes, num_chunks
from bombay_env.jit.kernels import batch_kernel, kernel
from bombay_env.observation import encode
from bombay_env.rules import MAX_PLAYERS

LOOKAHEAD: Final = "lookahead"
MODES: Final = ("perfect_recall", "screened", LOOKAHEAD)
VERSION: Final = 3  # of what `lookahead` means beside the plans
AHEAD_SCALE: Final = 10.0  # rupees ahead that show as 1
LARGEST: Final = 8.0  # rupees; losses beyond show as this


def digest(game: Game, mode: str) -> str:
    """16 hex digits that name what is read and what it means."""
    if mode != LOOKAHEAD:
        return game.feature_layout.digest
    described = repr((value_features.digest(game.feature_layout), VERSION, AHEAD_SCALE, LARGEST))
    return hashlib.sha256(described.encode()).hexdigest()[:16]


def num_losses(game: Game, mode: str) -> int:
    """How many of the last features belong to an action each."""
    return game.num_actions if mode == LOOKAHEAD else 0


def num_features(game: Game, mode: str) -> int:
    """Length of what is read."""
    if mode != LOOKAHEAD:
        return game.num_features
    return value_features.num_features(game.feature_layout) + MAX_PLAYERS + game.num_actions


class Reader:
    """What is read of one `Game` in one of `MODES`, with the memory that this takes; for one Python thread at a time."""

    def __init__(self, game: Game, mode: str) -> None:
        self.game, self.mode = game, mode
        self.num_features = num_features(game, mode)
        if mode == LOOKAHEAD:
            self.raw, self.reader = value_features.new_readers(game, MAX_CHUNKS)
            self.scales = value_features.scales(game.feature_layout)
            self.workspace = potential.new_workspace(game)
            self.nodes = self.reader["lookahead"]["memory"]["node"]["state"][:, 0, 0]  # where turns are laid out
            self.least = np.zeros(MAX_CHUNKS, np.int64)

    def read(self, states: np.ndarray, seats: Any = None, out: np.ndarray | None = None) -> np.ndarray:
        """(k, F) float32: what each mover sees of (k,) states, or what `seats` (k,) see; into `out` if it is given.

        Raises:
            OverflowError: a turn has too many states to look ahead; see `turns.distinct_turns`.
        """
        game = self.game
        if self.mode != LOOKAHEAD:
            return game.observe(states, seats=seats, screened=self.mode == "screened", out=out)
        records = np.ascontiguousarray(states).view(game.state_dtype, np.ndarray)
        rows = np.empty((len(records), self.num_features), np.float32) if out is None else out
        self.least[:] = 0
        read_all(
            records, game.as_readings(records), game.tables, game.lookups,
            np.empty(0, np.int64) if seats is None else np.asarray(seats, np.int64),
            self.raw, self.reader, self.scales, self.workspace, self.nodes, self.least, rows,
        )  # fmt: skip
        turns.check_count(self.least.min())
        return rows


def _read_all(states, readings, tables, lookups, seats, raw, readers, scales, workspace, nodes, least, rows):
    """Overwrite `rows` (batch, F) with what `seats` (batch,) see; without seats, (0,), with what each mover sees.

    `nodes` (MAX_CHUNKS, MAX_NODES) are the states in the memory of readers; `least` (MAX_CHUNKS,) zeros, TOO_MANY then where a
    turn has no room.
    """
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            seat = np.int64(seats[lane]) if len(seats) else encode.mover_of(states[lane])
            row, plans = rows[lane], len(scales)
            value_features.clear_cache(readers[chunk])
            value_features.read(readings[lane], tables[0], lookups[0], seat, raw[chunk], readers[chunk])
            for number in range(plans):
                row[number] = np.float32(readers[chunk].bytes[number]) * scales[number]
            row[plans:] = np.float32(0)
            enter_ahead(states[lane], tables[0], seat, workspace[chunk], row[plans : plans + MAX_PLAYERS])
            if states[lane].current_player == seat:
                nodes[chunk, 0] = states[lane]
                count = enter_losses(tables[0], readers[chunk], row[plans + MAX_PLAYERS :])
                least[chunk] = min(least[chunk], count)


read_all = batch_kernel(_read_all, potential.MIN_LANES)


@kernel
def enter_ahead(state, tables, seat, workspace, row):
    """Enter by place what each seat may expect to end with, less the mean."""
    n = np.int64(tables.num_players)
    mean = 0.0
    for place in range(n):
        expected = potential.expect(state, tables, (seat + place) % n, workspace)
        row[place] = expected / AHEAD_SCALE
        mean += expected / n
    for place in range(n):
        row[place] -= np.float32(mean / AHEAD_SCALE)


@kernel
def enter_losses(tables, reader, losses):
    """Enter for each action what it gives away, of the turn of the state at node 0 in the reader's memory. Returns the nodes."""
    memory, values = reader.lookahead[0].memory[0], reader.lookahead[0].worth
    count = turns.lay_out(tables, memory)
    if count != turns.TOO_MANY:
        survey = reader.survey[value_features.SURVEYS]
        outcome_values.value_outcomes(tables, reader.weights[0], reader.site_traffic, memory, survey, values, count)
        outcome_values.back_up_values(memory, values, count)
        for number in range(memory.num_edges):
            edge = memory.edge[number]
            if edge.before != 0:
                break
            losses[edge.action] = max(-LARGEST, values[edge.after] - values[0])
    return count
