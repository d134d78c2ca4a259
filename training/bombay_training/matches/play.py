"""Plays a chunk of games together, as one array of states.

At each step every agent decides in one call for all games in which it is to move. An agent that fails, or that does not answer
(`engines/local.py`), loses the game. If a call for several games raises, the agent is called again for each game alone, so that
it loses only those in which it fails. Every decision of a game has random keys of its own, so the result of a game does not
depend on the chunk that it is in. Only an agent that draws from its generator itself, and not from `agent.lane_keys`, also
depends on the games and the key of its chunk. What is kept of a game besides its result is the business of observers
(`observers.py`). This module does not know how results become estimates.
"""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bombay_env import streams
from bombay_env.agent import NO_ACTION, Agent, AgentFault, LaneGenerator, ask
from bombay_env.chance import lane_words
from bombay_env.rewards import seat_places
from bombay_env.state import TURN_FIELDS
from bombay_training.matches.accounts import Accountant
from bombay_training.matches.cells import Cell, Chunk
from bombay_training.matches.observers import Observer, Recorder
from bombay_training.matches.table import DecisionTimes, LostGame, Table


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of an agent that is about to begin.

    Args:
        agent: its index in the cell's players.
        num_games: in how many games it decides.
        first: whether it is the first call in this process.
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


def unanswered(cell: Cell, chunk: Chunk, actions: Sequence[int], reason: str) -> Table:
    """A chunk of one game, lost by the agent to move, whose process cannot report it.

    Args:
        cell: the cell.
        chunk: the chunk.
        actions: the game's actions so far.
        reason: why the agent to move did not answer.
    """
    table = _blank(cell, chunk)
    states = cell.dealt(table.rows)
    observers = _observers(cell, states, table)
    for action in actions:
        for observer in observers:
            observer.before_step(np.zeros(1, np.int64), states, np.array([action]))
        cell.game.step(states, [action])
    lost = lost_game(cell, table.rows[0, int(states["current_player"][0])], NO_ACTION, reason)
    _enter_fault(table, 0, lost)
    for observer in observers:
        observer.after_fault(0, states, lost)
    return table


def play(
    cell: Cell,
    chunk: Chunk,
    agents: Sequence[Agent],
    warm: set[int],
    report: Callable[[Call | None], None] | None = None,
) -> Table:
    """Play the games of a chunk to their ends.

    Args:
        cell: the cell.
        chunk: which of its games.
        agents: the cell's players.
        warm: indices of the agents that have been called in this process; changed in place.
        report: called with each call of an agent before it begins, and with None when it has answered or failed.
    """
    return _GameBatch(cell, chunk, agents, warm, report).play()


def lost_game(cell: Cell, row: np.void, action: str, reason: str) -> LostGame:
    """The entry of a game that an agent loses by a fault; `row` is that of its seat in the table."""
    agent = int(row["agent"])
    seat, game, block, seating = (int(row[name]) for name in ("seat", "game", "block", "seating"))
    text = reason.encode(errors="backslashreplace").decode()  # that every file takes
    return LostGame(agent, cell.names[agent], seat, game, block, seating, action, text)


def _blank(cell: Cell, chunk: Chunk) -> Table:
    """The games of a chunk before any is over."""
    rows = cell.rows(np.arange(chunk.first, chunk.first + chunk.count))
    return Table(rows, [DecisionTimes() for _ in cell.players])


def _observers(cell: Cell, states: np.ndarray, table: Table) -> list[Observer]:
    """What keeps more of the games than their results; it writes into the table."""
    observers: list[Observer] = []
    deals = table.rows["deal"][:, 0]
    if cell.records:
        names = [[cell.names[agent] for agent in game] for game in table.rows["agent"].tolist()]
        observers.append(Recorder(cell.game, states, deals, names, table.games, table.records))
    if cell.accounts:
        accountant = Accountant(cell.game, deals)
        table.accounts = accountant.accounts
        observers.append(accountant)
    return observers


def _enter_fault(table: Table, index: int, lost: LostGame) -> None:
    table.faults[lost.game] = lost
    table.rows["win_share"][index] = lost_share(table.rows["agent"][index], lost.seat)


