"""Blocks of a page that are generated.

A generated block stands between two comments and is replaced as a whole:

    <!-- generated: agents -->
    …
    <!-- end -->
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

BLOCK: Final = re.compile(r"^<!-- generated: ([\w-]+) -->\n.*?^<!-- end -->$", re.DOTALL | re.MULTILINE)


def fill(text: str, blocks: Mapping[str, Callable[[], str]], where: object) -> str:
    """The page with all its generated blocks replaced.

    Args:
        text: the page.
        blocks: what makes a block, by name.
        where: the page's name, for errors.
    Raises:
        ValueError: a block has an unknown name or no end.
    """
    names = BLOCK.findall(text)
    if unknown := set(names) - set(blocks):
        raise ValueError(f"{where} has generated blocks {unknown}; there are {', '.join(sorted(blocks))}")
    if text.count("<!-- generated: ") != len(names):
        raise ValueError(f"{where} has a generated block that does not end with a line <!-- end -->")
    return BLOCK.sub(lambda found: f"<!-- generated: {found[1]} -->\n{blocks[found[1]]()}\n<!-- end -->", text)
