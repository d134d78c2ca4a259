"""Files of nets: every flipped bit is seen, and a file without a digest is refused."""

import contextlib
import itertools
import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save, save_file

from bombay_agents import shipped
from bombay_agents.nets import files
from bombay_agents.nets.policy.net import PolicyNet
from bombay_agents.nets.value.net import ValueNet
from helpers.refusal import refusal

KEY, FORMAT = "key", "format/1"
TENSORS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "λ": np.full((), 7, np.int64),
    "e": np.zeros((0, 2), bool),
}
HEADER = {"format": FORMAT, "about": {"rate": 1e-05, "name": "TD(λ)!", "zeros": "0" * 64}}
SHIPPED = {"zero": ValueNet, "ppo": PolicyNet}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    files.write(path, KEY, HEADER, TENSORS)
    return path


def read(path):
    return files.read(path, KEY, FORMAT)


def test_header_and_tensors_survive_their_file(file, tmp_path):
    header, tensors = read(file)
    assert header == HEADER
    assert {name: (held.dtype, held.shape, held.tobytes()) for name, held in tensors.items()} == {
        name: (held.dtype, held.shape, held.tobytes()) for name, held in TENSORS.items()
    }
    files.write(tmp_path / "again", KEY, {**header, "sha256": "old"}, tensors)
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_every_flipped_bit_is_seen(file, tmp_path):
    """Also those that change no value: padding, white space, and the case of an escape or an exponent in JSON."""
    data, path = file.read_bytes(), tmp_path / "changed"
    padding = data.index(b"}}  ") + 2
    assert b"\\\\u03bb" in data
    assert b"1e-05" in data
    unseen = []
    path.write_bytes(data)
    with path.open("r+b", buffering=0) as changed:
        for place, bit in itertools.product(range(len(data)), range(8)):
            os.pwrite(changed.fileno(), bytes([data[place] ^ 1 << bit]), place)
            with contextlib.suppress(ValueError):
                read(path)
                unseen.append((place, bit))
            os.pwrite(changed.fileno(), data[place : place + 1], place)
    assert unseen == []
    assert read(path)
    path.write_bytes(data[:padding] + b"\n" + data[padding + 1 :])
    refusal(lambda: read(path), "damaged")


@pytest.mark.parametrize("cut", [0, 8, -1])
def test_a_file_cut_short_is_refused(file, cut):
    file.write_bytes(file.read_bytes()[:cut])
    refusal(lambda: read(file), "not a safetensors file")


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "its format is None"),
        ({KEY: "[" * 100_000}, "its header is not JSON"),
        ({KEY: "3"}, "its header is 3; it must be an object"),
        ({KEY: json.dumps({"format": "x" * 10_000})}, "its format is 'xxx"),
        ({KEY: json.dumps({"format": FORMAT})}, "it has no sha256"),
        ({KEY: json.dumps({"format": FORMAT, "sha256": 3})}, "it is damaged"),
        ({KEY: json.dumps({"format": FORMAT, "sha256": "0" * 64})}, "it is damaged"),
    ],
)
def test_other_headers_are_refused_in_one_line(tmp_path, header, reason):
    save_file({"a": np.zeros(2, np.float32)}, tmp_path / "file", metadata=header)
    refusal(lambda: read(tmp_path / "file"), str(tmp_path / "file"), reason)


def test_types_that_numpy_lacks_are_refused(tmp_path):
    data = save({"a": np.zeros(2, np.float16)}).replace(b'"F16"', b'"BF16"')
    (tmp_path / "file").write_bytes((int.from_bytes(data[:8], "little") + 1).to_bytes(8, "little") + data[8:])
    refusal(lambda: read(tmp_path / "file"), "it has tensors of type 'BF16'")


def test_a_file_that_is_too_long_is_not_read(file, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 100)
    refusal(lambda: read(file), "it is longer than the 100 bytes allowed")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_net_without_its_digest_is_refused(name, tmp_path):
    """Files of earlier versions have none."""
    path = shipped.WEIGHTS / f"{name}.safetensors"
    header, _ = files.read(path, files.HEADER, files.format_of(path))
    save_file(load_file(path), tmp_path / "old", metadata={files.HEADER: json.dumps(header)})
    refusal(lambda: SHIPPED[name].load(tmp_path / "old"), "no sha256", "files of older versions")
