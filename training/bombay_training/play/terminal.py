"""`bombay play --text`: the same game in the terminal, by numbers and names."""

import contextlib
import json
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Final

from bombay_env.state import turn_of
from bombay_env.text import (
    action_effects,
    describe_board,
    describe_position,
    describe_result,
    describe_rules,
    explain_sites,
    parse_answer,
    summarize_rules,
)
from bombay_training.play.account import COLUMNS, account
from bombay_training.play.hints import hints, make_adviser
from bombay_training.play.messages import news
from bombay_training.play.session import END_TURN, Session, SessionError

WELCOME: Final = (
    "New to the game? `rules` shows the rules in short, `sites` lists the board, and `help` lists all commands."
)
COMMANDS: Final = (
    ("2", "take the action with this number in the list"),
    ("move:E1, buy", "take one action or several by name; the last may be `end_turn`"),
    ("undo", "take the whole turn back, if it has not ended"),
    ("Enter", "show the whole position again"),
    ("sites", "list the sites and where their trails lead"),
    ("sites E1", "show what is on a site, what can be done there, and what moves from it cost"),
    ("rules", "show the rules in short; `rules all`: all rules"),
    ("log", "show the last two rounds; `log all`: all turns so far"),
    ("hint", "show the best turns, and what is expected of each"),
    ("record FILE", "write the record of the game to a new file"),
    ("quit", "leave the game"),
)
MOST_COLUMNS: Final = 120  # of text; longer lines are hard to read


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
        self._turn: tuple[int, ...] = ()  # set, turn and seat of the position that was drawn as a whole

    def play(self) -> None:
        """Play to the end of the game, or until `quit` or the end of the input."""
        names = ", ".join(f"seat {seat} {name}" for seat, name in enumerate(self.session.names))
        _say(f"At the table: {names}.\n{WELCOME}\n")
        while True:
            with contextlib.redirect_stdout(sys.stderr):
                self.session.think()
            self._tell()
            if self.session.over:
                break
            line = self._asked()
            if line is None or line == "quit":
                return
            self._try(line)
        self._print_result()
        while (line := _input("the game is over; record FILE, log, sites, or quit> ")) not in (None, "quit"):
            self._try(line)

    def _try(self, line: str) -> None:
        """Do what a line says, or say what is wrong with it."""
        try:
            self._answer(line)
        except (SessionError, ValueError, OSError) as error:
            _say(f"  {error}", 2)

    def _tell(self) -> None:
        """Print the events that are new, and the position unless it is the one that was printed last."""
        session = self.session
        for line in news(session, self._told):
            _say(line, 8)
        self._told = len(session.log)
        if session.fault:
            _say(f"  the agent in seat {session.fault[0]} failed, and the game is as before: {session.fault[1]}", 2)
            print("  answer retry, or replace AGENT, or replace human")
        elif not session.over and self._drawn != session.version and not session.handing_over:
            self._print_position()
        self._drawn = session.version

    def _print_position(self) -> None:
        """Print the position and the legal actions; within a turn, only what the turn changes for the seats."""
        session = self.session
        headline, board, *seats = describe_position(session.game, session.states, session.viewer).split("\n\n")
        turn = turn_of(session.states)
        parts = [headline, *([] if turn == self._turn and session.can_undo else [board]), *seats]
        self._turn = turn
        _say("\n" + "\n\n".join(parts) + "\n", 10)
        if session.turn_done:
            print(f"The turn is done.\n  1  {END_TURN}  end it for good; or undo: take it back")
            return
        effects = action_effects(session.game, session.states, session.viewer)
        width = max(len(effect.name) for effect in effects)
        for number, effect in enumerate(effects, 1):
            words = effect.words.removesuffix("; your turn ends")  # here it ends when the human says so
            _say(f"{number:>3}  {effect.name:<{width}}  {words}", width + 7)

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
        rest = rest.strip()
        if word == "undo":
            session.undo(version)
            self._told = len(session.log)
            print("The turn is taken back.")
        elif word == "ready":
            session.ready(version)
        elif word == "retry":
            session.retry(version)
        elif word == "replace":
            from bombay_training.play.seats import make_seat

            with contextlib.redirect_stdout(sys.stderr):
                agent = make_seat(rest)
            session.replace(version, agent)
        elif word in ("help", "sites", "rules", "log", "hint", "record", ""):
            self._show(word, rest)
        else:
            self._act(line)

    def _show(self, word: str, rest: str) -> None:
        """Print what a command asks for; nothing in the game changes."""
        game = self.session.game
        if word == "sites":
            _say(self._site(rest) if rest else describe_board(game), 6)
        elif word == "rules":
            _say(describe_rules(game) if rest == "all" else f"{summarize_rules(game)}\n`rules all` shows all rules.", 2)
        elif word == "log":
            lines, recent = news(self.session), 2 * game.num_players
            if rest != "all" and len(lines) > recent:
                _say(f"`log all` also shows the {len(lines) - recent} lines before these.")
                lines = lines[-recent:]
            for line in lines:
                _say(line, 8)
        elif word == "hint":
            self._print_hints()
        elif word == "record":
            self._save(rest)
        elif word == "help":
            for command, meaning in COMMANDS:
                _say(f"  {command:<12}  {meaning}", 16)
        else:
            self._drawn, self._turn = -1, ()  # the position is printed before the next question

    def _site(self, name: str) -> str:
        """What a site means now. Raises ValueError if there is none of this name."""
        session = self.session
        told = explain_sites(session.game, session.states, max(session.mover, 0))
        name = next((site for site in told if site.lower() == name.lower() and name not in told), name)
        session.game.board.site_index(name)  # raises
        return "\n".join([f"{name}: {told[name][0]}", *told[name][1:]])

    def _act(self, line: str) -> None:
        """Take the actions that a line names, all or none. Raises ValueError."""
        session, legal = self.session, self.session.legal()
        if line.isdigit():
            if not 0 < int(line) <= len(legal):
                raise ValueError(f"the list has no number {line}; it has 1 to {len(legal)}")
            names = [legal[int(line) - 1]]
        elif not legal:
            names = [line.replace(" ", "_")]
        elif re.search(r"(?<![\w:])\d+(?![\w])", line):
            raise ValueError("a number stands alone; several actions are given by their names")
        else:
            names = [session.game.action_names[action] for action in parse_answer(session.game, session.states, line)]
        for name in names:
            session.act(session.version, name)
        if session.turn_done and END_TURN not in names and line.replace(" ", "_").endswith(END_TURN):
            session.act(session.version, END_TURN)

    def _print_hints(self) -> None:
        session = self.session
        session.check_hint(session.version)
        print(f"{self.adviser} is thinking …", file=sys.stderr)
        for place, hint in enumerate(hints(make_adviser(self.adviser), session.game, session.states), 1):
            _say(f"{place}. {', then '.join(hint.turn)}: wins {100 * hint.win_share:.0f} %. {hint.why}", 3)
            if hint.line:
                _say("\n".join(["   Then it expects", *(f"   {turn}" for turn in hint.line)]), 6)

    def _save(self, name: str) -> None:
        if not name:
            raise ValueError("record needs the name of a new file")
        content = json.dumps(self.session.record().to_dict(), ensure_ascii=False) + "\n"
        with Path(name).open("x", encoding="utf-8") as file:
            file.write(content)
        print(f"the record is in {name}")

    def _print_result(self) -> None:
        """Print who won, and where the rupees of every seat came from."""
        _say("\n" + describe_result(self.session.game, self.session.states), 2)
        rows = account(self.session.record())
        width = max(map(len, COLUMNS))
        print(f"\n{'':<{width}}" + "".join(f"  seat {seat}" for seat in range(len(rows))))
        for column in COLUMNS:
            print(f"{column:<{width}}" + "".join(f"  {row[column]:>6}" for row in rows))
        print(f"{'wins':<{width}}" + "".join(f"  {'yes' if row['wins'] else '':>6}" for row in rows))


def play(session: Session, adviser: str) -> None:
    """Play in the terminal; hints come from the agent `adviser`."""
    Terminal(session, adviser).play()


def _columns() -> int:
    """The letters of a line."""
    return min(shutil.get_terminal_size().columns, MOST_COLUMNS)


def _say(text: str, indent: int = 0) -> None:
    """Print a text. Lines that are too long are broken between words and go on after `indent` spaces."""
    for line in text.split("\n"):
        print(
            textwrap.fill(
                line,
                _columns(),
                subsequent_indent=" " * indent,
                replace_whitespace=False,
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


def _input(prompt: str) -> str | None:
    """A line without surrounding spaces, None at the end of the input."""
    try:
        return input(prompt).strip()
    except EOFError:
        print()
        return None
