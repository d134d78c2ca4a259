"""Compiling ahead of use: jobs that call what commands and environments call, each in a process of its own.

A job does a little of what a command does, so exactly the kernels that the command needs are compiled and kept on disk. Jobs run
side by side, one a core, and name what they compile. Processes can be ended at once, unlike a compiler in the command's own
process, so a signal acts without delay. Jobs that were done with the present sources and settings are not started again.

    bombay warm-up          everything
    bombay train, arena …   what the command needs, unless it was done before

Each process ends when its standard input closes, and so with the process that started it, however that ends.
"""

import contextlib
import dataclasses
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bombay_agents import make
from bombay_env import Board, Game, Rules, bombay_v0
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.jit.cache import CONFIG, STORE
from bombay_env.jit.kernels import MIN_PARALLEL_LANES
from bombay_env.jit.notice import COMPILING, NOTICE, ONCE
from bombay_env.record import read_records, write_records
from bombay_training.balance import study
from bombay_training.evaluation import arena
from bombay_training.learners import best_response
from bombay_training.learners.runs import Run
from bombay_training.learners.runs.periodic_eval import PeriodicEvaluator
from bombay_training.learners.train import PPO, run_class
from bombay_training.learners.zero import ZeroSettings
from bombay_training.matches.pool import num_cores

MODULE: Final = "bombay_training.warm_up"
# What a process runs: it watches its standard input before it imports anything large.
PROGRAM: Final = """
import os, sys, threading

def end_with_parent():
    sys.stdin.read()
    os._exit(1)

threading.Thread(target=end_with_parent, daemon=True).start()
from bombay_training.warm_up import do_job
do_job(sys.argv[1])
"""
# By the least work that compiles an agent's kernels; the more expensive come first, so that none is left at the end. `champion`
# has the kernels of `zero-search`.
AGENTS: Final = (
    "search:nodes=16",
    "flat-mc:rollouts=1",
    "zero-search:nodes=16",
    "zero",
    "ppo",
    "planner-v1",
    "seller",
    "builder",
    "toll-keeper",
    "hoarder",
    "greedy",
    "random-turn",
    "random",
)
REFERENCES: Final = ("random", "greedy", "planner-v1")  # whom a new agent meets at the end of its training
DECIDES_TYPES: Final = ("hidden", "second", "victim", "start")  # settings of a learner that kernels depend on
PLAYERS: Final = 4  # any number: it changes no type
FEW_STEPS: Final = 200  # more decisions than a game has


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """Something to compile.

    Attributes:
        kind: a key of `KINDS`.
        arguments: JSON values for its function.
        board: a board file; the packaged board if None.
    """

    kind: str
    arguments: tuple[Any, ...] = ()
    board: str | None = None

    def __str__(self) -> str:
        """What it is called in messages."""
        return " ".join([self.kind, *(text for text in self.arguments if isinstance(text, str))])

    def game(self) -> Game:
        """A game on its board."""
        return Game(Rules.official(PLAYERS), Board.load(self.board))

    def run(self) -> None:
        """Do it in this process."""
        KINDS[self.kind](self, *self.arguments)


class WarmUpError(RuntimeError):
    """A job failed; the message says which, and why."""


# --- what jobs do ---


def compile_environments(job: Job) -> None:
    """The PettingZoo and the Gymnasium environments, single and vector, and the methods of `Game`."""
    env = bombay_v0.env()
    env.reset(seed=0)
    env.step(int(env.last()[0]["action_mask"].argmax()))
    env.state()
    single = gymnasium.make("bombay/Bombay-v0")
    _, info = single.reset(seed=0)
    single.step(int(info["action_mask"].argmax()))
    vector = gymnasium.make_vec("bombay/Bombay-v0", num_envs=2, vectorization_mode="vector_entry_point")
    _, info = vector.reset(seed=0)
    for _ in range(FEW_STEPS):  # until games end
        _, _, _, _, info = vector.step(info["action_mask"].argmax(axis=1))
    use_game(job.game(), 2)


def compile_batches(job: Job) -> None:
    """The same methods for so many games that several threads share them."""
    use_game(job.game(), MIN_PARALLEL_LANES)


