"""Run the Python blocks of Markdown pages in this process: `python page_examples.py PAGE…`.

Every block starts from nothing, as a reader copies it. A block whose library is not installed is named and left out. The first
block that fails ends the program with a traceback that names the page and the line.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

OPTIONAL = {"pyspiel", "sb3_contrib", "torch"}  # libraries of extras


def blocks(page: Path) -> Iterator[tuple[int, str]]:
    """The Python blocks of a page with the numbers of their first lines."""
    text = page.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, found.start()) + 2, found[1]


def main(pages: list[str]) -> None:
    """Run all blocks of the pages and print what was run."""
    for page in map(Path, pages):
        for line, source in blocks(page):
            code = compile("\n" * (line - 1) + source, page, "exec")
            try:
                exec(code, {"__name__": "__main__"})
            except ModuleNotFoundError as error:
                if error.name not in OPTIONAL:
                    raise
                print(f"left out: {page.name}, line {line} (needs {error.name})")
            else:
                print(f"ran: {page.name}, line {line}")


if __name__ == "__main__":
    main(sys.argv[1:])
