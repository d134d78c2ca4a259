"""`NetOutcomeAgent`: a policy net played by its value head, which judges every outcome of the turn from the mover's eyes.

The value head was trained to say what is still to be paid. Where rewards were shaped, a part was paid before, by what each seat
was heading for (`prospects.py`); it is added back, or outcomes could not be compared. An outcome that ends the game counts by
what its result pays.
"""

from __future__ import annotations

import math
import os
from typing import Any, Final

import numpy as np

from bombay_agents import net_files, turns
from bombay_agents.net import Net, check_game
from bombay_agents.prospects import prospects
from bombay_env import Game
from bombay_env.compile import kernel
from bombay_env.rewards import REWARDS, seat_rewards

LANES_AT_ONCE: Final = 32  # whose outcomes are judged together, some hundred each


class NetOutcomeAgent:
    """The outcome of the turn that the net values most; of equals, the first, so with few decisions.

    Args:
        path: the file to load (errors as `Net.load`), or a net at hand.
        force: play also under rules and on boards that it was not trained on.
    Raises:
        ValueError: the net does not say what its value head was trained to predict.
    """

    def __init__(self, path: str | os.PathLike[str] | Net, force: bool = False) -> None:
        self.net = path if isinstance(path, Net) else Net.load(path)
        self.force = force
        self.name = net_files.spec_of(None if isinstance(path, Net) else path, outcomes=True, force=force)
        self.reward, self.shaping_weight = _paid(self.name, self.net.about)
        self._game: Game | None = None  # that `_space` is for
        self._space: Any = None

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64.

        Raises:
            ValueError: as `NetAgent.act`.
        """
        if game is not self._game:
            check_game(self.name, self.net, game, self.force)
            self._game, self._space = game, turns.new_space(game)
        records = np.ascontiguousarray(states).view(game.state_dtype, np.ndarray)
        actions = np.empty(len(records), np.int64)
        for first in range(0, len(records), LANES_AT_ONCE):
            chunk = slice(first, first + LANES_AT_ONCE)
            actions[chunk] = self._choose(game, records[chunk])
        return actions

    def values(self, game: Game, outcomes: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """What the seats (k,) may expect of positions (k,), in units of the reward."""
        rows, ended = np.arange(len(seats)), game.is_terminal(outcomes)
        seen = game.observe(outcomes, seats=seats, screened=self.net.observation_mode == "screened")
        values = self.net.forward(seen)[1].astype(np.float64)
        if ended.any():
            values[ended] = seat_rewards(game.results(outcomes[ended]), self.reward)[rows[: ended.sum()], seats[ended]]
        if self.shaping_weight:
            values += self.shaping_weight * prospects(game, outcomes)[rows, seats]
        return values

    def _choose(self, game: Game, records: np.ndarray) -> np.ndarray:
        """The first action towards the best outcome of each state's turn."""
        space, firsts = self._space, np.empty(turns.MAX_NODES, np.int64)
        outcomes, actions, lengths = [], [], []
        for record in records:
            count = turns.check_count(turns.enumerate_turn(record, game.tables[0], space))
            note_first(space, count, firsts)
            over = np.flatnonzero(space.due[:count] != turns.TURN_GOES_ON)
            outcomes.append(space.states[over])
            actions.append(firsts[over])
            lengths.append(len(over))
        if not lengths:
            return np.empty(0, np.int64)
        values = self.values(game, np.concatenate(outcomes), np.repeat(records["current_player"], lengths))
        parts = np.split(values, np.cumsum(lengths)[:-1])
        return np.array([first[part.argmax()] for first, part in zip(actions, parts, strict=True)])


@kernel
def note_first(space, count, firsts):
    """Overwrite `firsts` of the first `count` nodes but node 0 with the first action of the way to each."""
    for node in range(1, count):
        parent = space.parent[node]
        firsts[node] = space.action[node] if parent == 0 else firsts[parent]


def _paid(name: str, about: net_files.Header) -> tuple[str, float]:
    """The reward that the value was trained on, and the weight of its shaping."""
    training = about.get("training")
    told = training if isinstance(training, dict) else {}
    reward, weight = told.get("reward"), told.get("shaping_weight")
    known = reward in REWARDS and type(weight) in (int, float) and math.isfinite(weight)
    net_files.check(
        known,
        f"{name}: its file does not say what its value was trained on (training's reward, one of {', '.join(REWARDS)}, "
        "and shaping_weight, a number), so outcomes=true cannot compare outcomes",
    )
    return str(reward), float(weight)
