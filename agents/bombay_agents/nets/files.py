"""What all net files have in common: tensors with a JSON header that also says which games the net was trained on.

How such a file is read and written, and what protects it from damage, is in `tensor_files.py`. The header of a net has at least
`format`, which names the kind of net, and `about`, which says among other things what the net was trained on:

    rules   a list of rules, each an object with every field of `Rules`
    board   the packaged board's name, or else the whole board as an object

Does not know the kinds of nets.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from bombay_agents.nets import tensor_files
from bombay_agents.nets.tensor_files import Header, Tensors
from bombay_env.checks import one_line, shown
from bombay_env.game import Game
from bombay_env.rules import Rules

HEADER: Final = "bombay_net"  # the key under which safetensors' own header holds ours, as JSON

Kind = TypeVar("Kind")


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
    tensor_files.write(path, HEADER, header, held)


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
    header, tensors = tensor_files.read(path, HEADER, format)
    with tensor_files.naming(path):
        for key, kinds in keys.items():
            names = " or ".join(kind.__name__ for kind in kinds)
            check(type(header.get(key)) in kinds, f"{key} is {shown(header.get(key))}; it must be of type {names}")
        for name, tensor in tensors.items():
            wanted = np.dtype(np.float16 if name in half else np.float32)
            check(tensor.dtype == wanted, f"{shown(name)} is {tensor.dtype}; it must be {wanted}")
        return make(header, {name: tensor.astype(np.float32, copy=False) for name, tensor in tensors.items()})


def format_of(path: str | os.PathLike[str]) -> Any:
    """The `format` in a file's header; errors as `read_net`."""
    return tensor_files.read_format(path, HEADER)


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


def check(holds: bool, message: str) -> None:
    """Raise ValueError with the message unless `holds`."""
    if not holds:
        raise ValueError(message)


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
