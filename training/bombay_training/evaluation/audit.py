"""The audit: does an agent decide by what players may see, and by nothing else?

The agent decides in states sampled from seeded games. It is made again before each call, unless its spec names an existing
object. With the same generator it must repeat its legal decisions, also when the states have other seeds, and it must not
change the states. An agent with a budget of milliseconds (an attribute `ms` that is not None) need not repeat itself, so it
cannot be audited. There is no time limit: if the agent hangs, so does the audit. `bombay audit` runs it in a separate
process, because an agent that ends its process must not pass.
"""

import dataclasses
import math
import multiprocessing
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final

import numpy as np

import bombay_agents
from bombay_agents import Agent
from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Game
from bombay_env.agent import AgentFault, Blame, ask, name_of
from bombay_env.checks import MAX_SEED
from bombay_env.state import state_to_dict

GAMES_PER_ROUND: Final = 4  # played together to sample states from
MAX_ROUNDS: Final = 8  # of play until a state with a pending `take` occurs
OTHER_SEEDS: Final = 3  # how often the same states are shown with other seeds
WHO: Final = "it"  # names the agent in a fault, whose message is not used


@dataclasses.dataclass(frozen=True)
class AuditReport:
    """The result of an audit.

    Args:
        verdict: `passed`, `failed` or `not auditable`.
        states: in how many states the agent passed.
        reason: one line; empty if it passed.
        state: where it failed, in the words of RULES.
        answers: the two decisions that differ, or the illegal one.
    """

    verdict: str
    states: int
    reason: str = ""
    state: dict[str, Any] | None = None
    answers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.verdict + (f": {self.reason}" if self.reason else f" in {self.states} states")

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class _Finding:
    """What is wrong with an agent: the reason, the index of the state if it is one, and the answers to show."""

    reason: str
    lane: int | None = None
    answers: tuple[str, ...] = ()


def audit(make: Callable[[], Agent], games: Sequence[Game], states: int = 400, seed: int = 0) -> AuditReport:
    """Audit an agent.

    Args:
        make: makes the agent, always the same; called before each call of the agent.
        games: the games to play, with an equal share of the states each.
        states: number of states in all.
        seed: of the games and of the agent's generator.
    """
    try:
        with Blame(WHO):
            ms = getattr(make(), "ms", None)
    except AgentFault as fault:
        return AuditReport("failed", 0, fault.reason)
    if ms is not None:
        reason = f"it has a budget of {ms} ms, and timing varies; give it a budget of nodes or rollouts"
        return AuditReport("not auditable", 0, reason)
    passed = 0
    for number, game in enumerate(games):
        sample = sample_states(game, math.ceil(states / len(games)), seed + number)
        finding = _check(make, game, sample, seed)
        if finding is not None:
            return _failed(game, sample, finding, passed)
        passed += len(sample)
    return AuditReport("passed", passed)


def _failed(game: Game, sample: np.ndarray, finding: _Finding, passed: int) -> AuditReport:
    where, state = f"{game.num_players} players", None
    if finding.lane is not None:
        state = state_to_dict(sample[finding.lane], game.rules, game.board)
        fields = ", ".join(f"{name} {state[name]}" for name in ("set", "turn", "current_player", "actions_left"))
        where = f"{where}, state {finding.lane} ({fields})"
    return AuditReport("failed", passed, f"{where}: {finding.reason}", state, finding.answers)


def audit_in_process(spec: str, games: Sequence[Game], states: int, seed: int) -> AuditReport:
    """Audit the agent of a spec in a separate process. An agent that ends the process has failed.

    Raises:
        ValueError: the spec is invalid, or the agent cannot be made.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _start_process) as pool:
        try:
            return pool.submit(_audit_spec, spec, games, states, seed).result()
        except BrokenProcessPool:
            return AuditReport("failed", 0, "its process ended")


def _start_process() -> None:
    """Keep what the agent prints out of the result, and let Ctrl-C end the process without a traceback."""
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _audit_spec(spec: str, games: Sequence[Game], states: int, seed: int) -> AuditReport:
    bombay_agents.make(spec)
    return audit(lambda: bombay_agents.make(spec), games, states, seed)


def sample_states(game: Game, count: int, seed: int = 0) -> np.ndarray:
    """Different states of seeded games between random and between greedy players, (count,).

    A tenth have a pending `take`, if that many occurred. A quarter are in the last turn of a set, where it would pay to know the
    coming restock. The others are sampled from all states.
    """
    rng = np.random.default_rng((seed, count))
    pools: list[np.ndarray] = []
    pool = np.zeros(0, game.state_dtype)
    while len(pool) < count or (len(pools) < 2 * MAX_ROUNDS and not pool["take_pending"].any()):
        pools += [_play_through(game, agent, GAMES_PER_ROUND, rng) for agent in (RandomAgent(), GreedyAgent())]
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


def _play_through(game: Game, agent: Agent, lanes: int, rng: np.random.Generator) -> np.ndarray:
    """All states of some games in which a player is to move."""
    states, found = game.new_states(rng.integers(MAX_SEED, size=lanes, dtype=np.uint64)), []
    while len(states):
        found.append(np.asarray(states).copy())
        game.step(states, ask(agent, game, states, rng, np.zeros(len(states), np.uint64)))
        states = states[~game.is_terminal(states)]
    return np.concatenate(found)


def _check(make: Callable[[], Agent], game: Game, sample: np.ndarray, seed: int) -> _Finding | None:
    """The first thing that is wrong with an agent's decisions in these states, None if nothing is."""
    rng = np.random.default_rng(seed)
    shown = [(sample["seed"], "when the call was repeated")] * 2
    for _ in range(OTHER_SEEDS):
        seeds = rng.integers(MAX_SEED, size=len(sample), dtype=np.uint64, endpoint=True)
        shown.append((seeds, "with another seed in the state, which no player may use"))
    first = None
    for seeds, when in shown:
        answer = _decide(make, game, sample, seeds, seed)
        if isinstance(answer, _Finding):
            return answer
        first = answer if first is None else first
        differ = np.flatnonzero(first != answer)
        if differ.size:
            lane = int(differ[0])
            names = (game.action_names[first[lane]], game.action_names[answer[lane]])
            return _Finding(f"it chose {names[0]}, but {names[1]} {when}", lane, names)
    return None


def _decide(
    make: Callable[[], Agent], game: Game, sample: np.ndarray, seeds: np.ndarray, seed: int
) -> np.ndarray | _Finding:
    """The agent's actions in the states with these seeds, or what is wrong with them."""
    try:
        with Blame(WHO):
            agent = _Watched(make())
        answer = ask(agent, game, sample, np.random.default_rng(seed), seeds, WHO)
    except AgentFault as fault:
        return (
            _Finding(fault.reason) if fault.answer is None else _Finding(fault.reason, fault.lanes[0], (fault.action,))
        )
    if agent.changed.size:
        return _Finding("it changed the state that it was given", int(agent.changed[0]))
    return answer


class _Watched:
    """An agent with a record of the lanes whose states it changed in its last call, `changed`."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, name_of(agent)
        self.changed = np.zeros(0, np.int64)

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        before = np.asarray(states).copy()
        answer = self.agent.act(game, states, rng)
        self.changed = np.flatnonzero(np.asarray(states) != before)
        return answer
