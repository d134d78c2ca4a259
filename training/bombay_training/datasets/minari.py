"""Decisions as a Minari dataset: an episode for each seat of each game, as the Gymnasium environment shows the game to that seat.

An episode of T decisions has T + 1 observations; the last one is after the end. Its infos hold `action_mask`, (T + 1, A) int8,
which is zero after the end. Its metadata name the game, the seat and the agent in it.
"""

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import gymnasium
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_dataset import parse_dataset_id
from minari.dataset.minari_storage import MinariStorage

import bombay_env
from bombay_env import Game
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.files import atomic
from bombay_training.datasets import card
from bombay_training.datasets.decisions import Decisions, View

DATA: Final = "data"  # the folder of the files, where `minari.load_dataset` looks
AUTHOR: Final = "The bombay_env developers"
GAMES_AT_ONCE: Final = 32  # games whose episodes are written together


def check_name(folder: Path) -> None:
    """Raise ValueError if a folder's name cannot be the id of a dataset."""
    try:
        parse_dataset_id(folder.name)
    except (ValueError, TypeError):
        raise ValueError(
            f"a Minari dataset cannot be named {folder.name!r}; allowed is a name and a version, such as planner-v0"
        ) from None


def write(folder: Path, found: Iterable[Decisions], game: Game, view: View) -> int:
    """Write a dataset. Returns the number of episodes.

    Args:
        folder: a new folder, whose name is the id of the dataset.
        found: the decisions of games of one variant.
        game: the variant.
        view: what they show.

    Raises:
        ValueError: the name is not the id of a dataset.
        OSError: it cannot be written. No folder is left.
    """
    check_name(folder)
    env = BombaySingleEnv(
        rules=game.rules, board=game.board, observation_mode=view.observation_mode, reward=view.reward
    )
    episodes, agents = 0, dict[str, None]()
    with atomic.new_folder(folder.absolute()) as temporary:  # Minari counts sizes wrongly under a relative path
        storage = MinariStorage.new(
            temporary / DATA,
            observation_space=env.observation_space,
            action_space=env.action_space,
            env_spec=_env_spec(game, view),
        )
        for some in _groups(found):
            storage.update_episodes(episode for each in some for episode in _episodes(each))
            about = [facts for each in some for facts in _facts(each)]
            storage.update_episode_metadata(about, range(episodes, episodes + len(about)))
            episodes += len(about)
            agents |= dict.fromkeys(facts["agent"] for facts in about)
        storage.update_metadata(
            {
                "dataset_id": folder.name,
                "minari_version": minari.__version__,
                "algorithm_name": ", ".join(agents),
                "author": {AUTHOR},
                "description": f"Bombay for {game.num_players} players, an episode for each seat of a game",
                "requirements": [f"bombay-env=={bombay_env.__version__}"],
            }
        )
        made = card.text(folder.name, game, view, list(agents), episodes // game.num_players)
        (temporary / "README.md").write_text(made, encoding="utf-8")
    return episodes


def _env_spec(game: Game, view: View) -> Any:
    """The environment of these games."""
    rules = game.rules
    spec = copy.deepcopy(gymnasium.spec("bombay/Bombay-v0"))
    # Loaders that ask how long an episode can be get a bound that none reaches: each action of a turn may have a `take` after it.
    spec.max_episode_steps = rules.sets * rules.turns_per_set * (2 * rules.actions_per_turn + 1)
    spec.kwargs = {
        "rules": rules.to_dict(),
        "observation_mode": view.observation_mode,
        "reward": view.reward,
    }
    if not game.board.is_packaged:
        spec.kwargs["board"] = game.board.to_dict()
    return spec


def _groups(found: Iterable[Decisions]) -> Iterator[list[Decisions]]:
    group: list[Decisions] = []
    for each in found:
        group.append(each)
        if len(group) == GAMES_AT_ONCE:
            yield group
            group = []
    if group:
        yield group


def _episodes(found: Decisions) -> Iterator[EpisodeBuffer]:
    for seat in range(found.game.num_players):
        mine = found.seats == seat
        masks = np.append(found.masks[mine], np.zeros((1, found.game.num_actions), np.bool_), axis=0)
        yield EpisodeBuffer(
            seed=found.record.seed,
            observations=np.append(found.observations[mine], found.final[seat : seat + 1], axis=0),
            actions=found.actions[mine],
            rewards=found.rewards[mine],
            terminations=found.last[mine],
            truncations=np.zeros(mine.sum(), np.bool_),
            infos={"action_mask": masks.astype(np.int8)},
        )


def _facts(found: Decisions) -> Iterator[dict[str, Any]]:
    for seat, agent in enumerate(found.record.agents):
        yield {"game": found.number, "seat": seat, "agent": agent}
