"""Checkpoints: what a learner needs to continue a run, in one file of tensors and counters (`nets/tensor_files.py`).

A learner declares the form of its checkpoints once. A file is taken over only if it has that form: exactly these counters and
tensors, each counter of its type and in its range, each tensor of its shape and type, finite and in its range. NumPy would
broadcast a tensor of shape (1,) over all weights, and a NaN would spread unseen.
"""

import dataclasses
import fnmatch
import math
import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from bombay_agents.nets import tensor_files
from bombay_env import checks
from bombay_env.files import json_form
from bombay_env.files.json_form import Kind

KEY: Final = "bombay_run"  # in the safetensors header, under which the counters stand as JSON
IDENTITY: Final = "identity"  # the counter that names the run

Counters = Mapping[str, Any]
Tensors = Mapping[str, np.ndarray]
Range = tuple[float, float]
ANY: Final = (-math.inf, math.inf)


@dataclasses.dataclass(frozen=True)
class TensorForm:
    """What a tensor must be.

    Args:
        shape: its shape.
        dtype: its type.
        range: its lowest and highest number allowed; in any case they are finite.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    range: Range = ANY

    def check(self, name: str, tensor: np.ndarray) -> None:
        """Raise ValueError, which uses `name`, unless the tensor has this form."""
        if tensor.shape != self.shape or tensor.dtype != self.dtype:
            raise ValueError(f"{name} is {checks.form(tensor)}; it must be {self.dtype} of shape {self.shape}")
        if not np.isfinite(tensor).all():
            raise ValueError(f"{name} holds numbers that are not finite")
        low, high = self.range
        if tensor.size and not (low <= tensor.min() and tensor.max() <= high):
            raise ValueError(f"{name} holds numbers that are not from {low:g} to {high:g}")


@dataclasses.dataclass(frozen=True)
class CheckpointForm:
    """What a checkpoint must hold.

    Args:
        counters: the condition on each counter, by name.
        tensors: the form of each tensor, by name.
    """

    counters: Mapping[str, Kind]
    tensors: Mapping[str, TensorForm]

    def check(self, counters: Counters, tensors: Tensors) -> None:
        """Raise ValueError, in one line, unless counters and tensors have this form."""
        _check_names("counter", counters, self.counters)
        _check_names("tensor", tensors, self.tensors)
        json_form.check(counters, dict(self.counters), "the header")
        for name, form in self.tensors.items():
            form.check(name, tensors[name])


def forms_like(tensors: Tensors, ranges: Mapping[str, Range] | None = None) -> dict[str, TensorForm]:
    """The forms of these tensors, by name.

    Args:
        tensors: of shapes and types that checkpoints must have.
        ranges: the numbers allowed in the tensors of some names; `*` in a name stands for anything.
    """
    return {
        name: TensorForm(tensor.shape, tensor.dtype, _range_of(name, ranges or {})) for name, tensor in tensors.items()
    }


def _range_of(name: str, ranges: Mapping[str, Range]) -> Range:
    return next((found for pattern, found in ranges.items() if fnmatch.fnmatchcase(name, pattern)), ANY)


def _check_names(what: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    missing, unknown = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing or unknown:
        problem = f"has no {what} {missing[0]!r}" if missing else f"has the unknown {what} {checks.shown(unknown[0])}"
        raise ValueError(f"the checkpoint {problem}")


def write(path: str | os.PathLike[str], format: str, identity: str, counters: Counters, tensors: Tensors) -> None:
    """Write a checkpoint atomically.

    Args:
        path: the file.
        format: names the learner's kind of checkpoint.
        identity: names the run.
        counters: JSON values by name.
        tensors: arrays by name.
    Raises:
        OSError: it cannot be written; an old one has not changed.
    """
    tensor_files.write(path, KEY, {"format": format, IDENTITY: identity, **counters}, tensors)


def read(
    path: str | os.PathLike[str], format: str, identity: str, form: CheckpointForm
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The counters and tensors of a checkpoint of this format, run and form.

    Raises:
        ValueError: the file cannot be read, is damaged, belongs to another run or has another form; one line that names it.
    """
    try:
        counters, tensors = tensor_files.read(path, KEY, format)
    except OSError as error:
        raise ValueError(f"{checks.shown_path(path)} cannot be read as a checkpoint: {error.strerror}") from None
    with tensor_files.naming(path):
        del counters["format"]
        if counters.pop(IDENTITY, None) != identity:
            raise ValueError(
                "it belongs to another run: settings.json beside it, the board, the start or the version of bombay_env has "
                "changed since it was written. Restore them, or start a new run"
            )
        form.check(counters, tensors)
    return counters, tensors
