"""Documents that are made from the program say what the program says."""

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
        f"On a board with {game.board.num_sites} sites, such as the packaged one. Made from `game.feature_layout` and",
        "`game.action_names`; a test holds it against them.",
        "",
        f"## Observation: {layout.num_features} features, float32",
        "",
        "The viewer comes first, the other seats follow clockwise; seats that do not play are zero. In `screened` mode what",
        "opponents keep behind their screens is zero, and so is what compares the viewer with them.",
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
    """To write it anew: docs/spaces.md gets the text of `spaces_document(Game())`."""
    assert DOCUMENT.read_text(encoding="utf-8") == spaces_document(Game())
