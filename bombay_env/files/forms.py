"""What data must look like, in pydantic's types, and errors of one line that name the value and what is allowed.

A `Form` is an object of a file or a message from elsewhere. `check_fields` checks a dataclass whose fields have such types, such
as `Rules`. Nothing is converted: a text is no number, and neither is true.
"""

import codecs
import dataclasses
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json

from bombay_env import checks

STRICT: Final = ConfigDict(strict=True, allow_inf_nan=False)
Kind = TypeVar("Kind")


class Form(BaseModel):
    """An object with exactly these keys."""

    model_config = STRICT | ConfigDict(extra="forbid", frozen=True)


def check(form: type[Kind], value: Any, name: str) -> Kind:
    """The value as this form. Raises ValueError, which calls the value `name`, if it is of another.

    Objects and lists may be those of any library.
    """
    checked: Kind = _checked(lambda: _adapter(form).validate_python(checks.plain(value)), name)
    return checked


def parse(form: type[Kind], text: str | bytes, name: str) -> Kind:
    """The value of a JSON text as this form. Raises ValueError, which calls the value `name`, if it is no JSON or of another."""
    if isinstance(text, bytes):
        text = text.removeprefix(codecs.BOM_UTF8)
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(checks.message(f"{name} is not JSON: {error}")) from None
    return check(form, value, name)


def _adapter(form: Any) -> TypeAdapter[Any]:
    if form not in _ADAPTERS:
        is_model = isinstance(form, type) and issubclass(form, BaseModel)
        _ADAPTERS[form] = TypeAdapter(form, config=None if is_model else STRICT)
    return _ADAPTERS[form]


_ADAPTERS: Final[dict[Any, TypeAdapter[Any]]] = {}


def _checked(validate: Any, name: str) -> Any:
    try:
        return validate()
    except ValidationError as error:
        wrong = error.errors(include_url=False)[0]
        keys = [
            f".{checks.one_line(str(key))}" if str(key).isidentifier() else f"[{checks.shown(key)}]"
            for key in wrong["loc"]
        ]
        place, reason = name + "".join(keys), wrong["msg"]
        if wrong["type"] == "missing":
            message = f"{place} is missing"
        elif wrong["type"] == "extra_forbidden":
            message = f"{place} is an unknown key"
        elif reason.startswith("Input should be "):
            wanted = reason.removeprefix("Input should be ")
            if wanted.startswith("a valid dictionary"):
                wanted = "an object"
            message = f"{place} is {checks.shown(wrong['input'])}; it must be {wanted}"
        else:
            message = f"{place} is {checks.shown(wrong['input'])}: {reason.removeprefix('Value error, ')}"
        raise ValueError(checks.message(message)) from None


# --- dataclasses ---


def check_fields(instance: Any) -> None:
    """Check every field of a dataclass that is being made. Numbers of NumPy become Python's, lists tuples, paths texts.

    Raises:
        ValueError: a field has a value that its type does not allow. The message names the field, the value and what is allowed.
    """
    for field in dataclasses.fields(instance):
        given = getattr(instance, field.name)
        try:  # the value itself is kept: pydantic would turn 3 into 3.0
            value = checks.plain(given, tuple)
            _adapter(field.type).validate_python(value)
            object.__setattr__(instance, field.name, value)  # the only way to set a field of a frozen dataclass
        except ValueError:  # ValidationError is one
            raise ValueError(f"{field.name} is {checks.shown(given)}; it must be {allowed(field)}") from None


def allowed(field: dataclasses.Field[Any]) -> str:
    """What a field may be, in words: `a whole number from 4 to 1024, a multiple of 4`."""
    return _in_words(_adapter(field.type).json_schema())


def _in_words(schema: dict[str, Any]) -> str:
    """What a JSON schema allows. A `title` says it in words where the limits cannot."""
    match schema:
        case {"title": words}:
            return str(words)
        case {"anyOf": [kind, {"type": "null"}]}:
            return _in_words(kind)
        case {"enum": values}:
            return f"one of {', '.join(values)}"
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "array", "items": item, "minItems": low, "maxItems": high}:
            length = str(low) if low == high else f"{low} to {high}"
            return f"a list of {length} entries, each {_in_words(item)}"
        case {"minimum": low, "maximum": high}:
            limits = f"from {low} to {high}"
        case {"exclusiveMinimum": low, "maximum": high}:
            limits = f"above {low}, at most {high}"
        case {"minimum": low, "exclusiveMaximum": high}:
            limits = f"at least {low}, below {high}"
        case _:
            limits = ""
    kind = {"integer": "a whole number", "string": "text", "array": "a list"}.get(schema["type"], "")
    step = f", a multiple of {schema['multipleOf']}" if "multipleOf" in schema else ""
    return (f"{kind} {limits}".strip() or "a number") + step
