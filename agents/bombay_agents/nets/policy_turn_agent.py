"""`NetOutcomeAgent`: plays whole turns by the value head of a policy net.

Like a value net (`value_net_turns.py`) it considers the outcomes that the planner proposes, looks ahead some rounds from each,
and evaluates the leaf there from the mover's perspective. Unlike a value net, a value head has not been trained on positions
between the end of a set and the next restock.

The value head was trained to predict rewards still to come. Where rewards were shaped, a part was paid earlier: the potential
(`potential.py`), of the kind that the file names. It is added back, because outcomes could not be compared otherwise. If the game
is over at the leaf, the outcome counts as much as the result pays in all.
"""

from __future__ import annotations

import math
import os
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.copying import WithoutMemory
from bombay_agents.nets import files, value_net_turns
from bombay_agents.nets.policy_features import Reader
from bombay_agents.nets.policy_net import Net
from bombay_agents.nets.policy_net_agent import new_reader
from bombay_agents.nets.value_net_agent import DEFAULT_ROUNDS, check_rounds
from bombay_agents.scripted import lookahead
from bombay_agents.scripted.potential import (
    PLANNER_SHAPING,
    SHAPINGS,
    blended,
    new_workspace,
    potentials,
    result_potentials,
)
from bombay_env import Game
from bombay_env.jit.kernels import kernel
from bombay_env.jit.records import composed_dtype, new_records

LANES_AT_ONCE: Final = 32  # states whose outcomes are evaluated in one batch


def workspace_dtype(game: Game) -> np.dtype[Any]:
    """Memory for a turn and the leaves after its proposed outcomes."""
    return composed_dtype(
        {
            "memory": turns.memory_dtype(game.board.num_sites),  # of the turn
            "lookahead": lookahead.workspace_dtype(game.board.num_sites),
            "proposals": value_net_turns.PROPOSALS,
            "first_action": (np.int64, (turns.MAX_NODES,)),  # on the way to each node
            "node": (np.int64, (turns.MAX_NODES,)),  # of each outcome proposed
            "leaf": (game.state_dtype, (turns.MAX_NODES,)),  # after it
        }
    )


class NetOutcomeAgent(WithoutMemory):
    """Takes the outcome of its turn that the net values most. Ties go to the first, which has the fewest decisions.

    Args:
        path: the file to load (errors as `Net.load`), or a net.
        force: also play under rules and on boards that the net was not trained on.
        rounds: how many rounds to look ahead, as for `ValueNetAgent`.
    Raises:
        ValueError: the net does not say what its value head was trained to predict, or `rounds` is out of range.
    """

    memory = ("_reader", "_workspace", "_potential_workspace")

    def __init__(self, path: str | os.PathLike[str] | Net, force: bool = False, rounds: int = DEFAULT_ROUNDS) -> None:
        rounds = check_rounds(rounds)
        self.net = path if isinstance(path, Net) else Net.load(path)
        self.force, self.rounds = force, rounds
        self.name = files.spec_of(
            None if isinstance(path, Net) else path,
            outcomes=True,
            force=force,
            rounds=rounds if rounds != DEFAULT_ROUNDS else 0,
        )
        self.blend, self.shaping_weight, self.shaping = _reward_of(self.name, self.net.about)
        self._reader: Reader | None = None  # for the game that was played last, as the rest
        self._workspace: Any = None
        self._potential_workspace: Any = None

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64.

        Raises:
            ValueError: as `NetAgent.act`.
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        records = game.check_states(states)
        self._reader_of(game)
        actions = np.empty(len(records), np.int64)
        for first in range(0, len(records), LANES_AT_ONCE):
            chunk = slice(first, first + LANES_AT_ONCE)
            actions[chunk] = self._choose(game, records[chunk])
        return actions

    def values(self, game: Game, leaves: np.ndarray, seats: np.ndarray) -> np.ndarray:
        """What the seats (k,) expect at positions (k,), in units of the reward."""
        rows, ended = np.arange(len(seats)), game.is_terminal(leaves)
        values = self.net.forward(self._reader_of(game).read(leaves, seats))[1].astype(np.float64)
        if self.shaping_weight:
            values += self.shaping_weight * self._potentials(game, leaves)[rows, seats]
        if ended.any():
            values[ended] = blended(game.results(leaves[ended]), self.blend)[rows[: ended.sum()], seats[ended]]
        return values

    def _potentials(self, game: Game, states: np.ndarray) -> np.ndarray:
        """What shaping pays each seat in all on the way to positions (k,), (k, n) float32."""
        if self.shaping == PLANNER_SHAPING:
            return potentials(game, states, self.blend, self._potential_workspace)
        return result_potentials(game, states)

    def _reader_of(self, game: Game) -> Reader:
        """What the net reads of the game; also makes the memory for its turns."""
        if self._reader is None or game is not self._reader.game:
            self._reader = new_reader(self.name, self.net, game, self.force)
            self._workspace = new_records(workspace_dtype(game), 1)
            lookahead.set_constants(self._workspace["lookahead"], game, self.rounds)
            self._potential_workspace = new_workspace(game)
        return self._reader

    def _choose(self, game: Game, records: np.ndarray) -> np.ndarray:
        """The first action towards the best outcome of each state's turn."""
        workspace = self._workspace
        first_action, nodes, leaf = (workspace[name][0] for name in ("first_action", "node", "leaf"))
        leaves, actions, lengths = [], [], []
        for record in records:
            number = turns.check_count(find_leaves(record, game.tables, workspace))
            leaves.append(leaf[:number].copy())
            actions.append(first_action[nodes[:number]])
            lengths.append(number)
        if not lengths:
            return np.empty(0, np.int64)
        values = self.values(game, np.concatenate(leaves), np.repeat(records["current_player"], lengths))
        parts = np.split(values, np.cumsum(lengths)[:-1])
        return np.array([first[part.argmax()] for first, part in zip(actions, parts, strict=True)])


