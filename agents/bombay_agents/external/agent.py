"""`ExecAgent`: an agent that asks a program outside. docs/external.md describes what the two say to each other."""

import json
import os
import shlex
import shutil
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, Literal, NoReturn

import numpy as np
from pydantic import ConfigDict, Field

from bombay_agents.external.process import Program, ProgramError
from bombay_env import Game, checks
from bombay_env.agent import NO_ACTION, FailedLanes, lane_keys
from bombay_env.files.forms import Form, Kind, parse
from bombay_env.registry import described, format_spec
from bombay_env.state import state_to_dict
from bombay_env.text import (
    AnswerError,
    describe_actions,
    describe_board,
    describe_position,
    describe_rules,
    parse_answer,
)

PROTOCOL: Final = "bombay-exec/1"
PARTS: Final = ("state", "observation", "text")  # of a question, besides the legal actions
MEGABYTE: Final = 1 << 20
MAX_SECONDS: Final = 86_400.0
MAX_MEMORY: Final = 1 << 20  # megabytes
MIN_MEMORY: Final = 16
MAX_PLANNED: Final = 65_536  # states with a decision given before; the oldest are dropped


class Ready(Form):
    """The first line of a program."""

    model_config = ConfigDict(extra="ignore")
    type: Literal["ready"]
    wants: list[Literal["state", "observation", "text"]] = Field(["state"])


class Answer(Form):
    """The answer to a question."""

    model_config = ConfigDict(extra="ignore")
    id: int
    action: Any


@described("as the program", least=None)
class ExecAgent:
    """A program outside, in any language, that is asked over standard input and answers over standard output, in JSON lines.

    A program that ends, takes too long or answers wrongly loses the game in which it does. It is then started anew for the next
    question.

    Args:
        command: the program with its arguments, as a shell splits them, but no shell runs it; in brackets if it has commas, as in
            [python bot.py --sizes 1,2].
        seconds: seconds for an answer, from 0.001 to 86400; by default 10. An answer may be a whole turn.
        start: seconds from the program's start until it is ready, from 0.001 to 86400; by default 60.
        memory: megabytes of address space for each of its processes, from 16 to 1048576; by default 4096. 0 is no limit.

    Raises:
        ValueError: an option is out of range, or there is no such program.
    """

    def __init__(self, command: str, seconds: float = 10.0, start: float = 60.0, memory: int = 4096) -> None:
        command = command.strip()
        self.command = _split(command)
        for name, value in (("seconds", seconds), ("start", start)):
            if not 0.001 <= value <= MAX_SECONDS:
                raise ValueError(f"exec: {name} is {value}; it must be from 0.001 to {MAX_SECONDS:g}")
        if memory != 0 and not MIN_MEMORY <= memory <= MAX_MEMORY:
            raise ValueError(f"exec: memory is {memory}; it must be 0 or from {MIN_MEMORY} to {MAX_MEMORY} megabytes")
        self._options = (command, seconds, start, memory)
        self.seconds, self.start, self.memory = seconds, start, memory
        self.name = format_spec("exec", command=command)
        self._lock = threading.RLock()  # threads may share the agent; they take turns
        self._session: _Session | None = None
        self._planned: OrderedDict[tuple[Game, bytes], int] = (
            OrderedDict()
        )  # later decisions of a turn that was answered whole

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._options, {"name": self.name}  # a copy starts a program of its own

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Ask the program about each state, (batch,) int64.

        Raises:
            FailedLanes: it failed in some of them.
        """
        records = game.check_states(states).copy()
        records["seed"] = 0
        randoms = lane_keys(rng, len(records)) >> np.uint64(32)
        actions, failures = np.full(len(records), -1, np.int64), {}
        with self._lock:
            for lane in range(len(records)):
                try:
                    actions[lane] = self._decide(game, records[lane : lane + 1], int(randoms[lane]))
                except _LostError as wrong:
                    failures[lane] = wrong.action, wrong.reason
        if failures:
            raise FailedLanes(actions, failures)
        return actions

    def close(self) -> None:
        """End the program. The next question starts it anew."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _decide(self, game: Game, states: np.ndarray, random: int) -> int:
        planned = self._planned.pop((game, states.tobytes()), None)
        if planned is not None:
            return planned
        first, *rest = self._ask(game, states, random)
        after = states.copy()
        for before, action in zip([first, *rest], rest, strict=False):
            game.step(after, [before])
            self._planned[game, after.tobytes()] = action
        while len(self._planned) > MAX_PLANNED:
            self._planned.popitem(last=False)
        return first

    def _ask(self, game: Game, states: np.ndarray, random: int) -> list[int]:
        """The actions of the program's answer. Raises _LostError."""
        try:
            session = self._session = self._session or _Session(self)
            return session.ask(game, states, random)
        except (ProgramError, AnswerError) as error:
            self._session = None
            action = getattr(error, "action", None)
            raise _LostError(str(error), NO_ACTION if action is None else game.action_names[action]) from None


