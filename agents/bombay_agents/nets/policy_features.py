"""What policy nets read of a position in the middle of a turn: an observation, or features that look ahead.

    perfect_recall, screened   the observation in that mode, as from `Game.observe`
    lookahead                  what value nets read (`value_features.py`); the rupees that each seat expects at the end, less the
                               mean (`potential.py`); the loss of each legal action

The loss of an action is in rupees, 0 or below: the planner's value (`planner_value.py`) of the best outcome of the turn that
starts with it, less that of the best outcome of all. Only the mover sees losses; for other viewers, and for illegal actions, they
are zero. All features are float32. The losses come last, one for each action, so that a net can pass them on unchanged. Knows
no nets; `policy_net_agent.py` plays by what is read here.
"""

import hashlib
from typing import Any, Final

import numpy as np
from numba import prange

from bombay_agents import turns
from bombay_agents.nets import value_features
from bombay_agents.nets.policy_net import LOOKAHEAD
from bombay_agents.scripted import outcome_values, potential
from bombay_agents.scripted.lookahead import MOVER
from bombay_env import Game
from bombay_env.batch import MAX_CHUNKS, chunk_lanes, num_chunks
from bombay_env.jit.kernels import batch_kernel, kernel
from bombay_env.jit.records import composed_dtype, new_records
from bombay_env.observation import encode
from bombay_env.rules import MAX_PLAYERS

VERSION: Final = 3  # of what `lookahead` means, beyond what value nets read
LEAD_SCALE: Final = 10.0  # rupees ahead that show as 1
LARGEST: Final = 8.0  # rupees; larger losses show as this


def digest(game: Game, mode: str) -> str:
    """16 hex digits that identify the features and their meaning."""
    if mode != LOOKAHEAD:
        return game.feature_layout.digest
    described = repr((value_features.digest(game.feature_layout), VERSION, LEAD_SCALE, LARGEST))
    return hashlib.sha256(described.encode()).hexdigest()[:16]


def num_losses(game: Game, mode: str) -> int:
    """How many of the last features are losses of actions."""
    return game.num_actions if mode == LOOKAHEAD else 0


def num_features(game: Game, mode: str) -> int:
    """Number of features."""
    if mode != LOOKAHEAD:
        return game.num_features
    return value_features.num_features(game.feature_layout) + MAX_PLAYERS + game.num_actions


def workspace_dtype(game: Game) -> np.dtype[Any]:
    """Memory for reading `lookahead`, for one thread at a time."""
    return composed_dtype(
        {
            "features": value_features.workspace_dtype(game.feature_layout),
            "potential": potential.workspace_dtype(game.board.num_sites),
            "least_count": np.int64,  # the least number of nodes of a turn, or TOO_MANY
        }
    )


class Reader:
    """Reads the features of one `Game` in one of `policy_net.MODES`; for one Python thread at a time."""

    def __init__(self, game: Game, mode: str) -> None:
        self.game, self.mode = game, mode
        self.num_features = num_features(game, mode)
        if mode == LOOKAHEAD:
            self.workspaces = new_records(workspace_dtype(game), MAX_CHUNKS)
            value_features.set_constants(self.workspaces["features"], game)
            potential.set_constants(self.workspaces["potential"], game)

    def read(self, states: np.ndarray, seats: Any = None, out: np.ndarray | None = None) -> np.ndarray:
        """(k, F) float32: what each mover sees of (k,) states, or what `seats` (k,) see; written into `out` if it is given.

        Raises:
            OverflowError: a turn has too many states to look ahead; see `turns.distinct_turns`.
        """
        game = self.game
        if self.mode != LOOKAHEAD:
            return game.observe(states, seats=seats, screened=self.mode == "screened", out=out)
        records = game.check_states(states)
        viewers = np.empty(0, np.int64) if seats is None else np.asarray(seats, np.int64)
        rows = np.empty((len(records), self.num_features), np.float32) if out is None else out
        self.workspaces["least_count"] = 0
        read_all(records, game.as_readings(records), game.tables, game.lookups, viewers, self.workspaces, rows)
        turns.check_count(self.workspaces["least_count"].min())
        return rows


def _read_all(states, readings, tables, lookups, seats, workspaces, rows):
    """Overwrite `rows` (batch, F) with what `seats` (batch,) see; if seats are empty, (0,), with what each mover sees.

    `least_count` of `workspaces` (MAX_CHUNKS,), zero before, becomes TOO_MANY where a turn does not fit in memory.
    """
    for chunk in prange(num_chunks(states)):
        workspace = workspaces[chunk]
        features = workspace.features
        for lane in chunk_lanes(states, chunk):
            seat = np.int64(seats[lane]) if len(seats) else encode.mover_of(states[lane])
            row, size = rows[lane], len(features.bytes)
            value_features.clear_cache(features)
            value_features.read_position(readings[lane], tables[0], lookups[0], seat, features)
            for number in range(size):
                row[number] = np.float32(features.bytes[number]) * features.scales[number]
            row[size:] = np.float32(0)
            add_leads(states[lane], tables[0], seat, workspace.potential, row[size : size + MAX_PLAYERS])
            if states[lane].current_player == seat:
                features.lookahead.memory.node[0].state = states[lane]
                count = add_losses(tables[0], features.lookahead, row[size + MAX_PLAYERS :])
                workspace.least_count = min(workspace.least_count, count)


read_all = batch_kernel(_read_all, potential.MIN_LANES)


@kernel
def add_leads(state, tables, seat, workspace, row):
    """Add what each seat expects to have at the end, less the mean, in seat order from the viewer."""
    n = np.int64(tables.num_players)
    mean = 0.0
    for place in range(n):
        expected = potential.expected_rupees(state, tables, (seat + place) % n, workspace)
        row[place] = expected / LEAD_SCALE
        mean += expected / n
    for place in range(n):
        row[place] -= np.float32(mean / LEAD_SCALE)


@kernel
def add_losses(tables, lookahead, losses):
    """Add the loss of each action in the state at node 0 of `lookahead.memory`. Returns the number of nodes, or TOO_MANY."""
    memory, values = lookahead.memory, lookahead.values
    count = turns.lay_out(tables, memory)
    if count != turns.TOO_MANY:
        weights, survey = lookahead.weights[MOVER], lookahead.survey
        outcome_values.value_outcomes(tables, weights, lookahead.traffic, memory, survey, values, count)
        outcome_values.back_up_values(memory, values, count)
        for number in range(memory.num_edges):
            edge = memory.edge[number]
            if edge.before != 0:
                break
            losses[edge.action] = max(-LARGEST, values[edge.after] - values[0])
    return count
