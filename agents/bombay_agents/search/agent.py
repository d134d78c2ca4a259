"""`SearchAgent`: a max^n tree over whole turns, and the exact solution where the game is nearly over.

It plans once a turn, for a number of milliseconds or, deterministically, for a number of simulations. `tree.py` has the tree,
`evaluation.py` the values at its leaves, and `endgame.py` the exact solution.
"""

import time
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner
from bombay_agents.search import budget, endgame, rollouts, tree
from bombay_agents.search.evaluation import new_evaluator, position_evaluator
from bombay_agents.search.halving import best_by_halving
from bombay_agents.search.proposals import MAX_PROPOSALS
from bombay_agents.turns.agent import TurnAgent, spec_of
from bombay_env import Game
from bombay_env.agent import Agent
from bombay_env.checks import whole_number

DEFAULT_MS: Final = 100.0
NODES_PER_MS: Final = 500  # room in the tree for a budget in ms: several times the nodes that were ever measured
MAX_ROUNDS: Final = 100
MIN_PRIOR: Final = 0.01  # rupees
MAX_PRIOR: Final = 100.0
ENDGAME_SHARE: Final = 0.5  # of the budget: what an attempt to solve the endgame may take
TURNS_PER_MS: Final = 40  # turns enumerated in a millisecond, a low estimate
TURNS_PER_NODE: Final = 4  # turns enumerated in the time of one simulation


class SearchAgent(TurnAgent):
    """The turn that a tree search over whole turns finds best; the last round is solved if half of the budget is enough.

    Args:
        ms: milliseconds a turn, above 0, up to 60000; by default 100. Not with `nodes`.
        nodes: simulations a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        k: number of turns compared at the root, those ranked highest, from 1 to 12; by default 8.
        rounds: turns that each seat plays, as a planner, from a new position before it is evaluated, from 0 to 100; by default 2.
        restock: whether to search beyond the end of the set, by default true; false evaluates the position where the set ends.
        prior: rupees, from 0.01 to 100; by default 0.5. The prior of a turn worth so much less to its mover than the best is
            divided by e.
        value: an agent in brackets whose value evaluates positions, such as `[td]`; by default `planner-v1`.
        ranker: an agent in brackets whose value ranks the twelve turns that the scripted value proposes at each node; by default
            the scripted value does.
    """

    memory = (*TurnAgent.memory, "planner", "endgame", "search")

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
        self.ms, self.nodes = budget.check("search", ms, nodes, DEFAULT_MS)
        self.rounds = whole_number(rounds, "search: rounds", 0, MAX_ROUNDS)
        self.k = whole_number(k, "search: k", 1, MAX_PROPOSALS)
        if not MIN_PRIOR <= prior <= MAX_PRIOR:
            raise ValueError(f"search: prior is {prior}; it must be from {MIN_PRIOR} to {MAX_PRIOR:.0f}")
        self.restock, self.prior = restock, prior
        self.value = position_evaluator(value, "search")
        self.ranker = None if ranker is None else position_evaluator(ranker, "search")
        self.name = spec_of(
            self, "search", ("ms", "nodes", "k", "rounds", "restock", "prior"), value=value, ranker=ranker
        )
        self.params = tree.SearchParams(prior_rupees=float(prior))

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the tree and the other memory.

        Raises:
            ValueError: `value` or `ranker` cannot value positions of this game.
        """
        size = self.nodes if self.nodes is not None else int(min(budget.MAX_NODES, (self.ms or 0) * NODES_PER_MS))
        self.planner = planner.new_workspace(game)
        self.endgame = endgame.new_workspace(game, self.planner.turn)
        evaluator = new_evaluator(game, self.value)
        rollout = rollouts.new_workspace(game, self.planner, evaluator, self.rounds, self.restock)
        ranker = new_evaluator(game, self.ranker) if self.ranker else None
        self.search = tree.Search(tree.new_tree(game, size + 1), rollout, self.params, ranker)
        return self.planner.turn

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Solve the endgame or search, then enumerate the turn again to find the node of the outcome chosen."""
        start = time.perf_counter()
        tables = game.tables[0]
        if 0 < endgame.turns_left(state, tables) <= game.num_players:
            solved = endgame.solve_turn(state, tables, self._endgame_limit(), self.endgame)
            if solved != endgame.TOO_LARGE:
                turns.enumerate_turn(state, tables, self.planner.turn)
                return int(solved)
        turns.check_count(tree.init(state, tables, self.search))
        searched = self.search.tree
        best = best_by_halving(
            min(self.k, int(searched.num_edges[0])),
            lambda edges, each: turns.check_count(tree.run(tables, self.search, key, edges, each)),
            lambda edges: tree.root_means(searched, edges),
            self.nodes,
            (self.ms or 0) / 1000 - (time.perf_counter() - start),
        )
        count = turns.enumerate_turn(state, tables, self.planner.turn)
        return turns.find_state(self.planner.turn, count, searched.edge_states[searched.first_edge[0] + best])

    def _endgame_limit(self) -> int:
        """Most turns to enumerate in an attempt to solve the endgame."""
        budget = self.nodes * TURNS_PER_NODE if self.nodes is not None else (self.ms or 0) * TURNS_PER_MS
        return max(1, int(budget * ENDGAME_SHARE))
