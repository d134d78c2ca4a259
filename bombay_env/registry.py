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
import importlib
import inspect
import numbers
import operator
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bombay_env import checks
from bombay_env.agent import Agent, describe_error, name_of

GROUP = "bombay_env.agents"
Factory = TypeVar("Factory", bound=Callable[..., Any])
MAX_LENGTH = 10_000  # characters of a spec
MAX_NESTED = 20  # agents in brackets in a spec
MAX_LISTED = 250  # characters of a list of names in an error message
OWN = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<object>[^\W\d][\w.]*)(?::(?P<options>.*))?", re.DOTALL)
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


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
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return f"{float(value):.0f}" if float(value).is_integer() else repr(float(value))
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        written = text if text and "," not in text and not text.startswith("[") else f"[{text}]"
    else:
        text = name_of(value)
        written = f"[{text}]"
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
    return _make(spec, ("act",)).made  # type: ignore[no-any-return]


def canonical(spec: str) -> str:
    """The one form of an agent's spec: without options at their defaults, the others in the factory's order. Raises as `make`."""
    return _make(spec, ("act",)).name


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
    name, factory, options = _resolve(_not_too_long(spec).strip(), methods)
    if not isinstance(factory, type) and _has(factory, methods):
        if options is not None:
            raise ValueError(f"agent {checks.shown(name)} is an object, not a factory: it takes no options")
        return _Made(_checked(factory, name, methods), name)
    values = _option_values(factory, options, spec, name)
    canonical = _canonical(factory, name, values)
    plain = {key: value.made if isinstance(value, _Made) else value for key, value in values.items()}
    made = _checked(_construct(factory, plain, name), canonical, methods)
    if name in _entries():
        with contextlib.suppress(AttributeError):  # a class whose name cannot be set
            made.name = canonical
    return _Made(made, canonical)


def _not_too_long(spec: str) -> str:
    if len(spec) > MAX_LENGTH or spec.count("[") > MAX_NESTED:
        allowed = f"at most {MAX_LENGTH} characters and {MAX_NESTED} pairs of brackets are allowed"
        raise ValueError(f"agent spec {checks.shown(spec)} is too long; {allowed}")
    return spec


def _has(found: Any, methods: tuple[str, ...]) -> bool:
    return any(hasattr(found, method) for method in methods)


def _canonical(factory: Callable[..., Any], name: str, values: dict[str, Any]) -> str:
    """The spec of a factory: the options that differ from their defaults, in the order of the factory's parameters."""
    parameters = _parameters(factory)
    changed = {key: values[key] for key in parameters if key in values and values[key] != parameters[key].default}
    return format_spec(name, **changed)


def _option_values(factory: Callable[..., Any], options: str | None, spec: str, name: str) -> dict[str, Any]:
    """The values of the options in a spec, by key; `_Made` for those in brackets. Raises ValueError."""
    texts = {} if options is None else _options(options, spec)
    parameters = _parameters(factory)
    for key in texts:
        if key not in parameters:
            takes = f"its options are {_listed(parameters)}" if parameters else "it has none"
            raise ValueError(f"agent {checks.shown(name)} has no option {checks.shown(key)}; {takes}")
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in texts:
            example = checks.one_line(f"{name}:{key}=…")
            raise ValueError(f"agent {checks.shown(name)} needs the option {checks.shown(key)}, as in '{example}'")
    where = f"of agent {checks.shown(name)}"
    return {key: _parse(text, parameters[key], f"option {checks.shown(key)} {where}") for key, text in texts.items()}


def _resolve(spec: str, methods: tuple[str, ...]) -> tuple[str, Any, str | None]:
    """The name in a spec, its factory or object, and the text of its options, None without a colon."""
    name, options = _named(spec)
    module, own, path = name.partition(":")
    return name, _own_object(module, path, methods) if own else _factory(name), options


def _named(spec: str) -> tuple[str, str | None]:
    """The name or `module:object` of a spec, and the text of its options, None without a colon."""
    own = OWN.fullmatch(spec)
    if own and own["module"] not in _entries():
        return f"{own['module']}:{own['object']}", own["options"]
    name, colon, options = spec.partition(":")
    return name, options if colon else None


def _construct(factory: Callable[..., Any], values: dict[str, Any], name: str) -> Any:
    """Call a factory. Its ValueErrors of one line that is not too long pass: they say what is wrong with the values."""
    try:
        return factory(**values)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, too
        if isinstance(error, ValueError) and _is_message(error):
            raise
        raise ValueError(
            checks.message(f"agent {checks.shown(name)} cannot be made: {describe_error(error)}")
        ) from error


