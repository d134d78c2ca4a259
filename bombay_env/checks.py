"""Checks of arguments. A wrong value raises a ValueError of one line that names the argument and what is allowed.

Every module that takes arguments from a caller uses these checks, so that the same mistake gets the same message everywhere.
This module does not depend on the game.
"""

import numbers
import operator
import os
from collections import UserString
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

MAX_SEED: Final = 2**64 - 1
MAX_COUNT: Final = 2**62  # the sum of two such counts still fits into int64
MAX_LEVELS: Final = 50  # of lists and objects in each other
MAX_SHOWN: Final = 100  # characters of a value in an error message
MAX_SHOWN_PATH: Final = 200  # likewise of a path
MAX_MESSAGE: Final = 500  # characters of an error message


def shown(value: Any) -> str:
    """A value as error messages show it: its repr on one line, shortened if it is long."""
    try:
        return one_line(str(value) if isinstance(value, np.number) else repr(value))
    except (ValueError, RecursionError):  # an int with too many digits, or a list that is nested too deeply
        return f"a value of type {type(value).__name__}"


def one_line(text: str, limit: int = MAX_SHOWN) -> str:
    """`text` on one line, shortened to at most `limit` characters."""
    line = " ".join(part for part in map(str.strip, text.splitlines()) if part)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def message(text: str) -> str:
    """`text` as the message of an error: on one line of at most `MAX_MESSAGE` characters."""
    return one_line(text, MAX_MESSAGE)


def shown_path(path: Any) -> str:
    """A path as error messages show it: on one line, shortened if it is long."""
    return one_line(str(path), MAX_SHOWN_PATH)


def whole_number(value: Any, name: str, low: int | None = None, high: int | None = None) -> int:
    """`value` as an int.

    Args:
        value: a Python or NumPy integer.
        name: the name of the argument, for the message.
        low, high: the allowed range, both ends included; None for no bound.

    Raises:
        ValueError: `value` is not a whole number, is a bool, or is out of range.
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"{name} is {shown(value)}; it must be a whole number{_range(low, high)}")
    return number


def _range(low: int | None, high: int | None) -> str:
    if low is None:
        return "" if high is None else f" of at most {high}"
    return f" of at least {low}" if high is None else f" from {low} to {high}"


def is_whole_number(value: Any, low: int, high: int | None = None) -> bool:
    """Whether `value` is a whole number from `low` to `high`; None for no upper bound."""
    try:
        whole_number(value, "value", low, high)
    except ValueError:
        return False
    return True


def number(value: Any, name: str, low: float, high: float) -> float:
    """`value` as a float. Raises ValueError unless it is a number from `low` to `high`, bools excluded."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not is_number or not low <= value <= high:
        raise ValueError(f"{name} is {shown(value)}; it must be a number from {low:g} to {high:g}")
    return float(value)


def count(value: Any, name: str) -> int:
    """`value` as an int from 0 to `MAX_COUNT`."""
    return whole_number(value, name, 0, MAX_COUNT)


def one_of(value: Any, name: str, allowed: Sequence[Any]) -> None:
    """Raise ValueError unless `value` is one of `allowed`."""
    if not any(value is other or (isinstance(value, type(other)) and value == other) for other in allowed):
        raise ValueError(f"{name} is {shown(value)}; it must be one of {', '.join(map(str, allowed))}")


# --- lists and objects ---


