"""The files in a run's folder: `settings.json`, `metrics.jsonl`, the checkpoint and the agent.

This module reads and writes them; each file is written atomically. It does not know what a learner puts into them, nor when a run
saves: that is `runs.py`.
"""

import contextlib
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from bombay_agents.nets.files import write_bytes

Settings = TypeVar("Settings")

AGENT: Final = "agent.safetensors"
SETTINGS: Final = "settings.json"
METRICS: Final = "metrics.jsonl"
CHECKPOINT: Final = "checkpoint.safetensors"
COUNTERS: Final = "bombay_run"  # key in the safetensors header under which a checkpoint's counters stand, as JSON
AGAINST: Final = "against_"  # prefix of a metric that is a win share; the reference's spec follows
DISTRIBUTIONS: Final = ("bombay-env", "numpy", "numba", "gymnasium", "safetensors")  # their versions are recorded


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file atomically."""
    write_bytes(path, (json.dumps(value, indent=2) + "\n").encode())


# --- Settings ---


def describe(settings: Any, distributions: Sequence[str]) -> dict[str, Any]:
    """The contents of `settings.json`.

    Args:
        settings: a dataclass with `learner` and `seed`.
        distributions: names of the installed packages whose versions are recorded.
    """
    return {
        "learner": settings.learner,
        "settings": dataclasses.asdict(settings),
        "seed": settings.seed,
        "versions": {"python": platform.python_version(), **{name: version_of(name) for name in distributions}},
        "revision": code_revision(),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def version_of(distribution: str) -> str | None:
    """The installed version, or None if the package is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


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
    """The name of the learner whose run is in the folder.

    Raises:
        ValueError: `settings.json` is missing or damaged.
    """
    return str(_description(folder).get("learner", "td"))  # runs of older versions have no name; they are all TD's


def read_settings(folder: Path, settings_class: type[Settings]) -> Settings:
    """The settings of the run in the folder.

    Raises:
        ValueError: `settings.json` is missing or damaged, or holds no such settings.
    """
    try:
        return settings_class(**_description(folder)["settings"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / SETTINGS} holds no {settings_class.__name__}: {error}") from None


def _description(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} does not hold the settings of a run: {error}") from None
    if not isinstance(description, dict):
        raise ValueError(f"{path} does not hold the settings of a run: it is not a JSON object")
    return description


# --- Metrics ---


def truncate_metrics(path: Path, updates: int) -> None:
    """Keep only the complete lines of the first `updates` updates; those the checkpoint does not have are repeated."""
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if json.loads(line)["update"] <= updates:
                kept.append(line + "\n")
    write_bytes(path, "".join(kept).encode())


def win_shares(metrics: Mapping[str, float]) -> dict[str, float]:
    """The win shares among an update's metrics, by the spec of the reference."""
    return {name.removeprefix(AGAINST): share for name, share in metrics.items() if name.startswith(AGAINST)}


# --- Checkpoints ---


def identity(settings: Any, neutral: Sequence[str], *others: Any) -> str:
    """Hex digits that name everything that decides how a run continues, apart from what it has learned.

    Args:
        settings: a dataclass.
        neutral: fields that do not affect the result.
        others: JSON values that affect the result too.
    """
    decisive = {name: value for name, value in dataclasses.asdict(settings).items() if name not in neutral}
    return hashlib.sha256(json.dumps([decisive, *others], sort_keys=True).encode()).hexdigest()[:16]


def write_checkpoint(path: Path, counters: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    """Write counters (JSON values) and tensors atomically."""
    write_bytes(path, save(dict(tensors), metadata={COUNTERS: json.dumps(counters)}))


def read_checkpoint(path: Path, expected: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The counters and tensors in a file that `write_checkpoint` wrote.

    Args:
        path: the file.
        expected: counters that must be present and equal: the format and the identity of the run.
    Raises:
        ValueError: the file cannot be read, or belongs to another run.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            counters = json.loads((file.metadata() or {}).get(COUNTERS, "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as a checkpoint: {error}") from None
    counters = counters if isinstance(counters, dict) else {}
    if any(counters.get(name) != value for name, value in expected.items()):
        raise ValueError(
            f"{path} is not a checkpoint of the run that {SETTINGS} beside it describes, with this version"
        )
    return counters, tensors
