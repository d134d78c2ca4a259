"""README, pages, notebooks and examples import public names only: those of the three packages' pages in docs/api."""

import ast
import importlib
import json
import re

import pytest

from helpers import ROOT

PACKAGES = {name: importlib.import_module(name) for name in ("bombay_env", "bombay_agents", "bombay_training")}
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").glob("*.md") if path.name != "changelog.md")]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# `exec_revision.py` runs in the environment of another revision, which may have other public names.
EXAMPLES = sorted(path for path in (ROOT / "training" / "examples").glob("*.py") if path.name != "exec_revision.py")


def sources(path):
    """The Python programs in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [text]
    if path.suffix == ".md":
        return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]


def imported(source):
    """Module and name of everything that a program imports from the three packages; the name is None for a whole module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS, *EXAMPLES], ids=lambda path: path.name)
def test_only_public_names_are_imported(path):
    found = {pair for source in sources(path) for pair in imported(source) if pair[0].split(".")[0] in PACKAGES}
    for module, name in found:
        assert module in PACKAGES, f"{module} is behind the public names"
        assert name is None or name in PACKAGES[module].__all__, f"{module} has no public name {name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_on_the_packages_page(package):
    page = (ROOT / "docs" / "api" / f"{package}.rst").read_text(encoding="utf-8")
    listed = set(re.findall(rf"{package}\.(\w+)", page))
    assert listed == {name for name in PACKAGES[package].__all__ if name != "__version__"}
