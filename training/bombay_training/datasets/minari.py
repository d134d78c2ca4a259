"""Decisions as a Minari dataset: an episode for each seat of each game, as the Gymnasium environment shows the game to that seat.

An episode of T decisions has T + 1 observations; the last one is after the end. Its infos hold `action_mask`, (T + 1, A) int8,
which is zero after the end. Its metadata name the game, the seat and the agent in it.

The dataset has a card: README.md in the form that the Hugging Face Hub reads, a YAML header and Markdown.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import gymnasium
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage

import bombay_env
from bombay_env import Game, Rules
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.files import atomic
from bombay_env.record import Record
from bombay_training.datasets.decisions import Decisions, View, all_decisions

DATA: Final = "data"  # the folder of the files, where `minari.load_dataset` looks
AUTHOR: Final = "The bombay_env developers"
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
| board | {game.board.name} |
| rules | {rules} |
| observation | {game.num_features} features, `{view.observation_mode}` |
| actions | {game.num_actions}; the infos have `action_mask` |
| reward | `{view.reward}`, with a seat's last action |

```python
import minari

dataset = minari.MinariDataset("{name}/data")
env = dataset.recover_environment()
```

Games that ended by an agent's fault are left out. All players are programs. The trails of the packaged board, its demand columns
and the faces of its palace tokens are a reconstruction.
"""


def check(folder: Path, games: Sequence[Game]) -> None:
    """Raise ValueError if a folder's name cannot be the id of a dataset, or the games are of several variants."""
    if len(games) > 1:
        raise ValueError("a Minari dataset is of one environment; give one number of players")
    try:
        parse_dataset_id(folder.name)
    except (ValueError, TypeError):
        raise ValueError(
            f"a Minari dataset cannot be named {folder.name!r}; allowed is a name and a version, such as planner-v0"
        ) from None


def write(folder: Path, records: Iterable[Record], games: Sequence[Game], view: View) -> int:
    """Write a dataset of all games that have a result. Returns the number of episodes.

    Args:
        folder: a new folder, whose name is the id of the dataset.
        records: the games.
        games: their variant, one.
        view: what to show.

    Raises:
        ValueError: as `check`.
        OSError: it cannot be written. No folder is left.
    """
    check(folder, games)
    game, players, facts = games[0], games[0].num_players, list[dict[str, Any]]()
    env = BombaySingleEnv(rules=game.rules, board=game.board, **vars(view))

    def episodes() -> Iterator[EpisodeBuffer]:
        for found in all_decisions(records, view):
            for seat, agent in enumerate(found.record.agents):
                facts.append({"game": found.number, "seat": seat, "agent": agent})
                yield _episode(found, seat)

    with atomic.new_folder(folder.absolute()) as temporary:  # Minari counts sizes wrongly under a relative path
        spaces = {"observation_space": env.observation_space, "action_space": env.action_space}
        storage = MinariStorage.new(temporary / DATA, env_spec=_env_spec(game, view), **spaces)
        storage.update_episodes(episodes())
        storage.update_episode_metadata(facts, range(len(facts)))
        agents = dict.fromkeys(each["agent"] for each in facts)
        storage.update_metadata(
            {
                "dataset_id": folder.name,
                "minari_version": minari.__version__,
                "algorithm_name": ", ".join(agents),
                "author": {AUTHOR},
                "description": f"Bombay for {players} players, an episode for each seat of a game",
                "requirements": [f"bombay-env=={bombay_env.__version__}"],
            }
        )
        official, own = Rules.official(players).to_dict(), game.rules.to_dict()
        changed = [f"`{field}` = {value}" for field, value in own.items() if value != official[field]]
        card = CARD.format(
            name=folder.name,
            game=game,
            view=view,
            players=players,
            games=len(facts) // players,
            episodes=len(facts),
            version=bombay_env.__version__,
            agents=", ".join(f"`{agent}`" for agent in agents),
            rules=", ".join(changed) or "official",
        )
        (temporary / "README.md").write_text(card, encoding="utf-8")
    return len(facts)


def _env_spec(game: Game, view: View) -> Any:
    """The environment of these games."""
    rules, spec = game.rules, copy.deepcopy(gymnasium.spec("bombay/Bombay-v0"))
    # Loaders that ask how long an episode can be get a bound that none reaches: each action of a turn may have a `take` after it.
    spec.max_episode_steps = rules.sets * rules.turns_per_set * (2 * rules.actions_per_turn + 1)
    board = {} if game.board.is_packaged else {"board": game.board.to_dict()}
    spec.kwargs = {"rules": rules.to_dict(), **vars(view), **board}
    return spec


def _episode(found: Decisions, seat: int) -> EpisodeBuffer:
    mine = found.seats == seat
    after = np.zeros((1, found.masks.shape[1]), np.bool_)
    return EpisodeBuffer(
        seed=found.record.seed,
        observations=np.append(found.observations[mine], found.final[seat : seat + 1], axis=0),
        actions=found.actions[mine],
        rewards=found.rewards[mine],
        terminations=found.last[mine],
        truncations=np.zeros(mine.sum(), np.bool_),
        infos={"action_mask": np.append(found.masks[mine], after, axis=0).astype(np.int8)},
    )
