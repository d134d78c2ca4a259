"""Reads an answer as a language model writes it: one action, or the actions of a turn, by name or by number."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from bombay_env import checks
from bombay_env.actions import action_ranges
from bombay_env.game import Game
from bombay_env.render.view import plural
from bombay_env.rules import COLOUR_NAMES, MAX_ACTIONS, NUM_COLOURS
from bombay_env.state import TURN_FIELDS

MAX_LENGTH: Final = 100_000  # characters of an answer
MAX_LEGAL: Final = 250  # characters of the legal actions in a message
MAX_STEPS: Final = 2 * MAX_ACTIONS  # actions in an answer; a turn has at most one `take` for each action
KEYS: Final = ("actions", "action", "answer")  # where an answer as a JSON object holds the actions
FORM: Final = "answer with action names or numbers, separated by commas"

# The forms of an explicit answer in a text. A mark starts a line or a sentence, and the answer follows it.
MARK: Final = re.compile(
    r"(?:^|(?<=[.!?] ))"
    r"(?:[^\w\n{<]{0,10}(?:(?:my|the|final|best|chosen) ){0,3}(?:answer|actions?)(?: input| is)?[^\w\n]{0,10}(?::|$))+",
    re.IGNORECASE | re.MULTILINE,
)
BLOCK: Final = re.compile(
    r"```(?:\w*\s*\n)?(?P<code>.*?)(?:```|\Z)|<(?P<element>(?:final_)?answer)>(?P<tag>[^<]*)</(?P=element)>"
    r"|(?P<steps>(?:<action>[^<]*</action>\s*)+)|\\boxed\{(?:\\text\{)?(?P<box>[^{}]*)\}+",
    re.DOTALL,
)
# Between paragraphs, and between sentences unless the second one may go on with the turn. The first ends in no bare number.
BREAK: Final = re.compile(
    r"\n[ \t]*\n|(?<=[^\d\s.][\w`*)]\.)\s+(?=[A-Z])(?!(?:Then|And|Next|After|Also|Finally|Or|But)\b)"
)
STEP: Final = re.compile(r"</?action>")
OBJECT: Final = re.compile(r"\{[^{}]*\}")
OBJECTS: Final = re.compile(rf"{OBJECT.pattern}(?:[\s,]*{OBJECT.pattern})*")  # the actions of a turn, one by one

THOUGHT: Final = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
THOUGHT_END: Final = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
RETRACTION: Final = re.compile(
    r"\b(?:(?:no|wait|hmm)\b[,.!:…]|actually|correction|second thought|instead(?! of)|rather(?! than))", re.IGNORECASE
)

SEPARATOR: Final = re.compile(r"[,;+→]|[-=]>|\b(?:and )?(?:then|finally)\b|\band\b|^\W*first\b", re.IGNORECASE)
LABEL: Final = re.compile(
    r"^(?:(?:\d+[.)]\**|[-*•]|(?:step|action) \d+[:.)]\**)\s+)+(?=\S)", re.IGNORECASE
)  # in a list
DESCRIBED: Final = re.compile(r"(?:#?(?P<number>[0-9]{1,3})\W{1,3})?(?P<name>\S+): .")  # a line of `describe_actions`
NOTE: Final = re.compile(r"\s*\((?P<note>[^()]*)\)")
NUMBER: Final = re.compile(r"(?:(?:action|option|number) )?#?(?P<number>[0-9]{1,3})", re.IGNORECASE)
# An action by number and by name, such as `6 move:E1`, `6 (move:E1)` and `move:E1 (6)`.
TWICE: Final = re.compile(r"(#?[0-9]{1,3})[\s:=\]–—-]+([^\s(].*)|([^()]+)\(([^()]+)")
DECORATION: Final = " \t\r`'\"*_.!()[]“”‘’"  # letters around an action, not part of it
FILLERS: Final = frozenset(("to", "a", "an", "the", "my", "with", "from", "using", "palace", "1", "one"))
NOUNS: Final = frozenset(("bale", "bales"))  # left out after a colour


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

    Understood are an action's name (`move:E1`; also `move E1`, `Move to E1`, `end turn`), its number, or both, as in a line of
    `describe_actions`. Several actions are separated by commas, semicolons, lines, arrows, "and", "then" or "finally".
    `buy:COLOUR` is `buy` at a post of that colour. JSON is understood, alone or under the key `action`, `actions` or `answer`.

    A text may hold other words besides explicit answers. Explicit answers are code blocks, `<answer>` elements, `<action>`
    elements one after another, `\\boxed{…}`, JSON objects with such a key, and what follows `Answer:` or `Action:` up to an empty
    line or the end of a sentence. The last one counts. If the text after it may take it back, the text is refused. Everything
    before `</think>` is left out. Nothing is guessed from other words.

    A last `end_turn` is left out if the turn ends without it.

    Args:
        game: what is played.
        states: (1,) the state to act in, unchanged.
        answer: a text, or the same as a JSON value: a text, a number, a list of these, or an object with one of the keys.

    Returns:
        At least one action number.

    Raises:
        AnswerError: the answer is not understood, is ambiguous, or names an illegal action.
        ValueError: the state is not one of `game`, or not sound.
    """
    names = _Names(game)
    wanted = _actions_in(names, answer, _legal_now(game, states))
    if len(wanted) > MAX_STEPS:
        raise AnswerError(f"the answer has {len(wanted)} actions; a turn has at most {MAX_STEPS}")
    after = states.copy()
    mover = after[TURN_FIELDS].copy()
    for place, action in enumerate(wanted):
        me, name, colour = after[0], names.names[action], names.bought.get(action)
        if colour:
            action = wanted[place] = names.exact["buy"]
        played = ", ".join(game.action_names[each] for each in wanted[:place])
        if place and (after[TURN_FIELDS] != mover).any():
            if wanted[place:] == [names.end_turn] and names.end_turn not in wanted[:place]:
                return wanted[:place]
            raise AnswerError(f"the turn is over after {played}; leave out {name} and what follows", action)
        seat = me["current_player"]
        if not game.legal_actions(after)[0, action] or (colour and colour != me["post"][me["position"][seat]]):
            left = f"{plural(me['actions_left'], 'action')} and {plural(me['rupees'][seat], 'rupee')}"
            when = f"after {played}, with {left} left, " if played else ""
            raise AnswerError(f"{when}{name} is illegal; {_legal_now(game, after)()}", action)
        game.step(after, [action])
    return wanted


