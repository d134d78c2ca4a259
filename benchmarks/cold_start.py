"""How long the first use takes where no kernel is compiled yet, and which kernels take longest.

Every figure is of a process of its own with an empty folder for compiled code. Seconds are wall time, so the machine should have
nothing else to do; a process's processor time, imports included, depends less on that. A kernel's seconds are its own, without
those of the functions it calls.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from benchmarks import cases
from bombay_training.learners.runs import run_files
from bombay_training.rich_tables import cell, new_table

LEARNER: Final = "zero"  # of `bombay train`, and of the kernels
SLOWEST: Final = 20
TIMEOUT: Final = 600.0  # seconds

# Each prints a JSON object of seconds, by what they were spent on.
PETTINGZOO: Final = """
import json, time
def clock(): return time.perf_counter()
begin = clock()
from bombay_env import bombay_v0
env = bombay_v0.env()
imported = clock()
env.reset(seed=0)
reset = clock()
env.step(int(env.last()[0]["action_mask"].argmax()))
stepped = clock()
seconds = {"import": imported - begin, "reset": reset - imported, "step": stepped - reset}
print(json.dumps({**seconds, "processor": time.process_time()}))
"""
GYMNASIUM: Final = """
import json, time
def clock(): return time.perf_counter()
begin = clock()
import gymnasium, bombay_env
imported = clock()
env = gymnasium.make("bombay/Bombay-v0")
_, info = env.reset(seed=0)
reset = clock()
env.step(int(info["action_mask"].argmax()))
stepped = clock()
seconds = {"import": imported - begin, "reset": reset - imported, "step": stepped - reset}
print(json.dumps({**seconds, "processor": time.process_time()}))
"""
VECTOR: Final = """
import json, time
def clock(): return time.perf_counter()
begin = clock()
import gymnasium, bombay_env
imported = clock()
env = gymnasium.make_vec("bombay/Bombay-v0", num_envs=16, vectorization_mode="vector_entry_point")
_, info = env.reset(seed=0)
reset = clock()
env.step(info["action_mask"].argmax(axis=1))
stepped = clock()
seconds = {"import": imported - begin, "reset": reset - imported, "step": stepped - reset}
print(json.dumps({**seconds, "processor": time.process_time()}))
"""
ENVIRONMENTS: Final = {
    "PettingZoo environment": PETTINGZOO,
    "Gymnasium environment": GYMNASIUM,
    "Gymnasium vector environment, 16 games": VECTOR,
}

KERNELS: Final = """
import json, time
from numba.core import event
from bombay_training.learners.zero import ZeroRun, ZeroSettings
open_calls, rows = [], []
class Listener(event.Listener):
    def on_start(self, happened):
        open_calls.append([time.perf_counter(), 0.0])
    def on_end(self, happened):
        began, inner = open_calls.pop()
        seconds = time.perf_counter() - began
        if open_calls:
            open_calls[-1][1] += seconds
        function = happened.data["dispatcher"].py_func
        rows.append((function.__module__ + "." + function.__name__, seconds - inner, seconds))
event.register("numba:compile", Listener())
ZeroRun(ZeroSettings(updates=1)).warm_up()
print(json.dumps(rows))
"""


def measure() -> dict[str, Any]:
    """All figures, as JSON values: seconds by what they were spent on, and the slowest functions of an update of `learner`."""
    with _empty_cache() as environment:
        kernels = _run(KERNELS, environment)
    return {
        "format": "bombay-cold-start/1",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": cases.machine(),
        "environments": {name: _environment(program) for name, program in ENVIRONMENTS.items()},
        "learner": LEARNER,
        "train": _train(),
        "kernels": sorted(kernels, key=lambda row: -row[1])[:SLOWEST],
        "compiled": len(kernels),
        "compile_seconds": sum(own for _, own, _ in kernels),
    }


def _environment(program: str) -> dict[str, float]:
    with _empty_cache() as environment:
        cold = _run(program, environment)
        warm = _run(program, environment)
    return {**cold, "first use": cold["reset"] + cold["step"], "first use, compiled": warm["reset"] + warm["step"]}


def _train() -> dict[str, float]:
    """Seconds from the start of `bombay train` until it has learned from its first games."""
    with _empty_cache() as environment, tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        arguments = ["train", LEARNER, "--updates", "1000000", "--out", str(out)]
        command = [sys.executable, "-m", "bombay_training.cli", *arguments]
        begin = time.perf_counter()
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            try:
                while not (out / run_files.METRICS).exists() or not (out / run_files.METRICS).stat().st_size:
                    if process.poll() is not None or time.perf_counter() - begin > TIMEOUT:
                        raise RuntimeError(f"bombay train {LEARNER} did not get as far as its first update")
                    time.sleep(0.05)
                seconds = time.perf_counter() - begin
            finally:
                process.kill()
    return {"first update": seconds}


@contextlib.contextmanager
def _empty_cache() -> Iterator[dict[str, str]]:
    """An environment of processes in which nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        yield {**os.environ, "NUMBA_CACHE_DIR": folder}


def _run(program: str, environment: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=TIMEOUT
    )
    return json.loads(done.stdout)


def training_row(learner: str) -> str:
    """The name of the row of training."""
    return f"bombay train {learner}, until its first update"


def tables(data: dict[str, Any]) -> list[Table]:
    """The figures for people."""
    columns = ["what", "import", "first reset", "first step", "reset and step", "the same, compiled", "processor time"]
    first = new_table("first use with nothing compiled, seconds", columns)
    for name, seconds in data["environments"].items():
        keys = ("import", "reset", "step", "first use", "first use, compiled", "processor")
        first.add_row(cell(name), *(f"{seconds[key]:.1f}" for key in keys))
    seconds = f"{data['train']['first update']:.1f}"
    first.add_row(training_row(data["learner"]), "–", "–", "–", seconds, "–", "–")
    total = f"{data['compiled']} compiled in {data['compile_seconds']:.1f} s"
    slowest = new_table(
        f"slowest functions of an update of {data['learner']}; {total}",
        ["function", "seconds of its own", "with what it calls"],
    )
    for name, own, whole in data["kernels"]:
        slowest.add_row(cell(name), f"{own:.2f}", f"{whole:.2f}")
    return [first, slowest]
