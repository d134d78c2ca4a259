"""Game records: write, read, replay, verify (RULES 8).

A record holds all that chance and the players decided, so that a game can be replayed anywhere. `History` collects the events of
one game while it runs; `Record` is one JSON object, checked. Replaying plays every event through `Game`, so nothing that breaks
the rules gets by. Knows no environment and no agent.
"""

import copy
import dataclasses
import json
import math
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from bombay_env.board import Board
from bombay_env.checks import MAX_SEED
from bombay_env.game import Game
from bombay_env.rules import NUM_COLOURS, Rules
from bombay_env.setup import SETUP_KEYS
from bombay_env.state import NOBODY, state_to_dict

FORMAT: Final = "bombay-record/1"
RESTOCK: Final = "restock:"
FAULT_KEYS: Final = ("seat", "action", "reason")
SHORT: Final = reprlib.Repr()  # shows what a file holds in a message: neither long nor deep
SHORT.maxstring = SHORT.maxother = 80
_KEYS: Final = ("format", "players", "board", "rules", "seed", "agents", "setup", "events", "result")


class RecordError(ValueError):
    """A record that is not one, or that does not follow the rules; the message names the event's number and the reason."""


class History:
    """The decisions of one game from a state on; the events that a record lists are found when it is asked for.

    Args:
        game: the rules and the board.
        states: (1,) the state as dealt, first restock included, or where a record left off.
        seed: what dealt the game and will deal its restocks; None when chance was given.
        so_far: the record that led to the state; none if the game was just dealt.
    """

    def __init__(self, game: Game, states: np.ndarray, seed: int | None, so_far: "Record | None" = None) -> None:
        self.game = game
        self.seed = seed
        self.start = states.copy()
        self.so_far = so_far
        self.actions: list[int] = []

    def add(self, action: int) -> None:
        """Note the action just taken."""
        self.actions.append(action)

    def setup(self) -> dict[str, Any]:
        """What chance laid out before the first decision (RULES 8)."""
        if self.so_far is not None:
            return dict(self.so_far.setup)
        dealt = state_to_dict(self.start[0], self.game.rules, self.game.board)
        return {key: dealt[key] for key in SETUP_KEYS}

    def events(self) -> tuple[str, ...]:
        """All events so far, found by playing the decisions again from the start."""
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
        """The game so far, with its result if it is over. `states` is (1,), where the game stands now."""
        over = bool(states[0]["current_player"] == NOBODY)
        result = result_to_dict(self.game.results(states)[0]) if over else None
        return Record(
            self.game, self.seed, tuple(agents), self.setup(), self.events(), result, dict(fault) if fault else None
        )


def restock_event(state: Any) -> str:
    """The event of the restock that has just filled the markets of a record."""
    return RESTOCK + ",".join(map(str, state["market"].sum(axis=0).tolist()))


def result_to_dict(result: Any) -> dict[str, list[Any]]:
    """One record of `Game.results` as RULES 8 writes it: `winners` as a list of seats."""
    lists = {name: result[name].tolist() for name in result.dtype.names}
    lists["winners"] = np.flatnonzero(result["winners"]).tolist()
    return lists


