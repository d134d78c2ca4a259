"""`SearchAgent`: a max^n tree over whole turns, and the exact solution where the game is nearly over.

It thinks once a turn, for a number of milliseconds or, to be repeatable, for a number of nodes. The tree is `tree.py`'s, the
values at its leaves are `evaluation.py`'s, the endings `endgame.py`'s.
"""

import time
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner
from bombay_agents.search import endgame, rollouts, tree
from bombay_agents.search.halving import best_by_halving
from bombay_agents.turns.agent import TurnAgent, name_of
from bombay_env import Game
from bombay_env.agent import Agent

DEFAULT_MS: Final = 100.0
MAX_MS: Final = 60_000.0
MAX_NODES: Final = 1_000_000
NODES_PER_MS: Final = 500  # several times what was seen to grow: how much room a search by the clock makes
MAX_ROUNDS: Final = 100
MIN_PRIOR: Final = 0.01  # rupees
MAX_PRIOR: Final = 100.0
ENDGAME_SHARE: Final = 0.5  # of the budget that an attempt to solve the ending may take
LAYOUTS_PER_MS: Final = 40  # turns laid out in a millisecond, cautiously
LAYOUTS_PER_NODE: Final = 4  # turns laid out in the time of one node of the tree


class SearchAgent(TurnAgent):
    """The turn that a tree search finds best.

    Args:
        ms: milliseconds a turn. Not with `nodes`; 100 if neither is given.
        nodes: iterations a turn instead; the same position, key and number give the same turn.
        k: turns of the mover that are tried, those ranked highest.
        rounds: turns that each seat takes beyond the tree, as planners do, before the value is asked.
        restock: whether to look into the next set; if not, the value is asked where a set ends.
        prior: rupees; a turn worth so much less to its mover than the best is looked at 1/e as eagerly.
        value: an agent that values positions, `planner-v1` unless given.
        ranker: an agent that values positions and says what turns in the tree are worth to their movers, of the dozen that the
            planner's value ranks highest; this value itself unless given.
    """

    def __init__(
        self,
        ms: float | None = None,
        nodes: int | None = None,
        k: int = 8,
        rounds: int = 2,
        restock: bool = True,
        prior: float = tree.SearchParams().prior_rupees,
        value: Agent | None = None,
        ranker: Agent | None = None,
    ) -> None:
        super().__init__()
        if ms is not None and nodes is not None:
            raise ValueError("search takes ms or nodes, not both")
        if nodes is None:
            ms = DEFAULT_MS if ms is None else ms
        if ms is not None and not 0 < ms <= MAX_MS:
            raise ValueError(f"search: ms is {ms}; it must be above 0, up to {MAX_MS:.0f}")
        if nodes is not None and not 1 <= nodes <= MAX_NODES:
            raise ValueError(f"search: nodes is {nodes}; it must be from 1 to {MAX_NODES}")
        if not 0 <= rounds <= MAX_ROUNDS:
            raise ValueError(f"search: rounds is {rounds}; it must be from 0 to {MAX_ROUNDS}")
        if not 1 <= k <= tree.EDGES_PER_NODE:
            raise ValueError(f"search: k is {k}; it must be from 1 to {tree.EDGES_PER_NODE}")
        if not MIN_PRIOR <= prior <= MAX_PRIOR:
            raise ValueError(f"search: prior is {prior}; it must be from {MIN_PRIOR} to {MAX_PRIOR:.0f}")
        self.ms, self.nodes, self.k, self.rounds, self.restock, self.prior = ms, nodes, k, rounds, restock, prior
        self.values = rollouts.values_of(value, "search")
        self.ranker = None if ranker is None else rollouts.values_of(ranker, "search")
        self.name = name_of(
            self, "search", ("ms", "nodes", "k", "rounds", "restock", "prior"), value=value, ranker=ranker
        )
        self.params = tree.SearchParams(prior_rupees=float(prior))

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Make the tree and what goes with it."""
        size = self.nodes if self.nodes is not None else int(min(MAX_NODES, (self.ms or 0) * NODES_PER_MS))
        self.planner = planner.new_workspace(game)
        self.endgame = endgame.new_workspace(game, self.planner.turn)
        playout = rollouts.new_playout(game, self.planner, self.values.evaluator(game), self.rounds, self.restock)
        ranker = self.ranker.evaluator(game) if self.ranker else None
        self.search = tree.Search(tree.new_tree(game, size + 1), playout, self.params, ranker)
        return self.planner.turn

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Search, and lay out the turn again for the outcome chosen."""
        start = time.perf_counter()
        tables = game.tables[0]
        if 0 < endgame.turns_left(state, tables) <= game.num_players:
            solved = endgame.solve_turn(state, tables, self._endgame_limit(), self.endgame)
            if solved != endgame.TOO_LARGE:
                turns.enumerate_turn(state, tables, self.planner.turn)
                return int(solved)
        turns.check_count(tree.plant(state, tables, self.search))
        grown = self.search.tree
        best = best_by_halving(
            min(self.k, int(grown.num_edges[0])),
            lambda edges, each: turns.check_count(tree.grow(tables, self.search, key, edges, each)),
            lambda edges: tree.root_averages(grown, edges),
            self.nodes,
            (self.ms or 0) / 1000 - (time.perf_counter() - start),
        )
        count = turns.enumerate_turn(state, tables, self.planner.turn)
        return turns.find_state(self.planner.turn, count, grown.edge_states[grown.first_edge[0] + best])

    def _endgame_limit(self) -> int:
        """Most turns to lay out in an attempt to solve the ending."""
        budget = self.nodes * LAYOUTS_PER_NODE if self.nodes is not None else (self.ms or 0) * LAYOUTS_PER_MS
        return max(1, int(budget * ENDGAME_SHARE))