class _LostError(Exception):
    """The program has lost this game."""

    def __init__(self, reason: str, action: str = NO_ACTION) -> None:
        super().__init__(reason)
        self.reason, self.action = checks.message(reason), action


class _Session:
    """A running program and what it was told so far."""

    def __init__(self, agent: ExecAgent) -> None:
        self.seconds, self.asked = agent.seconds, 0
        self.game: Game | None = None  # that the program knows
        self.program = Program(agent.command, agent.memory * MEGABYTE)
        # Also when the agent is dropped, and when Python ends.
        self.close = weakref.finalize(self, self.program.close)
        start = {
            "type": "start",
            "protocol": PROTOCOL,
            "seconds": agent.seconds,
            "memory_mb": agent.memory or None,
        }
        self.wants = self._exchange([start], agent.start, Ready).wants

    def ask(self, game: Game, states: np.ndarray, random: int) -> list[int]:
        """Ask about one state whose seed is zero. Raises ProgramError and AnswerError."""
        messages = []
        if game != self.game:
            messages.append(_game_message(game, "text" in self.wants))
            self.game = game
        self.asked += 1
        messages.append(self._question(game, states, random))
        answer = self._exchange(messages, self.seconds, Answer)
        if answer.id != self.asked:
            self._fail(f"it answered question {answer.id} instead of question {self.asked}")
        try:
            return parse_answer(game, states, answer.action)
        except AnswerError:
            self.program.end()
            raise

    def _question(self, game: Game, states: np.ndarray, random: int) -> dict[str, Any]:
        legal = np.flatnonzero(game.legal_actions(states)[0]).tolist()
        parts: dict[str, Callable[[], Any]] = {
            "state": lambda: _facts(game, states),
            "observation": lambda: game.observe(states)[0].tolist(),
            "text": lambda: f"{describe_position(game, states)}\n\n{describe_actions(game, states)}",
        }
        return {
            "type": "act",
            "id": self.asked,
            "seat": int(states[0]["current_player"]),
            "random": random,
            "legal": [{"action": action, "name": game.action_names[action]} for action in legal],
        } | {name: parts[name]() for name in PARTS if name in self.wants}

    def _exchange(self, messages: list[dict[str, Any]], seconds: float, form: type[Kind]) -> Kind:
        """Send messages and return the program's answer, an object of this form. Raises ProgramError."""
        lines = "".join(json.dumps(message) + "\n" for message in messages)
        line = self.program.exchange(lines.encode(), seconds)
        try:
            return parse(form, line, "its answer")
        except ValueError as error:
            self._fail(f"it wrote {checks.shown(line)}: {error}")

    def _fail(self, reason: str) -> NoReturn:
        self.program.end()
        raise ProgramError(reason)


def _split(command: str) -> tuple[str, ...]:
    """The parts of a command. Raises ValueError."""
    if os.name != "posix":
        raise ValueError("exec players need a POSIX system, such as Linux or macOS")
    try:
        parts = tuple(shlex.split(command))
    except ValueError as error:
        raise ValueError(f"exec: command {checks.shown(command)} cannot be split: {error}") from None
    if not parts or shutil.which(parts[0]) is None:
        found = checks.shown(parts[0]) if parts else "nothing"
        raise ValueError(f"exec: command starts with {found}, which is no program that can be run here")
    return parts


def _game_message(game: Game, in_words: bool) -> dict[str, Any]:
    message: dict[str, Any] = {
        "type": "game",
        "players": game.num_players,
        "rules": game.rules.to_dict(),
        "board": game.board.to_dict(),
        "actions": list(game.action_names),
    }
    if in_words:
        message["text"] = f"{describe_rules(game)}\n\n## Trails\n{describe_board(game)}"
    return message


def _facts(game: Game, states: np.ndarray) -> dict[str, Any]:
    """The named facts of a state but the seed."""
    facts = state_to_dict(states[0], game.rules, game.board)
    del facts["seed"]
    return facts
