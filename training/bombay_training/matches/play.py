"""Playing a chunk of games: all of them together, as one array of states.

At each step the agents decide for the games in which they are to move, on copies with other seeds, so that nobody can look into
the bag. An agent that raises, answers with something that is no legal action, or (see `matches/pool.py`) does not answer, loses
that game: if it fails for several games at once, it is asked again for each alone. What comes of a chunk depends on its games
and its key and on nothing else, so that chunks can be played in any order and process.
"""

import dataclasses
import signal
import time
import traceback
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bombay_env import Game
from bombay_env.agent import Agent
from bombay_env.checks import MAX_SEED
from bombay_env.record import History, Record


@dataclasses.dataclass(frozen=True)
class Plan:
    """The games of a match before they are played. G games, n seats.

    Args:
        game: the variant and board.
        names: of the agents.
        seed: of the match.
        deal: (G,) uint64 seeds of the games.
        seats: (G, n) int64 indices into `names`.
        keep_records: whether records are wanted.
    """

    game: Game
    names: tuple[str, ...]
    seed: int
    deal: np.ndarray
    seats: np.ndarray
    keep_records: bool = False

    @property
    def turns(self) -> int:
        """Turns that a game lasts."""
        rules = self.game.rules
        return rules.sets * rules.turns_per_set * rules.num_players


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Games that are played together: their numbers in the match, and the key of the agents' randomness.

    `watched`: each call of an agent is announced, so that what never returns or ends the process can be laid to somebody.
    """

    games: tuple[int, ...]
    key: tuple[int, ...]
    watched: bool = False

    def alone(self) -> list["Chunk"]:
        """A watched chunk for each of the games."""
        return [Chunk((game,), (*self.key, number), True) for number, game in enumerate(self.games)]


@dataclasses.dataclass(frozen=True)
class Loss:
    """A fault in one game: who and why."""

    game: int
    agent: int
    seat: int
    action: str
    reason: str


class Clock:
    """Adds up an agent's calls, but for the first in a process."""

    def __init__(self) -> None:
        self.decisions, self.turns, self.seconds = 0, 0, 0.0
        self.turn_seconds: list[float] = []

    def add(self, other: "Clock") -> None:
        """Take another clock's figures in."""
        self.decisions += other.decisions
        self.turns += other.turns
        self.seconds += other.seconds
        self.turn_seconds += other.turn_seconds


@dataclasses.dataclass
class Played:
    """What came of a chunk, by game in the chunk's order; `records` only where they are kept."""

    games: tuple[int, ...]
    final: np.ndarray
    win_share: np.ndarray
    losses: list[Loss]
    clocks: list[Clock]
    records: list[Record]


class Watch(Protocol):
    """Whom a chunk tells how far it is."""

    def asks(self, agent: int, lanes: int, first: bool) -> None:
        """An agent is about to decide in so many games; `first`: in this process for the first time."""

    def answered(self) -> None:
        """It has, or has failed to."""

    def stepped(self, actions: np.ndarray, turns: int) -> None:
        """The games still running have taken these actions, which ended so many turns, those of games lost among them."""


def lost_share(seats: np.ndarray, seat: int) -> np.ndarray:
    """Win shares (n,) after a fault in `seat` of a game with these agents, `seats` (n,): nothing for the offender, the rest in
    equal parts.

    The offender loses in all its seats, or faults would win for it in the others; who has all seats loses in `seat` alone.
    """
    others = seats != seats[seat]
    if not others.any():
        others = np.arange(len(seats)) != seat
    return np.asarray(others / others.sum())


def lost_game(plan: Plan, chunk: Chunk, actions: Sequence[int], agent: int, reason: str) -> Played:
    """The only game of a chunk, ended by a fault after these actions: what the process that played it can no longer tell."""
    (number,) = chunk.games
    states = plan.game.new_states(plan.deal[[number]])
    history = History(plan.game, states, int(plan.deal[number]))
    for action in actions:
        history.add(action)
        plan.game.step(states, [action])
    loss = Loss(number, agent, int(states["current_player"][0]), "none", reason)
    final, share = np.zeros((1, plan.game.num_players), np.int32), lost_share(plan.seats[number], loss.seat)[None]
    records = [_record(plan, number, history, states, loss)] if plan.keep_records else []
    return Played(chunk.games, final, share, [loss], [Clock() for _ in plan.names], records)