def _legal_now(game: Game, states: np.ndarray) -> Callable[[], str]:
    """What makes the part of a message that lists the legal actions."""

    def listed() -> str:
        names = [game.action_names[action] for action in np.flatnonzero(game.legal_actions(states)[0])]
        return f"legal are {checks.one_line(', '.join(names), MAX_LEGAL)}" if names else "the game is over"

    return listed


def _actions_in(names: "_Names", answer: Any, legal: Callable[[], str]) -> list[int]:
    """The numbers of the actions that an answer names. Raises AnswerError."""
    try:
        value = _explicit(names, answer) if isinstance(answer, str) else answer
        parts = [
            part for entry in _entries(value) for part in (names.split(entry) if isinstance(entry, str) else [entry])
        ]
        if not parts:
            raise AnswerError(f"the answer is empty; {FORM}")
        return [names.read(part) for part in parts]
    except AnswerError as error:
        raise AnswerError(f"{error}; {legal()}") from None


# --- the explicit answer in a text ---


def _explicit(names: "_Names", text: str) -> Any:
    """The last explicit answer in a text, as text or as a JSON value; the whole text if there is none. Raises AnswerError."""
    if len(text) > MAX_LENGTH:
        raise AnswerError(f"the answer has {len(text)} characters; at most {MAX_LENGTH} are allowed")
    text = THOUGHT.split(THOUGHT_END.split(text)[-1])[0]
    while True:
        text = text.strip()
        value = _json_value(text)
        if value is not None:
            return value
        found = [*_marked(names, text), *_enclosed(text)]
        if not found:
            return text
        _, text, rest = max(found)
        if _may_change(names, text, rest):
            raise AnswerError(f"the text after the answer may take it back: {checks.shown(rest.strip())}; {FORM}")


def _marked(names: "_Names", text: str) -> Iterator[tuple[int, str, str]]:
    """Where the last mark of a text ends, the answer that follows it, and the rest of the text. Raises AnswerError."""
    for mark in list(MARK.finditer(text))[-1:]:
        before = text[: mark.start()].removesuffix("\n").rpartition("\n")[2]
        earlier = MARK.match(before)
        if earlier and names.reads(before[earlier.end() :]):
            raise AnswerError(f"there is another answer directly before the last one: {checks.shown(before)}; {FORM}")
        paragraphs = BREAK.split(text[mark.end() :].strip())
        count = 1
        while count < len(paragraphs) and names.reads(paragraphs[count]):
            count += 1
        yield mark.end(), "\n".join(paragraphs[:count]), "\n".join(paragraphs[count:])


def _enclosed(text: str) -> Iterator[tuple[int, str, str]]:
    """Where the last block and the last JSON objects end, what is in them, and the rest of the text."""
    blocks = [
        (match, match["code"] or match["tag"] or match["box"] or STEP.sub("\n", match["steps"] or ""))
        for match in BLOCK.finditer(text)
    ]
    runs = [
        (match, [each for each in OBJECT.findall(match[0]) if _json_value(each) is not None])
        for match in OBJECTS.finditer(text)
    ]
    objects = [(match, run[0] if len(run) == 1 else f"[{', '.join(run)}]") for match, run in runs if run]
    for match, inside in [pair for pair in blocks if pair[1].strip()][-1:] + objects[-1:]:
        yield match.end(), inside, text[match.end() :]


