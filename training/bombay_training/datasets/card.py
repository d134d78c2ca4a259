"""The card of a dataset: README.md in the form that the Hugging Face Hub reads, a YAML header and Markdown."""

from collections.abc import Sequence
from typing import Final

import bombay_env
from bombay_env import Game
from bombay_training.datasets.decisions import View

CARD: Final = """---
license: mit
pretty_name: {name}
task_categories: [reinforcement-learning]
tags: [offline-reinforcement-learning, multi-agent, board-game, minari]
---

# {name}

{games:,} games of Bombay for {players} players, written by bombay_env {version} in Minari's format: {episodes:,} episodes,
one for each seat of each game.

| | |
| :-- | :-- |
| agents | {agents} |
| board | {board} |
| rules | {rules} |
| observation | {features} features, `{mode}` |
| actions | {actions}; the infos have `action_mask` |
| reward | `{reward}`, with a seat's last action |

```python
import minari

dataset = minari.MinariDataset("{name}/data")
env = dataset.recover_environment()
```

Games that ended by an agent's fault are left out. All players are programs. The trails of the packaged board, its demand columns
and the faces of its palace tokens are a reconstruction.
"""


def text(name: str, game: Game, view: View, agents: Sequence[str], games: int) -> str:
    """The card of a dataset.

    Args:
        name: the id of the dataset.
        game: the variant.
        view: what observations and rewards show.
        agents: the names of all agents that play in it.
        games: the number of games, with an episode for each seat.
    """
    official = type(game.rules).official(game.num_players).to_dict()
    changed = {field: value for field, value in game.rules.to_dict().items() if value != official[field]}
    return CARD.format(
        name=name,
        games=games,
        players=game.num_players,
        version=bombay_env.__version__,
        episodes=games * game.num_players,
        agents=", ".join(f"`{agent}`" for agent in agents),
        board=game.board.name,
        rules=", ".join(f"`{field}` = {value}" for field, value in changed.items()) or "official",
        features=game.num_features,
        mode=view.observation_mode,
        actions=game.num_actions,
        reward=view.reward,
    )
