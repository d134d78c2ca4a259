"""Plays a chunk of games together in this process, as one array of states, and fills their rows.

At each step every agent decides in one call for all games in which it is to move. An agent that fails, or that does not answer
(`engines/local.py`), loses the game. If a call for several games raises, the agent is called again for each game alone, so that
it loses only those in which it fails. Every decision of a game has random keys of its own, so the result of a game does not
depend on the chunk that it is in. Only an agent that draws from its generator itself, and not from `agent.lane_keys`, also
depends on the games and the key of its chunk. This module does not know how results become estimates.
"""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from bombay_agents import make
from bombay_env import streams
from bombay_env.agent import NO_ACTION, Agent, AgentContext, AgentFault, LaneGenerator, ask
from bombay_env.record import History
from bombay_env.rewards import seat_places
from bombay_training.matches.accounts import Accountant
from bombay_training.matches.lineup import Chunk, Lineup
from bombay_training.matches.table import RECORD

Job = tuple[Lineup, Chunk]


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of an agent that is about to begin.

    Args:
        agent: its index in the line-up's players.
        num_games: in how many games it decides.
        first: whether it is the first call since the agent was made in this process.
        actions: so far, of a chunk of one game.
    """

    agent: int
    num_games: int
    first: bool
    actions: tuple[int, ...]


def lost_share(seats: np.ndarray, seat: int) -> np.ndarray:
    """Win shares (n,) after a fault in `seat`: 0 for the offender, equal parts of 1 for the others.

    The offender gets 0 in all its seats; otherwise its faults would win for its other seats. If it has all seats, it gets 0 in
    `seat` alone.

    Args:
        seats: (n,) the agents of the game by seat.
        seat: where the fault occurred.
    """
    others = seats != seats[seat]
    if not others.any():
        others = np.arange(len(seats)) != seat
    return np.asarray(others / others.sum())


class Here:
    """Plays chunks in this process, with any agents. It keeps the agents of the last line-up."""

    count = 1

    def __init__(self) -> None:
        self.lineup = ""  # its id
        self.agents: Sequence[Agent] = ()
        self.warm: set[int] = set()  # indices of the agents that have been called since they were made

    def play(self, jobs: Iterable[Job]) -> Iterator[tuple[Lineup, np.ndarray]]:
        """Play chunks of line-ups in order; yields their rows."""
        for lineup, chunk in jobs:
            yield lineup, self.play_chunk(lineup, chunk)

    def play_chunk(
        self, lineup: Lineup, chunk: Chunk, report: Callable[[Call | None], None] | None = None
    ) -> np.ndarray:
        """The rows (G, n) of a chunk, whose games are played to their ends.

        `report` is called with each call of an agent before it begins, and with None when it has answered or failed.
        """
        if lineup.id != self.lineup:
            self.lineup, self.warm = lineup.id, set()
            self.agents = [make(player) if isinstance(player, str) else player for player in lineup.players]
        games = _GameBatch(lineup, chunk, self.agents, self.warm, report)
        while games.running.size:
            games.step()
        return games.rows


def unanswered(lineup: Lineup, chunk: Chunk, actions: Sequence[int], reason: str) -> np.ndarray:
    """The rows (1, n) of a chunk of one game, lost by the agent to move, whose process cannot report it.

    Args:
        lineup: the line-up.
        chunk: the chunk.
        actions: the game's actions so far.
        reason: why the agent to move did not answer.
    """
    games = _GameBatch(lineup, chunk)
    for action in actions:
        games.advance(np.array([action]))
    games.drop_lost({0: (NO_ACTION, reason)})
    return games.rows


class _GameBatch:
    """The games of a chunk while they are played.

    `running` (R,) are the indices in the chunk of the games still running, and `states` (R,) their states. A lane is an index
    into these two.
    """

    def __init__(
        self,
        lineup: Lineup,
        chunk: Chunk,
        agents: Sequence[Agent] = (),
        warm: set[int] | None = None,
        report: Callable[[Call | None], None] | None = None,
    ) -> None:
        self.lineup, self.game, self.agents, self.report = lineup, lineup.game, agents, report
        self.warm = set[int]() if warm is None else warm
        self.rows = lineup.rows(np.arange(chunk.first, chunk.first + chunk.count))
        self.seats, self.keys = self.rows["agent"].astype(np.int64), lineup.keys(self.rows)
        redrawn = (int(streams.REDRAWN_GAMES),) if "play" in lineup.redraw else ()
        # Not generators of the line-up's seed itself: agents could read it from them, and all deals follow from it.
        sequence = np.random.SeedSequence((lineup.seed, *chunk.key), spawn_key=redrawn)
        words = sequence.generate_state(len(agents), np.uint64)
        self.rngs = [LaneGenerator(np.random.PCG64(int(word))) for word in words]
        self.decisions = 0  # in each of the games still running
        self.states = lineup.dealt(self.rows)
        self.running = np.arange(chunk.count)
        self.actions: list[int] | None = [] if chunk.count == 1 else None
        self.seconds = 0.0  # of the last call of an agent
        self.accountant = Accountant(self.game, self.rows) if lineup.accounts else None
        deals = enumerate(self.rows["deal"][:, 0].tolist()) if lineup.records else ()
        self.histories = [History(self.game, self.states[index : index + 1], deal) for index, deal in deals]

    def step(self) -> None:
        """One action in every game."""
        to_act = self.seats[self.running, self.states["current_player"]]
        actions, lost = np.zeros(self.running.size, np.int64), dict[int, tuple[str, str]]()
        for agent in range(len(self.agents)):
            lanes = np.flatnonzero(to_act == agent)
            if lanes.size:
                self._decide(agent, lanes, actions, lost)
        self.decisions += 1
        self.advance(actions[self.drop_lost(lost)])

    def advance(self, actions: np.ndarray) -> None:
        """Play these actions (R,), and enter the results of the games that they end."""
        for index, action in zip(self.running.tolist(), actions.tolist(), strict=True) if self.histories else ():
            self.histories[index].add(action)
        if self.accountant:
            self.accountant.before_step(self.running, self.states, actions)
        self.game.step(self.states, actions)
        if self.actions is not None:
            self.actions += actions.tolist()
        over = self.game.is_terminal(self.states)
        if not over.any():
            return
        results, indices = self.game.results(self.states[over]), self.running[over]
        for name in ("final", "win_share", "clients"):
            self.rows[name][indices] = results[name]
        self.rows["place"][indices] = seat_places(results)
        if self.accountant:
            self.accountant.after_end(indices, results)
        for lane in np.flatnonzero(over).tolist():
            self._record(lane, None)
        self.states, self.running = self.states[~over], self.running[~over]

    def drop_lost(self, lost: dict[int, tuple[str, str]]) -> np.ndarray:
        """Enter and drop the games that the agents to move lost, given the action and the reason by lane.

        Returns:
            (R,) bool, which of the lanes are kept.
        """
        kept = np.ones(self.running.size, np.bool_)
        for lane, (action, reason) in lost.items():
            kept[lane] = False
            index, seat = int(self.running[lane]), int(self.states["current_player"][lane])
            text = reason.encode(errors="backslashreplace").decode()  # that every file takes
            self.rows["action"][index, seat], self.rows["fault"][index, seat] = action, text
            self.rows["win_share"][index] = lost_share(self.seats[index], seat)
            self._record(lane, {"seat": seat, "action": action, "reason": text})
        self.states, self.running = self.states[kept], self.running[kept]
        return kept

    def _record(self, lane: int, fault: dict[str, Any] | None) -> None:
        """Keep the record of a game that is over, if records are kept."""
        if self.histories:
            index = int(self.running[lane])
            names = [self.lineup.names[agent] for agent in self.seats[index]]
            record = self.histories[index].record(self.states[lane : lane + 1], names, fault)
            self.rows[RECORD][index, 0] = record

    # --- decisions ---

    def _decide(self, agent: int, lanes: np.ndarray, actions: np.ndarray, lost: dict[int, tuple[str, str]]) -> None:
        """Write an agent's actions for some lanes into `actions`, and what was wrong in the games that it loses into `lost`."""
        states, first = self.states[lanes], agent not in self.warm
        self.warm.add(agent)
        keys, number = self.keys[self.running[lanes]], np.full(lanes.size, self.decisions, np.uint64)
        context = AgentContext.keyed(
            self.rngs[agent], keys, number, streams.MATCH_SCRUBS, streams.MATCH_CHOICES, streams.MATCH_GAMES
        )
        call = self._call(Call(agent, lanes.size, first, tuple(self.actions or ())))
        try:
            actions[lanes] = ask(self.agents[agent], self.game, states, context, during=call)
        except AgentFault as fault:
            if fault.answer is not None:  # legal actions in the other lanes
                actions[lanes] = fault.answer
                lost |= {int(lanes[place]): failure for place, failure in fault.failures.items()}
            elif lanes.size == 1:
                lost[int(lanes[0])] = fault.action, fault.reason
            else:
                for place in range(lanes.size):
                    self._decide(agent, lanes[place : place + 1], actions, lost)
                return
        if not first:
            where = self.running[lanes], states["current_player"]
            self.rows["decisions"][where] += 1
            self.rows["turns"][where] += states["actions_left"] == self.game.rules.actions_per_turn
            self.rows["seconds"][where] += self.seconds / lanes.size

    @contextlib.contextmanager
    def _call(self, call: Call) -> Iterator[None]:
        """Report a call of an agent and take its time."""
        if self.report is not None:
            self.report(call)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds = time.perf_counter() - start
            if self.report is not None:
                self.report(None)
