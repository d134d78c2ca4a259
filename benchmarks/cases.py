"""What `python -m benchmarks` measures: every interface, next to the limit of this machine.

Each row is measured in several runs; the median and the range are reported. Its limit is measured in turn with it: a kernel
that only writes as many bytes as the row's decisions do. The figures hold for this machine at this moment, and only ratios
within one run are comparable. `signature` is different: a digest of the rules that is the same everywhere. Other environments are
in `peers.py`, the learners in `learning.py`, the report in `report.py`.
"""

import dataclasses
import hashlib
import importlib.util
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np

import bombay_env
from benchmarks import peers
from bombay_agents import turns
from bombay_agents.nets.value import evaluator
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search.agent import CompiledSearch
from bombay_agents.search.tree import SearchParams
from bombay_agents.shipped import make_zero
from bombay_agents.turns.evaluator import NUM_OUTPUTS
from bombay_env import Game, Rules, bombay_v0
from bombay_env.batch import chunk_lanes, num_chunks
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.jit.kernels import batch_kernel
from bombay_env.record import History, Record
from bombay_env.render import picture, raster
from bombay_env.render.view import last_action
from bombay_training.matches.engines.local import num_cores

BATCH: Final = 4096
VECTOR_GAMES: Final = 256  # side by side in the vector environments
SIMULATIONS = 100  # of a search
SIGNATURE_GAMES: Final = 10_000
MEMORY_GAMES: Final = 65_536

Play = peers.Play


@dataclasses.dataclass(frozen=True)
class Case:
    """One interface to measure.

    Args:
        name: its name in the report.
        includes: what the time of a decision covers.
        games: number of games side by side.
        written: bytes that a decision returns: masks, observations, actions; if it returns nothing, its state. The limit
            writes as many. 0 for no limit.
        make: sets everything up and returns a function that plays.
        threaded: whether it can use several threads.
        needs: a package without which it cannot be measured.
    """

    name: str
    includes: str
    games: int
    written: int
    make: Callable[[Game], Play]
    threaded: bool = False
    needs: str | None = None