def play(plan: Plan, chunk: Chunk, agents: Sequence[Agent], warm: set[int], watch: Watch) -> Played:
    """Play the games of a chunk to their ends. `warm` are the agents that have been called before; more enter it."""
    return _Table(plan, chunk, agents, warm, watch).play()


class _Table:
    """The games of a chunk while they are played; `lanes` are those still running, as places in the chunk."""

    def __init__(self, plan: Plan, chunk: Chunk, agents: Sequence[Agent], warm: set[int], watch: Watch) -> None:
        self.plan, self.game, self.agents, self.warm, self.watch = plan, plan.game, agents, warm, watch
        self.numbers = np.array(chunk.games)
        keys = np.random.SeedSequence((plan.seed, *chunk.key)).spawn(1 + len(agents))
        self.scrub_rng, *self.rngs = map(np.random.default_rng, keys)
        self.states = self.game.new_states(plan.deal[self.numbers])
        self.lanes = np.arange(len(self.numbers))
        self.turns_left = np.full(len(self.numbers), plan.turns)
        # Seconds of the turn so far; not a number if part of it was not clocked.
        self.spent = np.zeros(len(self.numbers))
        self.lost: dict[int, Loss] = {}  # by lane, in this step
        shape = (len(self.numbers), self.game.num_players)
        self.played = Played(chunk.games, np.zeros(shape, np.int32), np.zeros(shape), [], [Clock() for _ in agents], [])
        self.records: dict[int, Record] = {}
        self.histories = [
            History(self.game, self.states[lane : lane + 1], int(plan.deal[number]))
            for lane, number in enumerate(chunk.games if plan.keep_records else ())
        ]

    def play(self) -> Played:
        while self.lanes.size:
            self._step()
        self.played.losses.sort(key=lambda loss: loss.game)
        self.played.records = [self.records[lane] for lane in sorted(self.records)]
        return self.played

    def _step(self) -> None:
        to_act = self.plan.seats[self.numbers[self.lanes], self.states["current_player"]]
        actions = np.zeros(self.lanes.size, np.int64)
        for index in range(len(self.agents)):
            asked = np.flatnonzero(to_act == index)
            if asked.size:
                self._ask(index, asked, actions)
        turns = self._drop_lost(actions)
        actions, to_act = actions[self.kept], to_act[self.kept]
        before = self.states[["set", "turn", "current_player"]].copy()
        self.game.step(self.states, actions)
        if self.histories:
            for place, action in zip(self.lanes.tolist(), actions.tolist(), strict=True):
                self.histories[place].add(action)
        ended = before != self.states[["set", "turn", "current_player"]]
        self._end_turns(np.flatnonzero(ended), to_act)
        self._finish(self.game.is_terminal(self.states))
        self.watch.stepped(actions, turns + int(ended.sum()))

    # --- asking ---

    def _ask(self, index: int, asked: np.ndarray, actions: np.ndarray) -> None:
        """Enter an agent's decisions for the lanes `asked` in `actions`; those it has none for enter `lost`."""
        seeds = self.scrub_rng.integers(MAX_SEED, size=asked.size, dtype=np.uint64, endpoint=True)
        answer, action, reason = self._call(index, asked, seeds)
        if not reason:
            actions[asked] = answer
            self._find_illegal(index, asked, actions)
        elif asked.size == 1:
            self._lose(index, int(asked[0]), action, reason)
        else:
            for place, lane in enumerate(asked):
                alone = slice(place, place + 1)
                answer, action, reason = self._call(index, asked[alone], seeds[alone])
                if reason:
                    self._lose(index, int(lane), action, reason)
                else:
                    actions[lane] = answer[0]
                    self._find_illegal(index, asked[alone], actions)

    def _call(self, index: int, asked: np.ndarray, seeds: np.ndarray) -> tuple[Any, str, str]:
        """An agent's answer; where it is none, how a record tells it, and what is wrong with it."""
        seen = self.game.scrub(self.states[asked], seeds)
        turns = int((seen["actions_left"] == self.game.rules.actions_per_turn).sum())
        first = index not in self.warm
        self.warm.add(index)
        self.watch.asks(index, asked.size, first)
        start = time.perf_counter()
        try:
            answer = self.agents[index].act(self.game, seen, self.rngs[index])
        except BaseException as error:  # whatever an agent raises is its own fault, SystemExit too
            if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
                raise  # the user's Ctrl-C; a process deaf to it (`matches/pool.py`) has this from the agent, too
            return None, "none", _told(error)
        finally:
            seconds = time.perf_counter() - start
            self.watch.answered()
            self._clock(index, asked, turns, np.nan if first else seconds)
        reason = _not_actions(answer, asked.size)
        return answer, type(answer).__name__ if reason else "", reason

    def _clock(self, index: int, asked: np.ndarray, turns: int, seconds: float) -> None:
        self.spent[self.lanes[asked]] += seconds / asked.size
        if not np.isnan(seconds):
            clock = self.played.clocks[index]
            clock.decisions += asked.size
            clock.turns += turns
            clock.seconds += seconds

    def _find_illegal(self, index: int, asked: np.ndarray, actions: np.ndarray) -> None:
        masks, chosen = self.game.legal_actions(self.states[asked]), actions[asked]
        known = (chosen >= 0) & (chosen < self.game.num_actions)
        legal = known & masks[np.arange(asked.size), np.where(known, chosen, 0)]
        for place in np.flatnonzero(~legal):
            number = int(chosen[place])
            name = self.game.action_names[number] if known[place] else str(number)
            allowed = ", ".join(self.game.action_names[action] for action in np.flatnonzero(masks[place]))
            told = f"{number} ({name})" if known[place] else name
            reason = f"it chose action {told}, which is illegal; legal are {allowed}"
            self._lose(index, int(asked[place]), name, reason)

    def _lose(self, index: int, lane: int, action: str, reason: str) -> None:
        seat, number = int(self.states["current_player"][lane]), int(self.numbers[self.lanes[lane]])
        self.lost[lane] = Loss(number, index, seat, action, reason)

    # --- what became of them ---

    def _drop_lost(self, actions: np.ndarray) -> int:
        """Enter the games that are lost, and go on with the others; returns the turns that will not be played."""
        self.kept = np.ones(self.lanes.size, np.bool_)
        for lane, loss in self.lost.items():
            place = self.lanes[lane]
            self.kept[lane] = False
            self.played.losses.append(loss)
            self.played.win_share[place] = lost_share(self.plan.seats[loss.game], loss.seat)
            if self.histories:
                self._keep_record(lane, loss)
        turns = int(self.turns_left[self.lanes[~self.kept]].sum())
        if self.lost:
            self.states, self.lanes, self.lost = self.states[self.kept], self.lanes[self.kept], {}
        return turns

    def _end_turns(self, ended: np.ndarray, movers: np.ndarray) -> None:
        places = self.lanes[ended]
        self.turns_left[places] -= 1
        for index, seconds in zip(movers[ended].tolist(), self.spent[places].tolist(), strict=True):
            if seconds == seconds:  # a number
                self.played.clocks[index].turn_seconds.append(seconds)
        self.spent[places] = 0

    def _finish(self, over: np.ndarray) -> None:
        if not over.any():
            return
        results, places = self.game.results(self.states[over]), self.lanes[over]
        self.played.final[places] = results["final"]
        self.played.win_share[places] = results["win_share"]
        if self.histories:
            for lane in np.flatnonzero(over):
                self._keep_record(lane, None)
        self.states, self.lanes = self.states[~over], self.lanes[~over]

    def _keep_record(self, lane: int, loss: Loss | None) -> None:
        place, state = int(self.lanes[lane]), self.states[lane : lane + 1]
        self.records[place] = _record(self.plan, int(self.numbers[place]), self.histories[place], state, loss)


def _record(plan: Plan, number: int, history: History, states: np.ndarray, loss: Loss | None) -> Record:
    fault = None if loss is None else {"seat": loss.seat, "action": loss.action, "reason": loss.reason}
    return history.record(states, [plan.names[agent] for agent in plan.seats[number]], fault)


def _not_actions(answer: Any, count: int) -> str:
    """What is wrong with an agent's answer as an array of `count` whole numbers, '' if nothing is."""
    if not isinstance(answer, np.ndarray):
        return f"it answered with a {type(answer).__name__}, not an array of {count} actions"
    if answer.shape != (count,) or answer.dtype.kind not in "iu":
        return f"it answered with {answer.dtype} of shape {answer.shape}, not with integers of shape ({count},)"
    return ""


def _told(error: BaseException) -> str:
    """An exception in one line, with the place it comes from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    words = " ".join(str(error).split())
    return f"it raised {type(error).__name__}{': ' if words else ''}{words} ({place.filename}, line {place.lineno})"
