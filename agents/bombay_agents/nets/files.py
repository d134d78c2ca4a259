"""Files of tensors with a JSON header and a SHA-256 of the whole file: nets and checkpoints.

The format is safetensors, so reading executes no code. Its own header holds ours as JSON, under a key that tells nets from
checkpoints. Ours has at least

    format   names the kind of contents
    sha256   the digest of the file's bytes, with zeros in the place of the digest itself

The digest covers bytes and not values, so every flipped bit is seen, also where it would not change the JSON, as in padding or in
the case of an escape. It protects from damage, not from people who write files on purpose: whoever uses the contents checks them.

The header of a net also has `about`, which says among other things what the net was trained on:

    rules   a list of rules, each an object with every field of `Rules`
    board   the packaged board's name, or else the whole board as an object

Does not know the kinds of nets.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from bombay_env.checks import message, one_line, shown, shown_path
from bombay_env.files import atomic
from bombay_env.files.forms import parse
from bombay_env.game import Game
from bombay_env.rules import Rules

HEADER: Final = "bombay_net"  # the key under which safetensors' own header holds that of a net
DIGEST: Final = "sha256"
BLANK: Final = "0" * 64  # stands for the digest while it is computed
LENGTH_BYTES: Final = 8  # of the length of safetensors' header, which comes first in a file
MAX_FILE_BYTES: Final = 1 << 30

Header = Mapping[str, Any]
Tensors = dict[str, np.ndarray]
Kind = TypeVar("Kind")


def check(holds: bool, message: str) -> None:
    """Raise ValueError with the message unless `holds`."""
    if not holds:
        raise ValueError(message)


# --- files of tensors ---


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
        check(found == format, f"its format is {shown(found)}; this program reads {format!r}")
        _check_digest(data, header.pop(DIGEST, None))
    return header, tensors


def format_of(path: str | os.PathLike[str], key: str = HEADER) -> Any:
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
        raise ValueError(message(f"{shown_path(os.fspath(path))}: {error}")) from None


def _contents(path: str | os.PathLike[str]) -> bytes:
    with naming(path):  # of a path that no system can have
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        check(len(data) <= MAX_FILE_BYTES, f"it is longer than the {MAX_FILE_BYTES:,} bytes allowed")
    return data


def _tensors(data: bytes) -> Tensors:
    try:
        return dict(load(data))
    except SafetensorError as error:
        raise ValueError(f"not a safetensors file ({error})") from None
    except KeyError as error:  # of safetensors' types, NumPy lacks some
        raise ValueError(f"it has tensors of type {error}, which NumPy lacks") from None


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
    check(whole, f"it is damaged: its contents do not have the {DIGEST} that its header says")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- nets ---


def write_net(
    path: str | os.PathLike[str], header: Header, tensors: Mapping[str, np.ndarray], half: Collection[str] = ()
) -> None:
    """Write a net file atomically: a reader finds the old one or the new one, never half of either.

    The tensors named in `half` are stored in half precision; `read_net` must name them too.

    Raises:
        OSError: the file cannot be written.
        ValueError: a number is not finite or, in half precision, too large. An old file has not changed.
    """
    with np.errstate(over="ignore"):  # what is too large is refused below
        held = {
            name: np.ascontiguousarray(tensor, np.float16 if name in half else None) for name, tensor in tensors.items()
        }
    for name, tensor in held.items():
        check(bool(np.isfinite(tensor).all()), f"{shown(name)} holds numbers that are not finite in {tensor.dtype}")
    write(path, HEADER, header, held)


def read_net(
    path: str | os.PathLike[str],
    format: str,
    keys: Mapping[str, tuple[type, ...]],
    make: Callable[[Header, Tensors], Kind],
    half: Collection[str] = (),
) -> Kind:
    """Read a net file and return what `make` makes of its header and tensors.

    Args:
        path: the file.
        format: the header's `format`.
        keys: the other keys that the header must have, with the types allowed.
        make: takes header and tensors; may raise ValueError.
        half: names of the tensors that are stored in half precision; `make` gets them as float32.
    Raises:
        OSError: the file cannot be read.
        ValueError: it is not such a file, or it is damaged; one line that names the file and what is wrong.
    """
    header, tensors = read(path, HEADER, format)
    with naming(path):
        for key, kinds in keys.items():
            names = " or ".join(kind.__name__ for kind in kinds)
            check(type(header.get(key)) in kinds, f"{key} is {shown(header.get(key))}; it must be of type {names}")
        for name, tensor in tensors.items():
            wanted = np.dtype(np.float16 if name in half else np.float32)
            check(tensor.dtype == wanted, f"{shown(name)} is {tensor.dtype}; it must be {wanted}")
        return make(header, {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()})


def check_names(tensors: Tensors, wanted: set[str]) -> None:
    """Raise ValueError unless exactly the wanted tensors are there."""
    missing, unknown = sorted(wanted - set(tensors)), sorted(set(tensors) - wanted)
    check(not missing, f"tensors are missing: {', '.join(missing)}")
    check(not unknown, f"unknown tensors: {', '.join(unknown)}")


def check_tensor(name: str, tensor: np.ndarray, dims: int) -> None:
    """Raise ValueError unless the tensor is finite float32 with `dims` dimensions, none of them empty."""
    check(tensor.dtype == np.float32, f"{name} is {tensor.dtype}; it must be float32")
    check(tensor.ndim == dims and tensor.size > 0, f"{name} has shape {tensor.shape}")
    check(bool(np.isfinite(tensor).all()), f"{name} holds numbers that are not finite")


# --- games ---


def about_games(games: Sequence[Game]) -> dict[str, Any]:
    """The entries of `about` for the games that a net is trained on; they share a board."""
    return {"rules": [_rules_of(game) for game in games], "board": _board_of(games[0])}


def check_fits(name: str, facts: Sequence[tuple[str, Any, Any]]) -> None:
    """Raise ValueError if the net cannot play the game: a fact (its name, the net's value, the game's value) differs."""
    for what, mine, theirs in facts:
        check(mine == theirs, f"{name} was trained on {what} {mine}; this game's are {theirs}")


def check_trained_on(name: str, about: Header, game: Game) -> None:
    """Raise ValueError unless `about` says that the net was trained on the game's rules and board."""
    rules, board = about.get("rules"), about.get("board")
    if not isinstance(rules, list) or board is None:
        reason = "does not say which rules and board it was trained on"
    elif game.rules not in _read_rules(rules):
        reason = f"was not trained on these rules for {game.num_players} players{_differences(_read_rules(rules), game.rules)}"
    elif _board_of(game) != board:
        reason = f"was not trained on the board {game.board.name}"
    else:
        return
    raise ValueError(f"{name} {reason}; force=true plays it all the same")


def _differences(known: Sequence[Rules], rules: Rules) -> str:
    """In brackets, the fields in which rules differ from those known for this number of players; empty if there are none."""
    for mine in known:
        if mine.num_players == rules.num_players:
            pairs = [
                (field.name, getattr(mine, field.name), getattr(rules, field.name))
                for field in dataclasses.fields(rules)
            ]
            found = [f"{name} {one!r}, not {other!r}" for name, one, other in pairs if one != other]
            return f" ({one_line('; '.join(found), 200)})"
    return ""


def _read_rules(entries: Sequence[Any]) -> list[Rules]:
    """The rules that a file lists. A field that the file does not know has its official value."""
    found = []
    for entry in entries:
        with contextlib.suppress(ValueError):
            found.append(Rules.from_dict(entry))
    return found


def _rules_of(game: Game) -> Any:
    return json.loads(game.rules.to_json())


def _board_of(game: Game) -> Any:
    return game.board.name if game.board.is_packaged else json.loads(json.dumps(game.board.to_dict()))
