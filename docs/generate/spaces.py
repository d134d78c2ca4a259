"""The page on observation and action spaces, from `game.feature_layout` and `game.action_names`."""

from bombay_env import Game
from bombay_env.actions import action_ranges
from bombay_training.rich_tables import markdown_table


def page() -> str:
    """The spaces of the default game as Markdown."""
    game = Game()
    layout = game.feature_layout
    lines = [
        "# Observations and actions",
        "",
        f"For a board with {game.board.num_sites} sites, such as the packaged one. Written by `make pages` from",
        "`game.feature_layout` and `game.action_names`.",
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
    ]
    rows = []
    for kind, numbers in action_ranges(game.board.num_sites).items():
        if len(numbers) > 1:
            names = game.action_names[numbers[0]], game.action_names[numbers[-1]]
            rows.append([f"{numbers[0]} … {numbers[-1]}", " … ".join(f"`{name}`" for name in names)])
        else:
            rows.append([f"{numbers[0]}", f"`{kind}`"])
    return "\n".join(lines) + markdown_table(["number", "action"], rows, left=("number", "action")) + "\n"
