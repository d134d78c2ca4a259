"""Compiling ahead: in processes of its own, once, named while it lasts, and ended by a signal at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
import typer

from bombay_agents import make
from bombay_env.jit import cache
from bombay_training import warm_up
from bombay_training.cli.project import warm_up as warm_up_command
from bombay_training.learners import best_response
from bombay_training.learners.zero import ZeroSettings
from bombay_training.warm_up import (
    AGENTS,
    Job,
    WarmUpError,
    all_jobs,
    compile_all,
    jobs_of_agents,
    jobs_of_run,
    prepare,
)

needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled")
needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked up in /proc")

LISTEN = """
import sys
from bombay_env.jit.notice import NOTICE
names = []
NOTICE.listener = names.append
"""
COMMAND = f"""{LISTEN}
from bombay_training.cli.main import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print("compiled", names, file=sys.stderr)
"""
ENVIRONMENTS = f"""{LISTEN}
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
print("compiled", names, file=sys.stderr)
"""


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache folder for this process and those that it starts."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = cache.cache_folder(cache.versions_digest())
    monkeypatch.setattr(cache.STORE, "folder", folder)
    return folder.path


def no_process(*_):
    pytest.fail("a process was started")


@needs_jit
def test_a_job_is_done_in_a_process_and_noted(own_cache, monkeypatch, capfd):
    jobs = [Job("play", ("random",))]
    names = compile_all(jobs, quiet=True)
    assert "bombay_env.batch.deal_all" in names
    assert list(own_cache.glob("bombay_env.batch.deal_all.*.kernel"))
    assert compile_all(jobs, quiet=True) == []  # done again, as `bombay warm-up` does, it finds all of it
    assert capfd.readouterr().err == ""
    with monkeypatch.context() as guard:
        guard.setattr(warm_up._Processes, "run", no_process)
        prepare([Job("play", ("random",))])
        guard.setattr(numba.config, "LOOP_VECTORIZE", 0)
        with pytest.raises(pytest.fail.Exception):
            prepare([Job("play", ("random",))])


def test_the_command_fails_where_nothing_can_be_kept(monkeypatch, capfd):
    monkeypatch.setattr(warm_up._Processes, "run", no_process)
    monkeypatch.setattr(cache.STORE, "folder", None)
    with pytest.raises(typer.Exit) as ended:
        warm_up_command.warm_up()
    assert ended.value.exit_code == 1
    assert capfd.readouterr().err.startswith("bombay: compiled code cannot be kept: ")


def test_nothing_is_prepared_where_nothing_can_be_kept(monkeypatch):
    monkeypatch.setattr(warm_up._Processes, "run", no_process)
    monkeypatch.setattr(cache.STORE, "folder", None)
    prepare(all_jobs())


@needs_jit
def test_a_job_that_fails_is_named_and_does_no_harm_to_a_command(own_cache, capfd):
    jobs = [Job("play", ("nobody",))]
    with pytest.raises(WarmUpError, match=r"play nobody: .*no agent is named 'nobody'"):
        compile_all(jobs, quiet=True)
    prepare(jobs, quiet=True)
    assert not cache.STORE.is_noted(warm_up.MODULE, jobs[0])
    assert capfd.readouterr().err == ""


def test_agents_by_name_have_jobs_and_others_have_none():
    made = [make(spec) for spec in AGENTS]
    assert len({agent.name for agent in made}) == len(AGENTS)
    (job,) = jobs_of_agents(["search:ms=5", "my_module:agent", "search"])
    assert (job.kind, job.arguments) == ("play", (AGENTS[0],))
    names = {spec.partition(":")[0] for spec in AGENTS}
    # `net` needs a file, a program of `exec` is compiled by its owner, and `champion` has the kernels of `zero-search`.
    assert names | {"net", "exec", "champion"} == set(_installed())
    (job,) = jobs_of_agents(["champion", "zero-search", "search:value=[zero]"])
    assert job.arguments == ("zero-search:nodes=16",)


def _installed():
    from importlib.metadata import entry_points

    return {entry.name for entry in entry_points(group="bombay_env.agents")}


def test_warm_up_covers_the_default_run_of_every_learner():
    settings = [
        ZeroSettings(),
        best_response.settings_for("planner-v1"),
    ]
    try:
        from bombay_training.learners.ppo.settings import PPOSettings
    except ImportError:  # without the extra
        pass
    else:
        settings.append(PPOSettings())
    covered = {repr(job) for job in all_jobs()}
    for one in settings:
        assert {repr(job) for job in jobs_of_run(one)} <= covered, one.learner
    for other in (ZeroSettings(hidden=32), ZeroSettings(second=16)):
        assert not {repr(job) for job in jobs_of_run(other)} & covered


def names_compiled(code, *arguments, cwd):
    """What a program compiles itself; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()[-1]


@needs_jit
def test_after_warm_up_no_command_and_no_environment_compiles_anything(tmp_path):
    compile_all([*jobs_of_agents(["planner-v1", "greedy", "random"]), Job("environments")], quiet=True)
    for arguments in (
        ("simulate", "greedy", "planner-v1", "random", "--games", "2", "--players", "3", "--out", "games.jsonl"),
        ("replay", "games.jsonl", "--show", "1"),
    ):
        assert names_compiled(COMMAND, *arguments, cwd=tmp_path) == "compiled []", arguments
    assert names_compiled(ENVIRONMENTS, cwd=tmp_path) == "compiled []"


@pytest.mark.slow
@needs_jit
def test_after_warm_up_training_compiles_nothing(tmp_path):
    settings = ZeroSettings()
    compile_all([*jobs_of_run(settings), *jobs_of_agents(["planner-v1", "greedy", "random"])], quiet=True)
    arguments = ("--updates", "2", "--players", "2,3", "--blocks", "1", "--out", "run")
    assert names_compiled(COMMAND, "train", settings.learner, *arguments, cwd=tmp_path) == "compiled []"


@pytest.mark.slow
@needs_jit
def test_the_command_compiles_everything(tmp_path):
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "bombay_training.cli", "warm-up", "--json"]
    for done in (subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in range(2)):
        names = json.loads(done.stdout)["compiled"]
        assert done.stderr == ""
    assert names == []


def children(pid):
    return {
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    }


def ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@needs_jit
@needs_proc
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_a_signal_while_compiling_acts_at_once(tmp_path, number, code):
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "bombay_training.cli", "train", "zero", "--out", str(tmp_path / "run")]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        begin = time.monotonic()
        while not list(tmp_path.glob("cache/*/*/*.part")):  # it compiles
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() - begin < 120
            time.sleep(0.1)
        compiling = children(process.pid)
        assert compiling
        sent = time.monotonic()
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert time.monotonic() - sent < 20  # at once, even on a machine with much else to do; compiling takes a minute
        while not all(ended(child) for child in compiling):
            assert time.monotonic() - sent < 30
            time.sleep(0.05)
    assert not (tmp_path / "run").exists()  # nothing had begun
