"""Game records: write, read, replay, verify (RULES 8).

A record contains every decision of chance and of the players, so a game can be replayed anywhere. `History` collects the
decisions of one game while it runs. `Record` is one JSON object, checked. A replay plays every event through `Game`, so it
detects every event that breaks the rules. This module does not know environments or agents.
"""

import copy
import dataclasses
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from bombay_env import checks
from bombay_env.board import Board
from bombay_env.files import atomic, json_text
from bombay_env.game import Game
from bombay_env.rules import NUM_COLOURS, Rules
from bombay_env.setup import SETUP_KEYS
from bombay_env.state import NOBODY, state_to_dict

FORMAT: Final = "bombay-record/1"
RESTOCK: Final = "restock:"
SURROGATE: Final = re.compile("[\ud800-\udfff]")
FAULT_KEYS: Final = ("seat", "action", "reason")
MAX_LINE_BYTES: Final = 1 << 20  # of one record in a file
MAX_EVENTS: Final = 20_000  # the longest game has some 18,000: 20 sets of 20 turns of 5 players with 9 actions each
_KEYS: Final = ("format", "players", "board", "rules", "seed", "agents", "setup", "events", "result")


class RecordError(ValueError):
    """A record is malformed or breaks the rules. The message names the key, or the number of the event, and the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(checks.message(message))


class History:
    """The decisions of one running game. The events of its record are computed on request, by replaying the decisions.

    Args:
        game: the rules and the board.
        states: (1,) the state after the deal and the first restock, or the last state of a record. It is copied.
        seed: the seed of the deal and of all restocks; None if chance was given.
        so_far: the record that led to this state; None if the game was just dealt.
    """

    def __init__(self, game: Game, states: np.ndarray, seed: int | None, so_far: "Record | None" = None) -> None:
        self.game = game
        self.seed = seed
        self.start = states.copy()
        self.so_far = so_far
        self.actions: list[int] = []

    def add(self, action: int) -> None:
        """Add the action that was just played."""
        self.actions.append(action)

    def setup(self) -> dict[str, Any]:
        """The set-up of the game, in the form of RULES 8."""
        if self.so_far is not None:
            return dict(self.so_far.setup)
        dealt = state_to_dict(self.start[0], self.game.rules, self.game.board)
        return {key: dealt[key] for key in SETUP_KEYS}

    def events(self) -> tuple[str, ...]:
        """All events so far, computed by replaying the decisions from the start."""
        events = [restock_event(self.start[0])] if self.so_far is None else list(self.so_far.events)
        states = self.start.copy()
        for action in self.actions:
            mover, set_before = states[0]["current_player"], states[0]["set"]
            self.game.step(states, [action])
            events.append(f"{mover} {self.game.action_names[action]}")
            if states[0]["set"] != set_before and states[0]["current_player"] != NOBODY:
                events.append(restock_event(states[0]))
        return tuple(events)

    def record(self, states: np.ndarray, agents: Iterable[str], fault: Mapping[str, Any] | None = None) -> "Record":
        """The record of the game so far, with its result if the game is over. `states` is (1,), the current state."""
        over = bool(states[0]["current_player"] == NOBODY)
        result = result_to_dict(self.game.results(states)[0]) if over else None
        return Record(
            self.game, self.seed, tuple(agents), self.setup(), self.events(), result, dict(fault) if fault else None
        )


def restock_event(state: Any) -> str:
    """The event of the restock that has just filled the markets of `state`."""
    return RESTOCK + ",".join(map(str, state["market"].sum(axis=0).tolist()))


def result_to_dict(result: Any) -> dict[str, list[Any]]:
    """One record of `Game.results` in the form of RULES 8: `winners` is a list of seats."""
    lists = {name: result[name].tolist() for name in result.dtype.names}
    lists["winners"] = np.flatnonzero(result["winners"]).tolist()
    return lists


@dataclasses.dataclass(frozen=True)
class Record:
    """One game record. `from_dict` checks its form; `replay` and `verify` check that it follows the rules."""

    game: Game
    seed: int | None  # None if chance was given
    agents: tuple[str, ...]  # by seat
    setup: Mapping[str, Any]
    events: tuple[str, ...]
    result: Mapping[str, Any] | None = None
    fault: Mapping[str, Any] | None = None

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read a record from RULES 8's object.

        Raises:
            RecordError: a key is missing, unknown or has a wrong value. Events are checked by `replay`, not here.
        """
        if not isinstance(data, Mapping):
            raise RecordError(f"a record must be a JSON object, not {type(data).__name__}")
        missing = [key for key in _KEYS if key not in data]
        unknown = [key for key in data if key not in (*_KEYS, "fault")]
        if data.get("format") != FORMAT:
            raise RecordError(f"format is {checks.shown(data.get('format'))}; this program reads {FORMAT!r}")
        if missing or unknown:
            found = f"lacks {', '.join(missing)}" if missing else f"has the unknown key {checks.shown(unknown[0])}"
            raise RecordError(f"the record {found}; its keys are {', '.join(_KEYS)} and, after a fault, fault")
        game = _game(data)
        return cls(
            game,
            _seed(data["seed"]),
            _agents(data["agents"], game.num_players),
            _setup(data["setup"]),
            _events(data["events"]),
            _object_or_none(data["result"], "result"),
            _fault(data.get("fault"), game),
        )

    def to_dict(self) -> dict[str, Any]:
        """The record as RULES 8's object, which has the key `fault` only after a fault."""
        board = self.game.board
        data = {
            "format": FORMAT,
            "players": self.game.num_players,
            "board": board.name if board.is_packaged else board.to_dict(),
            "rules": self.game.rules.to_dict(),
            "seed": self.seed,
            "agents": list(self.agents),
            "setup": {key: copy.deepcopy(dict(self.setup[key])) for key in SETUP_KEYS},
            "events": list(self.events),
            "result": copy.deepcopy(dict(self.result)) if self.result is not None else None,
        }
        return data | ({"fault": dict(self.fault)} if self.fault is not None else {})

    def replay(self) -> Iterator[tuple[int, np.recarray[Any, Any]]]:
        """Replay the game: yields the number of each event and the (1,) state after it, a new array each time.

        A restock happens in the step that ends a set, so the state after that step's action already has the new markets.

        Raises:
            RecordError: the set-up or an event breaks the rules. The message names the event's number and the reason.
        """
        states = self._deal()
        yield 0, states.copy()
        number = 1
        while number < len(self.events):
            restock = self._restock_after(number)
            self._play(number, states, restock)
            yield number, states.copy()
            number += 1
            if restock is not None:
                yield number, states.copy()
                number += 1

    def _deal(self) -> np.recarray[Any, Any]:
        if not self.events or not self.events[0].startswith(RESTOCK):
            raise RecordError("event 0 must be the first restock, such as restock:2,3,2,2")
        try:
            self.game.new_states([0], setup=self.setup)
        except ValueError as error:
            raise RecordError(f"setup: {error}") from None
        try:
            return self.game.new_states([self.seed or 0], setup=self.setup, restocks=[self._draw(0)])
        except ValueError as error:
            raise self._refusal(0, str(error)) from None

    def _restock_after(self, number: int) -> list[int] | None:
        following = number + 1
        if following < len(self.events) and self.events[following].startswith(RESTOCK):
            return self._draw(following)
        return None

    def _draw(self, number: int) -> list[int]:
        parts = self.events[number].removeprefix(RESTOCK).split(",")
        if len(parts) != NUM_COLOURS or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
            raise self._refusal(number, f"a restock must list {NUM_COLOURS} whole numbers, one for each colour")
        return [int(part) for part in parts]

    def _play(self, number: int, states: np.recarray[Any, Any], restock: list[int] | None) -> None:
        event = self.events[number]
        mover, set_before = int(states[0]["current_player"]), int(states[0]["set"])
        if mover == NOBODY:
            raise self._refusal(number, "the game is over")
        if event.startswith(RESTOCK):
            raise self._refusal(number, "no restock is due")
        seat, _, name = event.partition(" ")
        if seat != str(mover):
            raise self._refusal(number, f"it is seat {mover}'s turn")
        before = states.copy()
        try:
            self.game.step(states, [self.game.action_index(name)], None if restock is None else [restock])
        except ValueError as error:
            place = number if restock is None or not _legal(self.game, before, name) else number + 1
            raise self._refusal(place, str(error)) from None
        ended = states[0]["set"] != set_before and states[0]["current_player"] != NOBODY
        if ended and restock is None:
            raise self._refusal(number, "it ends the set, so a restock must follow")
        if not ended and restock is not None:
            raise self._refusal(number + 1, "no restock is due")

    def _refusal(self, number: int, reason: str) -> RecordError:
        return RecordError(f"event {number} {checks.shown(self.events[number])}: {reason}")

    def verify(self) -> np.recarray[Any, Any]:
        """Replay the whole record and compare its result with the game's. Returns the last state, (1,).

        Raises:
            RecordError: an event breaks the rules, or the recorded result is wrong.
        """
        *_, (_, states) = self.replay()
        over = bool(self.game.is_terminal(states)[0])
        if over and self.fault is not None:
            raise RecordError("the record has a fault, but its game ended normally; fault must be left out")
        if not over and self.result is not None:
            raise RecordError(f"the game is not over after event {len(self.events) - 1}, so result must be null")
        if over:
            self._check_result(result_to_dict(self.game.results(states)[0]))
        return states

    def _check_result(self, found: dict[str, list[Any]]) -> None:
        if self.result is None or set(self.result) != set(found):
            raise RecordError(f"the game is over, so result must have the keys {', '.join(found)}")
        for key, value in found.items():
            if not _same(self.result[key], value):
                raise RecordError(f"result {key} is {checks.shown(self.result[key])}; the game ended with {value}")


