"""Code that all environments share: checks of arguments, seeds of episodes, spaces and drawings.

`aec.py`, `single.py` and `vector.py` use it. It contains no rules of the game and stores no game.
"""

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from bombay_env import chance, checks, streams
from bombay_env.board import Board
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


def make_game(num_players: int, rules: Rules | None, board: Board | None) -> Game:
    """The game that an environment's arguments describe. Raises ValueError if they are invalid or contradict each other."""
    if rules is None:
        return Game(Rules.official(num_players), board)
    if isinstance(rules, Rules) and num_players not in (DEFAULT_PLAYERS, rules.num_players):
        raise ValueError(f"num_players is {checks.shown(num_players)}, but the rules are for {rules.num_players}")
    return Game(rules, board)


def check_render_mode(render_mode: Any) -> None:
    """Raise UnsupportedRenderModeError unless `draw` supports the mode."""
    try:
        checks.one_of(render_mode, "render_mode", (None, *RENDER_MODES))
    except ValueError as error:
        raise UnsupportedRenderModeError(str(error)) from None


def checked_options(options: Any) -> dict[str, Any]:
    """The options of a reset; an empty dict for None. Raises ValueError if they are malformed or contradict each other."""
    if options is not None and not isinstance(options, dict):
        raise ValueError(f"options is {checks.shown(options)}; it must be None or a dict")
    checked = options or {}
    if checked.get("record") is not None and given_setup(checked) is not None:
        raise ValueError("options has both setup and record; give at most one of them")
    return checked


def given_setup(options: dict[str, Any]) -> Any:
    """The set-up in the options of a reset; None if it is left to chance, as it is without one and with an empty object."""
    setup = options.get("setup")
    return None if isinstance(setup, dict) and not setup else setup


# --- episodes ---


def random_key() -> int:
    """A random key for a stream of episodes, from the system's entropy. Environments use it until they get a seed."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


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
    render_mode: str | None, game: Game, states: np.ndarray, last: LastAction | None = None
) -> str | np.ndarray | None:
    """The (1,) state as text ("ansi"), as an SVG document ("svg") or as pixels; None if there is no render mode."""
    if render_mode == "ansi":
        return describe_position(game, states)
    if render_mode == "svg":
        return svg.draw(game, states, last=last)
    return None if render_mode is None else raster.draw(game, states, last=last)
