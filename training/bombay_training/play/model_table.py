"""A game for a language model: tools that return words, made by `bombay_env.text`. It knows no protocol.

A model chooses opponents from a list that the user gives, because the spec of an agent can name a file or a program to run.
"""

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

from pydantic import WithJsonSchema

import bombay_agents
from bombay_env import Board, Game, Rules, checks
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_env.text import (
    describe_actions,
    describe_board,
    describe_position,
    describe_result,
    describe_rules,
    parse_answer,
    summarize_rules,
)
from bombay_training.play.messages import news
from bombay_training.play.session import END_TURN, Session

MODEL: Final = "model"  # the seat of the language model
DEFAULT_PLAYERS: Final = 4


class ModelTable:
    """A game in which a language model plays one seat or several.

    Args:
        opponents: the specs that a seat may be given to.
        board: of all games.
    """

    def __init__(self, opponents: Sequence[str], board: Board) -> None:
        self.opponents, self.board = tuple(opponents), board
        self._session: Session | None = None
        self._told = 0  # events of the log that the model has been told

    def tools(self) -> list[Callable[..., str]]:
        """What a model can do: functions whose docstrings it is told. They raise ValueError for what it must mend."""
        names = Game(Rules.official(DEFAULT_PLAYERS), self.board).action_names
        several = {"type": "array", "items": {"type": "string", "enum": list(names)}}
        schema = {"anyOf": [several, {"type": "string"}, {"type": "integer"}]}

        def act(actions: Annotated[Any, WithJsonSchema(schema)]) -> str:
            return self.act(actions)

        act.__doc__ = self.act.__doc__
        return [self.rules, self.new_game, self.observe, self.legal_actions, act, self.record]

    def rules(self, players: int | None = None) -> str:
        """The rules of the game in words, and the trails of the board. Read them before your first game.

        Args:
            players: the number of players, 2 to 5. Default: that of the running game, or 4.
        """
        if players is None and self._session is not None:
            game = self._session.game
        else:
            count = DEFAULT_PLAYERS if players is None else players
            checks.whole_number(count, "players", MIN_PLAYERS, MAX_PLAYERS)
            game = Game(Rules.official(count), self.board)
        return f"{describe_rules(game)}\n\n## Trails\n{describe_board(game)}"

    def trails(self) -> str:
        """The board in a line for each site: its kind, with 4 or 5 players, and where its trails lead."""
        return describe_board(Game(Rules.official(DEFAULT_PLAYERS), self.board))

    def new_game(self, seats: list[str] | None = None, seed: int | None = None, screened: bool = False) -> str:
        """Start a new game; one that is running ends without a result. You get the rules in short, the board and the position.

        Args:
            seats: for each of the 2 to 5 seats "model" (you) or the name of an opponent: {opponents}. Default: "model" and three
                times the last opponent.
            seed: the seed of the deal; drawn if it is left out.
            screened: whether to hide opponents' rupees and tokens from you.
        """
        given = [MODEL, *[self.opponents[-1]] * (DEFAULT_PLAYERS - 1)] if seats is None else seats
        if not MIN_PLAYERS <= len(given) <= MAX_PLAYERS:
            raise ValueError(f"seats has {len(given)} entries; it must have {MIN_PLAYERS} to {MAX_PLAYERS}")
        for name in given:
            if name not in (MODEL, *self.opponents):
                raise ValueError(f"seats has {checks.shown(name)}; allowed are {MODEL} and {', '.join(self.opponents)}")
        agents = [None if name == MODEL else bombay_agents.make(name) for name in given]
        drawn = secrets.randbelow(checks.MAX_SEED) if seed is None else seed
        self._session = Session(Game(Rules.official(len(given)), self.board), agents, drawn, screened, person=MODEL)
        self._told = 0
        self._go_on()
        table = ", ".join(f"seat {seat} {name}" for seat, name in enumerate(given))
        parts = [f"At the table: {table}.", f"Rules in short:\n{summarize_rules(self._session.game)}"]
        return "\n\n".join([*parts, f"Board:\n{describe_board(self._session.game)}", self.observe()])

    def observe(self) -> str:
        """What happened since you were last told, and the position with its legal actions, or the result."""
        session = self._game()
        told = "\n".join(news(session, self._told))
        self._told = len(session.log)
        parts = [told] if told else []
        if session.over:
            parts.append(describe_result(session.game, session.states))
        elif session.fault:
            parts.append(f"The agent in seat {session.fault[0]} failed, so the game cannot go on. Start a new one.")
        else:
            parts += [describe_position(session.game, session.states, session.viewer), self.legal_actions()]
        return "\n\n".join(parts)

    def legal_actions(self) -> str:
        """The legal actions of your seat: number, name, and what each costs and does now."""
        session = self._game()
        if not session.human_to_move:
            raise ValueError("it is not your turn: the game is over, or an agent failed")
        actions = describe_actions(session.game, session.states, session.viewer)
        return f"You are seat {session.mover}. Legal actions:\n{actions}"

    def act(self, actions: Any) -> str:
        """Take the actions of your turn: a list of names, or a text such as "move:SITE, buy, end_turn".

        In a text, a number may stand for a name. Each action must be legal after those before it: `buy` may follow a move and is
        not listed yet.
        All are played if all are legal, else none is.
        When your turn is over, the others act until it is your turn again.
        """
        session = self._game()
        if not session.human_to_move:
            raise ValueError("it is not your turn: the game is over, or an agent failed")
        for action in parse_answer(session.game, session.states, actions):
            session.act(session.version, session.game.action_names[action])
        if session.turn_done:
            session.act(session.version, END_TURN)
        self._go_on()
        return self.observe()

    def record(self) -> str:
        """The record of the game so far as JSON, which `bombay replay` and `bombay watch` read."""
        return json.dumps(self._game().record().to_dict(), ensure_ascii=False)

    def _game(self) -> Session:
        if self._session is None:
            raise ValueError("there is no game yet; call new_game")
        return self._session

    def _go_on(self) -> None:
        """Let agents act until the model is to act."""
        session = self._game()
        session.think()
        if session.handing_over:
            session.ready(session.version)
