"""What the environments of both libraries share: their arguments, the seeds of their episodes, spaces and drawings.

A wrong argument is refused with one line that names it and what is allowed. Holds no rule and no game. `aec.py`, `single.py` and
`vector.py` use it.
"""

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from bombay_env import chance, checks
from bombay_env.board import Board
from bombay_env.game import Game
from bombay_env.record import Record
from bombay_env.render import svg, text
from bombay_env.rules import Rules

OBSERVATION_MODES: Final = ("perfect_recall", "screened")
RENDER_MODES: Final = ("ansi", "svg")
DEFAULT_PLAYERS: Final = 4


class UnsupportedRenderModeError(TypeError, ValueError):
    """An environment has no such render mode.

    It is a ValueError like that of every other wrong argument, and a TypeError for Stable-Baselines3: given an id, that asks for
    `render_mode="rgb_array"` and tries again without a render mode only on a TypeError.
    """


# --- arguments ---


def make_game(num_players: int, rules: Rules | None, board: Board | None) -> Game:
    """The game that an environment's arguments describe. Raises ValueError if they do not fit each other."""
    if rules is None:
        return Game(Rules.official(num_players), board)
    if isinstance(rules, Rules) and num_players not in (DEFAULT_PLAYERS, rules.num_players):
        raise ValueError(f"num_players is {num_players}, but the rules are for {rules.num_players}")
    return Game(rules, board)


def check_render_mode(render_mode: Any) -> None:
    """Raise UnsupportedRenderModeError unless `draw` knows the mode."""
    try:
        checks.one_of(render_mode, "render_mode", (None, *RENDER_MODES))
    except ValueError as error:
        raise UnsupportedRenderModeError(str(error)) from None


def checked_options(options: Any) -> dict[str, Any]:
    """The options of a reset, an empty dictionary for None. Raises ValueError if they are malformed or contradict each other."""
    if options is not None and not isinstance(options, dict):
        raise ValueError(f"options is {checks.shown(options)}; it must be None or a dictionary")
    checked = options or {}
    if checked.get("record") is not None and checked.get("setup"):
        raise ValueError("options has both setup and record; a game is either dealt or continued")
    return checked


# --- episodes ---


def random_key() -> int:
    """A key for a stream of episodes, from the system's entropy: used until an environment is given a seed."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def episode_seed(key: int, episode: int) -> int:
    """The seed that deals an episode of the stream with this key; episode 0 is not the key itself."""
    return int(chance.random_word(np.uint64(key), chance.EPISODE, np.uint64(episode)))


def continued(game: Game, given: Any) -> tuple[np.recarray[Any, Any], Record]:
    """The (1,) state that a record ends in, and the record. The state's seed is 0 if the record names none.

    Args:
        game: what the environment plays.
        given: a `Record` or its object.

    Raises:
        ValueError: it is not a record, belongs to another game, or its game has ended.
    """
    record = given if isinstance(given, Record) else Record.from_dict(given)
    if record.game != game:
        raise ValueError(f"the record is of {record.game}, this environment plays {game}")
    states = record.verify()
    if game.is_terminal(states)[0] or record.fault is not None:
        raise ValueError("the record is of a game that is over; there is nothing to continue")
    return states, record


# --- seeing ---


def feature_space(game: Game) -> spaces.Box:
    """The Box of a flat observation, with finite bounds for each feature."""
    return spaces.Box(game.feature_layout.low, game.feature_layout.high, dtype=np.float32)


def draw(render_mode: str | None, game: Game, states: np.ndarray) -> str | None:
    """The (1,) state as text or as an SVG document, by render mode; None without one."""
    drawing = {"ansi": text, "svg": svg}.get(render_mode or "")
    return None if drawing is None else drawing.draw(game, states)
