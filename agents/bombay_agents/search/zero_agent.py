"""`ZeroSearchAgent`: a max^n tree over whole turns by a `zero` net alone. It plans once a turn, for a time or a number of nodes.

`zero_tree.py` has the tree. Uses nothing but the rules and the net.
"""

import time
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets.zero import valuation
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.search import zero_tree
from bombay_agents.search.halving import best_by_halving
from bombay_agents.search.zero_tree import MAX_EDGES, SearchParams, ZeroSearch
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game

DEFAULT_MS: Final = 100.0
DEFAULT_K: Final = 8
MAX_MS: Final = 60_000.0
MAX_NODES: Final = 1_000_000
NODES_PER_MS: Final = 100  # room in the tree for a budget in ms: more than was ever measured


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
        if ms is not None and nodes is not None:
            raise ValueError(f"{who} takes ms or nodes, not both")
        if nodes is None:
            ms = DEFAULT_MS if ms is None else ms
        if ms is not None and not 0 < ms <= MAX_MS:
            raise ValueError(f"{who}: ms is {ms}; it must be above 0, up to {MAX_MS:.0f}")
        if nodes is not None and not 1 <= nodes <= MAX_NODES:
            raise ValueError(f"{who}: nodes is {nodes}; it must be from 1 to {MAX_NODES}")
        if not 1 <= k <= MAX_EDGES:
            raise ValueError(f"{who}: k is {k}; it must be from 1 to {MAX_EDGES}")
        self.ms, self.nodes, self.k, self.player = ms, nodes, k, player
        self.params = SearchParams(np.float32(player.net.share_weight), **params)  # type: ignore[arg-type]
        self.name = f"{who} of {player.name}"

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the tree and the other memory.

        Raises:
            ValueError: as `ZeroAgent.check_game`.
        """
        self.player.check_game(game)
        net = self.player.net
        size = self.nodes if self.nodes is not None else int(min(MAX_NODES, (self.ms or 0) * NODES_PER_MS))
        turn = valuation.new_turn_workspaces(game, net.hidden, net.second.shape[1], 1)
        self.search = ZeroSearch(
            zero_tree.new_tree(game, size + 1), net.record(), turn, np.zeros(MAX_EDGES, np.int64), self.params
        )
        return turns.workspace_in(turn["memory"])

    def simulate(self, tables: np.void, key: np.uint64, edges: np.ndarray, each: int) -> int:
        """Run `each` simulations along each of some edges of the root; see `zero_tree.run`."""
        return zero_tree.run(tables, self.search, key, edges, each)

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Search, then enumerate the turn again to find the node of the outcome chosen."""
        start, tables, search = time.perf_counter(), game.tables[0], self.search
        edges = turns.check_count(zero_tree.init(state, tables, search))
        best = best_by_halving(
            min(self.k, edges),
            lambda edges, each: turns.check_count(self.simulate(tables, key, edges, each)),
            lambda edges: zero_tree.root_means(search, edges),
            self.nodes,
            (self.ms or 0) / 1000 - (time.perf_counter() - start),
        )
        workspace = turns.workspace_in(search.turn["memory"])
        count = turns.enumerate_turn(state, tables, workspace)
        return turns.find_state(workspace, count, search.tree.edge_states[search.tree.first_edge[0] + best])
