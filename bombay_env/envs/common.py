"""Code that all environments share: checks of arguments, seeds of episodes, spaces and drawings.

`aec.py`, `single.py` and `vector.py` use it. It contains no rules of the game and stores no game.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from bombay_env import chance, checks, streams
from bombay_env.board import Board
from bombay_env.files.reading import read_json
from bombay_env.game import Game
from bombay_env.record import Record
from bombay_env.render import raster, svg
from bombay_env.render.view import LastAction
from bombay_env.rules import Rules
from bombay_env.text import describe_position

OBSERVATION_MODES: Final = ("perfect_recall", "screened")
RENDER_MODES: Final = ("ansi", "svg", "rgb_array", "human")
DEFAULT_PLAYERS: Final = 4


class UnsupportedRenderModeError(TypeError, ValueError):
    """The render mode does not exist.

    It is a ValueError, like the error of every other wrong argument. It is also a TypeError, after which Stable-Baselines3 tries
    again without a render mode.
    """


# --- arguments ---


GivenRules = Rules | Mapping[str, Any] | str | os.PathLike[str] | None
GivenBoard = Board | Mapping[str, Any] | str | os.PathLike[str] | None


def make_game(num_players: int | None, rules: GivenRules, board: GivenBoard) -> Game:
    """The game that an environment's arguments describe.

    Args:
        num_players: 2 to 5; that of the rules if None, and `DEFAULT_PLAYERS` if they do not say it.
        rules: the variant: `Rules`, a dict of fields that differ from the official rules, or the path of a JSON file with them.
            None: the official rules.
        board: the board: a `Board`, its object (RULES 8), or the path of a TOML file. None: the packaged board.

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


def check_render_mode(render_mode: Any) -> None:
    """Raise UnsupportedRenderModeError unless `draw` supports the mode."""
    try:
        checks.one_of(render_mode, "render_mode", (None, *RENDER_MODES))
    except ValueError as error:
        raise UnsupportedRenderModeError(str(error)) from None


def checked_options(options: Any) -> dict[str, Any]:
    """The options of a reset; an empty dict for None. Raises ValueError if they are malformed or contradict each other."""
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options is {checks.shown(options)}; it must be None or a dict")
    checked = dict(options or {})
    if checked.get("record") is not None and given_setup(checked) is not None:
        raise ValueError("options has both setup and record; give at most one of them")
    return checked


def given_setup(options: dict[str, Any]) -> Any:
    """The set-up in the options of a reset; None if it is left to chance, as it is without one and with an empty object."""
    setup = checks.plain(options.get("setup"))
    return None if setup == {} else setup


# --- episodes ---


def random_keys(count: int) -> np.ndarray:
    """Random keys (count,) uint64 for streams of episodes, from the system's entropy: of environments without a seed."""
    return np.random.SeedSequence().generate_state(count, np.uint64)


def episode_seed(key: int, episode: int) -> int:
    """The seed of an episode in the stream with this key. The seed of episode 0 differs from the key."""
    return int(chance.random_word(np.uint64(key), streams.EPISODE, np.uint64(episode)))


def continued(game: Game, given: Any) -> tuple[np.recarray[Any, Any], Record]:
    """The last state of a record, (1,), and the record. The seed of the state is 0 if the record has no seed.

    Args:
        game: the game of the environment.
        given: a `Record` or its object.

    Raises:
        ValueError: `given` is not a valid record, is of another game, or its game is over.
    """
    record = given if isinstance(given, Record) else Record.from_dict(given)
    if record.game != game:
        raise ValueError(f"the record is of {record.game}, but this environment plays {game}")
    states = record.verify()
    if game.is_terminal(states)[0] or record.fault is not None:
        raise ValueError("the game of the record is over; only a running game can be continued")
    return states, record


# --- observing ---


def feature_space(game: Game) -> spaces.Box:
    """The Box of a flat observation. Every feature has finite bounds."""
    return spaces.Box(game.feature_layout.low, game.feature_layout.high, dtype=np.float32)


def draw(
    render_mode: str | None, game: Game, states: np.ndarray, viewer: int | None, last: LastAction | None
) -> str | np.ndarray | None:
    """The (1,) state as text ("ansi"), as an SVG document ("svg") or as pixels; None if there is no render mode.

    A `viewer`'s drawing hides what opponents keep behind their screens (RULES 6).
    """
    if render_mode == "ansi":
        return describe_position(game, states, viewer)
    if render_mode == "svg":
        return svg.draw(game, states, viewer, last)
    return None if render_mode is None else raster.draw(game, states, viewer, last)