class _GameBatch:
    """The games of a chunk while they are played.

    `running` (R,) are the indices in the chunk of the games still running, and `states` (R,) their states. A lane is an index
    into these two.
    """

    def __init__(
        self,
        cell: Cell,
        chunk: Chunk,
        agents: Sequence[Agent],
        warm: set[int],
        report: Callable[[Call | None], None] | None,
    ) -> None:
        self.cell, self.game, self.agents, self.warm, self.report = cell, cell.game, agents, warm, report
        self.table = _blank(cell, chunk)
        self.seats, self.keys = self.table.rows["agent"].astype(np.int64), cell.keys(self.table.rows)
        redrawn = (int(streams.REDRAWN_GAMES),) if "play" in cell.redraw else ()
        # Not generators of the cell's seed itself: agents could read it from them, and all deals follow from it.
        sequence = np.random.SeedSequence((cell.seed, *chunk.key), spawn_key=redrawn)
        words = sequence.generate_state(len(agents), np.uint64)
        self.rngs = [LaneGenerator(np.random.PCG64(int(word))) for word in words]
        self.decisions = 0  # in each of the games still running
        self.states = cell.dealt(self.table.rows)
        self.running = np.arange(chunk.count)
        self.actions: list[int] | None = [] if chunk.count == 1 else None
        # Seconds of the turn so far. NaN if part of it was an agent's first call.
        self.spent = np.zeros(chunk.count)
        self.lost: dict[int, LostGame] = {}  # by lane, in this step
        self.observers = _observers(cell, self.states, self.table)

    def play(self) -> Table:
        while self.running.size:
            self._step()
        return self.table

    def _step(self) -> None:
        to_act = self.seats[self.running, self.states["current_player"]]
        actions = np.zeros(self.running.size, np.int64)
        for agent in range(len(self.agents)):
            lanes = np.flatnonzero(to_act == agent)
            if lanes.size:
                self._decide(agent, lanes, actions)
        self.decisions += 1
        kept = self._drop_lost()
        actions, to_act = actions[kept], to_act[kept]
        for observer in self.observers:
            observer.before_step(self.running, self.states, actions)
        before = self.states[TURN_FIELDS].copy()
        self.game.step(self.states, actions)
        ended = before != self.states[TURN_FIELDS]
        self._end_turns(np.flatnonzero(ended), to_act)
        if self.actions is not None:
            self.actions += actions.tolist()
        self._finish(self.game.is_terminal(self.states))

    # --- decisions ---

    def _decide(self, agent: int, lanes: np.ndarray, actions: np.ndarray) -> None:
        """Write an agent's actions for some lanes into `actions`, and the games that it loses into `lost`."""
        states, rng, call = self.states[lanes], self.rngs[agent], self._call(agent, lanes)
        keys, number = self.keys[self.running[lanes]], np.full(lanes.size, self.decisions, np.uint64)
        seeds = lane_words(keys, streams.MATCH_SCRUBS, number)
        rng.keys = lane_words(keys, streams.MATCH_CHOICES, number)
        rng.games = lane_words(keys, streams.MATCH_GAMES, np.zeros_like(number))
        timed = agent in self.warm
        try:
            actions[lanes] = ask(self.agents[agent], self.game, states, rng, seeds, during=call)
        except AgentFault as fault:
            if fault.answer is None and lanes.size > 1:  # asked again below, one by one
                timed = False
            if fault.answer is not None:  # legal actions in the other lanes
                actions[lanes] = fault.answer
                for place, failure in fault.failures.items():
                    self._lose(int(lanes[place]), *failure)
            elif lanes.size == 1:
                self._lose(int(lanes[0]), fault.action, fault.reason)
            else:
                for place in range(lanes.size):
                    self._decide(agent, lanes[place : place + 1], actions)
        if timed:
            self._count(agent, lanes)

    @contextlib.contextmanager
    def _call(self, agent: int, lanes: np.ndarray) -> Iterator[None]:
        """Report a call of an agent and take its time."""
        first = agent not in self.warm
        self.warm.add(agent)
        if self.report is not None:
            self.report(Call(agent, lanes.size, first, tuple(self.actions or ())))
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            if self.report is not None:
                self.report(None)
            self.spent[self.running[lanes]] += (np.nan if first else seconds) / lanes.size
            if not first:
                self.table.times[agent].seconds += seconds

    def _count(self, agent: int, lanes: np.ndarray) -> None:
        """Count the decisions of an agent in some lanes, and the turns that begin with them."""
        times = self.table.times[agent]
        times.decisions += lanes.size
        times.turns += int((self.states["actions_left"][lanes] == self.game.rules.actions_per_turn).sum())

    def _lose(self, lane: int, action: str, reason: str) -> None:
        seat, index = int(self.states["current_player"][lane]), int(self.running[lane])
        self.lost[lane] = lost_game(self.cell, self.table.rows[index, seat], action, reason)

    # --- results ---

    def _drop_lost(self) -> np.ndarray:
        """Enter the results of the lost games and drop them. Returns which of the lanes are kept, (R,) bool."""
        kept = np.ones(self.running.size, np.bool_)
        for lane, lost in self.lost.items():
            kept[lane] = False
            index = int(self.running[lane])
            _enter_fault(self.table, index, lost)
            for observer in self.observers:
                observer.after_fault(index, self.states[lane : lane + 1], lost)
        if self.lost:
            self.states, self.running, self.lost = self.states[kept], self.running[kept], {}
        return kept

    def _end_turns(self, ended: np.ndarray, movers: np.ndarray) -> None:
        """Count the turns that ended in some lanes; `movers` (R,) are the agents that acted."""
        indices = self.running[ended]
        for agent, times in enumerate(self.table.times):
            times.add_turns(self.spent[indices[movers[ended] == agent]])
        self.spent[indices] = 0

    def _finish(self, over: np.ndarray) -> None:
        """Enter the results of the games that are over, (R,) bool, and drop them."""
        if not over.any():
            return
        results, indices = self.game.results(self.states[over]), self.running[over]
        rows = self.table.rows
        rows["final"][indices], rows["win_share"][indices] = results["final"], results["win_share"]
        rows["place"][indices], rows["clients"][indices] = seat_places(results), results["clients"]
        for observer in self.observers:
            observer.after_end(indices, self.states[over], results)
        self.states, self.running = self.states[~over], self.running[~over]
