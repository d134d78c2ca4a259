"""A recorded game for the viewer, the page that `bombay watch` serves and that `bombay replay --html` writes into one file.

A film is plain JSON types: each position as `messages.position` gives it, all events in words, the account, and what turns cost.
Parts that several positions share stand in it once. Text from records reaches the page only as JSON and is shown as text.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import bombay_agents
from bombay_env import Game
from bombay_env.record import RESTOCK, Record
from bombay_env.render import shapes
from bombay_env.render.view import called, last_action
from bombay_training.play import messages
from bombay_training.play.effects import effect_words, preview
from bombay_training.play.hints import told
from bombay_training.play.session import Event
from bombay_training.play.values import ValuedTurn, valued_turns
from bombay_training.play.web import page_files

DEFAULT_VALUER: Final = "zero"
SHARE_DIGITS: Final = 3
# Of the seats' curves, which are told apart without colours.
DASHES: Final = ("", "9 4", "2 4", "12 4 2 4", "6 2 2 2 2 2")
POLICY: Final = "default-src 'none'; script-src {script}; style-src {style}; img-src data:"
POOLED: Final = ("svg", "seats", "tables", "markets", "legend")


def film(
    record: Record,
    valuer: str | None = None,
    you: int | None = None,
    advance: Callable[[float], None] = lambda count: None,
) -> dict[str, Any]:
    """A record as the viewer shows it.

    Args:
        record: the game.
        valuer: the agent that values its turns, such as zero; None for zero if it knows this game, else for no values.
        you: the seat that is called "you", if one is.
        advance: called with the number of events that were valued.

    Raises:
        RecordError: the record breaks the rules.
        ValueError: `valuer` does not value positions of this game.
    """
    record.verify()
    states = [position for _, position in record.replay()]
    names = called(record.agents, you)
    events = [_event(record, number, states, names) for number in range(len(states))]
    turns, by = _values(record, valuer, advance)
    pool = _Pool()
    return {
        "mode": "watch",
        "you": you,
        "positions": [
            pool.position(messages.position(record.game, one, None, record.agents, event.action, you))
            for one, event in zip(states, events, strict=True)
        ],
        "pool": pool.items,
        "log": messages.log(events, None),
        "account": messages.accounted(record) if record.result is not None else None,
        "fault": record.fault,
        "valued_by": by,
        "turns": [_turn(record.game, states, turn, names) for turn in turns],
        "result": record.result and record.result["win_share"],
        "curves": [{"colour": colour, "dash": dash} for colour, dash in zip(shapes.SEATS, DASHES, strict=True)],
    }


def page(shown: dict[str, Any]) -> str:
    """The viewer with a film as one HTML file, which needs no network and runs no script but its own."""
    texts = page_files.texts()
    html, style, script = texts[page_files.HTML], texts[page_files.STYLE], page_files.joined()
    policy = POLICY.format(script=_digest(script), style=_digest(style))
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
    data = f'<script type="application/json" id="film">{as_json(shown)}</script>\n<script type="module">{script}</script>\n'
    for old, new in (
        ('<link rel="stylesheet" href="page.css">\n', head),
        ('<script type="module" src="main.js"></script>\n', ""),
        ("</body>\n", f"{data}</body>\n"),
    ):
        before, after = html.split(old)
        html = before + new + after
    return html


def as_json(data: Any) -> str:
    """JSON for a script element: no tag or comment can begin or end in it."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


class _Pool:
    """The parts of positions, each once."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._numbers: dict[str, int] = {}

    def position(self, shown: dict[str, Any]) -> dict[str, Any]:
        """A position with the numbers of its parts in `items`."""
        whole = {**shown, **shown["board"], "svg": shown["svg"].splitlines()}
        del whole["board"]
        return whole | {name: [self._number(part) for part in whole[name]] for name in POOLED}

    def _number(self, part: Any) -> int:
        number = self._numbers.setdefault(json.dumps(part), len(self.items))
        if number == len(self.items):
            self.items.append(part)
        return number


def _digest(text: str) -> str:
    """The source that a content security policy allows: this text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _values(record: Record, valuer: str | None, advance: Callable[[float], None]) -> tuple[Sequence[ValuedTurn], str]:
    """The valued turns and the name of the agent that values them; none if `valuer` is None and zero does not know the game."""
    agent = bombay_agents.make(valuer or DEFAULT_VALUER)
    if valuer is None:
        try:
            return valued_turns(record, agent, advance), DEFAULT_VALUER
        except ValueError:
            return [], ""
    return valued_turns(record, agent, advance), valuer


def _turn(game: Game, states: Sequence[np.ndarray], turn: ValuedTurn, names: Sequence[str]) -> dict[str, Any]:
    better, _ = told(game, states[turn.first - 1], turn.better, names)
    shares = [round(share, SHARE_DIGITS) for share in turn.shares]
    return turn._asdict() | {"shares": shares, "cost": round(turn.cost, SHARE_DIGITS), "better": list(better)}


def _event(record: Record, number: int, states: Sequence[np.ndarray], names: Sequence[str]) -> Event:
    """Event `number` of a record for the log."""
    game, text = record.game, record.events[number]
    if text.startswith(RESTOCK):
        number = min(int(states[number]["set"][0]) + 1, game.rules.sets)
        return Event(f"Set {number} of {game.rules.sets} begins.")
    before = states[number - 1]
    action = game.action_index(text.partition(" ")[2])
    after, _ = preview(game, before, action)
    return Event(effect_words(game, before, after, names), last_action(game, before, action))
