"""`TurnAgent`: the base class of agents that plan a whole turn and then carry it out decision by decision.

A plan is cached by the game (`lane_games`) and the bytes of the states on its path, with the seed zeroed, since the agent sees
each state with another seed. In a state that is on no cached path the agent plans again.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from typing import Any, ClassVar, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.memory import WithMemory
from bombay_env import Game
from bombay_env.agent import lane_games, lane_keys

MAX_CACHED: Final = 65_536  # states with a planned decision; the oldest are dropped
LANE_CACHED: Final = 8  # but so many are kept for each lane of the largest call


class TurnAgent(WithMemory, ABC):
    """An agent that chooses among the outcomes of a turn; subclasses implement `prepare` and `choose`.

    Attributes:
        name: what tables and records call it.
    """

    name: str
    memory: ClassVar[tuple[str, ...]] = ("_game", "_turn")

    def __init__(self) -> None:
        super().__init__()
        self._game: Game | None = None  # that `prepare` was called for
        self._turn: Any = None  # a `turns.TurnWorkspace` with the turn planned last
        self._most_cached = MAX_CACHED
        self._variants: dict[Game, bytes] = {}  # a number for each variant and board
        self._variant = b""  # that of the game it is ready for; hashing a game takes longer than most decisions
        self._cached: OrderedDict[bytes, int] = OrderedDict()  # decision by variant, game and state

    def __getstate__(self) -> dict[str, Any]:
        """The attributes of a copy, with plans of its own."""
        return super().__getstate__() | {"_cached": OrderedDict(), "_variants": {}}

    @abstractmethod
    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate what `choose` needs in `game`; called when the game differs from that of the call before.

        Returns:
            The memory in which `choose` enumerates turns.
        """

    @abstractmethod
    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Enumerate the turn of `state` in the memory that `prepare` returned, and return the node of the outcome to play for.

        Args:
            game: that of the state.
            state: a record, its seed zeroed.
            key: decides all random choices.
        """

    def make_ready(self, game: Game) -> None:
        """Prepare for `game` unless that is done. Raises what `prepare` raises."""
        if game != self._game:
            self._turn = self.prepare(game)
            self._game = game
            self._variant = self._variants.setdefault(game, len(self._variants).to_bytes(4, "little"))

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64.

        Raises:
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        records = game.check_states(states).copy()  # a copy, to zero the seeds
        records["seed"] = 0
        keys, games = lane_keys(rng, len(records)), lane_games(rng, len(records))
        actions = np.empty(len(records), np.int64)
        with self.lock:
            self.make_ready(game)
            for lane in range(len(records)):
                number = self._variant + games[lane].tobytes()
                cached = self._cached.get(number + records[lane].tobytes())
                actions[lane] = self._plan(game, records[lane], keys[lane], number) if cached is None else cached
            self._most_cached = max(self._most_cached, LANE_CACHED * len(records))
            while len(self._cached) > self._most_cached:
                self._cached.popitem(last=False)
        return actions

    def _plan(self, game: Game, state: Any, key: np.uint64, number: bytes) -> int:
        """Plan the turn from `state`, cache its later decisions under the number of its game, and return the first."""
        node = self.choose(game, state, key)
        turn = self._turn
        following = int(turn.action[node])
        node = int(turn.parent[node])
        while turn.parent[node] != turns.NO_NODE:
            position = number + turn.states[node].tobytes()
            self._cached.pop(position, None)  # a plan that is replaced must not count as old
            self._cached[position] = following
            following = int(turn.action[node])
            node = int(turn.parent[node])
        return following