@kernel
def find_leaves(state, tables, workspaces):
    """Lay out the turn of `state` and overwrite `node` and `leaf` with its proposed outcomes and the leaves after these.

    Returns the number of outcomes, or `turns.TOO_MANY` if a turn does not fit in memory.
    """
    workspace = workspaces[0]
    memory, ahead, proposals = workspace.memory, workspace.lookahead, workspace.proposals
    memory.node[0].state = state
    count = turns.lay_out(tables[0], memory)
    if count == turns.TOO_MANY:
        return count
    set_first_actions(memory, count, workspace.first_action)
    seat = np.int64(state.current_player)
    least = value_net_turns.propose(tables[0], memory, ahead, proposals, count)
    lookahead.clear_cache(ahead)
    number = 0
    for node in range(1, count):
        after = memory.node[node]
        if after.due != turns.TURN_GOES_ON and proposals.worth[node] >= least:
            if not lookahead.look_ahead(after, tables[0], seat, ahead):
                return turns.TOO_MANY
            workspace.node[number] = node
            workspace.leaf[number] = ahead.leaf[0].state
            number += 1
    return number


@kernel
def set_first_actions(memory, count, first_action):
    """Overwrite `first_action` of the first `count` nodes, except node 0, with the first action of the way to each."""
    for number in range(1, count):
        node = memory.node[number]
        first_action[number] = node.action if node.parent == 0 else first_action[node.parent]


def _reward_of(name: str, about: files.Header) -> tuple[float, float, str]:
    """The reward that the value head was trained on: its blend, the weight of its shaping, and the kind, one of `SHAPINGS`."""
    training = about.get("training")
    facts = training if isinstance(training, dict) else {}
    blend, weight = facts.get("blend"), facts.get("shaping_weight")
    shaping = facts.get("shaping", PLANNER_SHAPING)  # files of earlier revisions do not name it
    known = all(type(number) in (int, float) and math.isfinite(number) for number in (blend, weight))
    files.check(
        known and 0 <= blend <= 1 and shaping in SHAPINGS,  # type: ignore[operator]
        f"{name}: its file does not say what its value was trained on (training's blend, from 0 to 1, shaping_weight, "
        f"a number, and shaping, {' or '.join(SHAPINGS)}), so outcomes=true cannot compare outcomes",
    )
    return float(blend), float(weight), shaping  # type: ignore[arg-type]
