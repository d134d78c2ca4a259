"""The page on the rules in plain words, from `bombay_env.text`."""

from bombay_env import MAX_PLAYERS, MIN_PLAYERS, Game, Rules
from bombay_env.text import describe_board, describe_rules

PLAYERS = 4

PAGE = """# The rules

![The board of Bombay](board.svg)

The rules for {players} players in plain words, written by `make pages` from `bombay_env.text.describe_rules`. Language models and
the page of `bombay play` show the same text. [The specification](../bombay_env/RULES.md) has the special cases.

{sections}

## Trails

A move costs 1 action, unless another number stands in brackets after the site.

```
{trails}
```
{others}
"""


def page() -> str:
    """The rules of the official game as Markdown: in full for `PLAYERS`, and what differs for other numbers of players."""
    text = {count: describe_rules(Game(Rules.official(count))) for count in range(MIN_PLAYERS, MAX_PLAYERS + 1)}
    lines = text[PLAYERS].splitlines()
    others = ""
    for count, other in text.items():
        different = [line.removeprefix("- ") for line in other.splitlines()[1:] if line not in lines]
        if different:
            others += f"\n## Different for {count} players\n\n" + "\n".join(f"- {line}" for line in different) + "\n"
    sections = text[PLAYERS].partition("\n\n")[2]
    trails = describe_board(Game(Rules.official(PLAYERS)))
    return PAGE.format(players=PLAYERS, sections=sections, trails=trails, others=others.rstrip())