def read_records(path: str | Path) -> Iterator[Record]:
    """Read the records of a `.jsonl` file one by one, one record a line. Empty lines are skipped.

    Raises:
        RecordError: the file cannot be read, or a line is longer than `MAX_LINE_BYTES`, is not strict JSON, or is not a record.
            The message names the file, the line and the reason.
    """
    try:
        for number, line in json_text.lines(path, MAX_LINE_BYTES):
            yield _parse(line, f"{checks.shown_path(path)}, line {number}")
    except RecordError:
        raise
    except ValueError as error:
        raise RecordError(str(error)) from None


def write_records(path: str | Path, records: Iterable[Record]) -> int:
    """Write a `.jsonl` file, one record a line, atomically. Returns the number of records.

    Raises:
        OSError: the file cannot be written; an old one has not changed.
    """
    return atomic.write_lines(path, (json.dumps(record.to_dict(), ensure_ascii=False) for record in records))


def _parse(line: bytes, where: str) -> Record:
    try:
        return Record.from_dict(json_text.parse(line, MAX_LINE_BYTES))
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None


def _game(data: Mapping[str, Any]) -> Game:
    rules = data["rules"]
    fields = [field.name for field in dataclasses.fields(Rules)]
    if not isinstance(rules, Mapping) or set(rules) != set(fields):
        raise RecordError(f"rules must be an object with exactly the fields {', '.join(fields)}")
    try:
        game = Game(Rules.from_dict(rules), _board(data["board"]))
    except ValueError as error:
        raise RecordError(str(error)) from None
    if not checks.is_whole_number(data["players"], game.num_players, game.num_players):
        raise RecordError(f"players is {checks.shown(data['players'])}, but the rules are for {game.num_players}")
    return game


