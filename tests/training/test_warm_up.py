"""Compiling ahead: in processes of its own, once, and ended by a signal at once."""

import os
import signal
import time
from importlib.metadata import entry_points

import numba
import psutil
import pytest

from bombay_env import Game
from bombay_env.jit import cache, kernels
from bombay_training import warm_up
from bombay_training.cli import runner
from bombay_training.cli.playing import prepare
from bombay_training.learners import best_response
from bombay_training.learners.zero import ZeroSettings
from bombay_training.warm_up import Job, all_jobs, compile_all, jobs_of_agents, jobs_of_run, least_work
from helpers.command import ended, python, started
from helpers.compiling import COMPILING

needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")

COMMANDS = """
import sys
from bombay_training.cli.main import main
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as done:
        assert not done.code, done.code
"""
ENVIRONMENTS = """
import gymnasium
from bombay_env import bombay_v0
env = bombay_v0.env()
env.reset(seed=1)
for _ in range(50):
    env.step(int(env.last()[0]["action_mask"].argmax()))
single = gymnasium.make("bombay/Bombay-v0", opponents="greedy")
_, info = single.reset(seed=1)
single.step(int(info["action_mask"].argmax()))
vector = gymnasium.make_vec("bombay/Bombay-v0", num_envs=3, vectorization_mode="vector_entry_point")
_, info = vector.reset(seed=1)
vector.step(info["action_mask"].argmax(axis=1))
"""
RANDOM = jobs_of_agents(["random"])


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache folder for this process and those that it starts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "folder", cache.folder.__wrapped__)
    return tmp_path / "cache"


@needs_jit
def test_a_job_is_done_in_a_process_once(own_cache, monkeypatch, capfd):
    deal = Job("deal", Game.new_states, (Game(), [1]))  # compiles little
    prepare([deal])
    assert capfd.readouterr().err == f"{COMPILING[1]}only the first time: deal\n"
    assert list(own_cache.rglob("*batch.deal_all*.nbc"))
    monkeypatch.setattr(warm_up, "ProcessPoolExecutor", lambda *_: pytest.fail("a process was started"))
    prepare([deal])
    assert capfd.readouterr().err == ""


def test_nothing_is_prepared_where_nothing_can_be_kept(monkeypatch):
    monkeypatch.setattr(warm_up, "ProcessPoolExecutor", lambda *_: pytest.fail("a process was started"))
    monkeypatch.setattr(kernels, "obstacle", lambda: "no room")
    prepare(all_jobs())


def test_the_command_ends_in_one_line_where_nothing_can_be_kept(bombay, monkeypatch):
    monkeypatch.setattr(kernels, "obstacle", lambda: "no room")
    done = bombay("warm-up")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "bombay: compiled code cannot be kept: no room\n"


@needs_jit
def test_a_job_that_fails_is_named_and_does_no_harm_to_a_command(own_cache, capfd):
    (job,) = RANDOM
    wrong = job._replace(name="play nobody", arguments=("nobody", None))
    for failing, message in (
        (wrong, "no agent is named 'nobody'"),
        (wrong._replace(work=os._exit, arguments=(1,)), "terminated"),
    ):
        with pytest.raises(RuntimeError, match=f"^play nobody could not be compiled: .*{message}"):
            compile_all([failing], 1, lambda _: None)
    with runner.reserved(as_json=True):
        prepare([failing])
    assert not warm_up.done_file(failing).exists()
    assert capfd.readouterr().err == ""


def test_agents_by_name_have_jobs_and_others_have_none():
    (job,) = jobs_of_agents(["search:ms=5", "my_module:agent", "search"])
    assert (job.name, job.arguments) == ("play search", ("search:nodes=16", None))
    # `net` needs a file, and a program of `exec` is compiled by its owner.
    names = {entry.name for entry in entry_points(group="bombay_env.agents")}
    assert set(least_work()) | {"net", "exec"} == names | {"zero:seed=1"}
    (job,) = jobs_of_agents(["zero-search", "search:value=[zero]"])
    assert job.name == "play zero-search"


def test_the_smaller_net_of_zero_has_a_job_of_its_own():
    jobs = jobs_of_agents(["zero:rounds=0,seed=1", "zero:rounds=0"])
    assert [job.arguments for job in jobs] == [("zero", None), ("zero:seed=1", None)]


def test_warm_up_covers_the_default_run_of_learners():
    for settings in (ZeroSettings(), best_response.settings_for("planner-v1")):
        assert set(jobs_of_run(settings)) <= set(all_jobs())
    for other in (ZeroSettings(hidden=32), ZeroSettings(second=16)):
        assert jobs_of_run(other)[0] not in all_jobs()


def names_compiled(code, *lines, cwd):
    """What a program that runs these commands compiles itself; it must end well."""
    counting = f"{code}\nfrom bombay_env.jit import cache\nprint('compiled', cache.compiled, file=sys.stderr)"
    done = python("-c", counting, *lines, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1]


JOBS = ("play planner-v1", "play greedy", "play random", "environments", "batches of 2")


@needs_jit
def test_after_warm_up_no_command_and_no_environment_compiles_anything(tmp_path):
    prepare([job for job in all_jobs() if job.name in JOBS])
    lines = ("simulate greedy planner-v1 random --games 2 --players 3 --out games.jsonl", "replay games.jsonl --show 1")
    assert names_compiled(COMMANDS + ENVIRONMENTS, *lines, cwd=tmp_path) == "compiled []"


@pytest.mark.slow
@needs_jit
def test_after_the_command_training_compiles_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert python("-m", "bombay_training.cli", "warm-up").returncode == 0
    for learner in ("zero", "ppo"):
        line = f"train {learner} --updates 2 --players 2,3 --blocks 1 --out {learner}"
        assert names_compiled(COMMANDS, line, cwd=tmp_path) == "compiled []", learner


@needs_jit
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, -signal.SIGTERM, marks=pytest.mark.slow)],  # see `test_runs.py`
)
def test_a_signal_while_compiling_acts_at_once(tmp_path, number, code):
    command = ("-m", "bombay_training.cli", "train", "zero", "--out", tmp_path / "run")
    with started(*command, XDG_CACHE_HOME=str(tmp_path / "cache")) as process:
        begin = time.monotonic()
        while not list(tmp_path.glob("cache/*/*/*.nbc")):  # it compiles
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() - begin < 120
            time.sleep(0.1)
        compiling = psutil.Process(process.pid).children()
        assert compiling
        sent = time.monotonic()
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert time.monotonic() - sent < 20  # at once, even on a machine with much else to do; compiling takes a minute
        while not all(map(ended, compiling)):
            assert time.monotonic() - sent < 30
            time.sleep(0.05)
    assert not (tmp_path / "run").exists()  # nothing had begun
