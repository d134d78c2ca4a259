"""How long the first use takes where no kernel is compiled yet: seconds of processes that begin with an empty cache."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.report import when_and_where
from bombay_training.learners.runs import run_files
from bombay_training.rich_tables import markdown_table

LEARNER: Final = "zero"
ENVIRONMENTS: Final = {  # with a legal first action: 37 is `consolidate`
    "PettingZoo environment": "bombay_env.bombay_v0.env(), 37",
    "Gymnasium environment": "gymnasium.make('bombay/Bombay-v0'), 37",
    "Gymnasium vector environment, 16 games": "gymnasium.make_vec('bombay/Bombay-v0', num_envs=16), [37] * 16",
}
PROGRAM: Final = """
import time, bombay_env.bombay_v0, gymnasium
env, action = {how}
start = time.perf_counter()
env.reset(seed=0)
env.step(action)
print(time.perf_counter() - start)
"""


def measure() -> dict[str, Any]:
    """Seconds of the first `reset` and `step` of environments, and until `bombay train` has learned from its first games."""
    environments = {}
    for name, how in ENVIRONMENTS.items():
        with tempfile.TemporaryDirectory() as cache:
            command, env = [sys.executable, "-c", PROGRAM.format(how=how)], os.environ | {"NUMBA_CACHE_DIR": cache}
            cold, warm = (float(subprocess.check_output(command, env=env)) for _ in range(2))
        environments[name] = {"first use": cold, "first use, compiled": warm}
    about = {"format": "bombay-cold-start/1", **when_and_where(), "learner": LEARNER}
    return {**about, "environments": environments, "train": {"first update": _train()}}


def _train() -> float:
    with tempfile.TemporaryDirectory() as folder:
        out, env = Path(folder) / "run", os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [
            sys.executable,
            "-m",
            "bombay_training.cli",
            "train",
            LEARNER,
            "--updates",
            "1000000",
            "--out",
            str(out),
        ]
        start = time.perf_counter()
        with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            while not (metrics := out / run_files.METRICS).exists() or not metrics.stat().st_size:
                if run.poll() is not None:
                    raise RuntimeError(f"bombay train {LEARNER} did not get as far as its first update")
                time.sleep(0.05)
            seconds = time.perf_counter() - start
            run.kill()
    return seconds


def table(data: dict[str, Any]) -> str:
    """The seconds with nothing compiled, and with all."""
    what, uses = "seconds of the first use", ("first use", "first use, compiled")
    rows = [[name, *(f"{found[use]:.1f}" for use in uses)] for name, found in data["environments"].items()]
    train = f"bombay train {data['learner']}, until its first update"
    rows.append([train, f"{data['train']['first update']:.1f}", "–"])
    return markdown_table([what, "nothing compiled", "all compiled"], rows, [what])