def _board(board: Any) -> Board:
    if not isinstance(board, str):
        return Board.from_dict(board, "board")
    packaged = Board.load()
    if board != packaged.name:
        raise RecordError(f"board is {checks.shown(board)}; it must be {packaged.name!r} or a board as an object")
    return packaged


def _seed(seed: Any) -> int | None:
    if seed is not None and not checks.is_whole_number(seed, 0, checks.MAX_SEED):
        raise RecordError(
            f"seed is {checks.shown(seed)}; it must be null or a whole number from 0 to {checks.MAX_SEED}"
        )
    return None if seed is None else int(seed)


def _agents(agents: Any, count: int) -> tuple[str, ...]:
    if not isinstance(agents, list) or len(agents) != count or not all(map(_is_text, agents)):
        raise RecordError(f"agents is {checks.shown(agents)}; it must be a list of {count} strings, by seat")
    return tuple(agents)


def _is_text(name: Any) -> bool:
    """Whether it is a text that UTF-8 can write: a surrogate, as in the name of a file that is no UTF-8, cannot be written."""
    return isinstance(name, str) and not SURROGATE.search(name)


def _setup(setup: Any) -> dict[str, Any]:
    if not isinstance(setup, Mapping) or set(setup) != set(SETUP_KEYS):
        raise RecordError(f"setup must be an object with exactly the keys {', '.join(SETUP_KEYS)}")
    for key in SETUP_KEYS:
        if not isinstance(setup[key], Mapping) or not all(_is_set_up(key, *entry) for entry in setup[key].items()):
            entry = "each city to a list of colours" if key == "demand" else "each site to the name of its token"
            raise RecordError(f"setup {key} is {checks.shown(setup[key])}; it must be an object that maps {entry}")
    return copy.deepcopy({key: dict(setup[key]) for key in SETUP_KEYS})


