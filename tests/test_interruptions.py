"""Commands that are interrupted: on a disk that is full, killed at any moment, or started twice. Nothing is lost or left behind.

The disk is a small file system in memory, which only root may mount.
"""

import contextlib
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from bombay_training.learners.runs.run_files import AGENT, CHECKPOINT, METRICS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="learning takes the compiler"),
]

# The command, with a checkpoint after every update instead of every half minute.
CODE = "from bombay_training.learners.runs import run; run.SAVE_SECONDS = 0; from bombay_training.cli.main import main; main()"
PATIENCE = 300  # seconds
UPDATES = 6
TRAINING = {
    "zero": ("train", "zero", "--hidden", 8),
    "ppo": ("train", "ppo"),
}
SMALL = ("--updates", UPDATES, "--players", 2, "--blocks", 1, "--seed", 3)
OTHERS = {
    "simulate": ("simulate", "random", "--players", 2, "--games", 300, "--out", "out"),
    "balance": ("balance", "--tier", "random", "--players", 2, "--games", 50, "--out", "out"),
}
LADDER = ("ladder", "--players", "2-5", "--only", "planner-v1", "--blocks", 20, "--out", "out")
MOMENTS = 10


def bombay(*arguments: object, cwd: Path, longest_file: int = resource.RLIM_INFINITY) -> subprocess.Popen[str]:
    """The command as a process of its own, which can write no file longer than `longest_file` bytes."""
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", "NUMBA_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *map(str, arguments)],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (longest_file, resource.RLIM_INFINITY)),
    )


def finish(*arguments: object, cwd: Path) -> None:
    """Run a command that must succeed."""
    process = bombay(*arguments, cwd=cwd)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors


def refused(process: subprocess.Popen[str], *words: str) -> None:
    """Check that the command ended with exit code 2 and says why in one line."""
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, errors
    assert "Traceback" not in errors
    assert any(all(word in line for word in words) for line in errors.splitlines()), errors


def assert_whole(folder: Path, like: Path) -> None:
    """Check that a run ended like an uninterrupted one: equal weights, and one line of metrics for each update."""
    for name in (AGENT, CHECKPOINT):
        assert content(folder / name) == content(like / name)
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    assert [line["update"] for line in lines] == list(range(1, UPDATES + 1))
    assert not list(folder.glob(".bombay-*"))


def content(path: Path) -> dict[str, bytes]:
    """The tensors of a file; headers hold the time that learning took."""
    from safetensors.numpy import load_file

    return {name: tensor.tobytes() for name, tensor in load_file(path).items()}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of a run of each learner that nothing interrupted."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    for learner, command in TRAINING.items():
        finish(*command, *SMALL, "--out", learner, cwd=folder)
    return {learner: folder / learner for learner in TRAINING}


# --- A full disk ---


@contextlib.contextmanager
def disk(folder: Path, size: int) -> Iterator[Path]:
    """A file system of this number of bytes, mounted in a folder."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def enlarge(folder: Path) -> None:
    """Make room on the disk."""
    subprocess.run(["mount", "-o", "remount,size=200000000", str(folder)], check=True)


def used(folder: Path) -> int:
    """Bytes of the files in a folder, in blocks of the file system."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("learner", TRAINING)
