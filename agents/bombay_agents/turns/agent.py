"""`TurnAgent`: what agents share that think once a turn and then carry the turn out decision by decision.

A plan is kept under the bytes of the states it leads through, the seed aside, as the next decision comes with a copy that has
another. A state that no plan leads through is thought about anew.
"""

import inspect
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_env import Game
from bombay_env.agent import Agent

MAX_KEPT: Final = 65_536  # states with a decision kept, the latest


def name_of(agent: Any, kind: str, options: Sequence[str], **within: Agent | None) -> str:
    """The spec that makes an agent of its `kind`: its options but for those at their defaults, and the agents within it."""
    defaults = inspect.signature(type(agent)).parameters
    told = {name: getattr(agent, name) for name in options}
    parts = [f"{name}={str(told[name]).lower()}" for name in options if told[name] != defaults[name].default]
    parts += [f"{name}=[{inner.name}]" for name, inner in within.items() if inner]
    return f"{kind}:{','.join(parts)}"


class TurnAgent(ABC):
    """An agent that chooses among the outcomes of a turn; `choose` says which.

    Attributes:
        name: what tables and records call it.
    """

    name: str

    def __init__(self) -> None:
        self._game: Game | None = None  # that was prepared for
        self._turn: Any = None  # the turn last thought about, a `turns.TurnWorkspace`
        self._kept: OrderedDict[bytes, int] = OrderedDict()

    @abstractmethod
    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Make what thinking about `game` needs; called before the first state of a game that is not the one before.

        Returns:
            The memory in which `choose` lays turns out.
        """

    @abstractmethod
    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Lay out the turn of `state`, a record, and return the node of the outcome to play for.

        Args:
            key: for all randomness of the decision.
        """

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64."""
        if game is not self._game:
            self._turn = self.prepare(game)
            self._game = game
            self._kept.clear()
        records = np.array(states).view(game.state_dtype, np.ndarray)  # a copy, without the seeds
        records["seed"] = 0
        keys = rng.integers(1 << 64, size=len(records), dtype=np.uint64)
        actions = np.empty(len(records), np.int64)
        for lane in range(len(records)):
            kept = self._kept.get(records[lane].tobytes())
            actions[lane] = self._plan(game, records[lane], keys[lane]) if kept is None else kept
        return actions

    def _plan(self, game: Game, state: Any, key: np.uint64) -> int:
        """Think about the turn from `state`, keep the decisions after the first, and return that."""
        node = self.choose(game, state, key)
        turn = self._turn
        following = int(turn.action[node])
        node = int(turn.parent[node])
        while turn.parent[node] != turns.NO_NODE:
            self._kept[turn.states[node].tobytes()] = following
            following = int(turn.action[node])
            node = int(turn.parent[node])
        while len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return following
