"""Players by name: `make("greedy")`, `make("net:path=runs/a.safetensors,sample=true")`.

    spec    = name [":" options] | module ":" object [":" options]
    options = key "=" value {"," key "=" value}
    value   = text without commas, or "[" spec "]" for an agent inside an agent

A spec is split at its first colon and an option at its first `=`; commas inside brackets split nothing. `my_agent:MyAgent` is an
agent of one's own: an importable object with `act`, or a class or function that makes one. It is told from options by having no
`=` before the next colon, and from a known name by not being one. Names are those of the
entry-point group `bombay_env.agents`, so an installed package can add its own; what a name stands for is a factory, and its
signature says which options there are and what type each has. This module knows no agent, so that environments can take
opponents by name while `bombay_env` imports no player.
"""

import contextlib
import importlib
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from bombay_env.agent import Agent

GROUP = "bombay_env.agents"
OWN = re.compile(r"(?P<module>[^\W\d][\w.]*):(?P<object>[^\W\d][\w.]*)(?::(?P<options>.*))?")
TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def agent_names() -> list[str]:
    """The names that `make` knows, sorted."""
    return sorted(_entries())


def make(spec: str) -> Agent:
    """The agent that `spec` describes.

    Raises:
        ValueError: the spec is malformed, a name or an option is unknown, a value is not what the option takes, or the
            agent cannot be imported or made; one line that says what is wrong and what is allowed.
    """
    if not isinstance(spec, str) or not spec.strip():
        raise ValueError(f"an agent spec is name[:key=value,…], such as 'greedy', or module:object, not {spec!r}")
    name, factory, options = _resolve(spec.strip())
    if not isinstance(factory, type) and hasattr(factory, "act"):
        if options is not None:
            raise ValueError(f"agent {name!r} is an object, made already: it takes no options")
        return _checked(factory, name)
    texts = {} if options is None else _options(options, spec)
    parameters = _parameters(factory)
    for key in texts:
        if key not in parameters:
            takes = f"its options are {', '.join(parameters)}" if parameters else "it has none"
            raise ValueError(f"agent {name!r} has no option {key!r}; {takes}")
    for key, parameter in parameters.items():
        if parameter.default is parameter.empty and key not in texts:
            raise ValueError(f"agent {name!r} needs the option {key!r}, as in '{name}:{key}=…'")
    values = {key: _parse(text, parameters[key], f"option {key!r} of agent {name!r}") for key, text in texts.items()}
    return _checked(_made(factory, values, name), name)


def _resolve(spec: str) -> tuple[str, Any, str | None]:
    """What a spec names, the factory or object it stands for, and its options as they are written, None without a colon."""
    own = OWN.fullmatch(spec)
    if own and own["module"] not in _entries():
        return f"{own['module']}:{own['object']}", _own_object(own["module"], own["object"]), own["options"]
    name, colon, options = spec.partition(":")
    return name, _factory(name), options if colon else None


def _made(factory: Callable[..., Any], values: dict[str, Any], name: str) -> Any:
    """What a factory makes; a ValueError of one line is taken to say what is wrong with the values."""
    try:
        return factory(**values)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a factory does
        if isinstance(error, ValueError) and len(str(error).splitlines()) == 1:
            raise
        raise ValueError(f"agent {name!r} cannot be made: {_line(error)}") from error


def _checked(agent: Any, name: str) -> Agent:
    """An agent, called by its spec if it has no name of its own."""
    if callable(getattr(agent, "act", None)) and not hasattr(agent, "name"):
        with contextlib.suppress(AttributeError):  # it has slots: it is told below that it lacks a name
            agent.name = name
    if not isinstance(agent, Agent):
        raise ValueError(f"what {name!r} makes, a {type(agent).__name__}, is no agent: it lacks `name` or `act`")
    return agent


def _own_object(module: str, path: str) -> Any:
    """What stands under a name in a module."""
    try:
        found = operator.attrgetter(path)(importlib.import_module(module))
    except AttributeError as error:
        raise ValueError(f"agent {module + ':' + path!r} is not there: {error}") from error
    except (Exception, SystemExit) as error:  # whatever a module does when it is imported
        raise ValueError(f"agent {module + ':' + path!r} cannot be imported: {_line(error)}") from error
    if not callable(found) and not hasattr(found, "act"):
        raise ValueError(f"{module + ':' + path!r}, of type {type(found).__name__}, is no agent: it lacks `act`")
    return found


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _entries() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry)
    return found


def _factory(name: str) -> Callable[..., Any]:
    entries = _entries()
    if name not in entries:
        there = ", ".join(sorted(entries)) or f"none installed (entry points of {GROUP!r})"
        raise ValueError(f"no agent is named {name!r}; there are {there}; one of your own is module:object")
    try:
        return entries[name].load()  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise ValueError(f"agent {name!r} ({entries[name].value}) cannot be loaded: {error}") from error


def _parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The factory's options: its parameters that can be given by name, with their annotations as types."""
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(factory, eval_str=True).parameters
    return {name: parameter for name, parameter in parameters.items() if parameter.kind in by_name}


def _options(text: str, spec: str) -> dict[str, str]:
    """The options after a spec's colon, by key, as they are written."""
    options: dict[str, str] = {}
    for part in _split(text, spec):
        key, equals, value = part.partition("=")
        key, value = key.strip(), value.strip()
        if not (key and equals and value):
            raise ValueError(f"agent spec {spec!r}: {part!r} is not of the form key=value")
        if key in options:
            raise ValueError(f"agent spec {spec!r} gives {key!r} twice")
        options[key] = value
    return options


def _split(text: str, spec: str) -> list[str]:
    """`text` split at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    if depth != 0:
        raise ValueError(f"agent spec {spec!r} has brackets that do not match")
    return parts


def _parse(text: str, parameter: inspect.Parameter, what: str) -> Any:
    """The value that `text` stands for, by the type the option is annotated with, or else has by default."""
    kinds = _kinds(parameter)
    plain = [kind for kind in kinds if kind in KINDS]
    if str in plain:
        return text
    if text.startswith("[") and text.endswith("]"):
        if plain:
            raise ValueError(f"{what} takes {_told(plain)}, not the agent {text}")
        return make(text[1:-1])
    for kind in plain:
        try:
            return TRUTH[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError):
            continue
    raise ValueError(f"{what} is {text!r}; it takes {_told(plain) if plain else 'an agent in brackets, as [planner]'}")


def _told(kinds: list[Any]) -> str:
    return " or ".join(KINDS[kind] for kind in kinds)


def _kinds(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """The types that an option may have, None aside."""
    annotation: Any = parameter.annotation
    if annotation is parameter.empty:
        known = parameter.default is not parameter.empty and parameter.default is not None
        annotation = type(parameter.default) if known else str
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    kinds = typing.get_args(annotation) if is_union else (annotation,)
    return tuple(kind for kind in kinds if kind is not types.NoneType)