@dataclasses.dataclass(frozen=True)
class Rates:
    """Decisions per second of several runs."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, runs: Sequence[float]) -> "Rates":
        """The median and the range of the runs."""
        return cls(statistics.median(runs), min(runs), max(runs))


# --- cases ---


def cases(game: Game) -> list[Case]:
    """Everything that is measured of our own, for one game."""
    state, row, mask, action = game.state_dtype.itemsize, 4 * game.num_features, game.num_actions, 8  # bytes
    return [
        Case("random play", "policy, mask (as bits), autoreset", BATCH, state, _random_play, threaded=True),
        Case("collect", "policy, mask, observation, autoreset", BATCH, row + mask + action + 1, _collect, True),
        Case("Game.legal_actions", "mask", BATCH, mask, _mask, threaded=True),
        Case("Game.observe", "observation", BATCH, row, _observe, threaded=True),
        Case("Game.step", "policy, check, step", BATCH, state + action, _step, threaded=True),
        Case(
            "AutoresetGames",
            "policy, check, step, autoreset, mask, observation",
            BATCH,
            row + mask + action + 1,
            _lanes,
            True,
        ),
        Case("AEC loop", "policy, mask, observation, reset, from Python", 1, row + 3 * mask, _aec),
        Case("record replay", "check, step, a copy of each state", 1, 2 * state, _replay),
        Case(
            "Gymnasium vector",
            "learner's decisions: policy, step, three random opponents, mask, observation, autoreset",
            VECTOR_GAMES,
            row + mask,
            _gymnasium,
        ),
        Case(
            "SB3 VecEnv",
            "policy, step, mask, observation, rewards, autoreset",
            VECTOR_GAMES,
            row + mask,
            _sb3,
            needs="sb3_contrib",
        ),
        Case("zero's net", "a position between turns, margins and win shares for all seats", 1, 0, _evaluate),
        Case("zero's tree", "a simulation: a turn laid out, all outcomes valued for all seats", 1, 0, _search),
        Case("planner-v1", "a turn laid out, its best outcome chosen", 1, 0, _planner),
        Case("MaskablePPO.train", "learning from decisions already made", 128, 0, _train, needs="sb3_contrib"),
        Case("frame", "policy, step, the drawing as pixels", 1, 3 * picture.HEIGHT * picture.WIDTH, _frame),
    ]


def processor() -> str:
    """The name of the processor and the number of cores that this process may use."""
    names = Path("/proc/cpuinfo")  # of Linux
    found = re.search(r"^model name\s*: (.*)", names.read_text() if names.exists() else "", re.MULTILINE)
    return f"{found[1] if found else platform.machine()}, {num_cores()} cores"


def _keys(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint64)


def _batches(step: Callable[[int], Any], size: int) -> Play:
    """Play by calling `step` with a running number; each call makes `size` decisions."""
    numbers = itertools.count()

    def play(decisions: int) -> Callable[[], int]:
        calls = -(-decisions // size)
        for _ in range(calls):
            step(next(numbers))
        return lambda: calls * size

    play(size)
    return play


def _random_play(game: Game) -> Play:
    lanes, keys, each = AutoresetGames(game, BATCH), _keys(BATCH), 64
    return _batches(lambda number: lanes.rollout(each, keys, each * number), each * BATCH)


def _collect(game: Game) -> Play:
    lanes, keys = AutoresetGames(game, BATCH), _keys(BATCH)
    observations = np.empty((1, BATCH, game.num_features), np.float32)
    masks = np.empty((1, BATCH, game.num_actions), np.bool_)
    return _batches(lambda number: lanes.collect(keys, number, observations, masks), BATCH)


def _midgame(game: Game) -> AutoresetGames:
    lanes = AutoresetGames(game, BATCH)
    lanes.rollout(80, _keys(BATCH))
    return lanes


def _mask(game: Game) -> Play:
    states, masks = _midgame(game).states, np.empty((BATCH, game.num_actions), np.bool_)
    return _batches(lambda _: game.legal_actions(states, out=masks), BATCH)


def _observe(game: Game) -> Play:
    states, observations = _midgame(game).states, np.empty((BATCH, game.num_features), np.float32)
    return _batches(lambda _: game.observe(states, out=observations), BATCH)


def _step(game: Game) -> Play:
    """Whole batches from deal to end. Games that are over cost almost nothing and are not counted."""
    keys = _keys(BATCH)

    def play(decisions: int) -> Callable[[], int]:
        made = 0
        while made < decisions:
            states, actions = game.new_states(keys), np.empty(BATCH, np.int64)
            for index in itertools.count():
                game.sample_actions(states, keys, index, out=actions)
                running = int((actions >= 0).sum())
                if not running or made >= decisions:
                    break
                game.step(states, actions)
                made += running
        return lambda: made

    play(BATCH)
    return play


def _lanes(game: Game) -> Play:
    lanes, keys = AutoresetGames(game, BATCH), _keys(BATCH)
    observations = np.empty((BATCH, game.num_features), np.float32)
    masks, actions = np.empty((BATCH, game.num_actions), np.bool_), np.empty(BATCH, np.int64)

    def step(number: int) -> None:
        game.sample_actions(lanes.states, keys, number, out=actions)
        lanes.step(actions)
        game.legal_actions(lanes.states, out=masks)
        game.observe(lanes.states, out=observations)

    return _batches(step, BATCH)


def _aec(game: Game) -> Play:
    env, rng = bombay_v0.env(rules=game.rules, board=game.board), np.random.default_rng(0)

    def play(decisions: int) -> Callable[[], int]:
        made = peers.aec_loop(env, rng, decisions)
        return lambda: made

    play(100)
    return play


def _replay(game: Game) -> Play:
    records = list(random_records(game, 8))

    def play(decisions: int) -> Callable[[], int]:
        made = 0
        for record in itertools.cycle(records):
            for _ in record.replay():
                pass
            made += sum(not event.startswith("restock:") for event in record.events)
            if made >= decisions:
                return lambda: made
        raise AssertionError

    play(1)
    return play


def _gymnasium(game: Game) -> Play:
    from bombay_env.envs.vector import BombayVectorEnv

    env = BombayVectorEnv(
        VECTOR_GAMES, rules=game.rules, board=game.board, opponents="random", autoreset_mode="SameStep"
    )
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    return _batches(lambda _: env.step(_random_legal(env.action_masks(), rng)), VECTOR_GAMES)


def _sb3(game: Game) -> Play:
    from bombay_training.learners.ppo.vec_env import BombayVecEnv

    env = BombayVecEnv([game], VECTOR_GAMES, seed=0)
    env.reset()
    rng = np.random.default_rng(0)
    return _batches(lambda _: env.step(_random_legal(env.action_masks(), rng)), VECTOR_GAMES)


def _random_legal(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random legal action for each row, in the fastest way in NumPy."""
    return (rng.random(masks.shape, np.float32) * masks).argmax(axis=1)


