"""Reads an answer as a language model writes it: the actions of a turn, by name or by number.

An action is its name (`move:E1`, `move E1`), its number, both (`6 move:E1`, or a line of `describe_actions`), the words of its
button (`Move to E1`), or for a move the site alone; `pass` ends the turn. Case does not matter. Commas, semicolons, arrows,
"then" and line breaks separate actions. Quotes, brackets, stars, bullets, numbers of a list, a final colon or full stop, and
`Answer:` or `Action:` at the start are left out. Of a text, the last lines that hold nothing but actions count, if no other words
stand directly below them, and no other entry of the same list directly above. JSON lists and objects are read as well.
"""

import functools
import json
import re
from collections import Counter
from typing import Any, Final

import numpy as np

from bombay_env import checks
from bombay_env.game import Game
from bombay_env.render.view import plural
from bombay_env.rules import MAX_ACTIONS
from bombay_env.state import TURN_FIELDS
from bombay_env.text.words import action_words

MAX_LENGTH: Final = 100_000  # characters of an answer
MAX_LEGAL: Final = 250  # characters of the legal actions in a message
MAX_STEPS: Final = 2 * MAX_ACTIONS  # actions in an answer; a turn has at most one `take` for each action
KEYS: Final = ("actions", "action", "answer")  # where an answer as a JSON object holds the actions
END_TURN: Final = "end_turn"
DECORATION: Final = " \t\r`'\"*_.:,;!#()[]{}“”‘’"  # letters around an action, not part of it
LABEL: Final = re.compile(r"^(?:my |the |final )*(?:answer|actions?)(?: is)?[^\w\n]*:", re.IGNORECASE)
ITEM: Final = re.compile(r"^(?:[-•]|\d+[.)])[\s*_`]+")
DESCRIBED: Final = re.compile(r"(\d+ \S+): .")  # a line of `describe_actions`
SEPARATOR: Final = re.compile(r"[,;→\n]|->|\bthen\b", re.IGNORECASE)


class AnswerError(ValueError):
    """An answer is not understood, or not legal. The message is one line and says what is legal.

    Attributes:
        action: the number of the first action that is illegal; None if the answer is not understood.
    """

    def __init__(self, message: str, action: int | None = None) -> None:
        super().__init__(checks.message(str(message)))
        self.action = action


def parse_answer(game: Game, states: np.ndarray, answer: Any) -> list[int]:
    """The actions that an answer names, each legal after those before it, all in the current player's turn.

    The head of this module says what is understood. In a text, thoughts in `<think>` are left out. A last `end_turn` is left out
    if the turn ends without it.

    Args:
        game: what is played.
        states: (1,) the state to act in, unchanged.
        answer: a text, or the same as a JSON value: a text, a number, a list of these, or an object that has it under the key
            `action`, `actions` or `answer`.

    Returns:
        At least one action number.

    Raises:
        AnswerError: the answer is not understood, or names an illegal action.
        ValueError: the state is not one of `game`, or not sound.
    """
    names = game.action_names
    try:
        wanted = _in_text(names, answer) if isinstance(answer, str) else _in_value(names, answer)
    except AnswerError as error:
        raise AnswerError(f"{error}; answer with names or numbers of actions; {_legal(game, states)}") from None
    if len(wanted) > MAX_STEPS:
        raise AnswerError(f"the answer has {len(wanted)} actions; a turn has at most {MAX_STEPS}")
    after = states.copy()
    mover = after[TURN_FIELDS].copy()
    for place, action in enumerate(wanted):
        name, played = names[action], ", ".join(names[each] for each in wanted[:place])
        if place and (after[TURN_FIELDS] != mover).any():
            if wanted[place:] == [names.index(END_TURN)] and END_TURN not in played:
                return wanted[:place]
            raise AnswerError(f"the turn is over after {played}; leave out {name} and what follows", action)
        if not game.legal_actions(after)[0, action]:
            rupees = after[0]["rupees"][after[0]["current_player"]]
            left = f"{plural(after[0]['actions_left'], 'action')} and {plural(rupees, 'rupee')}"
            when = f"after {played}, with {left} left, " if played else ""
            raise AnswerError(f"{when}{name} is illegal; {_legal(game, after)}", action)
        game.step(after, [action])
    return wanted