def use_game(game: Game, num_games: int) -> None:
    """Call every method of a game, and of games that deal anew, that runs a kernel."""
    keys = np.arange(num_games, dtype=np.uint64)
    states = game.new_states(keys)
    masks = game.legal_actions(states)
    game.legal_words(states)
    game.observe(states)
    game.provisional_results(states)
    game.scrub(states, keys)
    game.step(states, masks.argmax(axis=1))
    game.step(states, game.sample_actions(states, keys))
    game.rollout(states, keys, max_decisions=2)
    game.rollout(states, keys)
    game.results(states)
    lanes = AutoresetGames(game, num_games)
    lanes.step(game.legal_actions(lanes.states).argmax(axis=1))
    lanes.reset()
    lanes.rollout(2, keys)
    room = np.empty((1, num_games, game.num_features), np.float32), np.empty((1, num_games, game.num_actions), np.bool_)
    lanes.collect(keys, 0, *room)


def compile_play(job: Job, spec: str) -> None:
    """An agent in a match, and records of its games."""
    game = job.game()
    records: list[Any] = []
    arena.run_fixed_seats(game, [make(spec)] * game.num_players, 1, records=records)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.jsonl"
        write_records(path, records)
        for record in read_records(path):
            record.verify()


def compile_balance(job: Job) -> None:
    """The books of `bombay balance`."""
    study.play_job(study.StudyJob(job.game(), "random", seed=0, number=0, games=range(2)))


def compile_learning(job: Job, learner: str, settings: dict[str, Any]) -> None:
    """An update of a learner."""
    new_run(learner, settings).warm_up()


def compile_evaluation(job: Job, learner: str, settings: dict[str, Any]) -> None:
    """The matches of a learner's agent, on the way and at the end."""
    run = new_run(learner, settings)
    player = run.player()
    PeriodicEvaluator(run.games, run.references()).warm_up(player)
    for reference in REFERENCES:
        arena.one_vs_rest(run.games[0], player, make(reference), 1)


def new_run(learner: str, settings: dict[str, Any]) -> Run:
    """A run of a learner with these settings."""
    kind = run_class(learner)
    return kind(kind.settings_class(**settings))


KINDS: Final[dict[str, Callable[..., None]]] = {
    "environments": compile_environments,
    "batches": compile_batches,
    "play": compile_play,
    "balance": compile_balance,
    "learning": compile_learning,
    "evaluation": compile_evaluation,
}


# --- which jobs there are ---


def jobs_of_run(settings: Any) -> list[Job]:
    """What a learner with these settings, a dataclass, needs."""
    held = {name: getattr(settings, name) for name in DECIDES_TYPES if hasattr(settings, name)}
    return _jobs_of_learner(settings.learner, held, settings.board)


def _jobs_of_learner(learner: str, decisive: dict[str, Any], board: str | None = None) -> list[Job]:
    settings = {**decisive, "players": [PLAYERS], "updates": 1, "board": board}
    return [Job(kind, (learner, settings), board) for kind in ("learning", "evaluation")]


def jobs_of_agents(specs: Iterable[str], board: Path | None = None) -> list[Job]:
    """What agents by name need to play. Those that people add, and searches by another `value`, compile in the command itself."""
    jobs = {spec.partition(":")[0]: spec for spec in AGENTS}
    jobs["champion"] = jobs["zero-search"]
    names = [spec.partition(":")[0] for spec in specs if "[" not in spec]
    found = dict.fromkeys(jobs[name] for name in names if name in jobs)
    return [Job("play", (spec,), None if board is None else str(board)) for spec in found]


def all_jobs() -> list[Job]:
    """What environments, agents, search and learners need on the packaged board; PPO's where PyTorch is installed."""
    runs = (
        ZeroSettings(),
        best_response.settings_for("planner-v1"),
    )
    learning = [job for settings in runs for job in jobs_of_run(settings)]
    if importlib.util.find_spec("torch") and importlib.util.find_spec("sb3_contrib"):
        learning += _jobs_of_learner(PPO, {})
    return [*learning, *jobs_of_agents(AGENTS), Job("environments"), Job("batches"), Job("balance")]


# --- processes ---


