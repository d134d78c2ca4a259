"""Compiles kernels in advance. Each job does a small part of a command's work in a process of its own; jobs run in parallel.

bombay warm-up          all jobs
bombay train, arena …   those that the command needs, unless they were done before
"""

import hashlib
import multiprocessing
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final, NamedTuple

import gymnasium
import numpy as np

from bombay_env import Board, Game, Rules, bombay_v0, checks
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.jit import cache, kernels
from bombay_env.record import Record
from bombay_env.registry import GROUP, format_spec
from bombay_training.evaluation import arena
from bombay_training.learners import best_response
from bombay_training.learners.runs.run_files import AGENT
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.zero import ZeroSettings
from bombay_training.matches.engines import local

DECISIVE: Final = ("hidden", "second", "victim", "board")  # settings of a learner that kernels depend on
PLAYERS: Final = 4  # any number: it changes no kernel
SMALLER_NET: Final = "zero:seed=1"  # has kernels of its own


class Job(NamedTuple):
    """Work that compiles something, under a name that a user understands."""

    name: str
    work: Callable[..., None]
    arguments: tuple[Any, ...] = ()


def play(spec: str, board: str | None) -> None:
    """Let an agent play games, and replay one."""
    records: list[Record] = []
    arena.one_vs_rest(Game(Rules.official(PLAYERS), Board.load(board)), spec, spec, 1, records=records)
    records[0].verify()


def learn(kind: type[RunSettings], decisive: Iterable[tuple[str, Any]]) -> None:
    """Do an update of a learner with settings of this class, and let its agent play."""
    settings = kind(players=(PLAYERS,), updates=1, **kind.least, **dict(decisive))
    run = settings.run_class()(settings)
    run.step()
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / AGENT
        run.net().save(agent)
        play(format_spec("net", path=agent), settings.board)


def use_environments() -> None:
    """Play in the PettingZoo and the Gymnasium environments, single and vector."""
    env = bombay_v0.env()
    env.reset(seed=0)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    env.state()
    for env in (gymnasium.make("bombay/Bombay-v0"), gymnasium.make_vec("bombay/Bombay-v0", num_envs=2)):
        env.step(env.reset(seed=0)[1]["action_mask"].argmax(axis=-1))


def use_game(num_games: int) -> None:
    """Call every method of a game, and of games that deal anew, that runs a kernel."""
    game, keys = Game(Rules.official(PLAYERS)), np.arange(num_games, dtype=np.uint64)
    states = game.new_states(keys)
    for call in (game.legal_words, game.observe, game.provisional_results):
        call(states)
    game.scrub(states, keys)
    game.step(states, game.legal_actions(states).argmax(axis=1))
    game.step(states, game.sample_actions(states, keys))
    game.rollout(states, keys)
    game.results(states)
    lanes = AutoresetGames(game, num_games)
    lanes.step(game.legal_actions(lanes.states).argmax(axis=1))
    lanes.reset()
    lanes.rollout(2, keys)
    seen = np.empty((1, num_games, game.num_features), np.float32)
    lanes.collect(keys, 0, seen, np.empty((1, num_games, game.num_actions), bool))


def jobs_of_run(settings: RunSettings, opponents: Iterable[str] = ()) -> list[Job]:
    """What a learner with these settings needs, its agent and the opponents that the agent meets."""
    decisive = tuple((name, getattr(settings, name)) for name in DECISIVE if hasattr(settings, name))
    job = Job(f"learn {settings.learner}", learn, (type(settings), decisive))
    return [job, *jobs_of_agents(opponents, settings.board)]


def least_work() -> dict[str, str]:
    """The specs of our agents that call their kernels in little time, by name; searches, the most expensive, first.

    An agent whose options choose other kernels has a second entry, by a spec.
    """
    ours = [entry for entry in entry_points(group=GROUP) if entry.value.startswith("bombay_agents.")]
    least = {entry.name: entry.load().least for entry in ours}
    found = {name: f"{name}:{options}" if options else name for name, options in least.items() if options is not None}
    found[SMALLER_NET] = SMALLER_NET
    return dict(sorted(found.items(), key=lambda item: (item[0] == item[1], item[0])))


def jobs_of_agents(specs: Iterable[str], board: str | Path | None = None) -> list[Job]:
    """What agents by name need to play. There is no job for agents that people add, nor for searches by another `value`."""
    plain = [spec.partition(":") for spec in specs if "[" not in spec]
    names = {SMALLER_NET if name == "zero" and "seed=1" in options.split(",") else name for name, _, options in plain}
    least = least_work().items()
    return [Job(f"play {name}", play, (spec, board and str(board))) for name, spec in least if name in names]


def all_jobs() -> list[Job]:
    """What environments, agents and learners need on the packaged board."""
    runs = [ZeroSettings(), best_response.settings_for("planner-v1")]
    jobs = [jobs_of_run(settings)[0] for settings in runs] + jobs_of_agents(least_work())
    batches = [Job(f"batches of {count}", use_game, (count,)) for count in (2, kernels.MIN_PARALLEL_LANES)]
    return [*jobs, Job("environments", use_environments), *batches]


def compile_all(jobs: Sequence[Job], processes: int | None, progress: Callable[[int], None]) -> None:
    """Do all jobs, `processes` at a time (None: one a core), note that they are done, and call `progress` with 1 for each.

    Raises:
        RuntimeError: a job failed, or its process was ended. The message names the job.
    """
    others = multiprocessing.active_children()
    executor = ProcessPoolExecutor(processes or local.num_cores(), local.SPAWN, local.start_worker)
    try:
        jobs_of = {executor.submit(job.work, *job.arguments): job for job in jobs}
        for done in as_completed(jobs_of):
            if error := done.exception():
                raise RuntimeError(checks.message(f"{jobs_of[done].name} could not be compiled: {error}"))
            done_file(jobs_of[done]).touch()
            progress(1)
    finally:  # after a failure or Ctrl-C, what is still being compiled ends at once
        executor.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()).difference(others):
            process.kill()


def done_file(job: Job) -> Path:
    """The file that exists where a job was done with the present sources and settings."""
    return cache.folder(cache.PACKAGES[-1]) / hashlib.sha256(f"{job.name} {job.arguments}".encode()).hexdigest()[:24]
