"""`SearchAgent`: a max^n tree over whole turns, and the exact solution where the game is nearly over.

It thinks once a turn, for a number of milliseconds or, to be repeatable, for a number of nodes. The tree is `tree.py`'s, the
values at its leaves are `evaluation.py`'s, the endings `endgame.py`'s.
"""

import time
from typing import Any, Final

import numpy as np

from bombay_agents import endgame, planner, playouts, tree, turns
from bombay_agents.turn_agent import TurnAgent
from bombay_env import Game

DEFAULT_MS: Final = 100.0
MAX_MS: Final = 60_000.0
MAX_NODES: Final = 1_000_000
NODES_PER_MS: Final = 100  # more than any machine grows: how much room a search by the clock makes
MAX_ROUNDS: Final = 100
SLICE: Final = 16  # iterations between two looks at the clock
ENDGAME_SHARE: Final = 0.5  # of the budget that an attempt to solve the ending may take
LAYOUTS_PER_MS: Final = 40  # turns laid out in a millisecond, cautiously
LAYOUTS_PER_NODE: Final = 4  # turns laid out in the time of one node of the tree


class SearchAgent(TurnAgent):
    """The turn that a tree search visits most.

    Args:
        ms: milliseconds a turn. Not with `nodes`; 100 if neither is given.
        nodes: iterations a turn instead; the same position, key and number give the same turn.
        rounds: turns that each seat takes beyond the tree, as planners do, before the value is asked.
    """

    def __init__(self, ms: float | None = None, nodes: int | None = None, rounds: int = 1) -> None:
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
        self.ms, self.nodes, self.rounds = ms, nodes, rounds
        self.name = f"search:nodes={nodes}" if nodes is not None else f"search:ms={ms:g}"
        self.judgement = tree.Judgement()

    def prepare(self, game: Game) -> turns.TurnSpace:
        """Make the tree and what goes with it."""
        size = self.nodes if self.nodes is not None else int(min(MAX_NODES, (self.ms or 0) * NODES_PER_MS + SLICE))
        self.planner = planner.new_space(game)
        self.endgame = endgame.new_space(game, self.planner.turn)
        playout = playouts.new_playout(game, self.planner, self.rounds)
        self.search = tree.Search(tree.new_tree(game, size + 1), playout, self.judgement)
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
        if self.nodes is not None:
            tree.grow(tables, self.search, key, self.nodes)
        else:
            while time.perf_counter() - start < (self.ms or 0) / 1000:
                if tree.grow(tables, self.search, key, SLICE) < SLICE:
                    break
        return self._node_of(game, state, tree.best_edge(self.search.tree))

    def _endgame_limit(self) -> int:
        """Most turns to lay out in an attempt to solve the ending."""
        budget = self.nodes * LAYOUTS_PER_NODE if self.nodes is not None else (self.ms or 0) * LAYOUTS_PER_MS
        return max(1, int(budget * ENDGAME_SHARE))

    def _node_of(self, game: Game, state: Any, edge: int) -> int:
        """The node of the mover's turn, laid out again, that an edge of the root leads to."""
        count = turns.enumerate_turn(state, game.tables[0], self.planner.turn)
        wanted = self.search.tree.edge_states[edge].tobytes()
        return next(node for node in range(count) if self.planner.turn.states[node].tobytes() == wanted)
