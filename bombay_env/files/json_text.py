"""The one reader of JSON: strict, with limits, and with one kind of error.

Python's `json` accepts more than JSON: `NaN`, a key that is given twice (the last one wins), and halves of surrogate pairs, which
cannot be written again. It also accepts integers of thousands of digits and values nested a thousand deep, which break code that
expects ordinary values. All of that is refused here. The caller says how long a text may be: its value takes up to some 30 bytes
of memory for each byte. What a value means is for the caller to check.
"""

import contextlib
import json
import math
import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

from bombay_env import checks

MAX_DIGITS: Final = 30  # characters of a number; a float of full precision needs 24, a seed 20
MAX_DEPTH: Final = 20  # lists and objects inside each other
TOO_DEEP: Final = f"not strict JSON: more than {MAX_DEPTH} lists and objects are inside each other"
CHUNK: Final = 1 << 16  # bytes of an overlong line that are skipped at once


def parse(text: str | bytes, max_length: int) -> Any:
    """The value of a JSON text.

    Args:
        text: the text; bytes must be UTF-8.
        max_length: largest length of `text`.

    Raises:
        ValueError: the text is too long or is not strict JSON. The message is one line of at most 200 characters.
    """
    if len(text) > max_length:
        raise ValueError(f"it is longer than the {max_length:,} bytes allowed")
    try:
        decoded = text.decode() if isinstance(text, bytes) else text
        value = json.loads(
            decoded, object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
        )
    except UnicodeDecodeError:
        raise ValueError("not JSON: it is not UTF-8 text") from None
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    _check_depth(value)
    _check_strings(decoded, value)
    return value


def read(path: str | os.PathLike[str], max_bytes: int) -> Any:
    """The value in a JSON file of at most `max_bytes` bytes. Of a larger file no more than that is read.

    Raises:
        ValueError: the file cannot be read or is not strict JSON. The message is one line and starts with the path.
    """
    with _opened(path) as file:
        text = file.read(max_bytes + 1)
    try:
        return parse(text, max_bytes)
    except ValueError as error:
        raise ValueError(f"{checks.shown_path(path)}: {error}") from None


def lines(path: str | os.PathLike[str], max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers from 1, read one by one.

    Of a line with more than `max_bytes` bytes only the first `max_bytes` + 1 are given, which `parse` refuses. The rest is
    skipped when the next line is asked for, since it may have no end.

    Raises:
        ValueError: the file cannot be read. The message is one line and starts with the path.
    """
    with _opened(path) as file:
        number = 0
        while line := file.readline(max_bytes + 1):
            number += 1
            if line.strip() or len(line) > max_bytes:
                yield number, line.removesuffix(b"\n")
            while line and not line.endswith(b"\n"):
                line = file.readline(CHUNK)


def valid_lines(path: str | os.PathLike[str], max_bytes: int) -> Iterator[Any]:
    """The values of the lines of a file that are strict JSON of at most `max_bytes` bytes; none if there is no such file.

    Other lines are skipped: the last one is incomplete if the program that wrote it was killed.

    Raises:
        ValueError: the file cannot be read. The message is one line and starts with the path.
    """
    if os.path.exists(path):
        for _, line in lines(path, max_bytes):
            with contextlib.suppress(ValueError):
                yield parse(line, max_bytes)


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{checks.shown_path(path)}: cannot be read: {reason}") from None


# --- what `json` lets pass ---


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"not strict JSON: an object has the key {checks.shown(key)} twice")
        found[key] = value
    return found


def _integer(text: str) -> int:
    _check_length(text)
    return int(text)


def _float(text: str) -> float:
    _check_length(text)
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"not strict JSON: the number {text} is too large")
    return number


def _check_length(text: str) -> None:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"not strict JSON: the number {text[:MAX_DIGITS]}… has more than {MAX_DIGITS} characters")


def _constant(text: str) -> Any:
    raise ValueError(f"not strict JSON: {text} is not allowed")


def _check_depth(value: Any) -> None:
    """Raise ValueError if more than `MAX_DEPTH` lists and objects are inside each other."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [entry for part in level for entry in _entries(part) if isinstance(entry, (dict, list))]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def _entries(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _check_strings(text: str, value: Any) -> None:
    """Raise ValueError if a string cannot be written as UTF-8. Only an escape in the text makes such a string."""
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("not strict JSON: a string has half of a surrogate pair") from None
