"""What a player is, how it is asked for actions, and what happens when it fails.

An `Agent` is an object with the method `act`. Matches, training, environments and notebooks call it only through `ask`, which
passes copies without the games' seeds and checks every answer. This module contains no player. `registry.py` makes players by
name; `bombay_agents/random.py` is the smallest one to read.
"""

import dataclasses
import signal
import traceback
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from types import TracebackType
from typing import Any, Final, Protocol, Self, runtime_checkable

import numpy as np

from bombay_env import checks
from bombay_env.chance import lane_words
from bombay_env.checks import MAX_SEED
from bombay_env.game import Game, IllegalActionError

NO_ACTION: Final = "none"  # how a record names the action of an agent that did not answer


@runtime_checkable
class Agent(Protocol):
    """A player of Bombay, for any number of games at once. Any object with this method is an agent.

    If it has an attribute `name`, that is its name in tables and records; if not, the name of its class. The arena
    shows the spec instead if that is what it was given.
    """

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose one action for each state.

        Args:
            game: the variant and the board of the states.
            states: (batch,) records of `game.state_dtype`, with this agent to move in all of them. They are scrubbed copies:
                their seeds are not the seeds of the games, so they reveal no coming draw.
            rng: the only source of randomness to use. The same states and generator give the same actions.

        Returns:
            (batch,) integers, a legal action for each state.
        """
        ...


def name_of(agent: Any) -> str:
    """An agent's name in tables and records."""
    return str(getattr(agent, "name", type(agent).__name__))


def check_plays(agent: Any, game: Game) -> None:
    """Raise ValueError if an agent cannot play a game, as a net cannot that learned by other rules.

    An agent that plays only some games has a method `check_game(game)` that raises ValueError.
    """
    check_game = getattr(agent, "check_game", None)
    if check_game is not None:
        check_game(game)


class LaneGenerator(np.random.Generator):
    """A generator that also has random numbers for each lane. Environments with opponents, and matches, give it to their agents.

    Attributes:
        keys: (batch,) uint64. They depend on the lane alone: on its game and the number of moves so far.
        games: (batch,) uint64. They depend on the lane's game alone, and tell games in equal positions apart.
    """

    keys: np.ndarray
    games: np.ndarray

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.bit_generator,)


def lane_keys(rng: np.random.Generator, count: int) -> np.ndarray:
    """A random key for each lane, (count,) uint64, to draw from what is random in the lane.

    An agent that takes all its randomness from these keys decides in each lane of an environment independently of the others. If
    an agent passes only some of its lanes on to another, that agent's keys are drawn from the generator.
    """
    if isinstance(rng, LaneGenerator) and len(rng.keys) == count:
        return rng.keys
    return rng.integers(1 << 64, size=count, dtype=np.uint64)


def lane_games(rng: np.random.Generator, count: int) -> np.ndarray:
    """A number for each lane's game, (count,) uint64, the same at each of its moves; zeros if `rng` does not know the lanes.

    An agent that keeps plans from one decision to the next keeps them by these numbers.
    """
    if isinstance(rng, LaneGenerator) and len(rng.games) == count:
        return rng.games
    return np.zeros(count, np.uint64)


@dataclasses.dataclass(frozen=True)
class AgentContext:
    """What `ask` needs besides the states: the agent's generator, and the seeds of the copies of the states that the agent sees.

    Args:
        rng: the agent's source of randomness.
        seeds: (batch,) integers in 0…2**64−1, the seeds in the copies of the states that it sees.
    """

    rng: np.random.Generator
    seeds: Any

    @classmethod
    def drawn(cls, rng: np.random.Generator, count: int, by: np.random.Generator | None = None) -> Self:
        """A context for `count` states. Its seeds are drawn from `by`, or else from `rng`, before the agent draws from it."""
        return cls(rng, (by or rng).integers(MAX_SEED, size=count, dtype=np.uint64, endpoint=True))

    @classmethod
    def keyed(
        cls,
        rng: LaneGenerator,
        keys: np.ndarray,
        moves: np.ndarray,
        scrubs: np.uint64,
        choices: np.uint64,
        games: np.uint64,
    ) -> Self:
        """A context in which each lane has random numbers of its own, so that its decisions depend on no other lane.

        Args:
            rng: its `keys` and `games` are set in place.
            keys: (batch,) uint64, of the lanes' games.
            moves: (batch,) uint64, the number of decisions in each game so far.
            scrubs, choices, games: the streams of the seeds, of the lane's random keys, and of its number (`streams.py`).
        """
        rng.keys, rng.games = lane_words(keys, choices, moves), lane_words(keys, games, np.zeros_like(moves))
        return cls(rng, lane_words(keys, scrubs, moves))


class AgentFault(RuntimeError):  # noqa: N818 - the agent is at fault, not the program
    """An agent raised an exception, or its answer is not a legal action for every state.

    Args:
        who: the agent as the message names it, such as `agent 'greedy'`.
        reason: what is wrong, in one line; empty if `who` says all.
        lanes: the lanes of the batch at fault. They are all lanes unless the answer is an array of actions, some of them illegal.
        action: the answer in the first of these lanes as a record tells it (RULES 8): an action's name or number, the type of
            an answer that is not an array of actions, or `none` if there was no answer.
        answer: (batch,) int64 actions, legal in all lanes but `lanes`. None if there are none.
        failures: what went wrong in each of `lanes` by itself, if there is an answer: its action and its reason, as above.
    """

    def __init__(
        self,
        who: str,
        reason: str = "",
        lanes: Sequence[int] = (),
        action: str = NO_ACTION,
        answer: np.ndarray | None = None,
        failures: Mapping[int, tuple[str, str]] | None = None,
    ) -> None:
        # Without a reason `who` is another such error: AsyncVectorEnv makes an error from the error itself.
        super().__init__(checks.message(f"{who}: {reason}" if reason else str(who)))
        self.who, self.reason = who, checks.message(reason)
        self.lanes, self.action, self.answer = tuple(lanes), action, answer
        self.failures = dict(failures or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.who, self.reason, self.lanes, self.action, self.answer, self.failures)


