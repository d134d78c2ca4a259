"""The options of a command that trains: one for every setting of its learner, made from the class of the settings."""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bombay_env.checks import shown
from bombay_env.files.forms import allowed
from bombay_training.cli.inputs import player_counts
from bombay_training.learners.runs.settings import RunSettings

PANEL: Final = "Settings of the learner"


def options_of(settings_class: type[RunSettings]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for every field of the settings that is not among its own parameters.

    The command receives their values as `**options`. Type, default, help and limits of an option are those of the field.
    """

    def add(command: Callable[..., None]) -> Callable[..., None]:
        *own, _ = inspect.signature(command).parameters.values()  # without `options`
        named, types = {one.name for one in own}, typing.get_type_hints(settings_class)
        fields = [field for field in dataclasses.fields(settings_class) if field.name not in named]
        signature = inspect.Signature([*own, *(_option(field, types[field.name]) for field in fields)])
        command.__signature__ = signature  # type: ignore[attr-defined]
        return command

    return add


def _option(field: dataclasses.Field[Any], kind: Any) -> inspect.Parameter:
    """The parameter of a command for a field. A list of numbers is given as in 128,64."""
    default, parser = field.default, None
    if isinstance(default, tuple):
        kind, default, parser = str, ",".join(map(str, default)), _whole_numbers
    help = f"{field.metadata['sentence']} Allowed: {allowed(field)}."
    annotation = Annotated[kind, typer.Option(help=help, parser=parser, rich_help_panel=PANEL)]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _whole_numbers(text: str) -> tuple[int, ...]:
    """The numbers in 128,64; none in an empty text. Raises typer.BadParameter for anything else."""
    try:
        return tuple(int(part) for part in text.split(",") if text)
    except ValueError:
        raise typer.BadParameter(f"{shown(text)} is no list of whole numbers, such as 128,64") from None


def settings_from(options: Mapping[str, Any], players: str, board: Path | None) -> dict[str, Any]:
    """The fields of the settings that a command was given."""
    return {**options, "players": player_counts(players), "board": str(board) if board else None}
