"""Tables of facts that stand in the sources: settings of learners, columns of a store, scores of learning tracks."""

import dataclasses
from pathlib import Path

from bombay_env.files.forms import allowed
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.matches.store import FILE_COLUMNS
from bombay_training.reports import tracks as reports
from bombay_training.rich_tables import markdown_table


def settings(settings_class: type[RunSettings], base: type[RunSettings] | None = None) -> str:
    """A row for each setting of a learner that is not as in `base`, whose table stands elsewhere."""
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


def _in_file(name: str, kind: str) -> str:
    shape, _, base = kind.rpartition(")")
    if name == "agent":
        return "string"
    return f"list of {shape.strip('(,')} {base}" if shape else kind


def rows() -> str:
    """The data dictionary of a store's rows."""
    columns = ["column", "type", "meaning"]
    lines = [[f"`{name}`", _in_file(name, kind), meaning] for name, (kind, meaning) in FILE_COLUMNS.items()]
    return markdown_table(columns, lines, left=columns)


def tracks(folder: Path) -> str:
    """The scores of the learners whose entries are in a folder."""
    return reports.table(reports.summary(reports.read_entries(sorted(folder.glob("*.json")))))
