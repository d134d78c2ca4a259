"""How fast the learners learn, and how their time divides into engine, net, learning and the rest.

All run with their default settings, a new net and one player count, on one thread; `zero` also on two. An update first
collects games played by the net, then learns from them. As everywhere in `bench`, the figures hold for this machine at this
moment; `cases.py` has the others.
"""

import dataclasses
import importlib.util
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numba
import numpy as np

from benchmarks import cases
from benchmarks.cases import Rates
from bombay_agents import turns
from bombay_agents.nets.value.agent import ValueNetAgent, best_shares
from bombay_agents.turns.agent import TurnAgent
from bombay_agents.turns.evaluator import new_turns
from bombay_env import Game
from bombay_training.learners import zero

GAMES: Final = 16  # their turns are timed with the net and without it


@dataclasses.dataclass(frozen=True)
class Spent:
    """How much some updates learned from, and their seconds in total and by part; engine and net are parts of collecting.

    `counts` holds what else the updates did, by name.
    """

    count: int
    total: float
    collecting: float
    learning: float
    engine: float
    net: float
    counts: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class LearningRow:
    """One line of the report.

    Args:
        name: of the learner.
        includes: what the shares cover.
        unit: what it learns from.
        rate: units a second, overall.
        collected: units a second while collecting.
        learned: units a second while learning.
        shares: of the time, by part: engine, net, learning, other.
        threads: used.
        rates: of what else it does, such as games and learning steps, per second overall; by name.
        gain: `rate` divided by that on one thread, measured alternately; None on one thread.
    """

    name: str
    includes: str
    unit: str
    rate: Rates
    collected: Rates
    learned: Rates
    shares: dict[str, float]
    threads: int = 1
    rates: dict[str, Rates] = dataclasses.field(default_factory=dict)
    gain: float | None = None

    @classmethod
    def of(cls, name: str, includes: str, unit: str, runs: list[Spent], threads: int = 1) -> "LearningRow":
        """Rates over runs; shares of the time of all runs together."""
        total = sum(run.total for run in runs)
        parts = {part: sum(getattr(run, part) for run in runs) / total for part in ("engine", "net", "learning")}
        return cls(
            name,
            includes,
            unit,
            Rates.of([run.count / run.total for run in runs]),
            Rates.of([run.count / run.collecting for run in runs]),
            Rates.of([run.count / run.learning for run in runs]),
            {**parts, "other": 1 - sum(parts.values())},
            threads,
            {name: Rates.of([run.counts[name] / run.total for run in runs]) for name in runs[0].counts},
        )


def measure_all(
    game: Game, threads: Sequence[int], repeats: int, seconds: float, progress: Callable[[str], None]
) -> list[LearningRow]:
    """Measure every learner whose packages are installed; `zero` also on two threads if any of `threads` is 2 or more."""
    players = (game.num_players,)
    progress("zero")
    rows = measure_zero(game, max(threads) >= 2, repeats, seconds, zero.ZeroSettings(players=players))
    if importlib.util.find_spec("sb3_contrib") is not None:
        progress("MaskablePPO")
        rows.append(measure_ppo(game, repeats, seconds))
    return rows


def _updates(run: zero.ZeroRun, engine: float, seconds: float, count: Callable[[], dict[str, int]]) -> Spent:
    """Some updates of a run that times playing and learning itself.

    Args:
        run: updated.
        engine: the engine's part of the time of playing; the rest is the net's.
        seconds: about how long.
        count: what the run has done so far besides positions, by name.
    """
    before, known = count(), run.positions
    start = time.perf_counter()
    collecting = learning = total = 0.0
    while total == 0.0 or total < seconds:
        figures = run.step()
        collecting += figures["play_seconds"]
        learning += figures["learn_seconds"]
        total = max(time.perf_counter() - start, collecting + learning)  # the run rounds its times
    done = {name: number - before[name] for name, number in count().items()}
    positions = run.positions - known
    return Spent(positions, total, collecting, learning, engine * collecting, (1 - engine) * collecting, done)


# --- zero ---


