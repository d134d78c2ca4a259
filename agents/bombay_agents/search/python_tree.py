"""The search of `tree.py` in NumPy, for evaluators written in Python: slower, but any framework will do.

The rules are the same, and so are the restocks: with the values of a compiled evaluator it takes the same decisions. Here a seat
has one number for its utility, whatever the evaluator returns, instead of a margin and a share.
"""

import dataclasses
from typing import Any

import numpy as np

from bombay_agents import turns
from bombay_agents.search.tree import MAX_DEPTH, MAX_EDGES, RESTOCKS, SearchParams
from bombay_agents.turns.evaluator import PythonEvaluator
from bombay_env import Game, batch, chance, streams
from bombay_env.agent import describe_error
from bombay_env.checks import message
from bombay_env.rules import NUM_COLOURS
from bombay_env.state import NOBODY


@dataclasses.dataclass
class Node:
    """A position between turns, and its E edges, best first."""

    mover: int
    states: np.ndarray  # (E,) records: the outcomes, before any restock
    restock_due: np.ndarray  # (E,) bool
    values: np.ndarray  # (E, n) float64, by the evaluator
    prior: np.ndarray  # (E,) float64
    total: np.ndarray  # (E, n) float64, sum of the values where simulations ended
    visits: np.ndarray  # (E,) int64
    children: dict[tuple[int, int], "Node"] = dataclasses.field(
        default_factory=dict
    )  # by edge and number of the restock


class PythonSearch:
    """A tree search in `game`.

    Args:
        game: what is played.
        evaluator: values positions.
        max_nodes: a tree of this many nodes stops growing.
        params: as for `tree.py`; `share_weight` is not used.

    Attributes:
        workspace: holds the turn of the root.
        root_nodes: (edges,) int64, the node in that turn of each edge of the root.
    """

    def __init__(self, game: Game, evaluator: PythonEvaluator, max_nodes: int, params: SearchParams) -> None:
        self.game, self.evaluator, self.max_nodes, self.params = game, evaluator, max_nodes, params
        self.workspace, self._other = turns.new_workspace(game), turns.new_workspace(game)
        self._position = np.zeros(1, game.state_dtype)

    def init(self, state: Any) -> int:
        """Start a new tree at a state, a record. Returns the number of the root's edges."""
        self.num_nodes = 0
        self.root, self.root_nodes = self._add_node(state, self.workspace)
        return len(self.root_nodes)

    def run(self, key: np.uint64, edges: np.ndarray, each: int) -> int:
        """Run `each` simulations along each of the root's `edges`; none once the tree is full. Returns their number."""
        done = 0
        for edge in np.repeat(edges, each):
            if self.num_nodes < self.max_nodes:
                self._simulate(key, int(edge))
                done += 1
        return done

    def root_means(self, edges: np.ndarray) -> np.ndarray:
        """The mover's mean utilities of edges of the root, (k,) float64."""
        return self._means(self.root)[edges]

    def _simulate(self, key: np.uint64, edge: int) -> None:
        """Follow the tree from the root along `edge` to a new node, and back its value up."""
        node, path = self.root, [(self.root, edge)]
        while True:
            if node.states[edge]["current_player"] == NOBODY or len(path) >= MAX_DEPTH:
                leaf = node.values[edge]
                break
            number = int(node.visits[edge]) % RESTOCKS if node.restock_due[edge] else 0
            if (edge, number) not in node.children:
                child, _ = self._add_node(self._after(node, edge, number, key), self._other)
                node.children[edge, number] = child
                leaf = child.values[0]  # of the best edge
                break
            node = node.children[edge, number]
            edge = self._choose_edge(node)
            path.append((node, edge))
        for node, edge in path:
            node.visits[edge] += 1
            node.total[edge] += leaf

    def _after(self, node: Node, edge: int, number: int, key: np.uint64) -> Any:
        """The position after an edge, a record; where a restock is due, after the one with this number."""
        self._position[0] = node.states[edge]
        state = self._position[0]
        if node.restock_due[edge]:
            state["seed"] = chance.random_word(key, streams.TREE_RESTOCKS, np.uint64(number))
            batch.restock(state, self.game.tables[0], np.zeros(NUM_COLOURS, np.int64))
            state["seed"] = 0
        return state

    def _add_node(self, state: Any, workspace: turns.TurnWorkspace) -> tuple[Node, np.ndarray]:
        """The node of a state, a record, whose turn is laid out in `workspace`. Also the node in that turn of each edge."""
        self.num_nodes += 1
        count = turns.check_count(turns.enumerate_turn(state, self.game.tables[0], workspace))
        outcomes = np.flatnonzero(workspace.due[:count] != turns.TURN_GOES_ON)
        mover = int(state["current_player"])
        states = workspace.states[outcomes].view(self.game.state_dtype, np.ndarray)
        values = self._values(states)
        best = np.argsort(-values[:, mover], kind="stable")[:MAX_EDGES]
        values = values[best]
        prior = np.exp((values[:, mover] - values[0, mover]) / self.params.temperature)
        due = workspace.due[outcomes[best]] == turns.RESTOCK_DUE
        zeros = np.zeros(len(best), np.int64)
        node = Node(mover, states[best].copy(), due, values, prior / prior.sum(), np.zeros_like(values), zeros)
        return node, outcomes[best]

    def _values(self, states: np.ndarray) -> np.ndarray:
        """What each seat may expect of outcomes, (k, n) float64. Raises ValueError as `_checked`."""
        values = np.zeros((len(states), self.game.num_players))
        over = states["current_player"] == NOBODY
        if not over.all():
            values[~over] = self._checked("values", states[~over])
        if over.any() and hasattr(self.evaluator, "results"):
            values[over] = self._checked("results", states[over])
        elif over.any():
            values[over] = self.game.results(states[over])["win_share"]
        return values

    def _checked(self, method: str, states: np.ndarray) -> np.ndarray:
        """What a method of the evaluator returns for some states.

        Raises:
            ValueError: it raised an exception, or returned no array of finite numbers, or one of another shape. One line.
        """
        who, shape = f"{type(self.evaluator).__name__}.{method}", (len(states), self.game.num_players)
        try:
            found = np.asarray(getattr(self.evaluator, method)(self.game, states), np.float64)
        except Exception as error:
            raise ValueError(message(f"{who}: {describe_error(error)}")) from error
        if found.shape != shape:
            rows = "a row for each state, a number for each seat"
            raise ValueError(f"{who} returned an array of shape {found.shape}; it must be of shape {shape}: {rows}")
        if not np.isfinite(found).all():
            raise ValueError(f"{who} returned numbers that are not finite")
        return found

    def _means(self, node: Node) -> np.ndarray:
        """The mover's mean utility of each edge: of its simulations and of the evaluator's own value."""
        own = self.params.own_visits
        return (node.total[:, node.mover] + own * node.values[:, node.mover]) / (node.visits + own)

    def _choose_edge(self, node: Node) -> int:
        """The edge to follow from a node below the root, by PUCT; its own first visit counts."""
        visits = 1 + node.visits.sum()
        considered = 2 + int(self.params.widening * np.sqrt(visits))
        bonus = self.params.exploration * np.sqrt(visits) * node.prior / (1 + node.visits)
        return int(np.argmax((self._means(node) + bonus)[:considered]))
