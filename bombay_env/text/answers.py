"""Reads an answer as a language model writes it: the actions of a turn, by name or by number.

An action is its name (`move:E1`, `move E1`), its number, both (`6 move:E1`, or a line of `describe_actions`), the words of its
button (`Move to E1`), or for a move the site alone; `pass` ends the turn. Case does not matter, and a number is always that of an
action. Commas, semicolons, arrows, "then" and line breaks separate actions. Quotes, brackets, stars, bullets, numbers of a list
such as `2.`, a final colon or full stop, and `Answer:` or `Action:` at the start are left out. JSON lists and objects are read.

Of a longer text, the last lines that hold nothing but actions count, or the last JSON value if no such line follows. A text is
refused if words follow on the next line, if a line below may correct the answer, or if a line above looks like one more action.
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
from bombay_env.text.words import action_effects, action_words

MAX_LENGTH: Final = 100_000  # characters of an answer
MAX_LEGAL: Final = 250  # characters of the legal actions in a message
MAX_STEPS: Final = 2 * MAX_ACTIONS  # actions in an answer; a turn has at most one `take` for each action
KEYS: Final = ("actions", "action", "answer")  # where an answer as a JSON object holds the actions
END_TURN: Final = "end_turn"
QUOTES: Final = " \t\r`'\"*“”‘’«»"
DECORATION: Final = f"{QUOTES}_.:,;!#()[]{{}}<>"  # letters around an action, not part of it
_LABEL: Final = r"(?:my |the |final )*(?:answer|actions?)(?: is)?[^\w\n]*:"
LABEL: Final = re.compile(f"^{_LABEL}", re.IGNORECASE)
_DECORATED: Final = r"[^\w\n\[{]*+"
JSON: Final = re.compile(
    rf"^{_DECORATED}(?:{_LABEL}{_DECORATED})?(?=[\[{{])", re.IGNORECASE | re.MULTILINE
)  # what is before it
ITEM: Final = re.compile(r"^[\s>]*(?:[-•*+]|\d+[.)])[*_`]*\s[\s*_`]*")
DESCRIBED: Final = re.compile(r"\d+ \S+: .")  # begins a line of `describe_actions`
CORRECTION: Final = re.compile(r"\b(?:answer|actions?)\b.*(?::|\bis\b)|\{.*\"", re.IGNORECASE)
MAX_UNREADABLE: Final = 20  # lines that begin with a bracket and are no JSON
SEPARATOR: Final = re.compile(r"[,;→\n]|->|\bthen\b", re.IGNORECASE)
NO_WORDS: Final = re.compile(r"\W*$")
FENCE: Final = "```"


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

    The head of this module says what is understood. In a text, thoughts in `<think>` are left out. A final `end_turn` is left out
    if the actions before it already end the turn.

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
    if isinstance(answer, str) and DESCRIBED.search(answer):
        for effect in action_effects(game, states):
            answer = answer.replace(f"{effect.action} {effect.name}: {effect.words}", effect.name)
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
            raise AnswerError(f"the turn ends with {played}; leave out everything from {name} on", action)
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
    """The actions in the last lines of a text that hold nothing else, or in its last JSON value. Raises AnswerError."""
    if len(text) > MAX_LENGTH:
        raise AnswerError(f"the answer has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    text = text.rpartition("</think>")[2].partition("<think>")[0]
    value, end = _last_json(text)
    lines = text[end:].splitlines()
    words = [line for line in lines if not NO_WORDS.match(line)]
    found = _in_lines(names, lines)
    if found is not None:
        if value is not None and NO_WORDS.match("".join(lines[: found[1]])):
            raise AnswerError("the answer has JSON and more actions below it")
        return found[0]
    if value is None or not all(map(NO_WORDS.match, lines[:2])):
        _in_line(names, words[-1] if words else "")  # raises
    _check_below(names, words)
    return _in_value(names, value)


def _last_json(text: str) -> tuple[Any, int]:
    """The last list or object that begins a line, and where it ends; None and 0 if there is none. Raises AnswerError."""
    value, end, place, unreadable = None, 0, 0, 0
    while found := JSON.search(text, place):
        try:
            after, place = json.JSONDecoder(strict=False).raw_decode(text, found.end())
        except (ValueError, RecursionError):
            unreadable += 1
            if text[found.end()] == "{" or unreadable > MAX_UNREADABLE:
                raise AnswerError("the JSON of the answer cannot be read") from None
            place = found.end() + 1
            continue
        if value is not None and NO_WORDS.match(text[end : found.end()]):
            raise AnswerError("the answer has several JSON values; one list holds several actions")
        value, end = after, place
    return value, end


def _in_lines(names: tuple[str, ...], lines: list[str]) -> tuple[list[int], int] | None:
    """The actions in the last lines that hold nothing else, and the place of the first of these lines; None if no line does.

    Raises AnswerError if words stand directly below, or if the line above looks like one more action.
    """
    read = [None if NO_WORDS.match(line) else _read(names, line) for line in lines]
    last = max((place for place, found in enumerate(read) if isinstance(found, list)), default=None)
    if last is None:
        return None
    if isinstance(below := read[last + 1] if last + 1 < len(read) else None, AnswerError):
        raise below
    _check_below(names, lines[last + 1 :])
    wanted: list[int] = []
    first = last
    for place in range(last, -1, -1):
        found, line = read[place], lines[place]
        if found is None and line.strip() and wanted:
            break  # the edge of a code block, or a rule
        if found is None:
            continue
        is_adjacent, in_list = place == first - 1, ITEM.match(line)
        unclear = AnswerError(f"{checks.shown(line.strip())}, above the last actions, is not clear")
        if isinstance(found, AnswerError):
            if (in_list and (is_adjacent or ITEM.match(lines[first]))) or (
                is_adjacent and _begins_with_action(names, line)
            ):
                raise found
        elif not wanted or not _has_label(lines[first]):
            if wanted and in_list and not is_adjacent and not ITEM.match(lines[first]):
                raise unclear
            wanted, first = found + wanted, place
            continue
        elif is_adjacent or _has_label(line):
            raise unclear
        break
    return wanted, first


def _check_below(names: tuple[str, ...], lines: list[str]) -> None:
    """Raise AnswerError if one of the lines below an answer may correct it: it mentions an answer, or ends with an action."""
    for line in lines:
        words = line.split()
        if words and (CORRECTION.search(line) or _plain(words[-1].strip(DECORATION)) in _forms(names)):
            raise AnswerError(f"{checks.shown(line.strip())}, below the actions, is not clear")


def _read(names: tuple[str, ...], line: str) -> list[int] | AnswerError:
    try:
        return _in_line(names, line)
    except AnswerError as error:
        return error


def _has_label(line: str) -> bool:
    return LABEL.match(line.lstrip(DECORATION)) is not None


def _begins_with_action(names: tuple[str, ...], line: str) -> bool:
    """Whether a line's first word, a label aside, is the name of an action."""
    words = LABEL.sub("", line.strip(DECORATION)).split()
    return bool(words) and words[0].strip(DECORATION).lower() in map(str.lower, names)


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
    """What an object holds under the only one of `KEYS` that it has; any other value as it is."""
    found = [value[key] for key in KEYS if key in value] if isinstance(value, dict) else []
    return found[0] if len(found) == 1 else value


def _in_line(names: tuple[str, ...], line: str) -> list[int]:
    """The actions that a line names, at least one. Raises AnswerError."""
    forms = _forms(names)
    if line.strip() in forms:  # a site's name may hold a separator
        return [forms[line.strip()]]
    line = ITEM.sub("", LABEL.sub("", ITEM.sub("", line).lstrip(DECORATION)))
    wanted = []
    for part in map(str.strip, SEPARATOR.split(line)):
        bare = ITEM.sub("", part.strip(DECORATION)).strip(DECORATION)
        ways = (part, part.strip(QUOTES), bare, _plain(bare))
        action = next((forms[way] for way in ways if way in forms), None)
        if action is not None:
            wanted.append(action)
        elif bare:
            raise AnswerError(f"{checks.shown(part.strip(QUOTES))} is no action")
    if not wanted:
        raise AnswerError("the answer is empty")
    return wanted


@functools.lru_cache(maxsize=16)
def _forms(names: tuple[str, ...]) -> dict[str, int]:
    """The number of the action for each way to write one; without ways that could mean several, as sites that differ in case."""
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
