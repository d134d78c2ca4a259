"""The table of other people's trainers and tools that were run: from the scripts in tests/trainers and their last results."""

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

from bombay_training.rich_tables import markdown_table

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "tests" / "trainers"
RESULTS: Final = ROOT / "docs" / "data" / "trainers.json"
GLUE: Final = re.compile(r"^ *# glue\n(.*?)^ *# end of glue$", re.DOTALL | re.MULTILINE)


class Script(NamedTuple):
    """A script that runs another project's code."""

    what: str  # the first line of its docstring
    version: str  # of the package that it runs, or the commit where the script is not part of a package
    glue: int  # lines that a user writes or changes for Bombay, without blank lines and comments


def read(text: str) -> Script:
    """What a script says of itself."""
    what = re.findall(r'^"""(.*?)[.:]?(?:\n|""")', text, re.MULTILINE)[0]
    commit = re.search(r'"([0-9a-f]{40})"', text)
    version = commit[1][:7] if commit else re.findall(r'"([\w.\[\]-]+==[\w.+]+)"', text)[0].replace("==", " ")
    lines = [line.strip() for block in GLUE.findall(text) for line in block.splitlines()]
    return Script(what, version, sum(bool(line) and not line.startswith("#") for line in lines))


def scripts() -> dict[str, Script]:
    """All scripts, by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
    return {name: read(text) for name, text in texts.items() if text.startswith("# /// script\n")}


def table() -> str:
    """What each runs, on which version, with how many lines of glue, and what came out."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = [
        [f"[{what}](../tests/trainers/{name}.py)", version, glue, results[name]["result"]]
        for name, (what, version, glue) in scripts().items()
    ]
    columns = ["what runs", "version", "glue lines", "result"]
    made = markdown_table(columns, rows, left=(columns[0], columns[1], columns[3]))
    return f"{made}\n\nThe results are of {max(result['date'] for result in results.values())} or earlier, each of one run."
