"""Players by name: `make("greedy")`, `make("net:path=runs/a.safetensors,sample=true")`.

    spec    = name [":" options] | module ":" object [":" options]
    options = key "=" value {"," key "=" value}
    value   = text without commas, or "[" spec "]" for an agent inside an agent, or "[" text "]" for text with commas

A spec is split at its first colon, an option at its first `=`. Commas inside brackets do not split. Brackets come in pairs; those
around a whole text are not part of it.
`my_agent:MyAgent` is your own agent: an importable object with `act`, or a class or function that makes one. A spec is read in
this way if the part before its first colon is no known name and the part after it, up to the next colon, contains no `=`.
In brackets it may also be an evaluator of your own, an object with `values` or `evaluator`, if the option takes evaluators.

Names are entries of the entry-point group `bombay_env.agents`, so any installed package can add players. An entry is
a factory, and its signature says which options there are and what type each has. This module knows no player:
environments take opponents by name, and `bombay_env` imports none.
"""

import contextlib
import difflib
import functools
import inspect
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from bombay_env import checks
from bombay_env.agent import Agent, describe_error, name_of

GROUP = "bombay_env.agents"
Factory = TypeVar("Factory", bound=Callable[..., Any])
MAX_LENGTH = 10_000  # characters of a spec
MAX_NESTED = 20  # agents in brackets in a spec
MAX_LISTED = 250  # characters of a list of names in an error message
OWN = re.compile(r"(?P<name>[^\W\d][\w.]*:[^\W\d][\w.]*)(?::(?P<options>.*))?", re.DOTALL)
AGENTS = ("act",)  # methods, one of which an object needs to be what an option takes
EVALUATORS = ("act", "values", "evaluator")
TEXTS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}  # options that are no agents


def format_spec(name: str, /, **options: Agent | str | os.PathLike[str] | float | None) -> str:
    """The spec of an agent: its name, and the options that are not None. `make` reads it.

    Args:
        name: a name that `make` knows.
        options: values by key; agents stand in brackets, and so do texts that would be read otherwise without them.

    Raises:
        ValueError: `make` would not read a text as it is: its brackets are no pairs, it begins or ends with a space, or it is
            too long.
    """
    given = [f"{key}={_option_text(key, value)}" for key, value in options.items() if value is not None]
    return _not_too_long(f"{name}:{','.join(given)}" if given else name)