def _evaluate(game: Game) -> Play:
    agent = make_zero(force=True)
    states, net = _between_turns(game), agent.evaluator(game)
    node = np.zeros(1, turns.memory_dtype(game.board.num_sites)["node"].base)
    seats, outputs = game.current_player(states).astype(np.int64), np.empty((len(states), NUM_OUTPUTS), np.float32)
    return _batches(lambda _: evaluator.value_positions(states, seats, game.tables, net, node, outputs), len(states))


def _search(game: Game) -> Play:
    agent = make_zero(force=True)
    search = CompiledSearch(game, agent.evaluator(game), SIMULATIONS + 1, SearchParams(np.float32(1)))
    states = _between_turns(game)
    states["seed"] = 0
    edges = np.arange(1)

    def run(number: int) -> None:
        search.init(states[number % len(states)])
        search.run(np.uint64(number), edges, SIMULATIONS)

    return _batches(run, SIMULATIONS)


def _planner(game: Game) -> Play:
    states, agent, rng = _between_turns(game), PlannerAgent(), np.random.default_rng(0)
    return _batches(lambda _: agent.act(game, states, rng), len(states))


def _between_turns(game: Game) -> np.ndarray:
    """Positions in the middle of games at the beginning of a turn, but not of a set."""
    states = _midgame(game).states
    begins_set = (states["turn"] == 0) & (states["current_player"] == states["first_player"])
    return states[(states["actions_left"] == game.rules.actions_per_turn) & ~begins_set]


def _frame(game: Game) -> Play:
    """A frame after each decision of random play. The background of the board is drawn before."""
    lanes, keys = AutoresetGames(game, 1), _keys(1)

    def draw(number: int) -> None:
        before, actions = lanes.states.copy(), game.sample_actions(lanes.states, keys, number)
        lanes.step(actions)
        raster.draw(game, lanes.states, last=last_action(game, before, int(actions[0])))

    return _batches(draw, 1)