def is_list(value: Any) -> bool:
    """Whether a value is a list, a tuple, an array or the sequence of another library, and no text."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | UserString)


def plain(value: Any, sequence: type = list, levels: int = MAX_LEVELS) -> Any:
    """A value in Python's own types: mappings of any library become dicts, sequences lists, or what `sequence` says, paths texts.

    What enters as a list or an object passes here, so that OmegaConf's and NumPy's are as good as Python's own.

    Raises:
        ValueError: it is nested too deeply.
    """
    if type(value) in (str, int, float, bool, type(None)):  # most are; the questions below take longer
        return value
    if not levels:
        raise ValueError(f"lists and objects may be nested {MAX_LEVELS} times at most, and not in themselves")
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: plain(value[key], sequence, levels - 1) for key in value}
    return sequence(plain(entry, sequence, levels - 1) for entry in value) if is_list(value) else value


# --- seeds ---


def seed(value: Any, name: str = "seed") -> int:
    """One seed as an int from 0 to 2**64 − 1."""
    return whole_number(value, name, 0, MAX_SEED)


def seeds(values: Any, count: int | None = None, name: str = "seeds") -> np.ndarray:
    """Seeds as an array (batch,) uint64. Python integers are checked one by one, because NumPy converts large ones to floats.

    Raises:
        ValueError: `values` is not a list or an array of integers from 0 to 2**64 − 1, or not of `count` of them.
    """
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            raise ValueError(f"{name} must be integers of shape (batch,), not {form(values)}")
        if values.dtype.kind == "i" and values.size and values.min() < 0:
            raise ValueError(f"{name} must be from 0 to {MAX_SEED}; {values.min()} is not")
        found = np.ascontiguousarray(values, np.uint64)
    elif is_list(values):
        found = np.array([seed(value, f"an entry of {name}") for value in values], np.uint64)
    else:
        raise ValueError(f"{name} must be a list or an array of integers from 0 to {MAX_SEED}, not {shown(values)}")
    if count not in (None, len(found)):
        raise ValueError(f"{name} has {len(found)} entries; it must have {count}")
    return found


# --- arrays ---


def array(value: Any) -> np.ndarray:
    """`value` as a NumPy array. A value that NumPy cannot convert, such as a ragged list, becomes an array of dtype object."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.array(None)


def form(array: np.ndarray) -> str:
    """The dtype and the shape of an array as error messages show them."""
    return one_line(f"{array.dtype} of shape {array.shape}")


def actions(values: Any, count: int) -> np.ndarray:
    """Action numbers as (count,) int64; those above the range of int64, which are illegal, become its largest number.

    Raises:
        ValueError: `values` is not a list or an array of `count` integers.
    """
    numbers = array(values)
    if numbers.shape == (0,):
        numbers = numbers.astype(np.int64)  # NumPy converts an empty list to floats
    if numbers.dtype.kind not in "iu" or numbers.shape != (count,):
        raise ValueError(f"actions must be integers of shape ({count},), not {form(numbers)}")
    if numbers.dtype.kind == "u":
        numbers = np.minimum(numbers, np.uint64(np.iinfo(np.int64).max))
    chosen = np.ascontiguousarray(numbers, np.int64)
    return chosen if chosen.flags.writeable else chosen.copy()  # kernels would be compiled again for read-only arrays


def output(out: Any, shape: tuple[int, ...], dtype: Any, name: str = "out") -> None:
    """Raise ValueError unless `out` is an array of this shape and dtype that a kernel can write to without a copy."""
    fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == dtype
    if not fits or not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError(f"{name} must be a writable C-contiguous {np.dtype(dtype).name} array of shape {shape}")


def new_or_output(out: np.ndarray | None, shape: tuple[int, ...], dtype: Any, *inputs: Any) -> np.ndarray:
    """Check `out` and return it; return a new array if `out` is None.

    Raises:
        ValueError: `out` does not fit (see `output`), or shares memory with one of `inputs`.
    """
    if out is None:
        return np.empty(shape, dtype)
    output(out, shape, dtype)
    apart(out, "out", *inputs)
    return out


def apart(out: np.ndarray, name: str, *others: Any) -> None:
    """Raise ValueError, which uses `name`, if writing to `out` would change an array among `others`."""
    if any(isinstance(other, np.ndarray) and np.shares_memory(out, other) for other in others):
        raise ValueError(f"{name} shares memory with another array of this call; it must be an array of its own")