@dataclasses.dataclass(frozen=True)
class Record:
    """One game record. `from_dict` checks its form, `replay` and `verify` that it follows the rules."""

    game: Game
    seed: int | None  # None when chance was given
    agents: tuple[str, ...]  # by seat
    setup: Mapping[str, Any]
    events: tuple[str, ...]
    result: Mapping[str, Any] | None = None
    fault: Mapping[str, Any] | None = None

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read RULES 8's object.

        Raises:
            RecordError: naming the key that is wrong and what it must be. Events are looked at by `replay`.
        """
        if not isinstance(data, Mapping):
            raise RecordError(f"a record must be a JSON object, not {type(data).__name__}")
        missing = [key for key in _KEYS if key not in data]
        unknown = [SHORT.repr(key) for key in data if key not in (*_KEYS, "fault")]
        if data.get("format") != FORMAT:
            raise RecordError(f"format is {SHORT.repr(data.get('format'))}; this program reads {FORMAT!r}")
        if missing or unknown:
            found = f"lacks {', '.join(missing)}" if missing else f"has the unknown key {', '.join(unknown)}"
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
        """RULES 8's object; `fault` is there only after a fault."""
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
        """Play the record: yields the number of each event in turn and the (1,) state after it, a fresh copy each time.

        A restock comes about in the step that ends a set, so the action before it yields the state with markets filled.

        Raises:
            RecordError: naming the event's number and why it cannot be.
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
            raise RecordError(f"event 0 {self.events[0]!r}: {error}") from None

    def _restock_after(self, number: int) -> list[int] | None:
        following = number + 1
        if following < len(self.events) and self.events[following].startswith(RESTOCK):
            return self._draw(following)
        return None

    def _draw(self, number: int) -> list[int]:
        parts = self.events[number].removeprefix(RESTOCK).split(",")
        if len(parts) != NUM_COLOURS or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts):
            raise RecordError(f"event {number} {self.events[number]!r}: a restock lists four whole numbers by colour")
        return [int(part) for part in parts]

    def _play(self, number: int, states: np.recarray[Any, Any], restock: list[int] | None) -> None:
        event = self.events[number]
        mover, set_before = int(states[0]["current_player"]), int(states[0]["set"])
        if mover == NOBODY:
            raise RecordError(f"event {number} {event!r}: the game is over")
        if event.startswith(RESTOCK):
            raise RecordError(f"event {number} {event!r}: no restock is due")
        seat, _, name = event.partition(" ")
        if seat != str(mover):
            raise RecordError(f"event {number} {event!r}: it is seat {mover}'s turn")
        before = states.copy()
        try:
            self.game.step(states, [self.game.action_index(name)], None if restock is None else [restock])
        except ValueError as error:
            place = number if restock is None or not _legal(self.game, before, name) else number + 1
            raise RecordError(f"event {place} {self.events[place]!r}: {error}") from None
        ended = states[0]["set"] != set_before and states[0]["current_player"] != NOBODY
        if ended and restock is None:
            raise RecordError(f"event {number} {event!r} ends the set; a restock must follow it")
        if not ended and restock is not None:
            raise RecordError(f"event {number + 1} {self.events[number + 1]!r}: no restock is due")

    def verify(self) -> np.recarray[Any, Any]:
        """Replay all of it and hold the result against the one recorded. Returns the (1,) state at the end.

        Raises:
            RecordError: an event breaks the rules, or the result is not the game's.
        """
        *_, (_, states) = self.replay()
        over = bool(self.game.is_terminal(states)[0])
        if over and self.fault is not None:
            raise RecordError("the record has a fault, but its game was played to the end")
        if not over and self.result is not None:
            raise RecordError(f"after event {len(self.events) - 1} the game is not over, so result must be null")
        if over:
            self._check_result(result_to_dict(self.game.results(states)[0]))
        return states

    def _check_result(self, found: dict[str, list[Any]]) -> None:
        if self.result is None or set(self.result) != set(found):
            raise RecordError(f"the game is over, so result must have the keys {', '.join(found)}")
        for key, value in found.items():
            if not _same(self.result[key], value):
                raise RecordError(f"result {key} is {SHORT.repr(self.result[key])}; the game ended with {value}")


def read_records(path: str | Path) -> Iterator[Record]:
    """The records of a `.jsonl` file, one a line; empty lines are passed over.

    Raises:
        RecordError: naming the file, the line and what is wrong with it.
    """
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _parse(line, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RecordError(f"{path} cannot be read: {reason}") from None


def write_records(path: str | Path, records: Iterable[Record]) -> int:
    """Write a `.jsonl` file, one record a line, whole or not at all. Returns the number of records."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    count = 0
    try:
        with open(draft, "w", encoding="utf-8") as lines:
            for record in records:
                lines.write(json.dumps(record.to_dict(), ensure_ascii=False) + "\n")
                count += 1
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return count


def _parse(line: str, where: str) -> Record:
    try:
        return Record.from_dict(json.loads(line))
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from None
    except (ValueError, RecursionError) as error:  # broken, over-long numbers, or nested beyond reason
        raise RecordError(f"{where}: not JSON: {error}") from None


