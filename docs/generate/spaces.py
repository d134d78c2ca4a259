"""The page on observation and action spaces, from `game.feature_layout` and `game.action_names`."""

from bombay_env import Game
from bombay_env.actions import action_ranges
from bombay_training.rich_tables import markdown_table

PAGE = """# Observations and actions

For a board with {sites} sites, such as the packaged one. Written by `make pages` from
`game.feature_layout` and `game.action_names`.

## Observation: {layout.num_features} features, float32

Seats are listed clockwise from the viewer; unused seats are zero. In `screened` mode, the features that opponents keep
behind their screens are zero, and so are the features that compare the viewer with opponents.

{features}

## Actions: {game.num_actions}
{actions}
"""


def page() -> str:
    """The spaces of the default game as Markdown."""
    game, rows = Game(), []
    for numbers in action_ranges(game.board.num_sites).values():
        ends = dict.fromkeys((numbers[0], numbers[-1]))
        rows.append([" … ".join(map(str, ends)), " … ".join(f"`{game.action_names[number]}`" for number in ends)])
    actions = markdown_table(["number", "action"], rows, left=("number", "action"))
    layout, sites = game.feature_layout, game.board.num_sites
    return PAGE.format(sites=sites, layout=layout, features=layout.table().strip(), game=game, actions=actions)
