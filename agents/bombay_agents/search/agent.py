"""`SearchAgent`: plans each turn by a max^n tree search over whole turns, with any evaluator, for a time or a number of nodes.

`tree.py` has the tree for compiled evaluators, `python_tree.py` the same search for evaluators written in Python. `search`,
`zero-search` and `champion` are this agent. Nothing scripted is imported here.
"""

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.search import budget, tree
from bombay_agents.search.halving import best_by_halving
from bombay_agents.search.python_tree import PythonSearch
from bombay_agents.search.tree import DEFAULT_EXPLORATION, DEFAULT_TEMPERATURE, MAX_EDGES, SearchParams
from bombay_agents.turns.agent import TurnAgent
from bombay_agents.turns.evaluator import MARGIN_UNIT, HasEvaluator, PythonEvaluator
from bombay_env import Game
from bombay_env.agent import check_plays
from bombay_env.checks import number, whole_number
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY

DEFAULT_MS: Final = 100.0
DEFAULT_K: Final = 8
NODES_PER_MS: Final = 100  # room in the tree for a budget in ms: more than was ever measured
PARAM_RANGES: Final = {"exploration": (0.0, 1e3), "temperature": (1e-3, 1e3)}


class ValuedTurn(NamedTuple):
    """A turn that a search compared with others, and what it expects of it."""

    actions: tuple[int, ...]  # of the rest of the turn
    state: np.ndarray  # (1,) record: the outcome, before any restock
    win_share: np.ndarray  # (n,) float64, by seat
    margin: np.ndarray  # (n,) float64, final rupees less the mean of all seats
    visits: int  # simulations
    line: tuple[tuple[int, ...], ...]  # the turns of the next seats that the search expects; a restock ends it


class CompiledSearch:
    """The tree of `tree.py` in `game`, with an evaluator that has kernels."""

    def __init__(self, game: Game, evaluator: Any, max_nodes: int, params: SearchParams) -> None:
        self.tables = game.tables[0]
        self.search = tree.new_search(game, evaluator, max_nodes, params._replace(share_weight=evaluator.share_weight))
        self.workspace, self.root_nodes = turns.workspace_in(self.search.root["memory"]), self.search.root_nodes

    def init(self, state: Any) -> int:
        """Start a new tree at a state, a record. Returns the number of the root's edges."""
        return turns.check_count(tree.init(state, self.tables, self.search))

    def run(self, key: np.uint64, edges: np.ndarray, each: int) -> int:
        """Run `each` simulations along each of some edges of the root; see `tree.run`."""
        return turns.check_count(tree.run(self.tables, self.search, key, edges, each))

    def root_means(self, edges: np.ndarray) -> np.ndarray:
        """The mover's mean utilities of edges of the root, (k,) float64."""
        return tree.root_means(self.search, edges)


