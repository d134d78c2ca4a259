"""`bombay play --text`: the same game in the terminal, by numbers and names."""

import json
import sys
from pathlib import Path
from typing import Final

import numpy as np

from bombay_env.text import describe_position
from bombay_training.play.account import COLUMNS, account
from bombay_training.play.hints import hints, make_adviser
from bombay_training.play.messages import choices, log
from bombay_training.play.session import Session, SessionError

HELP: Final = "a number or a name takes an action; also: undo, hint, record FILE, help, quit"


class Terminal:
    """A game in the terminal.

    Args:
        session: the game.
        adviser: spec of the agent that gives hints.
    """

    def __init__(self, session: Session, adviser: str) -> None:
        self.session, self.adviser = session, adviser
        self._told = 0
        self._drawn = -1  # version of the position that was drawn

    def play(self) -> None:
        """Play to the end of the game, or until `quit` or the end of the input."""
        print(HELP)
        while True:
            self.session.think()
            self._tell()
            if self.session.over:
                break
            line = self._asked()
            if line is None or line == "quit":
                return
            try:
                self._answer(line)
            except (SessionError, ValueError, OSError) as error:
                print(f"  {error}")
        self._print_account()
        while (line := _input("record FILE, or quit: ")) not in (None, "quit"):
            try:
                self._answer(line)
            except (SessionError, ValueError, OSError) as error:
                print(f"  {error}")

    def _tell(self) -> None:
        """Print the events that are new, and the position unless it is the one that was printed last."""
        session = self.session
        events = log(session.log, session.viewer if session.screened and not session.over else None)
        self._told = min(self._told, len(events))
        for event in events[self._told :]:
            print(event["words"] if event["seat"] is None else f"seat {event['seat']}: {event['words']}")
        self._told = len(events)
        if session.fault:
            print(f"  the agent in seat {session.fault[0]} failed, and the game is as before: {session.fault[1]}")
            print("  answer retry, or replace AGENT, or replace human")
        elif self._drawn != session.version and not session.handing_over:
            print(f"\n{describe_position(session.game, session.states, session.viewer)}\n")
            for number, choice in enumerate(choices(session), 1):
                effect = f": {choice['effect']}" if choice["effect"] else ""
                print(f"{number:>3}  {choice['action']:<16}{choice['words']}{effect}")
        self._drawn = session.version

    def _asked(self) -> str | None:
        session = self.session
        if session.fault:
            return _input("agent> ")
        if session.handing_over:
            return None if _input(f"only seat {session.mover} looks at the screen? Enter> ") is None else "ready"
        return _input(f"seat {session.mover}> ")

    def _answer(self, line: str) -> None:
        session, version = self.session, self.session.version
        word, _, rest = line.partition(" ")
        if word == "undo":
            session.undo(version)
        elif word == "ready":
            session.ready(version)
        elif word == "retry":
            session.retry(version)
        elif word == "replace":
            from bombay_training.play.seats import make_seat

            session.replace(version, make_seat(rest.strip()))
        elif word == "hint":
            self._print_hints()
        elif word == "record":
            self._save(rest.strip())
        elif word == "help" or not word:
            print(HELP)
        else:
            legal = session.legal()
            session.act(version, legal[int(word) - 1] if word.isdigit() and 0 < int(word) <= len(legal) else word)

    def _print_hints(self) -> None:
        session = self.session
        session.check_hint(session.version)
        print(f"{self.adviser} is thinking …", file=sys.stderr)
        states = session.states.copy()
        states["seed"] = 0
        rng = np.random.default_rng(session.seed)
        for place, hint in enumerate(hints(make_adviser(self.adviser), session.game, states, rng), 1):
            print(f"{place}. {', then '.join(hint.turn)}: wins {100 * hint.win_share:.0f} %. {hint.why}")
            if hint.line:
                print(f"   Then it expects {'; '.join(hint.line)}.")

    def _save(self, name: str) -> None:
        if not name:
            raise ValueError("record needs the name of a new file")
        content = json.dumps(self.session.record().to_dict(), ensure_ascii=False) + "\n"
        with Path(name).open("x", encoding="utf-8") as file:
            file.write(content)
        print(f"the record is in {name}")

    def _print_account(self) -> None:
        rows = account(self.session.record())
        width = max(map(len, COLUMNS))
        print(f"\n{'':<{width}}" + "".join(f"  seat {seat}" for seat in range(len(rows))))
        for column in COLUMNS:
            print(f"{column:<{width}}" + "".join(f"  {row[column]:>6}" for row in rows))
        print(f"{'wins':<{width}}" + "".join(f"  {'yes' if row['wins'] else '':>6}" for row in rows))


def play(session: Session, adviser: str) -> None:
    """Play in the terminal; hints come from the agent `adviser`."""
    Terminal(session, adviser).play()


def _input(prompt: str) -> str | None:
    """A line without surrounding spaces, None at the end of the input."""
    try:
        return input(prompt).strip()
    except EOFError:
        print()
        return None