def _game(data: Mapping[str, Any]) -> Game:
    rules = data["rules"]
    fields = [field.name for field in dataclasses.fields(Rules)]
    if not isinstance(rules, Mapping) or set(rules) != set(fields):
        raise RecordError(f"rules must have every field of Rules and no other: {', '.join(fields)}")
    try:
        game = Game(Rules.from_dict(rules), _board(data["board"]))
    except ValueError as error:
        raise RecordError(str(error)) from None
    if isinstance(data["players"], bool) or data["players"] != game.num_players:
        raise RecordError(f"players is {SHORT.repr(data['players'])}, but the rules are for {game.num_players}")
    return game


def _board(board: Any) -> Board:
    if not isinstance(board, str):
        return Board.from_dict(board, "board")
    packaged = Board.load()
    if board != packaged.name:
        raise RecordError(f"board is {SHORT.repr(board)}; it must be {packaged.name!r} or a whole board as an object")
    return packaged


def _seed(seed: Any) -> int | None:
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED):
        raise RecordError(f"seed is {SHORT.repr(seed)}; it must be null or a whole number from 0 to {MAX_SEED}")
    return seed


def _agents(agents: Any, count: int) -> tuple[str, ...]:
    if not isinstance(agents, list) or len(agents) != count or not all(isinstance(name, str) for name in agents):
        raise RecordError(f"agents is {SHORT.repr(agents)}; it must be a list of {count} names, by seat")
    return tuple(agents)


def _setup(setup: Any) -> dict[str, Any]:
    if not isinstance(setup, Mapping) or set(setup) != set(SETUP_KEYS):
        raise RecordError(f"setup must be an object with the keys {', '.join(SETUP_KEYS)}")
    for key in SETUP_KEYS:
        if not isinstance(setup[key], Mapping) or not all(_is_set_up(key, *entry) for entry in setup[key].items()):
            what = "the list of its colours" if key == "demand" else "its token"
            raise RecordError(
                f"setup {key} is {SHORT.repr(setup[key])}; it must be an object that gives each site {what}"
            )
    return copy.deepcopy({key: dict(setup[key]) for key in SETUP_KEYS})


def _is_set_up(key: str, site: Any, given: Any) -> bool:
    if key == "demand":
        return isinstance(site, str) and isinstance(given, list) and all(isinstance(colour, str) for colour in given)
    return isinstance(site, str) and isinstance(given, str)


def _events(events: Any) -> tuple[str, ...]:
    if not isinstance(events, list) or not all(isinstance(event, str) for event in events):
        raise RecordError("events must be a list of strings")
    return tuple(events)


def _object_or_none(value: Any, key: str) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, Mapping):
        raise RecordError(f"{key} is {SHORT.repr(value)}; it must be null or an object")
    return None if value is None else dict(value)


def _fault(fault: Any, game: Game) -> dict[str, Any] | None:
    checked = _object_or_none(fault, "fault")
    if checked is None:
        return None
    fits = set(checked) == set(FAULT_KEYS) and all(isinstance(checked[key], str) for key in ("action", "reason"))
    if not fits or type(checked["seat"]) is not int or checked["seat"] not in range(game.num_players):
        raise RecordError(
            f"fault is {SHORT.repr(fault)}; it must have the keys {', '.join(FAULT_KEYS)}, seat one of the game's, "
            f"the others texts"
        )
    return checked


def _legal(game: Game, states: np.ndarray, name: str) -> bool:
    return name in game.action_names and bool(game.legal_actions(states)[0, game.action_index(name)])


def _same(given: Any, value: list[Any]) -> bool:
    """Equal lists of numbers, win shares up to rounding."""
    if not isinstance(given, list) or len(given) != len(value):
        return False
    numbers = all(isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in given)
    # Whole numbers are compared as such: one from a file may be too large for a float.
    return numbers and all(
        a == b or (isinstance(a, float) and math.isclose(a, b, abs_tol=1e-9)) for a, b in zip(given, value, strict=True)
    )