def _is_set_up(key: str, site: Any, given: Any) -> bool:
    if key == "demand":
        return isinstance(site, str) and isinstance(given, list) and all(isinstance(colour, str) for colour in given)
    return isinstance(site, str) and isinstance(given, str)


def _events(events: Any) -> tuple[str, ...]:
    if not isinstance(events, list) or not all(isinstance(event, str) for event in events):
        raise RecordError("events must be a list of strings")
    if len(events) > MAX_EVENTS:
        raise RecordError(f"events has {len(events)} entries; a game has at most {MAX_EVENTS}")
    return tuple(events)


def _object_or_none(value: Any, key: str) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, Mapping):
        raise RecordError(f"{key} is {checks.shown(value)}; it must be null or an object")
    return None if value is None else dict(value)


def _fault(fault: Any, game: Game) -> dict[str, Any] | None:
    checked = _object_or_none(fault, "fault")
    if checked is None:
        return None
    fits = set(checked) == set(FAULT_KEYS) and all(isinstance(checked[key], str) for key in ("action", "reason"))
    if not fits or not checks.is_whole_number(checked["seat"], 0, game.num_players - 1):
        raise RecordError(
            f"fault is {checks.shown(fault)}; it must be an object with the keys {', '.join(FAULT_KEYS)}: seat is a whole "
            f"number from 0 to {game.num_players - 1}, action and reason are strings"
        )
    return checked | {"seat": int(checked["seat"])}


def _legal(game: Game, states: np.ndarray, name: str) -> bool:
    return name in game.action_names and bool(game.legal_actions(states)[0, game.action_index(name)])


def _same(given: Any, value: list[Any]) -> bool:
    """Whether both lists have equal numbers, up to rounding for floats."""
    if not isinstance(given, list) or len(given) != len(value):
        return False
    numbers = all(isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in given)
    # Whole numbers are compared exactly: one from a file may be too large for a float.
    return numbers and all(
        a == b or (isinstance(a, float) and math.isclose(a, b, abs_tol=1e-9)) for a, b in zip(given, value, strict=True)
    )
