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
from bombay_env.agent import AgentContext, AgentFault, Blame, ask
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
        failure = _failure(make, game, sample, seed)
        if failure:
            return dataclasses.replace(failure, states=passed)
        passed += len(sample)
    return AuditReport("passed", passed)


def audit_in_process(spec: str, games: Sequence[Game], states: int, seed: int) -> AuditReport:
    """Audit the agent of a spec in a separate process. An agent that ends the process has failed.

    Raises:
        ValueError: the spec is invalid, or the agent cannot be made.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        try:
            return pool.submit(_audit_spec, spec, games, states, seed).result()
        except BrokenProcessPool:
            return AuditReport("failed", 0, "its process ended")


def _audit_spec(spec: str, games: Sequence[Game], states: int, seed: int) -> AuditReport:
    sys.stdout = sys.stderr  # what the agent prints is not part of the result
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the process without a traceback
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
    take, last = pool["take_pending"] == 1, pool["turn"] == game.rules.turns_per_set - 1
    chosen: list[int] = []
    for wanted, size in ((take, count // 10), (last, count // 4), (np.ones(len(pool), np.bool_), count)):
        left = np.setdiff1d(np.flatnonzero(wanted), chosen)
        chosen += rng.permutation(left)[: min(size, count - len(chosen))].tolist()
    return pool[sorted(chosen)]


def _play_through(game: Game, agent: Agent, lanes: int, rng: np.random.Generator) -> np.ndarray:
    """All states of some games in which a player is to move."""
    states, found = game.new_states(rng.integers(MAX_SEED, size=lanes, dtype=np.uint64)), []
    while len(states):
        found.append(np.asarray(states).copy())
        game.step(states, ask(agent, game, states, AgentContext(rng, np.zeros(len(states), np.uint64))))
        states = states[~game.is_terminal(states)]
    return np.concatenate(found)


def _failure(make: Callable[[], Agent], game: Game, sample: np.ndarray, seed: int) -> AuditReport | None:
    """The first thing that is wrong with an agent's decisions in these states, None if nothing is."""

    def failed(reason: str, lane: int | None = None, answers: tuple[str, ...] = ()) -> AuditReport:
        where, state = f"{game.num_players} players", None
        if lane is not None:
            state = state_to_dict(sample[lane], game.rules, game.board)
            fields = ", ".join(f"{name} {state[name]}" for name in ("set", "turn", "current_player", "actions_left"))
            where = f"{where}, state {lane} ({fields})"
        return AuditReport("failed", 0, f"{where}: {reason}", state, answers)

    rng, first = np.random.default_rng(seed), None
    shown = [(sample["seed"], "when the call was repeated")] * 2
    for _ in range(OTHER_SEEDS):
        seeds = rng.integers(MAX_SEED, size=len(sample), dtype=np.uint64, endpoint=True)
        shown.append((seeds, "with another seed in the state, which no player may use"))
    for seeds, when in shown:
        try:
            with Blame(WHO):
                agent = _Watched(make())
            answer = ask(agent, game, sample, AgentContext(np.random.default_rng(seed), seeds), WHO)
        except AgentFault as fault:
            illegal = fault.answer is not None
            return failed(fault.reason, fault.lanes[0], (fault.action,)) if illegal else failed(fault.reason)
        if agent.changed.size:
            return failed("it changed the state that it was given", int(agent.changed[0]))
        first = answer if first is None else first
        for lane in np.flatnonzero(first != answer).tolist():
            names = (game.action_names[first[lane]], game.action_names[answer[lane]])
            return failed(f"it chose {names[0]}, but {names[1]} {when}", lane, names)
    return None


class _Watched:
    """An agent with a record of the lanes whose states it changed in its last call, `changed`."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.changed = agent, np.zeros(0, np.int64)

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        before = np.asarray(states).copy()
        answer = self.agent.act(game, states, rng)
        self.changed = np.flatnonzero(np.asarray(states) != before)
        return answer
