"""The audit: does an agent decide by what players may see, and by nothing else?

It is asked in states sampled from seeded games, made anew each time unless its spec names an object that is there already: with
the same generator it must give the same legal decisions again, and again when the seeds in the records are others, and leave
the states as they were. An agent on a budget of milliseconds (an attribute `ms` that is not None) need not repeat itself, so
nothing can be told of it. There is no time limit: an agent that hangs, hangs the audit. Knows agents only by `act`; `bombay
audit` prints what is found here, in a process of its own, as an agent that ends its process must not pass.
"""

import dataclasses
import math
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import bombay_agents
from bombay_agents import Agent
from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Game
from bombay_env.checks import MAX_SEED
from bombay_env.state import state_to_dict

GAMES_A_ROUND: Final = 4  # that are sampled from at once
MAX_ROUNDS: Final = 8  # of looking for a state in which a `take` is pending
OTHER_SEEDS: Final = 3  # sets of them that the same states are shown with


@dataclasses.dataclass(frozen=True)
class Report:
    """What an audit found.

    Args:
        verdict: `passed`, `failed` or `not auditable`.
        states: how many states the agent was to be asked in.
        reason: one line; empty if it passed.
        state: where it failed, as RULES' names tell a state.
        answers: the two decisions that should have been the same.
    """

    verdict: str
    states: int
    reason: str = ""
    state: dict[str, Any] | None = None
    answers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.verdict + (f": {self.reason}" if self.reason else f", asked in {self.states} states")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dataclasses.asdict(self)


