"""The generated document docs/spaces.md is up to date."""

from pathlib import Path

from bombay_env import Game
from bombay_env.actions import action_ranges

DOCUMENT = Path(__file__).parent.parent / "docs" / "spaces.md"


def spaces_document(game: Game) -> str:
    """The observation and action spaces of a game as Markdown."""
    layout = game.feature_layout
    lines = [
        "# Observations and actions",
        "",
        f"For boards with {game.board.num_sites} sites, such as the packaged one. Generated from `game.feature_layout` and",
        "`game.action_names`; a test checks that it is up to date.",
        "",
        f"## Observation: {layout.num_features} features, float32",
        "",
        "Seats are listed clockwise from the viewer; unused seats are zero. In `screened` mode, the features that opponents keep",
        "behind their screens are zero, and so are the features that compare the viewer with opponents.",
        "",
        layout.table(),
        "",
        f"## Actions: {game.num_actions}",
        "",
        "| number | action |",
        "| --- | --- |",
    ]
    for kind, numbers in action_ranges(game.board.num_sites).items():
        first, last = game.action_names[numbers[0]], game.action_names[numbers[-1]]
        where = f"{numbers[0]} … {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
        lines.append(f"| {where} | " + (f"`{first}` … `{last}` |" if len(numbers) > 1 else f"`{kind}` |"))
    return "\n".join(lines) + "\n"


def test_spaces_document_is_up_to_date() -> None:
    """To update it, write the text of `spaces_document(Game())` to docs/spaces.md."""
    assert DOCUMENT.read_text(encoding="utf-8") == spaces_document(Game())