def _option_text(key: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else repr(value)
    is_text = isinstance(value, str | os.PathLike)
    text = os.fspath(value) if is_text else name_of(value)
    written = text if is_text and text and "," not in text and not text.startswith("[") else f"[{text}]"
    if _split(written) != [written] or _without_brackets(written.strip()) != text:
        raise ValueError(
            f"option {checks.shown(key)} is {checks.shown(text)}; a text in a spec has paired brackets and no spaces around it"
        )
    return written


def described(knowledge: str, least: str | None = "") -> Callable[[Factory], Factory]:
    """Say of a factory, for tables and for compiling ahead, what its agents know and how they do the least work.

    Args:
        knowledge: the scripted knowledge that they use: "none", "all", or where it comes from.
        least: options with which an agent calls all its kernels in little time; None if it needs a file or a program.
    """

    def describe(factory: Factory) -> Factory:
        factory.knowledge, factory.least = knowledge, least  # type: ignore[attr-defined]
        return factory

    return describe


def agent_names() -> list[str]:
    """The names that `make` knows, sorted."""
    return sorted(_entries())


def knowledge(spec: str) -> str:
    """The scripted knowledge that the agent of a spec uses, as `described` says; "unknown" of an agent from elsewhere.

    A search has the knowledge of its evaluator.
    """
    name, options = parts(spec)
    entry = _entries().get(name)
    if entry and "value" in options:
        return knowledge(options["value"])
    return getattr(entry.load(), "knowledge", "unknown") if entry else "unknown"


def parts(spec: str) -> tuple[str, dict[str, str]]:
    """The name or `module:object` of a spec, and the texts of its options by key; no options if they are malformed."""
    name, options = _named(spec.strip())
    try:
        return name, {key: _without_brackets(text) for key, text in _options(options, spec).items()} if options else {}
    except ValueError:
        return name, {}


def module_of(name: str) -> str:
    """The module of an agent by its name or `module:object`; empty if there is no such agent."""
    entry = _entries().get(name)
    return entry.module if entry else name.partition(":")[0] if ":" in name else ""


def make(spec: str) -> Agent:
    """Make the agent that `spec` describes.

    Raises:
        ValueError: the spec is malformed, a name or an option is unknown, an option does not take the value, or the agent cannot
            be imported or made. The message is one line and says what is allowed.
    """
    return _make(spec, AGENTS).made  # type: ignore[no-any-return]


def canonical(spec: str) -> str:
    """The one form of an agent's spec: without options at their defaults, the others in the factory's order.

    Raises as `make`.
    """
    return _make(spec, AGENTS).name


class _Made(NamedTuple):
    """What a spec makes, and the canonical form of the spec."""

    made: Any
    name: str


def _make(spec: str, methods: tuple[str, ...]) -> _Made:
    """Make what a spec describes: an agent, or any object that has one of the `methods`."""
    if not isinstance(spec, str) or not spec.strip():
        form = "an agent spec is name[:key=value,…], such as 'greedy', or module:object"
        raise ValueError(f"{form}, not {checks.shown(spec)}")
    if any("\ud800" <= letter <= "\udfff" for letter in spec):  # as of bytes that the locale cannot decode
        raise ValueError(
            f"agent spec {checks.shown(spec)} is not text: records and stores cannot keep it; try PYTHONUTF8=1"
        )
    name, options = _named(_not_too_long(spec).strip())
    found = _loaded(name)
    if callable(found) and (isinstance(found, type) or not _has(found, methods)):
        parameters = _parameters(found)
        values = _option_values(parameters, {} if options is None else _options(options, spec), name)
        changed = {key: values[key] for key in parameters if key in values and values[key] != parameters[key].default}
        full_name = format_spec(name, **changed)
        made = _construct(found, values, name)
    elif options is not None:
        raise ValueError(f"agent {checks.shown(name)} is an object, not a factory: it takes no options")
    else:
        made, full_name = found, name
    if name in _entries() or (not hasattr(made, "name") and _has(made, AGENTS)):
        with contextlib.suppress(AttributeError):  # a class whose name cannot be set
            made.name = full_name
    if not isinstance(made, Agent) and not _has(made, methods[1:]):
        lacks = "lacks `act`" if methods == AGENTS else f"has none of {', '.join(f'`{method}`' for method in methods)}"
        hint = "; an evaluator plays as search:value=[…]" if hasattr(made, "values") else ""
        shown = checks.shown(full_name)
        raise ValueError(f"{shown} makes a {type(made).__name__}, which is not an agent: it {lacks}{hint}")
    return _Made(made, full_name)


def _not_too_long(spec: str) -> str:
    if len(spec) > MAX_LENGTH or spec.count("[") > MAX_NESTED:
        allowed = f"at most {MAX_LENGTH} characters and {MAX_NESTED} pairs of brackets are allowed"
        raise ValueError(f"agent spec {checks.shown(spec)} is too long; {allowed}")
    return spec


def _has(found: Any, methods: tuple[str, ...]) -> bool:
    return any(hasattr(found, method) for method in methods)


def _named(spec: str) -> tuple[str, str | None]:
    """The name or `module:object` of a spec, and the text of its options, None without a colon."""
    own = OWN.fullmatch(spec)
    if own and own["name"].partition(":")[0] not in _entries():
        return own["name"], own["options"]
    name, colon, options = spec.partition(":")
    return name, options if colon else None


@functools.cache
def _entries() -> dict[str, EntryPoint]:
    """The installed agents by name. Looking them up takes 10 ms, so it is done once."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry)
    return found


def _loaded(name: str) -> Any:
    """The factory of a name, or the object at `module:object`."""
    entries = _entries()
    if name not in entries and ":" not in name:
        known = _listed(sorted(entries)) or f"none installed (entry points of {GROUP!r})"
        near = difflib.get_close_matches(name.lower(), entries, n=1)
        meant = f"; did you mean {near[0]!r}? There are" if near else "; there are"
        raise ValueError(f"no agent is named {checks.shown(name)}{meant} {known}; your own agent is module:object")
    try:
        return entries.get(name, EntryPoint(name, name, GROUP)).load()
    except (Exception, SystemExit) as error:  # importing runs the module's code
        reason = f"agent {checks.shown(name)} cannot be imported: {describe_error(error)}"
        raise ValueError(checks.message(reason)) from error


def _construct(factory: Callable[..., Any], values: dict[str, Any], name: str) -> Any:
    """Call a factory. Its ValueErrors of one line that is not too long pass: they say what is wrong with the values."""
    try:
        return factory(**{key: value.made if isinstance(value, _Made) else value for key, value in values.items()})
    except (Exception, SystemExit) as error:
        described = describe_error(error)
        if isinstance(error, ValueError) and described == f"{type(error).__name__}: {error}":
            raise
        raise ValueError(checks.message(f"agent {checks.shown(name)} cannot be made: {described}")) from error


# --- options ---


def _parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The factory's options: its parameters that accept keywords, with their annotations evaluated."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    try:
        parameters = dict(inspect.signature(factory, eval_str=True).parameters)
    except Exception:  # some names exist for type checkers only
        names = vars(sys.modules[factory.__module__])
        try:
            known = inspect.signature(factory).parameters.items()
        except ValueError:  # a class in C that does not tell
            return {}
        parameters = {name: _evaluated(parameter, names) for name, parameter in known}
    return {name: parameter for name, parameter in parameters.items() if parameter.kind in by_name}


def _evaluated(parameter: inspect.Parameter, names: dict[str, Any]) -> inspect.Parameter:
    """The parameter with its annotation evaluated; without one if that fails: then the type of its default has to do."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, dict(names))  # as `inspect.signature` does; the module is being run anyway
        except Exception:
            annotation = parameter.empty
    return parameter.replace(annotation=annotation)


def _options(text: str, spec: str) -> dict[str, str]:
    """The texts of the options after a spec's colon, by key."""
    options: dict[str, str] = {}
    parts = _split(text)
    if not parts:
        raise ValueError(f"agent spec {checks.shown(spec)} has unbalanced brackets")
    for part in parts:
        key, _, value = map(str.strip, part.partition("="))
        if not (key and value):
            raise ValueError(f"agent spec {checks.shown(spec)}: {checks.shown(part)} is not of the form key=value")
        if key in options:
            raise ValueError(f"agent spec {checks.shown(spec)} gives {checks.shown(key)} twice")
        options[key] = value
    return options


def _split(text: str) -> list[str]:
    """`text` split at the commas outside brackets; empty if the brackets are no pairs."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [] if depth else parts


def _option_values(parameters: dict[str, inspect.Parameter], texts: dict[str, str], name: str) -> dict[str, Any]:
    """The values of the options in a spec, by key; `_Made` for those that take agents. Raises ValueError."""
    for key in texts:
        if key not in parameters:
            takes = f"its options are {_listed(parameters)}" if parameters else "it has none"
            raise ValueError(f"agent {checks.shown(name)} has no option {checks.shown(key)}; {takes}")
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in texts:
            example = checks.one_line(f"{name}:{key}=…")
            raise ValueError(f"agent {checks.shown(name)} needs the option {checks.shown(key)}, as in '{example}'")
    where = f"of agent {checks.shown(name)}"
    return {key: _value(text, parameters[key], f"option {checks.shown(key)} {where}") for key, text in texts.items()}


def _value(text: str, parameter: inspect.Parameter, what: str) -> Any:
    """The value of an option by its annotation, or else by the type of its default; `_Made` for an agent.

    Where the annotation names a class with a method `values`, as evaluators have, objects with such a method are allowed too.
    """
    annotation: Any = parameter.annotation
    if annotation is parameter.empty:
        default = parameter.default
        annotation = str if default is None or default is parameter.empty else type(default)
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    kinds = typing.get_args(annotation) if is_union else (annotation,)
    plain, inner = [kind for kind in kinds if kind in TEXTS], _without_brackets(text)
    if plain:
        allowed: Any = typing.Union[tuple(plain)]  # noqa: UP007 - `|` takes no tuple
        try:
            return TypeAdapter(allowed).validate_python(inner)
        except ValidationError:
            takes = " or ".join(TEXTS[kind] for kind in plain)
            raise ValueError(f"{what} is {checks.shown(text)}; it takes {takes}") from None
    if inner == text:
        raise ValueError(f"{what} is {checks.shown(text)}; it takes an agent in brackets, as [planner-v1]")
    return _make(inner, EVALUATORS if any(hasattr(kind, "values") for kind in kinds) else AGENTS)


def _without_brackets(text: str) -> str:
    """The text between brackets that enclose the whole of it; the text itself if there are none."""
    enclosed = text.startswith("[") and text.endswith("]") and _split(text[1:-1])
    return text[1:-1].strip() if enclosed else text


def _listed(names: Iterable[str]) -> str:
    return checks.one_line(", ".join(names), MAX_LISTED)
