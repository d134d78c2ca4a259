"""The last round solved exactly: every turn that is left, each mover choosing what is best for itself (max^n).

This works only where no restock is due any more, so that there is no chance. A seat wants the largest share of the win, then the
largest margin in rupees; ties go to the outcome that `turns/enumeration.py` finds first. Movers may also help or hurt a leader
where that costs them no share of the win.

A turn is enumerated once for all positions in which it has the same outcomes. To find them, whatever no later turn depends on is
forgotten after each turn: the elephants of players who have had their last turn, sites out of reach, and what everybody has
gained so far. Many positions then become the same node of a graph, and gains are kept on its edges. The search walks all paths of
this graph and adds up their gains. It is exact: what is forgotten changes neither the outcomes of later turns, nor their gains,
nor the order in which they are found.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.turns.evaluator import new_result
from bombay_env import Game, checks, engine
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.rules import MAX_PLAYERS, NUM_CITIES
from bombay_env.state import NOBODY, rows
from bombay_env.tables import NO_LIMIT

# What decides between outcomes that give the mover the same share of the win: the leader's share, then the mover's margin in
# rupees, then which outcome `turns/enumeration.py` finds first. `PLAIN` ignores the leader.
AIMS: Final = ("plain", "help", "hurt")
PLAIN: Final = 0  # its index
WISH: Final = np.array([0, 1, -1])  # for the leader's share, by aim

DEFAULT_LIMIT: Final = 20_000_000  # ways in which the round can go; some three seconds
MAX_LIMIT: Final = 1 << 62  # no limit in practice
MAX_EDGES: Final = 1_000_000  # of a graph: a few hundred megabytes
WHOLE: Final = 60  # a win, in units that any number of winners can share evenly
SHARE_OF: Final = np.array([WHOLE // max(winners.bit_count(), 1) for winners in range(1 << MAX_PLAYERS)])  # of each
SHARES_FIRST: Final = 1 << 32  # more than any margin
LOWEST: Final = -(1 << 62)  # utility

GAIN: Final = record_dtype(
    [
        ("rupees", np.int32, (MAX_PLAYERS,)),  # by seat; the mover's include the change of its fame award
        ("clients", np.int32),  # of the mover, palace tokens included
        ("palaces", np.int32),  # built by the mover
    ]
)
ROW: Final = record_dtype(  # what the search knows at one depth, by aim
    [
        ("best", np.int64, (len(AIMS),)),  # utility for the mover of the best edge so far
        ("winners", np.int64, (len(AIMS),)),  # that this edge leads to
        ("final", np.int64, (len(AIMS), MAX_PLAYERS)),  # rupees with awards that it leads to
    ]
)


class TooLargeError(ValueError):
    """The last round can go in more ways than the limit, or has too many different turns."""


class Solution(NamedTuple):
    """Best play in the last round, and who wins. A set of seats is a whole number: bit s is seat s."""

    actions: tuple[int, ...]  # of the mover's turn, if all movers are `PLAIN`
    win_share: np.ndarray  # (n,) float64, likewise
    final: np.ndarray  # (n,) int64, rupees with awards, likewise
    winners: np.ndarray  # (3,) int64, if all movers have this one of `AIMS`
    after: np.ndarray  # (k,) int64, after each distinct outcome of the mover's turn, if all later movers are `PLAIN`


class Graph(NamedTuple):
    """All ways in which a round can go: N nodes and E edges. The last node is the end of the game."""

    first: np.ndarray  # (N + 1,) int64: the edges of a node begin here and end where those of the next node begin
    child: np.ndarray  # (E,) int64, nodes
    gain: np.ndarray  # (E,) records of `GAIN`


class Workspace(NamedTuple):
    """Memory for `solve`, for one thread at a time."""

    turn: turns.TurnWorkspace
    outcomes: np.ndarray  # (MAX_NODES,) records: the outcomes of a turn with their gains
    search: np.ndarray  # (1,) of `search_dtype`


def search_dtype(game: Game) -> np.dtype[Any]:
    """The memory of the search as one record, for the reason given in `turns.enumeration.memory_dtype`."""
    return record_dtype(
        [
            ("standing", game.state_dtype),  # the first position with all gains on the way to the place of the search
            ("node", np.int64, (MAX_PLAYERS + 1,)),  # at each depth
            ("edge", np.int64, (MAX_PLAYERS + 1,)),  # the one at hand
            ("row", ROW, (MAX_PLAYERS + 1,)),
            ("chosen", np.int64),  # the first position's best edge so far, by `PLAIN`
            ("result", new_result().dtype),
        ]
    )


def new_workspace(game: Game) -> Workspace:
    """Memory for solving last rounds of `game`, about two megabytes."""
    outcome = record_dtype([("gain", GAIN), ("state", game.state_dtype)])
    outcomes = np.zeros(turns.MAX_NODES, outcome)
    return Workspace(turns.new_workspace(game), outcomes, np.zeros(1, search_dtype(game)))


def solve(
    game: Game, state: np.ndarray, limit: int = DEFAULT_LIMIT, leader: int = 0, workspace: Workspace | None = None
) -> Solution:
    """The exact value of a position in the last round, and the turn that achieves it.

    Args:
        game: that of the state.
        state: (1,) record in the last game turn of the last set, not over; unchanged.
        limit: most ways in which the round can go, at least 1.
        leader: the seat that movers help or hurt in `winners`.
        workspace: of `new_workspace`, to reuse; overwritten.

    Raises:
        ValueError: `state` is not one state of this game or not in the last round, `leader` or `limit` is out of range, or the
            round is too large (`TooLargeError`).
        OverflowError: a turn has more than `turns.MAX_NODES` states.
    """
    record = game.as_record(state)
    checks.whole_number(leader, "leader", 0, game.num_players - 1)
    checks.whole_number(limit, "limit", 1, MAX_LIMIT)
    if not 0 < turns_left(record, game.tables[0]) <= game.num_players:
        raise ValueError("only positions in the last game turn of the last set can be solved")
    workspace = workspace or new_workspace(game)
    graph = lay_out(game, record, limit, workspace)
    after = np.zeros(graph.first[1], np.int64)
    memory = workspace.search[0]
    memory.standing = record
    search(graph, game.tables[0], leader, memory, after)
    best, n = memory.row[0], game.num_players
    won = best.winners[PLAIN] >> np.arange(n) & 1
    actions = turn_to(game, record, int(memory.chosen), workspace)
    return Solution(actions, won / won.sum(), best.final[PLAIN, :n].copy(), best.winners.copy(), after)


def lay_out(game: Game, record: Any, limit: int, workspace: Workspace) -> Graph:
    """The graph of a round. Raises TooLargeError if it has more than `limit` paths, or more than `MAX_EDGES` edges."""
    nodes = {record.tobytes(): 0}  # by state without what is forgotten, in the order of turns
    queue, paths = [record.tobytes()], [1]
    first, child, gain = [0], list[int](), list[bytes]()
    for node, state in enumerate(queue):  # which grows
        for outcome in dict.fromkeys(outcomes_of(game, np.frombuffer(state, game.state_dtype)[0], workspace)):
            after = outcome[GAIN.itemsize :]
            if after not in nodes:
                nodes[after] = len(queue)
                queue.append(after)
                paths.append(0)
            child.append(nodes[after])
            gain.append(outcome[: GAIN.itemsize])
            paths[child[-1]] += paths[node]
        first.append(len(child))
        if max(paths[node:]) > limit or len(child) > MAX_EDGES:
            raise TooLargeError(
                f"this round can go in more than limit={limit} ways, or has more than {MAX_EDGES} different turns"
            )
    return Graph(np.array(first), np.array(child), np.frombuffer(b"".join(gain), GAIN))


def outcomes_of(game: Game, record: Any, workspace: Workspace) -> list[bytes]:
    """All outcomes of a turn with their gains, in the order in which they are found. Raises OverflowError."""
    count = turns.check_count(find_outcomes(record, game.tables[0], workspace))
    return list(rows(workspace.outcomes[:count]).tolist())


def turn_to(game: Game, record: Any, edge: int, workspace: Workspace) -> tuple[int, ...]:
    """The actions of the first turn that leads along an edge of the first position."""
    found = outcomes_of(game, record, workspace)
    place = found.index(list(dict.fromkeys(found))[edge])
    return turns.outcome(workspace.turn, int(np.flatnonzero(workspace.turn.due)[place])).actions


# --- The graph ---


@kernel
def turns_left(state, tables):
    """Turns to the end of the game, the present one included; 0 after the end."""
    if state.current_player == NOBODY:
        return 0
    taken = (state.current_player - state.first_player) % tables.num_players
    return np.int64(engine.game_turns_left(state, tables) * tables.num_players - taken)


@kernel
def find_outcomes(state, tables, workspace):
    """Write the outcomes of a turn into `outcomes`, with gains and without what later turns do not need.

    Returns:
        Their number, 0 after the end of the game, or `turns.TOO_MANY`.
    """
    count = turns.enumerate_turn(state, tables, workspace.turn)
    if count == turns.TOO_MANY:
        return count
    found = 0
    for node in range(1, count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            outcome = workspace.outcomes[found]
            outcome.state = workspace.turn.states[node]
            write_gain(state, outcome.state, tables, outcome.gain)
            forget(outcome.state, tables)
            found += 1
    return found


@kernel
def write_gain(before, after, tables, gain):
    """Overwrite `gain` with what the mover of `before` and the owners of palaces have gained in `after`."""
    mover = before.current_player
    for seat in range(MAX_PLAYERS):
        gain.rupees[seat] = after.rupees[seat] - before.rupees[seat]
    gain.rupees[mover] += engine.fame_award(after, tables, mover) - engine.fame_award(before, tables, mover)
    gain.clients = engine.client_total(after, mover) - engine.client_total(before, mover)
    gain.palaces = before.palaces_left[mover] - after.palaces_left[mover]


@kernel
def forget(state, tables):
    """Clear what neither the turns that are left nor their gains depend on; of a stock, leave what these turns can use up."""
    left = turns_left(state, tables)
    for place in range(tables.num_players):
        forget_seat(state, tables, (state.first_player + place) % tables.num_players, place < tables.num_players - left)
    for site in range(tables.num_sites):
        near = distance_to_movers(state, tables, left, site)
        if near > tables.actions_per_turn:
            state.palace[site] = 0
        if near >= tables.actions_per_turn:  # no action is left there
            state.palace_token[site] = 0
            if tables.city_of_site[site] >= 0:
                state.demand[tables.city_of_site[site]] = 0
                state.city_piles[tables.city_of_site[site]] = 0
    for city in range(NUM_CITIES):
        state.city_piles[city] = min(np.int64(state.city_piles[city]), left)
    if state.client_supply != NO_LIMIT:
        most = left * tables.actions_per_turn * tables.sale_clients.max()
        state.client_supply = min(np.int64(state.client_supply), most)


@kernel
def forget_seat(state, tables, seat, done):
    """Clear the gains of a seat; if it is `done` and has no turn left, everything that it has."""
    most = 0 if done else tables.buys_per_turn * tables.market_rupees.max()
    state.rupees[seat] = min(np.int64(state.rupees[seat]), most)
    state.palaces_left[seat] = min(np.int64(state.palaces_left[seat]), 0 if done else tables.actions_per_turn)
    state.clients[seat] = 0
    state.client_palace_tokens[seat] = 0
    if done:
        state.position[seat] = 0
        state.basket[seat] = 0
        state.city_tokens[seat] = 0
        state.city_palace_tokens[seat] = 0


@kernel
def distance_to_movers(state, tables, left, site):
    """The fewest actions in which one of the seats with a turn left gets to `site`, at most one more than a turn has."""
    nearest = np.int64(tables.actions_per_turn + 1)
    for place in range(tables.num_players - left, tables.num_players):
        seat = (state.first_player + place) % tables.num_players
        nearest = min(nearest, np.int64(tables.distance[state.position[seat], site]))
    return nearest


# --- The search ---


@kernel
def search(graph, tables, leader, memory, after):
    """Walk all paths of `graph`, each mover choosing by each of the aims. `standing` is the first position.

    Row 0 then has what the first position leads to, and `after` (k,) the winners that its edges lead to if all are `PLAIN`.
    """
    end = len(graph.first) - 2
    depth = 0
    enter(memory, 0, 0, graph.first[0])
    while True:
        node, edge = memory.node[depth], memory.edge[depth]
        if edge < graph.first[node + 1]:
            add_gain(tables, memory, depth, graph.gain[edge], 1)
            depth += 1
            child = graph.child[edge]
            enter(memory, depth, child, graph.first[child])
            if child == end:
                settle(tables, memory, memory.row[depth])
        elif depth == 0:
            return
        else:
            if depth == 1:
                after[memory.edge[0]] = memory.row[1].winners[PLAIN]
            depth -= 1
            take_if_better(tables, leader, memory, depth)
            add_gain(tables, memory, depth, graph.gain[memory.edge[depth]], -1)
            memory.edge[depth] += 1


@kernel
def enter(memory, depth, node, edge):
    """Begin at `depth` with the first edge of a node."""
    memory.node[depth] = node
    memory.edge[depth] = edge
    for aim in range(len(AIMS)):
        memory.row[depth].best[aim] = LOWEST


@kernel
def add_gain(tables, memory, depth, gain, times):
    """Add a gain of the mover at `depth` to the standing; with `times` −1, take it back."""
    standing = memory.standing
    mover = mover_at(tables, memory, depth)
    for seat in range(tables.num_players):
        standing.rupees[seat] += times * gain.rupees[seat]
    standing.clients[mover] += times * gain.clients
    standing.palaces_left[mover] -= times * gain.palaces


@kernel
def mover_at(tables, memory, depth):
    """The seat to move at `depth`."""
    return (memory.standing.current_player + depth) % tables.num_players


@kernel
def settle(tables, memory, row):
    """Overwrite `row` with the result of the standing, for all aims."""
    engine.settle(memory.standing, tables, memory.result)
    winners = 0
    for seat in range(tables.num_players):
        winners |= np.int64(memory.result.winners[seat]) << seat
    for aim in range(len(AIMS)):
        row.winners[aim] = winners
        for seat in range(tables.num_players):
            row.final[aim, seat] = memory.result.final[seat]


@kernel
def take_if_better(tables, leader, memory, depth):
    """Let the mover at `depth` choose, by each aim, between its best edge so far and the one at hand, which is one row deeper."""
    mover = mover_at(tables, memory, depth)
    row, below = memory.row[depth], memory.row[depth + 1]
    for aim in range(len(AIMS)):
        value = utility(tables, below.winners[aim], below.final[aim], mover, leader, WISH[aim])
        if value > row.best[aim]:
            if depth == 0 and aim == PLAIN:
                memory.chosen = memory.edge[0]
            row.best[aim] = value
            row.winners[aim] = below.winners[aim]
            for seat in range(tables.num_players):
                row.final[aim, seat] = below.final[aim, seat]


@kernel
def utility(tables, winners, final, mover, leader, wish):
    """What a result is worth to the mover: its own share of the win, then the leader's, which it may wish or not, then margin."""
    margin = tables.num_players * final[mover]
    for seat in range(tables.num_players):
        margin -= final[seat]
    share = SHARE_OF[winners]
    shares = 2 * WHOLE * share * (winners >> mover & 1) + wish * share * (winners >> leader & 1)
    return SHARES_FIRST * shares + margin
