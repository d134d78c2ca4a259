"""Checkpoints: what a learner needs to continue a run, in one file of tensors and counters (`nets/tensor_files.py`)."""

import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from bombay_agents.nets import tensor_files
from bombay_env import checks

KEY: Final = "bombay_run"  # in the safetensors header, under which the counters stand as JSON
IDENTITY: Final = "identity"  # the counter that names the run

Counters = Mapping[str, Any]
Tensors = Mapping[str, np.ndarray]


def write(path: str | os.PathLike[str], format: str, identity: str, counters: Counters, tensors: Tensors) -> None:
    """Write a checkpoint atomically; `format` names its kind. Raises OSError if it cannot be written; an old one is unchanged."""
    tensor_files.write(path, KEY, {"format": format, IDENTITY: identity, **counters}, tensors)


def read(
    path: str | os.PathLike[str], format: str, identity: str, like: Tensors
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The counters and tensors of a checkpoint of this format and run, whose tensors have the shapes and dtypes of `like`.

    Raises:
        ValueError: the file cannot be read, is damaged, or belongs to another run; one line that names it.
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
        for name in sorted({*like, *tensors}):  # NumPy would broadcast a tensor of shape (1,) over all weights
            forms = [checks.form(held[name]) if name in held else "missing" for held in (tensors, like)]
            if forms[0] != forms[1]:
                raise ValueError(f"tensor {checks.shown(name)} is {forms[0]}; it must be {forms[1]}")
    return counters, dict(tensors)