def _is_message(error: Exception) -> bool:
    """Whether the error has a text that can be shown as it is."""
    try:
        message = str(error)
    except Exception:  # of a class with a faulty `__str__`
        return False
    return bool(message) and message == checks.message(message)


def _checked(agent: Any, name: str, methods: tuple[str, ...]) -> Any:
    """The agent, named by its spec if it has no name, or ValueError if it is no agent and has none of the other methods."""
    if callable(getattr(agent, "act", None)) and not hasattr(agent, "name"):
        with contextlib.suppress(AttributeError):  # a class with slots; it has the name of its class
            agent.name = name
    if not isinstance(agent, Agent) and not _has(agent, methods[1:]):
        lacks = "lacks `act`" if len(methods) == 1 else f"has none of {', '.join(f'`{one}`' for one in methods)}"
        hint = "; an evaluator plays as search:value=[…]" if hasattr(agent, "values") else ""
        raise ValueError(
            f"{checks.shown(name)} makes a {type(agent).__name__}, which is not an agent: it {lacks}{hint}"
        )
    return agent


def _own_object(module: str, path: str, methods: tuple[str, ...]) -> Any:
    """The object at a dotted path in a module: callable, or with one of the `methods`."""
    name = checks.shown(f"{module}:{path}")
    try:
        found = operator.attrgetter(path)(importlib.import_module(module))
    except AttributeError as error:
        raise ValueError(checks.message(f"agent {name} does not exist: {describe_error(error)}")) from error
    except (Exception, SystemExit) as error:  # importing runs the module's code
        raise ValueError(checks.message(f"agent {name} cannot be imported: {describe_error(error)}")) from error
    if not callable(found) and not _has(found, methods):
        raise ValueError(f"{name}, of type {type(found).__name__}, is not an agent: it lacks `act`")
    return found


@functools.cache
def _entries() -> dict[str, EntryPoint]:
    """The installed agents by name. Looking them up takes 10 ms, so it is done once."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry)
    return found


def _factory(name: str) -> Callable[..., Any]:
    entries = _entries()
    if name not in entries:
        known = _listed(sorted(entries)) or f"none installed (entry points of {GROUP!r})"
        near = difflib.get_close_matches(name.lower(), entries, n=1)
        meant = f"; did you mean {near[0]!r}? There are" if near else "; there are"
        raise ValueError(f"no agent is named {checks.shown(name)}{meant} {known}; your own agent is module:object")
    try:
        return entries[name].load()  # type: ignore[no-any-return]
    except (Exception, SystemExit) as error:  # importing runs the module's code
        reason = checks.message(f"agent {name!r} ({entries[name].value}) cannot be loaded: {describe_error(error)}")
        raise ValueError(reason) from error


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
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not (key and equals and value):
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


def _parse(text: str, parameter: inspect.Parameter, what: str) -> Any:
    """The value of `text` by the option's annotation, or else by the type of its default; `_Made` for one in brackets.

    Where the annotation names a class with a method `values`, as evaluators have, objects with such a method are allowed too.
    """
    kinds = _types(parameter)
    plain = [kind for kind in kinds if kind in TYPE_NAMES]
    if str in plain:
        return _without_brackets(text)
    if _is_bracketed(text):
        if plain:
            raise ValueError(f"{what} takes {_names(plain)}, not the agent {checks.one_line(text)}")
        takes_evaluators = any(hasattr(kind, "values") for kind in kinds)
        return _make(text[1:-1], ("act", "values", "evaluator") if takes_evaluators else ("act",))
    for kind in plain:
        try:
            return TRUTH[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError):
            continue
    takes = _names(plain) if plain else "an agent in brackets, as [planner-v1]"
    raise ValueError(f"{what} is {checks.shown(text)}; it takes {takes}")


def _without_brackets(text: str) -> str:
    """The text between brackets that enclose the whole of it; the text itself if there are none."""
    return text[1:-1].strip() if _is_bracketed(text) else text


def _is_bracketed(text: str) -> bool:
    """Whether a pair of brackets encloses the whole text."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth == 0:
            return place > 0 and place == len(text) - 1
    return False


def _listed(names: Iterable[str]) -> str:
    return checks.one_line(", ".join(names), MAX_LISTED)


def _names(kinds: list[Any]) -> str:
    return " or ".join(TYPE_NAMES[kind] for kind in kinds)


def _types(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """The types that an option may have, without None."""
    annotation: Any = parameter.annotation
    if annotation is parameter.empty:
        known = parameter.default is not parameter.empty and parameter.default is not None
        annotation = type(parameter.default) if known else str
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    kinds = typing.get_args(annotation) if is_union else (annotation,)
    return tuple(kind for kind in kinds if kind is not types.NoneType)
