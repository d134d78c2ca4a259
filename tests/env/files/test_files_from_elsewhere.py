"""What comes from elsewhere (boards, rules, records, states, specs, nets), damaged: it is read or refused in one line.

A `Loader` has a valid input, and reads an input and uses what it has read. Inputs are damaged at random: bytes are flipped,
deleted and doubled, JSON values are replaced by others. Each is read within some seconds and 200 MB.
"""

import hashlib
import json
import random
import re
import resource
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numba
import pytest

import bombay_env
from bombay_agents.nets import files
from bombay_agents.nets.loading import make_net
from bombay_env import Board, Game, Rules
from bombay_env.board import PACKAGED_FILE
from bombay_env.record import Record, read_records
from bombay_env.registry import make
from bombay_env.state import state_from_dict, state_to_dict
from bombay_training.learners.zero import ZeroRun, ZeroSettings
from helpers.file_mutations import damaged_bytes, damaged_json
from helpers.nets import policy_net
from helpers.position import official
from helpers.records import BASE, golden_file
from helpers.refusal import MAX_MESSAGE

SECONDS = 10 if numba.config.DISABLE_JIT else 5
MEGABYTES = 200
GAME = official(3)


class Loader(NamedTuple):
    """What is read, and how.

    Args:
        valid: an input that can be read.
        read: reads an input and uses what it has read. The input is in the file, whose folder belongs to this loader.
        form: where it holds JSON: "file", "lines", "tensors" (in a safetensors header) or nowhere.
    """

    valid: Callable[[Path], bytes]
    read: Callable[[Path], object]
    form: str = ""


def text_of(file):
    return file.read_bytes().decode(errors="replace")


def json_bytes(value):
    return json.dumps(value).encode()


def packaged_board(folder):
    return (Path(bombay_env.__file__).parent / "data" / PACKAGED_FILE).read_bytes()


def read_all_records(file):
    for record in read_records(file):
        record.verify()
        Record.from_dict(record.to_dict())


def read_state(file):
    state = state_from_dict(json.loads(file.read_bytes()), GAME.rules, GAME.board)
    return GAME.legal_actions(state), GAME.observe(state)


def file_of(net, folder):
    net.save(folder / "made")
    return (folder / "made").read_bytes()


def value_net():
    return ZeroRun(ZeroSettings(updates=2, games=2, players=(2,), hidden=8, second=4)).net()


SPEC = b"search:nodes=20,k=4,exploration=0.3,value=[zero:rounds=1,seed=1],temperature=0.5"
LOADERS = {
    "board": Loader(packaged_board, lambda file: Game(Rules.official(2), Board.load(file))),
    "record": Loader(lambda folder: json_bytes(BASE) + b"\n" + golden_file(2).read_bytes(), read_all_records, "lines"),
    "record with a board": Loader(
        lambda folder: json_bytes(BASE | {"board": Board.load().to_dict() | {"name": "mine"}}), read_all_records, "lines"
    ),
    "rules": Loader(lambda folder: Rules.official(4).to_json().encode(), lambda file: Rules.from_json(text_of(file)), "file"),
    "state": Loader(
        lambda folder: json_bytes(state_to_dict(GAME.new_states([7])[0], GAME.rules, GAME.board)), read_state, "file"
    ),
    "spec": Loader(lambda folder: SPEC, lambda file: make(text_of(file))),
    "policy net": Loader(lambda folder: file_of(policy_net(GAME), folder), lambda file: make_net(str(file)), "tensors"),
    "value net": Loader(lambda folder: file_of(value_net(), folder), lambda file: make_net(str(file)), "tensors"),
}  # fmt: skip


# --- damage ---


def damaged(content, form, rng):
    """A damaged input."""
    if not form or rng.random() < 0.35:
        return damaged_bytes(content, rng)
    if form == "file":
        return damaged_json(json.loads(content), rng).encode(errors="surrogatepass")
    if form == "lines":
        lines = content.splitlines()
        number = rng.randrange(len(lines))
        lines[number] = damaged_json(json.loads(lines[number]), rng).encode(errors="surrogatepass")
        return b"\n".join(lines)
    return damaged_header(content, rng)


def damaged_header(content, rng):
    """A safetensors file with a damaged header: 8 bytes for its length, the header as JSON, the tensors."""
    length = struct.unpack("<Q", content[:8])[0]
    header, tensors = json.loads(content[8 : 8 + length]), content[8 + length :]
    if rng.random() < 0.7:  # its own JSON, a text in the format's
        key = files.HEADER
        header["__metadata__"][key] = damaged_json(json.loads(header["__metadata__"][key]), rng)
        made = json.dumps(header).encode()
    else:
        made = damaged_json(header, rng).encode(errors="surrogatepass")
    return with_digest(struct.pack("<Q", len(made)) + made + tensors)


def with_digest(content):
    """The file with the digest that it should have, if it has one: what is wrong with it must be found in another way."""
    found = re.search(rb"sha256\W+([0-9a-f]{64})", content)
    if found is None:
        return content
    blank = content.replace(found[1], b"0" * 64, 1)
    return content.replace(found[1], hashlib.sha256(blank).hexdigest().encode(), 1)


def peak_megabytes():
    """The most memory that this process has taken so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)


def is_refused(loader, file, content):
    """Read a damaged input: whether it is refused, which must be in one line."""
    file.write_bytes(content)
    before, start = peak_megabytes(), time.process_time()
    message = None
    try:
        loader.read(file)
    except (ValueError, OSError) as error:
        message = str(error)
    assert time.process_time() - start < SECONDS
    assert peak_megabytes() - before < MEGABYTES
    if message is not None:
        assert message.strip()
        assert "\n" not in message, message[:1000]
        assert len(message) <= MAX_MESSAGE, message[:1000]
    return message is not None


@pytest.mark.parametrize(("count", "seed"), [(25, 0), pytest.param(600, 1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LOADERS)
def test_damaged_inputs_are_read_or_refused_in_one_line(name, count, seed, tmp_path):
    loader, file, rng = LOADERS[name], tmp_path / "input", random.Random(seed)
    content = loader.valid(tmp_path)
    file.write_bytes(content)
    loader.read(file)
    refused = 0
    for number in range(count):
        bad = damaged(content, loader.form, rng)
        try:
            refused += is_refused(loader, file, bad)
        except BaseException as error:
            error.add_note(f"{name}, seed {seed}, input {number}: {bad[:300]!r}")
            raise
    assert refused
