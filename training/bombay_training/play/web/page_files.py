"""The files of the page: HTML, style and ES modules, which the server sends one by one and a saved game holds in one."""

import functools
import re
from importlib import resources
from typing import Final

HTML: Final = "page.html"
STYLE: Final = "page.css"
MAIN: Final = "main.js"
_IMPORT: Final = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=async|const|function)", re.MULTILINE)


@functools.cache
def texts() -> dict[str, str]:
    """The text of each file, by its name."""
    folder = resources.files("bombay_training.play.web").joinpath("page")
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def joined(name: str = MAIN) -> str:
    """A module and those that it imports as one script, each after what it imports.

    A file from a disk cannot import modules. All names share one scope then: no two modules declare the same one.
    """
    return "\n".join(_without_imports(texts()[module]) for module in _order(name, []))


def _order(name: str, before: list[str]) -> list[str]:
    for imported in _IMPORT.findall(texts()[name]):
        _order(imported, before)
    if name not in before:
        before.append(name)
    return before


def _without_imports(text: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub("", text))