def prepare(jobs: Sequence[Job], quiet: bool = False) -> None:
    """Do the jobs that were not done before, side by side, with a progress bar on stderr unless `quiet`.

    Nothing happens where nothing can be kept, or with the compiler off. A job that fails does no harm here, nor does a full disk:
    the command compiles the rest itself, or says what is wrong.
    """
    if CONFIG.DISABLE_JIT or STORE.obstacle():
        return
    due = [job for job in jobs if not STORE.is_noted(MODULE, job)]
    if due:
        with contextlib.suppress(WarmUpError, OSError):
            compile_all(due, quiet=quiet)


def compile_all(jobs: Sequence[Job], processes: int | None = None, quiet: bool = False) -> list[str]:
    """Do all jobs, side by side, with a progress bar on stderr unless `quiet`.

    Args:
        jobs: what to compile.
        processes: how many at a time; one a core unless given.
        quiet: show nothing.

    Returns:
        The names of what was compiled, sorted.

    Raises:
        WarmUpError: a job failed; the others are done.
    """
    names: set[str] = set()
    failed: list[str] = []
    with _shown(len(jobs), quiet) as show, _Processes() as started:
        pool = ThreadPoolExecutor(min(processes or num_cores(), len(jobs)))
        latest: dict[Job, str] = {}

        def told(job: Job, name: str) -> None:
            names.add(name)
            latest[job] = name
            show(0, latest.values())

        try:
            waiting: dict[Future[str | None], Job] = {pool.submit(started.run, job, told): job for job in jobs}
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    job = waiting.pop(future)
                    latest.pop(job, None)
                    error = future.result()
                    if error is None:
                        STORE.note(MODULE, job)
                    else:
                        failed.append(f"{job}: {error}")
                    show(1, latest.values())
        finally:
            started.end()
            pool.shutdown(cancel_futures=True)
    if failed:
        raise WarmUpError(f"not everything could be compiled: {'; '.join(failed)}"[:500])
    return sorted(names)


class _Processes:
    """Processes under way; all are ended at the end of the block, whatever ends it."""

    def __init__(self) -> None:
        self.running: set[subprocess.Popen[str]] = set()
        self.lock = threading.Lock()
        self.over = False

    def __enter__(self) -> "_Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the processes, and start none any more."""
        with self.lock:
            self.over = True
            for process in self.running:
                process.kill()

    def run(self, job: Job, told: Callable[[Job, str], None]) -> str | None:
        """Do a job in a process. Returns the last line of what it says where it fails, None where it does not."""
        with tempfile.TemporaryFile("w+") as errors:
            with self.lock:
                if self.over:
                    return "ended"
                process = subprocess.Popen(
                    # -P: a file in the folder where the command runs is no module of ours.
                    [sys.executable, "-P", "-c", PROGRAM, json.dumps(dataclasses.astuple(job))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    start_new_session=True,  # Ctrl-C is for the command, which ends its processes
                )
                self.running.add(process)
            try:
                with process:
                    for line in process.stdout or ():
                        told(job, line.strip())
                    code = process.wait()  # before its standard input is closed
            finally:
                with self.lock:
                    self.running.discard(process)
            errors.seek(0)
            said = errors.read().strip().splitlines()
        return None if code == 0 else said[-1] if said else f"exit code {code}"


@contextlib.contextmanager
def _shown(total: int, quiet: bool) -> Iterator[Callable[[int, Iterable[str]], None]]:
    """A bar on standard error that vanishes at the end, or a line where nobody watches; yields what moves it on."""
    console = Console(stderr=True)
    if not quiet and not console.is_terminal:
        console.print(COMPILING + ONCE, end="", soft_wrap=True, markup=False, highlight=False)
    columns = (
        TextColumn("compiling"),
        BarColumn(16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("", total=total)

        def show(done: int, names: Iterable[str]) -> None:
            bar.update(
                task, advance=done, description=", ".join(sorted(".".join(name.split(".")[-2:]) for name in names))
            )

        yield show


def do_job(argument: str) -> None:
    """Do one job, given as JSON, and print the name of everything that is compiled, one a line."""
    kind, arguments, board = json.loads(argument)
    names = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what agents print is no name
    NOTICE.listener = lambda name: print(name, file=names)
    Job(kind, tuple(arguments), board).run()
