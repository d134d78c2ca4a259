"""Checkpoints: what is damaged or belongs to another run is refused in one line, and nothing changes."""

import hashlib
import json
from functools import cache

import numpy as np
import pytest
from safetensors.numpy import save

from bombay_agents.nets import files
from bombay_training.learners import train
from bombay_training.learners.runs.run_files import CHECKPOINT, CHECKPOINT_KEY
from bombay_training.learners.zero import ZeroSettings
from helpers.refusal import refusal
from helpers.runs import updates_done


def zero_settings():
    return ZeroSettings(players=(2, 3), games=2, hidden=8, second=4, updates=9)


def ppo_settings():
    pytest.importorskip("sb3_contrib", reason="PPO needs the extra `ppo`")
    return train.SETTINGS["ppo"](
        players=(2, 3), num_envs=4, num_steps=4, batch_size=16, trunk=(8,), policy=(4,), value=(4,), updates=9
    )


SETTINGS = {"zero": zero_settings, "ppo": ppo_settings}
each_learner = pytest.mark.parametrize("checkpoint", SETTINGS, indirect=True)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A new run of each learner and its folder, made when it is asked for."""

    @cache
    def made(learner):
        settings, folder = SETTINGS[learner](), tmp_path_factory.mktemp(learner)
        run = settings.run_class()(settings)
        run.create(folder)
        run.close()
        return run, folder

    return made


class Checkpoint:
    """A checkpoint that can be changed, and its run; its digest is right whatever it holds."""

    def __init__(self, run, folder):
        self.run, self.folder, self.path = run, folder, folder / CHECKPOINT
        self.whole = self.path.read_bytes()
        self.format = files.format_of(self.path, CHECKPOINT_KEY)
        header, self.tensors = files.read(self.path, CHECKPOINT_KEY, self.format)
        self.header = {name: json.dumps(value) for name, value in header.items()}  # texts, also of what is no JSON

    def write(self, header=(), tensors=()):
        """Write it with some entries changed; those that are None are left out."""
        entries = {**self.header, **dict(header)}
        blank = {files.DIGEST: f'"{files.BLANK}"'}
        texts = [f"{json.dumps(name)}: {text}" for name, text in {**blank, **entries}.items() if text is not None]
        kept = {name: tensor for name, tensor in {**self.tensors, **dict(tensors)}.items() if tensor is not None}
        data = save(kept, metadata={CHECKPOINT_KEY: "{" + ", ".join(texts) + "}"})
        digest = hashlib.sha256(data).hexdigest()
        self.path.write_bytes(data.replace(files.BLANK.encode(), digest.encode(), 1))

    def refused(self, *words):
        """Check that a run does not take it over, and does not change."""
        before = {name: facts(tensor) for name, tensor in self.run.tensors().items()}, self.run.counters()
        refusal(lambda: self.run.load(self.path), CHECKPOINT, *words)
        assert ({name: facts(tensor) for name, tensor in self.run.tensors().items()}, self.run.counters()) == before


def facts(tensor):
    return tensor.shape, tensor.dtype, tensor.tobytes()


@pytest.fixture
def checkpoint(runs, request):
    made = Checkpoint(*runs(request.param))
    yield made
    made.path.write_bytes(made.whole)


@each_learner
def test_what_a_learner_writes_it_reads(checkpoint):
    assert updates_done(checkpoint.folder) == 0
    checkpoint.write(header={"updates_done": "9", "elapsed": "3"})
    assert updates_done(checkpoint.folder) == 9


@each_learner
def test_another_runs_checkpoint_is_refused(checkpoint):
    for identity in ('"0123456789abcdef"', None):
        checkpoint.write(header={"identity": identity})
        checkpoint.refused("it belongs to another run")


@each_learner
def test_tensors_must_have_their_shapes_and_types(checkpoint):
    for name, tensor in checkpoint.tensors.items():
        other = tensor.astype(np.float64 if tensor.dtype == np.float32 else np.float32)
        for changed in (None, tensor[..., None].copy(), other):
            checkpoint.write(tensors={name: changed})
            checkpoint.refused(f"tensor '{name}' is ", "; it must be ")
    checkpoint.write(tensors={"more": np.zeros(1, np.float32)})
    checkpoint.refused("tensor 'more' is float32 of shape (1,); it must be missing")


@pytest.mark.parametrize("checkpoint", ["ppo"], indirect=True)
def test_games_in_progress_must_be_sound(checkpoint):
    """Kernels use what they read as indices: an unsound state would end the process."""
    states, rng = checkpoint.tensors["games.states.1"], np.random.default_rng(0)
    for _ in range(50):
        changed = states.copy()
        changed[rng.integers(len(changed)), 8:] = rng.integers(256, size=changed.shape[1] - 8, dtype=np.uint8)
        checkpoint.write(tensors={"games.states.1": changed})
        refusal(lambda: checkpoint.run.load(checkpoint.path), CHECKPOINT, "lane")
    checkpoint.write()
    checkpoint.run.load(checkpoint.path)