def test_training_on_a_full_disk_ends_in_one_line_and_is_resumed(
    learner: str, tmp_path: Path, uninterrupted: dict[str, Path]
) -> None:
    whole = used(uninterrupted[learner])
    moments = 0
    for moment in range(MOMENTS):
        with disk(tmp_path / str(moment), int(whole * (moment + 0.5) / MOMENTS) // 4096 * 4096 + 4096) as folder:
            run = folder / "run"
            process = bombay(*TRAINING[learner], *SMALL, "--out", "run", cwd=folder)
            refused(process, "No space left on device")
            moments += 1
            assert not list(folder.rglob("*.tmp"))
            enlarge(folder)
            if run.exists():
                finish("train", "resume", "run", "--blocks", 1, cwd=folder)
            else:
                finish(*TRAINING[learner], *SMALL, "--out", "run", cwd=folder)
            assert_whole(run, uninterrupted[learner])
    assert moments == MOMENTS


@pytest.mark.parametrize("command", OTHERS)
def test_another_command_on_a_full_disk_leaves_nothing_and_can_be_repeated(command: str, tmp_path: Path) -> None:
    finish(*OTHERS[command], cwd=tmp_path)
    whole = used(tmp_path)
    for moment in range(MOMENTS):
        with disk(tmp_path / str(moment), int(whole * (moment + 0.5) / MOMENTS) // 4096 * 4096 + 4096) as folder:
            refused(bombay(*OTHERS[command], cwd=folder), "No space left on device")
            assert not list(folder.rglob("*.tmp"))
            enlarge(folder)
            if command == "balance":
                subprocess.run(["rm", "-rf", "out"], cwd=folder, check=True)
            finish(*OTHERS[command], cwd=folder)
            assert used(folder) > 0.9 * whole


def test_a_ladder_whose_file_cannot_grow_is_continued(tmp_path: Path) -> None:
    """Its lines are so few that they fit on one page of a disk; so the system limits the file's length instead."""
    finish(*LADDER, cwd=tmp_path)
    rows = played(tmp_path / "out")
    for moment in range(MOMENTS):
        folder = tmp_path / str(moment)
        folder.mkdir()
        limit = int((tmp_path / "out").stat().st_size * moment / MOMENTS)
        refused(bombay(*LADDER, cwd=folder, longest_file=limit), "File too large")
        finish(*LADDER, cwd=folder)
        assert played(folder / "out") == rows


def played(path: Path) -> list[Any]:
    """The figures of the lines of a ladder that are whole, without times."""
    found = []
    for line in path.read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            part = json.loads(line)
            found.append((part["row"], part["kept"]["share"]))
    return found


# --- Killed, or started twice ---


@pytest.mark.parametrize("learner", ["zero", "ppo"])
def test_killed_at_random_moments_and_resumed_it_ends_like_an_uninterrupted_run(
    learner: str, tmp_path: Path, uninterrupted: dict[str, Path]
) -> None:
    rng, run, kills = random.Random(learner), tmp_path / "run", 0
    while kills < 20:
        subprocess.run(["rm", "-rf", run], check=True)
        process = bombay(*TRAINING[learner], *SMALL, "--out", "run", cwd=tmp_path)
        while True:
            time.sleep(rng.uniform(0, 15))
            if process.poll() is not None:
                break
            process.kill()
            process.communicate()
            kills += 1
            whole = (run / "settings.json").exists()
            again = ("train", "resume", "run", "--blocks", 1) if whole else (*TRAINING[learner], *SMALL, "--out", "run")
            process = bombay(*again, cwd=tmp_path)
        _, errors = process.communicate()
        assert process.returncode == 0, errors
        assert_whole(run, uninterrupted[learner])


def test_of_two_that_resume_a_run_one_is_refused(tmp_path: Path, uninterrupted: dict[str, Path]) -> None:
    refusals = 0
    for number in range(20):
        run = tmp_path / str(number)
        process = bombay(*TRAINING["zero"], *SMALL, "--out", run, cwd=tmp_path)
        while not (run / METRICS).exists() and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.communicate()
        both = [bombay("train", "resume", run, "--blocks", 1, cwd=tmp_path) for _ in range(2)]
        for process in both:
            _, errors = process.communicate(timeout=PATIENCE)
            assert process.returncode in (0, 2), errors
            assert "Traceback" not in errors
            assert process.returncode == 0 or "is in use by another process" in errors
            refusals += process.returncode == 2
        assert min(process.returncode for process in both) == 0
        assert_whole(run, uninterrupted["zero"])
    assert refusals > 0
