"""The table of other people's trainers and tools that were run: from the scripts in tests/trainers and their last results."""

import dataclasses
import json
import re
from pathlib import Path
from typing import Final

from bombay_training.rich_tables import markdown_table

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "tests" / "trainers"
RESULTS: Final = ROOT / "docs" / "data" / "trainers.json"
GLUE: Final = re.compile(r"^ *# glue\n(.*?)^ *# end of glue$", re.DOTALL | re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Script:
    """A script that runs another project's code.

    Args:
        what: the first line of its docstring.
        version: the package that it runs, or the commit where the script is not part of a package.
        glue: lines that a user writes or changes for Bombay, without blank lines and comments.
    """

    what: str
    version: str
    glue: int


def read(path: Path) -> Script:
    """What a script says of itself."""
    text = path.read_text(encoding="utf-8")
    what = re.search(r'^"""(.*?)[.:]?(?:\n|""")', text, re.MULTILINE)
    if what is None:
        raise ValueError(f"{path} has no docstring")
    commit = re.search(r'"([0-9a-f]{40})"', text)
    version = commit[1][:7] if commit else re.findall(r'"([\w.\[\]-]+==[\w.+]+)"', text)[0].replace("==", " ")
    lines = [line.strip() for block in GLUE.findall(text) for line in block.splitlines()]
    return Script(what[1], version, sum(bool(line) and not line.startswith("#") for line in lines))


def scripts() -> dict[str, Script]:
    """All scripts, by name."""
    return {path.stem: read(path) for path in FOLDER.glob("*.py") if path.read_text().startswith("# /// script\n")}


def table() -> str:
    """What each runs, on which version, with how many lines of glue, and what came out."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = [
        [
            f"[{script.what}](../tests/trainers/{name}.py)",
            script.version,
            str(script.glue),
            results[name]["result"],
        ]
        for name, script in sorted(scripts().items())
    ]
    made = markdown_table(
        ["what runs", "version", "glue lines", "result"], rows, left=["what runs", "version", "result"]
    )
    return f"{made}\n\nThe results are of {max(result['date'] for result in results.values())} or earlier, each of one run."
