"""`NetOutcomeAgent`: a policy net played by its value head, which judges what becomes of the outcomes of the turn.

Of the outcomes it is asked about those that the planner ranks highest, and there about the position some rounds of turns later,
which are foreseen (`lookahead.py`), from the mover's eyes, much as a value net is (`value_net.py`). Unlike a value net, it never
learned from positions in which a set is over and the next restock is still to come.

The value head was trained to say what is still to be paid. Where rewards were shaped, a part was paid before, by what each seat
was heading for (`potential.py`); it is added back, or outcomes could not be compared. A game that is foreseen to be over counts
by what its result pays in all, as if that were certain.
"""

from __future__ import annotations

import math
import os
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files, value_features, value_net
from bombay_agents.nets.policy_features import Reader
from bombay_agents.nets.policy_net import Net, new_reader
from bombay_agents.nets.value_net_agent import DEFAULT_ROUNDS, check_rounds
from bombay_agents.scripted import lookahead
from bombay_agents.scripted.potential import blended, new_workspace, potentials
from bombay_env import Game
from bombay_env.jit.kernels import kernel, record_dtype

LANES_AT_ONCE: Final = 32  # whose outcomes are judged together
# What `value_net.propose` works in.
WORK: Final = record_dtype([("worth", np.float64, (turns.MAX_NODES,)), ("most", np.float64, (value_net.PROPOSALS,))])


class NetOutcomeAgent:
    """The outcome of the turn that the net values most; of equals, the first, so with few decisions.

    Args:
        path: the file to load (errors as `Net.load`), or a net at hand.
        force: play also under rules and on boards that it was not trained on.
        rounds: of turns that are foreseen, as for `ValueNetAgent`.
    Raises:
        ValueError: the net does not say what its value head was trained to predict, or `rounds` is out of range.
    """

    def __init__(self, path: str | os.PathLike[str] | Net, force: bool = False, rounds: int = DEFAULT_ROUNDS) -> None:
        check_rounds(rounds)
        self.net = path if isinstance(path, Net) else Net.load(path)
        self.force, self.rounds = force, rounds
        self.name = files.spec_of(
            None if isinstance(path, Net) else path,
            outcomes=True,
            force=force,
            rounds=rounds if rounds != DEFAULT_ROUNDS else 0,
        )
        self.blend, self.shaping_weight = _paid(self.name, self.net.about)
        self._reader: Reader | None = None  # of the game that was asked about last, as the rest
        self._workspace: Any = None
        self._memory: Any = None
        self._potential_workspace: Any = None

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64.

        Raises:
            ValueError: as `NetAgent.act`.
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        self._reader_of(game)
        records = np.ascontiguousarray(states).view(game.state_dtype, np.ndarray)
        actions = np.empty(len(records), np.int64)
        for first in range(0, len(records), LANES_AT_ONCE):
            chunk = slice(first, first + LANES_AT_ONCE)
            actions[chunk] = self._choose(game, records[chunk])
        return actions

    def values(self, game: Game, outcomes: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """What the seats (k,) may expect of positions (k,), in units of the reward."""
        rows, ended = np.arange(len(seats)), game.is_terminal(outcomes)
        values = self.net.forward(self._reader_of(game).read(outcomes, seats))[1].astype(np.float64)
        if self.shaping_weight:
            values += (
                self.shaping_weight * potentials(game, outcomes, self.blend, self._potential_workspace)[rows, seats]
            )
        if ended.any():
            values[ended] = blended(game.results(outcomes[ended]), self.blend)[rows[: ended.sum()], seats[ended]]
        return values

    def _reader_of(self, game: Game) -> Reader:
        """What the net reads the game by; with memory for its turns."""
        if self._reader is None or game is not self._reader.game:
            self._reader = new_reader(self.name, self.net, game, self.force)
            self._workspace, self._potential_workspace = turns.new_workspace(game), new_workspace(game)
            _, ahead = value_features.new_readers(game, 1, self.rounds)
            seen = np.zeros(turns.MAX_NODES, game.state_dtype)
            self._memory = ahead, np.zeros(1, WORK), np.zeros(turns.MAX_NODES, np.int64), seen
        return self._reader

    def _choose(self, game: Game, records: np.ndarray) -> np.ndarray:
        """The first action towards the best outcome of each state's turn."""
        workspace, firsts = self._workspace, np.empty(turns.MAX_NODES, np.int64)
        ahead, work, nodes, seen = self._memory
        outcomes, actions, lengths = [], [], []
        for record in records:
            count = turns.check_count(turns.enumerate_turn(record, game.tables[0], workspace))
            note_first(workspace, count, firsts)
            number = turns.check_count(
                look_ahead_of_best(game.tables, workspace.memory, ahead, work, count, nodes, seen)
            )
            outcomes.append(seen[:number].copy())
            actions.append(firsts[nodes[:number]])
            lengths.append(number)
        if not lengths:
            return np.empty(0, np.int64)
        values = self.values(game, np.concatenate(outcomes), np.repeat(records["current_player"], lengths))
        parts = np.split(values, np.cumsum(lengths)[:-1])
        return np.array([first[part.argmax()] for first, part in zip(actions, parts, strict=True)])


@kernel
def note_first(workspace, count, firsts):
    """Overwrite `firsts` of the first `count` nodes but node 0 with the first action of the way to each."""
    for node in range(1, count):
        parent = workspace.parent[node]
        firsts[node] = workspace.action[node] if parent == 0 else firsts[parent]


@kernel
def look_ahead_of_best(tables, memory, ahead, work, count, nodes, seen):
    """Write down the outcomes proposed among the first `count` nodes of a turn, and what is foreseen of each, in their order.

    All arguments but `count` are arrays; overwritten are `nodes`, (MAX_NODES,) int64, and `seen`, as many states. Returns the
    number of outcomes, or `turns.TOO_MANY` if a turn has no room.
    """
    turn, reader = memory[0], ahead[0]
    seat = np.int64(turn.node[0].state.current_player)
    least = value_net.propose(tables[0], turn, reader, work[0], count)
    value_features.clear_cache(reader)
    number = 0
    for node in range(1, count):
        after = turn.node[node]
        if after.due != turns.TURN_GOES_ON and work[0].worth[node] >= least:
            if not lookahead.look_ahead(
                after, tables[0], seat, reader.weights[0], reader.weights[1], reader.site_traffic,
                reader.survey[value_features.SURVEYS], reader.lookahead[0],
            ):  # fmt: skip
                return turns.TOO_MANY
            nodes[number] = node
            seen[number] = reader.lookahead[0].seen[0].state
            number += 1
    return number


def _paid(name: str, about: files.Header) -> tuple[float, float]:
    """The blend of the reward that the value was trained on, and the weight of its shaping."""
    training = about.get("training")
    told = training if isinstance(training, dict) else {}
    blend, weight = told.get("blend"), told.get("shaping_weight")
    known = all(type(number) in (int, float) and math.isfinite(number) for number in (blend, weight))
    files.check(
        known and 0 <= blend <= 1,  # type: ignore[operator]
        f"{name}: its file does not say what its value was trained on (training's blend, from 0 to 1, "
        "and shaping_weight, a number), so outcomes=true cannot compare outcomes",
    )
    return float(blend), float(weight)  # type: ignore[arg-type]
