"""Blocks of a page that are generated.

A generated block stands between two comments and is replaced as a whole:

    <!-- generated: agents -->
    …
    <!-- end -->
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from bombay_env import checks
from bombay_env.agent import describe_error

BLOCK: Final = re.compile(
    r"^<!-- generated: (?P<name>[\w-]+) -->\n(?P<text>.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE
)


def block_names(text: str) -> list[str]:
    """The names of the generated blocks in a page, in order."""
    return [found["name"] for found in BLOCK.finditer(text)]


def fill(text: str, blocks: Mapping[str, Callable[[], str]], where: object) -> str:
    """The page with all its generated blocks replaced.

    Args:
        text: the page.
        blocks: what makes a block, by name.
        where: the page's name, for errors.
    Raises:
        ValueError: a block has an unknown name or no end, or the data that it is made of lacks something.
    """

    def made(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in blocks:
            raise ValueError(f"{where} has a generated block {name!r}; there are {', '.join(sorted(blocks))}")
        try:
            made = blocks[name]()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(
                checks.message(f"{where}: block {name!r} cannot be made: {describe_error(error)}")
            ) from error
        return f"<!-- generated: {name} -->\n{made}\n<!-- end -->"

    if text.count("<!-- generated: ") != len(block_names(text)):
        raise ValueError(f"{where} has a generated block that does not end with a line <!-- end -->")
    return BLOCK.sub(made, text)