class FailedLanes(Exception):  # noqa: N818 - it carries an answer, too
    """Raised by an agent that fails in some of the games it is asked about, while its answer in the others stands.

    Only an agent that decides game by game can know this, such as one that asks a program outside. `ask` makes an `AgentFault` of
    it.

    Args:
        actions: (batch,) int64, of any value in the lanes that failed.
        failures: for each lane that failed its action and its reason, as in `AgentFault`.
    """

    def __init__(self, actions: np.ndarray, failures: Mapping[int, tuple[str, str]]) -> None:
        super().__init__("; ".join(reason for _, reason in failures.values()))
        self.actions, self.failures = actions, dict(failures)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.actions, self.failures)


def ask(
    agent: Agent,
    game: Game,
    states: np.ndarray,
    context: AgentContext,
    who: str | None = None,
    during: AbstractContextManager[Any] | None = None,
) -> np.ndarray:
    """Let an agent choose one action for each state, and check the answer.

    The agent sees scrubbed copies, so it can neither predict draws nor change the states.

    Args:
        agent: the agent.
        game: the variant and the board of the states.
        states: (batch,) records, unchanged.
        context: its source of randomness, and the seeds in the copies.
        who: names the agent in error messages; `agent` and its name unless given.
        during: entered around the agent's own code only, to measure its time.

    Returns:
        (batch,) int64 legal actions.

    Raises:
        AgentFault: the agent raised, or its answer is not a legal action for every state. Ctrl-C stays a KeyboardInterrupt.
    """
    count = len(states)
    seen = game.scrub(states, context.seeds)
    who = f"agent {name_of(agent)!r}" if who is None else who
    failures: Mapping[int, tuple[str, str]] = {}
    with nullcontext() if during is None else during, Blame(who, range(count)):
        try:
            answer = agent.act(game, seen, context.rng)
        except FailedLanes as failed:
            answer, failures = failed.actions, failed.failures
    return _checked(game, states, answer, who, failures)


class Blame:
    """A context in which every exception of an agent's code, SystemExit included, becomes an `AgentFault`.

    A KeyboardInterrupt passes, because it comes from the user, unless the process ignores that signal.

    Args:
        who: names the agent in the message.
        lanes: the lanes of the batch it was asked about.
    """

    # A class, because a generator's context manager passes a StopIteration on instead of the fault made of it.

    def __init__(self, who: str, lanes: Sequence[int] = ()) -> None:
        self.who, self.lanes = who, lanes

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, frames: TracebackType | None) -> None:
        if error is None:
            return
        if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            return
        place = traceback.extract_tb(frames)[-1]
        reason = f"it raised {describe_error(error)} ({place.filename}, line {place.lineno})"
        raise AgentFault(self.who, reason, self.lanes) from error


def describe_illegal(game: Game, state: np.ndarray, action: int) -> tuple[str, str]:
    """An illegal action's name, or its number if there is no such action, and what is wrong with it in one line.

    Args:
        game: the variant and the board of the state.
        state: (1,) record.
        action: the action.
    """
    allowed = ", ".join(game.action_names[legal] for legal in np.flatnonzero(game.legal_actions(state)[0]))
    known = 0 <= action < game.num_actions
    name = game.action_names[action] if known else str(action)
    number = f"{action} ({name})" if known else name
    return name, checks.message(f"it chose action {number}, which is illegal; legal are {allowed}")


def describe_error(error: BaseException) -> str:
    """An exception in one line: its type and its message."""
    try:
        words = " ".join(str(error).split())
    except Exception:  # of a class with a faulty `__str__`
        words = ""
    return checks.message(f"{type(error).__name__}{': ' if words else ''}{words}")


def _checked(
    game: Game, states: np.ndarray, answer: Any, who: str, failures: Mapping[int, tuple[str, str]]
) -> np.ndarray:
    """An answer as (batch,) int64 actions, all of them legal. `failures`: the lanes without one. Raises AgentFault."""
    count, kind = len(states), type(answer).__name__
    if checks.is_list(answer):
        with suppress(ValueError):  # lists of different lengths
            answer = np.asarray(answer)
    if not isinstance(answer, np.ndarray) or answer.shape != (count,) or answer.dtype.kind not in "iu":
        found = checks.form(answer) if isinstance(answer, np.ndarray) else f"a {kind}"
        raise AgentFault(who, f"its actions are {found}, not integers of shape ({count},)", range(count), kind)
    chosen = checks.actions(answer, count).copy()
    if failures:
        chosen[list(failures)] = -1  # illegal in every state
    try:
        return game.check_actions(states, chosen)
    except IllegalActionError as error:
        described = {
            lane: failures.get(lane) or describe_illegal(game, states[lane : lane + 1], int(chosen[lane]))
            for lane in error.lanes
        }
        action, reason = described[error.lanes[0]]
        raise AgentFault(who, reason, error.lanes, action, chosen, described) from None