class _Failure(Exception):  # noqa: N818 - of the agent, not of the program
    """What an agent did wrong, in which state of the batch, and two answers if it is that they differ."""

    def __init__(self, reason: str, lane: int | None = None, answers: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.reason, self.lane, self.answers = reason, lane, answers


def audit(make: Callable[[], Agent], games: Sequence[Game], states: int = 400, seed: int = 0) -> Report:
    """Audit an agent.

    Args:
        make: makes the agent, the same each time; called before each time that it is asked.
        games: what to play; the states are shared out among them.
        states: how many to ask in, in all.
        seed: of the games and of the agent's generator.
    """
    try:
        with _its_fault():
            milliseconds = getattr(make(), "ms", None)
    except _Failure as failure:
        return Report("failed", 0, failure.reason)
    if milliseconds is not None:
        reason = f"it has a budget of {milliseconds} ms, and time does not repeat; give it one of nodes or rollouts"
        return Report("not auditable", 0, reason)
    asked = 0
    for number, game in enumerate(games):
        sample = sample_states(game, math.ceil(states / len(games)), seed + number)
        try:
            _check(make, game, sample, seed)
        except _Failure as failure:
            if failure.lane is None:
                return Report("failed", asked, f"{game.num_players} players: {failure.reason}")
            told = state_to_dict(sample[failure.lane], game.rules, game.board)
            where = ", ".join(f"{name} {told[name]}" for name in ("set", "turn", "current_player", "actions_left"))
            reason = f"{game.num_players} players, state {failure.lane} ({where}): {failure.reason}"
            return Report("failed", asked, reason, told, failure.answers)
        asked += len(sample)
    return Report("passed", asked)


def audit_apart(spec: str, games: Sequence[Game], states: int, seed: int) -> Report:
    """Audit the agent that `spec` names in a process of its own: one that ends it has failed.

    Raises:
        ValueError: the spec names no agent, or it cannot be made.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _be_silent) as pool:
        try:
            return pool.submit(_audit_spec, spec, games, states, seed).result()
        except BrokenProcessPool:
            return Report("failed", 0, "it ended its process, or the machine did")


def _be_silent() -> None:
    """What an agent prints is not part of the result; Ctrl-C ends the process without a word."""
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _audit_spec(spec: str, games: Sequence[Game], states: int, seed: int) -> Report:
    bombay_agents.make(spec)
    return audit(lambda: bombay_agents.make(spec), games, states, seed)


def sample_states(game: Game, count: int, seed: int = 0) -> np.ndarray:
    """States of seeded games by random and by greedy play, (count,), no two of them of the same moment.

    A tenth have a `take` pending, where play has come to so many; a quarter are of the last turn of a set, where a look at the
    restock to come would pay; the others of any moment.
    """
    rng = np.random.default_rng((seed, count))
    pools: list[np.ndarray] = []
    pool = np.zeros(0, game.state_dtype)
    while len(pool) < count or (len(pools) < 2 * MAX_ROUNDS and not pool["take_pending"].any()):
        pools += [_moments(game, agent, GAMES_A_ROUND, rng) for agent in (RandomAgent(), GreedyAgent())]
        pool = np.concatenate(pools)
    last = pool["turn"] == game.rules.turns_per_set - 1
    chosen: list[int] = []
    for wanted, size in (
        (pool["take_pending"] == 1, count // 10),
        (last, count // 4),
        (np.ones(len(pool), bool), count),
    ):
        left = np.setdiff1d(np.flatnonzero(wanted), chosen)
        chosen += rng.permutation(left)[: min(size, count - len(chosen))].tolist()
    return pool[sorted(chosen)]


def _moments(game: Game, agent: Agent, lanes: int, rng: np.random.Generator) -> np.ndarray:
    """All states of some games in which somebody is to move."""
    states, found = game.new_states(rng.integers(MAX_SEED, size=lanes, dtype=np.uint64)), []
    while len(states):
        found.append(np.asarray(states).copy())
        game.step(states, agent.act(game, states.copy(), rng))
        states = states[~game.is_terminal(states)]
    return np.concatenate(found)


def _check(make: Callable[[], Agent], game: Game, sample: np.ndarray, seed: int) -> None:
    """Ask an agent in these states; raises `_Failure` with the first thing that is wrong."""
    rng = np.random.default_rng(seed)
    first = _ask(make, game, sample, seed)
    again = _ask(make, game, sample, seed)
    _compare(game, first, again, "asked again in the same way")
    for _ in range(OTHER_SEEDS):
        scrubbed = game.scrub(sample, rng.integers(MAX_SEED, size=len(sample), dtype=np.uint64, endpoint=True))
        other = _ask(make, game, np.asarray(scrubbed), seed)
        _compare(game, first, other, "with another seed in the record, which no player may see")


@contextmanager
def _its_fault() -> Iterator[None]:
    """Whatever an agent raises meanwhile is its own fault."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _Failure(f"it raised {type(error).__name__}: {' '.join(str(error).split())}") from error


def _ask(make: Callable[[], Agent], game: Game, sample: np.ndarray, seed: int) -> np.ndarray:
    shown = sample.copy().view(np.recarray)
    with _its_fault():
        answer = make().act(game, shown, np.random.default_rng(seed))
    if not isinstance(answer, np.ndarray) or answer.shape != (len(sample),) or answer.dtype.kind not in "iu":
        found = f"{answer.dtype} of shape {answer.shape}" if isinstance(answer, np.ndarray) else type(answer).__name__
        raise _Failure(f"it answered with {found}, not with integers of shape ({len(sample)},)")
    changed = np.flatnonzero(np.asarray(shown) != sample)
    if changed.size:
        raise _Failure("it changed the state that it was given", int(changed[0]))
    masks = game.legal_actions(sample)
    known = (answer >= 0) & (answer < game.num_actions)
    illegal = np.flatnonzero(~(known & masks[np.arange(len(sample)), np.where(known, answer, 0)]))
    if illegal.size:
        lane = int(illegal[0])
        name = game.action_names[answer[lane]] if known[lane] else str(answer[lane])
        raise _Failure(f"it chose {name}, which is illegal", lane, (name,))
    return answer


def _compare(game: Game, one: np.ndarray, other: np.ndarray, when: str) -> None:
    differ = np.flatnonzero(one != other)
    if differ.size:
        lane = int(differ[0])
        answers = (game.action_names[one[lane]], game.action_names[other[lane]])
        raise _Failure(f"it chose {answers[0]}, and {answers[1]} {when}", lane, answers)
