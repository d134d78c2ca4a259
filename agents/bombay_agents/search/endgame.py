"""The last round solved exactly: every turn that is left, each mover choosing what is best for itself (max^n).

This works only where no restock is due any more, so that there is no chance, and where few turns are left: a turn has some two
dozen outcomes. A seat wants the largest share of the win, then the largest margin in rupees; ties go to the outcome that
`turns/enumeration.py` finds first.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.turns.evaluator import new_result
from bombay_env import Game, engine
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY

MAX_TURNS: Final = MAX_PLAYERS  # to the end of the game
MAX_OUTCOMES: Final = 512  # of one turn
MARGIN_WEIGHT: Final = 1e-4  # small enough: shares of the win differ by at least 1/20, margins by less than 500
TOO_LARGE: Final = -1  # instead of the node chosen
DEFAULT_LIMIT: Final = 1_000_000  # turns enumerated
MAX_LIMIT: Final = 1 << 62  # no limit in practice


class TooLargeError(ValueError):
    """The solution of a position takes more turns than the limit, or a turn has too many outcomes."""


class Solution(NamedTuple):
    """Best play in the last round."""

    actions: tuple[int, ...]  # of the mover's turn
    win_share: np.ndarray  # (n,) float64
    final: np.ndarray  # (n,) int64, rupees with awards


class EndgameWorkspace(NamedTuple):
    """Memory for `solve_turn`; for one thread at a time. D is MAX_TURNS, O is MAX_OUTCOMES, P is MAX_PLAYERS."""

    turn: turns.TurnWorkspace
    root: np.ndarray  # (1,) record: the position to solve
    outcomes: np.ndarray  # (D · O,) records, of the turn at each depth
    nodes: np.ndarray  # (O,) int32: the node of each outcome at depth 0, in the first turn
    counts: np.ndarray  # (D,) int64, number of outcomes at each depth
    place: np.ndarray  # (D,) int64, index of the outcome at hand
    best: np.ndarray  # (D,) int64, index of the best so far
    final: np.ndarray  # (D + 1, P) int64, rupees that the best leads to; the last row is of the game that just ended
    share: np.ndarray  # (D + 1, P) float64, shares of the win, likewise
    result: np.ndarray  # of `new_result`


def new_workspace(game: Game, turn: turns.TurnWorkspace | None = None) -> EndgameWorkspace:
    """Memory for solving endgames of `game`, about half a megabyte besides the memory for a turn."""
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
        new_result(),
    )


def solve(
    game: Game, state: np.ndarray, limit: int = DEFAULT_LIMIT, workspace: EndgameWorkspace | None = None
) -> Solution:
    """The exact value of a position in the last round, and the turn that achieves it.

    Args:
        game: that of the state.
        state: (1,) record in the last game turn of the last set, not over; unchanged.
        limit: most turns to enumerate, at least 1.
        workspace: of `new_workspace`, to reuse; overwritten.

    Raises:
        ValueError: `state` is not one state of this game or not in the last round, `limit` is no such number, or the solution
            takes more turns than `limit` (`TooLargeError`).
    """
    record = game.as_record(state)
    if not isinstance(limit, int | np.integer) or not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit is {limit!r}; it must be a whole number from 1 to {MAX_LIMIT}")
    workspace = workspace or new_workspace(game)
    if not 0 < turns_left(record, game.tables[0]) <= game.num_players:
        raise ValueError("only positions in the last game turn of the last set can be solved")
    node = solve_turn(record, game.tables[0], limit, workspace)
    if node == TOO_LARGE:
        raise TooLargeError(
            f"this endgame takes more than limit={limit} turns to enumerate, or a turn with more than {MAX_OUTCOMES} outcomes; "
            "raise limit, or allow fewer actions_per_turn"
        )
    actions = np.empty(turns.MAX_DECISIONS, np.int64)
    turns.enumerate_turn(record, game.tables[0], workspace.turn)
    length = turns.way_to(workspace.turn, node, actions)
    n = game.num_players
    return Solution(tuple(actions[:length].tolist()), workspace.share[0, :n].copy(), workspace.final[0, :n].copy())


@kernel
def turns_left(state, tables):
    """Turns to the end of the game, the present one included; 0 after the end."""
    if state.current_player == NOBODY:
        return 0
    taken = (state.current_player - state.first_player) % tables.num_players
    return np.int64(engine.game_turns_left(state, tables) * tables.num_players - taken)


@kernel
def solve_turn(state, tables, limit, workspace):
    """Find the best outcome of the turn of `state`, in the last round; row 0 of `final` and `share` is what it leads to.

    Args:
        limit: most turns to enumerate, at least 1.

    Returns:
        The node of the outcome, or TOO_LARGE if `limit` or the memory does not suffice. `workspace.turn` is overwritten by later
        turns: enumerate the turn again to find the path to the node.
    """
    depths = turns_left(state, tables)
    if depths < 1 or depths > MAX_TURNS:
        return TOO_LARGE
    workspace.root[0] = state
    if not open_turn(workspace.root[0], tables, workspace, 0):
        return TOO_LARGE
    num_turns = 1
    depth = 0
    while True:
        if workspace.place[depth] == workspace.counts[depth]:  # all outcomes have been searched
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
                if num_turns >= limit or not open_turn(after, tables, workspace, depth + 1):
                    return TOO_LARGE
                num_turns += 1
                depth += 1


@kernel
def open_turn(state, tables, workspace, depth):
    """Enumerate the turn of `state` as the one at `depth`. Returns False if there is no room."""
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
    workspace.counts[depth] = found
    workspace.place[depth] = 0
    workspace.best[depth] = -1
    return found > 0


@kernel
def settle_row(state, tables, workspace):
    """Overwrite the last row of `final` and `share` with the result of a game that is over."""
    engine.settle(state, tables, workspace.result[0])
    for seat in range(tables.num_players):
        workspace.final[MAX_TURNS, seat] = workspace.result[0].final[seat]
        workspace.share[MAX_TURNS, seat] = workspace.result[0].win_share[seat]


@kernel
def take_if_better(tables, workspace, depth, row):
    """Let the mover at `depth` choose between its best so far and the outcome at hand, which leads to `row`; then advance."""
    mover = mover_at(tables, workspace, depth)
    if workspace.best[depth] < 0 or utility(tables, workspace, row, mover) > utility(tables, workspace, depth, mover):
        workspace.best[depth] = workspace.place[depth]
        for seat in range(tables.num_players):
            workspace.final[depth, seat] = workspace.final[row, seat]
            workspace.share[depth, seat] = workspace.share[row, seat]
    workspace.place[depth] += 1


@kernel
def mover_at(tables, workspace, depth):
    """The seat to move at `depth`."""
    return (workspace.root[0].current_player + depth) % tables.num_players


@kernel
def utility(tables, workspace, row, seat):
    """What a seat wants from the end of the game: its share of the win, then its margin."""
    # The margin times n is a whole number, so that equal margins are exactly equal.
    margin = tables.num_players * workspace.final[row, seat]
    for other in range(tables.num_players):
        margin -= workspace.final[row, other]
    return workspace.share[row, seat] + MARGIN_WEIGHT * (margin / tables.num_players)
