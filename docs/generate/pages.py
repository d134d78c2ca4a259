"""Which documents are generated: whole pages, and marked blocks in pages that people write."""

import functools
from collections.abc import Callable
from pathlib import Path

from bombay_training.learners.runs import RunSettings
from bombay_training.learners.train import SETTINGS
from docs.generate import agents, commands, markdown, picture, settings, spaces, trainers
from docs.generate.results import Results
from docs.generate.speed import Speed


def blocks(docs: Path) -> dict[str, Callable[[], str]]:
    """What makes the block of each name, from the results in the folder `docs`."""
    results = Results(docs)
    speed = Speed(results)
    return {
        "facts": agents.facts,
        "agents": agents.agents_table,
        "agent-options": agents.options_table,
        "settings": functools.partial(settings.table, RunSettings),
        **{
            f"settings-{name}": functools.partial(settings.table, kind, kind.__base__)
            for name, kind in SETTINGS.items()
        },
        "strength": results.strength,
        "ladder": results.ladder,
        "card-zero": functools.partial(results.card, "zero", "zero-search"),
        "card-ppo": functools.partial(results.card, "ppo"),
        "regret": results.regret,
        "training-zero": results.training_zero,
        "learning-zero-4": functools.partial(results.learning, (4,)),
        "learning-zero-2-3-5": functools.partial(results.learning, (2, 3, 5)),
        "best-responses": results.best_responses,
        "fairness": results.fairness,
        "third-rupee": results.third_rupee,
        "trainers": trainers.table,
        "speed": speed.speed,
        "speed-all": speed.speed_all,
        "speed-learning": speed.speed_learning,
        "cold-start": speed.cold_start,
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
        docs / "spaces.md": spaces.page(),
        docs / "cli.md": commands.page(),
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
