"""Which documents are generated: whole pages, and marked blocks in pages that people write."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from bombay_training.learners.runs import RunSettings
from bombay_training.learners.train import SETTINGS
from docs.generate import agents, commands, fairness, league, markdown, picture, rules, spaces, speed, tables, trainers


def blocks(docs: Path) -> dict[str, Callable[[], str]]:
    """What makes the block of each name, from the results in the folder `docs`."""
    data = docs / "data"
    return {
        "facts": agents.facts,
        "strength": league.strength,
        "commands": commands.reference,
        "agents": agents.agents_table,
        "agent-options": agents.options_table,
        "settings": partial(tables.settings, RunSettings),
        **{f"settings-{name}": partial(tables.settings, kind, kind.__base__) for name, kind in SETTINGS.items()},
        "rows": tables.rows,
        "trainers": trainers.table,
        "tracks": partial(tables.tracks, data / "tracks"),
        **{f"fairness-{name}": partial(table, docs / "balance") for name, table in fairness.TABLES.items()},
        "speed": partial(speed.speed, data),
        "speed-all": partial(speed.speed_all, data),
        "cold-start": partial(speed.first_use, data),
    }


def generated(docs: Path) -> dict[Path, str]:
    """The text of every document that is generated in whole or in part, as it should be.

    Args:
        docs: the folder of documents; README.md and the agents' package stand beside it.
    Raises:
        ValueError: a page has a block with an unknown name or without an end.
        OSError: a page or a file of results cannot be read.
    """
    texts = {
        docs / "rules.md": rules.page(),
        docs / "spaces.md": spaces.page(),
        docs / "leaderboard.md": league.page(),
        docs / "board.svg": picture.page(),
    }
    made = blocks(docs)
    cards = docs.parent / "agents" / "bombay_agents" / "weights"
    for page in [docs.parent / "README.md", *sorted(docs.glob("*.md")), *sorted(cards.glob("*.md"))]:
        if page not in texts and page.exists():
            texts[page] = markdown.fill(page.read_text(encoding="utf-8"), made, page)
    return texts


def outdated(docs: Path) -> dict[Path, str]:
    """Those of the generated documents that differ from their files, with the text they should have."""
    return {
        page: text
        for page, text in generated(docs).items()
        if not page.exists() or page.read_text(encoding="utf-8") != text
    }
