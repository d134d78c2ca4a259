"""Tables of the settings of learners, from the fields of their classes."""

import dataclasses

from bombay_env.files.forms import allowed
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.rich_tables import markdown_table


def table(settings_class: type[RunSettings], base: type[RunSettings] | None = None) -> str:
    """A row for each field that is not as in `base`, whose table stands elsewhere."""
    known = dataclasses.fields(base) if base else ()
    rows = [
        [f"`{field.name}`", _code(field.default), allowed(field), field.metadata["sentence"]]
        for field in dataclasses.fields(settings_class)
        if field not in known
    ]
    return markdown_table(["name", "default", "allowed", "meaning"], rows, left=("name", "allowed", "meaning"))


def _code(default: object) -> str:
    text = ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    return f"`{text}`" if text and default is not None else "–"
