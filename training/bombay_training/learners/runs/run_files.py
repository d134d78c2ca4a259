"""The files in a run's folder, what `settings.json` and `metrics.jsonl` hold, and what tells one run from another.

What is written, and when, is in `run.py`. Every file is written atomically, except that lines are added to the metrics.
"""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from bombay_env import checks
from bombay_env.files import atomic
from bombay_env.files.reading import read_json, read_jsonl
from bombay_training.learners.runs.settings import RunSettings

Settings = TypeVar("Settings", bound=RunSettings)

AGENT: Final = "agent.safetensors"
SETTINGS: Final = "settings.json"
METRICS: Final = "metrics.jsonl"
CHECKPOINT: Final = "checkpoint.safetensors"  # tensors and counters (`nets/files.py`)
CHECKPOINT_KEY: Final = "bombay_run"  # in its header, under which the counters stand as JSON
EVALUATION: Final = "evaluation.json"  # the closing table
CURVE: Final = "learning_curve.png"
EVENTS: Final = "events.out.tfevents.*"  # pattern of TensorBoard's files
RESULTS: Final = (CHECKPOINT, AGENT, METRICS, EVALUATION, CURVE, EVENTS)  # what a new run in the folder removes
LOCK: Final = ".lock"
AGAINST: Final = "against_"  # prefix of a metric that is a win share; the reference's spec follows
DISTRIBUTIONS: Final = ("bombay-env", "numpy", "numba", "gymnasium", "safetensors")  # their versions are recorded


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically. Raises OSError if it cannot be written."""
    atomic.write_bytes(path, (json.dumps(value, indent=2) + "\n").encode())


# --- The folder ---


def is_unused(folder: Path) -> bool:
    """Whether a folder does not exist, or holds only what a process leaves that is killed before its run begins."""
    names = [path.name for path in folder.iterdir() if not atomic.is_leftover(path)] if folder.is_dir() else []
    return not folder.exists() or names == [LOCK]


def remove_unused(folder: Path) -> None:
    """Remove a folder of which `is_unused` is true and whose lock this process has."""
    with contextlib.suppress(OSError):
        atomic.remove_leftovers(folder)
        (folder / LOCK).unlink()
        folder.rmdir()


# --- Settings ---


def describe(settings: RunSettings, distributions: Sequence[str]) -> dict[str, Any]:
    """The contents of `settings.json`, with the installed versions of these packages; None where one is not installed."""
    versions: dict[str, str | None] = {"python": platform.python_version(), **dict.fromkeys(distributions)}
    for name in distributions:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "learner": settings.learner,
        "settings": dataclasses.asdict(settings),
        "seed": settings.seed,
        "versions": versions,
        "revision": code_revision(),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def code_revision() -> str | None:
    """The commit of the working tree that holds this file, with `+changes` if the tree differs; None outside a work tree."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        # Fails for a copy that is installed inside another project's work tree.
        git("ls-files", "--error-unmatch", Path(__file__).name)
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def learner_of(folder: Path) -> str:
    """The name of the learner whose run is in the folder. Raises ValueError if `settings.json` is missing or damaged."""
    learner = _description(folder).get("learner")
    if not isinstance(learner, str):
        path = checks.shown_path(folder / SETTINGS)
        raise ValueError(f"{path}: learner is {checks.shown(learner)}; it must be a name")
    return learner


def read_settings(folder: Path, settings_class: type[Settings]) -> Settings:
    """The settings of the run in the folder.

    Raises:
        ValueError: `settings.json` is missing or damaged, or holds no such settings.
    """
    settings = _description(folder).get("settings", {})
    known = [field.name for field in dataclasses.fields(settings_class)]
    try:
        for name in settings:
            if name not in known:
                raise ValueError(f"{checks.shown(name)} is not a setting; the settings are {', '.join(known)}")
        return settings_class(**settings)
    except ValueError as error:
        reason = f"{checks.shown_path(folder / SETTINGS)} holds no settings of {settings_class.learner}: {error}"
        raise ValueError(checks.message(reason)) from None


def _description(folder: Path) -> dict[str, Any]:
    try:
        description: dict[str, Any] = read_json(folder / SETTINGS)
    except ValueError as error:
        raise ValueError(f"the folder holds no run: {error}") from None
    if not isinstance(description, dict) or not isinstance(description.get("settings", {}), dict):
        raise ValueError(f"the folder holds no run: {checks.shown_path(folder / SETTINGS)} is not an object")
    return description


# --- Metrics ---


def truncate_metrics(path: Path, updates: int) -> None:
    """Keep only the lines of the first `updates` updates; those the checkpoint does not have are repeated.

    Incomplete and damaged lines are removed too. If there is nothing to remove, the file does not change.
    """
    if not path.exists():
        return
    kept = [line for line in read_jsonl(path) if line.get("update", updates + 1) <= updates]
    data = "".join(json.dumps(line) + "\n" for line in kept).encode()
    if data != path.read_bytes():
        atomic.write_bytes(path, data)


def metrics_line(metrics: Mapping[str, float]) -> str:
    """A line of the metrics. Figures that are not finite are left out: JSON has no form for them."""
    return json.dumps({name: value for name, value in metrics.items() if math.isfinite(value)})


def win_shares(metrics: Mapping[str, float]) -> dict[str, float]:
    """The win shares among an update's metrics, by the spec of the reference."""
    return {name.removeprefix(AGAINST): share for name, share in metrics.items() if name.startswith(AGAINST)}


# --- Which run it is ---


def identity(settings: RunSettings, neutral: Sequence[str], *others: Any) -> str:
    """Hex digits for settings, without the `neutral` ones, which do not affect the result, and for other JSON values that do."""
    decisive = {name: value for name, value in dataclasses.asdict(settings).items() if name not in neutral}
    return hashlib.sha256(json.dumps([decisive, *others], sort_keys=True).encode()).hexdigest()[:16]
