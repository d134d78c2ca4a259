"""Which documents are generated: whole pages, and marked blocks in pages that people write."""

import functools
from collections.abc import Callable
from pathlib import Path

from bombay_training.learners.runs import RunSettings
from bombay_training.learners.train import SETTINGS
from bombay_training.matches.store import ROW_COLUMNS
from bombay_training.rich_tables import markdown_table
from docs.generate import agents, commands, fairness, league, markdown, picture, settings, spaces, tracks, trainers
from docs.generate.speed import Speed


def blocks(docs: Path) -> dict[str, Callable[[], str]]:
    """What makes the block of each name, from the results in the folder `docs`."""
    speed = Speed(docs / "data")
    return {
        "facts": agents.facts,
        "strength": league.strength,
        "agents": agents.agents_table,
        "agent-options": agents.options_table,
        "settings": functools.partial(settings.table, RunSettings),
        **{
            f"settings-{name}": functools.partial(settings.table, kind, kind.__base__)
            for name, kind in SETTINGS.items()
        },
        "rows": rows_table,
        "trainers": trainers.table,
        "tracks": functools.partial(tracks.table, docs / "data" / "tracks"),
        **{
            f"fairness-{table.__name__.replace('_', '-')}": functools.partial(table, docs / "balance")
            for table in (fairness.verdicts, fairness.seats, fairness.boards, fairness.repair, fairness.what_ifs)
        },
        "speed": speed.speed,
        "speed-all": speed.speed_all,
        "speed-learning": speed.speed_learning,
        "cold-start": speed.cold_start,
    }


def rows_table() -> str:
    """The data dictionary of a store's rows."""
    rows = [[f"`{name}`", kind, meaning] for name, (kind, meaning) in ROW_COLUMNS.items()]
    return markdown_table(["column", "type", "meaning"], rows, left=("column", "type", "meaning"))


def generated(docs: Path) -> dict[Path, str]:
    """The text of every document that is generated in whole or in part, as it should be.

    Args:
        docs: the folder of documents; README.md and the agents' package stand beside it.
    Raises:
        ValueError: a page has a block with an unknown name or without an end.
        OSError: a page or a file of results cannot be read.
    """
    texts = {
        docs / "spaces.md": spaces.page(),
        docs / "cli.md": commands.page(),
        docs / "leaderboard.md": league.page(),
        docs / "board.svg": picture.page(),
    }
    made = blocks(docs)
    cards = docs.parent / "agents" / "bombay_agents" / "weights"
    for page in [docs.parent / "README.md", *sorted(docs.glob("*.md")), *sorted(cards.glob("*.md"))]:
        if page not in texts and page.exists():
            text = page.read_text(encoding="utf-8")
            if "<!-- generated: " in text:
                texts[page] = markdown.fill(text, made, page)
    return texts


def outdated(docs: Path) -> dict[Path, str]:
    """Those of the generated documents that differ from their files, with the text they should have."""
    return {
        page: text
        for page, text in generated(docs).items()
        if not page.exists() or page.read_text(encoding="utf-8") != text
    }
