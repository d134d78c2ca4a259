"""How fast the learners learn, and how their time divides into engine, net, learning and the rest.

Both run with their default settings, a new net, one thread and one player count. An update first collects games played by the
net, then learns from them. As everywhere in `bench`, the figures hold for this machine at this moment; `cases.py` has the others.
"""

import dataclasses
import importlib.util
import time
from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net_turns
from bombay_agents.nets.value_net_agent import ValueNetAgent, plan_turn
from bombay_env import Game
from bombay_env.jit.kernels import kernel
from bombay_training.bench import cases
from bombay_training.bench.cases import Rates
from bombay_training.learners import td

GAMES: Final = 16  # their turns are timed with the net and without it


@dataclasses.dataclass(frozen=True)
class Spent:
    """How much some updates learned from, and their seconds in total and by part; engine and net are parts of collecting."""

    count: int
    total: float
    collecting: float
    learning: float
    engine: float
    net: float


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
    """

    name: str
    includes: str
    unit: str
    rate: Rates
    collected: Rates
    learned: Rates
    shares: dict[str, float]
    threads: int = 1

    @classmethod
    def of(cls, name: str, includes: str, unit: str, runs: list[Spent]) -> "LearningRow":
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
        )


def measure_all(game: Game, repeats: int, seconds: float, progress: Callable[[str], None]) -> list[LearningRow]:
    """Measure every learner whose packages are installed."""
    progress("TD")
    rows = [measure_td(game, repeats, seconds, td.TDSettings(players=(game.num_players,)))]
    if importlib.util.find_spec("sb3_contrib") is not None:
        progress("MaskablePPO")
        rows.append(measure_ppo(game, repeats, seconds))
    return rows


# --- TD ---


def measure_td(game: Game, repeats: int, seconds: float, settings: td.TDSettings) -> LearningRow:
    """Updates of TD; the run itself times playing and learning, and `share_of_net` divides the time of playing."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        run = td.TDRun(settings)
        run.step()
        part = share_of_net(game, ValueNetAgent(run.net(), rounds=1))
        runs = [_td_updates(run, part, seconds) for _ in range(repeats)]
    finally:
        numba.set_num_threads(before)
    includes = "engine: turns laid out, features; net: outcomes evaluated; learning: gradient and Adam"
    return LearningRow.of("TD", includes, "positions", runs)


def _td_updates(run: td.TDRun, part: float, seconds: float) -> Spent:
    start, known = time.perf_counter(), run.positions
    collecting = learning = total = 0.0
    while total == 0.0 or total < seconds:
        figures = run.step()
        collecting += figures["play_seconds"]
        learning += figures["learn_seconds"]
        total = time.perf_counter() - start
    return Spent(run.positions - known, total, collecting, learning, (1 - part) * collecting, part * collecting)


def share_of_net(game: Game, agent: ValueNetAgent) -> float:
    """The net's share of the time to choose a turn: what is saved if outcomes are read but not evaluated.

    Both ways are timed alternately, on the same turns of games of self-play.
    """
    states = turns_of(game, agent)
    agent.act(game, states[:1], np.random.default_rng(0))  # makes its memory for this game
    ways: tuple[Callable[[], Any], ...] = (
        lambda: read_outcomes(states, game.tables, agent.workspace),
        lambda: plan_turns(states, game.tables, agent.workspace),
    )
    best = [np.inf, np.inf]
    for _ in range(6):  # the first time compiles
        for number, way in enumerate(ways):
            start = time.perf_counter()
            way()
            best[number] = min(best[number], time.perf_counter() - start)
    read, chosen = best
    return max(0.0, 1 - read / chosen)


def turns_of(game: Game, agent: ValueNetAgent) -> np.ndarray:
    """States at which turns start, from a few games in which the agent has every seat."""
    states, rng, found = game.new_states(range(GAMES)), np.random.default_rng(0), []
    while not (over := game.is_terminal(states)).all():
        running = states[~over]
        found.append(running[running["actions_left"] == game.rules.actions_per_turn])
        game.step(running, agent.act(game, running, rng))
        states[~over] = running
    return np.ascontiguousarray(np.concatenate(found)).view(game.state_dtype, np.ndarray)


@kernel
def read_outcomes(states, tables, workspace):
    """Lay out the turn of each state and read what is proposed as `value_net_turns.value_turn` does, without the net."""
    turn, lookups = workspace.turn[0], workspace.lookups[0]
    memory, features, proposals = turn.memory, turn.evaluation.features, turn.proposals
    for lane in range(len(states)):
        memory.node[0].state = states[lane]
        seat = np.int64(states[lane].current_player)
        count = turns.lay_out(tables[0], memory)
        least = value_net_turns.propose(tables[0], memory, features.lookahead, proposals, count)
        value_features.clear_cache(features)
        for node in range(1, count):
            after = memory.node[node]
            if after.due != turns.TURN_GOES_ON and proposals.worth[node] >= least:
                value_features.read_leaf(after, tables[0], lookups, seat, features)


@kernel
def plan_turns(states, tables, workspace):
    """Choose the turn of each state. Returns the sum of the nodes, so that nothing is optimised away."""
    total = 0
    for lane in range(len(states)):
        total += plan_turn(states[lane], tables, workspace)
    return total


# --- PPO ---


def measure_ppo(game: Game, repeats: int, seconds: float, **changes: Any) -> LearningRow:
    """Updates of MaskablePPO with its default settings but for `changes`; stopwatches time the environment and the policy."""
    model, env = cases.ppo_model(game, **changes)
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
            model.learn(rollout, log_interval=None, reset_num_timesteps=False)
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