def _train(game: Game) -> Play:
    """Updates with the default settings, from a rollout collected beforehand."""
    model = ppo_model(game)
    model.update(remaining=1.0)
    rollout, buffer = model.n_envs * model.n_steps, model.rollout_buffer

    def play(decisions: int) -> Callable[[], int]:
        updates = -(-decisions // rollout)
        for _ in range(updates):
            model.train()
        return lambda: updates * rollout

    assert buffer.full
    return play


def ppo_model(game: Game, **changes: Any) -> Any:
    """The model of a PPO run with the default settings except `changes`."""
    from bombay_training.learners.ppo.run import PPORun
    from bombay_training.learners.ppo.settings import PPOSettings

    return PPORun(PPOSettings(updates=1, players=(game.num_players,), **changes)).model


def random_records(game: Game, count: int) -> Iterator[Record]:
    """Records of random games with the seeds 0, 1, …"""
    for seed in range(count):
        states = game.new_states([seed])
        history = History(game, states, seed)
        for index in itertools.count():
            action = game.sample_actions(states, [seed], index)
            if action[0] < 0:
                break
            game.step(states, action)
            history.add(int(action[0]))
        yield history.record(states, ["random"] * game.num_players)


# --- limits ---


@batch_kernel
def write_rows(rows, value):
    """Overwrite `rows` (batch, words) uint64 with `value`: the most that a kernel could do that writes as much."""
    for chunk in numba.prange(num_chunks(rows)):
        for lane in chunk_lanes(rows, chunk):
            for word in range(rows.shape[1]):
                rows[lane, word] = value


def limit_of(case: Case) -> Play:
    """A function that only writes the bytes of decisions, rounded up to whole words."""
    rows = np.empty((case.games, -(-case.written // 8)), np.uint64)
    return _batches(lambda number: write_rows(rows, np.uint64(number)), case.games)


# --- measuring ---


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of the report."""

    name: str
    includes: str
    games: int | None  # side by side; None for a peer
    threads: int | None  # None for as many as the library uses
    rate: Rates
    cores: float  # mean number of busy cores
    written: int | None = None
    limit: Rates | None = None

    @property
    def ratio(self) -> float | None:
        """The quotient of the medians of row and limit."""
        return None if self.limit is None else self.rate.median / self.limit.median


def measure(case: Case, game: Game, threads: int, repeats: int, seconds: float) -> Row:
    """Measure a case and its limit in turn, on this many threads."""
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        play, limit = case.make(game), limit_of(case) if case.written else None
        size = peers.decisions_in(play, seconds)
        limit_size = peers.decisions_in(limit, seconds / 4) if limit else 0
        runs, limits = [], []
        for _ in range(repeats):
            runs.append(peers.clock(play, size))
            if limit:
                limits.append(peers.clock(limit, limit_size).rate)
    finally:
        numba.set_num_threads(before)
    return Row(
        case.name,
        case.includes,
        case.games,
        threads,
        Rates.of([run.rate for run in runs]),
        statistics.median(run.cores for run in runs),
        case.written or None,
        Rates.of(limits) if limits else None,
    )


def measure_all(
    game: Game, threads: Sequence[int], repeats: int, seconds: float, progress: Callable[[str], None]
) -> list[Row]:
    """Measure every case that can be measured here with each number of threads; cases for one thread only with one."""
    rows = []
    for case in cases(game):
        if case.needs and importlib.util.find_spec(case.needs) is None:
            continue
        for count in threads if case.threaded else (1,):
            progress(case.name)
            rows.append(measure(case, game, count, repeats, seconds))
    return rows


def measure_peers(repeats: int, seconds: float, progress: Callable[[str], None]) -> tuple[list[Row], list[str]]:
    """Measure every installed peer. Returns the rows, and a line for each peer that could not be measured.

    Peers that use all threads are also measured on one processor, which can be faster on a shared machine.
    """
    rows, absent = [], []
    for peer in peers.PEERS:
        for threads in (1,) if peer.threads == 1 else (1, None):
            progress(peer.name)
            try:
                runs = peers.measure(peer, repeats, seconds, threads)
            except peers.PeerError as error:
                absent.append(str(error))
                break
            rates = Rates.of([run.rate for run in runs])
            cores = statistics.median(run.cores for run in runs)
            rows.append(Row(peer.name, peer.includes, None, threads, rates, cores))
    return rows, absent


# --- facts ---


def facts(game: Game) -> dict[str, Any]:
    """Sizes, memory and the time until the first step."""
    cold, warm = start_up()
    return {
        "state_bytes": game.state_dtype.itemsize,
        "features": game.num_features,
        "actions": game.num_actions,
        "bytes_of_1_game": game.new_states([0]).nbytes,
        f"bytes_of_{MEMORY_GAMES}_games": game.new_states(range(MEMORY_GAMES)).nbytes,
        "import_seconds": warm["import"],
        "first_step_seconds_warm": warm["first_step"],
        "first_step_seconds_cold": cold["first_step"],
    }


START_UP: Final = """
import json, time
begin = time.perf_counter()
import bombay_env
imported = time.perf_counter()
game = bombay_env.Game()
states = game.new_states([0])
game.step(states, game.legal_actions(states).argmax(axis=1))
game.observe(states)
print(json.dumps({"import": imported - begin, "first_step": time.perf_counter() - imported}))
"""


def start_up() -> tuple[dict[str, float], dict[str, float]]:
    """Seconds to import, and from there to the first deal, step and observation: with an empty kernel cache and a full one."""
    with tempfile.TemporaryDirectory() as folder:
        return _start_up(folder), _start_up(folder)


def _start_up(cache: str) -> dict[str, float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", START_UP], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def signature(num_players: int, games: int = SIGNATURE_GAMES) -> str:
    """A digest of every mask, action and result of seeded random games, 64 hex digits. It changes only with the rules."""
    game = Game(Rules.official(num_players))
    keys = _keys(games)
    states = game.new_states(keys)
    digest = hashlib.sha256()
    for index in itertools.count():
        masks = game.legal_actions(states)
        if not masks.any():
            break
        actions = game.sample_actions(states, keys, index)
        digest.update(masks.tobytes())
        digest.update(actions.astype("<i8").tobytes())
        game.step(states, actions)
    results = game.results(states)
    for name in results.dtype.names:
        digest.update(results[name].astype("<f8").tobytes())
    return digest.hexdigest()


def machine() -> dict[str, Any]:
    """The machine and the versions of the packages."""
    return {
        "system": platform.system(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "bombay_env": bombay_env.__version__,
        **{package: found for peer in peers.PEERS for package, found in peers.versions(peer).items()},
    }
