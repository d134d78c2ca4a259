"""Game records: write, read, replay, verify (RULES 8).

A record contains every decision of chance and of the players, so a game can be replayed anywhere. `History` collects the
decisions of one game while it runs. `Record` is one JSON object, checked. A replay plays every event through `Game`, so it
detects every event that breaks the rules. This module does not know environments or agents.
"""

import copy
import dataclasses
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import Field

from bombay_env import checks
from bombay_env.board import Board
from bombay_env.files import atomic
from bombay_env.files.forms import Form, check, parse
from bombay_env.files.reading import unreadable
from bombay_env.game import Game, IllegalActionError
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS, Rules
from bombay_env.setup import SETUP_KEYS
from bombay_env.state import NOBODY, state_to_dict

FORMAT: Final = "bombay-record/1"
RESTOCK: Final = "restock:"
MAX_LINE_BYTES: Final = 1 << 20  # of one record in a file
MAX_EVENTS: Final = 20_000  # the longest game has some 18,000: 20 sets of 20 turns of 5 players with 9 actions each


class Fault(Form):
    """Who lost the game without ending it (RULES 8)."""

    seat: int
    action: str
    reason: str


class Setup(Form):
    """The set-up: each city's column of demand, the colour of each post, and the palace token of each site (RULES 8)."""

    demand: dict[str, list[str]]
    posts: dict[str, str]
    palace_tokens: dict[str, str]


class RecordForm(Form):
    """A record as an object (RULES 8). `Board` and `Rules` check the board and the rules."""

    format: Literal["bombay-record/1"]  # as FORMAT
    players: int
    board: Any
    rules: dict[str, Any]
    seed: Annotated[int, Field(ge=0, le=checks.MAX_SEED)] | None
    agents: Annotated[list[str], Field(max_length=MAX_PLAYERS)]
    setup: Setup
    events: Annotated[list[str], Field(max_length=MAX_EVENTS)]
    result: dict[str, Any] | None
    fault: Fault | None = None


class RecordError(ValueError):
    """A record is malformed or breaks the rules. The message names the key, or the number of the event, and the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(checks.message(str(message)))  # AsyncVectorEnv makes an error from the error itself


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
        try:
            form = check(RecordForm, data, "record")
            game = _game(form)
        except ValueError as error:
            raise RecordError(str(error)) from None
        if len(form.agents) != game.num_players:
            raise RecordError(
                f"agents is {checks.shown(form.agents)}; it must be a list of {game.num_players}, by seat"
            )
        if form.fault is not None and not 0 <= form.fault.seat < game.num_players:
            raise RecordError(f"fault.seat is {form.fault.seat}; it must be from 0 to {game.num_players - 1}")
        fault = None if form.fault is None else form.fault.model_dump()
        return cls(game, form.seed, tuple(form.agents), form.setup.model_dump(), tuple(form.events), form.result, fault)

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
            states = self.game.new_states([self.seed or 0], setup=self.setup, restocks=[self._draw(0)])
        except ValueError as error:
            raise self._refusal(0, str(error)) from None
        if self.seed is not None and (states != self.game.new_states([self.seed])).any():
            raise RecordError(f"seed is {self.seed}, which deals another game; it must be null where chance was given")
        return states

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
        before, place = states.copy(), number
        try:
            action = self.game.action_index(name)
            place += restock is not None
            self.game.step(states, [action], None if restock is None else [restock])
        except IllegalActionError as error:
            raise self._refusal(number, str(error)) from None
        except ValueError as error:
            raise self._refusal(place, str(error)) from None
        ended = states[0]["set"] != set_before and states[0]["current_player"] != NOBODY
        if ended and restock is None:
            raise self._refusal(number, "it ends the set, so a restock must follow")
        if not ended and restock is not None:
            raise self._refusal(number + 1, "no restock is due")
        if restock is not None and self.seed is not None:
            self.game.step(before, [action])
            if (states != before).any():
                raise self._refusal(number + 1, f"seed {self.seed} draws {restock_event(before[0])}")

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
        RecordError: the file cannot be read, or a line is longer than `MAX_LINE_BYTES`, is no JSON, or is not a record.
            The message names the file, the line and the reason.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115  closed below, when all records are read
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise RecordError(unreadable(path, error)) from None
    with file:
        for number in itertools.count(1):
            line = file.readline(MAX_LINE_BYTES + 1)
            if not line:
                return
            if line.strip():
                yield _parse(line, f"{checks.shown_path(path)}, line {number}")


def write_records(path: str | Path, records: Iterable[Record]) -> int:
    """Write a `.jsonl` file, one record a line, atomically. Returns the number of records.

    Raises:
        OSError: the file cannot be written; an old one has not changed.
    """
    return atomic.write_lines(path, (json.dumps(record.to_dict(), ensure_ascii=False) for record in records))


def _parse(line: bytes, where: str) -> Record:
    if len(line) > MAX_LINE_BYTES:
        raise RecordError(f"{where} is longer than the {MAX_LINE_BYTES:,} bytes allowed")
    try:
        return Record.from_dict(parse(dict[str, Any], line, "record"))
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None


def _game(form: RecordForm) -> Game:
    """The game of a record. Raises ValueError."""
    fields = [field.name for field in dataclasses.fields(Rules)]
    if set(form.rules) != set(fields):
        raise ValueError(f"rules must have exactly the fields {', '.join(fields)}")
    board = Board.load()
    if not isinstance(form.board, str):
        board = Board.from_dict(form.board, "board")
    elif form.board != board.name:
        raise ValueError(f"board is {checks.shown(form.board)}; it must be {board.name!r} or a board as an object")
    game = Game(Rules.from_dict(form.rules), board)
    if form.players != game.num_players:
        raise ValueError(f"players is {form.players}, but the rules are for {game.num_players}")
    return game


def _same(given: Any, value: list[Any]) -> bool:
    """Whether both lists have equal numbers, up to rounding for floats."""
    if not isinstance(given, list) or not all(type(entry) in (int, float) for entry in given):
        return False
    # Whole numbers are compared exactly: one from a file may be too large for a float.
    return len(given) == len(value) and all(
        a == b or (isinstance(a, float) and math.isclose(a, b, abs_tol=1e-9)) for a, b in zip(given, value, strict=True)
    )
