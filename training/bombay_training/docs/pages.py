"""Which documents are generated: whole pages, and marked blocks in pages that people write."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bombay_training.docs import agents, commands, markdown, picture, spaces
from bombay_training.docs.results import Results
from bombay_training.docs.speed import Speed


def blocks(docs: Path) -> dict[str, Callable[[], str]]:
    """What makes the block of each name, from the results in the folder `docs`."""
    results = Results(docs)
    speed = Speed(results)
    return {
        "agents": agents.agents_table,
        "agent-options": agents.options_table,
        "strength": results.strength,
        "strength-targets": results.strength_targets,
        "ladder": results.ladder,
        "selection": results.selection,
        "card-zero": functools.partial(results.card, "zero", "zero-search"),
        "card-td": functools.partial(results.card, "td"),
        "card-ppo": functools.partial(results.card, "ppo"),
        "lookahead": results.lookahead,
        "regret": results.regret,
        "training-zero": results.training_zero,
        "training-td": results.training_td,
        "training-ppo": results.training_ppo,
        "training-time": results.training_time,
        "learning-zero-4": functools.partial(results.learning, "zero", (4,)),
        "learning-zero-2-3-5": functools.partial(results.learning, "zero", (2, 3, 5)),
        "learning-ppo-raw": functools.partial(results.learning, "ppo-raw"),
        "ppo-raw-settings": results.raw_settings,
        "ppo": functools.partial(results.matches, "ppo"),
        "champion-exploration": results.exploration,
        "champion-changes": functools.partial(results.changes, "champion_changes", "change"),
        "champion-alternatives": functools.partial(results.changes, "champion_alternatives", "agent"),
        "champion-nets": functools.partial(results.matches, "champion_nets"),
        "champion-convergence": results.convergence,
        "best-responses": results.best_responses,
        "fairness": results.fairness,
        "third-rupee": results.third_rupee,
        "speed": speed.speed,
        "speed-all": speed.speed_all,
        "speed-learning": speed.speed_learning,
        "speed-targets": speed.speed_targets,
        "cold-start": speed.cold_start,
        "slowest-kernels": speed.slowest_kernels,
    }


def generated(docs: Path, root: Any) -> dict[Path, str]:
    """The text of every document that is generated in whole or in part, as it should be.

    Args:
        docs: the folder of documents; README.md and the agents' package stand beside it.
        root: the group of all commands.
    Raises:
        ValueError: a page has a block with an unknown name or without an end.
        OSError: a page or a file of results cannot be read.
    """
    texts = {
        docs / "spaces.md": spaces.page(),
        docs / "cli.md": commands.page(root),
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


def outdated(docs: Path, root: Any) -> dict[Path, str]:
    """Those of the generated documents that differ from their files, with the text they should have."""
    return {
        page: text
        for page, text in generated(docs, root).items()
        if not page.exists() or page.read_text(encoding="utf-8") != text
    }