class SearchAgent(TurnAgent):
    """The turn that a tree search by an evaluator finds best.

    Args:
        value: an agent that has an evaluator, such as `planner-v1` or `zero`, or an evaluator written in Python.
        ms: milliseconds a turn, above 0, up to 60000; by default 100. Not with `nodes`.
        nodes: simulations a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        k: number of turns compared at the root, those that the evaluator values most, from 1 to 16.
        exploration: weight of the bonus for turns with a high prior and few visits, from 0 to 1000.
        temperature: of the prior, in units of utility, from 0.001 to 1000.
        who: name of the agent, for messages.
    Raises:
        ValueError: a number is out of range, or `value` values no positions.
    """

    memory = (*TurnAgent.memory, "search")

    def __init__(
        self,
        value: HasEvaluator | PythonEvaluator,
        ms: float | None = None,
        nodes: int | None = None,
        k: int = DEFAULT_K,
        exploration: float = DEFAULT_EXPLORATION,
        temperature: float = DEFAULT_TEMPERATURE,
        who: str = "search",
    ) -> None:
        super().__init__()
        if isinstance(value, type) or not isinstance(value, HasEvaluator | PythonEvaluator):
            shown = getattr(value, "name", type(value).__name__)
            raise ValueError(
                f"{who}: {shown!r} values no positions; take an agent that does, such as zero or planner-v1"
            )
        self.name, self.value = who, value
        self.ms, self.nodes = budget.check(who, ms, nodes, DEFAULT_MS)
        self.k = whole_number(k, f"{who}: k", 1, MAX_EDGES)
        given = {"exploration": exploration, "temperature": temperature}
        for name, (low, high) in PARAM_RANGES.items():
            given[name] = number(given[name], f"{who}: {name}", low, high)
        self.params = SearchParams(np.float32(1), **given)

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the tree and the other memory. With a budget in ms, also search once, which compiles or loads the kernels.

        Raises:
            ValueError: the evaluator cannot value this game.
        """
        size = self.nodes if self.nodes is not None else int(min(budget.MAX_NODES, (self.ms or 0) * NODES_PER_MS))
        self.search: CompiledSearch | PythonSearch
        if isinstance(self.value, PythonEvaluator):
            self.search = PythonSearch(game, self.value, size + 1, self.params)
        else:
            evaluator = self.value.evaluator(game)
            if not (hasattr(evaluator, "value_turn") and hasattr(evaluator, "share_weight")):
                kind = type(evaluator).__name__
                raise ValueError(f"{self.name}: a compiled evaluator has value_turn and share_weight; a {kind} has not")
            self.search = CompiledSearch(game, evaluator, size + 1, self.params)
        if self.ms is not None:
            self._best_edge(game.check_states(game.new_states([0]))[0], np.uint64(0), nodes=1)
        return self.search.workspace

    def check_game(self, game: Game) -> None:
        """Raise ValueError if the evaluator cannot value this game."""
        check_plays(self.value, game)

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """The node of the outcome that the search finds best."""
        best = self._best_edge(
            state, key, self.nodes
        )  # before `root_nodes` is read, as it may be another array afterwards
        return int(self.search.root_nodes[best])

    def best_turns(self, game: Game, state: np.ndarray, rng: np.random.Generator, most: int = 3) -> list[ValuedTurn]:
        """Search as `act` does and return the best turns that were compared, the chosen one first.

        The others follow by their number of simulations, as the worse half drops out after each stage, then by their value.

        Args:
            game: that of the state.
            state: (1,) record of a game that is not over, unchanged; its seed is not used.
            rng: decides all random choices.
            most: how many turns, at least 1.

        Raises:
            ValueError: as `prepare`; the game is over; or the evaluator is written in Python, so that it knows no margins.
            OverflowError: the turn has too many states; see `turns.distinct_turns`.
        """
        record = np.array(game.as_record(state)).reshape(1)[0]  # a copy
        record["seed"] = 0
        if record["current_player"] == NOBODY:
            raise ValueError("the game is over: there is no turn to value")
        with self.lock:
            self.make_ready(game)
            search = self.search
            if not isinstance(search, CompiledSearch):
                raise ValueError(f"{self.name} compares turns only with a compiled evaluator, such as that of zero")
            best = self._best_edge(record, rng.integers(1 << 64, dtype=np.uint64), self.nodes)
            found = search.search.tree
            edges = np.arange(min(self.k, int(found.num_edges[0])))
            order = np.lexsort((-search.root_means(edges), -found.edge_visits[edges], edges != best))
            return [self._valued(game, search, int(edge)) for edge in order[:most]]

    def _best_edge(self, state: Any, key: np.uint64, nodes: int | None) -> int:
        """Search from a record, for `ms` if `nodes` is None; the best edge of the root, counted from its first."""
        start, search = time.perf_counter(), self.search
        edges = search.init(state)
        return best_by_halving(
            min(self.k, edges),
            lambda chosen, each: search.run(key, chosen, each),
            search.root_means,
            nodes,
            (self.ms or 0) / 1000 - (time.perf_counter() - start),
        )

    def _valued(self, game: Game, search: CompiledSearch, edge: int) -> ValuedTurn:
        """The turn of an edge of the root, with its value."""
        found, weight, n = search.search.tree, self.params.own_visits, game.num_players
        path = np.empty(turns.MAX_DECISIONS, np.int64)
        actions = path[: turns.way_to(search.workspace, search.root_nodes[edge], path)]
        means = (found.edge_total[edge] + weight * found.edge_value[edge]) / (found.edge_visits[edge] + weight)
        return ValuedTurn(
            tuple(actions.tolist()),
            found.edge_states[edge : edge + 1].copy(),
            means[MAX_PLAYERS : MAX_PLAYERS + n].copy(),
            MARGIN_UNIT * means[:n],
            int(found.edge_visits[edge]),
            tuple(_expected(game, found, edge)),
        )


def _expected(game: Game, found: tree.Tree, edge: int) -> Iterator[tuple[int, ...]]:
    """The actions of the turns after `edge` that were simulated most, up to the mover's next turn or the next restock.

    Of turns that were not simulated yet, the one that the evaluator values most is next.
    """
    for _ in range(game.num_players):
        child = found.edge_child[edge]
        if found.edge_due[edge] == turns.RESTOCK_DUE or child == tree.NEW:
            return
        before, first = found.edge_states[edge : edge + 1], int(found.first_edge[child])
        edge = first + int(found.edge_visits[first : first + found.num_edges[child]].argmax())
        outcome = found.edge_states[edge].tobytes()
        yield next(turn.actions for turn in turns.distinct_turns(game, before) if turn.state.tobytes() == outcome)
