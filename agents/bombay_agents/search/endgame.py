"""The end of the game played out exactly: every turn still to come, each mover choosing what is best for itself (max^n).

Only where no restock is due any more, so that chance has no part, and where few turns are left: a turn has some two dozen
outcomes. What is best for a seat is its share of the win and, of equal shares, its margin in rupees; of equals in both, the
outcome that `turns/enumeration.py` finds first. This is the ground truth that searches are measured by.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_env import Game, engine
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY, result_dtype

MAX_TURNS: Final = MAX_PLAYERS  # that are played out
MAX_OUTCOMES: Final = 512  # of one turn
MARGIN_WEIGHT: Final = 1e-4  # shares of a win differ by 1/20 at least, margins by less than 500
TOO_LARGE: Final = -1  # instead of the node chosen
DEFAULT_LIMIT: Final = 1_000_000  # turns laid out
MAX_LIMIT: Final = 1 << 62  # as good as none


class Solution(NamedTuple):
    """The last turns as they are played by players who see to the end."""

    actions: tuple[int, ...]  # of the mover's turn
    win_share: np.ndarray  # (n,) float64
    final: np.ndarray  # (n,) int64, rupees with awards


class EndgameWorkspace(NamedTuple):
    """Memory for `solve_turn`; for one thread at a time. D is MAX_TURNS, O is MAX_OUTCOMES, P is MAX_PLAYERS."""

    turn: turns.TurnWorkspace
    root: np.ndarray  # (1,) record: the position to solve
    outcomes: np.ndarray  # (D · O,) records, of the turn at each depth
    nodes: np.ndarray  # (O,) int32: which nodes of the first turn those at depth 0 are
    count: np.ndarray  # (D,) int64, outcomes at a depth
    place: np.ndarray  # (D,) int64, the one being looked at
    best: np.ndarray  # (D,) int64, the best so far
    final: np.ndarray  # (D + 1, P) int64, what it leads to; the last row is the game just played to its end
    share: np.ndarray  # (D + 1, P) float64
    result: np.ndarray  # (1,) of `result_dtype`


def new_workspace(game: Game, turn: turns.TurnWorkspace | None = None) -> EndgameWorkspace:
    """Memory for solving endings of `game`, about half a megabyte besides that for a turn."""
    return EndgameWorkspace(
        turn or turns.new_workspace(game),
        np.zeros(1, game.state_dtype),
        np.zeros(MAX_TURNS * MAX_OUTCOMES, game.state_dtype),
        np.zeros(MAX_OUTCOMES, np.int32),
        np.zeros(MAX_TURNS, np.int64),
        np.zeros(MAX_TURNS, np.int64),
        np.zeros(MAX_TURNS, np.int64),
        np.zeros((MAX_TURNS + 1, MAX_PLAYERS), np.int64),
        np.zeros((MAX_TURNS + 1, MAX_PLAYERS), np.float64),
        np.zeros(1, result_dtype(MAX_PLAYERS, np.int8)),  # for any number of players: compiled once
    )


def solve(
    game: Game, state: np.ndarray, limit: int = DEFAULT_LIMIT, workspace: EndgameWorkspace | None = None
) -> Solution:
    """The exact value of a position in the last round, and the turn that secures it.

    Args:
        state: (1,), running, in the last game turn of the last set, unchanged.
        limit: most turns to lay out on the way, at least 1.

    Raises:
        ValueError: it is not one state of this game, the game is over, it is not the last round, `limit` is no such number, or
            it does not suffice.
    """
    record = game.as_record(state)
    if not isinstance(limit, int | np.integer) or not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit is {limit!r}; it must be a whole number from 1 to {MAX_LIMIT}")
    workspace = workspace or new_workspace(game)
    if not 0 < turns_left(record, game.tables[0]) <= game.num_players:
        raise ValueError("only positions in the last game turn of the last set can be solved")
    node = solve_turn(record, game.tables[0], limit, workspace)
    if node == TOO_LARGE:
        raise ValueError(
            f"this ending takes more than limit={limit} turns to lay out, or a turn with more than {MAX_OUTCOMES} outcomes; "
            "allow more of the first, or fewer actions_per_turn"
        )
    actions = np.empty(turns.MAX_DECISIONS, np.int64)
    turns.enumerate_turn(record, game.tables[0], workspace.turn)
    length = turns.way_to(workspace.turn, node, actions)
    n = game.num_players
    return Solution(tuple(actions[:length].tolist()), workspace.share[0, :n].copy(), workspace.final[0, :n].copy())


@kernel
def turns_left(state, tables):
    """Turns to the end of the game, the present one included; 0 once it is over."""
    if state.current_player == NOBODY:
        return 0
    taken = (state.current_player - state.first_player) % tables.num_players
    game_turns = (tables.sets - 1 - state.set) * tables.turns_per_set + tables.turns_per_set - state.turn
    return np.int64(game_turns * tables.num_players - taken)


@kernel
def solve_turn(state, tables, limit, workspace):
    """The node of `workspace.turn` to play for from `state`, in the last round; row 0 of `final` and `share` is what comes of it.

    Args:
        limit: most turns to lay out, at least 1.

    Returns:
        The node, or TOO_LARGE if `limit` or the memory does not suffice. `workspace.turn` no longer holds the turn then: lay it
        out again to find the way.
    """
    depths = turns_left(state, tables)
    if depths < 1 or depths > MAX_TURNS:
        return TOO_LARGE
    workspace.root[0] = state
    if not open_turn(workspace.root[0], tables, workspace, 0):
        return TOO_LARGE
    laid_out = 1
    depth = 0
    while True:
        if workspace.place[depth] == workspace.count[depth]:  # all outcomes are looked at
            if depth == 0:
                return np.int64(workspace.nodes[workspace.best[0]])
            depth -= 1
            take_if_better(tables, workspace, depth, depth + 1)
        else:
            after = workspace.outcomes[depth * MAX_OUTCOMES + workspace.place[depth]]
            if after.current_player == NOBODY:
                settle_row(after, tables, workspace)
                take_if_better(tables, workspace, depth, MAX_TURNS)
            else:
                if laid_out >= limit or not open_turn(after, tables, workspace, depth + 1):
                    return TOO_LARGE
                laid_out += 1
                depth += 1


@kernel
def open_turn(state, tables, workspace, depth):
    """Lay out the turn of `state` as the one at `depth`. Returns False if there is no room."""
    count = turns.enumerate_turn(state, tables, workspace.turn)
    found = 0
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            if found == MAX_OUTCOMES:
                return False
            workspace.outcomes[depth * MAX_OUTCOMES + found] = workspace.turn.states[node]
            if depth == 0:
                workspace.nodes[found] = node
            found += 1
    workspace.count[depth] = found
    workspace.place[depth] = 0
    workspace.best[depth] = -1
    return found > 0


@kernel
def settle_row(state, tables, workspace):
    """Write the result of a game that is over into the last row of `final` and `share`."""
    engine.settle(state, tables, workspace.result[0])
    for seat in range(tables.num_players):
        workspace.final[MAX_TURNS, seat] = workspace.result[0].final[seat]
        workspace.share[MAX_TURNS, seat] = workspace.result[0].win_share[seat]


@kernel
def take_if_better(tables, workspace, depth, row):
    """Let the mover at `depth` choose between its best so far and the outcome looked at, which leads to `row`; then go on."""
    taken = turns_mover(tables, workspace, depth)
    if workspace.best[depth] < 0 or utility(tables, workspace, row, taken) > utility(tables, workspace, depth, taken):
        workspace.best[depth] = workspace.place[depth]
        for seat in range(tables.num_players):
            workspace.final[depth, seat] = workspace.final[row, seat]
            workspace.share[depth, seat] = workspace.share[row, seat]
    workspace.place[depth] += 1


@kernel
def turns_mover(tables, workspace, depth):
    """Whose turn it is at `depth`."""
    return (workspace.root[0].current_player + depth) % tables.num_players


@kernel
def utility(tables, workspace, row, seat):
    """What a seat makes of an end of the game: its share of the win, then its margin."""
    margin = (
        tables.num_players * workspace.final[row, seat]
    )  # n times as large, so whole: equal margins must be exactly equal
    for other in range(tables.num_players):
        margin -= workspace.final[row, other]
    return workspace.share[row, seat] + MARGIN_WEIGHT * (margin / tables.num_players)
