"""`ChampionAgent`: the tree of `zero-search`, in which rivals sometimes take the turn of the scripted planner.

A max^n search takes every rival for one that plays by the same net and searches as deeply. Real rivals differ. Here part of the
simulations through a rival's position follow the turn that `planner-v1` would take there, and the others follow the tree, so that
a plan must stand up to both. The tree also explores more than that of `zero-search`, so it considers more turns of the rivals.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.scripted import planner
from bombay_agents.scripted.planner import PlannerWorkspace
from bombay_agents.scripted.planner_weights import WEIGHTS_V1, PlannerWeights
from bombay_agents.search import zero_tree
from bombay_agents.search.zero_agent import DEFAULT_K, ZeroSearchAgent
from bombay_env import Game
from bombay_env.jit.kernels import kernel

DEFAULT_MODEL_SHARE: Final = 0.25
EXPLORATION: Final = 0.5  # as in `zero_tree.SearchParams`, chosen for this player
TEMPERATURE: Final = 0.3


class OpponentModel(NamedTuple):
    """The planner, whose turns rivals are expected to take; for one thread at a time."""

    weights: PlannerWeights
    plan: PlannerWorkspace


class ChampionAgent(ZeroSearchAgent):
    """The turn that a tree search by a `zero` net finds best if rivals sometimes play as the scripted planner does.

    Args:
        player: the player of the net.
        ms: as for `ZeroSearchAgent`.
        nodes: likewise.
        k: likewise.
        model_share: part of the simulations through a rival's position that follow the planner's turn, from 0 to 1.
    Raises:
        ValueError: a number is out of range.
    """

    memory = (*ZeroSearchAgent.memory, "model")

    def __init__(
        self,
        player: ZeroAgent,
        ms: float | None = None,
        nodes: int | None = None,
        k: int = DEFAULT_K,
        model_share: float = DEFAULT_MODEL_SHARE,
    ) -> None:
        params = {"exploration": EXPLORATION, "temperature": TEMPERATURE, "model_share": model_share}
        super().__init__(player, ms, nodes, k, who="champion", **params)
        self.model_share = model_share

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the tree and the other memory.

        Raises:
            ValueError: as `ZeroAgent.check_game`.
        """
        self.model = OpponentModel(WEIGHTS_V1[game.num_players], planner.new_workspace(game))
        return super().prepare(game)

    def simulate(self, tables: np.void, key: np.uint64, edges: np.ndarray, each: int) -> int:
        """Run `each` simulations along each of some edges of the root; see `run`."""
        return run(tables, self.search, self.model, key, edges, each)


@kernel
def run(tables, search, model, key, edges, each):
    """Run simulations as `zero_tree.run` does, and note the turn expected at each new position of a rival."""
    tree, done = search.tree, 0
    for place in range(len(edges)):
        for _ in range(each):
            node = tree.count[0]
            number = zero_tree.run(tables, search, key, edges[place : place + 1], 1)
            if number == turns.TOO_MANY:
                return turns.TOO_MANY
            done += number
            if search.params.model_share > 0 and tree.count[0] > node and tree.mover[node] != tree.mover[0]:
                note_expected(tables, search, model, node)
    return done


@kernel
def note_expected(tables, search, model, node):
    """Note the planner's turn at the newest node, whose turn is laid out; none if its outcome is not among the edges."""
    tree = search.tree
    wanted = planner.plan_turn(search.turn[0].memory.node[0].state, tables, model.weights, model.plan)
    for place in range(tree.num_edges[node]):
        if search.best[place] == wanted:  # both enumerate the turn in the same order
            tree.expected[node] = tree.first_edge[node] + place
