"""Plays a chunk of games together, as one array of states.

At each step every agent decides in one call for all games in which it is to move. An agent that fails, or that does not answer
(`matches/pool.py`), loses the game. If a call for several games raises, the agent is called again for each game alone, so that it
loses only those in which it fails. Every decision of a game has random keys of its own, so the result of a game does not depend
on the chunk that it is in. Only an agent that draws from its generator itself, and not from `agent.lane_keys`, also depends on
the games and the key of its chunk. Chunks can be played in any order and in any process. This module does not know how results
become estimates: see `matches/statistics.py`.
"""

import contextlib
import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from bombay_env import Game, streams
from bombay_env.agent import NO_ACTION, Agent, AgentFault, LaneGenerator, ask
from bombay_env.chance import lane_words
from bombay_env.record import History, Record
from bombay_training.matches.results import LostGame


@dataclasses.dataclass(frozen=True)
class Plan:
    """The games of a match before they are played. G games, n seats.

    Args:
        game: the variant and board.
        names: the agents' names.
        seed: the match's seed.
        deal: (G,) uint64 seeds of the games.
        key: (G,) uint64 keys of the agents' randomness in the games.
        block: (G,) int64 numbers of the deals.
        seating: (G,) int64 numbers of the seatings.
        seats: (G, n) int64 indices into `names`.
        keep_records: whether records are wanted.
    """

    game: Game
    names: tuple[str, ...]
    seed: int
    deal: np.ndarray
    key: np.ndarray
    block: np.ndarray
    seating: np.ndarray
    seats: np.ndarray
    keep_records: bool = False

    @property
    def turns(self) -> int:
        """Turns in a game."""
        rules = self.game.rules
        return rules.sets * rules.turns_per_set * rules.num_players

    def lost_game(self, number: int, seat: int, action: str, reason: str) -> LostGame:
        """The entry for a game that the agent in `seat` loses by a fault."""
        agent = int(self.seats[number, seat])
        return LostGame(
            agent=agent,
            name=self.names[agent],
            seat=seat,
            game=number,
            block=int(self.block[number]),
            seating=int(self.seating[number]),
            action=action,
            reason=reason,
        )


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Games that are played together.

    Args:
        games: their numbers in the match.
        key: of what agents draw from their generator itself, instead of from the keys of their lanes (`agent.lane_keys`).
        report_calls: whether to report the beginning of each call of an agent, to find the one that never returns or ends the
            process.
        attempts: how many processes have ended while they played it.
    """

    games: tuple[int, ...]
    key: tuple[int, ...]
    report_calls: bool = False
    attempts: int = 0

    def split(self) -> list["Chunk"]:
        """A chunk for each of the games, with reported calls."""
        return [Chunk((game,), (*self.key, number), True) for number, game in enumerate(self.games)]


class DecisionTimes:
    """Sums of an agent's decision times, without its first call in a process, which may compile code.

    Attributes:
        decisions: actions chosen.
        turns: turns begun.
        seconds: time of all calls.
        turn_seconds: time of each complete turn, with the time of a call divided evenly among its games.
    """

    def __init__(self) -> None:
        self.decisions, self.turns, self.seconds = 0, 0, 0.0
        self.turn_seconds: list[float] = []

    def add(self, other: "DecisionTimes") -> None:
        """Add the times of other decisions of the same agent."""
        self.decisions += other.decisions
        self.turns += other.turns
        self.seconds += other.seconds
        self.turn_seconds += other.turn_seconds


@dataclasses.dataclass
class Played:
    """The results of a chunk of G games with n seats.

    Args:
        games: their numbers in the match, in the order of the arrays.
        final: (G, n) int32 rupees with awards, zeros after a fault.
        win_share: (G, n) float64.
        lost: the games that ended by a fault.
        times: by agent.
        records: of all the games if they are kept, else empty.
    """

    games: tuple[int, ...]
    final: np.ndarray
    win_share: np.ndarray
    lost: list[LostGame]
    times: list[DecisionTimes]
    records: list[Record]


class PlayListener(Protocol):
    """Receives the progress of a chunk."""

    def before_call(self, agent: int, num_games: int, first: bool) -> None:
        """An agent is about to decide in some games; `first`: for the first time in this process."""

    def after_call(self) -> None:
        """It has answered or failed."""

    def after_step(self, actions: np.ndarray, turns: int) -> None:
        """The games still running took these actions. `turns`: turns that ended, or will not be played because of a fault."""


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


def unanswered(plan: Plan, chunk: Chunk, actions: Sequence[int], reason: str) -> Played:
    """The result of a chunk of one game, lost by the agent to move, whose process cannot report it.

    Args:
        plan: the match.
        chunk: the chunk.
        actions: the game's actions so far.
        reason: why the agent to move did not answer.
    """
    (number,) = chunk.games
    states = plan.game.new_states(plan.deal[[number]])
    history = History(plan.game, states, int(plan.deal[number]))
    for action in actions:
        history.add(action)
        plan.game.step(states, [action])
    lost = plan.lost_game(number, int(states["current_player"][0]), NO_ACTION, reason)
    final, share = np.zeros((1, plan.game.num_players), np.int32), lost_share(plan.seats[number], lost.seat)[None]
    records = [_record(plan, number, history, states, lost)] if plan.keep_records else []
    return Played(chunk.games, final, share, [lost], [DecisionTimes() for _ in plan.names], records)


def play(plan: Plan, chunk: Chunk, agents: Sequence[Agent], warm: set[int], listener: PlayListener) -> Played:
    """Play the games of a chunk to their ends.

    Args:
        plan: the match.
        chunk: which of its games.
        agents: those of the plan, in its order.
        warm: indices of the agents that have been called in this process; changed in place.
        listener: receives calls and steps.
    """
    return _GameBatch(plan, chunk, agents, warm, listener).play()


class _GameBatch:
    """The games of a chunk while they are played.

    `running` (R,) are the indices in the chunk of the games still running, and `states` (R,) their states. A lane is an index
    into these two.
    """

    def __init__(
        self, plan: Plan, chunk: Chunk, agents: Sequence[Agent], warm: set[int], listener: PlayListener
    ) -> None:
        self.plan, self.game, self.agents, self.warm, self.listener = plan, plan.game, agents, warm, listener
        self.numbers = np.array(chunk.games)
        keys = np.random.SeedSequence((plan.seed, *chunk.key)).spawn(len(agents))
        self.rngs = [LaneGenerator(np.random.PCG64(key)) for key in keys]
        self.decisions = 0  # in each of the games still running
        self.states: np.ndarray = self.game.new_states(plan.deal[self.numbers])
        self.running = np.arange(len(self.numbers))
        self.turns_left = np.full(len(self.numbers), plan.turns)
        # Seconds of the turn so far. NaN if part of it was an agent's first call.
        self.spent = np.zeros(len(self.numbers))
        self.lost: dict[int, LostGame] = {}  # by lane, in this step
        shape, times = (len(self.numbers), self.game.num_players), [DecisionTimes() for _ in agents]
        self.played = Played(chunk.games, np.zeros(shape, np.int32), np.zeros(shape), [], times, [])
        self.records: dict[int, Record] = {}
        self.histories = [
            History(self.game, self.states[index : index + 1], int(plan.deal[number]))
            for index, number in enumerate(chunk.games if plan.keep_records else ())
        ]

    def play(self) -> Played:
        while self.running.size:
            self._step()
        self.played.lost.sort(key=lambda lost: lost.game)
        self.played.records = [self.records[index] for index in sorted(self.records)]
        return self.played

    def _step(self) -> None:
        to_act = self.plan.seats[self.numbers[self.running], self.states["current_player"]]
        actions = np.zeros(self.running.size, np.int64)
        for agent in range(len(self.agents)):
            lanes = np.flatnonzero(to_act == agent)
            if lanes.size:
                self._decide(agent, lanes, actions)
        self.decisions += 1
        kept, turns = self._drop_lost()
        actions, to_act = actions[kept], to_act[kept]
        before = self.states[["set", "turn", "current_player"]].copy()
        self.game.step(self.states, actions)
        if self.histories:
            for index, action in zip(self.running.tolist(), actions.tolist(), strict=True):
                self.histories[index].add(action)
        ended = before != self.states[["set", "turn", "current_player"]]
        self._end_turns(np.flatnonzero(ended), to_act)
        self._finish(self.game.is_terminal(self.states))
        self.listener.after_step(actions, turns + int(ended.sum()))

    # --- decisions ---

    def _decide(self, agent: int, lanes: np.ndarray, actions: np.ndarray) -> None:
        """Write an agent's actions for some lanes into `actions`, and the games that it loses into `lost`."""
        states, rng, call = self.states[lanes], self.rngs[agent], self._call(agent, lanes)
        keys, number = self.plan.key[self.numbers[self.running[lanes]]], np.full(lanes.size, self.decisions, np.uint64)
        seeds = lane_words(keys, streams.MATCH_SCRUBS, number)
        rng.keys = lane_words(keys, streams.MATCH_CHOICES, number)
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
        self.listener.before_call(agent, lanes.size, first)
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            self.listener.after_call()
            self.spent[self.running[lanes]] += (np.nan if first else seconds) / lanes.size
            if not first:
                self.played.times[agent].seconds += seconds

    def _count(self, agent: int, lanes: np.ndarray) -> None:
        """Count the decisions of an agent in some lanes, and the turns that begin with them."""
        times = self.played.times[agent]
        times.decisions += lanes.size
        times.turns += int((self.states["actions_left"][lanes] == self.game.rules.actions_per_turn).sum())

    def _lose(self, lane: int, action: str, reason: str) -> None:
        seat, number = int(self.states["current_player"][lane]), int(self.numbers[self.running[lane]])
        self.lost[lane] = self.plan.lost_game(number, seat, action, reason)

    # --- results ---

    def _drop_lost(self) -> tuple[np.ndarray, int]:
        """Enter the results of the lost games and drop them.

        Returns:
            Which of the lanes are kept, (R,) bool, and the number of turns that will not be played.
        """
        kept = np.ones(self.running.size, np.bool_)
        for lane, lost in self.lost.items():
            kept[lane] = False
            self.played.lost.append(lost)
            self.played.win_share[self.running[lane]] = lost_share(self.plan.seats[lost.game], lost.seat)
            if self.histories:
                self._keep_record(lane, lost)
        turns = int(self.turns_left[self.running[~kept]].sum())
        if self.lost:
            self.states, self.running, self.lost = self.states[kept], self.running[kept], {}
        return kept, turns

    def _end_turns(self, ended: np.ndarray, movers: np.ndarray) -> None:
        """Count the turns that ended in some lanes; `movers` (R,) are the agents that acted."""
        indices = self.running[ended]
        self.turns_left[indices] -= 1
        for agent, seconds in zip(movers[ended].tolist(), self.spent[indices].tolist(), strict=True):
            if not np.isnan(seconds):
                self.played.times[agent].turn_seconds.append(seconds)
        self.spent[indices] = 0

    def _finish(self, over: np.ndarray) -> None:
        """Enter the results of the games that are over, (R,) bool, and drop them."""
        if not over.any():
            return
        results, indices = self.game.results(self.states[over]), self.running[over]
        self.played.final[indices] = results["final"]
        self.played.win_share[indices] = results["win_share"]
        if self.histories:
            for lane in np.flatnonzero(over).tolist():
                self._keep_record(lane, None)
        self.states, self.running = self.states[~over], self.running[~over]

    def _keep_record(self, lane: int, lost: LostGame | None) -> None:
        index, state = int(self.running[lane]), self.states[lane : lane + 1]
        self.records[index] = _record(self.plan, int(self.numbers[index]), self.histories[index], state, lost)


def _record(plan: Plan, number: int, history: History, states: np.ndarray, lost: LostGame | None) -> Record:
    fault = None if lost is None else {"seat": lost.seat, "action": lost.action, "reason": lost.reason}
    return history.record(states, [plan.names[agent] for agent in plan.seats[number]], fault)
