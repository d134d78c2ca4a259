"""What a JSON value must look like, and the check of it: the loader of a file states the form of what it uses.

A form is one of these:

    Kind           a condition on a single value, such as `whole(0, 9)`, `TEXT` or `optional(number(0, 1))`
    {key: form}    an object with at least these keys
    [form]         a list of any length, all entries of this form
    (form, …)      a list of exactly these entries

Does not read files: `json_text.py` does.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from bombay_env import checks

Form = Any  # Kind | dict[str, Form] | list[Form] | tuple[Form, ...]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A condition on one value.

    Args:
        what: what the value must be, in words.
        holds: whether a value is so.
    """

    what: str
    holds: Callable[[Any], bool]


def whole(low: int, high: int = checks.MAX_COUNT) -> Kind:
    """A whole number from `low` to `high`."""
    return Kind(f"a whole number from {low} to {high}", lambda value: checks.is_whole_number(value, low, high))


def number(low: float, high: float) -> Kind:
    """A whole or decimal number from `low` to `high`."""
    return Kind(f"a number from {low:g} to {high:g}", lambda value: _is_number(value) and bool(low <= value <= high))


def optional(kind: Kind) -> Kind:
    """Null or a value of this kind."""
    return Kind(f"null or {kind.what}", lambda value: value is None or kind.holds(value))


TEXT: Final = Kind("a text", lambda value: isinstance(value, str))
OBJECT: Final = Kind("an object", lambda value: isinstance(value, dict))


def check(value: Any, form: Form, name: str) -> None:
    """Check that a JSON value has a form.

    Args:
        value: the value.
        form: see this module.
        name: what messages call the value; a part of it is named by its keys and indices, such as `rows[2].rate`.

    Raises:
        ValueError: it has another form. The message is one line.
    """
    if isinstance(form, Kind):
        if not form.holds(value):
            raise ValueError(f"{name} is {checks.shown(value)}; it must be {form.what}")
    elif isinstance(form, dict):
        if not isinstance(value, dict):
            raise ValueError(f"{name} is {checks.shown(value)}; it must be an object with {', '.join(form)}")
        for key, part in form.items():
            if key not in value:
                raise ValueError(f"{name} has no {key!r}; it must have {', '.join(form)}")
            check(value[key], part, f"{name}.{key}")
    else:
        parts = form if isinstance(form, tuple) else None
        if not isinstance(value, list) or (parts is not None and len(value) != len(parts)):
            length = "" if parts is None else f" of {len(parts)} entries"
            raise ValueError(f"{name} is {checks.shown(value)}; it must be a list{length}")
        for index, entry in enumerate(value):
            check(entry, form[0] if parts is None else parts[index], f"{name}[{index}]")


def has(value: Any, form: Form) -> bool:
    """Whether a JSON value has a form."""
    try:
        check(value, form, "it")
    except ValueError:
        return False
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