def _legal(game: Game, states: np.ndarray) -> str:
    """The part of a message that lists the legal actions."""
    names = [game.action_names[action] for action in np.flatnonzero(game.legal_actions(states)[0])]
    return f"legal are {checks.one_line(', '.join(names), MAX_LEGAL)}" if names else "the game is over"


def _in_text(names: tuple[str, ...], text: str) -> list[int]:
    """The actions in the last lines of a text that hold nothing else; a line with a label is the first. Raises AnswerError."""
    if len(text) > MAX_LENGTH:
        raise AnswerError(f"the answer has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    text = text.rpartition("</think>")[2].partition("<think>")[0].strip()
    value = _json_value(text)
    if value is not None:
        return _in_value(names, value)
    wanted: list[int] = []
    last = unclear = None  # what is wrong with the last line, and with the line directly below
    for line in reversed(text.splitlines()):
        bare = line.strip(DECORATION)
        if not bare:
            if wanted and line.strip():  # the edge of a code block
                break
            unclear = None
            continue
        try:
            found = _in_line(names, line) if (value := _json_value(line)) is None else _in_value(names, value)
        except AnswerError as error:
            if wanted and ITEM.match(bare):
                raise
            if wanted:
                break
            last, unclear = last or error, error
            continue
        if unclear:
            raise unclear
        wanted[:0] = found
        if LABEL.match(bare):
            break
    if not wanted:
        raise last or AnswerError("the answer is empty")
    return wanted


def _json_value(text: str) -> Any:
    """The value of a text that is a JSON list or object; None for any other text."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _in_value(names: tuple[str, ...], value: Any) -> list[int]:
    """The actions of a JSON value. Raises AnswerError."""
    value = _unwrapped(value)
    wanted: list[int] = []
    for entry in map(_unwrapped, value if isinstance(value, list) else [value]):
        if isinstance(entry, str):
            wanted += _in_line(names, entry)
        elif checks.is_whole_number(entry, 0, len(names) - 1):
            wanted.append(int(entry))
        else:
            raise AnswerError(f"{checks.shown(entry)} is no action")
    if not wanted:
        raise AnswerError("the answer is empty")
    return wanted


def _unwrapped(value: Any) -> Any:
    """What an object holds under the first of `KEYS`; any other value as it is."""
    return next((value[key] for key in KEYS if key in value), value) if isinstance(value, dict) else value


def _in_line(names: tuple[str, ...], line: str) -> list[int]:
    """The actions that a line names, at least one. Raises AnswerError."""
    forms = _forms(names)
    if line.strip() in forms:  # a site's name may hold a separator
        return [forms[line.strip()]]
    line = LABEL.sub("", line.strip(DECORATION)).strip(DECORATION)
    if (whole := DESCRIBED.match(ITEM.sub("", line))) and _plain(whole[1]) in forms:
        return [forms[_plain(whole[1])]]
    wanted = []
    for part in SEPARATOR.split(line):
        bare = ITEM.sub("", part.strip(DECORATION)).strip(DECORATION)
        action = forms.get(bare, forms.get(_plain(bare)))
        if action is not None:
            wanted.append(action)
        elif bare:
            raise AnswerError(f"{checks.shown(bare)} is no action")
    if not wanted:
        raise AnswerError("the answer is empty")
    return wanted


@functools.lru_cache(maxsize=16)
def _forms(names: tuple[str, ...]) -> dict[str, int]:
    """The actions by the ways to write them. What could mean several, such as sites that differ in case alone, is left out."""
    loose = [("pass", names.index(END_TURN))]
    for number, name in enumerate(names):
        kind, _, what = name.partition(":")
        loose += [(_plain(form), number) for form in (name, action_words(name), f"{number} {name}")]
        loose += [(_plain(what), number)] if kind == "move" else []
    counts = Counter(form for form, _ in set(loose))
    exact = {form: number for number, name in enumerate(names) for form in (str(number), name)}
    return {form: number for form, number in loose if counts[form] == 1} | exact


def _plain(text: str) -> str:
    """A text in lower case, its words separated by single spaces."""
    return " ".join(re.split(r"[\s:_()]+", text.lower())).strip()
