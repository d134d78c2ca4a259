"""Commands that are interrupted: on a disk that is full, or killed at any moment. Nothing is lost or left behind.

The disk is a small file system in memory, which only root may mount.
"""

import contextlib
import json
import random
import subprocess
import time

import numba
import pytest
from safetensors.numpy import load_file

from bombay_training.learners.runs.run_files import AGENT, CHECKPOINT, METRICS
from helpers.command import started

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="learning takes the compiler"),
]

# The command, with a checkpoint after every update instead of every half minute.
CODE = "from bombay_training.learners.runs import run; run.SAVE_SECONDS = 0; from bombay_training.cli.main import main; main()"
PATIENCE = 300  # seconds
UPDATES = 6
TRAINING = {"zero": ("train", "zero", "--hidden", 8), "ppo": ("train", "ppo")}
SMALL = ("--updates", UPDATES, "--players", 2, "--blocks", 1, "--seed", 3)
OTHERS = {
    "simulate": ("simulate", "random", "--players", 2, "--games", 300, "--out", "out"),
    "balance": ("balance", "--tier", "random", "--players", 2, "--games", 50, "--out", "out"),
}
MOMENTS = 10


def bombay(*arguments, cwd):
    """The command as a process of its own."""
    return started("-c", CODE, *arguments, cwd=cwd, NUMBA_NUM_THREADS="1")


def finish(*arguments, cwd):
    """Run a command that must succeed."""
    process = bombay(*arguments, cwd=cwd)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors


def assert_full(process):
    """Check that the command ended with exit code 2 and says in one line that the disk is full."""
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, errors
    assert "Traceback" not in errors
    assert "No space left on device" in errors


def assert_whole(folder, like):
    """Check that a run ended like an uninterrupted one: equal weights, and one line of metrics for each update."""
    for name in (AGENT, CHECKPOINT):
        assert content(folder / name) == content(like / name)
    lines = [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]
    assert [line["update"] for line in lines] == list(range(1, UPDATES + 1))
    assert not list(folder.glob(".bombay-*"))


def content(path):
    """The tensors of a file; headers hold the time that learning took."""
    return {name: tensor.tobytes() for name, tensor in load_file(path).items()}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The folder of a run of each learner that nothing interrupted."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    for learner, command in TRAINING.items():
        finish(*command, *SMALL, "--out", learner, cwd=folder)
    return {learner: folder / learner for learner in TRAINING}


@contextlib.contextmanager
def disk(folder, size):
    """A file system of about this number of bytes, and one block more, mounted in a folder."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={int(size) // 4096 * 4096 + 4096},mode=700", "tmpfs", str(folder)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def enlarge(folder):
    """Make room on the disk."""
    subprocess.run(["mount", "-o", "remount,size=200000000", str(folder)], check=True)


def used(folder):
    """Bytes of the files in a folder, in blocks of the file system."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("learner", TRAINING)
def test_training_on_a_full_disk_ends_in_one_line_and_is_resumed(learner, tmp_path, uninterrupted):
    whole = used(uninterrupted[learner])
    for moment in range(MOMENTS):
        with disk(tmp_path / str(moment), whole * (moment + 0.5) / MOMENTS) as folder:
            run = folder / "run"
            assert_full(bombay(*TRAINING[learner], *SMALL, "--out", "run", cwd=folder))
            assert not list(folder.rglob("*.tmp"))
            enlarge(folder)
            if run.exists():
                finish("train", "resume", "run", "--blocks", 1, cwd=folder)
            else:
                finish(*TRAINING[learner], *SMALL, "--out", "run", cwd=folder)
            assert_whole(run, uninterrupted[learner])


@pytest.mark.parametrize("command", OTHERS)
def test_another_command_on_a_full_disk_leaves_nothing_and_can_be_repeated(command, tmp_path):
    finish(*OTHERS[command], cwd=tmp_path)
    whole = used(tmp_path)
    for moment in range(MOMENTS):
        with disk(tmp_path / str(moment), whole * moment / MOMENTS) as folder:
            assert_full(bombay(*OTHERS[command], cwd=folder))
            assert not list(folder.rglob("*.tmp"))
            enlarge(folder)
            finish(*OTHERS[command], cwd=folder)
            assert used(folder) > 0.9 * whole


@pytest.mark.parametrize("learner", ["zero", "ppo"])
def test_killed_at_random_moments_and_resumed_it_ends_like_an_uninterrupted_run(learner, tmp_path, uninterrupted):
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
