"""Reads an answer as a language model writes it: one action, or the actions of a turn, by name or by number."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from bombay_env import checks
from bombay_env.actions import action_ranges
from bombay_env.game import Game
from bombay_env.rules import MAX_ACTIONS

MAX_LENGTH: Final = 100_000  # characters of an answer
MAX_LEGAL: Final = 250  # characters of the legal actions in a message
MAX_STEPS: Final = 2 * MAX_ACTIONS  # actions in an answer; a turn has at most one `take` for each action
KEYS: Final = ("actions", "action", "answer")  # where an answer as a JSON object holds the actions
FORM: Final = "answer with action names or numbers, separated by commas, after 'Answer:' if there is other text"

MARKER: Final = re.compile(
    r"\W{0,10}(?:final )?(?:answer|actions?)\W{0,10}:", re.IGNORECASE
)  # starts the last part of a text
BLOCK: Final = re.compile(r"```\w*\n(?P<inside>.*?)```", re.DOTALL)
SEPARATOR: Final = re.compile(r"[,;\n→]|->|\b(?:and )?then\b", re.IGNORECASE)
NUMBERED: Final = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+(?=\S)")  # the mark of an entry in a list
DECORATION: Final = " \t\r`'\"*_.()[]"  # letters around an action, not part of it
FILLERS: Final = frozenset(("to", "a", "an", "the", "with", "from", "palace", "1"))
NOUNS: Final = frozenset(("bale", "bales"))  # left out at the end of a name


class AnswerError(ValueError):
    """An answer is not understood, or not legal. The message is one line and says what is legal.

    Attributes:
        action: the number of the first action that is illegal; None if the answer is not understood.
    """

    def __init__(self, message: str, action: int | None = None) -> None:
        super().__init__(checks.message(message))
        self.action = action


def parse_answer(game: Game, states: np.ndarray, answer: Any) -> list[int]:
    """The actions that an answer names, each legal after those before it, all in the current player's turn.

    Understood are an action's name (`move:E1`; also `move E1`, `Move to E1`, `end turn`) or its number, or several of them,
    separated by commas, semicolons, lines, arrows or "then"; the same as JSON, alone or under the key `action` or `actions`. If
    there is a code block, only the last one counts; else, if a line starts with `Answer:` or `Actions:`, only what follows the
    last such mark. Nothing is guessed from other prose.

    Args:
        game: what is played.
        states: (1,) the state to act in, unchanged.
        answer: a text, or the same as a JSON value: a text, a number, or a list of these.

    Returns:
        At least one action number.

    Raises:
        AnswerError: the answer is not understood, or an action is illegal.
        ValueError: the state is not one of `game`, or not sound.
    """
    names = _Names(game)
    wanted = _actions_in(names, answer, _legal_now(game, states))
    if len(wanted) > MAX_STEPS:
        raise AnswerError(f"the answer has {len(wanted)} actions; a turn has at most {MAX_STEPS}")
    after = states.copy()
    mover = after[["set", "turn", "current_player"]].copy()
    for place, action in enumerate(wanted):
        played = ", ".join(game.action_names[each] for each in wanted[:place])
        if place and (after[["set", "turn", "current_player"]] != mover).any():
            raise AnswerError(
                f"the turn is over after {played}; leave out {game.action_names[action]} and what follows", action
            )
        if not game.legal_actions(after)[0, action]:
            when = f"after {played}, " if played else ""
            raise AnswerError(f"{when}{game.action_names[action]} is illegal; {_legal_now(game, after)()}", action)
        game.step(after, [action])
    return wanted


def _legal_now(game: Game, states: np.ndarray) -> Callable[[], str]:
    """What makes the part of a message that lists the legal actions."""

    def listed() -> str:
        names = [game.action_names[action] for action in np.flatnonzero(game.legal_actions(states)[0])]
        return f"legal are {checks.one_line(', '.join(names), MAX_LEGAL)}" if names else "the game is over"

    return listed


class _Names:
    """Action numbers by the ways to write a name."""

    def __init__(self, game: Game) -> None:
        self.exact = {name: number for number, name in enumerate(game.action_names)}
        loose: dict[str, list[int]] = {}
        for name, number in self.exact.items():
            loose.setdefault(_loosely(name), []).append(number)
        # Sites may differ in case alone. Such names are found by their exact spelling only.
        self.loose = {name: numbers[0] for name, numbers in loose.items() if len(numbers) == 1}
        self.kinds = ", ".join(action_ranges(game.board.num_sites))

    def find(self, text: str) -> int | None:
        """The number of the action that a text names; None if it names none."""
        if text in self.exact:
            return self.exact[text]
        if text.isascii() and text.isdigit() and len(text) < 4:
            number = int(text)
            return number if number < len(self.exact) else None
        return self.loose.get(_loosely(text))


def _loosely(name: str) -> str:
    """A name in lower case, without separators and filler words."""
    words = re.split(r"[\s:_]+", name.lower())
    if len(words) > 2 and words[-1] in NOUNS:
        words.pop()
    first, *between, last = words if len(words) > 1 else [*words, ""]  # a site may be called as a filler word
    return " ".join([first, *(word for word in between if word not in FILLERS), last])


def _actions_in(names: _Names, answer: Any, legal: Callable[[], str]) -> list[int]:
    """The numbers of the actions that an answer names. Raises AnswerError."""
    if isinstance(answer, str):
        if len(answer) > MAX_LENGTH:
            raise AnswerError(f"the answer has {len(answer)} characters; at most {MAX_LENGTH} are allowed; {legal()}")
        whole = answer.strip()
        parts = [whole] if whole in names.exact else list(_texts(whole))  # a site's name may hold a separator
    elif isinstance(answer, list):
        parts = answer
    else:
        parts = [answer]
    if not parts:
        raise AnswerError(f"the answer is empty; {FORM}; {legal()}")
    found = []
    for part in parts:
        text = (
            str(part)
            if checks.is_whole_number(part, 0, len(names.exact) - 1)
            else part.strip()
            if isinstance(part, str)
            else None
        )
        number = None if text is None else names.find(text)
        if number is None:
            raise AnswerError(f"{checks.shown(part)} is no action ({names.kinds} …); {FORM}; {legal()}")
        found.append(number)
    return found


def _texts(text: str) -> Iterator[Any]:
    """The parts of a text that each should name an action."""
    rest: str | None = text
    while rest is not None:
        text = rest.strip()
        blocks = BLOCK.findall(text)
        text = blocks[-1].strip() if blocks else text
        value = _json_value(text)
        if value is not None:
            yield from value if isinstance(value, list) else [value]
            return
        rest = _after_last_mark(text)
    for part in SEPARATOR.split(text):
        bare = NUMBERED.sub("", part).strip(DECORATION)
        if bare:
            yield bare


def _after_last_mark(text: str) -> str | None:
    """What follows the last line that begins with markers, the rest of that line included; None if there is no such line."""
    lines = text.splitlines()
    for number in range(len(lines) - 1, -1, -1):
        place = 0
        while mark := MARKER.match(
            lines[number], place
        ):  # all of them at once: an answer may repeat them a thousand times
            place = mark.end()
        if place:
            return "\n".join([lines[number][place:], *lines[number + 1 :]])
    return None


def _json_value(text: str) -> Any:
    """The actions in a text that is a JSON list, or an object with one of `KEYS`; None for any other text."""
    if not text.startswith(("[", "{")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return next((value[key] for key in KEYS if key in value), None)
    return value