def _may_change(names: "_Names", answer: str, rest: str) -> bool:
    """Whether the text after an answer takes it back or names other actions."""
    words = (word.strip(f"{DECORATION},;:?") for word in rest.split())
    others = (word for word in words if word in names.exact and not word.isalpha() and word not in answer)
    return bool(RETRACTION.search(rest)) or any(others) or any(map(names.reads, rest.splitlines()))


def _json_value(text: str) -> Any:
    """The value of a text that is a JSON list or text, or an object with one of `KEYS`; None for any other text."""
    if not text.startswith(("[", "{", '"')):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if not isinstance(value, dict) or any(key in value for key in KEYS) else None


def _entries(value: Any) -> list[Any]:
    """The entries of a JSON list, or the one value; both without objects around them."""
    value = _unwrapped(value)
    return [_unwrapped(entry) for entry in value] if isinstance(value, list) else [value]


def _unwrapped(value: Any) -> Any:
    """What an object holds under the first of `KEYS`; any other value as it is."""
    return next((value[key] for key in KEYS if key in value), value) if isinstance(value, dict) else value


# --- names and numbers ---


class _Names:
    """Action numbers by the ways to write a name."""

    def __init__(self, game: Game) -> None:
        self.count = game.num_actions
        self.names = (*game.action_names, *(f"buy:{colour}" for colour in COLOUR_NAMES))
        # The further actions, each with the colour of the post as states have it.
        self.bought = {self.count + colour: 1 + colour for colour in range(NUM_COLOURS)}
        self.exact = {name: number for number, name in enumerate(self.names)}
        self.end_turn = self.exact["end_turn"]
        loose: dict[str, list[int]] = {"buy bale": [self.exact["buy"]]}
        for name, number in self.exact.items():
            loose.setdefault(_loosely(name), []).append(number)
        # Sites may differ in case alone. Such names are found by their exact spelling only.
        self.loose = {name: numbers[0] for name, numbers in loose.items() if len(numbers) == 1}
        self.kinds = ", ".join(action_ranges(game.board.num_sites))

    def split(self, text: str) -> Iterator[str]:
        """The parts of a text that each should name an action."""
        text = text.strip()
        if text in self.exact:  # a site's name may hold a separator
            yield text
            return
        for line in text.splitlines():
            described = DESCRIBED.match(_bare(line))
            name = described["name"].strip(DECORATION) if described else ""
            if described and name in self.exact:
                yield f"{described['number']} {name}" if described["number"] else name
            else:
                yield from filter(None, map(_bare, SEPARATOR.split(NOTE.sub(self._note, line))))

    def _note(self, match: re.Match[str]) -> str:
        """What stands in brackets, if it names an action."""
        named = any(self.find(_bare(part)) is not None for part in SEPARATOR.split(match["note"]))
        return match[0] if named else ""

    def read(self, part: Any) -> int:
        """The number of the action that a part of an answer names. Raises AnswerError."""
        if checks.is_whole_number(part, 0, self.count - 1):
            return int(part)
        if isinstance(part, str):
            number = self.find(part)
            twice = TWICE.fullmatch(part)
            if number is None and twice:
                number, other = (self.find(_bare(each)) for each in twice.groups() if each)
                if number is not None and other is not None and number != other:
                    both = f"{self.names[number]} and {self.names[other]}"
                    raise AnswerError(f"{checks.shown(part)} names two actions, {both}; {FORM}")
                number = None if other is None else number
            if number is not None:
                return number
        raise AnswerError(f"{checks.shown(part)} is no action ({self.kinds} …); {FORM}")

    def reads(self, text: str) -> bool:
        """Whether a text names actions and nothing else."""
        parts = list(self.split(text))
        return bool(parts) and all(self.find(part) is not None for part in parts)

    def find(self, text: str) -> int | None:
        """The number of the action that a text names; None if it names none."""
        if text in self.exact:
            return self.exact[text]
        digits = NUMBER.fullmatch(text)
        if digits:
            number = int(digits["number"])
            return number if number < self.count else None
        return self.loose.get(_loosely(text))


def _bare(text: str) -> str:
    """A text without decoration and without the label of an entry in a list."""
    return LABEL.sub("", text.strip(DECORATION)).strip(DECORATION)


def _loosely(name: str) -> str:
    """A name in lower case, without separators and filler words."""
    words = re.split(r"[\s:_\\]+", name.lower())
    if len(words) > 2 and words[-1] in NOUNS and words[-2] in COLOUR_NAMES:
        words.pop()
    first, *between, last = words if len(words) > 1 else [*words, ""]  # a site may be called as a filler word
    return " ".join([first, *(word for word in between if word not in FILLERS), last])
