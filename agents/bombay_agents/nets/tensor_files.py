"""Files of tensors with a JSON header and a SHA-256 of the whole file: nets and checkpoints.

The format is safetensors, so reading executes no code. Its own header holds ours as JSON, under a key that tells nets from
checkpoints. Ours has at least

    format   names the kind of contents
    sha256   the digest of the file's bytes, with zeros in the place of the digest itself

The digest covers bytes and not values, so every flipped bit is seen, also where it would not change the JSON, as in padding or in
the case of an escape. It protects from damage, not from people who write files on purpose: whoever uses the contents checks them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from bombay_env import checks
from bombay_env.files import atomic
from bombay_env.files.forms import parse

DIGEST: Final = "sha256"
BLANK: Final = "0" * 64  # stands for the digest while it is computed
LENGTH_BYTES: Final = 8  # of the length of safetensors' header, which comes first in a file
MAX_FILE_BYTES: Final = 1 << 30
DTYPES: Final = {  # of safetensors' types, those that NumPy has
    "F64": np.float64,
    "F32": np.float32,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "BOOL": np.bool_,
}

Header = Mapping[str, Any]
Tensors = dict[str, np.ndarray]


def write(path: str | os.PathLike[str], key: str, header: Header, tensors: Mapping[str, np.ndarray]) -> None:
    """Write a file atomically.

    Args:
        path: the file.
        key: under which safetensors' header holds ours.
        header: JSON values by name, `format` among them; the digest is added.
        tensors: C-contiguous arrays by name.
    Raises:
        OSError: it cannot be written; an old file has not changed.
    """
    blank = {DIGEST: BLANK}
    text = json.dumps(blank | dict(header) | blank, allow_nan=False)  # first, where its zeros are the first of all
    data = save(dict(tensors), metadata={key: text})  # one key: safetensors writes several in any order
    atomic.write_bytes(path, data.replace(BLANK.encode(), _digest(data).encode(), 1))


def read(path: str | os.PathLike[str], key: str, format: str) -> tuple[dict[str, Any], Tensors]:
    """The header, without the digest, and the tensors of a file that `write` wrote.

    Args:
        path: the file.
        key: under which safetensors' header holds ours.
        format: the `format` that it must have.
    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such a file, or it is damaged; one line that names the file and what is wrong.
    """
    data = _contents(path)
    with naming(path):
        tensors, header = _tensors(data), _header(data, key)
        found = header.get("format")
        _check(found == format, f"its format is {checks.shown(found)}; this program reads {format!r}")
        _check_digest(data, header.pop(DIGEST, None))
    return header, tensors


def read_format(path: str | os.PathLike[str], key: str) -> Any:
    """The `format` in a file's header; errors as `read`, but only the header is checked."""
    data = _contents(path)
    with naming(path):
        _tensors(data)
        return _header(data, key).get("format")


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let a ValueError of the block name the file, in one line."""
    try:
        yield
    except ValueError as error:
        message = f"{checks.shown_path(os.fspath(path))}: {error}"
        raise ValueError(checks.message(message)) from None


def _contents(path: str | os.PathLike[str]) -> bytes:
    with naming(path):  # of a path that no system can have
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        _check(len(data) <= MAX_FILE_BYTES, f"it is longer than the {MAX_FILE_BYTES:,} bytes allowed")
    return data


def _tensors(data: bytes) -> Tensors:
    try:
        found = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ValueError(f"not a safetensors file ({error})") from None
    tensors = {}
    for name, held in found:
        dtype = DTYPES.get(held["dtype"])
        _check(dtype is not None, f"{checks.shown(name)} has the type {held['dtype']}, which NumPy lacks")
        tensors[name] = np.frombuffer(held["data"], dtype).reshape(held["shape"])
    return tensors


def _header(data: bytes, key: str) -> dict[str, Any]:
    """Our header, empty if there is none."""
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    outer = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length])  # safetensors has checked it
    return parse(dict[str, Any], (outer.get("__metadata__") or {}).get(key, "{}"), "its header")


def _check_digest(data: bytes, found: Any) -> None:
    """Raise ValueError unless the file's digest is `found`."""
    if found is None:
        raise ValueError(
            f"it has no {DIGEST}, like files of older versions, which are not read; train anew, or use a shipped net"
        )
    whole = isinstance(found, str) and _digest(data.replace(found.encode(), BLANK.encode(), 1)) == found
    _check(whole, f"it is damaged: its contents do not have the {DIGEST} that its header says")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
