"""Checkpoints are not believed: what is not exactly what the learner declared is refused in one line, and nothing changes."""

import hashlib
import json
import math

import numpy as np
import pytest
from safetensors.numpy import save

from bombay_agents.nets import tensor_files
from bombay_env.files import json_form
from bombay_training.learners.best_response import BestResponseSettings
from bombay_training.learners.runs import checkpoints
from bombay_training.learners.runs.checkpoints import CheckpointForm, TensorForm, forms_like
from bombay_training.learners.runs.run_files import CHECKPOINT
from bombay_training.learners.train import run_class
from bombay_training.learners.zero import ZeroSettings
from helpers.refusal import refusal
from helpers.runs import updates_done

SMALL = {"players": (2, 3), "games": 2, "hidden": 8, "second": 4, "updates": 9}
BAD_COUNTS = ["null", '"x"', "NaN", "-1", "[]", "{}", "true", "1.5", "1e3", str(10**19), str(10**400), "Infinity"]
BAD_NUMBERS = ["null", '"x"', "NaN", "-0.5", "[]", "{}", "true", "1e11", "1e999", str(10**400), "Infinity"]


def ppo_settings():
    pytest.importorskip("sb3_contrib", reason="PPO needs the extra `ppo`")
    settings_class = run_class("ppo").settings_class
    return settings_class(
        players=(2, 3), num_envs=4, num_steps=4, batch_size=16, trunk=(8,), policy=(4,), value=(4,), updates=9
    )


