"""Tables of the project's agents and their options, from the registry: factories' signatures and docstrings."""

import inspect
import re
import types
import typing
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final

from bombay_env import MAX_PLAYERS, MIN_PLAYERS, Game
from bombay_env.registry import GROUP
from bombay_training.rich_tables import markdown_table

TYPES: Final = {int: "whole number", float: "number", bool: "`true` or `false`", str: "text"}


def factories() -> dict[str, Any]:
    """The project's own agents by name: those without scripted knowledge first, then by name."""
    entries = entry_points(group=GROUP)
    found = {entry.name: entry.load() for entry in entries if entry.value.startswith("bombay_agents.")}
    return dict(sorted(found.items(), key=lambda item: (item[1].knowledge != "none", item[1].knowledge, item[0])))


def agents_table() -> str:
    """A row for each agent."""
    rows = []
    for name, factory in factories().items():
        options = ", ".join(f"`{option}`" for option in inspect.signature(factory).parameters)
        rows.append([f"`{name}`", _first_sentence(factory), factory.knowledge, options])
    columns = ["agent", "how it plays", "scripted knowledge", "options"]
    return markdown_table(columns, rows, left=columns)


def facts() -> str:
    """The README's row of facts about the packaged board; agents that need a file or a program are not counted."""
    game = Game()
    options = [inspect.signature(factory).parameters.values() for factory in factories().values()]
    ready = sum(all(option.default is not option.empty for option in each) for each in options)
    return (
        f"{MIN_PLAYERS}–{MAX_PLAYERS} players · {game.num_actions} actions · {game.num_features} features · "
        f"about 160 decisions in a game of four · on a CPU · {ready} agents"
    )


def options_table() -> str:
    """A row for each option of each agent."""
    rows = []
    for name, factory in factories().items():
        meanings = option_meanings(factory)
        for option, parameter in inspect.signature(factory, eval_str=True).parameters.items():
            rows.append([f"`{name}`", f"`{option}`", _type(parameter), _default(parameter), meanings.get(option, "")])
    columns = ["agent", "option", "type", "default", "meaning"]
    return markdown_table(columns, rows, left=columns)


def option_meanings(factory: Callable[..., Any]) -> dict[str, str]:
    """What the section `Args` of a docstring says of each option."""
    section = re.split(r"\n(?=\S)", f"{inspect.getdoc(factory)}".partition("\nArgs:\n")[2])[0]
    found = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section, re.MULTILINE)
    return {option: " ".join(meaning.split()) for option, meaning in found}


def _first_sentence(factory: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, up to its first full stop."""
    paragraph = " ".join((inspect.getdoc(factory) or "").split("\n\n")[0].split())
    return re.split(r"(?<=\w)\. ", paragraph)[0].rstrip(".")


def _type(parameter: inspect.Parameter) -> str:
    is_union = typing.get_origin(parameter.annotation) in (typing.Union, types.UnionType)
    kinds = typing.get_args(parameter.annotation) if is_union else (parameter.annotation,)
    names = (TYPES.get(kind, "agent or evaluator in brackets") for kind in kinds if kind is not types.NoneType)
    return " or ".join(dict.fromkeys(names))


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "required"
    return "" if parameter.default is None else f"`{str(parameter.default).lower()}`"
