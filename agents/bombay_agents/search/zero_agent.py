"""`ZeroSearchAgent`: a max^n tree over whole turns by a `zero` net alone. It plans once a turn, for a time or a number of nodes.

`zero_tree.py` has the tree. Uses nothing but the rules and the net.
"""

import numbers
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets.value_net import MARGIN_UNIT
from bombay_agents.nets.zero import valuation
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.search import budget, zero_tree
from bombay_agents.search.halving import best_by_halving
from bombay_agents.search.zero_tree import MAX_DEPTH, MAX_EDGES, SearchParams, ZeroSearch
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game
from bombay_env.checks import shown, whole_number
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY

DEFAULT_MS: Final = 100.0
DEFAULT_K: Final = 8
NODES_PER_MS: Final = 100  # room in the tree for a budget in ms: more than was ever measured


PARAM_RANGES: Final = {  # of the numbers that are not whole; beyond them nothing sensible is searched
    "exploration": (0.0, 1e3),
    "temperature": (1e-3, 1e3),
    "widening": (0.0, 1e3),
    "own_visits": (1e-3, 1e6),
    "model_share": (0.0, 1.0),
}


class ValuedTurn(NamedTuple):
    """A turn that a search compared with others, and what it expects of it."""

    actions: tuple[int, ...]  # of the rest of the turn
    state: np.ndarray  # (1,) record: the outcome, before any restock
    win_share: np.ndarray  # (n,) float64, by seat
    margin: np.ndarray  # (n,) float64, final rupees less the mean of all seats
    visits: int  # simulations


class ZeroSearchAgent(TurnAgent):
    """The turn that a tree search by a `zero` net finds best.

    Args:
        player: the player of the net.
        ms: milliseconds a turn, above 0, up to 60000; by default 100. Not with `nodes`.
        nodes: simulations a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        k: number of turns compared at the root, from 1 to 16.
        who: name of the agent, for messages.
        params: of the tree but for `share_weight`, which is the net's; by default those of `SearchParams`.
    Raises:
        ValueError: a number is out of range.
    """

    memory = (*TurnAgent.memory, "search")

    def __init__(
        self,
        player: ZeroAgent,
        ms: float | None = None,
        nodes: int | None = None,
        k: int = DEFAULT_K,
        who: str = "zero-search",
        **params: float,
    ) -> None:
        super().__init__()
        self.ms, self.nodes = budget.check(who, ms, nodes, DEFAULT_MS)
        self.k, self.player = whole_number(k, f"{who}: k", 1, MAX_EDGES), player
        _check_params(who, params)
        self.params = SearchParams(np.float32(player.net.share_weight), **params)  # type: ignore[arg-type]
        self.name = f"{who} of {player.name}"

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the tree and the other memory.

        Raises:
            ValueError: as `ZeroAgent.check_game`.
        """
        self.player.check_game(game)
        net = self.player.net
        size = self.nodes if self.nodes is not None else int(min(budget.MAX_NODES, (self.ms or 0) * NODES_PER_MS))
        turn = valuation.new_turn_workspaces(game, *net.units, 1)
        self.search = ZeroSearch(
            zero_tree.new_tree(game, size + 1), net.record(), turn, np.zeros(MAX_EDGES, np.int64), self.params
        )
        return turns.workspace_in(turn["memory"])

    def simulate(self, tables: np.void, key: np.uint64, edges: np.ndarray, each: int) -> int:
        """Run `each` simulations along each of some edges of the root; see `zero_tree.run`."""
        return zero_tree.run(tables, self.search, key, edges, each)

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Search, then enumerate the turn again to find the node of the outcome chosen."""
        search = self.search
        best = self._best_edge(game, state, key)
        workspace = turns.workspace_in(search.turn["memory"])
        count = turns.enumerate_turn(state, game.tables[0], workspace)
        return turns.find_state(workspace, count, search.tree.edge_states[search.tree.first_edge[0] + best])

    def best_turns(self, game: Game, state: np.ndarray, rng: np.random.Generator, most: int = 3) -> list[ValuedTurn]:
        """Search as `act` does and return the best turns that were compared, the chosen one first.

        The others follow by their number of simulations, as the worse half drops out after each stage, then by their value.

        Args:
            game: that of the state.
            state: (1,) record of a game that is not over, unchanged; its seed is not used.
            rng: decides all random choices.
            most: how many turns, at least 1.

        Raises:
            ValueError: as `prepare`, or the game is over.
            OverflowError: the turn has too many states; see `turns.distinct_turns`.
        """
        record = np.array(game.as_record(state)).reshape(1)[0]  # a copy
        record["seed"] = 0
        if record["current_player"] == NOBODY:
            raise ValueError("the game is over: there is no turn to value")
        self.make_ready(game)
        best = self._best_edge(game, record, rng.integers(1 << 64, dtype=np.uint64))
        tree = self.search.tree
        edges = np.arange(min(self.k, int(tree.num_edges[0])))
        visits = tree.edge_visits[tree.first_edge[0] + edges]
        order = np.lexsort((-zero_tree.root_means(self.search, edges), -visits, edges != best))
        workspace = turns.workspace_in(self.search.turn["memory"])
        count = turns.enumerate_turn(record, game.tables[0], workspace)
        return [self._valued(game, workspace, count, int(edge)) for edge in order[:most]]

    def _best_edge(self, game: Game, state: Any, key: np.uint64) -> int:
        """Search from a record; the best edge of the root, counted from its first."""
        start, tables, search = time.perf_counter(), game.tables[0], self.search
        edges = turns.check_count(zero_tree.init(state, tables, search))
        return best_by_halving(
            min(self.k, edges),
            lambda edges, each: turns.check_count(self.simulate(tables, key, edges, each)),
            lambda edges: zero_tree.root_means(search, edges),
            self.nodes,
            (self.ms or 0) / 1000 - (time.perf_counter() - start),
        )

    def _valued(self, game: Game, workspace: turns.TurnWorkspace, count: int, edge: int) -> ValuedTurn:
        """The turn of an edge of the root, counted from its first, with its value. The turn is enumerated in `workspace`."""
        tree, place = self.search.tree, self.search.tree.first_edge[0] + edge
        node = turns.find_state(workspace, count, tree.edge_states[place])
        path = np.empty(turns.MAX_DECISIONS, np.int64)
        actions = path[: turns.way_to(workspace, node, path)]
        weight = self.search.params.own_visits
        means = (tree.edge_total[place] + weight * tree.edge_value[place]) / (tree.edge_visits[place] + weight)
        n = game.num_players
        return ValuedTurn(
            tuple(actions.tolist()),
            tree.edge_states[place : place + 1].copy(),
            means[MAX_PLAYERS : MAX_PLAYERS + n].copy(),
            MARGIN_UNIT * means[:n],
            int(tree.edge_visits[place]),
        )


def _check_params(who: str, params: Mapping[str, float]) -> None:
    """Raise ValueError unless the tunable numbers of a tree are in range. Kernels do not check them."""
    for name, value in params.items():
        if name == "depth":
            whole_number(value, f"{who}: depth", 1, MAX_DEPTH)
        elif name in PARAM_RANGES:
            low, high = PARAM_RANGES[name]
            if isinstance(value, bool) or not isinstance(value, numbers.Real) or not low <= value <= high:
                raise ValueError(f"{who}: {name} is {shown(value)}; it must be from {low:g} to {high:g}")
        else:
            raise ValueError(f"{who} has no number {name!r}; it has depth, {', '.join(PARAM_RANGES)}")