def measure_zero(
    game: Game, on_two: bool, repeats: int, seconds: float, settings: zero.ZeroSettings
) -> list[LearningRow]:
    """Updates of `zero` on one thread and, if `on_two`, on two; runs on one and on two alternate.

    The run itself times playing and learning, and `share_of_layout` divides the time of playing.
    """
    before, run = numba.get_num_threads(), zero.ZeroRun(settings)
    runs: dict[int, list[Spent]] = {threads: [] for threads in ((1, 2) if on_two else (1,))}
    try:
        for threads in runs:
            numba.set_num_threads(threads)
            run.step()  # compiles
        part = share_of_layout(game, run.player())
        for _ in range(repeats):
            for threads, spent in runs.items():
                numba.set_num_threads(threads)
                spent.append(_updates(run, part, seconds, lambda: _zero_counts(run)))
    finally:
        numba.set_num_threads(before)
    includes = (
        "engine: turns laid out; net: features, outcomes valued, the rest of playing; learning: gradient and Adam"
    )
    one, *two = (LearningRow.of("zero", includes, "positions", spent, threads) for threads, spent in runs.items())
    return [one, *(dataclasses.replace(row, gain=row.rate.median / one.rate.median) for row in two)]


def _zero_counts(run: zero.ZeroRun) -> dict[str, int]:
    """What the run has done so far besides positions; evaluations are outcomes of turns that the net valued."""
    return {
        "games": int(run.totals()["games"]),
        "evaluations": run.generator.evaluated,
        "learning steps": run.learner.steps,
    }


def share_of_layout(game: Game, agent: ValueNetAgent) -> float:
    """The share that laying out a turn has in the time to choose its outcome."""
    states, net, turn, memory = (
        turns_of(game, agent),
        agent.evaluator(game),
        new_turns(game, 1),
        turns.new_workspace(game),
    )
    shares = np.empty(game.num_players)

    def lay_out() -> None:
        for state in states:
            turns.enumerate_turn(state, game.tables[0], memory)

    def value() -> None:
        for state in states:
            best_shares(state, game.tables, net, turn, shares)

    return time_ratio(lay_out, value)


def time_ratio(part: Callable[[], Any], whole: Callable[[], Any]) -> float:
    """The time of `part` divided by that of `whole`, which includes it; at most 1.

    Both are timed alternately; the best time of each counts.
    """
    best = [np.inf, np.inf]
    for _ in range(6):  # the first time compiles
        for number, way in enumerate((part, whole)):
            start = time.perf_counter()
            way()
            best[number] = min(best[number], time.perf_counter() - start)
    return min(1.0, best[0] / best[1])


def turns_of(game: Game, agent: TurnAgent) -> np.ndarray:
    """States at which turns start, from a few games in which the agent has every seat."""
    states, rng, found = game.new_states(range(GAMES)), np.random.default_rng(0), []
    while not (over := game.is_terminal(states)).all():
        running = states[~over]
        found.append(running[running["actions_left"] == game.rules.actions_per_turn])
        game.step(running, agent.act(game, running, rng))
        states[~over] = running
    return np.ascontiguousarray(np.concatenate(found)).view(game.state_dtype, np.ndarray)


# --- PPO ---


def measure_ppo(game: Game, repeats: int, seconds: float, **changes: Any) -> LearningRow:
    """Updates of MaskablePPO with its default settings but for `changes`; stopwatches time the environment and the policy."""
    model = cases.ppo_model(game, **changes)
    env = model.env
    engine, net, collecting, learning = (Stopwatch() for _ in range(4))
    engine.watch(env, "step", "env_method", "seat_views")  # masks; values of seats that are not to move
    net.watch(model.policy, "forward", "predict_values")
    collecting.watch(model, "collect_rollouts")
    learning.watch(model, "train")
    rollout = env.num_envs * model.n_steps

    def updates() -> Spent:
        for watch in (engine, net, collecting, learning):
            watch.seconds = 0.0
        count = 0
        while count == 0 or collecting.seconds + learning.seconds < seconds:
            model.update(remaining=1.0)
            count += rollout
        total = collecting.seconds + learning.seconds
        return Spent(count, total, collecting.seconds, learning.seconds, engine.seconds, net.seconds)

    updates()
    includes = (
        "engine: steps, masks, observations, rewards; net: policy and values; learning: gradient and Adam; "
        "other: buffer, advantages"
    )
    return LearningRow.of("MaskablePPO", includes, "decisions", [updates() for _ in range(repeats)])


class Stopwatch:
    """Adds up the seconds spent in some methods of objects; none of them may call another."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def watch(self, owner: Any, *methods: str) -> None:
        """Start to time these methods of one object."""
        for name in methods:
            setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*arguments, **options)
            finally:
                self.seconds += time.perf_counter() - start

        return timed