SETTINGS = {
    "zero": lambda: ZeroSettings(**SMALL),
    "ppo": ppo_settings,
    "best-response": lambda: BestResponseSettings(**SMALL, victim="random"),
}
QUICK = ("zero", "ppo")
LEARNERS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SETTINGS]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A new run of each learner and its folder, made when it is asked for."""
    made = {}

    def run(learner):
        if learner not in made:
            settings = SETTINGS[learner]()
            made[learner] = run_class(learner)(settings), tmp_path_factory.mktemp(learner)
            made[learner][0].create(made[learner][1])
            made[learner][0].close()
        return made[learner]

    return run


class Checkpoint:
    """A checkpoint that can be changed, and its run; its digest is right whatever it holds."""

    def __init__(self, run, folder):
        self.run, self.folder, self.path = run, folder, folder / CHECKPOINT
        self.whole = self.path.read_bytes()
        self.format = tensor_files.read_format(self.path, checkpoints.KEY)
        header, self.tensors = tensor_files.read(self.path, checkpoints.KEY, self.format)
        self.header = {name: json.dumps(value) for name, value in header.items()}  # texts, also of what is no JSON

    def write(self, header=(), tensors=()):
        """Write it with some entries changed; those that are None are left out."""
        entries = {**self.header, **dict(header)}
        blank = {tensor_files.DIGEST: f'"{tensor_files.BLANK}"'}
        texts = [f"{json.dumps(name)}: {text}" for name, text in {**blank, **entries}.items() if text is not None]
        kept = {name: tensor for name, tensor in {**self.tensors, **dict(tensors)}.items() if tensor is not None}
        data = save(kept, metadata={checkpoints.KEY: "{" + ", ".join(texts) + "}"})
        digest = hashlib.sha256(data).hexdigest()
        self.path.write_bytes(data.replace(tensor_files.BLANK.encode(), digest.encode(), 1))

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


def for_learners(*learners):
    return pytest.mark.parametrize("checkpoint", learners, indirect=True)


@for_learners(*LEARNERS)
def test_what_a_learner_writes_it_reads(checkpoint):
    assert updates_done(checkpoint.folder) == 0
    checkpoint.write(header={"updates_done": "9", "elapsed": "3"})
    assert updates_done(checkpoint.folder) == 9


@for_learners(*LEARNERS)
def test_counters_must_be_there_and_in_their_ranges(checkpoint):
    for name in set(checkpoint.header) - {"format", "identity"}:
        for text in BAD_NUMBERS if name == "elapsed" else BAD_COUNTS:
            checkpoint.write(header={name: text})
            checkpoint.refused()
        checkpoint.write(header={name: None})
        checkpoint.refused("has no counter", name)
    checkpoint.write(header={"updates_done": "10"})
    checkpoint.refused("updates_done is 10; it must be a whole number from 0 to 9")
    checkpoint.write(header={"moves": "3"})
    checkpoint.refused("the unknown counter 'moves'")
    checkpoint.write(header={"identity": '"0123456789abcdef"'})
    checkpoint.refused("it belongs to another run")
    checkpoint.write(header={"identity": None})
    checkpoint.refused("it belongs to another run")


def damages(tensor):
    """The tensor with another shape, type, or numbers that are not finite; None for no tensor."""
    yield None
    yield tensor.reshape(-1)[:1].copy()  # would be broadcast
    yield tensor[..., None].copy()
    yield tensor.astype(np.float64 if tensor.dtype == np.float32 else np.float32)
    if tensor.dtype.kind == "f":
        for number in (math.nan, math.inf, -math.inf):
            changed = tensor.copy()
            changed.reshape(-1)[-1] = number
            yield changed


@for_learners(*LEARNERS)
def test_tensors_must_have_their_shapes_and_types_and_be_finite(checkpoint):
    count = 0
    for name, tensor in checkpoint.tensors.items():
        for changed in damages(tensor):
            if changed is None or facts(changed) != facts(tensor):
                checkpoint.write(tensors={name: changed})
                checkpoint.refused(name)
                count += 1
    assert count >= 5 * len(checkpoint.tensors) // 2
    checkpoint.write(tensors={"more": np.zeros(1, np.float32)})
    checkpoint.refused("the unknown tensor 'more'")


@pytest.mark.parametrize(
    ("checkpoint", "name", "number"),
    [
        ("zero", "squares", -1),
        ("ppo", "adam.exp_avg_sq.action_net.weight", -1),
        ("ppo", "adam.step.value_net.bias", -1),
    ],
    indirect=["checkpoint"],
)
def test_tensors_must_be_in_their_ranges(checkpoint, name, number):
    changed = checkpoint.tensors[name].copy()
    changed.reshape(-1)[-1] = number
    checkpoint.write(tensors={name: changed})
    checkpoint.refused(f"{name} holds numbers that are not from")


@for_learners("ppo")
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


def test_a_form_checks_names_types_shapes_and_ranges():
    form = CheckpointForm({"n": json_form.whole(0, 9)}, {"a": TensorForm((2,), np.dtype(np.int8), (0, 5))})
    tensor = np.array([0, 5], np.int8)
    form.check({"n": 9}, {"a": tensor})
    for counters, tensors, words in (
        ({}, {"a": tensor}, "has no counter 'n'"),
        ({"n": 0, "m": 0}, {"a": tensor}, "the unknown counter 'm'"),
        ({"n": 10}, {"a": tensor}, "n is 10; it must be a whole number from 0 to 9"),
        ({"n": 0}, {}, "has no tensor 'a'"),
        ({"n": 0}, {"a": tensor, "b" * 1000: tensor}, "the unknown tensor 'bbb"),
        ({"n": 0}, {"a": tensor[:1]}, "a is int8 of shape (1,); it must be int8 of shape (2,)"),
        ({"n": 0}, {"a": tensor.astype(int)}, "a is int64 of shape (2,); it must be int8 of shape (2,)"),
        ({"n": 0}, {"a": tensor - np.int8(1)}, "a holds numbers that are not from 0 to 5"),
        ({"n": 0}, {"a": tensor + np.int8(1)}, "a holds numbers that are not from 0 to 5"),
    ):
        refusal(lambda counters=counters, tensors=tensors: form.check(counters, tensors), words)


def test_ranges_are_given_by_names():
    forms = forms_like({"x.1.square": np.zeros(2), "x.1.first": np.zeros((), np.int64)}, {"x.*.square": (0, 1)})
    assert forms == {
        "x.1.square": TensorForm((2,), np.dtype(float), (0, 1)),
        "x.1.first": TensorForm((), np.dtype(np.int64), (-math.inf, math.inf)),
    }


@for_learners(*QUICK)
def test_checkpoints_with_a_flipped_byte_are_refused(checkpoint):
    refuse_flips(checkpoint, 10)


@pytest.mark.slow
@for_learners(*SETTINGS)
def test_a_thousand_checkpoints_with_a_flipped_byte_are_refused(checkpoint):
    refuse_flips(checkpoint, 1000)


def refuse_flips(checkpoint, count):
    """Change one random byte at a time, as a bad disk would; half of them in the header."""
    data, rng = checkpoint.whole, np.random.default_rng(1)
    header = 8 + int.from_bytes(data[:8], "little")
    for number in range(count):
        place, mask = int(rng.integers(header if number % 2 else len(data))), int(rng.integers(1, 256))
        checkpoint.path.write_bytes(data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :])
        refusal(lambda: checkpoint.run.load(checkpoint.path), CHECKPOINT)
