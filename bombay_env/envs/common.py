"""Code that all environments share: checks of arguments, the games that a reset deals, and spaces.

`aec.py`, `single.py` and `vector.py` use it. It contains no rules of the game and stores no game.
"""

import os
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from gymnasium import spaces

from bombay_env import chance, checks, streams
from bombay_env.board import Board
from bombay_env.files.reading import read_json
from bombay_env.game import Game
from bombay_env.record import Record
from bombay_env.rules import Rules

OBSERVATION_MODES: Final = ("perfect_recall", "screened")
DEFAULT_PLAYERS: Final = 4

GivenRules = Rules | Mapping[str, Any] | str | os.PathLike[str] | None
GivenBoard = Board | Mapping[str, Any] | str | os.PathLike[str] | None


def make_game(num_players: int | None, rules: GivenRules, board: GivenBoard) -> Game:
    """The game that an environment's arguments describe, as in `bombay_v0.raw_env`.

    Raises:
        ValueError: an argument is invalid, or the number of players and the rules contradict each other.
    """
    given = read_json(rules) if isinstance(rules, str | os.PathLike) else rules
    if not isinstance(given, Rules):
        if given is not None and not isinstance(given, Mapping):
            raise ValueError(
                f"rules must be Rules, a dict of changed fields or the path of one, not {type(given).__name__}"
            )
        given = Rules.from_dict(
            {"num_players": DEFAULT_PLAYERS if num_players is None else num_players, **(given or {})}
        )
    if isinstance(board, str | os.PathLike):
        board = Board.load(board)
    elif isinstance(board, Mapping):
        board = Board.from_dict(board)
    game = Game(given, board)
    if num_players not in (None, game.num_players):
        raise ValueError(f"num_players is {checks.shown(num_players)}, but the rules are for {game.num_players}")
    return game


# --- episodes ---


def random_keys(count: int) -> np.ndarray:
    """Random keys (count,) uint64 for streams of episodes, from the system's entropy, for environments without a seed."""
    return np.random.SeedSequence().generate_state(count, np.uint64)


def episode_seed(key: int, episode: int) -> int:
    """The seed of an episode in the stream with this key. The seed of episode 0 differs from the key."""
    return int(chance.random_word(np.uint64(key), streams.EPISODE, np.uint64(episode)))


class Deal(NamedTuple):
    """The games that a reset deals, and what their records need."""

    states: np.ndarray  # (k,) records
    seed: int | None  # that the record of the first game names; None if no seed gives its draws
    so_far: Record | None  # the record that they continue


def deal(game: Game, seeds: np.ndarray, given: np.ndarray, options: Mapping[str, Any] | None) -> Deal:
    """Deal games as the options of a reset say.

    Args:
        game: the game of the environment.
        seeds: (k,) uint64, what each game is dealt by.
        given: (k,) bool: whether the caller gave this seed. If not, a continued game keeps its record's seed, if that has one.
        options: `setup` fixes the deal, `record`, a `Record` or its object, is a game to continue; see `bombay_v0.raw_env.reset`.

    Raises:
        ValueError: an option is malformed, both are given, or the record is of another game or of one that is over.
    """
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options is {checks.shown(options)}; it must be None or a dict")
    setup, record = (options.get("setup"), options.get("record")) if options else (None, None)
    setup = checks.plain(setup)
    if record is None:
        chosen = None if setup == {} else setup  # an empty object leaves all to chance
        return Deal(game.new_states(seeds, setup=chosen), int(seeds[0]) if chosen is None else None, None)
    if setup not in (None, {}):
        raise ValueError("options has both setup and record; give at most one of them")
    so_far = record if isinstance(record, Record) else Record.from_dict(record)
    if so_far.game != game:
        raise ValueError(f"the record is of {so_far.game}, but this environment plays {game}")
    last = so_far.verify()
    if game.is_terminal(last)[0] or so_far.fault is not None:
        raise ValueError("the game of the record is over; only a running game can be continued")
    states = np.repeat(last, len(seeds))
    reseeded = given | (so_far.seed is None)
    states["seed"][reseeded] = seeds[reseeded]
    return Deal(states, None if reseeded[0] else so_far.seed, so_far)


def feature_space(game: Game) -> spaces.Box:
    """The Box of a flat observation. Every feature has finite bounds."""
    return spaces.Box(game.feature_layout.low, game.feature_layout.high, dtype=np.float32)
